"""Weights of series: as many as whole numbers say, in every learning estimator and in scikit-learn's tools."""

import numpy as np
import pytest
import sklearn
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kenyon as kn
from kenyon.estimators import _weights
from kenyon.estimators._series import Series
from kenyon.estimators._training import BY_NAME
from kenyon.estimators._weights import gather
from tests.estimators.data import sines

LEARNERS = (*BY_NAME, kn.Normalised(mu=0.2), kn.RecursiveLeastSquares())
SETTINGS = {"epochs": 4, "random_state": 0}


def labelled(n=60):
    """Return ragged series of three classes, and whole weights."""
    return *sines(n), np.random.default_rng(1).integers(0, 4, n)


def rows(n=60):
    X, y, w = labelled(n)
    table = np.stack([series[:8].ravel() for series in X])
    return table[:, np.random.default_rng(0).permutation(table.shape[1])], y, w  # features, not a course in time


def series_model(learner, **settings):
    return kn.ReservoirClassifier(learner, n_neurons=40, **SETTINGS, **settings)


def listed_repeatedly(X, y, w, seed=2):
    """Return each series as often as its weight says, in any order."""
    numbers = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(y)), w))
    return [X[i] for i in numbers], y[numbers]


def assert_same(model, expected, X):
    for name in ("readout_", "theta_", "coding_level_", "specificity_", "learning_curve_", "target_scale_"):
        if hasattr(expected, name) and name != "readout_":
            np.testing.assert_equal(getattr(model, name), getattr(expected, name), name)
    np.testing.assert_array_equal(model.readout_.W, expected.readout_.W)
    np.testing.assert_array_equal(model._outputs(X), expected._outputs(X))


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_whole_weights_are_repetitions_to_the_bit(learner):
    X, y, w = labelled()
    model, expected = (kn.ReservoirClassifier(learner, n_neurons=40, **SETTINGS) for _ in range(2))
    assert_same(model.fit(X, y, w), expected.fit(*listed_repeatedly(X, y, w)), X)


@pytest.mark.parametrize("learner", ["ridge", "normalised", "composed"])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_whole_weights_are_repetitions_in_a_regression(learner, n_outputs):
    X, _, w = labelled()
    y = np.array([series[-1, :n_outputs] * [1, 100][:n_outputs] for series in X])
    model, expected = (kn.ReservoirRegressor(learner, n_neurons=40, **SETTINGS) for _ in range(2))
    assert_same(model.fit(X, y, w), expected.fit(*listed_repeatedly(X, y, w)), X)


@pytest.mark.parametrize("learner", ["ridge", "normalised"])
@pytest.mark.parametrize("settings", [{"early_stopping": True}, {"class_weight": "balanced"}, {"class_weight": {0: 5}}])
def test_whole_weights_are_repetitions_with_other_settings(learner, settings):
    X, y, w = rows()
    model, expected = (kn.ThresholdReadout(learner, **SETTINGS, **settings) for _ in range(2))
    assert_same(model.fit(X, y, w), expected.fit(*listed_repeatedly(X, y, w)), X)


@pytest.mark.parametrize("learner", ["ridge", "normalised"])
def test_more_weight_than_calibration_takes_is_repetition_too(learner, monkeypatch):
    monkeypatch.setattr("kenyon.estimators._base.CALIBRATION_SERIES", 30)
    monkeypatch.setattr(_weights, "REPEATS", 0.7)
    X, y, w = labelled()
    assert_same(series_model(learner).fit(X, y, w), series_model(learner).fit(*listed_repeatedly(X, y, w)), X)


@pytest.mark.parametrize("learner", ["ridge", "normalised"])
def test_the_order_in_which_series_are_listed_does_not_matter(learner):
    X, y, _ = labelled()
    assert_same(
        series_model(learner).fit(X, y), series_model(learner).fit(*listed_repeatedly(X, y, np.ones(60, int))), X
    )


