import dataclasses

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import kenyon as kn
from tests.learning.test_updates import episodes, network


@given(st.floats(0.001, 0.05), st.integers(2, 5), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_one_step_shrinks_the_error_by_one_minus_mu(mu, n_classes, seed):
    rng = np.random.default_rng(seed)
    V = (1.0 + rng.random((1, 40))).astype(np.float32)  # all well above their thresholds, so that none crosses
    learner = kn.Normalised(mu=mu, start=0.2)
    state = learner.begin(V, n_classes, kn.Source(0, "t"))
    W = network(state)[0]
    W[:] = rng.normal(0, 0.1, W.shape)
    label = np.array([1])
    wanted = 10.0 * (np.arange(n_classes) == 1)
    before = wanted - learner.readout(state).outputs(V)[0]
    new, _ = learner.update(state, V, label)
    after = wanted - learner.readout(new).outputs(V)[0]
    # exactly so in weights; thresholds share one step among classes, which is exact along the error
    shrunk = (before @ after) / (before @ before)
    weights_only = dataclasses.replace(learner, k=0.0)
    start = weights_only.begin(V, n_classes, kn.Source(0, "t"))
    start.nets.W[:] = state.nets.W
    exact = wanted - weights_only.readout(weights_only.update(start, V, label)[0]).outputs(V)[0]
    np.testing.assert_allclose(exact, (1 - mu) * before, rtol=1e-3, atol=1e-4)
    norm2, weight = float(((V - 0.2) ** 2).sum()), float((W.astype(np.float64) ** 2).sum())
    share = norm2 / (norm2 + state.kappa * weight)  # of the weights in the step; that of the thresholds adds to it
    assert 1 - mu - 2 * mu**2 - 1e-4 <= shrunk <= 1 - share * mu + 2 * mu**2 + 1e-4


@given(st.floats(0.05, 1.9), st.floats(0.005, 0.3), st.integers(2, 5), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_the_error_after_a_step_is_what_the_derivation_says(mu, k, n_classes, seed):
    """e' = e - g (|x|^2 + kappa M) e - g^2 kappa (y . e) e, as long as no unit crosses its threshold (docs)."""
    rng = np.random.default_rng(seed)
    V = (5.0 + rng.random((1, 40))).astype(np.float32)
    learner = kn.Normalised(mu=mu, k=k, start=0.2)
    state = learner.begin(V, n_classes, kn.Source(0, "t"))
    W = network(state)[0]
    W[:] = rng.normal(0, 0.05, W.shape)
    W, x = W.astype(np.float64).copy(), (V[0] - 0.2).astype(np.float64)
    label = np.array([1])
    new, _ = learner.update(state, V, label)
    y, e = W @ x, 10.0 * (np.arange(n_classes) == 1) - W @ x
    g = mu / (x @ x + state.kappa * (W**2).sum())
    wanted = e - g * (x @ x * e + state.kappa * W @ W.T @ e) - g**2 * state.kappa * (y @ e) * e
    readout = learner.readout(new)
    assume((readout.theta < V[0]).all())
    found = 10.0 * (np.arange(n_classes) == 1) - readout.outputs(V)[0]
    np.testing.assert_allclose(found, wanted, atol=2e-3)


@pytest.mark.parametrize("k", [0.005, 5.0])
def test_one_step_by_reward_shrinks_its_error_by_one_minus_mu(k):
    """With a single row the thresholds' share is exact too, however large it is."""
    rng = np.random.default_rng(0)
    V, mu = (1.0 + rng.random((1, 40))).astype(np.float32), 0.01
    learner = kn.Normalised(mu=mu, k=k, start=0.2, rule=kn.QLearning())
    state = learner.begin(V, 2, kn.Source(0, "t"))
    W = network(state)[0]
    W[:] = rng.normal(0, 0.1, W.shape)
    new, info = learner.update(state, V, np.array([1]))
    action = 1 if info.correct[0] else 0
    before, after = (10.0 * action - learner.readout(each).outputs(V)[0, action] for each in (state, new))
    assert after / before == pytest.approx(1 - mu, abs=2 * mu**2)


@pytest.mark.parametrize("mu", [0.05, 0.5, 1.0, 1.5, 1.9])
def test_stable_over_the_range_of_mu(mu):
    task = kn.StaticTask(kn.load_odours(), 20, seed=1)
    reservoir = kn.Reservoir(200, seed=1)
    result = kn.train({"n": kn.Normalised(mu=mu)}, reservoir, task, 6000, seed=1, n_bins=6)
    assert np.isfinite(result.theta).all()
    assert float(result.expected_accuracy[0]) > 0.9


@pytest.fixture(scope="module")
def odour_states():
    """Return states and labels of a static task: 4000 to learn from, 1000 to test on."""
    task = kn.StaticTask(kn.load_odours(), 40, seed=3)
    batch = next(kn.Reservoir(200, seed=3).stream(task, 5000, seed=3, batch_size=5000))
    return batch.states, batch.labels


def decisions(learner, V, labels):
    """Return choices made while learning, and afterwards the likeliest class of each test episode."""
    state, info = learner.update(learner.begin(V[:3000], 2, kn.Source(0, "t")), V[:4000], labels[:4000])
    return info.correct, learner.readout(state).outputs(V[4000:]).argmax(axis=1)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_scale_of_the_states_changes_no_decision(odour_states, factor):
    V, labels = odour_states
    expected = decisions(kn.Normalised(), V, labels)
    scaled = decisions(kn.Normalised(), V * np.float32(factor), labels)
    np.testing.assert_array_equal(scaled[0], expected[0])
    np.testing.assert_array_equal(scaled[1], expected[1])


@pytest.mark.parametrize("factor", [0.1, 100.0])
def test_scale_of_the_target_changes_no_decision(odour_states, factor):
    """The likeliest class, that is: choices drawn from softmax(y) become surer with y by their nature."""
    V, labels = odour_states
    expected = decisions(kn.Normalised(), V, labels)
    scaled = decisions(kn.Normalised(rule=kn.Supervised(target=10.0 * factor)), V, labels)
    np.testing.assert_array_equal(scaled[1], expected[1])
    assert (expected[1] == labels[4000:]).mean() > 0.9


def test_percentile_start_and_kappa_are_those_of_the_calibration():
    V, _ = episodes(np.random.default_rng(0), 500, 30, 2)
    learner = kn.Normalised()
    state = learner.begin(V, 2, kn.Source(0, "t"))
    np.testing.assert_allclose(network(state)[1], np.percentile(V, 85, axis=0), rtol=1e-6)
    x = np.maximum(0, V - np.percentile(V, 85, axis=0))
    S2 = (x**2).sum(axis=1).mean()
    assert state.kappa == pytest.approx(0.005 * S2**2 / 100, rel=1e-5)


def test_percentiles_are_taken_in_double_precision_and_rounded_once():
    """In single precision, versions of NumPy differ in the last bits."""
    V = np.random.default_rng(0).random((3000, 40)).astype(np.float32)
    below, above = np.sort(V, axis=0)[[2549, 2550]].astype(np.float64)
    expected = below + (above - below) * (0.85 * 2999 - 2549)
    np.testing.assert_array_equal(kn.Percentile(85.0).of(V), expected.astype(np.float32))


@given(st.integers(1, 300), st.floats(0.0, 100.0), st.sampled_from([1e-30, 1.0, 1e30]), st.integers(0, 1000))
@example(1, 50.0, 1.0, 0)
@example(101, 85.0, 1.0, 0)  # the 85th of a hundred and one: no need to look between two
@example(7, 100.0, 1.0, 0)
@settings(max_examples=100, deadline=None)
def test_percentiles_are_those_of_numpy_in_double_precision(n, q, size, seed):
    V = (size * np.random.default_rng(seed).normal(size=(n, 30)).clip(-0.5)).astype(np.float32)
    expected = np.percentile(V.astype(np.float64), q, axis=0).astype(np.float32)
    np.testing.assert_array_equal(kn.Percentile(q).of(V), expected)


def test_an_episode_in_which_nothing_is_active_changes_nothing():
    V, labels = episodes(np.random.default_rng(0), 50, 30, 2)
    learner = kn.Normalised(start=100.0)
    state = learner.begin(V, 2, kn.Source(0, "t"))
    new, info = learner.update(state, V, labels)
    np.testing.assert_array_equal(new.nets.W, 0)
    assert (info.cost == 100.0).all()


@pytest.mark.parametrize("cooling", ["sqrt", "linear", "power"])
@pytest.mark.parametrize(("code", "sides"), [("on", 1), ("on_off", 2)])
@pytest.mark.parametrize("n", [10, 90])
def test_where_steps_cool_k_follows_from_the_number_of_units(cooling, code, sides, n):
    V = np.random.default_rng(0).random((30, n), dtype=np.float32)
    source = kn.Source(0, "t")
    learner = kn.Normalised(cooling=cooling, code=code)
    given_k = kn.Normalised(cooling=cooling, code=code, k=0.08 / np.sqrt(sides * n))
    assert learner.k is None
    assert learner.begin(V, 2, source).kappa == given_k.begin(V, 2, source).kappa > 0


def test_k_is_settled_anew_when_cooling_is_switched_on_or_off():
    assert dataclasses.replace(kn.Normalised(), cooling="sqrt").k is None
    assert dataclasses.replace(kn.Normalised(cooling="sqrt"), cooling=None).k == 0.005
    assert dataclasses.replace(kn.Normalised(k=0.005), cooling="sqrt").k == 0.005


@pytest.mark.parametrize("code", ["on", "on_off"])
def test_thresholds_move_equally_fast_in_networks_of_all_sizes(code):
    """With weights of 10 / sqrt(n), by which n units make outputs of one size, a step moves thresholds equally far."""

    def moved(n):
        V = np.random.default_rng(n).random((400, n), dtype=np.float32)
        learner = kn.Normalised(cooling="power", code=code)
        state = learner.begin(V, 2, kn.Source(0, "t"))
        state.nets.W[:] = np.random.default_rng(0).normal(0, 10 / np.sqrt(n), state.nets.W.shape)
        new, _ = learner.update(state, V[:1], np.array([0]))
        return np.abs(learner.readout(new).theta - learner.readout(state).theta).mean()

    assert 0.5 < moved(1600) / moved(100) < 2  # with a constant k it would be 4
