"""Forecasts: free runs from any past, what is known ahead, noise, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import kenyon as kn
from kenyon.estimators._base import TARGET
from tests import naive

T = np.arange(900)
WAVES = np.stack([np.sin(0.2 * T), 5 + 2 * np.cos(0.2 * T) + np.sin(0.4 * T)], axis=1)
SMALL = {"n_neurons": 50, "random_state": 0}


def forecaster(**settings):
    return kn.Forecaster(**{**SMALL, **settings})


@pytest.fixture(scope="module")
def fitted():
    return forecaster().fit(WAVES[:700])


def test_waves_go_on(fitted):
    np.testing.assert_allclose(fitted.forecast(200), WAVES[700:], atol=0.02)
    flat = forecaster().fit(WAVES[:700, 0])
    assert flat.forecast(200).shape == (200,)
    np.testing.assert_allclose(flat.forecast(200), WAVES[700:, 0], atol=0.02)


def test_a_forecast_is_the_readouts_own_output_fed_back(fitted):
    scaling, reservoir, reading = fitted.encoder_.scaling, fitted.reservoir_, fitted._reading()
    s = (WAVES[:700] - scaling.shift) * scaling.factor
    V = naive.run(reservoir.W, reservoir.W_in, 0.5, s[:-1], "tanh", reservoir.bias)[-1]
    said = naive.free_run(
        reservoir, reservoir.bias, V, s[-1], np.zeros((20, 0)), lambda z: (reading.bias + reading.W @ z) / TARGET, 20
    )
    np.testing.assert_allclose(fitted.forecast(20), said / scaling.factor + scaling.shift, atol=2e-3)


def test_forecasts_start_from_any_past_alone_and_in_lanes(fitted):
    np.testing.assert_array_equal(fitted.forecast(30, WAVES[:700]), fitted.forecast(30))
    pasts = [WAVES[k : k + 100 + 7 * k] for k in range(40)]
    several = forecaster(n_jobs=2).fit(WAVES[:700]).forecast(30, pasts)
    assert several.shape == (40, 30, 2)
    for k in (0, 33, 39):
        np.testing.assert_array_equal(several[k], fitted.forecast(30, pasts[k]))
    stack = WAVES.reshape(18, 50, 2)
    np.testing.assert_array_equal(fitted.forecast(5, stack), fitted.forecast(5, list(stack)))
    assert np.isfinite(fitted.forecast(3, WAVES[:1])).all()


def test_several_series_go_on_each_from_its_own_end():
    model = forecaster().fit([WAVES[:400], WAVES[100:700]])
    found = model.forecast(100)
    np.testing.assert_allclose(found[0], WAVES[400:500], atol=0.05)
    np.testing.assert_array_equal(found[1], model.forecast(100, WAVES[100:700]))


def test_what_is_known_ahead_is_used():
    rng = np.random.default_rng(0)
    known = rng.normal(size=(900, 2))
    x = np.zeros(900)
    for t in range(1, 900):
        x[t] = 0.8 * x[t - 1] + known[t, 0] + 0.3 * known[t - 1, 1]
    model = forecaster(noise=0.0).fit(x[:700], exogenous=known[:700])
    assert np.std(model.forecast(200, exogenous=known[700:]) - x[700:]) < 0.2 * x.std()
    np.testing.assert_array_equal(
        model.forecast(50, x[:700], exogenous=known[:750]), model.forecast(50, exogenous=known[700:750])
    )
    several = model.forecast(50, [x[:700, None]] * 18, exogenous=[known[:750]] * 18)
    np.testing.assert_array_equal(several[2, :, 0], model.forecast(50, exogenous=known[700:750]))


@pytest.mark.parametrize(
    "learner", ["normalised", "recursive", kn.RecursiveLeastSquares(), kn.Ridge(start=kn.Percentile(20), code="on_off")]
)
def test_every_learner_can_run_freely(learner):
    found = forecaster(learner=learner, epochs=10).fit(WAVES[:700]).forecast(20)
    assert np.abs(found - WAVES[700:720]).max() < 1.0


def test_noise_is_drawn_by_the_seed_and_not_heard_afterwards(fitted):
    again, none = forecaster().fit(WAVES[:700]), forecaster(noise=0.0).fit(WAVES[:700])
    np.testing.assert_array_equal(again.forecast(9), fitted.forecast(9))
    assert not np.array_equal(none.forecast(9), fitted.forecast(9))
    np.testing.assert_array_equal(none._pasts.V, fitted._pasts.V)


def test_units_and_constant_channels_do_not_matter(fitted):
    scale = np.array([1e6, 1e-9])
    other = forecaster().fit(np.column_stack([WAVES[:700] * scale, np.full(700, 3.0)]))
    assert (other.forecast(5)[:, 2] == 3.0).all()
    np.testing.assert_allclose(other.forecast(20)[:, :2] / scale, WAVES[700:720], atol=0.02)


def test_saved_and_cloned_models_forecast_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "model.safetensors")
    loaded = kn.load(tmp_path / "model.safetensors")
    for other in (loaded, clone(fitted).fit(WAVES[:700])):
        np.testing.assert_array_equal(other.forecast(30), fitted.forecast(30))


def test_a_free_run_that_leaves_float32_says_so():
    growing = np.exp(0.3 * T[:60])[:, None]
    model = forecaster(learner=kn.Ridge(penalty=1e-12), washout=5, activation="relu", noise=0.0).fit(growing)
    with pytest.raises(ValueError, match=r"horizon=5000 is too far: the free run leaves float32 after \d+ steps"):
        model.forecast(5000)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda model: model.forecast(0), "horizon must be an integer from 1 to .*, not 0"),
        (lambda model: model.forecast(1.5), "horizon"),
        (lambda model: model.forecast(3, WAVES[:, :1]), "history has 1 features"),
        (lambda model: model.forecast(3, WAVES * np.nan), "history"),
        (lambda model: model.forecast(3, []), "history"),
        (lambda model: model.forecast(3, exogenous=np.ones(3)), "exogenous must be given to forecast if and only if"),
        (lambda model: forecaster().fit(WAVES[:1]), "X must have at least two steps"),
        (lambda model: forecaster().fit(WAVES[:101]), "washout must be shorter than every series, not 100"),
        (lambda model: forecaster(noise=-1.0).fit(WAVES), "noise"),
        (lambda model: forecaster().fit(WAVES, exogenous=np.ones(5)), r"exogenous must have shape \(900, 1\)"),
        (
            lambda model: forecaster().fit(WAVES, exogenous=[np.ones((5, 1))] * 2),
            "exogenous must be given for each of 1",
        ),
        (lambda model: forecaster().fit(WAVES, exogenous=np.full(900, np.inf)), "exogenous must be finite"),
    ],
)
def test_what_cannot_be_is_refused_by_name(fitted, call, words):
    with pytest.raises(ValueError, match=words):
        call(fitted)


def test_a_forecaster_that_was_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        forecaster().forecast(3)
