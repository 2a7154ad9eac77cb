"""A target for every step: what is learned, however series are cut, and what is refused."""

import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kenyon as kn
from tests import naive

SMALL = {"n_neurons": 40, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(1200, 2))
DELAYED = np.roll(X[:, 0], 2) + 0.5 * np.roll(X[:, 1], 1)  # what a reservoir can remember
NUMBERS = np.stack([DELAYED, X[:, 0] * 3.0 + 7.0], axis=1)
LABELS = np.where(DELAYED > 0, "up", "down")


def regressor(learner="ridge", **settings):
    return kn.SequenceRegressor(learner, **{**SMALL, **settings})


def classifier(learner="ridge", **settings):
    return kn.SequenceClassifier(learner, **{**SMALL, **settings})


def in_pieces(model, targets, cuts, **first):
    """Learn a series in pieces."""
    for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(X)], strict=True)):
        model.partial_fit(X[start:stop], targets[start:stop], continued=number > 0, **(first if number == 0 else {}))
    return model


def test_ridge_is_the_ridge_regression_of_states_inputs_and_a_constant():
    model = regressor(kn.Ridge(penalty=1e-6), washout=50).fit(X, NUMBERS)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    V = naive.run(model.reservoir_.W, model.reservoir_.W_in, 0.5, scaled, "tanh", model.reservoir_.bias)
    Z = np.hstack([V, scaled, np.ones((len(X), 1))])
    mean, sd = NUMBERS.mean(axis=0), NUMBERS.std(axis=0)
    size = np.sqrt((Z[50:550] ** 2).mean())  # the unit of states, which the penalty is in proportion to
    G = Z[50:].T @ Z[50:] / size**2
    W = np.linalg.solve(G + 1e-6 * np.trace(G) * np.eye(len(G)), Z[50:].T / size @ ((NUMBERS - mean) / sd)[50:])
    np.testing.assert_allclose(model.predict(X), Z / size @ W * sd + mean, atol=2e-3)


@pytest.mark.parametrize("learner", ["ridge", "normalised", "composed", "recursive", kn.RecursiveLeastSquares()])
def test_learners_remember_what_came_before(learner):
    model = regressor(learner, n_neurons=100, leak_rate=0.9, epochs=4).fit(X[:900], NUMBERS[:900])
    assert model.score(X[900:], NUMBERS[900:], continued=True) > 0.75
    labelled = classifier(learner, n_neurons=100, leak_rate=0.9, epochs=4).fit(X[:900], LABELS[:900])
    assert labelled.score(X[900:], LABELS[900:]) > 0.8
    assert (labelled.predict_proba(X).sum(axis=1).round(9) == 1).all()


def mackey_glass(n, tau=17, x=1.2):
    past = [x] * (10 * tau)
    for _ in range(10 * (n + 300)):  # Euler's rule, ten steps to a unit of time
        past.append(past[-1] + 0.1 * (0.2 * past[-10 * tau] / (1 + past[-10 * tau] ** 10) - 0.1 * past[-1]))
    return np.array(past[-10 * n :: 10])


def test_thresholds_and_all_one_pass_online_comes_near_ridge_regression():
    series, errors = mackey_glass(2500), {}
    for learner in ("ridge", "recursive", "normalised"):
        model = regressor(learner, n_neurons=80).fit(series[:2000, None], series[1:2001])
        errors[learner] = np.std(model.predict(series[:-1, None])[2000:] - series[2001:])
    assert errors["recursive"] < 2 * errors["ridge"] < 0.1 * errors["normalised"]


@pytest.mark.parametrize("learner", ["ridge", "normalised", "gradient_thresholds", "recursive"])
@pytest.mark.parametrize("cuts", [[700], [1, 2, 90, 101, 400, 600, 856], [599, 600, 601]])
def test_a_series_may_be_cut_anywhere(learner, cuts):
    whole = regressor(learner).partial_fit(X, NUMBERS)
    pieces = in_pieces(regressor(learner), NUMBERS, cuts)
    expected = whole.predict(X)
    np.testing.assert_array_equal(pieces.predict(X), expected)
    np.testing.assert_array_equal(pieces.predict(X[: cuts[0]]), expected[: cuts[0]])
    np.testing.assert_array_equal(pieces._learned_to.V, whole._learned_to.V)


def test_predictions_go_on_where_the_last_ended():
    model = regressor().fit(X[:600], NUMBERS[:600])
    expected = model.predict(X)[600:]
    pieces = [model.predict(X[a:b], continued=True) for a, b in ((600, 601), (601, 900), (900, 1200))]
    np.testing.assert_array_equal(np.concatenate(pieces), expected)
    model.partial_fit(X[600:700], NUMBERS[600:700], continued=True)  # learning goes on where learning ended
    again = model.predict(X)[700:]
    np.testing.assert_array_equal(model.predict(X[700:], continued=True), again)


def test_classes_in_pieces_are_learned_as_in_one():
    whole = classifier("normalised").partial_fit(X, LABELS, ["up", "down"])
    pieces = in_pieces(classifier("normalised"), LABELS, [3, 700], classes=["up", "down"])
    np.testing.assert_array_equal(pieces.predict_proba(X), whole.predict_proba(X))


