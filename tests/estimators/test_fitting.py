"""What fitting does: passes, streams, weights, early stopping, scaling."""

import tracemalloc

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import Ridge

import kenyon as kn
from kenyon.estimators._encoding import choose_scaling
from kenyon.estimators._series import Series
from kenyon.estimators._training import BY_NAME, States, orders
from kenyon.estimators._weights import gather
from kenyon.learning.protocol import Source
from tests.estimators.data import sines

LEARNERS = tuple(BY_NAME)
OWN = kn.Normalised(mu=0.2)


def classifier(learner="normalised", **settings):
    plain = {"n_neurons": 80, "epochs": 10, "random_state": 0, "pooling": "last"}
    return kn.ReservoirClassifier(learner, **{**plain, **settings})


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_scaling_the_input_changes_no_prediction(learner, factor):
    X, y = sines(120)
    scaled = [series * factor for series in X]
    expected = classifier(learner).fit(X, y)
    model = classifier(learner).fit(scaled, y)
    np.testing.assert_array_equal(model.predict(scaled), expected.predict(X))
    np.testing.assert_allclose(model.predict_proba(scaled), expected.predict_proba(X), atol=1e-3)
    flat, other = (np.stack([series[:15].ravel() for series in data]) for data in (X, scaled))
    a, b = (kn.ThresholdReadout(learner, random_state=0).fit(F, y).predict(F) for F in (flat, other))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_learns(learner):
    X, y = sines(150)
    model = classifier(learner, epochs=40).fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) > (0.5 if learner == "gradient_weights" else 0.85)
    units = 160 if learner == "recursive" else 80  # on both sides of each threshold
    assert model.theta_.shape == model.specificity_.shape == (units,)
    assert 0 < model.coding_level_ <= 1
    assert model.theta_.any() == (learner not in ("ridge", "gradient_weights"))


def test_one_seed_gives_one_result_whatever_the_threads():
    X, y = sines(700)
    single, double = (classifier(n_jobs=n, epochs=2).fit(X, y).predict_proba(X) for n in (1, 2))
    np.testing.assert_array_equal(single, double)
    assert not np.array_equal(classifier(random_state=1, epochs=2).fit(X, y).predict_proba(X), single)


def test_a_small_budget_for_states_changes_nothing(monkeypatch):
    X, y = sines(60)
    expected = classifier().fit(X, y).predict_proba(X)
    monkeypatch.setattr("kenyon.estimators._training.CACHE", 4 * 80 * 7)
    np.testing.assert_array_equal(classifier().fit(X, y).predict_proba(X), expected)


def test_states_asked_for_in_pieces_are_those_made_at_once(monkeypatch):
    monkeypatch.setattr("kenyon.estimators._training.CACHE", 4 * 3 * 40)
    rng, asked = np.random.default_rng(0), []
    table = rng.normal(size=(100, 3)).astype(np.float32)
    states = States(lambda numbers: asked.extend(numbers) or table[numbers], 100, 3)
    for _ in range(3):
        for numbers in np.split(rng.permutation(100), 5):
            np.testing.assert_array_equal(states[numbers], table[numbers])
    assert len(asked) == 100 + 2 * 60  # 40 of them were kept


@pytest.mark.parametrize("learner", ["normalised", "ridge"])
def test_fitting_ten_thousand_series_takes_no_more_memory_than_some_thousands(learner, monkeypatch):
    """Input and labels aside, which are the user's."""
    monkeypatch.setattr("kenyon.estimators._training.CACHE", 2**24)
    X = np.random.default_rng(0).normal(size=(10_000, 4, 2)).astype(np.float32)
    y = (X[:, -1, 0] > 0).astype(int)
    peaks = []
    classifier(learner, n_neurons=500, epochs=1).fit(X[:50], y[:50])
    for n in (2_500, 10_000):
        tracemalloc.start()
        classifier(learner, n_neurons=500, epochs=2).fit(X[:n], y[:n])
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 16  # of 20 MB of states, no more than the budget of 16 is kept
    assert peaks[1] < 60


def test_partial_fit_in_any_pieces_is_one_pass():
    X, y = sines(90)
    whole = classifier().partial_fit(X, y, classes=[0, 1, 2])
    pieces = classifier().partial_fit(X[:40], y[:40], classes=[0, 1, 2])
    again = classifier().partial_fit(X[:40], y[:40], classes=[0, 1, 2])
    pieces.partial_fit(X[40:50], y[40:50]).partial_fit(X[50:], y[50:])
    again.partial_fit(X[40:], y[40:])
    np.testing.assert_array_equal(pieces.predict_proba(X), again.predict_proba(X))
    assert len(pieces.learning_curve_["epoch"]) == 3
    assert whole.score(X, y) > 0.7


