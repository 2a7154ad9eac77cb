"""Plots of what was learned, as scikit-learn Display objects, which hold the data and draw on request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kenyon import _checks, _looks
from kenyon._looks import BLUE, GREY, ORANGE
from kenyon.estimators._labelled import check_aligned
from kenyon.estimators._series import naming
from kenyon.readout import SIGNED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

SHOWN_NEURONS, SHOWN_SERIES = 200, 200  # at most, in the plot of a code


def _check_learned(estimator: BaseEstimator, has: str = "learning_curve_", like: str = "ReservoirClassifier") -> None:
    """Refuse estimators that are not fitted, or do not have what is drawn."""
    with naming("estimator"):
        check_is_fitted(estimator)
    if not hasattr(type(estimator), has) and not hasattr(estimator, has):
        raise ValueError(f"estimator must be one that learns, such as {like}, not {_checks.short_repr(estimator)}")


def _same_length(name: str, values: Any, n: int, *, kinds: str = "fiub") -> NDArray[Any]:
    found = _checks.array(name, values, f"an array of shape ({n},)")
    if found.shape != (n,) or found.dtype.kind not in kinds:
        raise ValueError(f"{name} must be an array of shape ({n},), not {found.dtype} {found.shape}")
    return found


class _Display:
    """A plot on new axes, or on those given."""

    ax_: Axes
    figure_: Figure | SubFigure

    def _axes(self, ax: Axes | None) -> Axes:
        ax = _looks.axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


class LearningCurveDisplay(_Display):
    """The score of each pass.

    Parameters
    ----------
    epoch, training
        Numbers of the passes, and the scores while learning.
    validation
        The scores on the held-out part, or None.
    score_name
        "accuracy" or "R²".
    """

    def __init__(
        self,
        *,
        epoch: NDArray[np.int_],
        training: NDArray[np.float64],
        validation: NDArray[np.float64] | None = None,
        score_name: str = "accuracy",
    ) -> None:
        self.epoch = _checks.numbers("epoch", epoch, "(n_passes,)", 1)
        self.training = _same_length("training", training, len(self.epoch))
        self.validation = None if validation is None else _same_length("validation", validation, len(self.epoch))
        self.score_name = _checks.instance("score_name", score_name, str)

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Axes | None = None) -> Self:
        """Plot the learning curve of a fitted estimator."""
        _check_learned(estimator)
        name = "accuracy" if hasattr(estimator, "classes_") else "R²"
        return cls(**estimator.learning_curve_, score_name=name).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Plot on these axes, or on new ones."""
        ax = self._axes(ax)
        ax.plot(self.epoch, self.training, color=BLUE, marker=".", label="while learning")
        if self.validation is not None:
            ax.plot(self.epoch, self.validation, color=ORANGE, marker=".", label="held out")
            ax.legend(frameon=False)
        low = min(0.0, float(np.nanmin(self.training))) if self.score_name == "accuracy" else None
        ax.set(xlabel="pass", ylabel=self.score_name, ylim=(low, None if low is None else 1.02))
        ax.locator_params(axis="x", integer=True)
        ax.spines[["top", "right"]].set_visible(False)
        return self


