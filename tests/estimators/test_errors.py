"""What makes no sense is refused, by name."""

import numpy as np
import pytest

import kenyon as kn
from tests.estimators.data import sines


def model(**settings):
    return kn.ReservoirClassifier("normalised", n_neurons=30, epochs=2, random_state=0, **settings)


def changed(X, i, make):
    X = list(X)
    X[i] = make(X[i].copy())
    return X


def holed(series):
    series[4, 1] = np.nan
    return series


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X: changed(X, 3, holed), r"X\[3\] has a missing value \(NaN\): step 4, feature 1"),
        (lambda X: changed(X, 3, lambda series: series * np.inf), r"X\[3\] has .*value"),
        (lambda X: changed(X, 5, lambda series: series[:0]), r"X\[5\] is a series of length 0"),
        (lambda X: changed(X, 2, lambda series: series[:, :1]), r"X\[2\] has 1 features, but X\[0\] has 2"),
        (lambda X: changed(X, 2, lambda series: series[:, 0]), r"X\[2\] must have shape \(T, features\)"),
        (lambda X: changed(X, 2, lambda series: series.astype(str)), r"X\[2\] must hold real numbers"),
        (lambda X: [series[:, 0] for series in X], r"use x\[:, None\]"),
        (lambda X: np.zeros((12, 0, 2)), "series of length 0"),
        (lambda X: np.full((12, 5, 2), np.nan), r"missing value \(NaN\): series 0, step 0, feature 0"),
        (lambda X: np.ones((12, 5, 2)), "X does not vary"),
        (lambda X: X[:7], "inconsistent numbers of samples"),
    ],
)
def test_series_that_cannot_be_learned_from_are_named(make, message):
    X, y = sines(12)
    with pytest.raises(ValueError, match=message):
        model().fit(make(X), y)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda y: np.zeros_like(y), "only one class, np.int64.0."),
        (lambda y: np.where(np.arange(len(y)) == 0, np.nan, y), r"y\[0\] is a missing label"),
        (lambda y: np.array(["a", None] * 6, object), r"y\[1\] is a missing label"),
        (lambda y: None, "requires y to be passed"),
        (lambda y: y + 0.5, "Unknown label type"),
    ],
)
def test_labels_that_cannot_be_learned_are_named(make, message):
    X, y = sines(12)
    with pytest.raises(ValueError, match=message):
        model().fit(X, make(y))


@pytest.mark.parametrize("width", [1, 3])
def test_features_that_differ_from_those_fitted_are_named(width):
    X, y = sines(12)
    fitted = model().fit(X, y)
    for other in ([np.ones((5, width))], np.ones((1, 5, width))):
        with pytest.raises(ValueError, match=f"X has {width} features, but ReservoirClassifier is expecting 2"):
            fitted.predict(other)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X: X[0], r"fitted to series of 2 features: for a single series write \[x\], or x\[None\]"),
        (lambda X: X[0].tolist(), r"for a single series write \[x\]"),
        (lambda X: X[0].T, r"for a single series with channels first write \[x.T\]"),
        (lambda X: X[0][:, 0], r"X has the shape \(\d+,\), .* expected \(n, T, 2\) or a list of \(T_k, 2\)"),
        (lambda X: [x.T for x in X[:1]], "X has 15 features, .* transpose: x.T for each series"),
        (lambda X: np.stack([x[:15].T for x in X]), r"X has 15 features, .* transpose: X.transpose\(0, 2, 1\)"),
    ],
)
def test_a_model_of_series_says_what_to_write_instead_of_rows(make, message, tmp_path):
    X, y = sines(12)
    X = [x[:15] for x in X]
    fitted = model(warm_start=True).fit(X, y)
    fitted.save(tmp_path / "model")
    for one in (fitted, kn.load(tmp_path / "model")):
        for use in (one.predict, one.predict_proba, one.decide, one.code, one.plot_code):
            with pytest.raises(ValueError, match=message):
                use(make(X))
        for use in (one.fit, one.partial_fit, one.score):
            with pytest.raises(ValueError, match=message):
                use(make(X), y[: len(make(X))] if use == one.score else np.arange(len(make(X))) % 3)
        with pytest.raises(ValueError, match=message):
            kn.ReservoirTransformer(n_neurons=9).fit(X).transform(make(X))


