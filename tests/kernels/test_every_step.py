"""States after every step, readouts of them, and free runs, against slow versions; however work is cut up."""

import numpy as np
import pytest

import kenyon as kn
from kenyon.kernels import one_episode
from kenyon.kernels.every_step import LINEAR, Reading, follow, read
from kenyon.readout import CODES, Readout
from kenyon.simulation import run_freely
from tests import naive

RNG = np.random.default_rng(0)
N, STEPS = 21, 12


def network(activation):
    options = {"n_inputs": 3, "input_weights": "gaussian", "activation": activation, "bias_scale": 0.3}
    return kn.Reservoir(N, 0.4, 0.9, seed=1, **options)


def readings():
    """A readout with each code, of z with N + 4 numbers, two of which are inputs."""
    for code in (LINEAR, *range(1, 4)):
        n = (N + 4) * (2 if code == 2 else 1)
        theta = np.zeros(n) if code == LINEAR else np.abs(RNG.normal(0, 0.2, n))
        yield Reading(RNG.normal(0, 0.1, (2, n)), theta, RNG.normal(0, 0.1, 2), code)


def said(reading, z):
    """What a readout says of one z, in NumPy."""
    theta = reading.theta
    x = {
        0: lambda: z,
        1: lambda: np.maximum(z - theta, 0),
        2: lambda: np.concatenate([np.maximum(z - theta[: len(z)], 0), np.maximum(theta[len(z) :] - z, 0)]),
        3: lambda: np.sign(z) * np.maximum(np.abs(z) - theta, 0),
    }[reading.code]()
    return reading.bias + reading.W @ x


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_states_of_every_step_are_those_of_a_run_however_it_is_cut(activation):
    reservoir, inputs = network(activation), RNG.normal(size=(30, 3)).astype(np.float32)
    expected = reservoir.run(inputs[None], trajectory=True)[0]
    room = one_episode.work_space(reservoir._sorted, 4)
    V, states = np.zeros(N, np.float32), np.zeros((30, N + 5), np.float32)
    for first, last in ((0, 1), (1, 18), (18, 30)):
        assert follow(reservoir._sorted, inputs[first:last], room, V, states[first:last, :N])
    np.testing.assert_array_equal(states[:, :N], expected)
    np.testing.assert_array_equal(V, expected[-1])
    assert not states[:, N:].any()


@pytest.mark.parametrize("reading", list(readings()), ids=["linear", *CODES])
def test_a_readout_says_what_its_equation_says_and_each_row_for_itself(reading):
    Z = RNG.normal(size=(7, N + 4)).astype(np.float32)
    y, alone = np.empty((7, 2)), np.empty((1, 2))
    read(reading, Z, y)
    np.testing.assert_allclose(y, [said(reading, z.astype(np.float64)) for z in Z], rtol=1e-12, atol=1e-12)
    read(reading, Z[3:4], alone)
    np.testing.assert_array_equal(alone[0], y[3])
    if reading.code != LINEAR:
        named = Readout(
            reading.W.astype(np.float32),
            reading.theta.astype(np.float32),
            code=CODES[reading.code - 1],
            bias=reading.bias,
        )
        np.testing.assert_allclose(y, named.outputs(Z), atol=1e-5)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("reading", list(readings()), ids=["linear", *CODES])
def test_free_runs_follow_the_equations_alone_and_in_lanes(reading, activation):
    reservoir, n = network(activation), 20
    V, start = np.abs(RNG.normal(0, 0.3, (n, N))).astype(np.float32), RNG.normal(size=(n, 2)).astype(np.float32)
    ahead = RNG.normal(size=(n, STEPS, 1)).astype(np.float32)
    networks = reservoir._network, reservoir._sorted
    y, done = run_freely(networks, reading, V, start, ahead, 2)
    assert done == STEPS
    for k in (0, 19):
        expected = naive.free_run(
            reservoir, reservoir.bias, V[k], start[k], ahead[k], lambda z: said(reading, z), STEPS
        )
        np.testing.assert_allclose(y[k], expected, atol=2e-5)
        alone, _ = run_freely(networks, reading, V[k : k + 1], start[k : k + 1], ahead[k : k + 1], 1)
        np.testing.assert_array_equal(alone[0], y[k])


def test_a_free_run_that_leaves_single_precision_says_when():
    reservoir = network("relu")
    reading = Reading(np.full((2, N + 4), 1e12), np.zeros(N + 4), np.zeros(2), LINEAR)
    for n in (1, 20):
        V, start = np.ones((n, N), np.float32), np.ones((n, 2), np.float32)
        ahead = np.zeros((n, STEPS, 1), np.float32)
        _, done = run_freely((reservoir._network, reservoir._sorted), reading, V, start, ahead, 1)
        assert done in (2, 3)
