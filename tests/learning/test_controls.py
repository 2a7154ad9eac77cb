import numpy as np
import pytest

import kenyon as kn
from tests.learning.test_updates import episodes


def learned(learner, V, labels, n_classes, cut=97):
    state = learner.begin(V, n_classes, kn.Source(0, "t"))
    for first in range(0, len(V), cut):
        state, info = learner.update(state, V[first : first + cut], labels[first : first + cut])
    return learner.readout(state), info


def test_ridge_solves_the_normal_equations():
    V, labels = episodes(np.random.default_rng(0), 400, 30, 3)
    X, Y = V.astype(np.float64), 10.0 * (labels[:, None] == np.arange(3))
    readout, info = learned(kn.Ridge(penalty=1e-3), V, labels, 3)
    lam = 1e-3 * (X**2).sum()
    expected = np.linalg.solve(X.T @ X + lam * np.eye(30), X.T @ Y).T
    np.testing.assert_allclose(readout.W, expected, rtol=1e-4, atol=1e-5)
    assert np.isnan(info.correct).all()


@pytest.mark.parametrize("start", [0.4, kn.Percentile(70)])
def test_ridge_with_thresholds_is_ridge_on_what_they_leave(start):
    V, labels = episodes(np.random.default_rng(0), 400, 30, 3)
    theta = np.percentile(V, 70, axis=0) if isinstance(start, kn.Percentile) else start
    x = np.maximum(V - theta, 0).astype(np.float32)
    state = kn.Ridge(start=start).begin(V, 3, kn.Source(0, "t"))
    readout = kn.Ridge(start=start).readout(kn.Ridge(start=start).update(state, V, labels)[0])
    plain, _ = learned(kn.Ridge(), x, labels, 3, cut=400)
    np.testing.assert_allclose(readout.W, plain.W, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(readout.outputs(V), plain.outputs(x), rtol=1e-3, atol=1e-3)


def test_ridge_that_has_seen_nothing_says_nothing():
    V, _ = episodes(np.random.default_rng(0), 40, 30, 3)
    readout = kn.Ridge().readout(kn.Ridge().begin(V, 3, kn.Source(0, "t")))
    assert not readout.W.any()


def test_recursive_least_squares_is_ridge_kept_up_to_date():
    V, labels = episodes(np.random.default_rng(0), 400, 30, 3)
    X, Y = V.astype(np.float64), 10.0 * (labels[:, None] == np.arange(3))
    readout, info = learned(kn.RecursiveLeastSquares(penalty=0.1), V, labels, 3)
    lam = 0.1 * (X**2).sum(axis=1).mean()
    expected = np.linalg.solve(X.T @ X + lam * np.eye(30), X.T @ Y).T
    np.testing.assert_allclose(readout.W, expected, rtol=1e-3, atol=1e-4)
    assert np.isfinite(info.cost).all()
    assert set(info.correct) <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kn.Ridge(penalty=-1), "penalty"),
        (lambda: kn.Ridge(start="high"), "start"),
        (lambda: kn.RecursiveLeastSquares(penalty=0), "penalty"),
        (lambda: kn.Composed(batch=0), "batch"),
        (lambda: kn.Composed(eta_w=-1), "eta_w"),
        (lambda: kn.Composed(eta_w=np.nan), "eta_w"),
        (lambda: kn.Composed(search="local"), "search must be one of 'global', 'per_neuron'"),
        (lambda: kn.Composed(start="high"), "start must be one of 'prelearned'"),
        (lambda: kn.Composed(start=np.inf), "start"),
        (lambda: kn.Normalised(mu=2.5), r"mu must be a number in \(0, 2\]"),
        (lambda: kn.Normalised(start=kn.Percentile(101)), "q must be a number"),
        (lambda: kn.GradientWeights(local=True), "thresholds=False"),
        (lambda: kn.GradientThresholds(scaling="centred"), "scaling needs thresholds=False"),
        (lambda: kn.Supervised(target=0), "target"),
        (lambda: kn.Learner(rule="reward"), "rule must be Supervised"),
        (lambda: kn.QLearning(reward=-1), "reward"),
        (lambda: kn.QLearning(temperature=0), "temperature"),
        (lambda: kn.Schedule(1.0, 0.0, 10), "stop"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("learner", [kn.Normalised(), kn.Composed(start=0.1), kn.Ridge(), kn.RecursiveLeastSquares()])
def test_states_and_labels_that_do_not_fit_are_refused_by_name(learner):
    V, labels = episodes(np.random.default_rng(0), 20, 6, 3)
    state = learner.begin(V, 3, kn.Source(0, "t"))
    holed = V.copy()
    holed[3, 2] = np.nan
    for states, classes, message in [
        (V[:, :5], labels, r"states must have shape \(n, 6\), not \(20, 5\)"),
        (V[0], labels, r"states must have shape \(n, 6\), not \(6,\)"),
        (holed, labels, r"states must be finite.*states\[3, 2\] is nan"),
        (V, labels[:7], "labels must be 20 integers"),
        (V, labels.astype(float), "labels must be 20 integers"),
        (V, labels + 1, "labels must be from 0 to 2, not 1 to 3"),
        (V, labels - 1, "labels must be from 0 to 2, not -1 to 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            learner.update(state, states, classes)
