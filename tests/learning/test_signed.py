"""Thresholds on both sides of a state: x = sign(V) relu(|V| - theta)."""

import numpy as np
import pytest

import kenyon as kn


def episodes(n=300, n_neurons=20, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    V = rng.normal(size=(n, n_neurons)) + rng.normal(size=(n_classes, n_neurons))[labels]
    V[rng.random(V.shape) < 0.1] = 0
    return V.astype(np.float32), labels


def x_of(V, theta):
    return np.sign(V) * np.maximum(0, np.abs(V) - theta)


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("step", ["fixed", "normalised"])
def test_updates_follow_the_gradient(n_classes, batch, step):
    """The oracle of a batch: steps against the gradient of the cost, which is found by finite differences."""
    V, labels = episodes(6 * batch, n_classes=n_classes)
    rates = {"eta_w": 0.01, "eta_theta": 0.02} if step == "fixed" else {"mu": 0.5}
    learner = kn.Learner(code="signed", local=True, batch=batch, start=0.3, step=step, **rates)
    state = learner.begin(V, n_classes, kn.Source(0, "t"))
    kappa = state.kappa
    for first in range(0, len(V), batch):
        before = learner.readout(state)
        W, theta = before.W.astype(np.float64), before.theta.astype(np.float64)
        part, wanted = V[first : first + batch], 10.0 * np.eye(n_classes)[labels[first : first + batch]]

        def cost(W, theta, part=part, wanted=wanted):
            return ((wanted - x_of(part, theta) @ W.T) ** 2).sum(axis=1).mean()

        h, x = 1e-6, x_of(part, theta)
        slopes = [(cost(W, theta + h * unit) - cost(W, theta - h * unit)) / (2 * h) for unit in np.eye(len(theta))]
        rate_w, rate_theta = 0.01, 0.02
        if step == "normalised":
            denominator = ((x**2).sum(axis=1) + kappa * (x != 0) @ (W**2).sum(axis=0)).mean()
            rate_w = 0.5 / denominator
            rate_theta = kappa * rate_w
        state, _ = learner.update(state, part, labels[first : first + batch])
        after = learner.readout(state)
        dW = rate_w * (wanted - x @ W.T).T @ x / batch
        np.testing.assert_allclose(after.W - W, dW, atol=1e-4 * np.abs(dW).max())
        np.testing.assert_allclose(after.theta - theta, -0.5 * rate_theta * np.array(slopes), atol=2e-5)
        np.testing.assert_allclose(before.features(part), x, atol=1e-6)
    assert np.abs(after.theta - np.float32(0.3)).max() > 1e-3


def test_states_that_are_not_negative_are_read_as_ever():
    V, labels = episodes()
    V = np.abs(V)
    for cls in (kn.Normalised, kn.GradientThresholds):
        rates = {"eta_w": 1e-3, "eta_theta": 1e-4} if cls is kn.GradientThresholds else {}
        readouts = []
        for code in ("on", "signed"):
            learner = cls(code=code, start=kn.Percentile(60.0), **rates)
            state, _ = learner.update(learner.begin(V, 3, kn.Source(0, "t")), V, labels)
            readouts.append(learner.readout(state))
        np.testing.assert_allclose(readouts[0].W, readouts[1].W, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(readouts[0].theta, readouts[1].theta, rtol=1e-4)


@pytest.mark.parametrize("learner", [kn.Normalised(code="signed"), kn.Composed(code="signed", start=0.2, period=5)])
def test_it_does_not_matter_how_episodes_are_cut(learner):
    learner = learner if isinstance(learner, kn.Normalised) else kn.Composed(
        code="signed", start=0.2, period=5, eta_w=1e-3, eta_theta=1e-4
    )  # fmt: skip
    V, labels = episodes()
    whole, _ = learner.update(learner.begin(V, 3, kn.Source(0, "t")), V, labels)
    state = learner.begin(V, 3, kn.Source(0, "t"))
    for part in np.split(np.arange(300), [1, 40, 41, 222]):
        state, _ = learner.update(state, V[part], labels[part])
    np.testing.assert_array_equal(state.nets.W, whole.nets.W)
    np.testing.assert_array_equal(state.nets.theta, whole.nets.theta)


def test_percentiles_are_those_of_sizes():
    V, labels = episodes()
    for learner in (kn.Normalised(code="signed"), kn.Ridge(start=kn.Percentile(85.0), code="signed")):
        readout = learner.readout(learner.update(learner.begin(V, 3, kn.Source(0, "t")), V[:0], labels[:0])[0])
        np.testing.assert_allclose(readout.theta, np.percentile(np.abs(V), 85.0, axis=0), rtol=1e-5)
        x = readout.features(V)
        assert (x < 0).any()
        np.testing.assert_allclose(x, x_of(V, readout.theta), atol=1e-6)
        np.testing.assert_allclose((x != 0).mean(), 0.15, atol=0.01)


def test_agents_act_on_it():
    V, labels = episodes()
    learner = kn.Normalised(code="signed", rule=kn.QLearning())
    state, _ = learner.update(learner.begin(V, 3, kn.Source(0, "t")), V, labels)
    actions = learner.act(state, V)
    y = learner.readout(state).outputs(V)
    assert (actions == y.argmax(axis=1)).mean() > 0.8


def test_prelearning_and_training_count_both_sides():
    task, reservoir = kn.StaticTask(kn.load_odours(), 8, steps=8), kn.Reservoir(40, activation="tanh")
    result = kn.train({"signed": kn.Normalised(code="signed")}, reservoir, task, 600, n_test=200)
    assert 0.05 < float(result.coding_level.item()) < 0.5
    found = kn.prelearn(kn.Composed(code="signed", eta_w=1e-3), reservoir, task, steps=400)
    assert (found.starts >= 0).all()
    assert np.isfinite(found.costs).any()


def test_a_readout_survives_a_file(tmp_path):
    V, labels = episodes()
    learner = kn.Normalised(code="signed")
    readout = learner.readout(learner.update(learner.begin(V, 3, kn.Source(0, "t")), V, labels)[0])
    readout.save(tmp_path / "signed")
    np.testing.assert_array_equal(kn.load(tmp_path / "signed").outputs(V), readout.outputs(V))
    with pytest.raises(ValueError, match='code="signed" needs thresholds'):
        kn.Readout(readout.W, thresholds=False, code="signed").outputs(V)