def test_a_model_of_series_of_one_channel_says_how_a_table_becomes_one():
    X, y = sines(12, channels=1)
    fitted = model().fit(X, y)
    for wrong in (X[0][:, 0], np.stack([x[:15, 0] for x in X])):
        with pytest.raises(ValueError, match=r"write \[x\[:, None\]\], and for a table of series X\[:, :, None\]"):
            fitted.predict(wrong)


def test_a_model_of_rows_refuses_series():
    X, y = sines(12)
    fitted = model(warm_start=True).fit(np.stack([x[-1] for x in X]), y)
    assert fitted.input_kind_ == "rows"
    for use in (fitted.predict, lambda X: fitted.partial_fit(X, y), lambda X: fitted.fit(X, y), fitted.code):
        with pytest.raises(ValueError, match=r"X is a list of series, but .* fitted to rows: expected \(n, 2\)"):
            use(X)
        with pytest.raises(ValueError, match=r"X has the shape \(12, 15, 2\), but .* was fitted to rows"):
            use(np.stack([x[:15] for x in X]))


def test_fit_without_warm_start_may_change_the_kind_of_input():
    X, y = sines(12)
    fitted = model().fit(X, y).fit(np.stack([x[-1] for x in X]), y)
    assert fitted.predict(np.stack([x[-1] for x in X])).shape == (12,)
    assert fitted.fit(X, y).predict(X).shape == (12,)


def test_series_with_channels_first_are_told_by_their_shapes():
    X, y = sines(12)
    with pytest.raises(ValueError, match=r"X\[1\] has \d+ features, but X\[0\] has \d+; .* transpose each: x.T"):
        model().fit([x.T for x in X], y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learner": "perceptron"}, "learner must be one of 'ridge', 'normalised'"),
        ({"learner": 3}, "learner must be one of"),
        ({"epochs": 0}, "epochs must be an integer of at least 1"),
        ({"n_neurons": 0}, "n_neurons"),
        ({"n_steps": 0}, "n_steps"),
        ({"leak_rate": 2.0}, "leak_rate"),
        ({"input_scaling": "none"}, "input_scaling must be one of 'range'"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"patience": 0}, "patience"),
    ],
)
def test_settings_that_make_no_sense_are_named(settings, message):
    X, y = sines(12)
    with pytest.raises(ValueError, match=message):
        model().set_params(**settings).fit(X, y)


def test_partial_fit_says_what_it_lacks():
    X, y = sines(12)
    with pytest.raises(ValueError, match=r"not in classes: \[2\]"):
        model().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="only one class"):
        model().partial_fit(X, y, classes=[0])
    with pytest.raises(ValueError, match=r"differ from those of the first call, \[0, 1, 2\]"):
        model().partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match='class_weight="balanced" needs all labels'):
        model(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])


def test_early_stopping_says_when_series_are_too_few():
    X, y = sines(6)
    with pytest.raises(ValueError, match="early_stopping holds out 5 of 6 series, but at least 3 must be left"):
        model(early_stopping=True, validation_fraction=0.9).fit(X, y)


def test_warm_start_refuses_other_classes():
    X, y = sines(12)
    with pytest.raises(ValueError, match=r"warm_start continues with classes \[0, 1, 2\]"):
        model(warm_start=True).fit(X, y).fit(X, y + 1)


def test_a_regression_names_targets_that_do_not_fit():
    X, y = sines(12)
    regressor = kn.ReservoirRegressor(n_neurons=20)
    with pytest.raises(ValueError, match="y contains NaN"):
        regressor.fit(X, np.full(12, np.nan))
    with pytest.raises(ValueError, match="the model was fitted to 1 outputs"):
        regressor.partial_fit(X, y).partial_fit(X, np.stack([y, y], axis=1))
