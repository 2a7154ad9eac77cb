"""Acting and learning from rewards: the numbers of `update` without its labels, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kenyon as kn
from kenyon.learning.learners import changed
from tests import naive
from tests.learning.test_updates import LEARNERS, begun, episodes, network

RULE = kn.QLearning(reward=5.0, temperature=kn.Schedule(3.0, 0.5, 150))
SEARCH = {"start": 0.2, "period": 7}
BY_REWARD = {
    "weights": kn.GradientWeights(rule=RULE, eta_w=1e-3),
    "standardised": kn.GradientWeights(rule=RULE, eta_w=1e-3, scaling="standardised"),
    "thresholds": kn.GradientThresholds(rule=RULE),
    "metropolis": kn.Metropolis(rule=RULE, **SEARCH),
    "per neuron": kn.Metropolis(rule=RULE, search="per_neuron", **SEARCH),
    "composed": kn.Composed(rule=RULE, **SEARCH),
    "normalised": kn.Normalised(rule=RULE),
}
V, LABELS = episodes(np.random.default_rng(0), 300, 37, 3)


def in_turn(learner, state, n_at_once):
    """Act and learn, some episodes at a time, rewarded as the rule has it; return the state, costs and actions."""
    costs, actions, proposals = [], [], []
    for first in range(0, len(V), n_at_once):
        part = slice(first, first + n_at_once)
        taken = learner.act(state, V[part])
        state, info = learner.learn(state, V[part], taken, 5.0 * (taken == LABELS[part]))
        costs, actions, proposals = [*costs, *info.cost], [*actions, *taken], [*proposals, *info.proposals]
        assert np.isnan(info.correct).all()
    return state, costs, actions, proposals


def assert_same(state, other):
    for a, b in zip(state.nets, other.nets, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(state[1:], other[1:], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("batch", "n_at_once"), [(1, 1), (10, 1), (10, 10), (10, 5)])
@pytest.mark.parametrize("name", BY_REWARD)
def test_acting_and_learning_give_the_numbers_of_update(name, batch, n_at_once):
    learner = changed(BY_REWARD[name], batch=batch)
    start = learner.begin(V, 3, kn.Source(3, "t"))
    whole, info = learner.update(start, V, LABELS)
    state, costs, actions, proposals = in_turn(learner, start, n_at_once)
    assert_same(state, whole)
    np.testing.assert_array_equal(costs, info.cost)
    np.testing.assert_array_equal(np.array(actions) == LABELS, info.correct)
    assert proposals == info.proposals
    assert len(proposals) == (300 // (7 * batch) if learner.search else 0)


def test_calls_that_go_beyond_a_batch_choose_with_the_weights_before_it():
    learner = BY_REWARD["normalised"]
    start = learner.begin(V, 3, kn.Source(3, "t"))
    one_by_one, at_once = in_turn(learner, start, 1), in_turn(learner, start, 20)
    assert one_by_one[2] != at_once[2]
    assert one_by_one[2][0] == at_once[2][0]
    again = learner.learn(start, V, at_once[2], 5.0 * (at_once[2] == LABELS))[0]  # the actions decide, not the calls
    assert_same(at_once[0], again)


@given(
    learner=st.sampled_from(LEARNERS),
    n_neurons=st.integers(1, 70),
    n_classes=st.integers(2, 5),
    batch=st.integers(1, 6),
    seed=st.integers(0, 10_000),
)
@settings(max_examples=60, deadline=None)
def test_any_actions_and_any_rewards_equal_the_oracle(learner, n_neurons, n_classes, batch, seed):
    learner = changed(learner, batch=batch, eta_w=0.01, eta_theta=0.004, period=1000, rule=kn.QLearning(reward=5.0))
    rng = np.random.default_rng(seed)
    V, labels = episodes(rng, 3 * batch, n_neurons, n_classes)
    actions, rewards = rng.integers(n_classes, size=len(V)), rng.normal(size=len(V))
    state = begun(learner, V, n_classes, rng)
    for first in range(0, len(V), batch):
        part = slice(first, first + batch)
        new, info = learner.learn(state, V[part], actions[part], rewards[part])
        for m in range(len(state.nets.W)):
            W, theta = (values.astype(np.float64) for values in network(state, m))
            told = V[part].astype(np.float64), labels[part], np.zeros(batch)
            W, theta, costs, _ = naive.reward_step(W, theta, *told, learner, state.kappa, actions[part], rewards[part])
            np.testing.assert_allclose(network(new, m)[0], W, rtol=2e-4, atol=2e-5)
            np.testing.assert_allclose(network(new, m)[1], theta, rtol=2e-4, atol=2e-5)
            if m == 0:
                np.testing.assert_allclose(info.cost, costs, rtol=2e-4, atol=1e-4)
        state = new


@pytest.mark.parametrize("learner", [kn.Normalised(), kn.Composed(start=0.2), kn.GradientWeights(scaling="centred")])
def test_under_supervision_an_action_is_the_choice_that_update_makes(learner):
    state = learner.update(learner.begin(V, 3, kn.Source(1, "t")), V[:200], LABELS[:200])[0]
    right = [learner.update(state, V[200:201], LABELS[200:201])[1].correct[0] for _ in range(2)]
    assert right[0] == right[1] == (learner.act(state, V[200:201])[0] == LABELS[200])
    actions = learner.act(state, V[200:])
    np.testing.assert_array_equal(actions, learner.act(state, V[200:]))
    assert set(actions) <= {0, 1, 2}
    assert len(learner.act(state, V[:0])) == 0


def test_a_bandit_of_ones_own_with_real_rewards_is_learned():
    """Rewards are noisy, partly negative, and differ between contexts and arms; nobody says which arm is right."""
    rng = np.random.default_rng(0)
    contexts, means = rng.random((6, 80)).astype(np.float32), rng.normal(0, 4, (6, 3))
    learner = kn.Normalised(rule=kn.QLearning(temperature=0.5), mu=0.1)
    state = learner.begin(contexts, 3, kn.Source(0, "bandit"))
    received, best = [], []
    for _ in range(3000):
        shown = rng.integers(6, size=1)
        V = contexts[shown] * (1 + 0.05 * rng.standard_normal((1, 80)))
        actions = learner.act(state, V)
        received.append(rng.normal(means[shown, actions], 1.0)[0])
        best.append(means[shown].max())
        state, _ = learner.learn(state, V, actions, received[-1:])
    regret = np.array(best) - received
    assert regret[-1000:].mean() < 0.25 * regret[:200].mean()
    Q = learner.readout(state).outputs(contexts)
    every, chosen = np.arange(6), Q.argmax(axis=1)
    assert (
        means[every, chosen] > means.max(axis=1) - 1.0
    ).all()  # arms that are nearly as good may be taken for the best
    assert abs(Q - means)[every, chosen].max() < 1.0


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"actions": [0, 3]}, "actions must be from 0 to 2, not 0 to 3"),
        ({"actions": [-1, 0]}, "actions must be from 0 to 2, not -1 to 0"),
        ({"actions": [0.0, 1.0]}, "actions must be 2 integers, one per row of states, not float64"),
        ({"actions": [0]}, "actions must be 2 integers, one per row of states, not 1"),
        ({"rewards": [1.0, np.nan]}, r"rewards must be finite and within float32; rewards\[1\] is nan"),
        ({"rewards": [1.0]}, "rewards must be 2 numbers, one per row of states, not 1"),
        ({"rewards": 1.0}, r"rewards must have shape \(2,\), not \(\)"),
        ({"V": V[0]}, r"states must have shape \(n, 37\), not \(37,\)"),
        ({"V": np.full((2, 37), np.inf)}, "states must be finite"),
    ],
)
def test_what_is_no_action_or_no_reward_is_refused(told, message):
    learner = BY_REWARD["composed"]
    right = {"state": learner.begin(V, 3, kn.Source(0, "t")), "V": V[:2], "actions": [0, 1], "rewards": [1.0, -0.5]}
    learner.learn(**right)
    with pytest.raises(ValueError, match=message):
        learner.learn(**right | told)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (kn.Normalised(), r"rule must be QLearning\(\) to learn by reward, not Supervised"),
        (kn.Normalised(rule=kn.Regression()), r"rule must be QLearning\(\) to learn by reward, not Regression"),
        (kn.Composed(rule=RULE, start=0.2, acting="both"), "acting must be 'current' to learn by reward"),
    ],
)
def test_learners_that_are_told_otherwise_do_not_learn_by_reward(learner, message):
    state = learner.begin(V, 3, kn.Source(0, "t"))
    with pytest.raises(ValueError, match=message):
        learner.learn(state, V[:1], [0], [1.0])


def test_a_regression_does_not_act():
    learner = kn.Normalised(rule=kn.Regression())
    with pytest.raises(ValueError, match=r"rule must be QLearning\(\) or Supervised\(\) for a learner to act"):
        learner.act(learner.begin(V, 3, kn.Source(0, "t")), V)


@pytest.mark.parametrize("labels", [None, [5.0], [3], [0, 1]])
def test_update_by_reward_without_labels_names_learn(labels):
    for learner, told in (
        (BY_REWARD["normalised"], "; from actions and their rewards, learn by `learn`"),
        (kn.Normalised(), ""),
    ):
        with pytest.raises(ValueError, match=f"^labels must be .*[^`]{told}$"):
            learner.update(learner.begin(V, 3, kn.Source(0, "t")), V[:1], labels)
