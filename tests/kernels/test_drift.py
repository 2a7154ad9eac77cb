"""Abrupt drifts told from bad rows: against an oracle, how rarely by mistake, and how soon."""

import numpy as np
import pytest

from kenyon.kernels.drift import drifted
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
