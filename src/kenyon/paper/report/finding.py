"""The findings of a figure, and what they are made of: rankings of learners, and tables of means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from kenyon.paper.plan import Results
from kenyon.paper.report.text import Ranking, Table, learner_name, number, spread

Sentences = Sequence[str | Ranking]


class Finding(NamedTuple):
    """What a figure shows, in words and numbers."""

    sentences: Sentences
    tables: Sequence[Table]


def ranked(
    results: Results,
    figure: str,
    words: str,
    part: str = "",
    at: Sequence[Any] = ("size", 0),
    kinds: Sequence[str] = ("",),
) -> Ranking:
    """Rank learners whose names begin with one of `kinds` by accuracy, `at` a place along a dimension.

    The words may name {size}, {episodes} and other settings.
    """
    data = results.get(figure, part)
    names = [str(name) for name in data.learner.values if str(name).startswith(tuple(kinds))]
    accuracy = data.accuracy.sel(learner=names).isel({"size": 0} | {at[0]: at[1]})
    settings = {str(name): value.item() for name, value in accuracy.coords.items() if value.ndim == 0}
    return ranking(words.format(episodes=episodes(data), **settings), accuracy)


def means_table(
    results: Results,
    figure: str,
    caption: str,
    part: str = "",
    variable: str = "accuracy",
    along: str = "size",
    head: str = "learner",
    learners: Sequence[str] = (),
) -> Table:
    """Tabulate means over seeds: a row for each learner (all unless given), a column for each value of a setting."""
    data = results.get(figure, part)[variable]
    data = data if along == "size" else data.squeeze("size")
    means = data.mean("seed", skipna=True).transpose("learner", along)
    names = learners or [str(name) for name in data.learner.values]
    rows = [[learner_name(name), *(number(float(mean), 3) for mean in means.sel(learner=name))] for name in names]
    columns = [str(value).replace("_", " ") for value in data[along].values]
    return Table(f"{caption}; means over {data.sizes['seed']} seeds", [head, *columns], rows)


def spreads_table(caption: str, head: str, columns: Mapping[str, xr.DataArray]) -> Table:
    """Tabulate means and ranges over seeds: a row for each learner, a column for each array."""
    names = [str(name) for name in next(iter(columns.values())).learner.values]
    spreads = {name: [spread(column.sel(learner=name), 3) for column in columns.values()] for name in names}
    return Table(caption, [head, *columns], [[learner_name(name), *cells] for name, cells in spreads.items()])


def ranking(words: str, accuracy: xr.DataArray) -> Ranking:
    """Return learners with their accuracies over seeds, from the best to the worst."""
    means = accuracy.mean("seed", skipna=True).fillna(0.0)
    names = accuracy.learner.values[np.argsort(-means.values, kind="stable")]
    return Ranking(words, [(learner_name(str(name)), spread(accuracy.sel(learner=name))) for name in names])


def episodes(data: xr.Dataset) -> str:
    """Return the number of training episodes."""
    return f"{int(data.episode.values[-1]):,}"
