"""Streams: one row at a time, from the first one on."""

import copy

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kenyon as kn
from kenyon.kernels.drift import AGAIN, REMEMBERED, RIDGE
from kenyon.kernels.stream_steps import DRIFTED, SEEN, WEIGHT
from kenyon.kernels.stream_steps import ROWS as N_ROWS
from tests import naive
from tests.estimators.data import sines

ROWS = {"random_state": 0}
NEURONS = {"n_neurons": 40, "random_state": 0}


def blobs(n=400, n_features=6, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 2, (n_classes, n_features))
    y = rng.integers(n_classes, size=n)
    return (centres[y] + rng.normal(size=(n, n_features))) * rng.uniform(0.01, 100, n_features) + 7, y


def series_model(kind=kn.ReservoirClassifier, learner="normalised", **settings):
    return kind(learner, **{**NEURONS, **settings})


MODELS = {
    "rows": lambda **more: kn.ThresholdReadout(**ROWS, **more),
    "random features": lambda **more: kn.ThresholdReadout(random_features=30, **ROWS, **more),
    "own": lambda **more: kn.ThresholdReadout(kn.Normalised(code="on_off"), **ROWS, **more),
    "signed": lambda **more: kn.ThresholdReadout(kn.Normalised(code="signed", start=kn.Percentile(20)), **ROWS, **more),
    "no thresholds": lambda **more: kn.ThresholdReadout("gradient_weights", **ROWS, **more),
    "fixed steps": lambda **more: kn.ThresholdReadout("gradient_thresholds", **ROWS, **more),
    "reservoir": lambda **more: series_model(**more),
    "channels": lambda **more: series_model(input_scaling="channel", **more),
    "tanh": lambda **more: series_model(activation="tanh", **more),
    "numbers": lambda **more: kn.ThresholdRegressor(**ROWS, **more),
    "reservoir, numbers": lambda **more: series_model(kn.ReservoirRegressor, **more),
}


def told(name, X, y):
    return X[:, 0] - X[:, 1] + 100.0 if "numbers" in name else y


def drifting(name, n):
    """Return rows whose labels or targets change places in the middle."""
    X, y = blobs(n)
    y = told(name, X, y)
    y[n // 2 :] = y[n // 2 :][::-1]
    return X, y


def one_by_one(model, X, y):
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
    return model


def same(a, b):
    assert a._training.state.episode == b._training.state.episode
    for one, other in zip(a._training.state.nets, b._training.state.nets, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(a._training.units.factor, b._training.units.factor)
    np.testing.assert_array_equal(a.encoder_.scaling.factor, b.encoder_.scaling.factor)
    np.testing.assert_array_equal(a.theta_, b.theta_)


@pytest.mark.parametrize("forgetting", [1.0, 0.98])
@pytest.mark.parametrize("name", MODELS)
def test_one_row_at_a_time_is_the_same_as_any_batches_to_the_bit(name, forgetting):
    X, y = drifting(name, 120)
    one = one_by_one(MODELS[name](forgetting=forgetting), X, y)
    whole = MODELS[name](forgetting=forgetting).partial_fit(X, y)
    cut = MODELS[name](forgetting=forgetting).partial_fit(X[:1], y[:1]).partial_fit(X[1:50], y[1:50])
    same(one, whole)
    same(cut.partial_fit(X[50:], y[50:]), whole)


def test_batches_of_a_learner_need_not_be_those_of_calls():
    X, y = drifting("rows", 120)
    models = [kn.ThresholdReadout(kn.Normalised(batch=4), forgetting=0.98, **ROWS) for _ in range(2)]
    same(one_by_one(models[0], X, y), models[1].partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:]))