def test_ridge_streamed_in_pieces_is_ridge_on_the_whole():
    X, y = sines(90)
    fitted = classifier("ridge").fit(X, y)
    streamed = classifier("ridge")
    streamed.partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_allclose(streamed.predict_proba(X), fitted.predict_proba(X), atol=1e-4)


def test_the_closed_form_solves_what_scikit_learn_solves():
    rng = np.random.default_rng(0)
    V, Y = rng.normal(size=(200, 30)).astype(np.float32), rng.normal(size=(200, 2))
    learner = kn.Ridge(penalty=1e-2, intercept=True, rule=kn.Regression())
    state, _ = learner.update(learner.begin(V, 2, Source(0, "t")), V, Y)
    centred = V.astype(float) - V.mean(axis=0, dtype=float)
    expected = Ridge(alpha=1e-2 * (centred**2).sum()).fit(V.astype(float), Y.astype(np.float32))
    readout = learner.readout(state)
    np.testing.assert_allclose(readout.W, expected.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(readout.bias, expected.intercept_, rtol=1e-4, atol=1e-6)


def test_the_penalty_chosen_predicts_noisy_targets_better_than_almost_none():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(150, 60)), rng.normal(size=150)
    y = X[:, 0] + 2 * noise
    X_test = rng.normal(size=(1000, 60))
    models = [kn.ThresholdRegressor(learner).fit(X, y) for learner in ("ridge", kn.Ridge(penalty=1e-9))]
    chosen, none = (model.score(X_test, X_test[:, 0]) for model in models)
    assert chosen > none + 0.1


@pytest.mark.parametrize("start", [kn.Percentile(50), 0.3])
def test_ridge_with_a_start_is_ridge_on_thresholded_states(start):
    X, y = sines(90)
    model = classifier(kn.Ridge(penalty=1e-3, start=start)).fit(X, y)
    V = model.encoder_.states(model._series(X, reset=False), 1)
    theta = np.percentile(V, 50, axis=0) if start != 0.3 else 0.3 * V.std(axis=0)
    varies = V.std(axis=0) > 0
    np.testing.assert_allclose(model.theta_[varies], theta[varies], rtol=1e-3, atol=1e-6)
    x = model.code(X).astype(float)
    np.testing.assert_array_equal(x > 0, model.theta_ < V)
    alpha = 1e-3 * ((x - x.mean(axis=0)) ** 2).sum()
    expected = Ridge(alpha=alpha).fit(x, 10.0 * (y[:, None] == np.arange(3)))
    np.testing.assert_allclose(model.readout_.W, expected.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.readout_.bias, expected.intercept_, rtol=1e-3, atol=1e-4)
    assert model.coding_level_ == pytest.approx((x > 0).mean())
    assert model.coding_level_ < 0.9


def test_a_target_of_its_own_scales_the_outputs_of_ridge():
    X, y = sines(60)
    small, large = (classifier(kn.Ridge(penalty=1e-3, rule=kn.Supervised(target))).fit(X, y) for target in (1, 10))
    np.testing.assert_allclose(10 * small.readout_.W, large.readout_.W, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("learner", ["ridge", "normalised"])
def test_class_weights_move_choices_towards_the_heavier_class(learner):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), np.arange(400) % 10 == 0
    X[y] += 0.7
    plain, heavy, balanced = (
        [classifier(learner, n_neurons=20, class_weight=w, random_state=seed).fit(X, y).predict(X) for seed in range(3)]
        for w in (None, {False: 1, True: 30}, "balanced")
    )
    assert np.mean(heavy) > np.mean(balanced) > np.mean(plain)


@pytest.mark.parametrize("learner", ["normalised", "gradient_weights"])
def test_partial_fit_shows_a_series_as_often_as_the_weight_of_its_class(learner):
    X, y = sines(90)
    first = X[:45], y[:45], [0, 1, 2]
    weighted = classifier(learner).partial_fit(*first).set_params(class_weight={0: 1, 1: 3, 2: 0})
    weighted.partial_fit(X[45:], y[45:])
    numbers = np.repeat(np.arange(45, 90), np.array([1, 3, 0])[y[45:]])
    repeated = classifier(learner).partial_fit(*first).partial_fit([X[i] for i in numbers], y[numbers])
    np.testing.assert_array_equal(weighted.readout_.W, repeated.readout_.W)


