"""The learners in River: its own checks, and what dicts bring with them."""

import pickle

import numpy as np
import pytest
from river import checks, compose, evaluate, metrics, preprocessing

import kenyon as kn
from kenyon.river import ThresholdClassifier, ThresholdRegressor

MODELS = [ThresholdClassifier(), ThresholdRegressor()]
CASES = [(model, check) for model in MODELS for check in checks.yield_checks(model)]


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    return [{name: float(value) for name, value in zip("abcde", row, strict=True)} for row in X], y.tolist()


@pytest.mark.parametrize(("model", "check"), CASES, ids=lambda part: getattr(part, "__name__", type(part).__name__))
def test_river_s_checks_pass(model, check):
    check(model.clone())


def test_no_check_is_skipped():
    assert all(not model._unit_test_skips() for model in MODELS)


def test_what_no_single_feature_tells_is_learned_from_random_features():
    X, y = rows(2000)
    metric = evaluate.progressive_val_score(zip(X, y, strict=True), ThresholdClassifier(), metrics.Accuracy())
    assert metric.get() > 0.75


def test_a_pipeline_ends_in_it():
    X, y = rows()
    model = compose.Select("a", "b") | preprocessing.StandardScaler() | ThresholdClassifier(seed=1)
    assert evaluate.progressive_val_score(zip(X, y, strict=True), model, metrics.Accuracy()).get() > 0.7


def test_dicts_give_the_numbers_of_rows():
    X, y = rows(200)
    model, same = ThresholdClassifier(random_features=20), kn.ThresholdReadout(random_features=20, random_state=0)
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
        same.learn_one(list(x.values()), label == "other")
    order = [list(model._codes).index(label) for label in ("same", "other")]
    np.testing.assert_allclose(model._model.readout_.W[order], same.readout_.W, rtol=1e-3, atol=1e-4)


def test_missing_features_count_as_their_means():
    X, y = rows(300)
    model = ThresholdClassifier()
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
    x = dict(X[0])
    missing = {name: value for name, value in x.items() if name != "c"}
    mean = {**x, "c": np.mean([row["c"] for row in X])}
    assert model.predict_proba_one(missing) == pytest.approx(model.predict_proba_one(mean), abs=1e-4)


def test_a_feature_that_appears_is_learned_from_and_changes_nothing_before():
    X, _ = rows(1000)
    label = [x["e"] > 0 for x in X]
    model = ThresholdClassifier()
    for x, y in zip(X[:200], label[:200], strict=True):
        model.learn_one({name: value for name, value in x.items() if name < "d"}, y)
    before = model.predict_proba_one({"a": 1.0, "b": 2.0})
    model.learn_one(X[200], label[200])
    assert model.predict_proba_one({"a": 1.0, "b": 2.0}) == pytest.approx(before, abs=0.2)
    right = []
    for x, y in zip(X[201:], label[201:], strict=True):
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    assert np.mean(right[-400:]) > 0.8


def test_nothing_is_predicted_before_the_first_row():
    assert ThresholdClassifier().predict_proba_one({"a": 1}) == {}
    assert ThresholdClassifier().predict_one({"a": 1}) is None
    assert ThresholdRegressor().predict_one({"a": 1}) == 0.0


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_values_may_be_missing_from_the_first_row_on(missing):
    X, y = rows(300)
    model, same = ThresholdClassifier(), ThresholdClassifier()
    model.learn_one({}, "nobody")  # says nothing
    for n, (x, label) in enumerate(zip(X, y, strict=True)):
        gap = "abcde"[n % 5]
        model.learn_one({**x, gap: missing}, label)
        same.learn_one({name: value for name, value in x.items() if name != gap}, label)
    assert model.predict_proba_one(X[0]) == same.predict_proba_one(X[0])
    assert {*model.predict_proba_one(X[0])} == {*y}


@pytest.mark.parametrize("kind", [ThresholdClassifier, ThresholdRegressor])
def test_a_model_saved_in_mid_stream_goes_on_to_the_same_bits(kind):
    X, y = rows(200)
    y = y if kind is ThresholdClassifier else [x["a"] * x["b"] for x in X]
    model = kind(forgetting=0.99)
    for x, told in zip(X[:100], y, strict=False):
        model.learn_one(x, told)
    loaded = pickle.loads(pickle.dumps(model))  # as River's users do
    for x, told in zip(X[100:], y[100:], strict=True):
        assert loaded.predict_one(x) == model.predict_one(x)
        model.learn_one(x, told)
        loaded.learn_one(x, told)
    np.testing.assert_array_equal(loaded._model.readout_.W, model._model.readout_.W)


def test_what_is_refused_leaves_no_trace():
    model = ThresholdClassifier()
    for x, y in (({"a": "red"}, "x"), ({"a": float("inf")}, "x"), ({"a": 1.0}, None), ({"a": 1.0}, float("nan"))):
        with pytest.raises(ValueError, match="must be a"):
            model.learn_one(x, y)
    model.learn_one({"b": 1.0}, "y")
    with pytest.raises(ValueError, match=r"x\['c'\] must be a number"):
        model.learn_one({"b": 2.0, "c": []}, "z")
    model.learn_one({"b": 2.0}, "x")
    assert {*model.predict_proba_one({"b": 1.0})} == {"x", "y"}


def test_numbers_of_numpy_are_numbers():
    model, same = ThresholdClassifier(), ThresholdClassifier()
    for n in range(20):
        model.learn_one({"a": np.float32(n % 3), "b": np.int64(n), "c": np.bool_(n % 2)}, np.int64(n % 2))
        same.learn_one({"a": float(n % 3), "b": n, "c": bool(n % 2)}, n % 2)
    assert model.predict_proba_one({"a": 1.0, "b": 3}) == same.predict_proba_one({"a": 1.0, "b": 3})


def test_a_constant_target_is_predicted():
    model = ThresholdRegressor()
    for n in range(50):
        model.learn_one({"a": n % 7}, 300.0)
    assert model.predict_one({"a": 3}) == pytest.approx(300.0)


def test_errors_name_what_is_wrong():
    model = ThresholdClassifier()
    model.learn_one({"a": 1.0, "b": 2}, "x")
    with pytest.raises(ValueError, match=r"x\['a'\] must be a number within ±1e\+100, not 'red'"):
        model.learn_one({"a": "red", "b": 1}, "x")
    with pytest.raises(ValueError, match="y must be a number"):
        ThresholdRegressor().learn_one({"a": 1}, "much")
    with pytest.raises(ValueError, match="seed must be"):
        ThresholdClassifier(seed="x").learn_one({"a": 1}, 0)
    with pytest.raises(ValueError, match="learner must follow a stream"):
        ThresholdClassifier(learner="ridge").learn_one({"a": 1}, 0)
