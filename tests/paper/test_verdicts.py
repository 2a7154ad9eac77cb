"""Intervals, Holm's correction and verdicts: exact cases, slow obvious versions, and simulations."""

import numpy as np
import pytest
from scipy import stats

from kenyon.paper.verdicts import ALPHA, Effect, conclude, effect, holm, interval

SKEWED = {"normal": stats.norm(), "skewed": stats.gamma(4.0)}  # the latter with skewness 1


def covered(n_seeds, kind, intervals, n=4000):
    """Return how often intervals made from rows of samples contain the mean of their distribution."""
    samples = SKEWED[kind].rvs((n, n_seeds), random_state=np.random.default_rng(0))
    low, high = intervals(samples)
    return float(((low < SKEWED[kind].mean()) & (SKEWED[kind].mean() < high)).mean())


def by_t(samples):
    return np.array([interval(row) for row in samples]).T


def by_bootstrap(samples, draws=500):
    """Return percentile intervals of the bootstrap over seeds."""
    rng, n = np.random.default_rng(1), samples.shape[1]
    means = np.array([samples[:, rng.integers(n, size=n)].mean(axis=1) for _ in range(draws)])
    return np.percentile(means, [2.5, 97.5], axis=0)


@pytest.mark.parametrize("n_seeds", [5, 10, 20])
def test_intervals_cover_95_percent_where_differences_are_normal(n_seeds):
    assert abs(covered(n_seeds, "normal", by_t) - 0.95) < 0.012  # 3.5 standard errors of 4000 trials


@pytest.mark.parametrize("n_seeds", [5, 10, 20])
def test_intervals_cover_nearly_as_much_where_differences_are_skewed(n_seeds):
    assert covered(n_seeds, "skewed", by_t) > 0.92


@pytest.mark.parametrize("kind", SKEWED)
@pytest.mark.parametrize(("n_seeds", "at_most"), [(5, 0.86), (10, 0.92), (20, 0.94)])
def test_a_percentile_bootstrap_would_cover_less(n_seeds, at_most, kind):
    found = covered(n_seeds, kind, by_bootstrap)
    assert found < at_most
    assert found < covered(n_seeds, kind, by_t) - 0.005


def test_a_percentile_bootstrap_never_leaves_the_range_of_its_seeds():
    samples = SKEWED["normal"].rvs((200, 5), random_state=np.random.default_rng(2))
    low, high = by_bootstrap(samples)
    assert (low >= samples.min(axis=1)).all()
    assert (high <= samples.max(axis=1)).all()
    low, high = by_t(samples)
    assert ((low < samples.min(axis=1)) | (high > samples.max(axis=1))).any()


def test_intervals_are_those_of_a_t_test():
    values = np.random.default_rng(3).normal(0.3, 1.0, 10)
    expected = stats.ttest_1samp(values, 0.0)
    assert interval(values) == pytest.approx(tuple(expected.confidence_interval()))
    assert effect("", values, below=0.0).p_against == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(
    ("samples", "bounds", "supports"),
    [
        ([1, 2, 3], {"above": -2}, True),
        ([-1, -2, -3], {"above": 2}, False),
        ([-1, 1, 2], {"above": 0}, None),
        ([1, 2, 3], {"below": -1}, False),
        ([0.5, 0.55, 0.6], {"above": 0.4, "below": 0.7}, True),
        ([0.8, 0.85, 0.9], {"above": 0.4, "below": 0.7}, False),
        ([0.1, 0.15, 0.2], {"above": 0.4, "below": 0.7}, False),
        ([0.6, 0.8, 0.9], {"above": 0.4, "below": 0.7}, None),
        ([1, 2], {}, None),
        ([1, np.nan], {"above": 0}, None),
        ([3], {"above": 0}, None),  # a single seed
        ([1, 1, 1], {"above": 0}, True),
        ([-1, -1, -1], {"above": 0}, False),
    ],
)
def test_an_effect_supports_what_its_whole_interval_does(samples, bounds, supports):
    assert effect("", samples, **bounds).supports is supports


@pytest.mark.parametrize("bounds", [{"above": 0.3}, {"below": 0.3}, {"above": 0.3, "below": 1.0}])
def test_an_exact_tie_decides_nothing(bounds):
    for samples in (np.full(5, 0.3), np.full(5, 0.1 + 0.2)):
        found = effect("", samples, **bounds)
        assert (found.supports, found.p_against) == (None, 1.0)


def test_the_p_value_is_below_5_percent_where_the_interval_lies_on_the_other_side():
    rng = np.random.default_rng(4)
    for _ in range(300):
        found = effect("", rng.normal(-0.6, 1.0, 8), above=0.0)
        assert (found.supports is False) == (found.high < 0.0) == (found.p_against < ALPHA)


def slow_holm(p_values):
    """Return which hypotheses are rejected: test the smallest p-value, strike it off, begin again with those left."""
    left, rejected = dict(enumerate(p_values)), set()
    while left:
        smallest = min(left, key=left.get)
        if left[smallest] >= ALPHA / len(left):
            break
        rejected.add(smallest)
        del left[smallest]
    return rejected


def test_holm_agrees_with_a_slow_version():
    rng = np.random.default_rng(5)
    for _ in range(500):
        p_values = rng.uniform(0, 1, rng.integers(1, 9)) ** 4
        effects = [Effect("", 0.0, 0.0, 0.0, False if p < ALPHA else None, "", p) for p in p_values]
        found = {i for i, effect in enumerate(holm(effects)) if effect.supports is False}
        assert found == slow_holm(p_values)


def test_holm_leaves_support_as_it_is():
    effects = [effect("", [1.0, 1.1, 0.9, 1.0], above=0.0), effect("", [-1.0, 1.1, 0.9, 0.5], above=0.0)]
    assert holm(effects) == effects


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_a_claim_on_the_brink_is_contradicted_by_chance_at_most_once_in_twenty(correlation):
    rng, n, n_effects = np.random.default_rng(6), 1500, 6
    common, own = rng.normal(size=(n, 1, 10)), rng.normal(size=(n, n_effects, 10))
    samples = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    claims = [[effect("", row, above=0.0) for row in rows] for rows in samples]
    corrected = np.mean([conclude(holm(effects)) == "contradicted" for effects in claims])
    uncorrected = np.mean([conclude(effects) == "contradicted" for effects in claims])
    assert corrected < 0.05
    assert uncorrected > 0.05


@pytest.mark.parametrize(
    ("supports", "word"),
    [
        ([True, True], "reproduced"),
        ([True, False, None], "contradicted"),
        ([True, None], "inconclusive"),
        ([], "inconclusive"),
    ],
)
def test_a_claim_needs_all_of_its_effects(supports, word):
    assert conclude([Effect("", 0.0, 0.0, 0.0, support) for support in supports]) == word
