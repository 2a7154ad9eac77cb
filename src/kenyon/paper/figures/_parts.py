"""Pieces that several figures are made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from kenyon.paper.style import CM, FAINT, INK, WARNING, WIDTH, Look, Summary, look, over, summary, thousands

THIN, THICK = 0.9, 1.5
CROSS: dict[str, Any] = {"color": WARNING, "linestyle": "", "marker": "x", "markersize": 7}  # some seeds have no value


def new_figure(height: float, width: float = WIDTH) -> Any:
    """Return an empty figure, its height and width in centimetres."""
    return Figure(figsize=(width * CM, height * CM), layout="constrained")


def title(ax: Any, letter: str, text: str) -> None:
    """Name a panel, on the left above it."""
    ax.set_title(rf"$\mathbf{{{letter}}}$  {text}")


def curves(ax: Any, data: xr.Dataset, names: Iterable[str], thin: Sequence[str] = ()) -> None:
    """Draw training curves: the mean over seeds and its interval; `data` is of one size."""
    for name in names:
        own = data.training_accuracy.sel(learner=name).dropna("episode", how="all")
        if own.size:
            line(ax, thousands(own.episode), summary(over(own, "episode")), look(name), name in thin, markers=5)
    ax.set(xlabel="episodes (thousands)", ylabel="accuracy while learning")
    ax.set_xlim(0, float(data.episode.max()) / 1000)


def against(ax: Any, data: xr.Dataset, variable: str, along: str, names: Sequence[str], thin: Any = ()) -> None:
    """Draw a variable against a dimension, a line per learner, with bars for the intervals.

    Learners stand a little beside each other, so that no bar hides another.
    """
    x = np.asarray(data[along].values, np.float64)
    for i, name in enumerate(names):
        shift = 0.007 * np.ptp(x) * (i - (len(names) - 1) / 2)
        points(ax, x + shift, summary(over(data[variable].sel(learner=name), along)), look(name), name in thin)


def from_zero(ax: Any, top: float | None = None) -> None:
    """Let an axis begin just below 0, so that what is 0 can be seen."""
    high = ax.get_ylim()[1] if top is None else top
    ax.set_ylim(-0.03 * high, 1.03 * high)


def line(ax: Any, x: ArrayLike, values: Summary, seen: Look, thin: bool = False, markers: int = 1) -> None:
    """Draw means as a line in a band; a marker at about `markers` places of it."""
    width = THIN if thin else THICK
    every = max(1, len(values.mean) // markers)
    face = "white" if seen.hollow else seen.colour
    ax.fill_between(x, values.low, values.high, color=seen.colour, alpha=0.2, linewidth=0)
    ax.plot(
        x, values.mean, color=seen.colour, linestyle=seen.dash, linewidth=width, marker=seen.marker,
        markevery=(every // 2, every), markerfacecolor=face, markersize=3 if thin else 4, label=seen.label,
    )  # fmt: skip


def points(ax: Any, x: ArrayLike, values: Summary, seen: Look, thin: bool = False, dash: Any = None) -> None:
    """Draw means as points with bars; a cross through those for which a seed has no value."""
    x, width = np.asarray(x), THIN if thin else THICK
    face = "white" if seen.hollow else seen.colour
    bars = [np.nan_to_num(values.mean - values.low), np.nan_to_num(values.high - values.mean)]
    ax.errorbar(
        x, values.mean, bars, color=seen.colour, linestyle=seen.dash if dash is None else dash, linewidth=width,
        elinewidth=0.9, capsize=1.6, marker=seen.marker, markerfacecolor=face, markersize=3 if thin else 4,
        label=seen.label,
    )  # fmt: skip
    gone = values.missing & np.isfinite(values.mean)
    if gone.any():
        ax.plot(x[gone], values.mean[gone], **CROSS)


def chance(ax: Any, level: float, text: bool = True) -> None:
    """Draw the accuracy of a guess."""
    ax.axhline(level, color=FAINT, linestyle=":", linewidth=0.9, zorder=0)
    if text:
        place = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points", "xytext": (3, -3)}
        ax.annotate(
            "chance", (0, level), ha="left", va="top", color=FAINT, fontsize=6.5, annotation_clip=False, **place
        )


def accuracy_axis(ax: Any, level: float = 0.5, text: bool = True) -> None:
    """Let an axis of accuracies go from chance to 1, or from what is below chance; draw into it first."""
    chance(ax, level, text)
    room = 0.12 * (1 - level)
    lowest = min(other.dataLim.y0 for other in ax.get_shared_y_axes().get_siblings(ax))
    ax.set_ylim(min(level - room, lowest - room / 3), 1 + room / 4)


def setting(data: xr.Dataset, name: str) -> Any:
    """Return a setting that all trials have in common."""
    return json.loads(data.attrs["config"])[name]


def learner_setting(data: xr.Dataset, learner: str, name: str) -> Any:
    """Return a setting of a learner."""
    return json.loads(data.attrs["learners"])[learner].get(name)


def guess(data: xr.Dataset) -> float:
    """Return the accuracy of a guess."""
    return 1 / int(setting(data, "task.n_classes"))


def items(data: xr.Dataset) -> str:
    """Return what the items of a task are called."""
    return "sequences" if setting(data, "task.kind") == "sequence" else "stimuli"


def legend(figure: Any, names: Iterable[str], columns: int = 6, extra: Sequence[Any] = (), thin: Any = ()) -> None:
    """Put one legend below all panels."""
    handles = [handle(look(name), name in thin) for name in names]
    figure.legend(handles=[*handles, *extra], loc="outside lower center", ncols=columns, columnspacing=1.4)


def handle(seen: Look, thin: bool = False) -> Line2D:
    """Return a sample of a learner's line."""
    face, width = "white" if seen.hollow else seen.colour, THIN if thin else THICK
    return Line2D(
        [], [], color=seen.colour, linestyle=seen.dash, linewidth=width, marker=seen.marker, markerfacecolor=face,
        markersize=3 if thin else 4, label=seen.label,
    )  # fmt: skip


def crossed(*arrays: xr.DataArray) -> list[Line2D]:
    """Return the legend's entry for diverged seeds, if there are any."""
    there = any(bool(np.isnan(array.values).any()) for array in arrays)
    mark = Line2D([], [], **CROSS, label="some seeds diverged, and are left out")
    return [mark] if there else []


def write_cells(ax: Any, values: ArrayLike, middle: float, size: float = 6) -> None:
    """Write the values of a heat map into its cells, dark on light, and light where it is below the middle."""
    for (row, column), value in np.ndenumerate(np.asarray(values)):
        if np.isfinite(value):
            colour = INK if value > middle else "white"
            ax.text(
                column, row, f"{value:.2f}".removeprefix("0"), ha="center", va="center", color=colour, fontsize=size
            )
