"""Q-learning: every update against the oracle, and what may not change."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kenyon as kn
from kenyon.learning.learners import changed
from tests import naive
from tests.learning.test_updates import LEARNERS, begun, episodes, network

SOURCE = kn.Source(0, "t")


@given(
    learner=st.sampled_from(LEARNERS),
    acting=st.sampled_from(["current", "both"]),
    n_neurons=st.integers(1, 70),
    n_classes=st.integers(2, 5),
    batch=st.integers(1, 6),
    temperature=st.sampled_from([0.3, 1.0, 4.0]),
    seed=st.integers(0, 10_000),
)
@example(LEARNERS[3], "current", 1000, 3, 1, 1.0, 0)
@settings(max_examples=120, deadline=None)
def test_every_update_equals_the_oracle(learner, acting, n_neurons, n_classes, batch, temperature, seed):
    rule = kn.QLearning(reward=5.0, temperature=temperature)
    learner = changed(learner, batch=batch, eta_w=0.01, eta_theta=0.004, period=1000, rule=rule, acting=acting)
    rng = np.random.default_rng(seed)
    V, labels = episodes(rng, 3 * batch, n_neurons, n_classes)
    state = begun(learner, V, n_classes, rng)
    for first in range(0, len(V), batch):
        part = slice(first, first + batch)
        new, info = learner.update(state, V[part], labels[part])
        uniforms, actions = state.source.uniforms("choice", first, batch), None
        for m in range(len(state.nets.W)):
            W, theta = (values.astype(np.float64) for values in network(state, m))
            told = V[part].astype(np.float64), labels[part], uniforms[:, m]
            followed = actions if acting == "current" else None
            W, theta, costs, actions = naive.reward_step(W, theta, *told, learner, state.kappa, followed)
            np.testing.assert_allclose(network(new, m)[0], W, rtol=2e-4, atol=2e-5)
            np.testing.assert_allclose(network(new, m)[1], theta, rtol=2e-4, atol=2e-5)
            if m == 0:
                np.testing.assert_allclose(info.cost, costs, rtol=2e-4, atol=1e-4)
                np.testing.assert_array_equal(info.correct, actions == labels[part])
        state = new


@pytest.mark.parametrize("learner", [kn.GradientWeights(batch=1), kn.GradientThresholds(), kn.Normalised()])
def test_rows_of_actions_not_taken_do_not_change_by_a_bit(learner):
    learner = changed(learner, eta_w=1e-3, rule=kn.QLearning())
    rng = np.random.default_rng(0)
    V, labels = episodes(rng, 200, 40, 4)
    state = begun(learner, V, 4, rng)
    for n in range(200):
        W, theta = network(state)
        x = np.maximum(0, V[n] - theta) if learner.thresholds else V[n]
        action = naive.choose((W @ x).astype(np.float64), 1.0, state.source.uniforms("choice", n, 1)[0, 0])
        new, _ = learner.update(state, V[n : n + 1], labels[n : n + 1])
        others = np.arange(4) != action
        np.testing.assert_array_equal(network(new)[0][others], W[others])
        state = new


def test_only_the_reward_of_the_action_taken_is_read():
    """Wrong labels are all alike: a learner that took action 0 learns the same whether 1 or 2 was right."""
    V, _ = episodes(np.random.default_rng(0), 1, 30, 3)
    learner = kn.GradientThresholds(rule=kn.QLearning())
    start = begun(learner, V, 3, np.random.default_rng(1))
    W, theta = network(start)
    y = (W @ np.maximum(0, V[0] - theta)).astype(np.float64)
    action = naive.choose(y, 1.0, start.source.uniforms("choice", 0, 1)[0, 0])
    wrong = [label for label in range(3) if label != action]
    first, second = (learner.update(start, V, np.array([label]))[0] for label in wrong)
    for a, b in zip(first.nets, second.nets, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("acting", "alike"), [("current", True), ("both", False)])
def test_a_proposed_network_acts_only_if_both_do(acting, alike):
    """Only the row of an action taken learns, so the rows that changed show who did what."""
    V, labels = episodes(np.random.default_rng(0), 90, 30, 4)  # fewer than to the first decision
    learner = kn.Metropolis(rule=kn.QLearning(temperature=1e6), start=0.1, acting=acting)
    state, same = learner.begin(V, 4, kn.Source(0, "t")), []
    for n in range(90):
        new, _ = learner.update(state, V[n : n + 1], labels[n : n + 1])
        changed = (new.nets.W != state.nets.W).any(axis=2)
        same.append((changed[0] == changed[1]).all())
        state = new
    assert all(same) == alike


@pytest.mark.parametrize(
    "settings",
    [
        {"acting": "proposed"},
        {"acting": "both"},
        {"acting": "both", "search": "global"},
        {"acting": "both", "rule": kn.QLearning()},
    ],
)
def test_acting_that_means_nothing_is_refused(settings):
    with pytest.raises(ValueError, match="acting"):
        kn.Learner(**settings)


def test_temperature_schedules():
    linear, geometric = kn.Schedule(4.0, 1.0, 100), kn.Schedule(4.0, 1.0, 100, geometric=True)
    np.testing.assert_allclose(linear.at(np.array([0, 50, 100, 500])), [4, 2.5, 1, 1])
    np.testing.assert_allclose(geometric.at(np.array([0, 50, 100, 500])), [4, 2, 1, 1])
    np.testing.assert_allclose(kn.QLearning(temperature=linear).temperatures(50, 2), [2.5, 2.47])
    V, labels = episodes(np.random.default_rng(0), 300, 20, 2)
    hot = kn.Normalised(rule=kn.QLearning(temperature=1e6))
    state, info = hot.update(hot.begin(V, 2, kn.Source(0, "t")), V, labels)
    assert abs(info.correct.mean() - 0.5) < 4.5 * 0.5 / np.sqrt(300)  # at a high temperature all actions are as likely
    assert hot.readout(state).temperature == 1e6


@pytest.mark.parametrize("cut", [1, 13, 100])
def test_updates_do_not_depend_on_how_episodes_are_cut(cut):
    V, labels = episodes(np.random.default_rng(0), 200, 37, 3)
    rule = kn.QLearning(temperature=kn.Schedule(3.0, 0.5, 150))
    learner = kn.Composed(batch=3, period=10, eta_w=1e-3, start=0.2, rule=rule)
    start = learner.begin(V, 3, kn.Source(3, "test"))
    whole, _ = learner.update(start, V, labels)
    state = start
    for first in range(0, 200, cut):
        state, _ = learner.update(state, V[first : first + cut], labels[first : first + cut])
    for a, b in zip(whole.nets, state.nets, strict=True):
        np.testing.assert_array_equal(a, b)


def test_prelearning_and_train_work_by_reward():
    task, reservoir = kn.StaticTask(kn.load_odours(), 12, seed=1), kn.Reservoir(200, seed=1)
    rule = kn.QLearning()
    learners = {
        "gd_w": kn.GradientWeights(batch=10, eta_w=5e-4, rule=rule),
        "gd_theta": kn.GradientThresholds(rule=rule),
        "metropolis": kn.Metropolis(rule=rule),
        "composed": kn.Composed(rule=rule),
        "normalised": kn.Normalised(rule=rule),
    }
    result = kn.train(learners, reservoir, task, 6000, seed=1, threads=2)
    assert result.accuracy.notnull().all()
    assert float(result.accuracy.sel(learner="normalised")) > 0.95
    alone = kn.train({"composed": learners["composed"]}, reservoir, task, 6000, seed=1)
    np.testing.assert_array_equal(alone.theta[0], result.theta.sel(learner="composed"))


@pytest.mark.parametrize("temperature", [0.3, kn.Schedule(5.0, 0.1, 300)])
@pytest.mark.parametrize("kind", [kn.Normalised, kn.RecursiveLeastSquares])
def test_choices_of_supervised_learners_have_a_temperature_too(kind, temperature):
    rng = np.random.default_rng(0)
    V, labels = np.maximum(0, rng.normal(size=(500, 20))).astype(np.float32), rng.integers(3, size=500)
    learner = kind(rule=kn.Supervised(1.0, temperature))
    state, correct = learner.begin(V, 3, SOURCE), []
    for n in range(len(V)):
        y = learner.readout(state).outputs(V[n : n + 1])[0].astype(np.float64)
        at = temperature if isinstance(temperature, float) else temperature.at(np.array([n]))[0]
        assert learner.readout(state).temperature == at
        u = SOURCE.uniforms("choice", n, 1)[0, 0]
        p = np.exp((y - y.max()) / at)
        if np.abs(np.cumsum(p) / p.sum() - u).min() > 1e-4:  # far from where rounding decides
            correct.append((n, naive.choose(y, at, u) == labels[n]))
        state, info = learner.update(state, V[n : n + 1], labels[n : n + 1])
        if correct and correct[-1][0] == n:
            assert bool(info.correct[0]) == correct[-1][1]
    assert len(correct) > 450


def test_a_temperature_changes_choices_but_not_what_is_learned():
    V, labels = np.random.default_rng(1).random((300, 20), np.float32), np.arange(300) % 2
    hot, cold = (kn.Normalised(rule=kn.Supervised(temperature=t)) for t in (10.0, 0.1))
    (a, at_10), (b, at_01) = (one.update(one.begin(V, 2, SOURCE), V, labels) for one in (hot, cold))
    np.testing.assert_array_equal(a.nets.W, b.nets.W)
    assert (at_10.correct != at_01.correct).any()
    ridge = kn.Ridge(rule=kn.Supervised(temperature=0.5))
    assert ridge.readout(ridge.update(ridge.begin(V, 2, SOURCE), V, labels)[0]).temperature == 0.5
