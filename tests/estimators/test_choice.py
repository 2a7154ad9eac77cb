"""What a classifier reads where nobody said."""

import numpy as np
import pytest

import kenyon as kn
from kenyon.estimators._choice import LEVELS, SPREAD, TAPS, over_time, pooling_for
from kenyon.estimators._pooling import Pooling
from tests.estimators.data import sines

SMALL = {"n_neurons": 60, "random_state": 0}
SHORT, LONG = (3, 19), (40, 60)


def series(lengths, n=60):
    return sines(n, low=lengths[0], high=lengths[1])


@pytest.fixture(scope="module")
def long():
    X, y = series(LONG, 90)
    return kn.ReservoirClassifier(**SMALL).fit(X[:60], y[:60]), X, y


def test_short_series_are_read_halfway_and_at_the_end():
    X, y = series(SHORT)
    model = kn.ReservoirClassifier(**SMALL).fit(X, y)
    assert model.pooling_ == ["time 1 of 2", "time 2 of 2"]
    assert model.reservoir_.delays is None


def test_longer_series_are_read_over_time(long):
    model, X, y = long
    assert [name.split()[0] for name in model.pooling_] == ["activity"] * 6
    assert [name[-6:] for name in model.pooling_] == ["1 of 2"] * 3 + ["2 of 2"] * 3
    assert model.reservoir_.delays.spacings == (1, 1, 2, 3, 4, 5, 6)
    assert model.score(X[60:], y[60:]) > 0.9


@pytest.mark.parametrize(
    ("length", "n_channels", "expected"),
    [(19, 1, 2), (20, 1, "activity"), (28, 28, 2), (100, 6, "activity"), (8, 8, 2)],
)
def test_the_choice_depends_on_steps_and_channels(length, n_channels, expected):
    assert pooling_for(length, n_channels) == expected


@pytest.mark.parametrize("given", [{"leak_rate": 0.5}, {"spectral_radius": 0.9}, {"delays": None}, {"pooling": "last"}])
def test_settings_that_are_given_leave_nothing_to_choose(given):
    X, y = series(LONG)
    model = kn.ReservoirClassifier(**SMALL, **given).fit(X, y)
    assert model.pooling_ == ["last"]
    assert model.reservoir_.delays is None


def test_others_read_the_end():
    X, y = series(LONG)
    rows = np.array([x[0] for x in X])
    for model in (
        kn.ReservoirClassifier(**SMALL).fit(rows, y),
        kn.ReservoirClassifier(**SMALL).partial_fit(X, y),
        kn.ReservoirClassifier("normalised", **SMALL).partial_fit(X, y),
        kn.ReservoirRegressor(**SMALL).fit(X, y.astype(float)),
        kn.ReservoirTransformer(**SMALL).fit(X),
    ):
        assert model.pooling_ == ["last"]


