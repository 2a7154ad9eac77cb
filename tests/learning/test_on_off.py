"""The code "on_off": two units for each neuron, against the oracle, which reads V and -V as neurons of their own."""

import gymnasium
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kenyon as kn
from kenyon.envs import ReservoirFeatures, ReservoirFeaturesVector
from kenyon.kernels.reading import NO_SCALING, room_for
from kenyon.learning.learners import changed
from tests import naive
from tests.learning.test_updates import episodes

LEARNERS = [
    kn.Normalised(code="on_off"),
    kn.GradientThresholds(code="on_off", start=kn.Percentile(70.0)),
    kn.Composed(code="on_off", start=0.4),
    kn.Metropolis(code="on_off", start=0.4),
    kn.Learner(code="on_off", start=0.4, step="normalised"),
]


def learn_space(V, *, both):
    """Return the space that the kernel has for x: rows of networks must be at least as long."""
    return room_for(V, NO_SCALING, both, 2).x


def twice(V):
    return np.hstack([V, -V]).astype(np.float64)


def network(state, m=0):
    """Return W and theta of one network as the oracle has them: both sides, those of the second for -V."""
    W = np.hstack([state.nets.W[m, :, place] for place in state.places])
    theta = np.hstack([state.nets.theta[m, place] for place in state.places])
    return W.astype(np.float64), theta.astype(np.float64)


def begun(learner, V, n_classes, rng):
    """Return a first state in which the weights of all units are not zero any more."""
    state = learner.begin(V, n_classes, kn.Source(3, "test"))
    for place in state.places:
        state.nets.W[:, :, place] = rng.normal(0, 0.3, state.nets.W[:, :, place].shape)
    return state


@given(
    learner=st.sampled_from(LEARNERS),
    n_neurons=st.integers(1, 70),
    n_classes=st.integers(2, 5),
    batch=st.integers(1, 4),
    seed=st.integers(0, 10_000),
)
@example(LEARNERS[0], 1000, 2, 1, 0)  # sides that are padded beyond whole lanes
@example(LEARNERS[2], 512, 3, 2, 0)
@settings(max_examples=100, deadline=None)
def test_every_update_equals_the_oracle_on_both_sides(learner, n_neurons, n_classes, batch, seed):
    learner = changed(learner, batch=batch, eta_w=0.01, eta_theta=0.004, period=1000)
    rng = np.random.default_rng(seed)
    V, labels = episodes(rng, batch, n_neurons, n_classes)
    state = begun(learner, V, n_classes, rng)
    new, info = learner.update(state, V, labels)
    for m in range(len(state.nets.W)):
        W, theta, costs = naive.gradient_step(*network(state, m), twice(V), labels, learner, state.kappa)
        np.testing.assert_allclose(network(new, m)[0], W, rtol=2e-4, atol=2e-5)
        np.testing.assert_allclose(network(new, m)[1], theta, rtol=2e-4, atol=2e-5)
        if m == 0:
            np.testing.assert_allclose(info.cost, costs, rtol=2e-4, atol=1e-4)


