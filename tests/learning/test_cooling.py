"""Steps that cool: each is the step of a learner with as much smaller rates, wherever `update` is cut."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kenyon as kn
from kenyon.learning.cooling import KINDS, PACE, factors
from tests.learning.test_updates import begun, episodes

LEARNERS = [
    kn.GradientWeights(batch=1),
    kn.GradientThresholds(start=0.2),
    kn.Composed(start=0.2),
    kn.Normalised(),
    kn.Normalised(code="on_off"),
    kn.Normalised(rule=kn.QLearning()),
]


@pytest.mark.parametrize("kind", KINDS)
def test_factors_fall_from_one_to_nearly_nothing(kind):
    found = factors(kind, 1000, 0, 1000)
    assert found[0] == 1
    assert (np.diff(found) < 0).all()
    last = {"linear": 1e-3, "sqrt": np.sqrt(1e-3), "power": np.sqrt(0.5)}[kind]
    assert found[-1] == pytest.approx(last, rel=1e-3)
    half = {"linear": 0.5, "sqrt": np.sqrt(0.5), "power": np.sqrt(2 / 3)}[kind]
    assert found[500] == pytest.approx(half)


def test_after_the_end_the_last_step_stays():
    for kind in ("linear", "sqrt"):
        assert (factors(kind, 100, 100, 50) == factors(kind, 100, 99, 1)).all()


def test_without_a_horizon_a_power_takes_its_own():
    np.testing.assert_array_equal(factors("power", None, 5, 100), factors("power", PACE, 5, 100))


@given(
    learner=st.sampled_from(LEARNERS),
    kind=st.sampled_from(KINDS),
    seen=st.integers(0, 500),
    seed=st.integers(0, 1000),
)
@settings(max_examples=80, deadline=None)
def test_a_cooled_step_is_a_step_with_smaller_rates(learner, kind, seen, seed):
    rng = np.random.default_rng(seed)
    V, labels = episodes(rng, 1, 33, 2)
    state = begun(learner, V, 2, rng)._replace(episode=seen)
    factor = float(factors(kind, 400, seen, 1)[0])
    new, _ = dataclasses.replace(learner, cooling=kind, horizon=400).update(state, V, labels)
    wanted, _ = learner.slowed(factor).update(state, V, labels)
    np.testing.assert_allclose(new.nets.W, wanted.nets.W, rtol=1e-5, atol=1e-6)
    finite = np.isfinite(new.nets.theta)
    np.testing.assert_allclose(new.nets.theta[finite], wanted.nets.theta[finite], rtol=1e-5, atol=1e-6)


def test_a_batch_takes_the_step_of_its_last_episode():
    rng = np.random.default_rng(0)
    V, labels = episodes(rng, 10, 33, 2)
    learner = kn.GradientThresholds(start=0.2, batch=10)
    state = begun(learner, V, 2, rng)
    new, _ = dataclasses.replace(learner, cooling="linear", horizon=12).update(state, V, labels)
    wanted, _ = learner.slowed(3 / 12).update(state, V, labels)
    np.testing.assert_allclose(new.nets.W, wanted.nets.W, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("kind", KINDS)
def test_cooling_does_not_depend_on_how_updates_are_cut(learner, kind):
    V, labels = episodes(np.random.default_rng(1), 300, 40, 2)
    learner = dataclasses.replace(learner, cooling=kind, horizon=300)
    whole, _ = learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
    state = learner.begin(V, 2, kn.Source(0, "t"))
    for first, last in ((0, 1), (1, 100), (100, 207), (207, 300)):
        state, _ = learner.update(state, V[first:last], labels[first:last])
    np.testing.assert_array_equal(state.nets.W, whole.nets.W)
    np.testing.assert_array_equal(state.nets.theta, whole.nets.theta)


def test_train_knows_the_horizon(odours):
    task, reservoir = kn.StaticTask(odours, 8, steps=8), kn.Reservoir(40)
    learners = {"told": kn.Normalised(cooling="sqrt", horizon=700), "other": kn.Normalised(cooling="sqrt", horizon=900)}
    told = kn.train(learners, reservoir, task, 700, n_test=50)
    known = kn.train({"told": kn.Normalised(cooling="sqrt")}, reservoir, task, 700, n_test=50)
    np.testing.assert_array_equal(known.theta.sel(learner="told"), told.theta.sel(learner="told"))
    assert (told.theta.sel(learner="told") != told.theta.sel(learner="other")).any()


def test_in_turn_it_cools_over_all_tasks(odours):
    task, reservoir = kn.StaticTask(odours, 8, steps=8), kn.Reservoir(40)
    options = {"n_episodes": 300, "n_test": 50}
    learners = {"a": kn.Normalised(cooling="linear")}
    known = kn.train_in_turn(learners, reservoir, task.split(2), **options)
    learners = {"a": kn.Normalised(cooling="linear", horizon=600)}
    told = kn.train_in_turn(learners, reservoir, task.split(2), **options)
    np.testing.assert_array_equal(known.training_accuracy, told.training_accuracy)


def test_cooled_steps_store_more(odours):
    """Three hundred odours in 100 neurons: the last steps no longer undo what was stored before."""
    task = kn.StaticTask(odours.resample(300, seed=1), 300, seed=1)
    learners = {"warm": kn.Normalised(code="on_off"), "cooled": kn.Normalised(code="on_off", cooling="sqrt")}
    found = kn.train(learners, kn.Reservoir(100, seed=1), task, 20_000, seed=1).argmax_accuracy
    assert float(found.sel(learner="cooled")) > float(found.sel(learner="warm")) + 0.02


def test_estimators_tell_how_long_a_fit_is():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.integers(2, size=60)
    known, told = (
        kn.ThresholdReadout(learner, epochs=4, random_state=0).fit(X, y)
        for learner in (kn.Normalised(cooling="linear"), kn.Normalised(cooling="linear", horizon=240))
    )
    np.testing.assert_array_equal(known.readout_.W, told.readout_.W)
    endless = kn.ThresholdReadout(kn.Normalised(cooling="power"), random_state=0)
    assert endless.partial_fit(X, y, classes=[0, 1])._training.seen == 60
    with pytest.raises(ValueError, match="horizon must be given"):
        kn.ThresholdReadout(kn.Normalised(cooling="linear")).partial_fit(X, y, classes=[0, 1])


def test_mistakes_are_refused():
    with pytest.raises(ValueError, match="horizon = 100 would do nothing here"):
        kn.Normalised(horizon=100)
    with pytest.raises(ValueError, match="cooling must be one of 'linear', 'sqrt', 'power'"):
        kn.Normalised(cooling="cosine")
    with pytest.raises(ValueError, match="horizon must be an integer"):
        kn.Normalised(cooling="linear", horizon=0.5)
    V, labels = episodes(np.random.default_rng(1), 30, 10, 2)
    learner = kn.Normalised(cooling="linear")
    with pytest.raises(ValueError, match="horizon must be given to cool by 'linear'"):
        learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
