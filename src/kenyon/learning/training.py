"""Training: one stream of states, any number of learners beside each other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, is_dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks, _seeding
from kenyon.learning.learners import CALIBRATION_EPISODES
from kenyon.learning.prelearning import Prelearned, episodes_needed, prelearn_all, prelearned
from kenyon.learning.protocol import Diverged, LearnerProtocol, Source
from kenyon.learning.runs import (
    EPISODES_PER_CHUNK,
    OF_THE_START,
    PER_NEURON,
    SCALARS,
    Run,
    Test,
    check_learners,
    for_all,
    show_progress,
    take,
)
from kenyon.provenance import environment
from kenyon.reservoir import Reservoir
from kenyon.tasks import Task

if TYPE_CHECKING:
    import xarray as xr


def train(
    learners: Mapping[str, LearnerProtocol],
    reservoir: Reservoir,
    task: Task,
    n_episodes: int = 60_000,
    *,
    seed: int = 0,
    n_bins: int = 60,
    n_test: int = 2000,
    threads: int = 1,
    diverged: str = "raise",
    progress: bool | None = None,
) -> xr.Dataset:
    """Train learners on the same episodes, side by side, and test them on fresh noise.

    Parameters
    ----------
    learners
        Names and learners. A learner's numbers depend on its name and the seed, not on the others.
    reservoir, task
        What they learn.
    n_episodes
        Episodes to learn from.
    seed
        Decides episodes, choices and proposals.
    n_bins
        Points of the training curves, at most one per episode.
    n_test
        Episodes of the test, none met before.
    threads
        Number of threads, for simulation and learning.
    diverged
        "raise" `Diverged` when a learner's cost is no longer finite, or "record" it: its results are NaN and its
        message is in `attrs`, and the others go on.
    progress
        Show a progress bar; by default, on a terminal.

    Returns
    -------
    A Dataset over learner, episode (the last of each bin) and neuron: training_accuracy, from choices made while
    learning, each before its own update; on the test episodes accuracy (of choices drawn from softmax),
    expected_accuracy, argmax_accuracy, coding_level, norm2 (mean of |x|^2), theta_mean, theta_sd, and for each neuron
    theta, activity (the share of episodes in which it is active), specificity and specificity_summed (from summed
    activity instead of counts), both as if all classes were tested equally often; the same from coding_level on, with
    `start_` before their names, for the thresholds it began with; acceptance, the share of Metropolis proposals kept;
    diverged_at, the episode at which a learner diverged, or -1. `attrs` holds the configuration, what prelearning
    chose, and provenance.
    """
    n_episodes = _checks.integer("n_episodes", n_episodes, 1)
    n_bins = min(_checks.integer("n_bins", n_bins, 1), n_episodes)
    n_test = _checks.integer("n_test", n_test, 1)
    _checks.one_of("diverged", diverged, ("raise", "record"))
    seed, threads = _checks.seed(seed), _checks.integer("threads", threads, 1)
    learners, reservoir = check_learners(learners), _checks.instance("reservoir", reservoir, Reservoir)
    task = _checks.instance("task", task, Task)
    edges = np.linspace(0, n_episodes, n_bins + 1).round().astype(int)
    waiting = prelearned(learners)
    with show_progress(n_episodes + episodes_needed(waiting), progress) as advance:
        found = prelearn_all(waiting, reservoir, task, seed=seed, threads=threads, advance=advance)
        runs = [Run(name, one, found.get(name), seed, diverged, edges) for name, one in learners.items()]
        stream = reservoir.stream(task, n_episodes, seed, batch_size=EPISODES_PER_CHUNK, threads=threads)
        head = take(stream, min(CALIBRATION_EPISODES, n_episodes))
        V = np.concatenate([batch.states for batch in head])
        with ThreadPoolExecutor(threads) as pool:
            for_all(pool, lambda run: run.begin(V, task.n_classes), runs)
            for batch in chain(head, stream):
                for_all(pool, lambda run, batch=batch: run.learn(batch), runs)
                advance(len(batch.items))
            tests = [Test(run.readout(), task.n_classes, Source(seed, run.name)) for run in runs]
            starts = [Test(run.start, task.n_classes, Source(seed, run.name)) for run in runs]
            fresh = reservoir.stream(
                task, n_test, _seeding.derive(seed, "test"), batch_size=EPISODES_PER_CHUNK, threads=threads
            )
            for batch in fresh:
                for_all(pool, lambda test, batch=batch: test.take(batch), [*tests, *starts])
    return _dataset(runs, tests, starts, edges, _attributes(learners, found, reservoir, task, n_episodes, seed, n_test))


def _dataset(
    runs: list[Run], tests: list[Test], starts: list[Test], edges: NDArray[np.int_], attributes: dict[str, str]
) -> xr.Dataset:
    import xarray as xr

    n_neurons = next((len(test.readout.theta) for test in [*tests, *starts] if test.readout is not None), 0)
    proposals = [run.proposals for run in runs]
    variables: dict[str, Any] = {
        "training_accuracy": (("learner", "episode"), np.array([run.curve() for run in runs])),
        **_variables("", (*SCALARS, *PER_NEURON), tests, n_neurons),
        **_variables("start_", OF_THE_START, starts, n_neurons),
    }
    variables["acceptance"] = ("learner", [kept / made if made else np.nan for kept, made in proposals])
    variables["diverged_at"] = ("learner", [run.failure.episode if run.failure else -1 for run in runs])
    messages = {run.name: str(run.failure) for run in runs if run.failure}
    coordinates = {"learner": [run.name for run in runs], "episode": edges[1:]}
    return xr.Dataset(variables, coordinates, {**attributes, "diverged": json.dumps(messages)})


def _variables(prefix: str, names: tuple[str, ...], tests: list[Test], n_neurons: int) -> dict[str, Any]:
    """Return measures of all learners as variables; those per neuron in single precision, as thresholds are."""
    measures = [test.measures() for test in tests]
    return {
        prefix + name: (("learner", "neuron"), np.array([np.broadcast_to(m[name], n_neurons) for m in measures], "f4"))
        if name in PER_NEURON
        else (("learner",), np.array([m[name] for m in measures], np.float64))
        for name in names
    }


def _attributes(
    learners: Mapping[str, Any],
    found: Mapping[str, Prelearned | Diverged],
    reservoir: Reservoir,
    task: Task,
    n_episodes: int,
    seed: int,
    n_test: int,
) -> dict[str, str]:
    config = {
        "learners": {name: _settings(one) for name, one in learners.items()},
        "reservoir": _settings(reservoir),
        "task": _settings(task),
        "n_episodes": n_episodes,
        "n_test": n_test,
        "seed": seed,
    }
    record = {
        name: {key: np.asarray(value).tolist() for key, value in one._asdict().items()}
        for name, one in found.items()
        if isinstance(one, Prelearned)
    }
    return {
        "config": json.dumps(config),
        "prelearning": json.dumps(record),
        "provenance": json.dumps(environment()),
    }


def _settings(thing: Any) -> dict[str, Any]:
    """Return the kind of a thing and its settings: the fields of a dataclass, or else its plain attributes."""
    fields = asdict(thing) if is_dataclass(thing) and not isinstance(thing, type) else vars(thing)
    plain = (int, float, str, dict, type(None))
    return {
        "kind": type(thing).__name__,
        **{name: value for name, value in fields.items() if isinstance(value, plain) and not name.startswith("_")},
    }
