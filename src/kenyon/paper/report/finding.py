"""The findings of a figure, and what they are made of: rankings of learners, and tables of means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from kenyon.paper.plan import Results
from kenyon.paper.report.text import Ranking, Table, learner_name, number, spread

THREE = ("GradientThresholds", "Metropolis", "Composed")
Sentences = Sequence[str | Ranking]


class Finding(NamedTuple):
    """What a figure shows, in words and numbers."""

    sentences: Sentences
    tables: Sequence[Table]


class Ranked(NamedTuple):
    """The learners of a part of a figure, ranked by accuracy."""

    figure: str
    words: str  # may name {size}, {episodes} and other settings
    part: str = ""
    at: Sequence[Any] = ("size", 0)  # a dimension, and the place along it
    kinds: Sequence[str] = ("",)  # how the names of the learners begin

    def make(self, results: Results) -> Ranking:
        """Return the ranking."""
        data = results.get(self.figure, self.part)
        names = [str(name) for name in data.learner.values if str(name).startswith(tuple(self.kinds))]
        accuracy = data.accuracy.sel(learner=names).isel({"size": 0} | {self.at[0]: self.at[1]})
        settings = {str(name): value.item() for name, value in accuracy.coords.items() if value.ndim == 0}
        return ranking(self.words.format(episodes=episodes(data), **settings), accuracy)


class Means(NamedTuple):
    """A table of means over seeds: a row for each learner, a column for each value of a setting."""

    figure: str
    caption: str
    part: str = ""
    variable: str = "accuracy"
    along: str = "size"
    head: str = "learner"  # of the first column
    learners: Iterable[str] = ()  # all unless given

    def make(self, results: Results) -> Table:
        """Return the table."""
        data = results.get(self.figure, self.part)[self.variable]
        data = data if self.along == "size" else data.squeeze("size")
        means = data.mean("seed", skipna=True).transpose("learner", self.along)
        names = list(self.learners) or [str(name) for name in data.learner.values]
        rows = [[learner_name(name), *(number(float(mean), 3) for mean in means.sel(learner=name))] for name in names]
        columns = [str(value).replace("_", " ") for value in data[self.along].values]
        return Table(f"{self.caption}; means over {data.sizes['seed']} seeds", [self.head, *columns], rows)


def descending(accuracy: xr.DataArray) -> list[str]:
    """Return the learners from the best to the worst."""
    means = accuracy.mean("seed", skipna=True).fillna(0.0)
    return [str(accuracy.learner.values[i]) for i in np.argsort(-means.values, kind="stable")]


def ranking(words: str, accuracy: xr.DataArray) -> Ranking:
    """Return learners with their accuracies over seeds, from the best to the worst."""
    return Ranking(words, [(learner_name(name), spread(accuracy.sel(learner=name))) for name in descending(accuracy)])


def episodes(data: xr.Dataset) -> str:
    """Return the number of training episodes."""
    return f"{int(data.episode.values[-1]):,}"