@given(n_neurons=st.integers(1, 70), batch=st.integers(1, 4), seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_every_update_by_reward_equals_the_oracle_on_both_sides(n_neurons, batch, seed):
    learner = kn.Normalised(code="on_off", rule=kn.QLearning(), batch=batch)
    rng = np.random.default_rng(seed)
    V, labels = episodes(rng, batch, n_neurons, 3)
    state = begun(learner, V, 3, rng)
    uniforms = state.source.uniforms("choice", 0, batch)[:, 0]
    new, _ = learner.update(state, V, labels)
    W, theta, _, actions = naive.reward_step(*network(state), twice(V), labels, uniforms, learner, state.kappa)
    np.testing.assert_array_equal(learner.act(state, V), actions)
    np.testing.assert_allclose(network(new)[0], W, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(network(new)[1], theta, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("n_neurons", [31, 32, 33, 480, 512, 1000, 1024])
def test_nothing_is_written_beyond_the_units(n_neurons):
    V, labels = episodes(np.random.default_rng(0), 40, n_neurons, 2)
    learner = kn.Normalised(code="on_off", start=kn.Percentile(50.0))
    state, _ = learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
    state.check()
    beyond = np.ones(state.nets.theta.shape[1], bool)
    for place in state.places:
        beyond[place] = False
    assert (state.nets.theta[:, beyond] == np.inf).all()
    assert (state.nets.W[:, :, beyond] == 0).all()
    assert len(learn_space(V, both=True)) <= state.nets.theta.shape[1]


def test_thresholds_of_both_sides_go_down_the_cost():
    """Finite differences of the cost in double precision, at theta_on and theta_off as a readout has them."""
    rng = np.random.default_rng(2)
    V, labels = episodes(rng, 1, 12, 3)
    learner = kn.GradientThresholds(code="on_off", start=0.3, eta_w=1e-4, eta_theta=1e-4)
    state = begun(learner, V, 3, rng)
    before, after = (learner.readout(each) for each in (state, learner.update(state, V, labels)[0]))

    def cost(theta):
        x = np.hstack([np.maximum(0, V[0] - theta[:12]), np.maximum(0, theta[12:] - V[0])])
        e = 10.0 * (np.arange(3) == labels[0]) - before.W.astype(np.float64) @ x
        return e @ e

    theta, h = before.theta.astype(np.float64), 1e-6
    gradient = [(cost(theta + h * unit) - cost(theta - h * unit)) / (2 * h) for unit in np.eye(24)]
    moved = after.theta.astype(np.float64) - theta
    np.testing.assert_allclose(moved, -0.5 * learner.eta_theta * np.array(gradient), atol=1e-6)
    assert np.abs(moved[12:]).max() > 1e-5  # some units of the second side were active


def test_units_are_active_above_one_threshold_and_below_another():
    V, _ = episodes(np.random.default_rng(0), 500, 40, 2)
    learner = kn.Normalised(code="on_off", start=kn.Percentile(80.0))
    readout = learner.readout(learner.begin(V, 2, kn.Source(0, "t")))
    np.testing.assert_allclose(readout.theta[:40], np.percentile(V, 80.0, axis=0), rtol=1e-5)
    np.testing.assert_allclose(readout.theta[40:], np.percentile(V, 20.0, axis=0), rtol=1e-5)
    x = readout.features(V)
    assert x.shape == (500, 80)
    np.testing.assert_array_equal(x[:, :40] > 0, readout.theta[:40] < V)
    np.testing.assert_array_equal(x[:, 40:] > 0, readout.theta[40:] > V)
    assert (readout.n_neurons, readout.code) == (40, "on_off")


@pytest.mark.parametrize("start", [0.0, 0.4, 1.1])
def test_a_start_for_all_leaves_as_many_states_below_as_above(start):
    V = np.random.default_rng(0).random((500, 40), np.float32) * 1.5
    learner = kn.Composed(code="on_off", start=start)
    theta = learner.readout(learner.begin(V, 2, kn.Source(0, "t"))).theta
    assert (theta[:40] == np.float32(start)).all()
    assert np.mean(theta[40:] > V) == pytest.approx(np.mean(start < V), abs=0.002)


def test_a_search_makes_both_sides_sparser_or_less_sparse_together():
    V, labels = episodes(np.random.default_rng(0), 400, 40, 2)
    learner = kn.Metropolis(code="on_off", start=0.4, period=10, eta_w=1e-3)
    state, info = learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
    theta, moved = learner.readout(state).theta, state.theta_g - 0.4
    assert any(proposal.accepted for proposal in info.proposals)
    np.testing.assert_allclose(theta[:40], 0.4 + moved, atol=1e-5)
    assert np.ptp(theta[40:]) < 1e-5
    first = learner.readout(learner.begin(V, 2, kn.Source(0, "t"))).theta
    np.testing.assert_allclose(theta[40:], first[40:] - moved, atol=1e-5)


def test_prelearning_tries_both_sides(odours):
    task, reservoir = kn.StaticTask(odours, 8, steps=8), kn.Reservoir(40)
    found = kn.prelearn(kn.Composed(code="on_off"), reservoir, task, steps=400)
    assert np.isfinite(found.costs).any()
    assert found.costs.tolist() != kn.prelearn(kn.Composed(), reservoir, task, steps=400).costs.tolist()


@pytest.fixture(scope="module")
def trained(odours):
    learners = {"on": kn.Normalised(), "both": kn.Normalised(code="on_off"), "ridge": kn.Ridge(start=0.5)}
    return kn.train(learners, kn.Reservoir(40), kn.StaticTask(odours, 8, steps=8), 600, n_test=200)


def test_what_is_measured_per_neuron_is_measured_on_both_sides(trained):
    for name in ("theta", "activity", "specificity", "start_theta"):
        off = trained[f"{name}_off"]
        assert off.dims == ("learner", "neuron")
        assert np.isfinite(off.sel(learner="both")).all()
        assert np.isnan(off.sel(learner=["on", "ridge"])).all()
        assert "below a threshold" in off.attrs["long_name"]
    both = trained.sel(learner="both")
    units = np.concatenate([both.activity, both.activity_off])
    assert float(both.coding_level) == pytest.approx(units.mean(), abs=1e-6)


def test_who_has_one_side_does_not_notice_who_has_two(trained, odours):
    alone = kn.train({"on": kn.Normalised()}, kn.Reservoir(40), kn.StaticTask(odours, 8, steps=8), 600, n_test=200)
    assert not any(name.endswith("_off") for name in alone)
    np.testing.assert_array_equal(alone.theta.sel(learner="on"), trained.theta.sel(learner="on"))


def test_ridge_reads_both_sides():
    V, labels = episodes(np.random.default_rng(0), 300, 20, 2)
    ridge = kn.Ridge(start=kn.Percentile(70.0), code="on_off", penalty=0.01)
    state, _ = ridge.update(ridge.begin(V, 2, kn.Source(0, "t")), V, labels)
    readout = ridge.readout(state)
    x = readout.features(V).astype(np.float64)
    wanted = 10.0 * np.eye(2)[labels]
    W = np.linalg.solve(x.T @ x + 0.01 * np.trace(x.T @ x) * np.eye(40), x.T @ wanted).T
    np.testing.assert_allclose(readout.W, W, rtol=1e-3, atol=1e-4)


def test_a_readout_survives_a_file(tmp_path):
    V, labels = episodes(np.random.default_rng(0), 60, 20, 2)
    learner = kn.Normalised(code="on_off")
    readout = learner.readout(learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)[0])
    readout.save(tmp_path / "both")
    loaded = kn.load(tmp_path / "both")
    assert loaded.code == "on_off"
    np.testing.assert_array_equal(loaded.outputs(V), readout.outputs(V))


def test_an_estimator_reads_both_sides_and_ranks_them(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 6)), rng.integers(2, size=120)
    X[:, 0] += 3 * y
    model = kn.ThresholdReadout("normalised", both_signs=False, epochs=3).set_params(learner__code="on_off").fit(X, y)
    assert model.theta_.shape == model.specificity_.shape == (12,)
    assert model.code(X).shape == (120, 12)
    table = model.rank_neurons()
    assert table["side"].value_counts().to_dict() == {"on": 6, "off": 6}
    assert table.index[0] == 0
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(kn.load(tmp_path / "model").predict(X), model.predict(X))


def test_features_of_environments_and_series_have_both_sides():
    reservoir, theta_off = kn.Reservoir(30), np.linspace(0.1, 0.5, 30, dtype=np.float32)
    plain = gymnasium.make("kenyon/Static-v0", n_stimuli=4)
    env = ReservoirFeatures(plain, reservoir, 0.4, theta_off)
    shown, _ = plain.reset(seed=3)
    x, _ = env.reset(seed=3)
    V = reservoir.run(shown[None])[0]
    np.testing.assert_array_equal(x, np.append(np.maximum(V - np.float32(0.4), 0), np.maximum(theta_off - V, 0)))
    assert env.observation_space.contains(x)
    vector = gymnasium.make_vec("kenyon/Static-v0", num_envs=3, n_stimuli=4)
    both = ReservoirFeaturesVector(vector, reservoir, 0.4, theta_off)
    assert both.reset(seed=3)[0].shape == both.observation_space.shape == (3, 60)
    with pytest.raises(ValueError, match="theta must be given too"):
        ReservoirFeatures(plain, reservoir, theta_off=0.1)


def test_a_transformer_gives_both_sides():
    X = np.random.default_rng(0).normal(size=(30, 12, 2))
    both = kn.ReservoirTransformer("on_off", n_neurons=20, percentile=80.0, random_state=0)
    x = both.fit_transform(X)
    on = kn.ReservoirTransformer("x", n_neurons=20, percentile=80.0, random_state=0).fit_transform(X)
    assert x.shape == (30, 40) == (30, len(both.get_feature_names_out()))
    np.testing.assert_array_equal(x[:, :20], on)
    assert 0.1 < (x[:, 20:] > 0).mean() <= 0.2  # less where states are 0 for more than a fifth of the series


def test_mistakes_are_refused():
    with pytest.raises(ValueError, match="code must be one of 'on', 'on_off', 'signed', not 'off'"):
        kn.Normalised(code="off")
    with pytest.raises(ValueError, match="code = 'on_off' would do nothing here"):
        kn.GradientWeights(code="on_off")
    with pytest.raises(ValueError, match="code = 'on' would do nothing here"):
        kn.Ridge(code="on")
    V, _ = episodes(np.random.default_rng(0), 60, 20, 2)
    one, two = kn.Normalised(), kn.Normalised(code="on_off")
    with pytest.raises(ValueError, match="state must come from a learner with code='on_off'"):
        two.update(one.begin(V, 2, kn.Source(0, "t")), V, np.zeros(60, int))
    with pytest.raises(ValueError, match="two units for each neuron"):
        kn.Readout(np.zeros((2, 5)), np.zeros(5), code="on_off").outputs(V)
