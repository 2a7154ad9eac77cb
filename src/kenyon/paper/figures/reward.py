"""Figure 7: reinforcement learning, both tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr

from kenyon._looks import UNTUNED, Look, look
from kenyon.paper.figures import _parts as parts
from kenyon.paper.plan import Results
from kenyon.paper.style import FIVE, summary

LOOKS = {name: look(name)._replace(thin=name not in ("GradientWeights", "Composed")) for name in (*FIVE, UNTUNED)}


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
    parts.legend(figure, LOOKS.values(), 3)
    return figure


def reward_curves(ax: Any, data: xr.Dataset, looks: Mapping[str, Look]) -> None:
    """Draw training curves at the largest size."""
    size = int(data.size.max())
    parts.curves(ax, data.sel(size=size), looks)
    ax.set_title(f"By reward: {size} {parts.items(data)}")


def _after(ax: Any, data: xr.Dataset) -> None:
    """Draw accuracy against size; if there is one size only, that of every learner."""
    if data.size.size > 1:
        parts.against(ax, data, "accuracy", LOOKS)
        ax.set(xlabel=f"number of {parts.items(data)}", xlim=(0, None))
    else:
        _side_by_side(ax, data)
    ax.set(ylabel="accuracy, fresh noise", title=f"After {int(parts.setting(data, 'n_episodes')):,} episodes")


def _side_by_side(ax: Any, data: xr.Dataset) -> None:
    for place, (name, seen) in enumerate(LOOKS.items()):
        parts.points(ax, [place], summary(data.accuracy.sel(learner=name).transpose("seed", "size").values), seen)
    labels = [seen.label for seen in LOOKS.values()]
    ax.set_xticks(range(len(LOOKS)), labels, rotation=30, ha="right", rotation_mode="anchor")
    ax.set(xlim=(-0.6, len(LOOKS) - 0.4))
