"""Many results as one labelled Dataset."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from kenyon import _checks
from kenyon._variables import describe
from kenyon.experiment.config import TrialConfig, trial_of
from kenyon.experiment.first_stages import FirstStages
from kenyon.experiment.mistakes import Place
from kenyon.experiment.result_file import Stored
from kenyon.experiment.store import Store, StoreError
from kenyon.experiment.sweep import Experiment, leaves, load_experiment, spelt_out

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


def open_results(
    folder: str | Path,
    experiment: str | Path | Experiment | None = None,
    *,
    everything: bool = False,
    neurons: bool = False,
) -> xr.Dataset:
    """Open the results of an experiment as one Dataset.

    Its dimensions are learner, size (number of stimuli or sequences), seed and episode, and one for every other
    setting that differs between trials, named after it. A setting that is determined by another is a coordinate along
    it. Combinations without a trial are NaN. Where learners of one name would share a place although their settings
    differ, the name is followed by these settings.

    Parameters
    ----------
    folder
        Where `kenyon run` or `run_experiment` stored them.
    experiment
        One of the experiments in the folder: its name, for its trials as it was last run; or its file or what
        `load_experiment` returned, for the trials that those have now. By default all experiments there, as they were
        last run; a warning says if there are older results.
    everything
        Open every result in the folder, including those of experiments before they were changed.
    neurons
        Include what is stored for each neuron: theta, activity, specificity. It is a thousand times as much.
    """
    store, neurons = Store(folder), _checks.flag("neurons", neurons)
    if _checks.flag("everything", everything) and experiment is not None:
        raise ValueError(f"experiment must be left out with everything=True, not {_checks.short_repr(experiment)}")
    finished = set(store.finished())
    name, trials = _trials_of(store, experiment)
    there = [trial for trial in trials if trial in finished]
    note = note_on_old(store.folder, len(store.old()))
    if everything:
        there = list(dict.fromkeys([*there, *sorted(finished)]))
    elif finished and not there:
        raise StoreError(f"{store.folder} contains no finished trial of {name}; {note or 'run it first'}")
    elif note and experiment is None:
        warnings.warn(note, stacklevel=2)
    return combine(store, there, neurons=neurons)


def _trials_of(store: Store, experiment: Any) -> tuple[str, list[str]]:
    """Return what to call an experiment, and its trials: given its name, its file, or itself."""
    if experiment is None:
        return "an experiment as it was last run", store.current()
    known = store.experiments()
    if isinstance(experiment, str) and experiment in known:
        return experiment, known[experiment]
    if isinstance(experiment, Path) or (isinstance(experiment, str) and experiment.endswith(".toml")):
        return str(experiment), _settled(store, load_experiment(experiment))
    if isinstance(experiment, Experiment):
        return experiment.name, _settled(store, experiment)
    raise StoreError(
        f"{store.folder} has no experiment {_checks.short_repr(experiment)} (it has: {', '.join(known) or 'none'})"
    )


def _settled(store: Store, experiment: Experiment) -> list[str]:
    """Return the trials of an experiment as they ran; of those whose first stage has not run there are none."""
    first = FirstStages(store)
    return [] if first.pending(experiment) else [trial.id for trial in first.settle(experiment.trials)]


def note_on_old(folder: str | Path, n: int) -> str:
    """Return a line on `n` results of experiments before they were changed; empty if there are none."""
    what = f"{n} older results" if n > 1 else "an older result"
    every = f"kn.open_results({str(folder)!r}, everything=True)"
    return f"{folder} also has {what}, from before an experiment was changed: {every}" if n else ""


def how_to_open(store: Store, experiment: str) -> str:
    """Return the Python that opens an experiment as it was last run, by name if the folder has others."""
    alone = set(store.current()) == set(store.experiments()[experiment])
    return f"kn.open_results({str(store.folder)!r}{'' if alone else f', {experiment!r}'})"


def combine(store: Store, trials: Sequence[str], *, neurons: bool = False) -> xr.Dataset:
    """Return the results of these trials as one Dataset; see `open_results`."""
    if not trials:
        raise StoreError(f"{store.folder} contains no finished trial")

    def wanted(name: str, dimensions: tuple[str, ...]) -> bool:
        return neurons or "neuron" not in dimensions

    results = [store.read(trial, wanted) for trial in trials]
    configs = [trial_of(result.attributes["config"]) for result in results]
    try:
        return _combined(results, configs)
    except StoreError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"{store.folder}: its results cannot be combined ({error!r})") from None


def _combined(results: Sequence[Stored], configs: Sequence[TrialConfig]) -> xr.Dataset:
    axes, along, common = _axes(_flat_all(configs))
    names = _told_apart(configs, list(zip(*(places for _, places in axes.values()), strict=True)))
    results = [_renamed(result, new) for result, new in zip(results, names, strict=True)]
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
        new[name]: learner.model_dump(mode="json")
        for config, new in zip(configs, names, strict=True)
        for name, learner in config.learners.items()
    }
    attributes = {"config": json.dumps(common), "learners": json.dumps(learners)}
    arrays = {name: array.transpose(*sorted(array.dims, key=order.index)) for name, array in variables.items()}
    return describe(xr.Dataset(arrays, coordinates, attributes))


def _told_apart(configs: Sequence[TrialConfig], cells: Sequence[tuple[int, ...]]) -> list[dict[str, str]]:
    """Return new names for the learners of each trial, so that no two of one name and other settings share a cell."""
    tables = [
        {name: dict(leaves(learner.model_dump(mode="json"))) for name, learner in config.learners.items()}
        for config in configs
    ]
    first: dict[Any, Any] = {}
    shared = {
        name
        for cell, learners in zip(cells, tables, strict=True)
        for name, table in learners.items()
        if first.setdefault((cell, name), table) != table
    }
    differing = {name: _differing([learners[name] for learners in tables if name in learners]) for name in shared}

    def new_name(name: str, table: Mapping[Place, Any]) -> str:
        settings = ((place[-1], table[place]) for place in differing.get(name, ()) if place in table)
        return f"{name} {spelt_out(settings)}".strip()

    return [{name: new_name(name, table) for name, table in learners.items()} for learners in tables]


def _differing(tables: Sequence[Mapping[Place, Any]]) -> list[Place]:
    """Return the settings in which tables differ."""
    places = dict.fromkeys(place for table in tables for place in table)
    return [place for place in places if any(table.get(place) != tables[0].get(place) for table in tables)]


def _renamed(result: Stored, names: Mapping[str, str]) -> Stored:
    """Return a result with other names for its learners."""
    dimensions, old = result.variables["learner"]
    new = np.array([names[str(name)] for name in old], object)
    return result._replace(variables={**result.variables, "learner": (dimensions, new)})


def _flat_all(configs: Sequence[TrialConfig]) -> list[dict[str, Any]]:
    """Return the settings of trials by name; with the digests of tables of odours if one of them was changed."""
    flats = [_flat(config) for config in configs]
    tables = {(config.task.odours, config.task.odours_sha256) for config in configs}
    if len(tables) > len({name for name, _ in tables}):
        for flat, config in zip(flats, configs, strict=True):
            flat["task.odours_sha256"] = config.task.odours_sha256
    return flats


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
