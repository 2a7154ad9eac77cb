"""What a figure comes to, and how it is said: rankings, tables of means, sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from kenyon.paper.report.markup import Ranking, Table, learner_name, number, spread

THREE = ("GradientThresholds", "Metropolis", "Composed")


class Found(NamedTuple):
    """What a figure comes to."""

    sentences: Sequence[str | Ranking]
    tables: Sequence[Table]


def ranking(words: str, accuracy: xr.DataArray) -> Ranking:
    """Return learners with their accuracies over seeds, from the best to the worst."""
    means = accuracy.mean("seed", skipna=True).fillna(0.0)
    names = [str(accuracy.learner.values[i]) for i in np.argsort(-means.values, kind="stable")]
    return Ranking(words, [(learner_name(name), spread(accuracy.sel(learner=name))) for name in names])


def episodes(data: xr.Dataset) -> str:
    """Return the number of episodes learned from."""
    return f"{int(data.episode.values[-1]):,}"


def by(data: xr.DataArray, dimension: str, caption: str, head: str = "", learners: Iterable[str] = ()) -> Table:
    """Return means over seeds: a row for each learner, a column for each value of a dimension."""
    names = list(learners) or [str(name) for name in data.learner.values]
    means = data.mean("seed", skipna=True)
    columns = [str(value) for value in data[dimension].values]
    rows = [
        [learner_name(name), *(number(float(one), 3) for one in means.sel(learner=name).transpose(dimension).values)]
        for name in names
    ]
    return Table(f"{caption}; means over {data.sizes['seed']} seeds", [head or "learner", *columns], rows)


def mean(data: xr.DataArray, learner: str, size: int) -> float:
    """Return the mean over seeds of a learner at a size."""
    return float(data.sel(learner=learner, size=size).mean("seed", skipna=True))
