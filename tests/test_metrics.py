import math

import numpy as np
import pytest
from scipy.special import softmax

import kenyon as kn
from kenyon import metrics
from kenyon.readout import draw_choices


def test_specificity_by_hand():
    counts = np.array([[10, 0, 0], [4, 4, 4], [6, 3, 0], [0, 5, 2]])  # the last falls and rises: signs would cancel
    expected = [(10 + 10 + 0) / 30 / 2, 0.0, (3 + 6 + 3) / 30 / 2, (5 + 2 + 3) / 30 / 2]
    np.testing.assert_allclose(kn.specificity(counts, 30), expected)
    np.testing.assert_allclose(kn.specificity(counts, 30, mean=True), np.array(expected) * 2 / 3)
    relative = kn.specificity(counts, 30, relative=True)
    np.testing.assert_allclose(relative, [(1 + 1 + 0) / 2, 0, (3 / 9 + 6 / 6 + 3 / 3) / 2, (1 + 1 + 3 / 7) / 2])
    assert np.isfinite(relative).all()


def test_class_sums_count_active_episodes_and_sum_activity():
    x = np.array([[0.0, 2.0], [1.0, 3.0], [0.5, 0.0]], np.float32)
    labels = np.array([0, 1, 1])
    np.testing.assert_array_equal(metrics.class_sums(x > 0, labels, 2), [[0, 2], [1, 1]])
    np.testing.assert_array_equal(metrics.class_sums(x, labels, 2), [[0, 1.5], [2, 3]])
    assert metrics.coding_level(x) == pytest.approx(4 / 6)


def test_class_sums_take_several_labellings_at_once():
    rng = np.random.default_rng(0)
    x, labels = rng.random((7, 4), np.float32), rng.integers(0, 3, (5, 7))
    found = metrics.class_sums(x, labels, 3)
    assert found.shape == (5, 4, 3)
    for own, expected in zip(found, labels, strict=True):
        np.testing.assert_allclose(own, metrics.class_sums(x, expected, 3), rtol=1e-6)


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        ([[1, 1], [3, 3]], 1.0),  # the same codes
        ([[1, 2], [3, 6]], 1.0),  # the same up to their length
        ([[1, 0], [0, 2]], 0.0),  # no neuron in common
        ([[1, 0], [2, 0]], 0.0),  # one class is silent
        ([[1, 1], [0, 1]], math.sqrt(0.5)),  # at 45 degrees
        ([[1, 1, 0], [0, 0, 1]], 1 / 3),  # of three pairs of classes, one is the same
        ([[1e300, 1e300], [1e-300, 0]], 1.0),
    ],
)
def test_overlap_is_the_cosine_between_classes(amounts, expected):
    assert kn.overlap(amounts) == pytest.approx(expected)


def test_directions_of_thresholds_by_hand():
    W = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])  # the first and third neurons favour class 0
    x = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    errors = np.array([[10.0, -1.0], [-3.0, 1.0]])
    # Episode 0, class 0: neuron 0 favours it and falls by 10; neuron 1 does not and rises by 1; neuron 2 is silent.
    # Episode 1, class 1: neuron 1 favours it and falls by 1; neuron 2 does not and rises by 6 - 1.
    assert metrics.theta_directions(x, W, errors, np.array([0, 1])).tolist() == [2, 2, 2, 2]
    assert metrics.theta_directions(x, W, -errors, np.array([0, 1])).tolist() == [2, 0, 2, 0]
    assert metrics.theta_directions(0 * x, W, errors, np.array([0, 1])).tolist() == [0, 0, 0, 0]


def test_choices_are_drawn_with_their_probabilities():
    rng = np.random.default_rng(0)
    many = np.repeat(softmax(rng.normal(size=(1, 4))), 40_000, axis=0)
    shares = np.bincount(draw_choices(many, rng.random(40_000)), minlength=4) / 40_000
    assert (np.abs(shares - many[0]) < 4.5 * np.sqrt(many[0] * (1 - many[0]) / 40_000)).all()


def test_the_three_accuracies():
    y = np.array([[0.0, math.log(3.0)], [5.0, -5.0]])
    labels = np.array([0, 0])
    sampled, expected, argmax = metrics.accuracies(y, labels, np.array([0.2, 0.5]))
    assert sampled.tolist() == [1, 1]
    assert expected == pytest.approx([0.25, 1 / (1 + math.exp(-10))])
    assert argmax.tolist() == [0, 1]


def test_episodes_to_reach_a_level():
    assert kn.episodes_to_reach([10, 20, 30], [0.5, 0.8, 0.9], 0.8) == 20
    assert math.isnan(kn.episodes_to_reach([10, 20], [0.5, 0.6], 0.8))


def test_bad_counts_are_refused():
    with pytest.raises(ValueError, match="amounts"):
        kn.specificity([1, 2], 3)
    with pytest.raises(ValueError, match="n_classes"):
        kn.specificity([[1], [2]], 3)
    with pytest.raises(ValueError, match="n_episodes"):
        kn.specificity([[1, 2]], 0)