@pytest.mark.parametrize("learner", ["ridge", "normalised", "composed"])
@pytest.mark.parametrize("stream", [False, True])
def test_series_without_weight_are_as_good_as_absent(learner, stream):
    X, y, _ = labelled(30)
    odd = [np.full((500, 2), -1e9), np.array([[1e12, 3.0]])]
    model, expected = series_model(learner), series_model(learner)
    everything, labels, w = [odd[0], *X, odd[1]], np.array([7, *y, 7]), np.array([0, *np.ones(30), 0])
    if stream:
        model.partial_fit(everything, np.minimum(labels, 2), [0, 1, 2], w)
        expected.partial_fit(X, y, [0, 1, 2])
    else:
        model.fit(everything, labels, w)
        expected.fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert_same(model, expected, X)


@pytest.mark.parametrize("learner", ["normalised", "gradient_weights"])
def test_a_stream_shows_a_series_as_often_as_its_weight_says(learner):
    X, y, w = labelled()
    numbers = np.repeat(np.arange(60), w)
    expected = series_model(learner).partial_fit([X[i] for i in numbers], y[numbers], [0, 1, 2])
    model = series_model(learner).partial_fit(X, y, [0, 1, 2], w)
    np.testing.assert_array_equal(model.readout_.W, expected.readout_.W)
    target = y.astype(float)
    expected = kn.ThresholdRegressor(learner, **SETTINGS).partial_fit(rows()[0][numbers], target[numbers])
    model = kn.ThresholdRegressor(learner, **SETTINGS).partial_fit(rows()[0], target, w)
    np.testing.assert_array_equal(model.readout_.W, expected.readout_.W)


@pytest.mark.parametrize("learner", ["ridge", "normalised"])
def test_weights_of_series_and_classes_are_multiplied(learner):
    X, y, w = labelled()
    both, product = (series_model(learner).partial_fit(X, y, [0, 1, 2]) for _ in range(2))
    both.set_params(class_weight={0: 1, 1: 3, 2: 2}).partial_fit(X, y, sample_weight=w)
    product.partial_fit(X, y, sample_weight=w * np.array([1, 3, 2])[y])
    np.testing.assert_array_equal(both.readout_.W, product.readout_.W)


@pytest.mark.parametrize("learner", ["ridge", "normalised"])
def test_weights_that_average_below_one_are_shares(learner):
    X, y, w = rows()
    plain, equal = (kn.ThresholdReadout(learner, **SETTINGS).fit(X, y, v) for v in (None, np.full(60, 1 / 60)))
    assert_same(equal, plain, X)
    small, smaller = (kn.ThresholdReadout(learner, **SETTINGS).fit(X, y, v) for v in (w / 2**5, w / 2**50))
    assert_same(smaller, small, X)


def test_fractional_weights_tilt_online_learners_as_they_tilt_ridge():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), np.arange(600) % 2
    w = np.where(y == 1, 2.5, 0.5)  # nothing to learn but how much each class weighs
    for learner in ("ridge", "normalised"):
        assert kn.ThresholdReadout(learner, random_state=0).fit(X, y, w).predict(X).mean() > 0.6


@pytest.mark.parametrize("model", [kn.ThresholdReadout("ridge"), kn.ThresholdRegressor("ridge")])
def test_a_score_counts_series_by_weight(model):
    X, y, w = rows()
    model.fit(X, y)
    measure = accuracy_score if hasattr(model, "classes_") else r2_score
    noisy = np.random.default_rng(0).permutation(y)
    assert model.score(X, noisy, w) == measure(noisy, model.predict(X), sample_weight=w)
    assert model.score(X, noisy, w) != model.score(X, noisy)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0] * 59, "one number for each of 60 series"),
        (np.ones((60, 2)), "one number for each of 60 series"),
        (np.zeros(60), "zero for all series"),
        ([1.0] * 3 + [-1.0] + [1.0] * 56, r"sample_weight\[3\] is -1.0"),
        ([1.0] * 59 + [np.nan], r"sample_weight\[59\] is nan"),
        ([np.inf] * 60, r"sample_weight\[0\] is inf"),
        (["heavy"] * 60, "sample_weight"),
        (2.0, "one number for each of 60 series"),
    ],
)
def test_wrong_weights_are_refused(weights, words):
    X, y, _ = rows()
    for model in (kn.ThresholdReadout(), kn.ThresholdRegressor("ridge")):
        fitted = type(model)("ridge").fit(X, y)
        for act in (model.fit, model.partial_fit, fitted.score):
            more = {"classes": [0, 1, 2]} if act == model.partial_fit and hasattr(model, "class_weight") else {}
            with pytest.raises(ValueError, match=words):
                act(X, y, sample_weight=weights, **more)


