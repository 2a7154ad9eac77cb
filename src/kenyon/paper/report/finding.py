"""What a figure comes to, and the pieces that it is said with: rankings of learners, and tables of means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import xarray as xr

from kenyon.paper.plan import Results
from kenyon.paper.report.text import Ranking, Table, learner_name, number, spread

THREE = ("GradientThresholds", "Metropolis", "Composed")
Sentences = Sequence[str | Ranking]


class Finding(NamedTuple):
    """What a figure comes to."""

    sentences: Sentences
    tables: Sequence[Table]


@dataclass(frozen=True)
class Sources:
    """How the finding of a figure is made from results, piece by piece."""

    sentences: Sequence[Callable[[Results], Sentences]]
    tables: Sequence[Callable[[Results], Table]] = ()

    def __call__(self, results: Results) -> Finding:
        """Return the finding."""
        sentences = [sentence for make in self.sentences for sentence in make(results)]
        return Finding(sentences, [make(results) for make in self.tables])


@dataclass(frozen=True)
class Ranked:
    """The learners of a part of a figure, ranked by accuracy."""

    words: str  # may name {size}, {episodes} and other settings
    figure: str
    part: str = ""
    at: tuple[str, int] = ("size", 0)  # a dimension, and the place along it
    kinds: tuple[str, ...] = ("",)  # how the names of the learners begin

    def __call__(self, results: Results) -> list[Ranking]:
        """Return the ranking, as the only sentence."""
        data = results.get(self.figure, self.part)
        names = [str(name) for name in data.learner.values if str(name).startswith(self.kinds)]
        accuracy = data.accuracy.sel(learner=names).isel({"size": 0} | dict([self.at]))
        settings = {str(name): value.item() for name, value in accuracy.coords.items() if value.ndim == 0}
        return [ranking(self.words.format(episodes=episodes(data), **settings), accuracy)]


@dataclass(frozen=True)
class Means:
    """A table of means over seeds: a row for each learner, a column for each value of a setting."""

    caption: str
    figure: str
    part: str = ""
    variable: str = "accuracy"
    along: str = "size"
    head: str = "learner"  # of the first column
    learners: Iterable[str] = ()  # all unless given

    def __call__(self, results: Results) -> Table:
        """Return the table."""
        data = results.get(self.figure, self.part)[self.variable]
        data = data if self.along == "size" else data.squeeze("size")
        means = data.mean("seed", skipna=True).transpose("learner", self.along)
        names = list(self.learners) or [str(name) for name in data.learner.values]
        rows = [[learner_name(name), *(number(float(mean), 3) for mean in means.sel(learner=name))] for name in names]
        columns = [str(value).replace("_", " ") for value in data[self.along].values]
        return Table(f"{self.caption}; means over {data.sizes['seed']} seeds", [self.head, *columns], rows)


def means(accuracy: xr.DataArray) -> xr.DataArray:
    """Return means over the seeds that have a value, 0 where none has."""
    return accuracy.mean("seed", skipna=True).fillna(0.0)


def best(accuracy: xr.DataArray) -> str:
    """Return the learner with the highest mean over seeds."""
    return str(accuracy.learner.values[int(means(accuracy).values.argmax())])


def descending(accuracy: xr.DataArray) -> list[str]:
    """Return the learners from the best to the worst."""
    return [str(accuracy.learner.values[i]) for i in np.argsort(-means(accuracy).values, kind="stable")]


def ranking(words: str, accuracy: xr.DataArray) -> Ranking:
    """Return learners with their accuracies over seeds, from the best to the worst."""
    return Ranking(words, [(learner_name(name), spread(accuracy.sel(learner=name))) for name in descending(accuracy)])


def episodes(data: xr.Dataset) -> str:
    """Return the number of training episodes."""
    return f"{int(data.episode.values[-1]):,}"
