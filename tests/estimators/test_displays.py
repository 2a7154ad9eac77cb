import matplotlib as mpl
import numpy as np
import pytest

import kenyon as kn
from tests.estimators.data import sines

mpl.use("agg")


@pytest.fixture(scope="module")
def fitted():
    X, y = sines(60)
    settings = {"n_neurons": 50, "epochs": 5, "random_state": 0, "early_stopping": True}
    return kn.ReservoirClassifier("normalised", pooling="last", **settings).fit(X, y), X, y


def test_the_curve_drawn_is_the_curve_learned(fitted):
    model, _, _ = fitted
    display = model.plot_learning_curve()
    lines = display.ax_.get_lines()
    np.testing.assert_array_equal(lines[0].get_ydata(), model.learning_curve_["training"])
    np.testing.assert_array_equal(lines[1].get_ydata(), model.learning_curve_["validation"])
    assert display.figure_ is display.ax_.figure
    mpl.pyplot.close("all")


def test_thresholds_drawn_are_all_there(fitted):
    display = fitted[0].plot_thresholds()
    assert sum(bar.get_height() for bar in display.ax_.patches) == 50
    mpl.pyplot.close("all")


def test_a_code_is_drawn_on_the_axes_given_with_its_classes(fitted):
    model, X, y = fitted
    _, ax = mpl.pyplot.subplots()
    display = model.plot_code(X, y, ax=ax)
    assert display.ax_ is ax
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2"]
    assert display.code.shape == (60, 50)
    assert "active" in ax.get_title(loc="left")
    mpl.pyplot.close("all")


def test_a_regression_draws_its_curve_and_a_readout_its_code():
    X = np.random.default_rng(0).normal(size=(80, 5))
    regressor = kn.ThresholdRegressor(epochs=3, random_state=0).fit(X, X[:, 0])
    assert regressor.plot_learning_curve().ax_.get_ylabel() == "R²"
    assert regressor.plot_code(X).code.shape == (80, 10)
    mpl.pyplot.close("all")


def test_a_learner_without_thresholds_says_so(fitted):
    _, X, y = fitted
    with pytest.raises(ValueError, match="learner='ridge' has no thresholds"):
        kn.ReservoirClassifier(n_neurons=20).fit(X, y).plot_thresholds()


def test_a_forecast_is_drawn_with_what_came_behind_it():
    waves = np.sin(np.arange(400)[:, None] * [0.1, 0.23])
    model = kn.Forecaster(n_neurons=40, random_state=0).fit(waves[:350])
    display = model.plot_forecast(30, waves[350:380])
    run, came, *rest = display.ax_.get_lines()
    np.testing.assert_array_equal(run.get_ydata(), model.forecast(30)[:, 0])
    np.testing.assert_array_equal(came.get_ydata(), waves[350:380, 0])
    assert len(rest) == 2
    assert run.get_color() == came.get_color() != rest[0].get_color()
    alone = model.plot_forecast(5, history=waves[:200])
    np.testing.assert_array_equal(alone.forecast, model.forecast(5, waves[:200]))
    assert len(alone.ax_.get_lines()) == 2
    with pytest.raises(ValueError, match=r"truth must have the shape of the forecast, \(5, 2\), not \(3, 2\)"):
        model.plot_forecast(5, waves[:3])
    with pytest.raises(ValueError, match="history must be one series"):
        model.plot_forecast(5, history=waves.reshape(4, 100, 2))
    mpl.pyplot.close("all")


@pytest.mark.parametrize(
    ("learner", "units"), [("normalised", 40), ("recursive", 40), (kn.Normalised(code="on_off"), 80)]
)
def test_thresholds_of_models_of_every_step_are_those_of_their_neurons(learner, units):
    waves = np.sin(np.arange(300)[:, None] * [0.1, 0.23])
    model = kn.SequenceRegressor(learner, n_neurons=40, random_state=0).fit(waves, waves[:, 0])
    display = model.plot_thresholds()
    assert sum(bar.get_height() for bar in display.ax_.patches) == units
    assert display.ax_.get_title(loc="left") == ""
    with pytest.raises(ValueError, match="learner='ridge' has no thresholds"):
        kn.SequenceRegressor(n_neurons=20).fit(waves, waves[:, 0]).plot_thresholds()
    mpl.pyplot.close("all")
