import numpy as np
import pytest
from sklearn.linear_model import Ridge

import kenyon as kn
from kenyon import _seeding
from kenyon.learning.ridge import CANDIDATES
from tests import naive
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
        (lambda: kn.Ridge(intercept=1), "intercept"),
        (lambda: kn.Ridge(rule=kn.QLearning()), r"rule must be Supervised\(\) or Regression\(\)"),
        (lambda: kn.RecursiveLeastSquares(rule=kn.QLearning), "rule must be"),
        (lambda: kn.RecursiveLeastSquares(start="prelearned"), r"start must be a number .*, a Percentile\(q\) or None"),
        (lambda: kn.RecursiveLeastSquares(penalty=0), "penalty"),
        (lambda: kn.Composed(batch=0), "batch"),
        (lambda: kn.Composed(eta_w=-1), "eta_w"),
        (lambda: kn.Composed(eta_w=np.nan), "eta_w"),
        (lambda: kn.Composed(search="local"), "search must be one of 'global', 'per_neuron'"),
        (lambda: kn.Composed(start="high"), "start must be one of 'prelearned'"),
        (lambda: kn.Composed(start=np.inf), "start"),
        (
            lambda: kn.Composed(start=[1, 2]),
            r"start must be a number .*, a Percentile\(q\) or 'prelearned', not \[1, 2\]",
        ),
        (lambda: kn.Ridge(start=[1, 2]), r"start must be a number .*, a Percentile\(q\) or None, not \[1, 2\]"),
        (lambda: kn.QLearning(temperature="low"), "temperature must be a number .*, or a Schedule, not 'low'"),
        (lambda: kn.Normalised(mu=2.5), r"mu must be a number in \(0, 2\]"),
        (lambda: kn.Normalised(start=kn.Percentile(101)), "q must be a number"),
        (lambda: kn.GradientWeights(local=True), "thresholds=False"),
        (lambda: kn.GradientThresholds(scaling="centred"), "scaling belongs to thresholds=False"),
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


def test_an_intercept_and_weights_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    V, labels = episodes(rng, 200, 20, 3)
    weights, learner = rng.uniform(0, 3, 200), kn.Ridge(penalty=1e-2, intercept=True)
    state, _ = learner.update(learner.begin(V, 3, kn.Source(0, "t")), V, labels, weights)
    X, Y = V.astype(np.float64), 10.0 * (labels[:, None] == np.arange(3))
    centred = X - np.average(X, axis=0, weights=weights)
    expected = Ridge(alpha=1e-2 * (weights @ centred**2).sum()).fit(X, Y, weights)
    np.testing.assert_allclose(learner.readout(state).W, expected.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(learner.readout(state).bias, expected.intercept_, rtol=1e-4, atol=1e-5)


def score(X, T, share, n):
    """The generalised cross-validation score of a penalty, for so many degrees of freedom."""
    H = X @ np.linalg.solve(X.T @ X + share * (X**2).sum() * np.eye(X.shape[1]), X.T)
    return ((T - H @ T) ** 2).sum() / (n - np.trace(H)) ** 2


@pytest.mark.parametrize("intercept", [False, True])
def test_the_penalty_chosen_has_the_least_generalised_cross_validation_score(intercept):
    rng = np.random.default_rng(0)
    V = rng.normal(size=(80, 30)).astype(np.float32)
    Y = (V[:, :2] + 3 * rng.normal(size=(80, 2)) + 5).astype(np.float32)
    learner = kn.Ridge(penalty=None, intercept=intercept, rule=kn.Regression())
    readout = learner.readout(learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, Y)[0])
    X, T = V.astype(np.float64), Y.astype(np.float64)
    if intercept:
        X, T = X - X.mean(axis=0), T - T.mean(axis=0)

    best = min(CANDIDATES.penalties, key=lambda share: score(X, T, share, 80 - intercept))
    assert CANDIDATES.penalties[0] < best < CANDIDATES.penalties[-1]
    expected = np.linalg.solve(X.T @ X + best * (X**2).sum() * np.eye(30), X.T @ T).T
    np.testing.assert_allclose(readout.W, expected, rtol=1e-4, atol=1e-5)


def test_neurons_that_repeat_others_share_their_weights():
    V, labels = episodes(np.random.default_rng(0), 400, 10, 3)
    readout, _ = learned(kn.Ridge(penalty=0.0), np.hstack([V, V]), labels, 3)
    plain, _ = learned(kn.Ridge(penalty=0.0), V, labels, 3)
    np.testing.assert_allclose(2 * readout.W, np.hstack([plain.W, plain.W]), rtol=1e-3, atol=1e-3)


def test_the_test_of_a_readout_counts_its_intercept():
    """Without an intercept the rarer class cannot win where V is next to nothing."""
    task = kn.StaticTask(kn.load_odours(), 12, seed=0, steps=5)
    reservoir = kn.Reservoir(20, 0.2, seed=0)
    learners = {"ridge": kn.Ridge(penalty=1.0, intercept=True)}
    result = kn.train(learners, reservoir, task, 400, n_test=200)
    V, labels, _ = next(reservoir.stream(task, 400, seed=0, batch_size=400))
    readout, _ = learned(learners["ridge"], V, labels, 2, cut=400)
    fresh = next(reservoir.stream(task, 200, seed=_seeding.derive(0, "test"), batch_size=200))
    expected = (readout.outputs(fresh.states).argmax(axis=1) == fresh.labels).mean()
    np.testing.assert_allclose(result.argmax_accuracy, expected)
    without = (readout._replace(bias=None).outputs(fresh.states).argmax(axis=1) == fresh.labels).mean()
    assert without != expected


