"""Recursive least squares with thresholds: weights, thresholds, and what it says."""

import numpy as np
import pytest

import kenyon as kn
from kenyon.learning.growth import with_outputs
from tests import naive

RNG = np.random.default_rng(0)
V = (RNG.normal(size=(300, 12)) @ RNG.normal(size=(12, 12)) + 1.0).astype(np.float32)
BENT = np.maximum(V[:, :2] - 1.5, 0) @ np.array([[1.0, -2.0], [0.5, 1.0]]) + V[:, 3:5]
LABELS = (V[:, 0] > 1).astype(int) + (V[:, 1] > 1)
SOURCE = kn.Source(0, "t")
BY_NUMBERS = {"rule": kn.Regression(3.0), "penalty": 1e-4}


def learned(learner, told, n_outputs, cuts=()):
    state, infos = learner.begin(V[:100], n_outputs, SOURCE), []
    for first, last in zip([0, *cuts], [*cuts, len(V)], strict=True):
        state, info = learner.update(state, V[first:last], told[first:last])
        infos.append(info)
    return state, np.concatenate([info.cost for info in infos])


def start_of(learner):
    """The penalty and the variances that the oracle begins with."""
    first = V[:100].astype(np.float64)
    theta = np.percentile(first, 50, axis=0).astype(np.float32).astype(np.float64)
    x = np.hstack([first, np.maximum(0, first - theta)])
    return theta, learner.penalty * (x**2).sum(axis=1).mean(), learner.reach**2 * first.var(axis=0)


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_it_is_least_squares_so_far_with_a_step_of_the_thresholds_after_each_episode(kind):
    rule, told = (kn.Regression(3.0), BENT) if kind == "numbers" else (kn.Supervised(), LABELS)
    wanted = BENT.astype(np.float32).astype(np.float64) if kind == "numbers" else 10.0 * np.eye(3)[LABELS]
    learner = kn.RecursiveThresholds(penalty=1e-4, rule=rule)
    state, cost = learned(learner, told, wanted.shape[1])
    W, theta, p, costs = naive.recursive_thresholds(V.astype(np.float64), wanted, *start_of(learner), rule.target)
    np.testing.assert_allclose(state.W, W, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(state.theta, theta, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(state.p, p, rtol=1e-6)
    np.testing.assert_allclose(cost, costs, rtol=1e-4, atol=1e-6)
    assert np.abs(theta - start_of(learner)[0]).max() > 0.1


def test_thresholds_go_down_the_gradient_of_the_error_that_is_left():
    """By finite differences of |y_true - y|^2, y with the weights after the episode."""
    learner = kn.RecursiveThresholds(**BY_NUMBERS)
    state = learned(learner, BENT, 2)[0]
    v, wanted = V[7:8] * np.float32(1.2), BENT[7:8].astype(np.float32) + np.float32(2)
    after = learner.update(state, v, wanted)[0]

    def output(theta):
        return np.concatenate([v[0], np.maximum(0, v[0] - theta)]).astype(np.float64) @ after.W.T

    h, units = 1e-5, np.eye(12)
    jacobian = np.array([(output(state.theta + h * u) - output(state.theta - h * u)) / (2 * h) for u in units])
    slopes = -2 * jacobian @ (wanted[0] - output(state.theta))
    S = 3.0**2 + state.p @ (jacobian**2).sum(axis=1)
    assert np.abs(slopes).max() > 1e-3
    np.testing.assert_allclose(after.theta - state.theta, -0.5 * state.p * slopes / S, rtol=1e-5, atol=1e-12)


def test_with_thresholds_held_it_is_the_ridge_regression_of_both_parts():
    learner = kn.RecursiveThresholds(**BY_NUMBERS, reach=0.0, start=0.5)
    state = learned(learner, BENT, 2)[0]
    x = np.hstack([V, np.maximum(V - np.float32(0.5), 0)]).astype(np.float64)
    lam = 1e-4 * (x[:100] ** 2).sum(axis=1).mean()
    expected = np.linalg.solve(x.T @ x + lam * np.eye(24), x.T @ BENT.astype(np.float32)).T
    np.testing.assert_allclose(state.W, expected, rtol=1e-5, atol=1e-6)
    assert (state.theta == 0.5).all()


def test_a_bend_is_found_that_thresholds_held_at_their_start_miss():
    errors = []
    for reach in (0.0, 10.0):
        learner = kn.RecursiveThresholds(**BY_NUMBERS, reach=reach)
        state = learner.begin(V, 2, SOURCE)
        for _ in range(10):
            state, _ = learner.update(state, V, BENT)
        errors.append(np.abs(learner.readout(state).outputs(V) - BENT).mean())
    assert errors[1] < 0.8 * errors[0]


def test_the_readout_says_what_was_learned():
    learner = kn.RecursiveThresholds(**BY_NUMBERS)
    state = learned(learner, BENT, 2)[0]
    x = np.hstack([V, np.maximum(V - state.theta, 0)])
    np.testing.assert_allclose(learner.readout(state).outputs(V), x @ state.W.T, rtol=1e-4, atol=1e-4)
    classes = kn.RecursiveThresholds(rule=kn.Supervised(temperature=0.5))
    assert classes.readout(classes.begin(V, 3, SOURCE)).temperature == 0.5


@pytest.mark.parametrize("rule", [kn.Regression(), kn.Supervised()])
def test_episodes_may_be_cut_anywhere(rule):
    learner, told, n = kn.RecursiveThresholds(rule=rule), *((BENT, 2) if rule == kn.Regression() else (LABELS, 3))
    (whole, cost), (pieces, costs) = learned(learner, told, n), learned(learner, told, n, [1, 2, 90, 299])
    for one, other in zip(whole[:4], pieces[:4], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(cost, costs)
    assert whole.episode == pieces.episode == len(V)


def test_units_of_states_and_targets_do_not_matter():
    one, other = (kn.RecursiveThresholds(rule=kn.Regression(size)) for size in (4.0, 512.0))
    first = one.update(one.begin(V, 2, SOURCE), V, BENT)[0]
    second = other.update(other.begin(8 * V, 2, SOURCE), 8 * V, 128 * BENT)[0]
    np.testing.assert_allclose(second.theta, 8 * first.theta, rtol=1e-6)
    np.testing.assert_allclose(second.W, 16 * first.W, rtol=1e-5, atol=1e-6)


def test_a_class_that_appears_later_is_learned_as_if_it_had_been_known():
    learner, later = kn.RecursiveThresholds(penalty=1e-3), np.where(LABELS == 1, 0, LABELS)
    known = learner.update(learner.begin(V, 3, SOURCE), V, np.where(later == 2, 2, 0))[0]
    told = learner.update(learner.begin(V, 2, SOURCE), V, np.where(later == 2, 1, 0))[0]
    grown = with_outputs(told, np.array([0, 2]), 3)
    after = [learner.update(state, V, LABELS)[0] for state in (known, grown)]
    np.testing.assert_allclose(after[0].W, after[1].W, rtol=1e-9, atol=1e-9)


def test_a_state_is_left_as_it_was_and_can_be_checked():
    learner = kn.RecursiveThresholds(**BY_NUMBERS)
    state = learner.begin(V, 2, SOURCE)
    before = [part.copy() for part in state[:4]]
    learner.update(state, V, BENT)
    for part, old in zip(state[:4], before, strict=True):
        np.testing.assert_array_equal(part, old)
    state.check()
    for wrong in ({"p": state.p[:-1]}, {"P": state.P[:-1]}, {"W": state.W.astype(np.float32)}, {"episode": -1}):
        with pytest.raises(ValueError, match="inconsistent state"):
            state._replace(**wrong).check()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"penalty": 0}, "penalty must be"),
        ({"reach": -1}, "reach must be"),
        ({"start": "prelearned"}, r"start must be a number .* or a Percentile\(q\)"),
        ({"rule": kn.QLearning()}, r"rule must be Supervised\(\) or Regression\(\)"),
    ],
)
def test_what_cannot_be_is_refused_by_name(settings, words):
    with pytest.raises(ValueError, match=words):
        kn.RecursiveThresholds(**settings)
