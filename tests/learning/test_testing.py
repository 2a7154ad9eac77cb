"""What training and tests measure, against slow versions and in cases whose answer is known."""

import numpy as np
import pytest

import kenyon as kn
from kenyon import _seeding
from kenyon.learning import testing
from kenyon.learning.protocol import Source
from kenyon.learning.testing import PERMUTATIONS, labellings
from kenyon.readout import Readout
from kenyon.reservoir import Batch

ODOURS = kn.load_odours()
RESERVOIR = kn.Reservoir(n_neurons=60, seed=1)
LEARNERS = {
    "weights": kn.GradientWeights(),
    "thresholds": kn.GradientThresholds(),
    "metropolis": kn.Metropolis(start=0.6),
    "composed": kn.Composed(start=0.6),
}


@pytest.fixture(scope="module")
def task():
    return kn.StaticTask(ODOURS, n_stimuli=12, seed=3)


@pytest.fixture(scope="module")
def result(task):
    return kn.train(LEARNERS, RESERVOIR, task, 2400, seed=2, n_bins=7, n_test=300)


def measures_of(states, labels, theta, permutations=3):
    """Return the measures of a readout of given states, each of which shows an item of its own."""
    states, labels, theta = np.asarray(states, np.float32), np.asarray(labels), np.asarray(theta, np.float32)
    items = np.arange(len(states))
    task = kn.Task(ODOURS, items[:, None] % len(ODOURS), labels, n_classes=2, steps=1, noise=0.0)
    readout = Readout(np.zeros((2, len(theta)), np.float32), theta)
    test = testing.Test(readout, testing.Codes(task, labellings(task, 0, permutations)), Source(0, "a"))
    test.code.take(Batch(states, labels, items))
    return test.measures()


def test_classes_with_neurons_of_their_own_are_apart_and_equal_ones_are_not():
    apart = measures_of([[1, 0], [1, 0], [0, 1], [0, 1]], [0, 0, 1, 1], [0.5, 0.5])
    assert (apart["overlap"], apart["relative_specificity"]) == (0.0, 1.0)
    np.testing.assert_allclose(apart["specificity"], 0.5)
    equal = measures_of([[1, 0], [0, 1], [1, 0], [0, 1]], [0, 0, 1, 1], [0.5, 0.5])
    assert (equal["overlap"], equal["relative_specificity"]) == (pytest.approx(1.0), 0.0)
    np.testing.assert_allclose(equal["specificity"], 0.0)


def test_chance_is_what_random_classes_give():
    rng = np.random.default_rng(0)
    states, labels = rng.random((400, 30)), np.arange(400) % 2
    found = measures_of(states, labels, np.full(30, 0.7), permutations=200)
    by_hand = [kn.specificity(_counts(states > 0.7, rng.permutation(labels)), 400).mean() for _ in range(400)]
    assert found["specificity_permuted"] == pytest.approx(np.mean(by_hand), rel=0.03)
    assert found["specificity"].mean() == pytest.approx(found["specificity_permuted"], rel=0.5)
    assert found["overlap_permuted"] == pytest.approx(found["overlap"], abs=0.02)


def _counts(active, labels):
    return np.array([active[labels == own].sum(axis=0) for own in (0, 1)]).T


def test_classes_that_differ_are_further_apart_than_by_chance():
    labels = np.arange(40) % 2
    states = np.where(labels[:, None] == np.arange(6) % 2, 1.0, 0.2) + np.random.default_rng(1).random((40, 6)) / 10
    found = measures_of(states, labels, np.full(6, 0.5))
    assert found["overlap"] == 0.0 < found["overlap_permuted"]
    assert found["specificity"].mean() > found["specificity_permuted"]
    assert found["relative_specificity"] == 1.0 > found["relative_specificity_permuted"]


def test_permutations_are_of_items_and_the_same_for_all_learners(task):
    found = labellings(task, 5, PERMUTATIONS)
    assert found.shape == (PERMUTATIONS + 1, len(task))
    np.testing.assert_array_equal(found[0], task.labels)
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort([task.labels] * len(found), axis=1))
    assert len(np.unique(found, axis=0)) > PERMUTATIONS / 2
    np.testing.assert_array_equal(found, labellings(task, 5, PERMUTATIONS))


def test_thresholds_that_fled_above_all_states_are_told_apart():
    found = measures_of([[1, 1, 1], [2, 1, 1]], [0, 1], [0.0, 1.5, 9.0])
    assert (found["theta_active_mean"], found["theta_active_sd"]) == (0.0, 0.0)
    assert found["theta_mean"] == pytest.approx(3.5)
    silent = measures_of([[1, 1, 1], [2, 1, 1]], [0, 1], [9.0, 9.0, 9.0])
    assert np.isnan([silent["theta_active_mean"], silent["theta_active_sd"], silent["relative_specificity"]]).all()
    assert silent["overlap"] == 0.0


class Placed(kn.Task):
    """A task that knows the perturbed position and the context of its items."""

    positions = np.array([0, 1, 2, 2])
    own_context = np.array([True, False, True, True])


def test_accuracy_by_position_and_context():
    task = Placed(ODOURS, np.arange(4)[:, None], np.array([0, 1, 0, 1]), n_classes=2, steps=1, noise=0.0)
    W = np.array([[1000.0], [0.0]], np.float32)  # always class 0
    codes = testing.Codes(task, labellings(task, 0, 0))
    test = testing.Test(Readout(W, np.zeros(1, np.float32)), codes, Source(0, "a"))
    items = np.array([0, 1, 2, 3, 3])
    test.code.take(Batch(np.ones((5, 1), np.float32), task.labels[items], items))
    found = test.measures()
    np.testing.assert_allclose(found["position_accuracy"], [1, 0, 1 / 3])
    np.testing.assert_allclose(found["context_accuracy"], [2 / 4, 0])
    lost = testing.Test(None, codes, Source(0, "a")).measures()
    assert np.isnan(lost["position_accuracy"]).tolist() == [True] * 3


