"""Numbers over seeds that claims are judged by, taken from the results of a figure."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from kenyon.paper.plan import GD_THETA, GD_W

Samples = NDArray[np.float64]  # one per seed
NAMES = {GD_W: "GD_W", GD_THETA: "GD_theta"}
GUESS = 0.5  # accuracy of a learner that diverged
LEVEL = 0.75  # accuracy whose first crossing is the time of convergence: half way from guessing to perfect


def name_of(learner: str) -> str:
    """Return what the paper calls a learner."""
    return NAMES.get(learner, learner)


def values(data: xr.Dataset, variable: str, learner: str, size: int | None = None) -> Samples:
    """Return a variable of a learner, one number per seed, at a size, by default the largest.

    A missing accuracy counts as guessing.
    """
    size = int(data["size"][-1]) if size is None else size
    found = data[variable].sel(learner=learner, size=size).values.astype(np.float64)
    return np.where(np.isnan(found), GUESS, found) if variable.endswith("accuracy") else found


def by_size(data: xr.Dataset, variable: str, learner: str) -> NDArray[np.float64]:
    """Return the same at all sizes, shape (n_sizes, n_seeds)."""
    return np.array([values(data, variable, learner, int(size)) for size in data["size"].values])


def from_each(data: xr.Dataset, variable: str, kind: str) -> NDArray[np.float64]:
    """Return a variable of all learners whose names begin with `kind`, shape (n_learners, n_seeds), at one size."""
    names = [str(name) for name in data.learner.values if str(name).startswith(f"{kind} ")]
    return np.array([values(data, variable, name) for name in names])


def change(data: xr.Dataset, values: NDArray[np.float64]) -> Samples:
    """Return the change of values over the range of sizes, by a straight line, one number per seed."""
    sizes = data["size"].values.astype(np.float64)
    if len(sizes) < 2:
        return np.full(values.shape[1], np.nan)
    slope: Samples = np.polyfit(sizes, values, 1)[0]
    return np.asarray(slope * (sizes[-1] - sizes[0]))


def best_minus_worst(values: NDArray[np.float64]) -> Samples:
    """Return the difference between the best and the worst row, chosen for each seed by the means of the others."""
    means = _means_of_others(values)
    seeds = np.arange(values.shape[1])
    return np.asarray(values[means.argmax(axis=0), seeds] - values[means.argmin(axis=0), seeds])


def best_minus(values: NDArray[np.float64], base: int) -> Samples:
    """Return the difference between the best row but `base`, chosen for each seed by the others, and row `base`."""
    means = _means_of_others(values)
    means[base] = -np.inf
    return np.asarray(values[means.argmax(axis=0), np.arange(values.shape[1])] - values[base])


def _means_of_others(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each seed the means over all other seeds, up to a factor."""
    return np.asarray(values.sum(axis=1, keepdims=True) - values)


def curve_mean(data: xr.Dataset, learner: str) -> Samples:
    """Return the mean of the training curve; `data` is of one size."""
    return np.asarray(data.training_accuracy.sel(learner=learner).fillna(GUESS).mean("episode").values)


def convergence_time(data: xr.Dataset, learner: str) -> Samples:
    """Return the episodes needed to reach LEVEL, or all of them if it is never reached; `data` is of one size."""
    curves = data.training_accuracy.sel(learner=learner).fillna(GUESS).transpose("seed", "episode")
    episodes = curves.episode.values.astype(np.float64)
    return np.array([_crossing(episodes, curve, LEVEL, GUESS) for curve in curves.values])


def half_time(data: xr.Dataset, variable: str, learner: str) -> Samples:
    """Return the share of training by which a course that begins at 0 has reached half of its last value."""
    curves = data[variable].sel(learner=learner).transpose("seed", "episode")
    episodes = curves.episode.values / float(curves.episode[-1])
    return np.array([_crossing(episodes, curve, curve[-1] / 2, 0.0) for curve in curves.values.astype(np.float64)])


def _crossing(at: NDArray[np.float64], curve: NDArray[np.float64], level: float, start: float) -> float:
    """Return where a curve that begins at `start`, straight between its points, first reaches a level."""
    at, curve = np.concatenate([[0.0], at]), np.concatenate([[start], curve])
    reached = np.flatnonzero(curve >= level)
    if not len(reached) or np.isnan(level):
        return float(at[-1]) if not np.isnan(level) else float("nan")
    i = int(reached[0])
    if i == 0:
        return 0.0
    return float(at[i - 1] + (level - curve[i - 1]) / (curve[i] - curve[i - 1]) * (at[i] - at[i - 1]))


def woken(data: xr.Dataset, learner: str) -> Samples:
    """Return the share of initially silent neurons that are active in over 1% of test episodes at the end."""
    start, end = data.start_activity.sel(learner=learner), data.activity.sel(learner=learner)
    silent = (start == 0).where(start.notnull())
    active = ((end > 0.01) & (silent == 1)).sum("neuron").values
    return np.asarray(active / np.maximum(silent.sum("neuron").values, 1))
