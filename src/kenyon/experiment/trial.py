"""One trial: from its settings to its result, with its provenance."""

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
from kenyon._variables import describe
from kenyon.experiment.config import MATCHED, TRIAL_FORMAT, TrialConfig
from kenyon.experiment.result_file import encode
from kenyon.experiment.stages import is_open
from kenyon.learning.learners import HALVINGS, GradientWeights
from kenyon.learning.training import train, train_in_turn
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
    if is_open(config):
        raise ValueError("config has a first stage, prelearning or tuning, so it must be run by run_experiment")
    commit, progress = _checks.instance("commit", commit, str), _checks.flag("progress", progress)
    began, start = datetime.now(UTC), time.perf_counter()
    with threadpool_limits(1, "blas"):  # sums depend on the number of threads
        task = config.task.build(config.seed)
        reservoir = config.reservoir.build(task, config.seed)
        settings: dict[str, Any] = {
            "seed": config.seed, "n_bins": config.n_bins, "n_test": config.n_test,
            "threads": threads, "diverged": "record", "progress": progress,
        }  # fmt: skip

        def learn(learners: Mapping[str, Any]) -> xr.Dataset:
            if config.task.groups > 1:
                tasks = task.split(config.task.groups)
                return train_in_turn(learners, reservoir, tasks, config.n_episodes, **settings)
            return train(learners, reservoir, task, config.n_episodes, **settings)

        learners = {name: learner.build() for name, learner in config.learners.items()}
        result = _train(learners, learn, HALVINGS if config.halve_diverged else 0)
        if config.reservoir.input_gain == MATCHED:
            result = result.assign(matched_gain=reservoir.input_gain)
        if config.examples:
            result = result.assign(_examples(reservoir, task, config.examples, config.seed))
    result.attrs = {
        "kenyon_format": TRIAL_FORMAT,
        "id": config.id,
        "config": config.canonical(),
        "prelearning": result.attrs.get("prelearning", "{}"),
        "diverged": result.attrs.get("diverged", "{}"),
        "provenance": json.dumps({**environment(), "commit": commit, **_timing(began, time.perf_counter() - start)}),
    }
    return describe(result)


def execute(config: str, commit: str) -> bytes:
    """Run a trial given as JSON and return the contents of its file: the job of a worker."""
    return encode(run_trial(TrialConfig.model_validate_json(config), commit=commit))


def _train(learners: dict[str, Any], learn: Callable[[Mapping[str, Any]], xr.Dataset], halvings: int) -> xr.Dataset:
    """Train all learners, and plain readouts that diverge again at half the rate, until none does or so many times."""
    result = learn(learners)
    for _ in range(halvings):
        lost = [str(name) for name in result.learner.values[result.diverged_at.values >= 0]]
        again = {name: learners[name].slowed(0.5) for name in lost if isinstance(learners[name], GradientWeights)}
        again = {name: learner for name, learner in again.items() if learner.eta_w != 0}
        if not again:
            break
        learners = {**learners, **again}
        result = _replaced(result, learn(again))
    rates = [getattr(learner, "eta_w", None) for learner in learners.values()]
    return result.assign(eta_w=("learner", [np.nan if rate is None else float(rate) for rate in rates]))


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
