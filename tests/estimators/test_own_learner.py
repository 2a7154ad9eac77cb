"""A user's own learner, with begin, update and readout only, in every learning estimator."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import kenyon as kn
from kenyon.estimators._series import Series
from kenyon.estimators._weights import gather
from kenyon.learning.protocol import Info
from tests import small_learners as small
from tests.estimators.data import sines


@dataclass(frozen=True)
class Perceptron:
    """Rosenblatt's rule: learn from mistakes only."""

    rate: float = 0.1

    def begin(self, V, n_classes, source):
        return np.zeros((n_classes, V.shape[1]), np.float32)

    def update(self, W, V, labels):
        W, correct = W.copy(), np.empty(len(V), np.float32)
        for n, (v, label) in enumerate(zip(V, labels, strict=True)):
            choice = (W @ v).argmax()
            correct[n] = choice == label
            W[label] += self.rate * v
            W[choice] -= self.rate * v
        return W, Info(1 - correct, correct)

    def readout(self, W):
        return kn.Readout(W, np.zeros(W.shape[1], np.float32), thresholds=False)


@dataclass(frozen=True)
class Delta(Perceptron):
    """Widrow and Hoff's rule, for real targets."""

    rate: float = 0.01
    rule = kn.Regression()  # so regressors take it

    def update(self, W, V, labels):
        W, cost = W.copy(), np.empty(len(V), np.float32)
        for n, (v, target) in enumerate(zip(V, labels, strict=True)):
            error = target - W @ v
            cost[n] = error @ error
            W += self.rate * np.outer(error, v) / (v @ v)
        return W, Info(cost, np.full(len(V), np.nan, np.float32))


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, (X @ [1.0, -1.0, 0.5, 0.0, 0.0, 2.0] > 0.3).astype(int)


def test_a_reservoir_classifier_learns_with_it():
    X, y = sines(150)
    model = kn.ReservoirClassifier(Perceptron(), n_neurons=80, epochs=20, pooling="last", random_state=0)
    assert model.fit(X[:100], y[:100]).score(X[100:], y[100:]) > 0.85
    assert model.learning_curve_["training"][-1] > model.learning_curve_["training"][0]
    assert model.learning_curve_["training"].shape == (20,)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.8


