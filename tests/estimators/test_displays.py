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
