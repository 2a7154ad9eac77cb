"""One trial: from a configuration to its result, with where, when and by what it was made."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from kenyon import _checks, _seeding
from kenyon.experiment.config import FORMAT, TrialConfig
from kenyon.experiment.result_file import encode
from kenyon.learning.in_turn import train_in_turn
from kenyon.learning.learners import HALVINGS, GradientWeights
from kenyon.learning.training import train
from kenyon.provenance import environment
from kenyon.reservoir import Reservoir
from kenyon.tasks import Task

Train = Callable[[Mapping[str, Any]], xr.Dataset]


def run_trial(config: TrialConfig, *, threads: int = 1, progress: bool = False, commit: str = "") -> xr.Dataset:
    """Run one trial and return its result.

    A plain readout (`GradientWeights`) that diverges is trained again with half its learning rate until it does not:
    comparisons are to favour it. What became of the rate is in the variable `eta_w`. Other learners that diverge are
    NaN, and `diverged_at` says when.

    Parameters
    ----------
    config
        What to run.
    threads
        Number of threads; the result does not depend on it.
    progress
        Show a progress bar.
    commit
        A git commit to note in the provenance.
    """
    _checks.instance("config", config, TrialConfig)
    commit, progress = _checks.instance("commit", commit, str), _checks.flag("progress", progress)
    began, start = datetime.now(UTC), time.perf_counter()
    with threadpool_limits(1, "blas"):  # sums depend on the number of threads
        task = config.task.build(config.seed)
        reservoir = config.reservoir.build(len(task.odours.channels), config.seed)
        settings: dict[str, Any] = {
            "seed": config.seed, "n_bins": config.n_bins, "n_test": config.n_test,
            "threads": threads, "diverged": "record", "progress": progress,
        }  # fmt: skip

        def learn(learners: Mapping[str, Any]) -> xr.Dataset:
            if config.task.groups > 1:
                tasks = task.split(config.task.groups)
                return train_in_turn(learners, reservoir, tasks, config.n_episodes, **settings)
            return train(learners, reservoir, task, config.n_episodes, **settings)

        result = _train({name: one.build() for name, one in config.learners.items()}, learn)
        if config.examples:
            result = result.assign(_examples(reservoir, task, config.examples, config.seed))
    result.attrs = {
        "kenyon_format": FORMAT,
        "id": config.id,
        "config": config.canonical(),
        "prelearning": result.attrs.get("prelearning", "{}"),
        "diverged": result.attrs.get("diverged", "{}"),
        "provenance": json.dumps({**environment(), "commit": commit, **_timing(began, time.perf_counter() - start)}),
    }
    return result


def execute(config: str, commit: str) -> bytes:
    """Run a trial given as JSON and return the contents of its file: the job of a worker."""
    return encode(run_trial(TrialConfig.model_validate_json(config), commit=commit))


def _train(learners: Mapping[str, Any], learn: Train) -> xr.Dataset:
    """Train all learners, plain readouts that diverge at half their rates until they do not."""
    learners, result = dict(learners), learn(learners)
    for _ in range(HALVINGS):
        again = {
            name: one.slowed(0.5)
            for name, one in learners.items()
            if isinstance(one, GradientWeights) and one.eta_w > 0 and result.diverged_at.sel(learner=name) >= 0
        }
        if not again:
            break
        learners.update(again)
        result = _replaced(result, learn(again))
    rates = [float(getattr(one, "eta_w", np.nan)) for one in learners.values()]
    return result.assign(eta_w=("learner", rates))


def _replaced(result: xr.Dataset, new: xr.Dataset) -> xr.Dataset:
    """Return a result with some of its learners' parts replaced."""
    names = [str(name) for name in result.learner.values]
    parts = [(new if name in new.learner else result).sel(learner=[name]) for name in names]
    merged = xr.concat(parts, "learner", data_vars="all", combine_attrs="override")
    failed = json.loads(result.attrs.get("diverged", "{}"))
    failed = {name: text for name, text in failed.items() if name not in new.learner}
    merged.attrs = {**result.attrs, "diverged": json.dumps({**failed, **json.loads(new.attrs.get("diverged", "{}"))})}
    return merged


def _examples(reservoir: Reservoir, task: Task, n: int, seed: int) -> dict[str, Any]:
    """Return states of episodes of `n` different items, or as many as there are, and how the first came about."""
    draw = task.draw(max(100, 20 * len(task)), _seeding.derive(seed, "examples"))
    _, first = np.unique(draw.items, return_index=True)
    chosen = np.sort(first)[:n]
    draw = type(draw)(draw.items[chosen], draw.labels[chosen], draw.keys[chosen])
    inputs = task._inputs(draw)
    trace = np.asarray(reservoir.run(inputs[:1], trajectory=True))[0]
    return {
        "example_state": (("example", "neuron"), reservoir.run(inputs)),
        "example_label": ("example", draw.labels),
        "example_name": ("example", [" + ".join(task.names(item)) for item in draw.items]),
        "trace_input": (("step", "channel"), inputs[0]),
        "trace_state": (("step", "neuron"), trace),
    }


def _timing(began: datetime, seconds: float) -> dict[str, Any]:
    return {"began": began.isoformat(timespec="seconds"), "seconds": round(seconds, 3)}
