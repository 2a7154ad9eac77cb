"""The contract of scikit-learn: its own checks, and its tools on series of different lengths."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import kenyon as kn
from tests.estimators.data import objects, sines

SMALL = {"n_neurons": 100}
ROWS_ARE_STEPS = dict.fromkeys(
    ("check_methods_sample_order_invariance", "check_methods_subset_invariance"),
    "rows are the steps of one series, and what is said of one depends on those before it",
)
ALONG_A_SERIES = {
    kn.SequenceRegressor: ROWS_ARE_STEPS,
    kn.SequenceClassifier: ROWS_ARE_STEPS,
    kn.Forecaster: {"check_fit1d": "a series without a dimension for channels is welcome"},
}


@pytest.mark.filterwarnings(
    "ignore", "error:X .*seems to hold"
)  # warnings of what the checks hand in, not of our doubts
@parametrize_with_checks(
    [
        kn.ReservoirClassifier(**SMALL),
        kn.ReservoirClassifier("normalised", **SMALL),
        kn.ReservoirRegressor(**SMALL),
        kn.ReservoirRegressor("normalised", **SMALL),
        kn.ReservoirTransformer(**SMALL),
        kn.ReservoirTransformer("x", **SMALL),
        kn.ThresholdReadout(),
        kn.ThresholdReadout("ridge"),
        kn.ThresholdReadout("gradient_weights"),
        kn.ThresholdRegressor(),
        kn.ThresholdRegressor("ridge"),
        *(
            kind(learner, n_neurons=30, washout=0)
            for kind in (kn.SequenceRegressor, kn.SequenceClassifier)
            for learner in ("ridge", "normalised")
        ),
        kn.Forecaster(n_neurons=30, washout=2),
    ],
    expected_failed_checks=lambda estimator: ALONG_A_SERIES.get(type(estimator), {}),
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("form", [list, objects])
@pytest.mark.parametrize("learner", ["ridge", "normalised"])
def test_grid_search_and_cross_validation_take_ragged_series(form, learner):
    X, y = sines()
    model = kn.ReservoirClassifier(learner, n_neurons=60, epochs=10, random_state=0)
    assert cross_val_score(model, form(X), y, cv=3).mean() > 0.8
    search = GridSearchCV(model, {"n_neurons": [20, 60], "spectral_radius": [0.5, 0.9]}, cv=2).fit(form(X), y)
    assert search.best_score_ > 0.8
    assert search.predict(form(X)).shape == (60,)


@pytest.mark.parametrize("features", ["V", "x"])
def test_a_pipeline_takes_ragged_series(features):
    X, y = sines(90)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
    pipe = make_pipeline(
        kn.ReservoirTransformer(features, n_neurons=80, random_state=0), LogisticRegression(max_iter=2000)
    )
    assert clone(pipe).fit(X, y).score(X_test, y_test) > 0.9


def test_a_transformer_gives_states_or_what_exceeds_their_percentile():
    X, _ = sines(40)
    V = kn.ReservoirTransformer(n_neurons=30, random_state=0).fit_transform(X)
    x = kn.ReservoirTransformer("x", percentile=80, n_neurons=30, random_state=0).fit_transform(X)
    np.testing.assert_allclose(x, np.maximum(V - np.percentile(V, 80, axis=0), 0), atol=1e-5)


def test_lists_objects_and_equal_arrays_of_the_same_series_give_the_same():
    X, y = sines(low=20, high=21)
    expected = kn.ReservoirClassifier("normalised", n_neurons=50, epochs=5, random_state=0).fit(X, y).predict_proba(X)
    for form in (np.array, objects, tuple):
        model = kn.ReservoirClassifier("normalised", n_neurons=50, epochs=5, random_state=0).fit(form(X), y)
        np.testing.assert_array_equal(model.predict_proba(form(X)), expected)


@pytest.mark.parametrize("learner", ["ridge", "normalised", kn.Normalised(mu=0.2), kn.Ridge(penalty=1e-3)])
def test_clones_and_pickles_predict_the_same(learner):
    X, y = sines()
    model = kn.ReservoirClassifier(learner, n_neurons=50, epochs=4, random_state=3).fit(X, y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), expected)


def test_transformed_features_are_those_of_the_reservoir():
    X, _ = sines(20)
    model = kn.ReservoirTransformer("x", n_neurons=40, percentile=70, random_state=0).fit(X)
    V = kn.ReservoirTransformer("V", n_neurons=40, random_state=0).fit_transform(X)
    np.testing.assert_array_equal(model.transform(X), np.maximum(V - kn.Percentile(70).of(V), 0))
    assert model.get_feature_names_out()[1] == "reservoirtransformer1"
