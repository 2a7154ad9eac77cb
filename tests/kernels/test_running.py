"""Running statistics beside oracles that see all rows at once."""

import numpy as np
import pytest

from kenyon.kernels.running import no_moments, no_percentiles, percentile, take_moments, take_percentiles

KINDS = {
    "normal": lambda rng, shape: rng.normal(3, 2, shape),
    "skewed": lambda rng, shape: rng.exponential(size=shape),
    "two humps": lambda rng, shape: rng.normal(np.where(rng.random(shape) < 0.3, -4, 4), 1),
}


def percentiles_of(rows, q):
    found = no_percentiles(rows.shape[1], q)
    take_percentiles(found, rows)
    return np.array([percentile(found, i) for i in range(rows.shape[1])])


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_moments_are_those_of_all_rows(offset):
    rows = np.random.default_rng(0).normal(offset, [1e-3, 1, 1e3], (5000, 3))
    moments = no_moments(3)
    for part in np.split(rows, [1, 2, 700]):
        take_moments(moments, part, 1.0)
    np.testing.assert_allclose(moments.mean, rows.mean(axis=0), rtol=1e-12, atol=1e-3 if offset else 1e-12)
    np.testing.assert_allclose(moments.deviation, rows.std(axis=0), rtol=1e-4 if offset else 1e-12)


@pytest.mark.parametrize("g", [0.9, 0.99])
def test_forgetting_weighs_a_row_less_with_every_one_that_follows(g):
    rows = np.random.default_rng(0).normal(size=(400, 3))
    moments, weights = no_moments(3), g ** np.arange(400.0)[::-1]
    take_moments(moments, rows, g)
    mean = np.average(rows, axis=0, weights=weights)
    np.testing.assert_allclose(moments.weight, weights.sum())
    np.testing.assert_allclose(moments.mean, mean)
    np.testing.assert_allclose(moments.deviation**2, np.average((rows - mean) ** 2, axis=0, weights=weights))


def test_values_that_are_missing_change_nothing():
    rows = np.random.default_rng(0).normal(size=(200, 3))
    rows[50:120, 1] = np.nan
    moments = no_moments(3)
    take_moments(moments, rows, 1.0)
    np.testing.assert_allclose(moments.mean, np.nanmean(rows, axis=0))
    np.testing.assert_allclose(moments.deviation, np.nanstd(rows, axis=0))


@pytest.mark.parametrize("q", [0, 10, 50, 85, 100])
@pytest.mark.parametrize("n", range(1, 6))
def test_percentiles_of_a_few_rows_are_numpy_s(q, n):
    rows = np.random.default_rng(n).normal(size=(n, 20))
    np.testing.assert_allclose(percentiles_of(rows, q), np.percentile(rows, q, axis=0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("q", [15, 50, 85, 98])
def test_the_right_share_of_rows_is_below_a_percentile(kind, q):
    rows = KINDS[kind](np.random.default_rng(0), (2000, 50))
    shares = (rows < percentiles_of(rows, q)).mean(axis=0)
    np.testing.assert_allclose(shares, q / 100, atol=0.04)


def test_percentiles_of_values_that_repeat_are_among_them_or_between():
    rows = np.random.default_rng(0).integers(3, size=(500, 20)).astype(float)
    found = percentiles_of(rows, 50)
    assert ((found >= 0) & (found <= 2)).all()
    np.testing.assert_array_equal(percentiles_of(np.full((500, 2), 7.0), 85), [7, 7])


def test_statistics_do_not_depend_on_how_rows_are_cut():
    rows = np.random.default_rng(0).normal(size=(300, 4))
    whole, parts = ((no_moments(4), no_percentiles(4, 85.0)) for _ in range(2))
    for statistics, cuts in ((whole, []), (parts, [1, 2, 50])):
        for part in np.split(rows, cuts):
            take_moments(statistics[0], part, 0.99)
            take_percentiles(statistics[1], part)
    for one, other in zip((*whole[0], *whole[1]), (*parts[0], *parts[1]), strict=True):
        np.testing.assert_array_equal(one, other)