def test_partial_fit_weighs_classes_in_ridge():
    X, y = sines(90)
    first = X[:45], y[:45], [0, 1, 2]
    weighted = classifier("ridge").partial_fit(*first).set_params(class_weight={0: 1, 1: 3, 2: 0})
    weighted.partial_fit(X[45:], y[45:])
    numbers = np.repeat(np.arange(45, 90), np.array([1, 3, 0])[y[45:]])
    repeated = classifier("ridge").partial_fit(*first).partial_fit([X[i] for i in numbers], y[numbers])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_only_ratios_of_class_weights_matter():
    X, y = sines(60)
    model = classifier(class_weight={0: 10, 1: 10, 2: 10}, epochs=2).fit(X, y)
    assert model._training.state.episode == 2 * 60


def test_readouts_without_thresholds_see_states_in_one_unit():
    X, y = sines(90)
    centred, plain = (classifier(learner, epochs=1).fit(X, y).code(X) for learner in ("ridge", "gradient_weights"))
    np.testing.assert_allclose(centred.mean(axis=0), 0, atol=1e-5)
    assert centred.var(axis=0).mean() == pytest.approx(1, rel=1e-4)
    assert (plain >= 0).all()
    assert (plain**2).mean() == pytest.approx(1, rel=1e-4)


def test_fractions_of_weights_are_shown_by_chance():
    weights = np.repeat([0.3, 1.7], 1000)
    shown = np.bincount(next(orders(2000, weights, 1, 0, 0)), minlength=2000).reshape(2, 1000)
    np.testing.assert_allclose(shown.mean(axis=1), [0.3, 1.7], atol=0.05)
    assert set(shown[0]) == {0, 1}
    assert set(shown[1]) == {1, 2}


@pytest.mark.parametrize(("learner", "size"), [("gradient_thresholds", np.max), ("gradient_weights", np.mean)])
def test_steps_of_learners_given_by_name_are_stable(learner, size):
    X, y = sines(90)
    model = classifier(learner, epochs=1).fit(X, y)
    U = model._states(model._series(X, reset=False)).make(np.arange(90)).astype(float)
    norm2, chosen = (U**2).sum(axis=1), model._training.learner
    assert chosen.eta_w == pytest.approx(1 / size(norm2))
    if chosen.local:
        assert chosen.eta_theta == pytest.approx(chosen.eta_w * 0.005 * norm2.mean() ** 2 / 10**2)


def test_a_search_starts_at_the_median_of_the_states():
    X, y = sines(90)
    model = classifier(kn.Metropolis(eta_w=1e-4), epochs=1).fit(X, y)
    U = model._states(model._series(X, reset=False)).make(np.arange(90))
    assert model._training.learner.start == pytest.approx(float(np.median(U)))
    assert model._training.learner.start > 0


def test_a_classifier_tells_a_learner_of_numbers_classes():
    X, y = sines(90)
    expected = classifier(kn.Normalised(), epochs=2).fit(X, y)
    model = classifier(kn.Normalised(rule=kn.Regression()), epochs=2).fit(X, y)
    np.testing.assert_array_equal(model.readout_.W, expected.readout_.W)


def in_order(X, targets):
    """Return the numbers of the series in the order that estimators bring them in."""
    return gather(Series(X), targets, np.ones(len(X))).numbers


def learned_by_heart(n=200):
    """Series with some labels that can only be learned by heart, so that later passes may be worse on others."""
    X, y = sines(n)
    rng = np.random.default_rng(0)
    return X, np.where(rng.random(n) < 0.3, rng.integers(3, size=n), y)


def test_early_stopping_keeps_the_best_pass_and_stops():
    X, y = learned_by_heart()
    model = classifier(early_stopping=True, patience=3, epochs=60, validation_fraction=0.25).fit(X, y)
    scores = model.learning_curve_["validation"]
    assert model.n_epochs_ == len(scores) < 60
    assert len(scores) - 1 - scores.argmax() == 3
    again = classifier(epochs=60).fit(X, y)
    assert len(again.learning_curve_["training"]) == 60


