"""Many results as one labelled Dataset."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from kenyon import _checks
from kenyon._variables import describe
from kenyon.experiment.config import TrialConfig
from kenyon.experiment.result_file import Stored
from kenyon.experiment.store import Store, StoreError

INNER = (
    "learner",
    "episode",
    "neuron",
    "stage",
    "group",
    "position",
    "context",
    "example",
    "step",
    "channel",
)  # dimensions of one result
MAX_EMPTY_CELLS = 100_000  # limit for the cells of the Dataset that no trial fills
NOT_AXES = {"n_stimuli", "n_bases", "odours_sha256"}  # of tasks: `size` stands for them, or they follow from others


def open_results(folder: str | Path, experiment: str | None = None, *, neurons: bool = False) -> xr.Dataset:
    """Open the results of an experiment as one Dataset.

    Its dimensions are learner, size (number of stimuli or sequences), seed and episode, and one for every other
    setting that differs between trials, named after it. A setting that is determined by another is a coordinate along
    it. Combinations without a trial are NaN.

    Parameters
    ----------
    folder
        Where `kenyon run` or `run_experiment` stored them.
    experiment
        Name of one of the experiments in the folder; by default all results there.
    neurons
        Include what is stored for each neuron: theta, activity, specificity. It is a thousand times as much.
    """
    store, neurons = Store(folder), _checks.flag("neurons", neurons)
    finished = store.finished()
    if experiment is not None:
        known = store.experiments()
        if not isinstance(experiment, str) or experiment not in known:
            raise StoreError(
                f"{store.folder} has no experiment {_checks.short_repr(experiment)} "
                f"(it has: {', '.join(known) or 'none'})"
            )
        finished = [trial for trial in known[experiment] if trial in set(finished)]
    return combine(store, finished, neurons=neurons)


def combine(store: Store, trials: Sequence[str], *, neurons: bool = False) -> xr.Dataset:
    """Return the results of these trials as one Dataset; see `open_results`."""
    if not trials:
        raise StoreError(f"{store.folder} contains no finished trial")

    def wanted(name: str, dimensions: tuple[str, ...]) -> bool:
        return neurons or "neuron" not in dimensions

    results = [store.read(trial, wanted) for trial in trials]
    configs = [TrialConfig.model_validate_json(result.attributes["config"]) for result in results]
    try:
        return _combined(results, configs)
    except StoreError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"{store.folder}: its results cannot be combined ({error!r})") from None


def _combined(results: Sequence[Stored], configs: Sequence[TrialConfig]) -> xr.Dataset:
    axes, along, common = _axes([_flat(config) for config in configs])
    inner = _inner(results)
    outer_shape = tuple(len(values) for values, _ in axes.values())
    if math.prod(outer_shape) > 4 * len(results) + MAX_EMPTY_CELLS // len(inner["learner"]):
        raise StoreError(
            f"these {len(results)} results are too different for one Dataset, which would have "
            f"{math.prod(outer_shape)} cells ({', '.join(axes)}); open one experiment: open_results(folder, experiment)"
        )
    variables: dict[str, xr.Variable] = {}
    known = {name: dimensions for result in results for name, (dimensions, _) in result.variables.items()}
    for name, dimensions in known.items():
        if name in ("learner", "episode"):
            continue
        shape = outer_shape + tuple(len(inner[dimension]) for dimension in dimensions)
        values = _gather(name, results, [places for _, places in axes.values()], inner, shape)
        variables[name] = xr.Variable((*axes, *dimensions), values)
    order: list[Any] = ["learner", "size", *(name for name in axes if name not in ("size", "seed")), "seed", *INNER[1:]]
    coordinates: dict[str, Any] = {
        "learner": inner["learner"],
        **{name: axes[name][0] for name in order if name in axes},
        "episode": inner["episode"],
        **along,
    }
    learners = {
        name: learner.model_dump(mode="json") for config in configs for name, learner in config.learners.items()
    }
    attributes = {"config": json.dumps(common), "learners": json.dumps(learners)}
    arrays = {name: array.transpose(*sorted(array.dims, key=order.index)) for name, array in variables.items()}
    return describe(xr.Dataset(arrays, coordinates, attributes))


def _flat(config: TrialConfig) -> dict[str, Any]:
    """Return the settings except learners by name, with the size of the task instead of what determines it."""
    settings = config.model_dump(mode="json", exclude={"learners", "seed", "prelearning", "tuning", "origins"})
    tables = {name: settings.pop(name) for name in ("task", "reservoir")}
    pairs = [(name, inner, value) for name, table in tables.items() for inner, value in table.items()]
    flat = {f"{name}.{inner}": value for name, inner, value in pairs if inner not in NOT_AXES}
    return {"size": config.task.size, "seed": config.seed, **flat, **settings}


def _axes(
    flats: Sequence[Mapping[str, Any]],
) -> tuple[dict[str, tuple[list[Any], list[int]]], dict[str, tuple[str, list[Any]]], dict[str, Any]]:
    """Return the settings that become axes, those that are determined by an axis, and those that all trials share.

    An axis consists of its sorted values, and the position of each trial among them.
    """
    axes: dict[str, tuple[list[Any], list[int]]] = {}
    along: dict[str, tuple[str, list[Any]]] = {}
    common: dict[str, Any] = {}
    for name in dict.fromkeys(name for flat in flats for name in flat):
        column = [flat.get(name) for flat in flats]
        values = sorted(set(column), key=lambda value: (str(type(value)), value) if value is not None else ("", 0))
        short = _short_name(name, flats[0])
        if len(values) == 1 and name not in ("size", "seed"):
            common[name] = values[0]
        elif name not in ("size", "seed") and (axis := _goes_with(column, axes)):
            places = axes[axis][1]
            along[short] = (axis, [column[places.index(i)] for i in range(len(axes[axis][0]))])
        else:
            axes[short] = (values, [values.index(value) for value in column])
    return axes, along, common


def _goes_with(column: Sequence[Any], axes: Mapping[str, tuple[list[Any], list[int]]]) -> str | None:
    """Return the axis that determines a column, if there is one; the seed does not count."""
    for name, (_, places) in axes.items():
        if name != "seed" and len(set(zip(places, column, strict=True))) == len(set(places)):
            return name
    return None


def _short_name(name: str, flat: Mapping[str, Any]) -> str:
    last = name.rpartition(".")[2]
    alone = sum(other.rpartition(".")[2] == last for other in flat) == 1
    return last if alone and last not in INNER else name.replace(".", "_")


def _inner(results: Sequence[Stored]) -> dict[str, Any]:
    """Return the coordinates of dimensions within results: all learners, all episodes, and numbers for the rest."""
    variables = [variable for result in results for variable in result.variables.values()]
    sizes = {pair for dimensions, values in variables for pair in zip(dimensions, values.shape, strict=True)}
    numbered = {name: range(size) for name, size in sorted(sizes)}  # the largest size of a dimension comes last
    learners = dict.fromkeys(str(name) for result in results for name in result.variables["learner"][1])
    episodes = {int(episode) for result in results for episode in result.variables["episode"][1]}
    return {**numbered, "learner": list(learners), "episode": sorted(episodes)}


def _gather(
    name: str, results: Sequence[Stored], places: Sequence[Sequence[int]], inner: Mapping[str, Any], shape: Any
) -> NDArray[Any]:
    """Put a variable of all results into one array."""
    having = [(i, result.variables[name]) for i, result in enumerate(results) if name in result.variables]
    example = having[0][1][1]
    missing: Any = "" if example.dtype.kind in "OTU" else np.nan
    kind: Any = object if missing == "" else np.result_type(example.dtype, np.float32)
    array = np.full(shape, missing, kind)
    filled = 0
    positions = {axis: {value: i for i, value in enumerate(inner[axis])} for axis in ("learner", "episode")}
    for i, (dimensions, values) in having:
        own: list[Any] = [
            [positions[axis][label] for label in results[i].variables[axis][1]] if axis in positions else range(n)
            for axis, n in zip(dimensions, values.shape, strict=True)
        ]
        array[(*(of_trials[i] for of_trials in places), *np.ix_(*own))] = values
        filled += values.size
    if filled == array.size and missing != "":
        return array.astype(example.dtype)
    return array.astype("U") if missing == "" else array
