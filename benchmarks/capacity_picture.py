"""docs/pictures/capacity.png: accuracy against odours in the largest network, and odours stored against neurons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from capacity_page import Network
from capacity_plan import LEVEL, TRAINED
from matplotlib.figure import Figure
from scipy.optimize import isotonic_regression

from kenyon._looks import BLUE, FAINT, GREY, INK, ORANGE

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "capacity.png"
SKY = "#56B4E9"
STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 200,
}


class Line(NamedTuple):
    """How a readout is drawn."""

    label: str
    colour: str
    dash: Any = "-"
    marker: str = "o"
    hollow: bool = False
    bold: bool = False


BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
GAP = 0.032  # between labels, in accuracy
OFF, DOTS = (0, (4, 1.5)), (0, (1, 1.2))
LINES = {
    TRAINED: Line("both, trained offline (ceiling)", INK, OFF, "D", True),
    "Normalised, both": Line("Normalised, cooling, on and off", ORANGE, "-", "v", False, True),
    "Normalised, on and off": Line("Normalised, on and off", ORANGE, OFF, "v", True),
    "Normalised, cooling": Line("Normalised, cooling", ORANGE, DOTS, "^", True),
    "Normalised": Line("Normalised", "#E69F00", "-", "^"),
    "both, thresholds held": Line("cooling, on and off, thresholds held", GREY, "-", "s"),
    "Composed": Line("Composed", BLUE, "-", "o"),
    "logistic regression on on/off": Line("logistic on on/off, offline", SKY, "-", "P"),
    "ridge on on/off": Line("ridge on on/off, offline", SKY, OFF, "P", True),
    "logistic regression on x": Line("logistic on x, offline", "#009E73", "-", "X"),
    "ridge on x": Line("ridge on x, offline", "#009E73", OFF, "X", True),
    "logistic regression on V": Line("logistic on V, offline", "#CC79A7", "-", "h"),
    "ridge on V": Line("ridge on V, offline", "#CC79A7", OFF, "h", True),
}


def draw(networks: Sequence[Network], path: Path) -> None:
    """Write the picture, without date or version, so that the same picture is the same file."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 4.6), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
        _accuracies(left, max(networks, key=lambda one: one.n_neurons))
        _capacities(right, sorted(networks, key=lambda one: one.n_neurons))
        figure.savefig(path, metadata={"Software": None})


def _accuracies(ax: Any, network: Network) -> None:
    n, x = network.n_neurons, np.array(network.odours)
    for limit, text in ((2 * n, "Cover's limit\nfor N units"), (4 * n, "Cover's limit\nfor 2 N units")):
        if limit <= x.max():
            ax.axvline(limit, color=FAINT, linestyle=":", linewidth=0.9, zorder=0)
            ax.text(limit, 0.46, text, ha="center", va="bottom", color=GREY, fontsize=7, bbox=BEHIND)
    ends = {}
    for name, line in LINES.items():
        values = network.accuracies[name]
        mean = np.nanmean(values, axis=1)
        ax.fill_between(x, np.nanmin(values, axis=1), np.nanmax(values, axis=1), color=line.colour, alpha=0.15, lw=0)
        ax.plot(x, mean, **_stroke(line))
        ends[name] = float(mean[-1])
    _label(ax, float(x.max()), ends, (0.47, 1.0))
    ax.set(ylim=(0.45, 1.01), xlim=(0, 1.01 * x.max()), xlabel="odours", ylabel="accuracy on fresh noise")
    ax.set_xticks(x[x >= 0.5 * n], [f"{value:,}" for value in x[x >= 0.5 * n]])
    ax.set_title(f"Accuracy with {n:,} neurons")


def _capacities(ax: Any, networks: Sequence[Network]) -> None:
    x = np.array([one.n_neurons for one in networks], float)
    ends = np.array([0.8 * x[0], 1.25 * x[-1]])
    for factor in (2, 4):
        ax.plot(ends, factor * ends, color=FAINT, linestyle=":", linewidth=0.9, zorder=0)
        ax.text(ends[1], factor * ends[1], f" {factor} N", va="center", fontsize=7, color=GREY)
    for name, line in LINES.items():
        found = [one.stored(name) for one in networks]
        mean = np.array([values.mean() for values, _ in found])
        ax.plot(x, mean, **_stroke(line))
        beyond = [i for i, (_, reached) in enumerate(found) if not reached]
        ax.plot(x[beyond], 1.15 * mean[beyond], "^", color=line.colour, markersize=3)
    ax.set(xscale="log", yscale="log", xlabel="neurons", ylabel="odours", xlim=(ends[0], 1.45 * ends[1]))
    ax.set_xticks(x, [f"{value:,.0f}" for value in x])
    low, high = ax.get_ylim()
    ticks = [value for value in (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000) if low <= value <= high]
    ax.set_yticks(ticks, [f"{value:,}" for value in ticks])
    ax.minorticks_off()
    ax.set_title(f"Odours stored at {LEVEL:.0%} accuracy")


def _stroke(line: Line) -> dict[str, Any]:
    return {
        "color": line.colour, "linestyle": line.dash, "linewidth": 2.2 if line.bold else 1.2, "marker": line.marker,
        "markersize": 5 if line.bold else 4, "markerfacecolor": "white" if line.hollow else line.colour,
        "zorder": 4 if line.bold else 3, "clip_on": False,
    }  # fmt: skip


def _label(ax: Any, x: float, ends: dict[str, float], room: tuple[float, float]) -> None:
    """Write names beside the ends of their lines, in the same order, far enough from one another."""
    names = sorted(ends, key=lambda name: ends[name])
    places = spread([ends[name] for name in names], GAP, *room)
    for name, place in zip(names, places, strict=True):
        line = LINES[name]
        ax.annotate(
            line.label, (x, ends[name]), xytext=(1.06, place), textcoords=ax.get_yaxis_transform(), va="center",
            color=line.colour, fontsize=7.5, fontweight="bold" if line.bold else "normal", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": line.colour, "linewidth": 0.5, "shrinkA": 1, "shrinkB": 3,
                        "relpos": (0, 0.5)},
        )  # fmt: skip


def spread(values: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return rising values moved apart as little as possible until there is a gap between any two, within bounds."""
    steps = gap * np.arange(len(values))
    places = isotonic_regression(np.asarray(values) - steps).x
    return [float(place) for place in np.clip(places, low, high - steps[-1]) + steps]
