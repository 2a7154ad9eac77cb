"""The generator: its words against an oracle and published vectors, its numbers as statistics."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

import kenyon as kn
from kenyon.kernels.noise import random_uniforms, random_words
from tests import naive

WORD = st.integers(0, 2**32 - 1)


def words(key, first, n):
    out = np.empty((n, 2), np.uint32)
    random_words(np.asarray(key, np.uint32), first, out)
    return out


@given(st.tuples(WORD, WORD), st.integers(0, 2**62), st.integers(1, 70))
@example((1, 2), 2**32 - 3, 9)  # across the end of the low word
@settings(max_examples=50, deadline=None)
def test_words_are_those_of_the_oracle(key, first, n):
    expected = [naive.threefry(key, (k & 0xFFFFFFFF, k >> 32)) for k in range(first, first + n)]
    assert words(key, first, n).tolist() == [list(pair) for pair in expected]


def test_uniform_numbers_are_words_over_their_number():
    uniforms = np.empty((40, 2))
    random_uniforms(np.array([1, 2], np.uint32), 2**32 - 3, uniforms)
    np.testing.assert_array_equal(uniforms, words((1, 2), 2**32 - 3, 40) / 2.0**32)


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [  # known answers of the Random123 distribution, threefry2x32 with 20 rounds
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_words_are_the_published_ones(key, counter, expected):
    assert tuple(words(key, np.uint64(counter[0] + (counter[1] << 32)), 1)[0]) == expected


@pytest.fixture(scope="module")
def xi():
    """Noise of 1500 episodes, 40 steps and 25 channels, read off inputs whose clean value is 1."""
    ones = kn.Odours(["a", "b"], np.ones((2, 25)))
    task = kn.StaticTask(ones, 2, steps=40, noise=0.125)
    return (task.inputs(1500, seed=11).astype(np.float64) - 1) / 0.125


def test_noise_is_standard_normal(xi):
    flat, n = xi.ravel(), xi.size
    assert abs(flat.mean()) < 4.5 / np.sqrt(n)
    assert abs(flat.var() - 1) < 4.5 * np.sqrt(2 / n)
    assert abs((flat**3).mean()) < 4.5 * np.sqrt(15 / n)
    assert abs((flat**4).mean() - 3) < 4.5 * np.sqrt(96 / n)
    assert stats.kstest(flat[:200_000], "norm").pvalue > 1e-4
    assert 4.3 < np.abs(flat).max() < 7


def test_tails_have_the_right_weight(xi):
    for z in (2.0, 3.0, 4.0):
        expected = 2 * stats.norm.sf(z) * xi.size
        assert abs((np.abs(xi) > z).sum() - expected) < 4.5 * np.sqrt(expected)


@pytest.mark.parametrize("axis", [0, 1, 2], ids=["episode", "step", "channel"])
@pytest.mark.parametrize("lag", [1, 2])
@pytest.mark.parametrize("power", [1, 2])
def test_neighbours_are_uncorrelated(xi, axis, lag, power):
    x = np.moveaxis(xi, axis, 0) ** power
    a, b = x[lag:].ravel(), x[:-lag].ravel()
    assert abs(np.corrcoef(a, b)[0, 1]) < 4.5 / np.sqrt(a.size)


def test_neighbouring_seeds_are_uncorrelated():
    ones = kn.Odours(["a", "b"], np.ones((2, 24)))
    task = kn.StaticTask(ones, 2, noise=0.125)
    a, b = (task.inputs(200, seed=seed).ravel() - 1 for seed in (0, 1))
    assert abs(np.corrcoef(a, b)[0, 1]) < 4.5 / np.sqrt(a.size)


def test_common_noise_is_standard_normal_and_the_same_in_all_channels():
    ones = kn.Odours(["a", "b"], np.ones((2, 3)))
    task = kn.StaticTask(ones, 2, steps=40, noise=0.125, noise_kind="common")
    xi = (task.inputs(3000, seed=11).astype(np.float64) - 1) / 0.125
    assert (xi == xi[:, :, :1]).all()
    flat = xi[:, :, 0].ravel()
    assert abs(flat.mean()) < 4.5 / np.sqrt(flat.size)
    assert abs(flat.var() - 1) < 4.5 * np.sqrt(2 / flat.size)
    assert stats.kstest(flat, "norm").pvalue > 1e-4
    for a, b in ((xi[1:], xi[:-1]), (xi[:, 1:], xi[:, :-1])):
        assert abs(np.corrcoef(a[:, :, 0].ravel(), b[:, :, 0].ravel())[0, 1]) < 4.5 / np.sqrt(a[:, :, 0].size)


def test_common_noise_is_that_of_the_first_channel_and_does_not_depend_on_the_cut():
    odours, settings = kn.load_odours(), {"n_stimuli": 9, "steps": 4}
    task = kn.StaticTask(odours, noise_kind="common", **settings)
    np.testing.assert_array_equal(task.inputs(70, 3)[..., 0], kn.StaticTask(odours, **settings).inputs(70, 3)[..., 0])
    reservoir = kn.Reservoir(40)
    whole = next(reservoir.stream(task, 70, 3, batch_size=70)).states
    for batch_size in (1, 9, 33):
        parts = [batch.states for batch in reservoir.stream(task, 70, 3, batch_size=batch_size, threads=2)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(reservoir.run(task.inputs(70, 3)), whole)