def test_several_series_begin_at_rest_and_go_on_each_for_itself():
    lists = [X[:500], X[500:800], X[800:]], [NUMBERS[:500, 0], NUMBERS[500:800, 0], NUMBERS[800:, 0]]
    model = regressor(n_jobs=2).fit(*lists)
    each = [model.predict(series) for series in lists[0]]
    for found, expected in zip(model.predict(lists[0]), each, strict=True):
        np.testing.assert_array_equal(found, expected)
    stack = X[:900].reshape(3, 300, 2)
    expected = model.predict(stack)
    model.partial_fit(stack[:, :100], NUMBERS[:900, 0].reshape(3, 300)[:, :100])
    learned = model.predict(stack)
    np.testing.assert_array_equal(model.predict(stack[:, 100:], continued=True), learned[:, 100:])
    assert expected.shape == (3, 300)


def test_the_washout_is_not_learned_from():

    spoilt = LABELS.copy()
    spoilt[:100] = spoilt[100:200]
    np.testing.assert_array_equal(classifier().fit(X, LABELS).predict(X), classifier().fit(X, spoilt).predict(X))
    assert not np.array_equal(
        classifier(washout=0).fit(X, LABELS).predict_proba(X), classifier(washout=0).fit(X, spoilt).predict_proba(X)
    )


def test_memory_does_not_grow_with_the_length_of_a_series():
    def peak(n):
        series, told = np.tile(X, (n, 1)), np.tile(DELAYED, n)
        tracemalloc.start()
        regressor().fit(series, told).predict(series)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found, series.nbytes

    peak(1)
    (short, size), (long, large) = peak(5), peak(20)
    states = 4 * SMALL["n_neurons"] * 15 * len(X)
    assert long - short < min(4 * (large - size), states)


@pytest.mark.parametrize("learner", ["normalised", "recursive"])
def test_a_saved_model_goes_on_as_if_it_had_not_been(learner, tmp_path):
    for n in (300, 900):  # before and after scales are settled
        model = regressor(learner).partial_fit(X[:n], NUMBERS[:n])
        model.save(tmp_path / "model.safetensors")
        loaded = kn.load(tmp_path / "model.safetensors")
        for one in (model, loaded):
            one.partial_fit(X[n:], NUMBERS[n:], continued=True)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("given", "told", "settings", "words"),
    [
        (np.where(np.arange(400).reshape(200, 2) == 9, np.nan, 1.0), NUMBERS[:200], {}, "X"),
        (X, np.full(len(X), np.nan), {}, "y"),
        (X, NUMBERS[:-1], {}, "X has 1200, but y has 1199"),
        ([X, X[:500]], [NUMBERS, NUMBERS[:499]], {}, r"X\[1\] has 500, but y\[1\] has 499"),
        ([X, X[:500]], [NUMBERS], {}, "y must hold targets for each of the 2 series"),
        ([X, X[:500]], [NUMBERS, NUMBERS[:500, :1]], {}, "y must have as many numbers"),
        (X[:100], NUMBERS[:100], {}, "washout must be shorter than every series, not 100: X has 100 steps"),
        ([X, X[:90]], [NUMBERS, NUMBERS[:90]], {}, r"washout must be .* X\[1\] has 90"),
        (X[:, 0], NUMBERS, {}, "X"),
        (X, NUMBERS, {"washout": -1}, "washout"),
        (X, NUMBERS, {"epochs": 0}, "epochs"),
        (X, NUMBERS, {"input_gain": 0.0}, "input_gain"),
        (X, NUMBERS, {"learner": "rigde"}, "learner"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given, told, settings, words):
    with pytest.raises(ValueError, match=words):
        regressor(**settings).fit(given, told)


def test_what_does_not_go_on_is_refused():
    model = regressor().fit(X, NUMBERS)
    with pytest.raises(ValueError, match="continued=True needs as many series in X as there were before, 1, not 2"):
        model.predict([X, X], continued=True)
    with pytest.raises(ValueError, match="continued must be True or False"):
        model.predict(X, continued="yes")
    with pytest.raises(ValueError, match="continued=True needs"):
        regressor().partial_fit(X, NUMBERS, continued=True)
    with pytest.raises(ValueError, match="fitted to 2 outputs"):
        model.partial_fit(X, DELAYED)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.ones((5, 3)))
    with pytest.raises(NotFittedError, match="washout"):
        regressor().partial_fit(X[:50], NUMBERS[:50]).predict(X)
    labelled = classifier().partial_fit(X, LABELS)
    with pytest.raises(ValueError, match=r"y has labels that are not in classes: \['left'\]"):
        labelled.partial_fit(X[:1], ["left"])
    with pytest.raises(ValueError, match=r"\['left'\]"):
        labelled.partial_fit([X[:1], X[:1]], [["up"], ["left"]])
    with pytest.raises(ValueError, match="classes .* differ"):
        labelled.partial_fit(X, LABELS, classes=["up", "down", "left"])
    with pytest.raises(ValueError, match="only one class"):
        classifier().fit(X, ["up"] * len(X))


def test_a_network_that_overflows_is_refused():
    with pytest.raises(ValueError, match="states exceed float32"):
        regressor(activation="relu", spectral_radius=1e12, leak_rate=1.0).fit(X, NUMBERS)


def test_targets_far_beyond_the_first_are_refused_at_once():
    rng = np.random.default_rng(0)
    X, y = rng.random((600, 2)), rng.random(600)
    model = kn.SequenceRegressor(n_neurons=20, washout=5).partial_fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="y has targets more than"):
        model.partial_fit(X[:20], np.full(20, 3e38))
    np.testing.assert_array_equal(model.predict(X), before)
