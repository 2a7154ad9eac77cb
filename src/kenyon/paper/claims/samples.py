"""Numbers over seeds that claims are judged by, taken from the results of a figure."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from kenyon.metrics import episodes_to_reach
from kenyon.paper.plan import GD_THETA, GD_W

Samples = NDArray[np.float64]  # one per seed
NAMES = {GD_W: "GD_W", GD_THETA: "GD_theta"}
GUESS = 0.5  # accuracy of a learner that diverged
LEVEL = 0.8  # accuracy whose first crossing is the time of convergence


def name_of(learner: str) -> str:
    """Return what the paper calls a learner."""
    return NAMES.get(learner, learner)


def values(data: xr.Dataset, variable: str, learner: str, size: int) -> Samples:
    """Return a variable of a learner at a size, one number per seed; a missing accuracy counts as guessing."""
    found = data[variable].sel(learner=learner, size=size).values.astype(np.float64)
    return np.where(np.isnan(found), GUESS, found) if variable.endswith("accuracy") else found


def by_size(data: xr.Dataset, variable: str, learner: str) -> NDArray[np.float64]:
    """Return the same at all sizes, shape (n_sizes, n_seeds)."""
    return np.array([values(data, variable, learner, int(size)) for size in data["size"].values])


def change(data: xr.Dataset, values: NDArray[np.float64]) -> Samples:
    """Return the change of values over the range of sizes, by a straight line, one number per seed."""
    sizes = data["size"].values.astype(np.float64)
    if len(sizes) < 2:
        return np.full(values.shape[1], np.nan)
    slope: Samples = np.polyfit(sizes, values, 1)[0]
    return np.asarray(slope * (sizes[-1] - sizes[0]))


def curve_mean(data: xr.Dataset, learner: str) -> Samples:
    """Return the mean of the training curve; `data` is of one size."""
    return np.asarray(data.training_accuracy.sel(learner=learner).fillna(GUESS).mean("episode").values)


def convergence_time(data: xr.Dataset, learner: str) -> Samples:
    """Return the episodes needed to reach LEVEL, or all of them if it is never reached; `data` is of one size."""
    curves = data.training_accuracy.sel(learner=learner).transpose("seed", "episode")
    times = np.array([episodes_to_reach(curves.episode.values, curve, LEVEL) for curve in curves.values])
    return np.where(np.isnan(times), float(curves.episode[-1]), times)


def woken(data: xr.Dataset, learner: str) -> Samples:
    """Return the share of initially silent neurons that are active in over 1% of test episodes at the end."""
    start, end = data.start_activity.sel(learner=learner), data.activity.sel(learner=learner)
    silent = (start == 0).where(start.notnull())
    active = ((end > 0.01) & (silent == 1)).sum("neuron").values
    return np.asarray(active / np.maximum(silent.sum("neuron").values, 1))
