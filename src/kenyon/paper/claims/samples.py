"""What the claims are judged by: samples over seeds, and the effects made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from kenyon.paper.verdicts import Effect, Verdict, conclude, effect

Samples = NDArray[np.float64]  # one per seed
GD_W, GD_THETA, METROPOLIS, COMPOSED = FOUR = ("GradientWeights", "GradientThresholds", "Metropolis", "Composed")
NAMES = {GD_W: "GD_W", GD_THETA: "GD_theta"}
CEILING = 0.995


def name_of(learner: str) -> str:
    """Return what the paper calls a learner."""
    return NAMES.get(learner, learner)


def values(data: xr.Dataset, variable: str, learner: str, size: int) -> Samples:
    """Return a variable of a learner at a size, one number per seed; an accuracy that is NaN is that of guessing."""
    found = data[variable].sel(learner=learner, size=size).values.astype(np.float64)
    return np.where(np.isnan(found), 0.5, found) if variable.endswith("accuracy") else found


def by_size(data: xr.Dataset, variable: str, learner: str) -> NDArray[np.float64]:
    """Return the same at all sizes, shape (n_sizes, n_seeds)."""
    return np.array([values(data, variable, learner, int(size)) for size in data["size"].values])


def change(data: xr.Dataset, values: NDArray[np.float64]) -> Samples:
    """Return the change of values over the range of sizes by a straight line, one number per seed."""
    sizes = data["size"].values.astype(np.float64)
    if len(sizes) < 2:
        return np.full(values.shape[1], np.nan)
    slope: Samples = np.polyfit(sizes, values, 1)[0]
    return np.asarray(slope * (sizes[-1] - sizes[0]))


def leads(data: xr.Dataset, leader: str, others: Sequence[str], what: str) -> list[Effect]:
    """Return, for each size that can tell, the lead over the strongest of the others."""
    effects = []
    for size in data["size"].values:
        own = values(data, "accuracy", leader, int(size))
        rivals = {other: values(data, "accuracy", other, int(size)) for other in others}
        rival = max(rivals, key=lambda name: rivals[name].mean())
        if min(own.mean(), rivals[rival].mean()) <= CEILING:
            label = f"{name_of(leader)} minus {name_of(rival)} at {size} {what}"
            effects.append(effect(label, own - rivals[rival], above=0.0, unit="accuracy"))
    return effects[::-1]


def order(data: xr.Dataset, variable: str, size: int, where: str) -> list[Effect]:
    """Return the steps from each of the paper's learners to the next better one."""
    return [
        effect(
            f"{name_of(better)} minus {name_of(worse)}, {where}",
            values(data, variable, better, size) - values(data, variable, worse, size),
            above=0.0,
            unit="accuracy",
        )
        for worse, better in pairwise(FOUR)
    ]


def verdict(
    number: int, claim: str, test: str, effects: Iterable[Effect], figures: Sequence[str], note: str = ""
) -> Verdict:
    """Return the verdict that follows from effects, all of which must hold."""
    judged = list(effects)
    word = conclude(judged)
    decides = {"contradicted": False, "inconclusive": None, "reproduced": True}[word]
    headline_first = sorted(judged, key=lambda one: one.supports is not decides)
    return Verdict(number, claim, test, word, tuple(headline_first), tuple(figures), note)