def test_early_stopping_keeps_the_best_pass_where_the_last_is_worse():
    X, y = learned_by_heart()
    settings = {"early_stopping": True, "patience": 1, "epochs": 60, "validation_fraction": 0.25, "random_state": 2}
    target = np.array([series[-1, 0] for series in X]) + np.random.default_rng(0).normal(size=len(X))
    models = [
        (kn.ReservoirClassifier("normalised", n_neurons=80, **settings), y),
        (kn.ReservoirRegressor("normalised", n_neurons=80, **settings), target),
    ]
    for model, wanted in models:
        _, held = model.fit(X, wanted)._held_out(wanted, in_order(X, wanted))
        scores = model.learning_curve_["validation"]
        assert scores[-1] < scores.max()
        assert model.score([X[i] for i in held], wanted[held]) == pytest.approx(scores.max(), abs=1e-6)


def test_early_stopping_holds_out_every_class_of_few_series():
    X, y = sines(12)
    model = classifier(early_stopping=True, epochs=2).fit(X, y)
    _, held = model._held_out(y, in_order(X, y))
    assert set(y[held]) == {0, 1, 2}


def test_warm_start_goes_on_where_fit_ended():
    X, y = sines(60)
    model = classifier(epochs=3, warm_start=True).fit(X, y)
    first, reservoir = model.readout_.W.copy(), model.reservoir_
    model.fit(X, y)
    assert model.reservoir_ is reservoir
    assert len(model.learning_curve_["epoch"]) == 6
    assert not np.array_equal(model.readout_.W, first)
    cold = classifier(epochs=3).fit(X, y)
    np.testing.assert_array_equal(cold.readout_.W, first)


def test_passes_without_early_stopping_have_no_validation_score():
    X, y = sines(60)
    model = classifier(epochs=2, warm_start=True).fit(X, y).set_params(early_stopping=True).fit(X, y)
    assert np.isnan(model.learning_curve_["validation"]).tolist() == [True, True, False, False]


def test_decisions_are_drawn_with_the_probabilities():
    X, y = sines(60)
    model = classifier(epochs=1).fit(X, y)
    draws = np.stack([model.decide(X, random_state=i) for i in range(400)])
    shares = (draws[..., None] == model.classes_).mean(axis=0)
    np.testing.assert_allclose(shares, model.predict_proba(X), atol=0.12)


def test_probabilities_have_the_temperature_of_the_rule():
    X, y = sines(60)
    model = classifier(kn.Normalised(rule=kn.QLearning(temperature=2.0)), epochs=2).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), softmax(model._outputs(X) / 2, axis=1))


def test_labels_may_be_of_any_kind():
    X, y = sines(30)
    for labels in (np.array(["low", "mid", "high"])[y], y.astype(float), np.array(["a", "b", "c"], object)[y]):
        assert set(classifier().fit(X, labels).predict(X)) <= set(labels)


def test_channels_are_scaled_by_their_range_by_their_deviation_or_together():
    values = np.random.default_rng(0).exponential(size=(50, 20, 3)) ** [1, 1, 3] * [1, 10, 1]
    scaled = {kind: choose_scaling(Series(values), kind).apply(values) for kind in ("range", "channel", "overall")}
    for kind, part in scaled.items():
        np.testing.assert_allclose(part.mean(axis=(0, 1)), 0, atol=0.05 if kind == "range" else 1e-5)
    highest, lowest = scaled["range"].max(axis=1), scaled["range"].min(axis=1)
    ranges = np.sort(highest, axis=0)[-2] - np.sort(lowest, axis=0)[1]  # without one series in up to a hundred
    np.testing.assert_allclose(ranges, ranges[0], rtol=1e-5)
    np.testing.assert_allclose(scaled["channel"].std(axis=(0, 1)), 1, rtol=1e-4)
    np.testing.assert_allclose(scaled["overall"].var(axis=(0, 1)).mean(), 1, rtol=1e-4)
    together = np.ptp(scaled["overall"], axis=(0, 1)) / np.ptp(values, axis=(0, 1))
    np.testing.assert_allclose(together, together[0], rtol=1e-5)


@pytest.mark.parametrize("form", ["ragged", "equal", "static"])
def test_a_spike_in_one_series_does_not_change_the_scale_of_its_channel(form):
    rng = np.random.default_rng(0)
    X = {"ragged": [rng.normal(size=(n, 2)) for n in range(5, 65)], "equal": rng.normal(size=(60, 5, 2)),
         "static": rng.normal(size=(60, 2))}[form]  # fmt: skip
    before = choose_scaling(Series(X), "range")
    X[7][..., 1] += 100 * (np.arange(len(X[7])) == 2) if form != "static" else 100
    after = choose_scaling(Series(X), "range")
    np.testing.assert_allclose(after.factor, before.factor, rtol=0.2)
    np.testing.assert_allclose(after.shift, before.shift, atol=0.1)


