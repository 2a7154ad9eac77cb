"""How figures look: a colour, a marker and a dash for every learner; and means with intervals over seeds.

Colours are those of Okabe and Ito, which readers with any common colour deficiency can tell apart; markers and dashes
carry the same information.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib import style
from numpy.typing import ArrayLike, NDArray

from kenyon.paper.verdicts import interval

CM = 1 / 2.54
WIDTH = 17.0  # of a page, in centimetres
INK, FAINT, WARNING = "0.15", "0.5", "#B00020"
QUICK = "quick run: small sizes, not the paper's"
MAP = "cividis"  # for accuracies and states: perceptually uniform, also with colour deficiencies
PAPER = ("GradientWeights", "GradientThresholds", "Metropolis", "Composed")
FIVE = (*PAPER, "Normalised")


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
    "Metropolis": Look("Metropolis", "#009E73", "D", (0, (1.5, 1))),
    "Composed": Look("Composed", "#0072B2", "o"),
    "Normalised": Look("Normalised (ours)", "#D55E00", "v"),
    "Composed from 0": Look("Composed, no prelearning", "#0072B2", "o", (0, (3, 2)), True),
    "Ridge": Look("ridge on V, offline", "#56B4E9", "P"),
    "Ridge on x": Look("ridge on x, offline", "#56B4E9", "X", (0, (3, 2)), True),
    "RecursiveLeastSquares": Look("recursive least squares", "#000000", "h"),
}


def context() -> Any:
    """Return a context with our style for figures, whatever the user's own settings are."""
    return style.context(["default", "kenyon.paper.figures.kenyon"])


def look(name: str) -> Look:
    """Return how a learner is drawn: one with settings in its name like its kind, but hollow."""
    if name in LOOKS:
        return LOOKS[name]
    kinds = [kind for kind in LOOKS if name.startswith(f"{kind} ")]
    return LOOKS[max(kinds, key=len)]._replace(hollow=True) if kinds else Look(name, INK, "o")


def odour(name: str) -> str:
    """Return the name of an odour, with its dilution as a power of ten."""
    return re.sub(r" 1e-0*(\d+)$", r" $10^{-\1}$", name)


class Summary(NamedTuple):
    """Means over seeds, with the ends of their 95% intervals."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    missing: NDArray[np.bool_]  # where a seed has no value, for instance because it diverged


def summary(values: ArrayLike) -> Summary:
    """Return means and intervals of values (n_seeds, n_points) over the seeds that have one; NaN where none has."""
    array = np.atleast_2d(np.asarray(values, np.float64))
    missing = ~np.isfinite(array)
    columns = [column[~gone] for column, gone in zip(array.T, missing.T, strict=True)]
    rows = [(column.mean(), *interval(column)) if len(column) else (np.nan,) * 3 for column in columns]
    mean, low, high = np.array(rows, np.float64).reshape(-1, 3).T
    return Summary(mean, low, high, np.asarray(missing.any(axis=0)))


def over(array: Any, name: str) -> NDArray[np.float64]:
    """Return the values of a DataArray with a row per seed and a column along dimension `name`."""
    return np.asarray(array.transpose("seed", name).values, np.float64)