@pytest.mark.parametrize("name", MODELS)
def test_predictions_of_one_row_are_those_of_many(name):
    X, y = blobs(150)
    y = told(name, X, y)
    model = one_by_one(MODELS[name](), X[:100], y[:100])
    if "numbers" in name:
        np.testing.assert_allclose([model.predict_one(x) for x in X], model.predict(X), rtol=1e-9)
        return
    assert [model.predict_one(x) for x in X] == model.predict(X).tolist()
    found = [model.predict_proba_one(x) for x in X]
    assert all(list(one) == model.classes_.tolist() for one in found)
    np.testing.assert_allclose([list(one.values()) for one in found], model.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_a_stream_is_learned_from_its_first_row_on(name):
    X, y = blobs(1500)
    y = told(name, X, y)
    model = one_by_one(MODELS[name](), X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > (0.8 if "gradient" in str(model.learner) else 0.9)


def test_a_stream_that_has_come_far_is_as_good_as_a_fit():
    X, y = blobs(1500)
    fitted = kn.ThresholdReadout(epochs=1, **ROWS).fit(X[:1000], y[:1000])
    model = one_by_one(kn.ThresholdReadout(**ROWS), X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > fitted.score(X[1000:], y[1000:]) - 0.02


def test_scales_are_those_of_all_rows_seen():
    X, y = blobs(300)
    model = one_by_one(kn.ThresholdReadout(**ROWS), X, y)
    np.testing.assert_allclose(model.encoder_.scaling.shift, X.mean(axis=0))
    np.testing.assert_allclose(model.encoder_.scaling.factor, 1 / X.std(axis=0))


def test_thresholds_start_where_half_of_the_rows_are_above():
    X, y = blobs(400)
    model = one_by_one(kn.ThresholdReadout(kn.Normalised(mu=1e-6, start=kn.Percentile(50)), **ROWS), X, y)
    np.testing.assert_allclose((model.code(X) > 0).mean(axis=0), 0.5, atol=0.05)


def test_thresholds_on_both_sides_of_tanh_start_where_half_of_the_rows_are_beyond():
    X, y = blobs(400)
    settings = {"activation": "tanh", "learner__mu": 1e-6}
    model = one_by_one(series_model().set_params(**settings), X, y)
    assert model._training.learner.code == "signed"
    np.testing.assert_allclose(np.median((model.code(X) != 0).mean(axis=0)), 0.5, atol=0.05)


def test_units_of_a_reservoir_s_states_are_their_deviations():
    X, y = blobs(300)
    model = one_by_one(series_model(), X, y)
    V = model.encoder_.states(model._series(X, reset=False), 1)
    sd, factor = V.std(axis=0), model._training.units.factor
    assert np.median(np.abs(factor * sd - 1)) < 0.1  # the first rows were run at other scales


@pytest.mark.parametrize("learner", ["normalised", "ridge", "composed", kn.RecursiveLeastSquares()])
def test_classes_appear_when_they_appear(learner):
    X, y = blobs(300)
    labels = np.array(["b", "c", "a"])[np.where(np.arange(300) < 60, np.minimum(y, 1), y)]
    model = kn.ThresholdReadout(learner, **ROWS)
    for first in range(0, 300, 20):
        model.partial_fit(X[first : first + 20], labels[first : first + 20])
        if first == 0:
            assert model.classes_.tolist() == ["b", "c"]
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.score(X[60:], labels[60:]) > 0.8


def test_a_class_that_appears_late_is_learned_as_if_it_had_been_known():
    X, y = blobs(200, n_classes=4)
    y = np.where(np.arange(200) < 100, y % 2, y)
    declared = kn.ThresholdReadout(**ROWS).partial_fit(X, y, classes=range(4))
    np.testing.assert_array_equal(one_by_one(kn.ThresholdReadout(**ROWS), X, y).readout_.W, declared.readout_.W)


def test_rows_are_remembered_by_their_classes_when_others_appear():
    X, y = blobs(320)
    y = np.where(
        np.arange(320) < 300, 2 + y % 2, np.where(np.arange(320) < 310, 3 - y % 2, y)
    )  # a drift, then all three
    y[310] = 0
    declared = kn.ThresholdReadout(forgetting=0.99, **ROWS).partial_fit(X, y, classes=range(4))
    assert 10 < declared._training.following.counts[DRIFTED] < 25  # rows are being learned again
    appeared = one_by_one(kn.ThresholdReadout(forgetting=0.99, **ROWS), X, y)
    np.testing.assert_allclose(appeared.readout_.W, declared.readout_.W[sorted(set(y))], rtol=1e-5, atol=1e-6)


def test_labels_that_were_not_declared_are_refused():
    X, y = blobs(60)
    with pytest.raises(ValueError, match=r"y has labels that are not in classes: \[2\]"):
        kn.ThresholdReadout().partial_fit(X, y, classes=[0, 1])
    model = kn.ThresholdReadout().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"y has labels that are not in classes: \[7\]"):
        model.learn_one(X[0], 7)
    with pytest.raises(ValueError, match="y has labels of another kind"):
        kn.ThresholdReadout().partial_fit(X, y).learn_one(X[0], "a")


def test_a_single_class_is_predicted_until_there_is_another():
    model = kn.ThresholdReadout(**ROWS).learn_one([1.0, 2.0], "only")
    assert model.predict_one([0.0, 5.0]) == "only"
    assert model.predict_proba_one([0.0, 5.0]) == {"only": 1.0}
    np.testing.assert_array_equal(model.predict_proba([[0.0, 5.0]]), [[1.0]])


@pytest.mark.parametrize("learner", ["ridge", "composed", "metropolis", kn.RecursiveLeastSquares()])
def test_learners_that_calibrate_begin_with_one_row_too(learner):
    X, y = blobs(200)
    model = one_by_one(kn.ThresholdReadout(learner, **ROWS), X[:100], y[:100])
    assert model.score(X[100:], y[100:]) > 0.8
    assert model.predict_one(X[0]) == model.predict(X[:1])[0]
    target = X[:, 0] / X[:, 0].std()
    if learner == "ridge":
        numbers = one_by_one(kn.ThresholdRegressor(learner, **ROWS), X[:100], target[:100])
        assert numbers.score(X[100:], target[100:]) > 0.9


@pytest.mark.parametrize("name", ["rows", "reservoir", "numbers"])
def test_a_fitted_model_goes_on_as_a_stream_in_the_units_it_has(name):
    X, y = blobs(300)
    y = told(name, X, y)
    model = MODELS[name](epochs=2).fit(X[:200], y[:200])
    scaling, factor = model.encoder_.scaling, model._training.units.factor.copy()
    batch = copy.deepcopy(model).partial_fit(X[200:], y[200:])
    same(one_by_one(model, X[200:], y[200:]), batch)
    assert model.encoder_.scaling is scaling
    np.testing.assert_array_equal(model._training.units.factor, factor)


@pytest.mark.parametrize("forgetting", [1.0, 0.98])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_saved_in_mid_stream_goes_on_to_the_same_bits(name, forgetting, tmp_path):
    X, y = drifting(name, 80)
    model = one_by_one(MODELS[name](forgetting=forgetting), X[:43], y[:43])
    model.save(tmp_path / "model")
    loaded = kn.load(tmp_path / "model")
    same(one_by_one(loaded, X[43:], y[43:]), one_by_one(model, X[43:], y[43:]))
    assert loaded.predict_one(X[0]) == model.predict_one(X[0])


@pytest.mark.parametrize("name", ["rows", "reservoir"])
def test_a_copy_has_a_stream_of_its_own(name):
    X, y = blobs(60)
    model = one_by_one(MODELS[name](), X[:40], y[:40])
    W, twin = model.readout_.W.copy(), copy.deepcopy(model)
    one_by_one(twin, X[40:], y[40:])
    np.testing.assert_array_equal(model.readout_.W, W)
    np.testing.assert_array_equal(one_by_one(model, X[40:], y[40:]).readout_.W, twin.readout_.W)


def test_passes_may_follow_a_stream():
    X, y = blobs(300)
    model = one_by_one(kn.ThresholdReadout("gradient_thresholds", warm_start=True, epochs=5, **ROWS), X[:200], y[:200])
    assert model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.9


def right_in_a_drift(kind, forgetting, seed, n=3000):
    """Return which rows were predicted right; the stream drifts after n of them."""
    X, y = blobs(2 * n, 8, 4, seed)
    if kind == "shift":
        X[n:] = 1.5 * X[n:] + 6 * X.std(axis=0)
    elif kind == "features":
        X[n:] = np.roll(X[n:] / X.std(axis=0), 1, axis=1) * X.std(axis=0)
    else:
        y[n:] = (y[n:] + 1) % 4
    model, right = kn.ThresholdReadout(forgetting=forgetting, random_features=100, random_state=seed), np.zeros(2 * n)
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        right[i] = i > 0 and model.predict_one(x) == label
        model.learn_one(x, label)
    return right


@pytest.mark.parametrize("kind", ["shift", "features", "labels"])
def test_with_forgetting_a_stream_recovers_in_half_the_rows_after_an_abrupt_drift(kind):
    def rows_until_recovered(forgetting, seed):
        right = right_in_a_drift(kind, forgetting, seed)
        before, recent = right[2000:3000].mean(), np.convolve(right[3000:], np.full(50, 1 / 50), "valid")
        return np.flatnonzero(recent >= before - 0.03)[0] + 50

    on, off = (np.mean([rows_until_recovered(g, seed) for seed in range(2)]) for g in (0.99, 1.0))
    assert on <= off / 2


def after_a_drift(X, y):
    """Return a model that has just noticed that labels have changed places after 300 rows, these labels, and where."""
    y = np.where(np.arange(len(y)) < 300, y, (y + 1) % 3)
    model = kn.ThresholdReadout(forgetting=0.99, **ROWS).fit(X[:200], y[:200])
    for n in range(200, len(X)):
        model.learn_one(X[n], y[n])
        if model._training.following.counts[DRIFTED] > 0:
            return model, y, n + 1
    raise AssertionError("no drift was noticed")


def test_a_few_rows_are_enough_after_a_drift():
    X, y = blobs(400)
    model, y, n = after_a_drift(X, y)
    slow = one_by_one(kn.ThresholdReadout(**ROWS).fit(X[:200], y[:200]), X[200:n], y[200:n])
    assert n < 315
    assert model.score(X[n:], y[n:]) > slow.score(X[n:], y[n:]) + 0.2


def test_after_a_drift_the_rows_since_then_are_learned_again_as_the_oracle_does():
    X, y = blobs(400)
    model, y, n = after_a_drift(X, y)
    state, (counts, *_, memory) = copy.deepcopy(model._training[1::4])
    n_states, since, last = state.n_neurons, int(counts[DRIFTED]) + 1, int(counts[N_ROWS]) + 1
    theta, before = model.theta_.copy(), counts[WEIGHT]
    model.learn_one(X[n], y[n])
    now, (counts, *_, kept) = model._training[1::4]
    x = np.maximum(kept.states * model._training.units.factor - state.nets.theta[0, :n_states], 0)
    memory.shares[last % REMEMBERED] = 0
    order = [last, *(last - (last * AGAIN + k) % since for k in range(1, AGAIN))]
    naive.learn_again(state.nets.W[0, :, :n_states], memory.shares, x, kept.told[:, 0], order, 10.0, float(RIDGE))
    assert since >= 3
    np.testing.assert_allclose(now.nets.W[0], state.nets.W[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(kept.shares, memory.shares, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(model.theta_, theta)
    assert counts[WEIGHT] == 0.99 * before + 1 + AGAIN


def test_rows_are_learned_again_until_memory_is_full_of_them():
    X, y = blobs(700)
    model, y, n = after_a_drift(X, y)
    counts = model._training.following.counts
    first = n - int(counts[DRIFTED])
    assert abs(first - 300) <= 3
    one_by_one(model, X[n : first + REMEMBERED], y[n : first + REMEMBERED])
    assert counts[DRIFTED] == REMEMBERED
    model.learn_one(X[first + REMEMBERED], y[first + REMEMBERED])
    assert counts[DRIFTED] == 0


def test_after_a_false_alarm_the_old_weights_are_taken_back():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(2000, 20)), rng.normal(size=20)
    model = one_by_one(kn.ThresholdReadout(forgetting=0.99, **ROWS), X[:1500], (X[:1500] @ w > 0))
    counts, W = model._training.following.counts, model.readout_.W.copy()
    counts[SEEN + 2] = 100.0  # evidence of a drift that there is not
    for n in range(1500, 1700):
        model.learn_one(X[n], X[n] @ w > 0)
        if n == 1500:
            assert counts[DRIFTED] == 1
            assert np.abs(model.readout_.W).max() < 0.5 * np.abs(W).max()
        if counts[DRIFTED] == 0:
            break
    assert n < 1600
    assert np.corrcoef(W.ravel(), model.readout_.W.ravel())[0, 1] > 0.95
    assert counts[WEIGHT] == pytest.approx(100, abs=0.01)


def test_inputs_that_jump_are_no_evidence_against_the_weights():
    X, y = blobs(340)
    X[300:] += 8 * X.std(axis=0)
    jumped = one_by_one(kn.ThresholdReadout(forgetting=0.99, **ROWS), X, y)
    assert jumped._training.following.counts[DRIFTED] == 0
    X, y = blobs(340)
    relabelled = one_by_one(kn.ThresholdReadout(forgetting=0.99, **ROWS), X, np.where(np.arange(340) < 300, y, 2 - y))
    assert 35 < relabelled._training.following.counts[DRIFTED] < 45


def test_numbers_recover_from_a_drift_too():
    X = np.random.default_rng(0).normal(size=(700, 6))
    y = 300.0 + (X[:, 0] - X[:, 1]) * np.where(np.arange(700) < 500, 100.0, -100.0)
    on, off = (one_by_one(kn.ThresholdRegressor(forgetting=g, **ROWS), X[:550], y[:550]) for g in (0.99, 1.0))
    assert on.score(X[550:], y[550:]) > 0.9 > off.score(X[550:], y[550:])


def test_errors_of_one_row_are_those_of_many():
    X, y = blobs(60)
    model = kn.ThresholdReadout(**ROWS)
    with pytest.raises(NotFittedError, match="call learn_one or fit first"):
        model.predict_one(X[0])
    with pytest.raises(ValueError, match="x must be plain values in a fixed order, not a dict"):
        model.learn_one({"a": 1.0}, 0)
    one_by_one(model, X[:40], y[:40])
    for wrong, message in ((X[0, :3], "features"), (np.full(6, np.nan), "NaN"), (3.0, "X"), (["a"] * 6, "X")):
        with pytest.raises(ValueError, match=message):
            model.predict_one(wrong)
        with pytest.raises(ValueError, match=message):
            model.learn_one(wrong, 0)
    with pytest.raises(ValueError, match="forgetting must be"):
        kn.ThresholdReadout(forgetting=0.1).learn_one(X[0], 0)
    with pytest.raises(ValueError, match="random_features must be"):
        kn.ThresholdReadout(random_features=-1).learn_one(X[0], 0)
    numbers = kn.ThresholdRegressor().learn_one(X[0], 1.0)
    with pytest.raises(ValueError, match="y"):
        numbers.learn_one(X[0], np.nan)


def test_a_row_that_cannot_be_read_changes_nothing():
    X, y = blobs(60)
    model = one_by_one(kn.ThresholdReadout(**ROWS), X[:40], y[:40])
    twin = copy.deepcopy(model)
    with pytest.raises(ValueError, match="NaN"):
        model.learn_one([np.nan] * 6, 0)
    same(one_by_one(model, X[40:], y[40:]), one_by_one(twin, X[40:], y[40:]))


def test_series_may_be_learned_one_by_one():
    X, y = sines(150)
    model = one_by_one(series_model(), X[:100], y[:100])
    assert model.input_kind_ == "series"
    same(model, series_model(leak_rate=model.reservoir_.leak_rate).partial_fit(X[:100], y[:100]))
    assert np.mean([model.predict_one(x) == label for x, label in zip(X[100:], y[100:], strict=True)]) > 0.75
