"""Abrupt drifts told from bad rows: against an oracle, how rarely by mistake, and how soon."""

import numpy as np
import pytest

import kenyon as kn
from kenyon.kernels.drift import KEPT, RIDGE, drifted
from kenyon.kernels.stream_steps import DRIFTED, ROWS
from tests import naive


def drifts_and_rows(bad, forgetting=0.99):
    """Return the numbers of the rows after which the stream had drifted, and with how many rows."""
    seen = np.zeros(4)
    found = [(n, drifted(seen, bool(row), forgetting)) for n, row in enumerate(bad)]
    return [(n, since) for n, since in found if since > 0]


def drifts(bad):
    return [n for n, _ in drifts_and_rows(bad)]


def rows(share, n, seed=0):
    return np.random.default_rng(seed).random(n) < share


@pytest.mark.parametrize("forgetting", [0.9, 0.99, 0.999])
def test_drifts_are_those_of_the_oracle(forgetting):
    bad = np.concatenate([rows(share, 150, seed) for seed, share in enumerate((0.1, 0.6, 0.0, 0.9, 0.3, 1.0))])
    found = drifts_and_rows(bad, forgetting)
    assert found == naive.drifts(bad.tolist(), forgetting)
    assert len(found) >= 2


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.3, 0.6, 0.9])
def test_a_steady_share_of_bad_rows_is_rarely_taken_for_a_drift(share):
    assert len(drifts(rows(share, 20_000))) <= 20


@pytest.mark.parametrize(("before", "after", "soon"), [(0.0, 1.0, 5), (0.1, 0.9, 15), (0.1, 0.5, 60), (0.4, 0.9, 30)])
def test_a_share_that_rises_is_told_soon(before, after, soon):
    times = [drifts(np.concatenate([rows(before, 500, n), rows(after, 200, 100 + n)])) for n in range(20)]
    delays = [next(n for n in found if n >= 500) - 500 + 1 for found in times]
    assert np.median(delays) <= soon


def test_a_share_that_falls_is_no_drift():
    assert drifts(np.concatenate([rows(0.6, 500), rows(0.1, 500)])) == []


def test_a_drift_is_dated_to_where_it_began():
    times = [drifts_and_rows(np.concatenate([rows(0.05, 500, n), rows(0.8, 100, 100 + n)])) for n in range(20)]
    began = [next(n + 1 - since for n, since in found if n >= 500) for found in times]
    assert abs(np.median(began) - 500) <= 3


def test_after_a_drift_weights_go_to_a_ridge_regression_of_the_rows_since_then():
    rng, n = np.random.default_rng(0), 650
    y = rng.integers(3, size=n)
    X, told = 2 * np.eye(3, 6)[y] + rng.normal(size=(n, 6)), np.where(np.arange(n) < 600, y, (y + 1) % 3)
    model = kn.ThresholdReadout("normalised", forgetting=0.99, random_state=0).fit(X[:400], told[:400])
    state, (counts, *_, memory) = model.partial_fit(X[400:], told[400:])._training[1::4]  # in units that stay
    assert 40 < counts[DRIFTED] <= 60
    n_states, factor = state.n_neurons, model._training.units.factor
    W, before = state.nets.W[0, :, :n_states], memory.W[0, :, :n_states]
    x = np.maximum(memory.states * factor - state.nets.theta[0, :n_states], 0)
    np.testing.assert_allclose(W, KEPT * before + memory.shares.T @ x, atol=1e-4)
    rows = (int(counts[ROWS]) - np.arange(int(counts[DRIFTED]))) % len(x)
    y_true = model._training.learner.rule.target * np.eye(len(W))[memory.told[rows, 0].astype(int)]
    left = y_true - x[rows] @ W.T - RIDGE * (x[rows] ** 2).sum(axis=1)[:, None] * memory.shares[rows]
    assert np.abs(left).mean() < 0.06 * y_true.max()
