"""Pieces that several figures are made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from kenyon._looks import FAINT, WARNING, Look, look, stroke
from kenyon.paper.style import CM, WIDTH, Summary, over, summary

CROSS: dict[str, Any] = {"color": WARNING, "linestyle": "", "marker": "x", "markersize": 7}  # seeds without a value


def new_figure(height: float, width: float = WIDTH) -> Any:
    """Return an empty figure, its height and width in centimetres."""
    return Figure(figsize=(width * CM, height * CM), layout="constrained")


def title(ax: Any, letter: str, text: str) -> None:
    """Name a panel, on the left above it."""
    ax.set_title(rf"$\mathbf{{{letter}}}$  {text}")


def panels(figure: Any, rows: int, columns: int, sharex: Any = False) -> Any:
    """Return panels that share their y axis, all of them with numbers on it."""
    axes = figure.subplots(rows, columns, sharex=sharex, sharey=True)
    for ax in axes.flat:
        ax.tick_params(labelleft=True, labelbottom=True)
    return axes


def named(data: xr.Dataset, wanted: Iterable[str]) -> dict[str, Look]:
    """Return how the wanted learners are drawn, as far as they were run."""
    return {name: look(name) for name in wanted if name in data.learner.values}


def curves(ax: Any, data: xr.Dataset, looks: Mapping[str, Look]) -> None:
    """Draw training curves: the mean over seeds and its interval, with a few markers; `data` is of one size."""
    for name, seen in looks.items():
        own = data.training_accuracy.sel(learner=name).dropna("episode", how="all")
        if own.size:
            x, values = own.episode.values / 1000, summary(over(own, "episode"))
            every = max(1, len(x) // 5)
            ax.fill_between(x, values.low, values.high, color=seen.colour, alpha=0.2, linewidth=0)
            ax.plot(x, values.mean, markevery=(every // 2, every), **stroke(seen))
    ax.set(xlabel="episodes (thousands)", ylabel="accuracy while learning")
    ax.set_xlim(0, float(data.episode.max()) / 1000)


def against(ax: Any, data: xr.Dataset, variable: str, looks: Mapping[str, Look]) -> None:
    """Draw a variable against size, a line per learner, with bars for the intervals.

    Learners are shifted a little, so that no bar hides another.
    """
    x = np.asarray(data["size"].values, np.float64)
    for i, (name, seen) in enumerate(looks.items()):
        shift = 0.007 * np.ptp(x) * (i - (len(looks) - 1) / 2)
        points(ax, x + shift, summary(over(data[variable].sel(learner=name), "size")), seen)


def points(ax: Any, x: ArrayLike, values: Summary, seen: Look) -> None:
    """Draw means as points with bars; a cross through those for which a seed has no value."""
    x = np.asarray(x)
    bars = [np.nan_to_num(values.mean - values.low), np.nan_to_num(values.high - values.mean)]
    ax.errorbar(x, values.mean, bars, elinewidth=0.9, capsize=1.6, **stroke(seen))
    gone = values.missing & np.isfinite(values.mean)
    if gone.any():
        ax.plot(x[gone], values.mean[gone], **CROSS)


def chance(ax: Any, level: float, text: bool = True) -> None:
    """Draw the accuracy of guessing."""
    ax.axhline(level, color=FAINT, linestyle=":", linewidth=0.9, zorder=0)
    if text:
        place = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points", "xytext": (3, -3)}
        ax.annotate(
            "chance", (0, level), ha="left", va="top", color=FAINT, fontsize=6.5, annotation_clip=False, **place
        )


def accuracy_axis(ax: Any, level: float = 0.5, text: bool = True) -> None:
    """Let an axis of accuracies span chance, or any lower value, to 1; call this after drawing.

    Intervals of few seeds may end below 0, where no accuracy is.
    """
    chance(ax, level, text)
    room = 0.12 * (1 - level)
    lowest = max(0.0, min(other.dataLim.y0 for other in ax.get_shared_y_axes().get_siblings(ax)))
    ax.set_ylim(min(level - room, lowest - room / 3), 1 + room / 4)


def setting(data: xr.Dataset, name: str) -> Any:
    """Return a setting that all trials share."""
    return json.loads(data.attrs["config"])[name]


def learner_setting(data: xr.Dataset, learner: str, name: str) -> Any:
    """Return a setting of a learner."""
    return json.loads(data.attrs["learners"])[learner].get(name)


def guess(data: xr.Dataset) -> float:
    """Return the accuracy of guessing."""
    return 1 / int(setting(data, "task.n_classes"))


def items(data: xr.Dataset) -> str:
    """Return what the items of a task are called."""
    return "sequences" if setting(data, "task.kind") == "sequence" else "stimuli"


def legend(figure: Any, looks: Iterable[Look], columns: int = 6, extra: Sequence[Any] = ()) -> None:
    """Put one legend below all panels."""
    handles = [Line2D([], [], **stroke(seen)) for seen in looks]
    figure.legend(handles=[*handles, *extra], loc="outside lower center", ncols=columns, columnspacing=1.4)


def crossed(*arrays: xr.DataArray) -> list[Line2D]:
    """Return the legend entry for diverged seeds, if there are any."""
    if not any(np.isnan(array.values).any() for array in arrays):
        return []
    return [Line2D([], [], **CROSS, label="some seeds diverged, and are left out")]