class ThresholdsDisplay(_Display):
    """The distribution of thresholds over the neurons.

    Parameters
    ----------
    theta
        The thresholds, in units of the states.
    coding_level
        Share of active neurons, for the title; or None.
    """

    def __init__(self, *, theta: NDArray[np.float64], coding_level: float | None = None) -> None:
        self.theta = _checks.numbers("theta", theta, "(n_neurons,)", 1).astype(np.float64)
        if len(self.theta) == 0 or not (np.abs(self.theta) <= _checks.LARGE).all():
            raise ValueError(f"theta must hold at least one threshold, all finite and at most {_checks.LARGE:g}")
        self.coding_level = None if coding_level is None else _checks.real("coding_level", coding_level, 0.0, 1.0)

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Axes | None = None) -> Self:
        """Plot the thresholds of a fitted estimator."""
        _check_learned(estimator, "_neuron_thresholds")
        found = estimator._neuron_thresholds
        if found is None:
            raise ValueError(f"learner={estimator.learner!r} has no thresholds to plot; 'normalised' has")
        return cls(theta=found, coding_level=getattr(estimator, "coding_level_", None)).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Plot on these axes, or on new ones."""
        ax = self._axes(ax)
        with naming("theta"):
            ax.hist(self.theta, bins=40, color=BLUE)
        ax.axvline(self.theta.mean(), color=ORANGE)
        place, units = (self.theta.mean(), 0.97), ("data", "axes fraction")
        ax.annotate(f" mean {self.theta.mean():.3g}", place, xycoords=units, color=ORANGE)
        ax.set(xlabel="threshold θ, in units of the states", ylabel="neurons")
        if self.coding_level is not None:
            ax.set_title(f"{self.coding_level:.0%} of neurons active", loc="left", fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
        return self


class CodeDisplay(_Display):
    """Which neurons are active for which series.

    Parameters
    ----------
    code
        x, shape (n_series, n_neurons).
    labels
        A label for each series, by which series are sorted; or None.
    """

    def __init__(self, *, code: NDArray[np.float32], labels: NDArray[Any] | None = None) -> None:
        self.code = _checks.numbers("code", code, "(n_series, n_neurons)", 2)
        if self.code.size == 0 or not np.isfinite(self.code).all():
            raise ValueError(f"code must be finite, with at least one series and one neuron, not {self.code.shape}")
        self.labels = None if labels is None else _same_length("labels", labels, len(self.code), kinds="fiubUSO")

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike | Sequence[ArrayLike],
        y: ArrayLike | None = None,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Plot the code of at most 200 series and 200 neurons, evenly spaced."""
        _check_learned(estimator)
        check_aligned(X, y)
        code = estimator.code(X)
        code = np.abs(code) if estimator.readout_.code == SIGNED else code
        labels = None if y is None else _same_length("y", y, len(code), kinds="fiubUSO")
        with naming("y"):
            order = np.arange(len(code)) if labels is None else np.argsort(labels, kind="stable")
        order = order[:: -(-len(order) // SHOWN_SERIES)]
        return cls(code=code[order], labels=None if labels is None else labels[order]).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Plot on these axes, or on new ones; neurons are sorted by the series for which they are most active."""
        ax = self._axes(ax)
        shown = self.code[:, :: -(-self.code.shape[1] // SHOWN_NEURONS)]
        shown = shown[:, np.argsort(shown.argmax(axis=0), kind="stable")]
        top = max(float(np.quantile(shown, 0.99)), float(np.finfo(np.float32).tiny))
        image = ax.imshow(
            shown.T, aspect="auto", cmap="magma_r", vmin=0, vmax=top, interpolation="nearest", origin="lower"
        )
        ax.figure.colorbar(image, ax=ax, label="x", extend="max")
        ax.set(xlabel="series", ylabel="neurons, by where most active")
        ax.set_title(f"{(self.code > 0).mean():.0%} of neurons active", loc="left", fontsize="medium")
        if self.labels is not None:
            self._mark_classes(ax, self.labels)
        return self

    def _mark_classes(self, ax: Axes, labels: NDArray[Any]) -> None:
        """Label the classes below the series, and draw lines between them."""
        edges = np.flatnonzero(labels[1:] != labels[:-1]) + 1
        starts, ends = np.concatenate([[0], edges]), np.concatenate([edges, [len(labels)]])
        for edge in edges:
            ax.axvline(edge - 0.5, color=GREY, linewidth=0.5)
        if len(starts) <= 20:
            ax.set_xticks((starts + ends - 1) / 2, [str(labels[i]) for i in starts])
            ax.tick_params(axis="x", length=0)
            ax.set_xlabel("series, by class")


class ForecastDisplay(_Display):
    """A free run, and what came instead.

    Parameters
    ----------
    forecast
        The run, shape (horizon,) or (horizon, channels).
    truth
        What came, in the same shape; or None.
    """

    def __init__(self, *, forecast: NDArray[np.float64], truth: ArrayLike | None = None) -> None:
        self.forecast = _columns("forecast", forecast)
        self.truth = None if truth is None else _columns("truth", truth)
        if self.truth is not None and self.truth.shape != self.forecast.shape:
            raise ValueError(
                f"truth must have the shape of the forecast, {self.forecast.shape}, not {self.truth.shape}"
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        horizon: int,
        truth: ArrayLike | None = None,
        *,
        history: ArrayLike | None = None,
        exogenous: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Plot the forecast of a fitted `Forecaster` for one series; arguments as those of its `forecast`."""
        _check_learned(estimator, "forecast", "Forecaster")
        run = estimator.forecast(horizon, history, exogenous=exogenous)
        if run.ndim == 3:
            raise ValueError(f"history must be one series, to be plotted, not {len(run)} of them")
        return cls(forecast=run, truth=truth).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Plot on these axes, or on new ones: a colour for each channel, and what came as a broad line behind."""
        ax, steps = self._axes(ax), np.arange(1, len(self.forecast) + 1)
        for channel, run in enumerate(self.forecast.T):
            label = None if channel else "forecast"
            (line,) = ax.plot(steps, run, linewidth=1.2, label=label, zorder=3)
            if self.truth is not None:
                label = None if channel else "what came"
                ax.plot(steps, self.truth[:, channel], color=line.get_color(), linewidth=3.5, alpha=0.3, label=label)
        if self.truth is not None:
            ax.legend(frameon=False)
        ax.set(xlabel="steps ahead", ylabel="forecast")
        ax.spines[["top", "right"]].set_visible(False)
        return self


def _columns(name: str, values: Any) -> NDArray[np.float64]:
    """Return numbers over steps, with a column for each channel."""
    found = _checks.array(name, values, "an array of shape (horizon, channels)")
    found = _checks.numbers(name, found[:, None] if found.ndim == 1 else found, "(horizon, channels)", 2)
    if found.size == 0 or not (np.abs(found) <= _checks.LARGE).all():
        raise ValueError(f"{name} must hold at least one step, all finite and at most {_checks.LARGE:g}")
    return found.astype(np.float64)