def test_partial_fit_is_its_own_update_of_the_states_in_order():
    X, y = rows()
    model = kn.ThresholdReadout(Perceptron(), random_state=0)
    model.partial_fit(X[:100], y[:100], classes=[0, 1]).partial_fit(X[100:], y[100:])
    V = model.code(X)
    assert V.shape == (300, 13)  # both signs, and a constant
    own = Perceptron()
    W, first = own.update(own.begin(V, 2, None), V[:100], y[:100])
    W, second = own.update(W, V[100:], y[100:])
    np.testing.assert_array_equal(model.readout_.W, W)
    assert model.learning_curve_["training"].tolist() == [first.correct.mean(), second.correct.mean()]
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize(
    "learner", [small.Delta(), small.Centroids(), small.Sparse()], ids=lambda one: type(one).__name__
)
def test_as_little_as_will_do_is_enough(learner):
    X, y = rows()
    model = kn.ThresholdReadout(learner, epochs=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.75
    p = model.predict_proba(X)  # at temperature 0 the largest output has it all
    assert set(np.unique(p)) == {0.0, 1.0}
    np.testing.assert_array_equal(model.decide(X, random_state=1), model.predict(X))
    X, y = sines(90)
    assert (
        kn.ReservoirClassifier(learner, n_neurons=50, epochs=3, pooling="last", random_state=0).fit(X, y).score(X, y)
        > 0.6
    )


@pytest.mark.parametrize(
    ("part", "returned", "message"),
    [
        ("update", None, "learner.update must return a state and an Info, not None"),
        ("update", (0, 1), "learner.update must return a state and an Info whose `cost` and `correct`"),
        ("readout", None, r"learner.readout must return a Readout, such as kn.Readout\(W, theta\), not None"),
        (
            "readout",
            (np.zeros((13, 2)), np.zeros(2)),
            r"learner.readout .* W has shape \(n_classes, 13\), not \(13, 2\)",
        ),
    ],
)
def test_what_it_returns_is_checked(part, returned, message, monkeypatch):
    monkeypatch.setattr(Perceptron, part, lambda *given: returned)
    X, y = rows(30)
    with pytest.raises(ValueError, match=message):
        kn.ThresholdReadout(Perceptron()).fit(X, y)


def test_early_stopping_keeps_its_best_pass():
    X, y = rows(200)
    y = np.where(np.random.default_rng(1).random(200) < 0.3, 1 - y, y)
    model = kn.ThresholdReadout(
        Perceptron(), epochs=30, early_stopping=True, patience=4, validation_fraction=0.3, random_state=0
    )
    _, held = model.fit(X, y)._held_out(y, gather(Series(X), y, np.ones(len(X))).numbers)
    scores = model.learning_curve_["validation"]
    assert scores[-1] < scores.max() == pytest.approx(model.score(X[held], y[held]))


@pytest.mark.parametrize("make", [kn.ThresholdRegressor, lambda *a, **k: kn.ReservoirRegressor(*a, n_neurons=60, **k)])
def test_regressors_hand_it_targets(make):
    X, _ = rows()
    y = np.stack([X[:, 0] + 3, 100 * X[:, 1]], axis=1)
    model = make(Delta(), epochs=30, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.7
    assert model.learning_curve_["training"][-1] > 0.5
    assert make(Delta(), random_state=0).partial_fit(X, y).score(X, y) > 0.2


def test_regressors_refuse_one_that_expects_classes():
    X, _ = rows()
    for model in (kn.ThresholdRegressor(Perceptron()), kn.ReservoirRegressor(Perceptron(), n_neurons=20)):
        with pytest.raises(ValueError, match=r"learner must learn numbers in a regressor.* rule = kn.Regression\(\)"):
            model.fit(X, X[:, 0])


def test_targets_are_scaled_and_the_curve_is_the_variance_explained_on_the_way():
    X, _ = rows()
    y = np.stack([X[:, 0] + 3, 100 * X[:, 1]], axis=1)
    model = kn.ThresholdRegressor(Delta(), random_state=0).partial_fit(X, y)
    V, targets = model.code(X), ((y - y.mean(axis=0)) / y.std(axis=0) * 10).astype(np.float32)
    W, info = Delta().update(Delta().begin(V, 2, None), V, targets)
    np.testing.assert_array_equal(model.readout_.W, W)
    assert model.learning_curve_["training"] == pytest.approx([1 - info.cost.sum() / (targets**2).sum()], rel=1e-5)


def test_class_weights_show_it_series_of_a_heavier_class_more_often():
    X, y = rows()
    light, heavy = (
        kn.ThresholdReadout(Perceptron(), epochs=5, class_weight={0: 1, 1: w}, random_state=0).fit(X, y).predict(X)
        for w in (0.05, 20)
    )
    assert heavy.sum() > light.sum()


@dataclass(frozen=True)
class Cooled(Perceptron):
    """Keeps a list of its rates."""

    rates: tuple = ()

    def over(self, n_episodes):
        return Cooled(self.rate / n_episodes, self.rates)

    def begin(self, V, n_classes, source):
        return super().begin(V, n_classes, source), ()

    def update(self, state, V, labels):
        W, info = super().update(state[0], V, labels)
        return (W, (*state[1], self.rate)), info

    def readout(self, state):
        return super().readout(state[0])


def test_it_is_told_how_many_episodes_there_will_be_if_it_wants_to_know():
    X, y = rows(50)
    model = kn.ThresholdReadout(Cooled(rate=1.0), epochs=4, random_state=0).fit(X, y)
    assert model._training.state[1] == (1 / 200,) * 4


@dataclass(frozen=True)
class Silent(Perceptron):
    """Makes no choices while it learns."""

    def update(self, W, V, labels):
        unknown = np.full(len(V), np.nan, np.float32)
        return super().update(W, V, labels)[0], Info(unknown, unknown)


def test_without_choices_the_curve_ends_at_the_score_afterwards():
    X, y = rows()
    model = kn.ThresholdReadout(Silent(), epochs=3, random_state=0).fit(X, y)
    curve = model.learning_curve_["training"]
    assert np.isnan(curve[:2]).all()
    assert curve[2] == model.score(X, y)


@dataclass(frozen=True)
class Thresholded(Perceptron):
    """Reads x = relu(V - 0.5)."""

    thresholds: bool = True

    def update(self, W, V, labels):
        return super().update(W, np.maximum(V - np.float32(0.5), 0), labels)

    def readout(self, W):
        return kn.Readout(W, np.full(W.shape[1], 0.5, np.float32))


def test_with_thresholds_each_neuron_has_a_unit_of_its_own():
    X, y = sines(90)
    model = kn.ReservoirClassifier(Thresholded(), n_neurons=50, epochs=3, pooling="last", random_state=0).fit(X, y)
    spread = model.encoder_.states(model._series(X, reset=False), 1).std(axis=0)
    np.testing.assert_allclose(model.theta_[spread > 0], 0.5 * spread[spread > 0], rtol=1e-3)
    assert 0 < model.coding_level_ < 1
    plain = kn.ReservoirClassifier(Perceptron(), n_neurons=50, epochs=1, pooling="last", random_state=0).fit(X, y)
    assert len(np.unique(plain._training.units.factor)) == 1


@dataclass(frozen=True)
class Unreadable:
    """Lacks `readout`."""

    def begin(self, V, n_classes, source): ...

    def update(self, state, V, labels): ...


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Unreadable(), r"not Unreadable\(\), which lacks readout$"),
        (Perceptron, "not <class '.*Perceptron'>$"),
        (3, "not 3, which lacks begin, update, readout$"),
    ],
)
def test_what_it_lacks_is_named(learner, message):
    X, y = rows(30)
    with pytest.raises(ValueError, match=f"learner must be one of .*{message}"):
        kn.ThresholdReadout(learner).fit(X, y)


def test_recursive_least_squares_learns_classes_and_numbers(tmp_path):
    X, y = rows()
    model = kn.ThresholdReadout(kn.RecursiveLeastSquares(), epochs=2, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.85
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(kn.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    assert kn.ThresholdRegressor(kn.RecursiveLeastSquares(), random_state=0).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.99
