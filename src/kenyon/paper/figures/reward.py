"""Figure 7: reinforcement learning, both tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from kenyon._looks import Look, look
from kenyon.paper.figures import _parts as parts
from kenyon.paper.plan import Results, best, plain_readouts
from kenyon.paper.style import FIVE, summary

PLAIN = "GradientWeights"
LOOKS = {name: look(name)._replace(thin=name not in (PLAIN, "Composed")) for name in FIVE}
OTHERS = {name: seen for name, seen in LOOKS.items() if name != PLAIN}


def figure7(results: Results) -> Any:
    """Draw accuracy by reward: curves at the largest size, and accuracy against size; a row for each task."""
    figure = parts.new_figure(13.5)
    axes = parts.panels(figure, 2, 2)
    for row, part in zip(axes, ("static", "sequence"), strict=True):
        data = results.get("7", part)
        reward_curves(row[0], data, LOOKS)
        _after(row[1], data)
        for ax in row:
            parts.accuracy_axis(ax, parts.guess(data))
    for ax, letter in zip(axes.flat, "abcd", strict=True):
        parts.title(ax, letter, ax.get_title(loc="left"))
    plain = LOOKS[PLAIN]._replace(label=f"{LOOKS[PLAIN].label}, best batch (its size)")
    parts.legend(figure, (LOOKS | {PLAIN: plain}).values(), 5)
    return figure


def best_batch(data: xr.Dataset, size: int) -> str:
    """Return the name of the plain readout whose batch has the highest mean accuracy over seeds at a size."""
    return best(data.accuracy.sel(learner=plain_readouts(data), size=size))


def reward_curves(ax: Any, data: xr.Dataset, looks: Mapping[str, Look]) -> None:
    """Draw training curves at the largest size, the plain readout with the batch that is best there."""
    size = int(data.size.max())
    plain = best_batch(data, size)
    parts.curves(ax, data.sel(size=size), {plain if name == PLAIN else name: seen for name, seen in looks.items()})
    ax.set_title(f"By reward: {size} {parts.items(data)} ({looks[PLAIN].label}: {_batch(plain)})")


def _after(ax: Any, data: xr.Dataset) -> None:
    """Draw accuracy against size; if there is one size only, that of every learner and batch."""
    (_sizes if data.size.size > 1 else _side_by_side)(ax, data)
    ax.set(ylabel="accuracy, fresh noise", title=f"After {int(parts.setting(data, 'n_episodes')):,} episodes")


def _sizes(ax: Any, data: xr.Dataset) -> None:
    sizes = [int(size) for size in data.size.values]
    batches = [best_batch(data, size) for size in sizes]
    values = [data.accuracy.sel(learner=name, size=size).values for name, size in zip(batches, sizes, strict=True)]
    found = summary(np.array(values).T)
    parts.points(ax, sizes, found, LOOKS[PLAIN])
    for size, name, height in zip(sizes, batches, found.low, strict=True):
        place = {"textcoords": "offset points", "xytext": (-5, -3), "ha": "right", "va": "top"}
        ax.annotate(name.split()[-1], (size, height), fontsize=6.5, color=LOOKS[PLAIN].colour, **place)
    parts.against(ax, data, "accuracy", OTHERS)
    ax.set(xlabel=f"number of {parts.items(data)}", xlim=(0, None))


def _side_by_side(ax: Any, data: xr.Dataset) -> None:
    shown = best_batch(data, int(data.size.max()))
    batches = {
        name: LOOKS[PLAIN]._replace(hollow=name != shown, label=f"{LOOKS[PLAIN].label}, {_batch(name)}")
        for name in plain_readouts(data)
    }
    looks = batches | OTHERS
    for place, (name, seen) in enumerate(looks.items()):
        parts.points(ax, [place], summary(data.accuracy.sel(learner=name).transpose("seed", "size").values), seen)
    labels = [seen.label for seen in looks.values()]
    ax.set_xticks(range(len(looks)), labels, rotation=30, ha="right", rotation_mode="anchor")
    ax.set(xlim=(-0.6, len(looks) - 0.4))


def _batch(name: str) -> str:
    return f"batch {name.split()[-1]}"
