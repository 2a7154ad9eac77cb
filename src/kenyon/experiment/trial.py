"""One trial: from its settings to its result, with its provenance."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from kenyon import _checks, _seeding
from kenyon._variables import describe
from kenyon.experiment.config import MATCHED, TRIAL_FORMAT, TrialConfig
from kenyon.experiment.result_file import encode
from kenyon.experiment.stages import is_open
from kenyon.learning.learners import CALIBRATION_EPISODES, HALVINGS, GradientWeights
from kenyon.learning.training import train_in_turn, train_sets
from kenyon.provenance import environment
from kenyon.reservoir import Reservoir
from kenyon.tasks import Task


def run_trial(config: TrialConfig, *, threads: int = 1, progress: bool = False, commit: str = "") -> xr.Dataset:
    """Run one trial and return its result.

    A plain readout (`GradientWeights`) that diverges is trained again at half its learning rate until it does not
    (unless `halve_diverged` is false), so that comparisons favour it. The rate in the end is in the variable `eta_w`
    (NaN without a fixed step), and a gain that was matched in the variable `matched_gain`. Other learners that diverge
    are NaN, and `diverged_at` says when.

    Parameters
    ----------
    config
        What to run.
    threads
        Number of threads; the result does not depend on it.
    progress
        Show a progress bar.
    commit
        A git commit to record in the provenance.
    """
    _checks.instance("config", config, TrialConfig)
    commit, progress = _checks.instance("commit", commit, str), _checks.flag("progress", progress)
    return run_together([config], threads=threads, progress=progress, commit=commit)[0]


def stream_of(config: TrialConfig) -> str:
    """Return what decides the stream of states that a trial learns from: trials that agree in it can run together.

    Of different numbers of episodes the fewer are the first of the more, as long as there are enough to calibrate with.
    """
    own = {"learners", "origins"}
    if config.task.groups == 1 and config.n_episodes >= CALIBRATION_EPISODES:
        own.add("n_episodes")
    return json.dumps({name: value for name, value in config.model_dump(mode="json").items() if name not in own})


def run_together(
    configs: Sequence[TrialConfig], *, threads: int = 1, progress: bool = False, commit: str = ""
) -> list[xr.Dataset]:
    """Run trials with one stream of states, which is simulated once; their results are those of `run_trial`."""
    if any(is_open(config) for config in configs):
        raise ValueError("config has a first stage, prelearning or tuning, so it must be run by run_experiment")
    first, began, start = configs[0], datetime.now(UTC), time.perf_counter()
    with threadpool_limits(1, "blas"):  # sums depend on the number of threads
        task = first.task.build(first.seed)
        reservoir = first.reservoir.build(task, first.seed)
        settings: dict[str, Any] = {
            "seed": first.seed, "n_bins": first.n_bins, "n_test": first.n_test,
            "threads": threads, "diverged": "record", "progress": progress,
        }  # fmt: skip

        def learn(sets: Mapping[int, Mapping[str, Any]]) -> list[xr.Dataset]:
            lengths = [configs[number].n_episodes for number in sets]
            if first.task.groups > 1:
                tasks, pairs = task.split(first.task.groups), zip(sets.values(), lengths, strict=True)
                return [train_in_turn(learners, reservoir, tasks, n, **settings) for learners, n in pairs]
            return train_sets(list(sets.values()), reservoir, task, lengths, **settings)

        sets = [{name: learner.build() for name, learner in config.learners.items()} for config in configs]
        results = _train(sets, learn, HALVINGS if first.halve_diverged else 0)
        more = _examples(reservoir, task, first.examples, first.seed) if first.examples else {}
    if first.reservoir.input_gain == MATCHED:
        more["matched_gain"] = reservoir.input_gain
    seconds = (time.perf_counter() - start) / sum(map(len, sets))  # for each learner: those of all are shared
    return [
        _recorded(result.assign(more), config, commit, began, seconds * len(config.learners))
        for result, config in zip(results, configs, strict=True)
    ]


def _recorded(result: xr.Dataset, config: TrialConfig, commit: str, began: datetime, seconds: float) -> xr.Dataset:
    """Return a result with its settings and provenance."""
    result.attrs = {
        "kenyon_format": TRIAL_FORMAT,
        "id": config.id,
        "config": config.canonical(),
        "prelearning": result.attrs.get("prelearning", "{}"),
        "diverged": result.attrs.get("diverged", "{}"),
        "provenance": json.dumps({**environment(), "commit": commit, **_timing(began, seconds)}),
    }
    return describe(result)


def execute(configs: Sequence[str], commit: str) -> list[bytes]:
    """Run trials with one stream, given as JSON, and return the contents of their files: the job of a worker."""
    trials = [TrialConfig.model_validate_json(config) for config in configs]
    return [encode(result) for result in run_together(trials, commit=commit)]


def _train(
    sets: Sequence[dict[str, Any]], learn: Callable[[Mapping[int, Mapping[str, Any]]], list[xr.Dataset]], halvings: int
) -> list[xr.Dataset]:
    """Train all learners, and plain readouts that diverge again at half the rate, until none does or so many times.

    `learn` takes sets of learners by their numbers.
    """
    sets = list(sets)
    results = learn(dict(enumerate(sets)))
    for _ in range(halvings):
        again = {
            number: slower
            for number, (learners, result) in enumerate(zip(sets, results, strict=True))
            if (slower := _slower(learners, result))
        }
        if not again:
            break
        for number, result in zip(again, learn(again), strict=True):
            sets[number] = {**sets[number], **again[number]}
            results[number] = _replaced(results[number], result)
    return [
        result.assign(eta_w=("learner", [_rate(learner) for learner in learners.values()]))
        for learners, result in zip(sets, results, strict=True)
    ]


def _slower(learners: Mapping[str, Any], result: xr.Dataset) -> dict[str, Any]:
    """Return the plain readouts that diverged, at half their rates."""
    lost = [str(name) for name in result.learner.values[result.diverged_at.values >= 0]]
    again = {name: learners[name].slowed(0.5) for name in lost if isinstance(learners[name], GradientWeights)}
    return {name: learner for name, learner in again.items() if learner.eta_w != 0}


def _rate(learner: Any) -> float:
    rate = getattr(learner, "eta_w", None)
    return np.nan if rate is None else float(rate)


def _replaced(result: xr.Dataset, new: xr.Dataset) -> xr.Dataset:
    """Return a result with the parts of some learners replaced by those of a new one."""
    names = [str(name) for name in result.learner.values]
    parts = [(new if name in new.learner else result).sel(learner=[name]) for name in names]
    merged = xr.concat(parts, "learner", data_vars="all", combine_attrs="override")
    old, now = (json.loads(dataset.attrs.get("diverged", "{}")) for dataset in (result, new))
    kept = {name: text for name, text in old.items() if name not in new.learner}
    return merged.assign_attrs(diverged=json.dumps({**kept, **now}))


def _examples(reservoir: Reservoir, task: Task, n: int, seed: int) -> dict[str, Any]:
    """Return the states of episodes with `n` different items, or as many as there are, and the course of the first."""
    draw = task.draw(max(100, 20 * len(task)), _seeding.derive(seed, "examples"))
    _, first = np.unique(draw.items, return_index=True)
    chosen = np.sort(first)[:n]
    draw = type(draw)(draw.items[chosen], draw.labels[chosen], draw.keys[chosen])
    inputs = task.show(draw)
    return {
        "example_state": (("example", "neuron"), reservoir.run(inputs)),
        "example_label": ("example", draw.labels),
        "example_name": ("example", [" + ".join(task.names(item)) for item in draw.items]),
        "trace_input": (("step", "channel"), inputs[0]),
        "trace_state": (("step", "neuron"), np.asarray(reservoir.run(inputs[:1], trajectory=True))[0]),
    }


def _timing(began: datetime, seconds: float) -> dict[str, Any]:
    return {"began": began.isoformat(timespec="seconds"), "seconds": round(seconds, 3)}