def test_weights_that_would_take_an_online_learner_for_ever_are_refused():
    X, y, _ = rows()
    with pytest.raises(ValueError, match="divide the weights by their mean"):
        kn.ThresholdReadout(**SETTINGS).fit(X, y, np.full(60, 1e9))
    assert kn.ThresholdReadout("ridge", **SETTINGS).fit(X, y, np.full(60, 1e9)).score(X, y) > 0.9


def test_early_stopping_needs_different_series_of_each_class():
    X, y, _ = rows(12)
    X[y == 1] = X[1]
    assert kn.ThresholdReadout(**SETTINGS).fit(X, y).score(X, y) > 0.8
    with pytest.raises(ValueError, match="two different series of each class"):
        kn.ThresholdReadout(early_stopping=True, **SETTINGS).fit(X, y)


@pytest.mark.parametrize("form", ["list", "array", "rows"])
def test_equal_series_are_gathered_and_sorted_by_their_numbers(form, monkeypatch):
    monkeypatch.setattr(_weights, "BLOCK", 3)
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 5, 200) if form == "list" else np.full(200, 4)
    X = [rng.choice([-2.5, -0.0, 0.0, 1.0], (n, 2), p=[0.1, 0.3, 0.3, 0.3]) for n in lengths]
    targets, weights = rng.integers(-1, 1, 200), rng.integers(0, 3, 200).astype(float)
    expected = {}
    for one, target, weight in zip(X, targets, weights, strict=True):
        key = (target, *(one + 0.0).ravel())
        expected[key] = expected.get(key, 0) + weight
    expected = {key: expected[key] for key in sorted(expected) if expected[key]}
    values = {"list": X, "array": np.array, "rows": lambda X: np.array(X).reshape(200, -1)}[form]
    found = gather(Series(values if form == "list" else values(X)), targets, weights)
    assert [(targets[i], *(X[i] + 0.0).ravel()) for i in found.numbers] == list(expected)
    assert found.weights.tolist() == list(expected.values())
    assert len(expected) < (weights > 0).sum()


def test_a_pipeline_passes_weights_on():
    X, y, w = rows()
    pipe = make_pipeline(StandardScaler(), kn.ReservoirClassifier("normalised", n_neurons=40, **SETTINGS))
    pipe.fit(X, y, reservoirclassifier__sample_weight=w)
    expected = series_model("normalised").fit(StandardScaler().fit_transform(X), y, w)
    np.testing.assert_array_equal(pipe[-1].readout_.W, expected.readout_.W)


def test_cross_validation_and_searches_pass_weights_on():
    X, y, w = labelled()
    with sklearn.config_context(enable_metadata_routing=True):
        model = series_model("ridge").set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_validate(
            model, X, y, cv=3, params={"sample_weight": w}, return_estimator=True, return_indices=True
        )
        search = GridSearchCV(model, {"n_neurons": [20, 40]}, cv=2).fit(X, y, sample_weight=w)
    part = found["indices"]["train"][0]
    expected = series_model("ridge").fit([X[i] for i in part], y[part], w[part])
    np.testing.assert_array_equal(found["estimator"][0].readout_.W, expected.readout_.W)
    assert search.best_score_ > 0.8


@pytest.mark.parametrize("learner", ["ridge", "normalised"])
def test_ensembles_of_estimators_learn(learner):
    X, y, w = rows(120)
    model = kn.ThresholdReadout(learner, epochs=3)
    for ensemble in (AdaBoostClassifier(model, n_estimators=3), BaggingClassifier(model, 3)):
        assert ensemble.set_params(random_state=0).fit(X[:80], y[:80], w[:80]).score(X[80:], y[80:]) > 0.8
