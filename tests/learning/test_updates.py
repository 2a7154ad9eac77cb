"""Every update against the float64 oracle, and the oracle against finite differences."""

import dataclasses

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kenyon as kn
from kenyon.learning.learners import changed
from tests import naive

LEARNERS = [
    kn.GradientWeights(),
    kn.GradientThresholds(),
    kn.Metropolis(start=0.1),
    kn.Composed(start=0.1),
    kn.GradientWeights(batch_cost="sum"),
    kn.Composed(start=0.1, batch_cost="sum"),
    kn.Normalised(),
    kn.Learner(step="normalised"),
    kn.Learner(step="normalised", local=True, search="global", start=0.2),
    kn.Learner(step="normalised", thresholds=False),
]


def episodes(rng, n, n_neurons, n_classes):
    V = np.maximum(0, rng.normal(0.5, 0.6, size=(n, n_neurons))).astype(np.float32)
    return V, rng.integers(n_classes, size=n)


def network(state, m=0):
    """Return W and theta of one network, without the padding."""
    n = state.n_neurons
    return state.nets.W[m, :, :n], state.nets.theta[m, :n]


def begun(learner, V, n_classes, rng):
    """Return a first state whose weights and thresholds are not zero any more."""
    state = learner.begin(V, n_classes, kn.Source(3, "test"))
    for m in range(len(state.nets.W)):
        W, theta = network(state, m)
        W[:] = rng.normal(0, 0.3, W.shape)
        if learner.local:
            theta += rng.normal(0, 0.1, theta.shape).astype(np.float32)
    return state


@given(
    learner=st.sampled_from(LEARNERS),
    n_neurons=st.integers(1, 70),
    n_classes=st.integers(2, 6),
    batch=st.integers(1, 7),
    seed=st.integers(0, 10_000),
)
@example(LEARNERS[3], 1000, 2, 1, 0)  # a padding of more than one block
@example(LEARNERS[6], 1000, 3, 4, 0)
@example(LEARNERS[6], 4200, 5, 1, 0)  # more neurons than are read at a time, an odd number of classes
@settings(max_examples=150, deadline=None)
def test_every_update_equals_the_oracle(learner, n_neurons, n_classes, batch, seed):
    learner = changed(learner, batch=batch, eta_w=0.01, eta_theta=0.004, period=1000)
    rng = np.random.default_rng(seed)
    V, labels = episodes(rng, 3 * batch, n_neurons, n_classes)
    state = begun(learner, V, n_classes, rng)
    for first in range(0, len(V), batch):
        part = slice(first, first + batch)
        new, info = learner.update(state, V[part], labels[part])
        for m in range(len(state.nets.W)):
            W, theta = (part.astype(np.float64) for part in network(state, m))
            args = W, theta, V[part].astype(np.float64), labels[part], learner, state.kappa
            W, theta, costs = naive.gradient_step(*args)
            np.testing.assert_allclose(network(new, m)[0], W, rtol=2e-4, atol=2e-5)
            np.testing.assert_allclose(network(new, m)[1], theta, rtol=2e-4, atol=2e-5)
            if m == 0:
                np.testing.assert_allclose(info.cost, costs, rtol=2e-4, atol=1e-4)
        state = new


@pytest.mark.parametrize("rule", [kn.Supervised(), kn.QLearning()])
def test_a_summed_cost_is_the_mean_with_rates_as_many_times_as_large(rule):
    V, labels = episodes(np.random.default_rng(0), 64, 30, 2)
    rates = {"eta_w": 2.0**-10, "eta_theta": 2.0**-13, "rule": rule, "batch": 8, "start": 0.2}
    many = {name: 8 * rates[name] for name in ("eta_w", "eta_theta")}
    learners = kn.GradientThresholds(**rates, batch_cost="sum"), kn.GradientThresholds(**rates | many)
    (a, _), (b, _) = (one.update(one.begin(V, 2, kn.Source(0, "t")), V, labels) for one in learners)
    np.testing.assert_array_equal(a.nets.W, b.nets.W)  # powers of 2: to the bit
    np.testing.assert_array_equal(a.nets.theta, b.nets.theta)


def test_sum_and_mean_of_one_episode_are_the_same():
    V, labels = episodes(np.random.default_rng(0), 64, 30, 2)
    (a, _), (b, _) = (
        one.update(one.begin(V, 2, kn.Source(0, "t")), V, labels)
        for one in (kn.Composed(start=0.2), kn.Composed(start=0.2, batch_cost="sum"))
    )
    np.testing.assert_array_equal(a.nets.W, b.nets.W)


