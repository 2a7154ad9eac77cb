"""Figures 2 to 5: accuracy and thresholds of the five learners, static task and sequences."""

from __future__ import annotations

from typing import Any

import xarray as xr

from kenyon.paper.figures import _parts as parts
from kenyon.paper.plan import SEQUENCES, STIMULI, Results, nearest_size
from kenyon.paper.style import FIVE

FROM_ZERO = "Composed from 0"


def figure2(results: Results) -> Any:
    """Draw the static task: training curves, and accuracy against the number of stimuli."""
    return _accuracy(results.get("2"), STIMULI)


def figure3(results: Results) -> Any:
    """Draw the thresholds of the static task against the number of stimuli."""
    return _thresholds(results.get("3"))


def figure4(results: Results) -> Any:
    """Draw the sequence task: training curves, and accuracy against the number of sequences."""
    return _accuracy(results.get("4"), SEQUENCES)


def figure5(results: Results) -> Any:
    """Draw the thresholds of the sequence task against the number of sequences."""
    return _thresholds(results.get("5"))


def named(data: xr.Dataset, wanted: tuple[str, ...]) -> list[str]:
    """Return those of the wanted learners that were run."""
    there = {str(name) for name in data.learner.values}
    return [name for name in wanted if name in there]


def _accuracy(data: xr.Dataset, wanted: int) -> Any:
    names = named(data, (*FIVE, FROM_ZERO))
    figure = parts.new_figure(7.6)
    left, right = figure.subplots(1, 2, sharey=True)
    size, what = nearest_size(data, wanted), parts.items(data)
    parts.curves(left, data.sel(size=size), names)
    parts.title(left, "a", f"Learning {size} {what}")
    parts.against(right, data, "accuracy", "size", names)
    episodes = int(parts.setting(data, "n_episodes"))
    parts.title(right, "b", f"After {episodes:,} episodes")
    right.set(xlabel=f"number of {what}", ylabel="accuracy, fresh noise", xlim=(0, None))
    right.yaxis.set_tick_params(labelleft=True)
    parts.accuracy_axis(left, parts.guess(data))
    parts.chance(right, parts.guess(data))
    parts.legend(figure, names, extra=parts.crossed(data.accuracy), columns=5 if len(names) == 5 else 3)
    return figure


def _thresholds(data: xr.Dataset) -> Any:
    names = named(data, (*FIVE[1:], FROM_ZERO))
    figure = parts.new_figure(6.8)
    axes = figure.subplots(1, 3)
    heads = ("Mean threshold", "Spread over neurons", "Active neurons")
    labels = (r"mean of $\theta$", r"standard deviation of $\theta$", "fraction active in an episode")
    variables = ("theta_mean", "theta_sd", "coding_level")
    for ax, letter, variable, label, head in zip(axes, "abc", variables, labels, heads, strict=True):
        parts.against(ax, data, variable, "size", names)
        parts.title(ax, letter, head)
        ax.set(ylabel=label, xlim=(0, None), xlabel=f"number of {parts.items(data)}")
        parts.from_zero(ax, 1.0 if variable == "coding_level" else None)
    parts.legend(figure, names, extra=parts.crossed(data.theta_mean))
    return figure
