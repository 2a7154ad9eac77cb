"""Real targets in the kernel, against the slow obvious way."""

import numpy as np
import pytest

import kenyon as kn
from kenyon.kernels.learning import learn, learn_all
from tests.learning.test_updates import episodes


def naive(learner, state, V, Y):
    """Return W and theta after learning from one episode after another, in double precision."""
    W, theta = np.zeros((Y.shape[1], V.shape[1])), state.nets.theta[0, : V.shape[1]].astype(np.float64)
    for v, wanted in zip(V.astype(np.float64), Y, strict=True):
        x = np.maximum(v - theta, 0)
        e = wanted - W @ x
        rate = learner.mu / (x @ x + state.kappa * (W[:, x > 0] ** 2).sum())
        theta = theta + rate * state.kappa * -1.0 * (x > 0) * (e @ W)
        W = W + rate * np.outer(e, x)
    return W, theta


@pytest.mark.parametrize("n_outputs", [1, 2, 3])
def test_real_targets_are_learned_as_the_oracle_learns_them(n_outputs):
    rng = np.random.default_rng(n_outputs)
    V, _ = episodes(rng, 60, 40, 2)
    Y = rng.normal(0, 10, (60, n_outputs))
    learner = kn.Normalised(rule=kn.Regression(), start=kn.Percentile(50))
    first = learner.begin(V, n_outputs, kn.Source(0, "t"))
    state, info = learner.update(first, V, Y)
    W, theta = naive(learner, first, V, Y)
    readout = learner.readout(state)
    np.testing.assert_allclose(readout.W, W, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(readout.theta, theta, rtol=2e-3, atol=2e-3)
    assert np.isnan(info.correct).all()
    assert info.cost[0] == pytest.approx((Y[0] ** 2).sum(), rel=1e-4)


def test_classes_as_numbers_are_learned_as_classes_are():
    V, labels = episodes(np.random.default_rng(0), 200, 30, 3)
    classes, numbers = kn.Normalised(), kn.Normalised(rule=kn.Regression(10.0))
    a, _ = classes.update(classes.begin(V, 3, kn.Source(0, "t")), V, labels)
    b, _ = numbers.update(numbers.begin(V, 3, kn.Source(0, "t")), V, 10.0 * np.eye(3)[labels])
    np.testing.assert_array_equal(a.nets.W, b.nets.W)
    np.testing.assert_array_equal(a.nets.theta, b.nets.theta)


@pytest.mark.parametrize("search", [{}, {"search": "global", "period": 5}])
def test_targets_may_be_cut_anywhere(search):
    rng = np.random.default_rng(0)
    V, _ = episodes(rng, 90, 20, 2)
    Y = rng.normal(0, 10, (90, 1))
    learner = kn.Learner(rule=kn.Regression(), local=True, batch=4, **search)
    whole, _ = learner.update(learner.begin(V, 1, kn.Source(0, "t")), V, Y)
    state = learner.begin(V, 1, kn.Source(0, "t"))
    for first in range(0, 90, 7):
        state, _ = learner.update(state, V[first : first + 7], Y[first : first + 7])
    np.testing.assert_array_equal(state.nets.W, whole.nets.W)


def test_one_compiled_kernel_serves_classes_and_numbers():
    test_classes_as_numbers_are_learned_as_classes_are()
    assert len(learn.signatures) == 1
    assert len(learn_all.signatures) <= 1  # which streams call, too; 0 if a compiled `learn` was on disk


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (np.zeros(20), r"targets must have shape \(20, 2\), not \(20,\)"),
        (np.zeros((20, 3)), r"targets must have shape \(20, 2\), not \(20, 3\)"),
        (np.full((20, 2), np.nan), r"targets\[0, 0\] is nan"),
    ],
)
def test_targets_that_do_not_fit_are_refused_by_name(targets, message):
    V, _ = episodes(np.random.default_rng(0), 20, 6, 2)
    learner = kn.Normalised(rule=kn.Regression())
    with pytest.raises(ValueError, match=message):
        learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, targets)
