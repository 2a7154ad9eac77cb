"""Which channels matter, and which neurons."""

import numpy as np
import pandas as pd
import pytest
from sklearn import inspection
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import kenyon as kn
from kenyon.estimators._importance import exchange
from kenyon.estimators._series import Series
from tests.estimators.data import objects, sines


def one_of_three(n=150, seed=0, low=10, high=40):
    """Return series of three channels, of which only the second tells the class, and the labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = [rng.normal(size=(rng.integers(low, high), 3)) * [5, 1, 1] for _ in y]
    for series, label in zip(X, y, strict=True):
        series[:, 1] += 1.5 * label
    return X, y


def frames(X):
    return [pd.DataFrame(series, columns=["noise", "signal", "more noise"]) for series in X]


def matters(model, X, y, **settings):
    return kn.permutation_importance(model, X, y, random_state=0, **settings)


@pytest.mark.parametrize("form", [list, objects, frames, "equal lengths", "rows", "table"])
@pytest.mark.parametrize("learner", ["ridge", "normalised"])
def test_the_channel_that_tells_classes_apart_is_found(form, learner):
    X, y = one_of_three(high=11) if form == "equal lengths" else one_of_three()
    if form in ("rows", "table"):
        rows = np.array([series.mean(axis=0) for series in X])
        X = rows if form == "rows" else pd.DataFrame(rows, columns=["noise", "signal", "more noise"])
        train, test = X[:100], X[100:]
    else:
        X = np.array(X) if form == "equal lengths" else form(X)
        train, test = X[:100], X[100:]
    model = kn.ReservoirClassifier(
        learner, n_neurons=100, epochs=10, pooling="last", random_state=0, input_scaling="channel"
    )
    found = matters(model.fit(train, y[:100]), test, y[100:])
    assert found.importances.shape == (3, 5)
    assert found.importances_mean[1] > 0.25
    assert np.abs(found.importances_mean[[0, 2]]).max() < 0.12
    np.testing.assert_array_equal(found.importances_mean, found.importances.mean(axis=1))
    np.testing.assert_array_equal(found.importances_std, found.importances.std(axis=1))
    named = form is frames or form == "table"
    assert list(found.channels) == (["noise", "signal", "more noise"] if named else [0, 1, 2])


def test_rows_are_left_to_scikit_learn():
    X, y = one_of_three()
    rows = np.array([series.mean(axis=0) for series in X])
    model = SVC().fit(rows, y)
    found = kn.permutation_importance(model, rows, y, n_repeats=3, random_state=0)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    expected = inspection.permutation_importance(model, rows, y, n_repeats=3, random_state=seed)
    np.testing.assert_array_equal(found.importances, expected.importances)


def test_one_seed_gives_one_result_whatever_the_threads():
    X, y = one_of_three()
    model = kn.ReservoirClassifier(n_neurons=50, pooling="last", random_state=0).fit(X, y)
    first, again, other = (matters(model, X, y, n_jobs=n).importances for n in (None, None, 2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, other)
    assert not np.array_equal(kn.permutation_importance(model, X, y, random_state=1).importances, first)


def test_a_regression_and_a_measure_of_ones_own():
    X, _ = one_of_three()
    y = np.array([series[-1, 2] for series in X])
    model = kn.ReservoirRegressor(n_neurons=100, random_state=0, input_scaling="channel").fit(X[:100], y[:100])
    for scoring in (None, "r2", lambda model, X, y: -np.abs(model.predict(X) - y).mean()):
        assert matters(model, X[100:], y[100:], scoring=scoring).importances_mean.argmax() == 2


def test_any_model_of_series_will_do():
    X, y = one_of_three()
    pipe = make_pipeline(kn.ReservoirTransformer(n_neurons=100, random_state=0), SVC()).fit(X[:100], y[:100])
    assert matters(pipe, X[100:], y[100:], scoring=make_scorer(accuracy_score)).importances_mean.argmax() == 1


def test_courses_are_exchanged_whole_and_aligned_at_their_ends():
    X = [np.arange(n)[:, None] + [0.0, 100.0] for n in (3, 5, 2)]
    first, second, third = exchange(Series(X), 1, np.array([1, 2, 0]))
    assert first[:, 1].tolist() == [102, 103, 104]  # the last of five steps
    assert second[:, 1].tolist() == [101, 100, 101, 100, 101]  # two steps, repeated
    assert third[:, 1].tolist() == [101, 102]
    assert [series[:, 0].tolist() for series in (first, second, third)] == [series[:, 0].tolist() for series in X]
    equal = np.arange(24.0).reshape(4, 3, 2)
    found = exchange(Series(equal), 0, np.array([2, 0, 1, 3]))
    np.testing.assert_array_equal(found[..., 0], equal[[2, 0, 1, 3], :, 0])
    np.testing.assert_array_equal(found[..., 1], equal[..., 1])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": kn.ReservoirClassifier}, "model must be a fitted estimator"),
        ({"model": 3}, "model must be a fitted estimator"),
        ({"y": None}, "requires y"),
        ({"y": [0, 1]}, "X and y"),
        ({"n_repeats": 0}, "n_repeats"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"scoring": ["accuracy", "r2"]}, "scoring must be one measure"),
        ({"scoring": "no such"}, "scoring"),
    ],
)
def test_wrong_arguments_are_refused(changes, words):
    X, y = one_of_three(20)
    model = kn.ReservoirClassifier(n_neurons=20).fit(X, y)
    with pytest.raises(ValueError, match=words):
        kn.permutation_importance(**{"model": model, "X": X, "y": y, **changes})


@pytest.mark.parametrize("learner", ["ridge", "normalised", "composed"])
def test_losing_the_neurons_ranked_first_hurts_more_than_losing_any_others(learner):
    digits = load_digits()
    model = kn.ReservoirClassifier(learner, n_neurons=200, epochs=5, pooling="last", random_state=0)
    model.fit(digits.images[:1000], digits.target[:1000])
    x, bias = model.code(digits.images[1000:]), model.readout_.bias
    mean = model.code(digits.images[:1000]).mean(axis=0)

    def score_without(neurons):
        told = x.copy()
        told[:, neurons] = mean[neurons]
        y = told @ model.readout_.W.T + (0 if bias is None else bias)
        return (y.argmax(axis=1) == digits.target[1000:]).mean()

    rng, order = np.random.default_rng(0), model.rank_neurons().index.to_numpy()
    by_chance = [score_without(rng.choice(200, 30, replace=False)) for _ in range(20)]
    assert score_without(order[:30]) < min(by_chance)
    assert score_without(order[-30:]) > np.mean(by_chance)


@pytest.mark.parametrize("learner", ["ridge", "normalised", "gradient_weights"])
def test_a_ranking_tells_what_each_neuron_does(learner):
    X, y = sines(90)
    model = kn.ReservoirClassifier(learner, n_neurons=50, epochs=5, pooling="last", random_state=0).fit(X, y)
    table = model.rank_neurons()
    assert table.columns.tolist() == ["weight", "specificity", "threshold", "activity"]
    assert sorted(table.index) == list(range(50))
    assert (np.diff(table["weight"]) <= 0).all()
    neurons = table.index
    np.testing.assert_array_equal(table["specificity"], model.specificity_[neurons])
    np.testing.assert_array_equal(table["threshold"], model.theta_[neurons])
    assert table["activity"].mean() == pytest.approx(model.coding_level_)
    x, W = model.code(X).astype(float), model.readout_.W.astype(float)
    effect = np.linalg.norm((W - W.mean(axis=0)) * x.std(axis=0), axis=0)
    np.testing.assert_allclose(table["weight"], effect[neurons], rtol=1e-5, atol=1e-9)
    if learner == "normalised":
        np.testing.assert_allclose(table["activity"], (x > 0).mean(axis=0)[neurons])


def test_weights_of_a_regression_are_in_standard_deviations_of_the_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) * [1, 10, 100]
    model = kn.ThresholdRegressor("ridge", both_signs=False).fit(X, 1e4 * (3 * X[:, 0] + 0.4 * X[:, 1]))
    table = model.rank_neurons()
    assert table.columns.tolist() == ["weight", "threshold", "activity"]
    assert table.index.tolist() == [1, 0, 2]
    np.testing.assert_allclose(table["weight"], [0.8, 0.6, 0], atol=0.03)  # of 5, in shares of the target's spread


def test_a_ranking_counts_series_by_weight_and_survives_a_file(tmp_path):
    X, y = sines(60)
    w = np.random.default_rng(0).integers(0, 3, 60)
    numbers = np.repeat(np.arange(60), w)
    model = kn.ReservoirClassifier("normalised", n_neurons=30, epochs=2, pooling="last", random_state=0).fit(X, y, w)
    repeated = kn.ReservoirClassifier("normalised", n_neurons=30, epochs=2, pooling="last", random_state=0)
    pd.testing.assert_frame_equal(
        model.rank_neurons(), repeated.fit([X[i] for i in numbers], y[numbers]).rank_neurons()
    )
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(kn.load(tmp_path / "model").rank_neurons(), model.rank_neurons())
