"""Learners that only claims need."""

import numpy as np
import pytest

import kenyon as kn
from kenyon.paper.probes import Relearned, RidgePart

TASK = kn.StaticTask(kn.load_odours(), n_stimuli=10, seed=1)
RESERVOIR = kn.Reservoir(n_neurons=50, seed=1)
BATCH = next(RESERVOIR.stream(TASK, 600, 0, batch_size=600))
SOURCE = kn.Source(0, "a")


def learned(learner, *cuts):
    """Return the readout after all episodes, cut into calls at these places."""
    state = learner.begin(BATCH.states, 2, SOURCE)
    for first, last in zip((0, *cuts), (*cuts, 600), strict=True):
        state, info = learner.update(state, BATCH.states[first:last], BATCH.labels[first:last])
        assert len(info.correct) == len(info.cost) == last - first
    return learner.readout(state)


def test_thresholds_are_those_of_gd_theta_shifted_and_weights_are_learned_anew():
    theta = kn.GradientThresholds()
    state, _ = theta.update(theta.begin(BATCH.states, 2, SOURCE), BATCH.states[:400], BATCH.labels[:400])
    found = learned(Relearned(first=400, shift=0.2))
    np.testing.assert_allclose(found.theta, theta.readout(state).theta + np.float32(0.2))
    W = np.zeros((2, 50))
    for V, label in zip(BATCH.states[400:], BATCH.labels[400:], strict=True):
        x = np.maximum(V - found.theta, 0)
        W += 0.0018 * np.outer(10.0 * (np.arange(2) == label) - W @ x, x)
    np.testing.assert_allclose(found.W, W, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("learner", [Relearned(first=400, shift=0.1), RidgePart(part="below", episodes=300)])
@pytest.mark.parametrize("cuts", [(100,), (400,), (300, 399, 401)])
def test_episodes_may_be_cut_anywhere(learner, cuts):
    whole, cut = learned(learner), learned(learner, *cuts)
    np.testing.assert_array_equal(whole.theta, cut.theta)
    np.testing.assert_allclose(whole.W, cut.W, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("part", ["above", "below"])
def test_a_part_is_read_by_least_squares(part):
    found = learned(RidgePart(part=part, episodes=200))
    theta = np.quantile(BATCH.states.astype(float), 0.5)
    V = BATCH.states.astype(float)
    x = np.maximum(V - theta, 0) if part == "above" else np.minimum(V, theta)
    np.testing.assert_allclose(found.features(BATCH.states), x, atol=1e-5)
    Y = 10.0 * (BATCH.labels[:200, None] == np.arange(2))
    fitted = x[:200] @ np.linalg.lstsq(x[:200], Y, rcond=1e-12)[0]
    np.testing.assert_allclose(found.outputs(BATCH.states[:200]), fitted, atol=0.05)


def test_the_two_parts_add_up_to_the_states():
    above, below = (learned(RidgePart(part=part)).features(BATCH.states) for part in ("above", "below"))
    np.testing.assert_allclose(above + below, BATCH.states, atol=1e-6)


def test_training_tests_each_part_as_it_is():
    """Ten stimuli are told apart by either part; a readout that is tested on the other part would be guessing."""
    parts = {part: RidgePart(part=part) for part in ("above", "below")}
    found = kn.train(parts, RESERVOIR, TASK, 3000, n_test=500)
    assert (found.accuracy > 0.9).all()


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="part"):
        RidgePart(part="beside")
    with pytest.raises(ValueError, match="first"):
        Relearned(first=0)