def test_a_reservoir_of_many_time_scales():
    n = 480
    reservoir = over_time(n, 5, 64, "relu", 0)
    assert reservoir.n_inputs == 10
    assert reservoir.delays.spacings == (1, 1, 2, 3, 4, 5, 6, 8)
    n_plain = n // 8
    taps = reservoir.W_in.toarray().reshape(n, 2, 5, TAPS)
    assert set(taps.any(axis=3).sum(axis=(1, 2))) == {1, 2, 3}
    plain, delayed = taps[:n_plain], taps[n_plain:]
    assert not plain[:, 1].any()
    assert not delayed[:, 0].any()
    assert not np.delete(plain, [TAPS // 2, TAPS // 2 + 1], axis=3).any()
    np.testing.assert_allclose(delayed.sum(axis=3), 0, atol=1e-6)
    np.testing.assert_allclose((delayed**2).sum(axis=(1, 2, 3)), 1, rtol=1e-5)
    leaks, connected = reservoir.leak_rate, np.diff(reservoir.W.indptr) > 0
    assert set(leaks[:n_plain]) == set(np.float32([1, 0.3, 0.1, 0.03]))
    assert set(leaks[n_plain:]) == set(np.float32([1, 0.3]))
    assert (leaks[n_plain:][~connected[n_plain:]] == 1).mean() > 0.7
    assert 0.2 < connected.mean() < 0.4
    assert not reservoir.W[:, ~connected].count_nonzero()
    assert reservoir.spectral_radius == pytest.approx(0.8, rel=1e-5)


def test_levels_differ_between_neurons_and_cover_their_states():
    states = np.random.default_rng(0).permuted(np.tile(np.arange(1001.0), (40, 1)), axis=1).T.astype(np.float32)
    levels = Pooling(("activity",), LEVELS, spread=SPREAD)._levels(states)
    assert levels.shape == (3, 40)
    np.testing.assert_allclose(np.diff(levels, axis=0), 300, atol=1.01)
    assert len(np.unique(levels[0])) == 40
    assert levels.min() < 60
    assert levels.max() > 940


def test_what_series_are_shown_does_not_depend_on_their_level(long):
    model, X, _ = long
    shown, raised = (model.encoder_.inputs(x) for x in (X[0], X[0] + 3.0))
    assert shown.shape == (len(X[0]), 4)
    np.testing.assert_allclose(shown[:, 2:].mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(shown[:, 2:], raised[:, 2:], atol=1e-5)
    assert np.array_equal(model.encoder_.inputs(np.array([X[0], X[0]]))[1], shown)


def bumps(n, anywhere):
    """Series with a bump, of class 1 if it is a double one; all at the same time, or anywhere."""
    rng = np.random.default_rng(0)
    t, y = np.arange(80), np.arange(n) % 2
    at = rng.integers(0, 80, n) if anywhere else np.where(y, 20, 60)
    shape = np.exp(-((t / 2.0 - 10) ** 2)) + (np.exp(-((t / 2.0 - 16) ** 2)) if anywhere else 0) * y[:, None]
    X = np.array([np.roll(row, k) for row, k in zip(np.broadcast_to(shape, (n, 80)), at, strict=True)])
    return (X + 0.2 * rng.standard_normal((n, 80)))[:, :, None], y


@pytest.mark.parametrize(("anywhere", "n_parts"), [(False, 6), (True, 3)])
def test_halves_are_read_unless_it_does_not_matter_when_something_happens(anywhere, n_parts):
    X, y = bumps(300, anywhere)
    for learner in ("ridge", "normalised"):
        model = kn.ReservoirClassifier(learner, n_neurons=200, random_state=0).fit(X[:200], y[:200])
        assert len(model.pooling_) == n_parts
        assert model.score(X[200:], y[200:]) > 0.8
        assert model.theta_.shape == (200 * n_parts,)


@pytest.mark.parametrize("n_neurons", [1, 2, 5, 9])
def test_reservoirs_of_few_neurons(n_neurons):
    X, y = series(LONG, 30)
    model = kn.ReservoirClassifier(n_neurons=n_neurons, random_state=0).fit(X, y)
    assert model.reservoir_.n_neurons == n_neurons


def test_a_saved_model_says_the_same_and_goes_on(long, tmp_path):
    model, X, y = long
    model.save(tmp_path / "m")
    loaded = kn.load(tmp_path / "m")
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(
        loaded.partial_fit(X[60:], y[60:]).predict(X), kn.load(tmp_path / "m").partial_fit(X[60:], y[60:]).predict(X)
    )


def test_threads_make_no_difference(long):
    model, X, y = long
    again = kn.ReservoirClassifier(**SMALL, n_jobs=2).fit(X[:60], y[:60])
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_series_cannot_be_fed_to_a_model_that_reads_over_time(long):
    model, X, _ = long
    with pytest.raises(ValueError, match="Set pooling='last'"):
        model.feed(X[0][0])


@pytest.mark.parametrize("learner", ["ridge", "normalised"])
def test_a_class_may_have_a_single_example(learner):
    X, y = series(LONG)
    y, X[7] = y.copy(), X[7] + 5
    y[7] = 9
    model = kn.ReservoirClassifier(learner, **SMALL).fit(X, y)
    assert model.predict([X[7]]) == 9
    with pytest.raises(ValueError, match="early_stopping needs two different series of each class"):
        kn.ReservoirClassifier("normalised", early_stopping=True, **SMALL).fit(X, y)
