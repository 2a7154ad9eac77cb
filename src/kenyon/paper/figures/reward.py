"""Figure 7: reinforcement learning, both tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from kenyon.paper.figures import _parts as parts
from kenyon.paper.figures.performance import named
from kenyon.paper.plan import Results
from kenyon.paper.style import FIVE, look, summary

PLAIN = "GradientWeights"
THINNER = ("GradientThresholds", "Metropolis", "Normalised")
TASKS = ("static", "sequence")


def figure7(results: Results) -> Any:
    """Draw accuracy by reward: curves at the largest size, and accuracy against size; a row for each task."""
    figure = parts.new_figure(13.5)
    axes = figure.subplots(2, 2, sharey=True)
    for row, part in zip(axes, TASKS, strict=True):
        data = results.get("7", part)
        reward_curves(row[0], data, THINNER)
        _after(row[1], data)
        for ax in row:
            ax.yaxis.set_tick_params(labelleft=True)
            parts.accuracy_axis(ax, parts.guess(data))
    for ax, letter in zip(axes.flat, "abcd", strict=True):
        parts.title(ax, letter, ax.get_title(loc="left"))
    entry = parts.handle(look(PLAIN)._replace(label=f"{look(PLAIN).label}, best batch (its size)"))
    figure.legend(
        handles=[entry, *(parts.handle(look(name), name in THINNER) for name in FIVE[1:])],
        loc="outside lower center", ncols=5, columnspacing=1.4,
    )  # fmt: skip
    return figure


def best_batch(data: xr.Dataset, size: int) -> str:
    """Return the name of the plain readout whose batch has the highest mean accuracy over seeds at a size."""
    names = plain(data)
    means = [float(data.accuracy.sel(learner=name, size=size).mean()) for name in names]
    return names[int(np.argmax(np.nan_to_num(means, nan=-1)))]


def plain(data: xr.Dataset) -> list[str]:
    """Return the names of the plain readouts, one for each batch size."""
    return [str(name) for name in data.learner.values if str(name).startswith(PLAIN)]


def reward_curves(ax: Any, data: xr.Dataset, thin: Sequence[str] = ()) -> None:
    """Draw training curves at the largest size, the plain readout with the batch that is best there."""
    size = int(data.size.max())
    best = best_batch(data, size)
    own = data.sel(size=size)
    renamed = own.assign_coords(learner=[PLAIN if name == best else str(name) for name in own.learner.values])
    parts.curves(ax, renamed, named(renamed, FIVE), thin)
    ax.set_title(f"By reward: {size} {parts.items(data)} ({look(PLAIN).label}: {_batch(best)})")


def _after(ax: Any, data: xr.Dataset) -> None:
    """Draw accuracy against size; of one size only, that of every learner and batch."""
    (_sizes if data.size.size > 1 else _side_by_side)(ax, data)
    ax.set(ylabel="accuracy, fresh noise", title=f"After {int(parts.setting(data, 'n_episodes')):,} episodes")


def _sizes(ax: Any, data: xr.Dataset) -> None:
    sizes = [int(size) for size in data.size.values]
    best = [best_batch(data, size) for size in sizes]
    values = [data.accuracy.sel(learner=name, size=size).values for name, size in zip(best, sizes, strict=True)]
    found = summary(np.array(values).T)
    parts.points(ax, sizes, found, look(PLAIN))
    for size, name, height in zip(sizes, best, found.low, strict=True):
        place = {"textcoords": "offset points", "xytext": (-5, -3), "ha": "right", "va": "top"}
        ax.annotate(name.split()[-1], (size, height), fontsize=6.5, color=look(PLAIN).colour, **place)
    parts.against(ax, data, "accuracy", "size", named(data, FIVE[1:]), THINNER)
    ax.set(xlabel=f"number of {parts.items(data)}", xlim=(0, None))


def _side_by_side(ax: Any, data: xr.Dataset) -> None:
    names = [*plain(data), *named(data, FIVE[1:])]
    for place, name in enumerate(names):
        values = summary(data.accuracy.sel(learner=name).transpose("seed", "size").values)
        seen = look(PLAIN)._replace(hollow=name != best_batch(data, int(data.size.max()))) if place < 3 else look(name)
        parts.points(ax, [place], values, seen, name in THINNER)
    labels = [f"{look(name).label}, {_batch(name)}" if name in plain(data) else look(name).label for name in names]
    ax.set_xticks(range(len(names)), labels, rotation=30, ha="right", rotation_mode="anchor")
    ax.set(xlim=(-0.6, len(names) - 0.4))


def _batch(name: str) -> str:
    return f"batch {name.split()[-1]}"
