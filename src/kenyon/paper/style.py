"""How the paper's figures look, and means with intervals over seeds."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from matplotlib import style
from numpy.typing import ArrayLike, NDArray

from kenyon.paper.verdicts import interval

CM = 1 / 2.54
WIDTH = 17.0  # of a page, in centimetres
QUICK = "quick run: small sizes, not the paper's"
PAPER = ("GradientWeights", "GradientThresholds", "Metropolis", "Composed")
FIVE = (*PAPER, "Normalised")


def context() -> Any:
    """Return a context with our style for figures, whatever the user's own settings are."""
    return style.context(["default", "kenyon.paper.figures.kenyon"])


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
