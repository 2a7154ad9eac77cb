"""Figure S5: what is forgotten when groups of stimuli are learned one after another."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from kenyon._looks import look
from kenyon.paper.figures import _parts as parts
from kenyon.paper.figures.controls import control_label
from kenyon.paper.plan import Results
from kenyon.paper.style import over, summary

COLUMNS = 4


def figure_s5(results: Results) -> Any:
    """Draw the accuracy on each group after each stage, a panel per learner, and what is left at the end."""
    data = results.get("S5").isel(size=0)
    names = [str(name) for name in data.learner.values]
    figure = parts.new_figure(11.5)
    axes = figure.subplots(-(-(len(names) + 1) // COLUMNS), COLUMNS, sharey=True).ravel()
    for ax, name, letter in zip(axes, names, ascii_lowercase, strict=False):
        _stages(ax, data.group_accuracy.sel(learner=name))
        parts.title(ax, letter, control_label(name, data).replace("from percentile", "from perc."))
    _kept(axes[len(names)], data, names)
    for ax in axes[: len(names) + 1]:
        parts.accuracy_axis(ax, parts.guess(data), text=ax is axes[0])
    for ax in axes[::COLUMNS]:
        ax.set_ylabel("accuracy, fresh noise")
    for ax in axes[len(names) + 1 :]:
        ax.set_axis_off()
    shades = enumerate(_shades(data.sizes["group"]), 1)
    handles = [Line2D([], [], color=shade, marker="o", markersize=3, label=f"group {i}") for i, shade in shades]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _shades(n: int) -> NDArray[np.float64]:
    return np.asarray(colormaps["viridis"](np.linspace(0, 0.85, n)))


def _stages(ax: Any, accuracy: xr.DataArray) -> None:
    """Draw the accuracy on each group from the stage at which it was learned."""
    stages = np.arange(1, accuracy.sizes["stage"] + 1)
    for group, shade in enumerate(_shades(accuracy.sizes["group"])):
        found, x = summary(over(accuracy.isel(group=group), "stage")), stages[group:]
        ax.fill_between(x, found.low[group:], found.high[group:], color=shade, alpha=0.13, linewidth=0)
        ax.plot(x, found.mean[group:], color=shade, linewidth=1.3, marker="o", markersize=3)
    ax.set(xticks=stages, xlim=(0.7, stages[-1] + 0.3), xlabel="groups learned so far")


def _kept(ax: Any, data: xr.Dataset, names: list[str]) -> None:
    """Draw the mean accuracy on all groups but the last, after the last."""
    last = data.group_accuracy.isel(stage=-1, group=slice(0, -1)).mean("group")
    for i, name in enumerate(names):
        parts.points(ax, [i], summary(last.sel(learner=name).values[:, None]), look(name))
    ax.set_xticks(range(len(names)), list(ascii_lowercase[: len(names)]))
    ax.set(xlim=(-0.6, len(names) - 0.4), xlabel="learner of panel")
    parts.title(ax, ascii_lowercase[len(names)], "Kept of all but the last")
