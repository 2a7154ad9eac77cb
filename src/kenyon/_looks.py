"""How things are drawn: a colour, a marker and a dash for every learner, and the axes to draw on.

Colours are those of Okabe and Ito, which readers with any common colour deficiency can tell apart; markers and dashes
carry the same information.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kenyon import _checks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
INK, GREY, FAINT, WARNING = "0.15", "#595959", "0.5", "#B00020"
MAP = "cividis"  # for accuracies and states: perceptually uniform, also with colour deficiencies


class Look(NamedTuple):
    """How a learner is drawn, and what it is called."""

    label: str
    colour: str
    marker: str
    dash: Any = "-"
    hollow: bool = False
    thin: bool = False


UNTUNED = "GradientWeights 100"  # the plain readout as the paper says it was, beside the tuned one
LOOKS: Mapping[str, Look] = {
    "GradientWeights": Look("GD$_W$", "#4D4D4D", "s", (0, (4, 1.5))),
    UNTUNED: Look("GD$_W$, batch 100", "#4D4D4D", "s", (0, (1, 1)), True),
    "GradientThresholds": Look(r"GD$_\theta$", "#CC79A7", "^", (0, (5, 1.2, 1, 1.2))),
    "Metropolis": Look("Metropolis", GREEN, "D", (0, (1.5, 1))),
    "Composed": Look("Composed", BLUE, "o"),
    "Normalised": Look("Normalised (ours)", ORANGE, "v"),
    "Composed from 0": Look("Composed, no prelearning", BLUE, "o", (0, (3, 2)), True),
    "Centred": Look("normalised steps on V centred", "#661100", "<", (0, (1, 1)), True),
    "Standardised": Look("normalised steps on V standardised", "#661100", ">", (0, (3, 2)), True),
    "Ridge": Look("ridge on V, offline", "#56B4E9", "P"),
    "Ridge on x": Look("ridge on x, offline", "#56B4E9", "X", (0, (3, 2)), True),
    "RecursiveLeastSquares": Look("recursive least squares", "#000000", "h"),
    "RecursiveThresholds": Look("recursive least squares with thresholds", "#000000", "H", (0, (5, 1)), True),
}


def look(name: str) -> Look:
    """Return how a learner is drawn: one with settings in its name like its kind, but hollow."""
    if name in LOOKS:
        return LOOKS[name]
    kinds = [kind for kind in LOOKS if name.startswith(f"{kind} ")]
    return LOOKS[max(kinds, key=len)]._replace(hollow=True) if kinds else Look(name, INK, "o")


def looks(kinds: Mapping[str, str]) -> dict[str, Look]:
    """Return a look for each name, given its kind: that of its kind while it is free, otherwise one of the others."""
    found: dict[str, Look] = {}
    for name, kind in kinds.items():
        seen = LOOKS.get(name, LOOKS.get(kind))
        if seen is not None and seen not in found.values():
            found[name] = seen
    solid = [seen for seen in LOOKS.values() if not seen.hollow]
    hollow = cycle([seen._replace(hollow=True) for seen in solid])
    spare = chain([seen for seen in solid if seen not in found.values()], hollow)
    return {name: (found.get(name) or next(spare))._replace(label=plain(name)) for name in kinds}


def stroke(seen: Look) -> dict[str, Any]:
    """Return how matplotlib draws the line and the markers of a learner."""
    return {
        "color": seen.colour,
        "linestyle": seen.dash,
        "linewidth": 0.9 if seen.thin else 1.5,
        "marker": seen.marker,
        "markerfacecolor": "white" if seen.hollow else seen.colour,
        "markersize": 3 if seen.thin else 4,
        "label": seen.label,
    }


def axes(ax: Axes | None, **figure: Any) -> Axes:
    """Return the axes given, or those of a new figure with these settings."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained", **figure)
    elif not hasattr(ax, "plot") or not hasattr(ax, "figure"):
        raise ValueError(f"ax must be matplotlib axes or None, not {_checks.short_repr(ax)}")
    return ax


def write_cells(ax: Any, values: ArrayLike, middle: float, size: float = 6) -> None:
    """Write the values of a heat map into its cells, in white where the map is dark, below the middle."""
    for (row, column), value in np.ndenumerate(np.asarray(values)):
        if np.isfinite(value):
            colour = INK if value > middle else "white"
            ax.text(
                column, row, f"{value:.2f}".removeprefix("0"), ha="center", va="center", color=colour, fontsize=size
            )


def plain(text: str) -> str:
    """Return a text that matplotlib shows as it is: it takes what is between dollars for mathematics."""
    return text.replace("$", r"\$")