def test_accuracy_by_position_is_in_the_result_of_a_task_that_has_them(result):
    task = Placed(ODOURS, np.arange(4)[:, None], np.array([0, 1, 0, 1]), n_classes=2, steps=20, noise=0.3)
    found = kn.train({"n": kn.Normalised()}, RESERVOIR, task, 400, n_test=200)
    assert found.position_accuracy.dims == ("learner", "position")
    assert found.context_accuracy.sizes == {"learner": 1, "context": 2}
    assert "position_accuracy" not in result


def test_courses_of_thresholds_end_at_the_end_of_each_bin(task, result):
    stream = next(iter(RESERVOIR.stream(task, 2400, 2, batch_size=2400)))
    for name, learner in list(LEARNERS.items())[1:]:
        state = learner.begin(stream.states, 2, kn.Source(2, name))
        first = 0
        for number, last in enumerate(result.episode.values.tolist()):
            state, _ = learner.update(state, stream.states[first:last], stream.labels[first:last])
            local = learner.readout(state).theta.astype(float) - state.theta_g
            own = result.sel(learner=name).isel(episode=number)
            assert float(own.training_theta_g) == state.theta_g
            assert float(own.training_theta_local_mean) == pytest.approx(local.mean(), abs=1e-7)
            assert float(own.training_theta_local_sd) == pytest.approx(local.std(), abs=1e-7)
            first = last


def test_courses_of_simple_learners_are_what_they_must_be(result):
    assert np.isnan(result.training_theta_g.sel(learner="weights")).all()
    assert (result.training_theta_g.sel(learner="thresholds") == 0).all()
    assert (result.training_theta_local_sd.sel(learner="metropolis") < 1e-6).all()
    assert (result.training_theta_local_sd.sel(learner=["thresholds", "composed"]) > 0).all()


def test_the_number_of_bins_changes_nothing_else(task, result):
    other = kn.train(LEARNERS, RESERVOIR, task, 2400, seed=2, n_bins=50, n_test=300)
    for name in ("accuracy", "theta", "overlap", "overlap_permuted"):
        np.testing.assert_array_equal(other[name], result[name])


def test_courses_stop_where_a_learner_diverges(task):
    wild = {"wild": kn.Metropolis(start=0.0, eta_w=1.0)}
    found = kn.train(wild, RESERVOIR, task, 600, n_bins=3, n_test=50, diverged="record")
    assert np.isnan(found.training_theta_g).all()
    assert np.isnan(found.overlap).all()


def test_directions_of_thresholds_are_those_of_the_learner_itself(task):
    """Take the readout after the first bin, show it an episode at a time, and see which thresholds move."""
    learner = kn.GradientThresholds(eta_w=0.0)
    early = kn.GradientThresholds()
    found = kn.train({"a": early}, RESERVOIR, task, 200, seed=4, n_bins=2, n_test=40)
    batch = next(RESERVOIR.stream(task, 200, 4, batch_size=200))
    state = early.begin(batch.states, 2, kn.Source(4, "a"))
    state, _ = early.update(state, batch.states[:100], batch.labels[:100])
    before = early.readout(state)
    shown = next(RESERVOIR.stream(task, 40, _seeding.derive(4, "test"), batch_size=40))
    falls, rises = [], []
    for V, label in zip(shown.states, shown.labels, strict=True):
        x = before.features(V[None])[0]
        after = learner.readout(learner.update(state, V[None], np.array([label]))[0])
        moved = (after.theta - before.theta)[x > 0]
        favours = (before.W[label] > before.W[1 - label])[x > 0]
        falls += (moved[favours] < 0).tolist()
        rises += (moved[~favours] > 0).tolist()
    assert float(found.theta_falls[0]) == pytest.approx(np.mean(falls), abs=0.01)
    assert float(found.theta_rises[0]) == pytest.approx(np.mean(rises), abs=0.01)


def test_directions_are_only_of_thresholds_that_learn(result):
    known = result.theta_falls.notnull()
    assert known.values.tolist() == [False, True, False, True]
    assert result.theta_rises.notnull().equals(known)


def test_readouts_that_read_alike_share_a_code_and_others_do_not(task):
    theta, codes = np.full(4, 0.5, np.float32), testing.Codes(task, labellings(task, 0, 0))
    one, other = Readout(np.zeros((2, 4), np.float32), theta), Readout(np.ones((2, 4), np.float32), theta.copy())
    assert codes.of(one) is codes.of(other)
    unlike = [
        one._replace(theta=theta + 1),
        one._replace(thresholds=False),
        one._replace(code="signed"),
        one._replace(shift=theta),
        one._replace(scale=theta),
        type("Own", (Readout,), {})(*one),  # its features may be anything
    ]
    assert len({id(codes.of(readout)) for readout in (one, *unlike)}) == 1 + len(unlike) == len(list(codes))


def test_what_is_measured_does_not_depend_on_which_other_learners_share_a_code(task, result):
    for name in LEARNERS:
        alone = kn.train({name: LEARNERS[name]}, RESERVOIR, task, 2400, seed=2, n_bins=7, n_test=300)
        beside = result.sel(learner=[name])
        for measure in alone.data_vars:
            np.testing.assert_array_equal(alone[measure].values, beside[measure].values, err_msg=str(measure))