def test_a_channel_that_does_something_in_very_few_series_stays_as_quiet_as_it_is():
    values = np.random.default_rng(0).uniform(-1, 1, (300, 5, 2))
    values[3:, :, 1] *= 1e-6
    factor = choose_scaling(Series(values), "range").factor
    assert factor[1] == pytest.approx(factor[0], rel=0.1)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_unit_of_a_channel_changes_no_prediction(learner):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=120)
    series = [
        rng.normal([3 * c, 0, 0], [0.8, 0.5, 23], (n, 3)) for c, n in zip(y, rng.integers(5, 15, 120), strict=True)
    ]
    for X in (series, np.stack([x[:5] for x in series]), np.stack([x[0] for x in series])):
        model = classifier(learner, epochs=3).fit(X[:80], y[:80])
        for unit in ([30, 1, 1], [1, 1, 1e-3], [1e-6, 1, 1e6]):
            changed = [x * unit for x in X] if isinstance(X, list) else X * np.array(unit)
            again = classifier(learner, epochs=3).fit(changed[:80], y[:80])
            np.testing.assert_array_equal(again.predict(changed[80:]), model.predict(X[80:]))


@pytest.mark.parametrize("learner", ["ridge", "normalised"])
def test_channels_of_very_different_size_are_learned_from_by_default(learner):
    X, y = sines(200)
    noise = np.random.default_rng(1)
    X = [np.column_stack([x * [0.8, 0.5], noise.normal(40, 23, len(x))]) for x in X]
    default, channel, overall = (
        classifier(learner, **more).fit(X[:130], y[:130]).score(X[130:], y[130:])
        for more in ({}, {"input_scaling": "channel"}, {"input_scaling": "overall"})
    )
    assert default > channel - 0.05
    assert default > overall + 0.2


def test_a_constant_channel_does_not_affect_the_scale_of_the_others():
    values = np.random.default_rng(0).normal(size=(30, 4, 2))
    with_constant = np.concatenate([values, np.full((30, 4, 1), 7.0)], axis=-1)
    for kind in ("range", "channel", "overall"):
        scaled = choose_scaling(Series(with_constant), kind)
        np.testing.assert_allclose(scaled.factor[:2], choose_scaling(Series(values), kind).factor)
        assert scaled.factor[2] == 0


def test_constant_targets_are_scaled_by_their_size():
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = np.stack([np.full(20, -5.0), np.zeros(20)], axis=1)
    model = kn.ThresholdRegressor("ridge").fit(X, y)
    np.testing.assert_array_equal(model.target_scale_, [5, 1])
    np.testing.assert_allclose(model.predict(X), y)


def test_channels_in_different_units_are_brought_to_one():
    X, y = sines(120)
    mixed = [series * [1e-6, 1e3] for series in X]
    assert classifier("ridge").fit(mixed[:80], y[:80]).score(mixed[80:], y[80:]) > 0.9


@pytest.mark.parametrize("learner", [*LEARNERS, OWN])
def test_regression_finds_what_a_series_holds(learner):
    X, _ = sines(300, low=20, high=21)
    X = np.array(X)
    y = np.stack([X[:, -1, 0] - 100, 1e4 * X[:, -3:, 1].sum(axis=1)], axis=1)
    model = kn.ReservoirRegressor(learner, n_neurons=200, random_state=0)
    floor = 0.8 if learner in ("ridge", "normalised") else 0.2
    assert model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > floor
    assert model.predict(X).shape == (300, 2)
    assert model.fit(X[:200], y[:200, 0]).predict(X).shape == (300,)


def test_a_learner_that_diverges_by_name_takes_smaller_steps(monkeypatch):
    X, y = sines(60)
    wild = kn.GradientWeights(batch=1, eta_w=1e3)
    with pytest.raises(kn.Diverged):
        classifier(wild, epochs=40).fit(X, y)
    monkeypatch.setattr("kenyon.estimators._training._sized", lambda learner, U: wild)
    model = classifier("gradient_weights").fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_progress_is_shown_when_asked_for(capsys):
    X, y = sines(30)
    classifier(verbose=1, epochs=2).fit(X, y)
    assert "training" in capsys.readouterr().err
    classifier(epochs=2).fit(X, y)
    assert capsys.readouterr().err == ""