def test_a_batch_cost_that_would_change_nothing_is_refused():
    with pytest.raises(ValueError, match="batch_cost = 'sum' would do nothing here"):
        kn.Normalised(batch=10, batch_cost="sum")
    with pytest.raises(ValueError, match="batch_cost must be one of 'mean', 'sum', not 'median'"):
        kn.Learner(batch_cost="median")


def test_divergence_with_a_summed_cost_names_the_batch():
    V, labels = episodes(np.random.default_rng(0), 3000, 30, 2)
    learner = kn.GradientWeights(eta_w=0.1, batch=50, batch_cost="sum")
    with pytest.raises(kn.Diverged, match=r"eta_w \|x\|\^2 times the batch of 50 = "):
        learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)


@given(st.integers(1, 30), st.integers(2, 4), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_updates_follow_finite_differences_of_the_cost(n_neurons, n_classes, seed):
    rng = np.random.default_rng(seed)
    V, labels = episodes(rng, 1, n_neurons, n_classes)
    learner = kn.GradientThresholds(eta_w=1e-3, eta_theta=1e-3)
    state = begun(learner, V, n_classes, rng)
    W, theta = (part.astype(np.float64) for part in network(state))
    v, label, h = V[0].astype(np.float64), labels[0], 1e-5
    if (np.abs(v - theta) < 1e-3).any():  # at the kink there is no derivative
        return
    new, _ = learner.update(state, V, labels)

    def slope(dW, dtheta):
        up = naive.cost(W + h * dW, theta + h * dtheta, v, label, 10.0)
        down = naive.cost(W - h * dW, theta - h * dtheta, v, label, 10.0)
        return (up - down) / (2 * h)

    dW, dtheta = rng.normal(size=W.shape), rng.normal(size=theta.shape)
    moved_W, moved_theta = (network(new)[0] - W) / 1e-3, (network(new)[1] - theta) / 1e-3
    # the factor 2 of the square is taken into eta
    assert 2 * (moved_W * dW).sum() == pytest.approx(-slope(dW, 0 * theta), rel=2e-2, abs=0.3)
    assert 2 * (moved_theta * dtheta).sum() == pytest.approx(-slope(0 * W, dtheta), rel=2e-2, abs=0.3)


@pytest.mark.parametrize(
    "learner", LEARNERS, ids=lambda learner: f"{type(learner).__name__}-{learner.step}-{learner.search}"
)
@pytest.mark.parametrize("cut", [1, 7, 50, 333])
def test_updates_do_not_depend_on_how_episodes_are_cut(learner, cut):
    learner = changed(learner, batch=3, period=10, eta_w=1e-3)
    rng = np.random.default_rng(1)
    V, labels = episodes(rng, 500, 37, 3)
    start = learner.begin(V, 3, kn.Source(3, "test"))
    whole, info = learner.update(start, V, labels)
    state, correct, proposals = start, [], []
    for first in range(0, 500, cut):
        state, part = learner.update(state, V[first : first + cut], labels[first : first + cut])
        correct.append(part.correct)
        proposals += part.proposals
    for a, b in zip(whole.nets, state.nets, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(info.correct, np.concatenate(correct))
    assert info.proposals == proposals
    assert len(proposals) == (500 // 30 if learner.search else 0)


def test_an_update_leaves_its_state_as_it_was():
    rng = np.random.default_rng(1)
    V, labels = episodes(rng, 300, 20, 2)
    for learner in LEARNERS:
        start = learner.begin(V, 2, kn.Source(0, "test"))
        before = start.nets.copy(batch=2, n=1)
        learner.update(start, V, labels)
        for a, b in zip(before, start.nets, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "learner", LEARNERS, ids=lambda learner: f"{type(learner).__name__}-{learner.step}-{learner.search}"
)
@pytest.mark.parametrize("n_neurons", [1, 31, 32, 33, 511, 512, 1000, 1024])
def test_padding_stays_empty(learner, n_neurons):
    start = learner.start if isinstance(learner.start, kn.Percentile) or not learner.thresholds else -0.5
    learner = changed(learner, batch=2, eta_w=1e-4, period=10, start=start)
    V, labels = episodes(np.random.default_rng(0), 60, n_neurons, 2)
    state, _ = learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
    assert (state.nets.W[:, :, :n_neurons] != 0).any()
    assert (state.nets.W[:, :, n_neurons:] == 0).all()
    assert (state.nets.theta[:, n_neurons:] == np.inf).all()
    assert learner.readout(state).W.shape == (2, n_neurons)


def test_no_episodes_change_nothing():
    V, labels = episodes(np.random.default_rng(0), 50, 20, 2)
    for learner in LEARNERS:
        state, _ = learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
        same, info = learner.update(state, V[:0], labels[:0])
        assert same.episode == state.episode
        assert same.silent == state.silent
        assert len(info.cost) == 0
        for a, b in zip(state.nets, same.nets, strict=True):
            np.testing.assert_array_equal(a, b)


def test_one_compiled_kernel_serves_all():
    from kenyon.kernels.learning import learn

    V, labels = episodes(np.random.default_rng(0), 250, 20, 2)
    before = len(learn.signatures)
    for learner in LEARNERS:
        for rule in (kn.Supervised(), kn.QLearning()):
            ruled = dataclasses.replace(learner, rule=rule)
            ruled.update(ruled.begin(V, 2, kn.Source(0, "t")), V, labels)
    assert len(learn.signatures) <= max(1, before)


def test_choices_follow_softmax():
    """With learning off, the share of right choices is the mean probability of the right class."""
    rng = np.random.default_rng(2)
    V, labels = episodes(rng, 20_000, 5, 4)
    learner = kn.Learner(eta_w=0.0)
    state = learner.begin(V, 4, kn.Source(0, "test"))
    W = network(state)[0]
    W[:] = rng.normal(size=W.shape)
    _, info = learner.update(state, V, labels)
    y = V.astype(np.float64) @ W.T.astype(np.float64)
    p = np.exp(y) / np.exp(y).sum(axis=1, keepdims=True)
    right = p[np.arange(len(V)), labels]
    error = np.sqrt((right * (1 - right)).sum()) / len(V)
    assert abs(info.correct.mean() - right.mean()) < 4.5 * error


@given(st.integers(0, 10_000), st.floats(1e-5, 1e-2))
@settings(max_examples=30, deadline=None)
def test_a_silent_neuron_stays_silent_under_gradient_thresholds(seed, eta_theta):
    rng = np.random.default_rng(seed)
    V, labels = episodes(rng, 200, 30, 2)
    learner = kn.GradientThresholds(eta_w=1e-3, eta_theta=eta_theta)
    state = learner.begin(V, 2, kn.Source(0, "test"))
    silent = rng.random(30) < 0.5
    W, theta = network(state)
    theta[silent] = V.max(axis=0)[silent]
    W[:] = rng.normal(size=W.shape)
    new_W, new_theta = network(learner.update(state, V, labels)[0])
    np.testing.assert_array_equal(new_theta[silent], theta[silent])
    np.testing.assert_array_equal(new_W[:, silent], W[:, silent])
    assert not np.array_equal(new_W, W) or silent.all()


def test_without_thresholds_negative_features_are_read_as_they_are():
    V = np.array([[-1.0, 2.0]], np.float32)
    learner = kn.GradientWeights(batch=1, eta_w=0.1)
    state, _ = learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, np.array([1]))
    np.testing.assert_allclose(network(state)[0], [[0, 0], [-1, 2]], rtol=1e-6)
    np.testing.assert_allclose(learner.readout(state).outputs(V), [[0, 5]], rtol=1e-6)


@pytest.mark.parametrize("scaling", ["centred", "standardised"])
def test_scaling_is_that_of_the_calibration_episodes(scaling):
    rng = np.random.default_rng(0)
    V, labels = episodes(rng, 400, 12, 2)
    V[:, 3] = 0.25  # a neuron that never changes tells nothing, and must not become NaN
    learner = kn.GradientWeights(batch=1, eta_w=1e-3, scaling=scaling)
    state = learner.begin(V, 2, kn.Source(0, "t"))
    z = learner.readout(state).features(V)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-5)
    if scaling == "standardised":
        np.testing.assert_allclose(np.delete(z.std(axis=0), 3), 1, rtol=1e-4)
        assert (z[:, 3] == 0).all()
    plain = kn.GradientWeights(batch=1, eta_w=1e-3)
    expected, _ = plain.update(plain.begin(z, 2, kn.Source(0, "t")), z, labels)
    new, _ = learner.update(state, V, labels)
    np.testing.assert_array_equal(new.nets.W, expected.nets.W)
