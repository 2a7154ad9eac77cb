"""Figures 2 to 5: accuracy and thresholds of the five learners, static task and sequences."""

from __future__ import annotations

from typing import Any

from kenyon._looks import UNTUNED
from kenyon.paper.figures import _parts as parts
from kenyon.paper.plan import Results, nearest_size
from kenyon.paper.style import FIVE

FROM_ZERO = "Composed from 0"
CONTROLS = ("Centred", "Standardised")  # the step of Normalised without thresholds
PANELS = {
    "theta_mean": ("Mean threshold", r"mean of $\theta$"),
    "theta_sd": ("Spread over neurons", r"standard deviation of $\theta$"),
    "coding_level": ("Active neurons", "fraction active in an episode"),
}


def figure_of_accuracy(name: str, wanted: int, results: Results) -> Any:
    """Draw training curves at the wanted size or the nearest, and accuracy against size."""
    data = results.get(name)
    looks, size, what = (
        parts.named(data, (*FIVE, UNTUNED, FROM_ZERO, *CONTROLS)),
        nearest_size(data, wanted),
        parts.items(data),
    )
    figure = parts.new_figure(7.6)
    left, right = parts.panels(figure, 1, 2)
    parts.curves(left, data.sel(size=size), looks)
    parts.title(left, "a", f"Learning {size} {what}")
    parts.against(right, data, "accuracy", looks)
    parts.title(right, "b", f"After {int(parts.setting(data, 'n_episodes')):,} episodes")
    right.set(xlabel=f"number of {what}", ylabel="accuracy, fresh noise", xlim=(0, None))
    parts.accuracy_axis(left, parts.guess(data))
    parts.chance(right, parts.guess(data))
    parts.legend(figure, looks.values(), 5 if len(looks) == 5 else 3, parts.crossed(data.accuracy))
    return figure


def figure_of_thresholds(name: str, results: Results) -> Any:
    """Draw mean and spread of thresholds, and the share of active neurons, against size."""
    data = results.get(name)
    looks = parts.named(data, (*FIVE[1:], FROM_ZERO))
    figure = parts.new_figure(6.8)
    for ax, letter, (variable, (head, label)) in zip(figure.subplots(1, 3), "abc", PANELS.items(), strict=True):
        parts.against(ax, data, variable, looks)
        parts.title(ax, letter, head)
        ax.set(ylabel=label, xlim=(0, None), xlabel=f"number of {parts.items(data)}")
        top = 1.0 if variable == "coding_level" else ax.get_ylim()[1]
        ax.set_ylim(-0.03 * top, 1.03 * top)  # zeros can be seen
    parts.legend(figure, looks.values(), extra=parts.crossed(data.theta_mean))
    return figure