@pytest.mark.parametrize("weights", [np.ones(19), -np.ones(20), np.full(20, np.inf), np.full(20, np.nan)])
def test_weights_that_make_no_sense_are_refused(weights):
    V, labels = episodes(np.random.default_rng(0), 20, 6, 3)
    with pytest.raises(ValueError, match="weights must"):
        kn.Ridge().update(kn.Ridge().begin(V, 3, kn.Source(0, "t")), V, labels, weights)


def test_recursive_least_squares_learns_real_numbers():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(400, 10)).astype(np.float32)
    Y = V[:, :1] * 3 - V[:, 1:2]
    readout, info = learned(kn.RecursiveLeastSquares(rule=kn.Regression()), V, Y, 1)
    np.testing.assert_allclose(readout.W, [[3, -1, *[0] * 8]], atol=0.01)
    assert np.isnan(info.correct).all()
    assert info.cost[-1] < 1e-3


@pytest.mark.parametrize("start", [0.4, kn.Percentile(70)])
def test_recursive_least_squares_at_thresholds_is_that_on_what_they_leave(start):
    V, labels = episodes(np.random.default_rng(0), 400, 30, 3)
    theta = np.percentile(V, 70, axis=0) if isinstance(start, kn.Percentile) else start
    x = np.maximum(V - theta, 0).astype(np.float32)
    learner = kn.RecursiveLeastSquares(start=start)
    state, _ = learner.update(learner.begin(V, 3, kn.Source(0, "t")), V, labels)
    plain, _ = learned(kn.RecursiveLeastSquares(), x, labels, 3, cut=400)
    np.testing.assert_allclose(learner.readout(state).W, plain.W, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(learner.readout(state).outputs(V), plain.outputs(x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("start", [None, 0.4])
def test_by_reward_each_action_is_a_regression_on_the_episodes_in_which_it_was_taken(start):
    V, labels = episodes(np.random.default_rng(0), 400, 30, 3)
    learner = kn.RecursiveLeastSquares(penalty=0.1, start=start, rule=kn.QLearning(reward=6.0, temperature=3.0))
    X = V.astype(np.float64) if start is None else np.maximum(V - np.float32(start), 0).astype(np.float64)
    state, taken, rewards = learner.begin(V, 3, kn.Source(0, "t")), [], []
    for n in range(400):
        y = learner.readout(state).outputs(V[n : n + 1])[0].astype(np.float64)
        taken.append(naive.choose(y, 3.0, kn.Source(0, "t").uniforms("choice", n, 1)[0, 0]))
        rewards.append(6.0 * (taken[-1] == labels[n]))
        state, info = learner.update(state, V[n : n + 1], labels[n : n + 1])
        assert info.correct[0] == (taken[-1] == labels[n])
        np.testing.assert_allclose(info.cost[0], (rewards[-1] - y[taken[-1]]) ** 2, rtol=1e-3, atol=1e-3)
    lam = 0.1 * (X**2).sum(axis=1).mean()
    for action in range(3):
        own = np.array(taken) == action
        expected = np.linalg.solve(X[own].T @ X[own] + lam * np.eye(30), X[own].T @ np.array(rewards)[own])
        np.testing.assert_allclose(learner.readout(state).W[action], expected, rtol=1e-3, atol=1e-4)
    whole, _ = learner.update(learner.begin(V, 3, kn.Source(0, "t")), V, labels)
    assert learner.readout(whole).W.tobytes() == learner.readout(state).W.tobytes()


def test_recursive_least_squares_told_the_class_and_by_reward_do_not_share_states():
    V, labels = episodes(np.random.default_rng(0), 20, 6, 3)
    told, by_reward = kn.RecursiveLeastSquares(), kn.RecursiveLeastSquares(rule=kn.QLearning())
    for one, other in [(told, by_reward), (by_reward, told)]:
        with pytest.raises(ValueError, match="state must come from a learner by"):
            one.update(other.begin(V, 3, kn.Source(0, "t")), V, labels)


@pytest.mark.parametrize("n", [1, 2, 9])
def test_chosen_penalties_solve_sums_of_any_rank(n):
    """By eigenvectors; of nine neurons one is silent and one repeats another."""
    rng = np.random.default_rng(0)
    V = rng.normal(size=(60, n)).astype(np.float32)
    if n == 9:
        V[:, 3], V[:, 4] = 0, V[:, 5]
    Y = (V[:, :1] + 0.1 * rng.normal(size=(60, 2))).astype(np.float32)
    for penalty in (None, 1e-6, 0.0):
        learner = kn.Ridge(penalty=penalty, intercept=True, rule=kn.Regression())
        readout = learner.readout(learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, Y)[0])
        X, T = V.astype(np.float64) - V.mean(axis=0, dtype=float), Y.astype(np.float64) - Y.mean(axis=0, dtype=float)
        share = penalty if penalty is not None else min(CANDIDATES.penalties, key=lambda q: score(X, T, q, 59))
        d, U = np.linalg.eigh(X.T @ X)
        kept = d > 1e-9 * d.max()
        expected = U[:, kept] @ ((U.T @ X.T @ T)[kept] / (d[kept] + share * d.sum())[:, None])
        np.testing.assert_allclose(X @ readout.W.T, X @ expected, rtol=1e-4, atol=1e-5)
