"""Series that arrive step by step."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kenyon as kn
from tests.estimators.data import sines


def model(kind=kn.ReservoirClassifier, learner="normalised", **settings):
    return kind(learner, **{"n_neurons": 40, "leak_rate": 0.2, "random_state": 0, **settings})


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("learner", ["normalised", "ridge"])
def test_a_series_that_was_fed_is_predicted_as_a_whole_one(learner, activation):
    X, y = sines(60)
    fitted = model(learner=learner, activation=activation, epochs=2).fit(X, y)
    for key, series in enumerate(X[:3]):
        for step in series:
            fitted.feed(step, key)
    assert [fitted.predict_now(key) for key in range(3)] == fitted.predict(X[:3]).tolist()


def test_series_side_by_side_do_not_disturb_one_another():
    X, y = sines(60)
    apart, mixed = (model(epochs=2).fit(X, y) for _ in range(2))
    for key, series in enumerate(X[:2]):
        for step in series:
            apart.feed(step, key)
    for step in range(max(len(series) for series in X[:2])):
        for key, series in enumerate(X[:2]):
            if step < len(series):
                mixed.feed(series[step], key)
    for key in (0, 1):
        np.testing.assert_array_equal(apart._fed[key], mixed._fed[key])


def test_what_is_learned_of_a_fed_series_is_what_learn_one_learns():
    X, y = sines(60)
    fed, whole = (model(epochs=2).fit(X, y) for _ in range(2))
    for step in X[0]:
        fed.feed(step)
    fed.learn_now(y[0])
    np.testing.assert_array_equal(fed.readout_.W, whole.learn_one(X[0], y[0]).readout_.W)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_a_stream_of_steps_is_learned_from_nothing(activation):
    """The class is the frequency of a sine that is shown without end, and changes now and then."""
    rng, stream, right, phase = np.random.default_rng(0), model(n_neurons=100, activation=activation), [], 0.0
    for n in range(3000):
        fast = n // 50 % 2
        phase += 0.9 if fast else 0.3
        stream.feed([5 + np.sin(phase) + 0.1 * rng.normal(), np.cos(phase)], "a")
        if n % 50 > 20:
            right.append(n > 50 and stream.predict_now("a") == fast)
            stream.learn_now(fast, "a")
    assert np.mean(right[-500:]) > 0.9


def test_numbers_are_learned_step_by_step():
    rng = np.random.default_rng(0)
    stream, x, errors = model(kn.ReservoirRegressor, n_neurons=100, leak_rate=0.9), rng.normal(size=2000), []
    for n in range(1, 2000):
        stream.feed([x[n]])
        errors.append(stream.predict_now() - x[n] - x[n - 1] if n > 1 else 0.0)
        stream.learn_now(x[n] + x[n - 1])
    assert np.var(errors[-500:]) < 0.2 * 2


def test_series_under_way_are_part_of_a_saved_model(tmp_path):
    X, y = sines(60)
    fitted = model(epochs=2).fit(X, y)
    for step in X[0][:5]:
        fitted.feed(step, "k")
    fitted.save(tmp_path / "model")
    loaded = kn.load(tmp_path / "model")
    for step in X[0][5:]:
        assert fitted.feed(step, "k").predict_now("k") == loaded.feed(step, "k").predict_now("k")
    np.testing.assert_array_equal(fitted._fed["k"], loaded._fed["k"])


@pytest.mark.parametrize("kind", [kn.ReservoirClassifier, kn.ReservoirRegressor])
def test_a_stream_of_steps_saved_halfway_goes_on_to_the_same_bits(kind, tmp_path):
    def go_on(stream, steps):
        for n in steps:
            stream.feed([np.sin(n), np.cos(0.7 * n)], ("pump", n % 2)).learn_now(n % 3, ("pump", n % 2))
        return stream

    stream = go_on(model(kind, activation="tanh", forgetting=0.99), range(40))
    stream.save(tmp_path / "model")
    loaded = go_on(kn.load(tmp_path / "model"), range(40, 80))
    np.testing.assert_array_equal(loaded.readout_.W, go_on(stream, range(40, 80)).readout_.W)
    assert loaded.predict_now(("pump", 1)) == stream.predict_now(("pump", 1))


def test_errors_say_what_is_wrong():
    X, y = sines(60)
    with pytest.raises(NotFittedError, match="fit this ReservoirClassifier first"):
        model(learner="ridge").feed([1.0, 2.0])
    stream = model().feed([1.0, 2.0])
    with pytest.raises(NotFittedError, match="not been told any class"):
        stream.predict_now()
    with pytest.raises(ValueError, match="key must be that of a series that was fed, not 'b'"):
        stream.learn_now(1, "b")
    with pytest.raises(ValueError, match=r"x must have shape \(channels,\)"):
        stream.feed([[1.0, 2.0]])
    with pytest.raises(ValueError, match="x must have as many features as before, 2, not 1"):
        stream.feed([1.0])
    with pytest.raises(ValueError, match="NaN"):
        stream.feed([1.0, np.nan])
    for settings in ({"pooling": "mean"}, {"delays": kn.Delays(3)}):
        with pytest.raises(ValueError, match="Set pooling='last', or learn whole series with partial_fit"):
            model(**settings).feed([1.0, 2.0])
    with pytest.raises(ValueError, match="learner must follow a stream"):
        model(learner="ridge").fit(X, y).feed([1.0, 2.0]).learn_now(1)
    stream.end()
    with pytest.raises(ValueError, match="key must be"):
        stream.end()
