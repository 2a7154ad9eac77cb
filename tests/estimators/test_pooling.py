"""What estimators read of a series: the end, the mean, some times, activity and excess, and several of them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import kenyon as kn
from kenyon.estimators._pooling import Pooling
from kenyon.kernels.lanes import Rows8, Rows16, Rows32
from kenyon.kernels.pooling import Kept
from tests.estimators.data import sines

SMALL = {"n_neurons": 40, "random_state": 0}
POOLINGS = ["last", "mean", 3, "activity", "excess", ["last", "mean", 4, "activity", "excess"]]
OPEN = {"activation": "tanh", "delays": kn.Delays(5, (1, 2)), "leak_rate": kn.LogUniform(0.1, 1.0)}


@pytest.mark.filterwarnings("ignore", "error:X .*seems to hold")
@parametrize_with_checks(
    [
        kn.ReservoirClassifier(pooling=POOLINGS[-1], n_neurons=30),
        kn.ReservoirClassifier("normalised", pooling="activity", n_neurons=30, **OPEN),
        kn.ReservoirRegressor("normalised", pooling=2, n_neurons=30, activation="tanh"),
        kn.ReservoirTransformer("signed", pooling=["mean", 2], n_neurons=30, activation="tanh"),
    ]
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


def oracle(parts, percentiles, V, levels):
    """Features of one series from its trajectory V, shape (T, N)."""
    found = []
    for part in parts:
        if part == "last":
            found.append(V[-1])
        elif part == "mean":
            found.append(V.mean(axis=0))
        elif part == "activity":
            found += [(level < V).mean(axis=0) for level in levels]
        elif part == "excess":
            found += [np.maximum(V - level, 0).sum(axis=0) for level in levels]
        else:
            found += [V[max(0, (i + 1) * len(V) // part - 1)] for i in range(part)]
    return np.concatenate(found)


@pytest.mark.parametrize("more", [{}, OPEN], ids=["relu", "open"])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("form", ["ragged", "equal", "static", "one"])
def test_features_equal_those_of_the_trajectory(pooling, form, more):
    X, _ = sines(40, low=3, high=33)
    X = {"ragged": X, "one": X[:3], "equal": np.array([x[:3] for x in X]), "static": np.array([x[0] for x in X])}[form]
    model = kn.ReservoirTransformer(pooling=pooling, pooling_percentiles=(30.0, 80.0), **SMALL, **more).fit(X)
    encoder = model.encoder_
    inputs = encoder._shown(encoder_series(model, X))
    trajectories = encoder.reservoir.run(list(inputs), trajectory=True)
    parts = pooling if isinstance(pooling, list) else [pooling]
    expected = [oracle(parts, (30.0, 80.0), V.astype(np.float64), encoder.pooling.levels) for V in trajectories]
    found = model.transform(X)
    assert found.shape == (len(X), len(model.get_feature_names_out()))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def encoder_series(model, X):
    return model._series(X, reset=False)


def test_levels_are_percentiles_of_all_states_of_each_neuron():
    X, _ = sines(60, low=30, high=60)
    model = kn.ReservoirTransformer(
        pooling="activity", pooling_percentiles=(25.0, 75.0), activation="tanh", **SMALL
    ).fit(X)
    V = np.concatenate(model.reservoir_.run(model.encoder_._shown(encoder_series(model, X)), trajectory=True))
    shares = (model.encoder_.pooling.levels[:, None] > V).mean(axis=1)
    np.testing.assert_allclose(shares, np.repeat([[0.25], [0.75]], 40, axis=1), atol=0.05)


@pytest.mark.parametrize("form", ["ragged", "equal", "one"])
@pytest.mark.parametrize("stretches", [2, 3])
def test_stretches_are_read_as_if_they_were_series(form, stretches):
    rng = np.random.default_rng(0)
    lengths = {"ragged": [*rng.integers(1, 60, 50), 700], "equal": [41] * 50, "one": [601]}[form]
    series = [rng.standard_normal((length, 2)).astype(np.float32) for length in lengths]
    reservoir = kn.Reservoir(40, 0.3, n_inputs=2, input_weights="gaussian")
    levels = np.percentile(np.concatenate(reservoir.run(series, trajectory=True)), [30, 80], axis=0).astype(np.float32)
    parts = ("mean", 2, "activity", "last", "excess")
    pooling = Pooling(parts, (30.0, 80.0), levels, stretches=stretches)
    given = np.array(series) if form == "equal" else series
    found = pooling.read(reservoir, given, 1).reshape(len(series), -1, 40)
    names = pooling.names
    assert found.shape[1] == len(names) == 3 + 5 * stretches
    for V, numbers in zip(reservoir.run(series, trajectory=True), found, strict=True):
        ends = np.maximum(np.arange(1, stretches + 1) * len(V) // stretches - 1, 0)
        for i, stretch in enumerate(np.split(V, ends + 1)[:stretches]):
            chosen = [name.endswith(f"part {i + 1} of {stretches}") for name in names]
            rest = stretch if len(stretch) else np.full((1, 40), -np.inf)  # of series with fewer steps than stretches
            mean = rest.mean(axis=0) if len(stretch) else np.zeros(40)
            expected = [mean, oracle(["activity", "excess"], (30.0, 80.0), rest.astype(np.float64), levels)]
            np.testing.assert_allclose(numbers[chosen].ravel(), np.concatenate(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("even", [False, True])
def test_activity_of_whole_series_follows_from_that_of_stretches(even):
    X, _ = sines(50, low=1, high=300)
    lengths = np.array([len(x) for x in X])
    reservoir = kn.Reservoir(30, 0.3, n_inputs=2, input_weights="gaussian")
    levels = np.percentile(np.concatenate(reservoir.run(X, trajectory=True)), [30, 80], axis=0).astype(np.float32)
    whole = Pooling(("activity",), (30.0, 80.0), levels, even=even)
    halves = whole._replace(stretches=2)
    found = halves.whole(halves.read(reservoir, X, 1), lengths)
    np.testing.assert_array_equal(found, whole.read(reservoir, X, 1))


def test_even_shares_vary_equally_whether_rare_or_common():
    drawn = np.random.default_rng(0).binomial(400, [[0.03], [0.5], [0.97]], (3, 4000)).astype(np.float32)
    plain, even = drawn.T.reshape(4000, 1, 1, 3) / np.float32(400), drawn.T.reshape(4000, 1, 1, 3).copy()
    Pooling(("activity",), (50.0,), even=True)._to_shares(even, np.full((4000, 1, 1, 1), 400, np.float32))
    np.testing.assert_allclose(even, 2 / np.pi * np.arcsin(np.sqrt(plain)), atol=1e-6)
    plain, even = (shares.std(axis=(0, 1, 2)) for shares in (plain, even))
    assert plain.max() > 2.5 * plain.min()
    assert even.max() < 1.1 * even.min()


def test_only_shares_are_made_even():
    X, _ = sines(20, low=5, high=60)
    reservoir = kn.Reservoir(30, 0.3, n_inputs=2, input_weights="gaussian")
    levels = np.percentile(np.concatenate(reservoir.run(X, trajectory=True)), [30, 80], axis=0).astype(np.float32)
    plain = Pooling(("excess", "activity", "mean", "last"), (30.0, 80.0), levels, stretches=2)
    expected = plain.read(reservoir, X, 1).reshape(20, -1, 30)
    shares = [name.startswith("activity") for name in plain.names]
    expected[:, shares] = 2 / np.pi * np.arcsin(np.sqrt(expected[:, shares]))
    found = plain._replace(even=True).read(reservoir, X, 1).reshape(20, -1, 30)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_counts_beyond_a_byte_are_kept():
    reservoir = kn.Reservoir(20, n_inputs=2, input_weights="gaussian")
    series = np.random.default_rng(0).normal(size=(5, 1100, 2)).astype(np.float32)
    levels = np.full((1, 20), -1.0, np.float32)
    times = np.zeros((5, 0), np.intp)
    for part in (series, series[:1]):
        out = reservoir._pooled(part, Kept(False, True, False, levels), times[: len(part)], 1)
        assert (out == 1100).all()


@pytest.mark.parametrize("more", [{}, OPEN], ids=["relu", "open"])
def test_it_does_not_matter_how_series_are_cut(more, monkeypatch):
    X, _ = sines(50, low=5, high=300)
    model = kn.ReservoirTransformer(pooling=POOLINGS[-1], **SMALL, **more).fit(X)
    expected = model.transform(X)
    np.testing.assert_array_equal(model.set_params(n_jobs=3).transform(X), expected)
    np.testing.assert_array_equal(model.transform(X[::-1])[::-1], expected)
    for i in (0, 17, 49):
        np.testing.assert_array_equal(model.transform([X[i]])[0], expected[i])
        np.testing.assert_array_equal(model.transform(X[i][None])[0], expected[i])
    for few, rows in ((0, Rows8), (0, Rows16), (0, Rows32), (99, None)):
        monkeypatch.setattr("kenyon.simulation.FEW_EPISODES", few)
        monkeypatch.setattr("kenyon.simulation._rows", lambda n, rows=rows: rows)
        np.testing.assert_array_equal(model.transform(X), expected)


@pytest.mark.parametrize("learner", ["ridge", "normalised", kn.Normalised(code="on_off")])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_files_clones_and_repetitions_give_the_same(pooling, learner, tmp_path):
    X, y = sines(40)
    model = kn.ReservoirClassifier(learner, pooling=pooling, epochs=3, **SMALL).fit(X, y)
    model.save(tmp_path / "model")
    loaded = kn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.get_params()["pooling"] == pooling
    np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), model.predict_proba(X))
    order = np.random.default_rng(0).permutation(40)
    other = clone(model).fit([X[i] for i in order], y[order])
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    twice = clone(model).fit([*X, X[0]], [*y, y[0]])
    weighted = clone(model).fit(X, y, sample_weight=[2, *[1] * 39])
    np.testing.assert_array_equal(twice.predict_proba(X), weighted.predict_proba(X))


def test_open_reservoirs_survive_a_file(tmp_path):
    X, y = sines(40)
    model = kn.ReservoirClassifier("normalised", pooling=["last", "activity"], epochs=3, **OPEN, **SMALL).fit(X, y)
    model.save(tmp_path / "model")
    loaded = kn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.delays == OPEN["delays"]
    assert loaded.reservoir_.leak_range == OPEN["leak_rate"]


def test_activity_tells_what_the_last_state_has_forgotten():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 400, 1))
    X[:, 20:60, 0] += np.where(y, 1.5, -1.5)[:, None]  # long before the end
    scores = {}
    for pooling in ("last", "mean", 8, "activity"):
        model = kn.ReservoirClassifier(
            pooling=pooling, leak_rate=0.3, spectral_radius=0.8, n_neurons=100, random_state=0
        )
        scores[pooling] = model.fit(X[:80], y[:80]).score(X[80:], y[80:])
    assert scores["last"] < 0.7
    assert min(scores["mean"], scores["activity"]) > 0.9


def test_learned_thresholds_and_both_sides_act_on_what_is_pooled():
    X, y = sines(40)
    model = kn.ReservoirClassifier(
        "normalised", pooling=["mean", "activity"], pooling_percentiles=(60.0,), epochs=3, **SMALL
    ).set_params(learner__code="on_off").fit(X, y)  # fmt: skip
    assert model.theta_.shape == (160,)
    F, x = model.encoder_.states(encoder_series(model, X), 1), model.code(X)
    assert np.mean((x[:, :80] > 0) == (model.theta_[:80] < F)) > 0.99  # but for rounding
    assert np.mean((x[:, 80:] > 0) == (model.theta_[80:] > F)) > 0.99
    table = model.rank_neurons()
    assert table["pooling"].value_counts().to_dict() == {"mean": 80, "activity 60": 80}
    assert set(table.index) == set(range(40))


def test_thresholds_of_a_tanh_reservoir_are_on_both_sides():
    X, y = sines(40)
    model = kn.ReservoirClassifier("normalised", activation="tanh", pooling="last", epochs=3, **SMALL).fit(X, y)
    assert model.readout_.code == "signed"
    assert (model.code(X) < 0).any()
    told = clone(model).set_params(learner__code="on").fit(X, y)
    assert told.readout_.code == "on"
    assert kn.ReservoirClassifier(activation="tanh", **SMALL).fit(X, y).score(X, y) > 0.9


def test_missing_values_are_refused_with_every_pooling():
    X, y = sines(40)
    X[3][1, 0] = np.nan
    for pooling in POOLINGS:
        with pytest.raises(ValueError, match=r"X\[3\] has a missing value"):
            kn.ReservoirClassifier(pooling=pooling, **SMALL).fit(X, y)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"pooling": "max"}, "pooling must be one of 'last', 'mean', 'activity', 'excess', not 'max'"),
        ({"pooling": 0}, "pooling must be 'last', .*, a number of equally spaced times up to 65536, or several, not 0"),
        ({"pooling": True}, "pooling must be 'last'.*not True"),
        ({"pooling": []}, "pooling must name at least one thing to keep"),
        ({"pooling": ["mean", "mean"]}, "and none twice"),
        ({"pooling": "activity", "pooling_percentiles": 50}, "pooling_percentiles must be numbers from 0 to 100"),
        ({"pooling": "activity", "pooling_percentiles": (101,)}, "pooling_percentiles must be a number in"),
        ({"activation": "sine"}, "activation must be one of 'relu', 'tanh', not 'sine'"),
        ({"delays": 3}, "delays must be a Delays, not 3"),
    ],
)
def test_mistakes_are_refused_by_name(wrong, message):
    X, y = sines(20)
    with pytest.raises(ValueError, match=message):
        kn.ReservoirClassifier(**SMALL, **wrong).fit(X, y)
