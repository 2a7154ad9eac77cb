"""Training: one stream of states, any number of learners beside each other."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks, _seeding, metrics
from kenyon.learning.learners import CALIBRATION
from kenyon.learning.prelearning import Prelearned, episodes_needed, prelearn_all, prelearned, start_from
from kenyon.learning.protocol import Diverged, Info, Learns, Source
from kenyon.readout import Readout
from kenyon.reservoir import Batch, Reservoir
from kenyon.tasks import Task

if TYPE_CHECKING:
    import xarray as xr

CHUNK = 1000  # episodes between two looks at the learners


def train(
    learners: Mapping[str, Learns],
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
    expected_accuracy, argmax_accuracy, coding_level, theta_mean, theta_sd, theta and specificity; acceptance, the
    share of Metropolis proposals kept; diverged_at, the episode at which a learner diverged, or -1. `attrs` holds the
    configuration, what prelearning chose, and provenance.
    """
    n_episodes = _checks.integer("n_episodes", n_episodes, 1)
    n_bins = min(_checks.integer("n_bins", n_bins, 1), n_episodes)
    n_test = _checks.integer("n_test", n_test, 1)
    _checks.one_of("diverged", diverged, ("raise", "record"))
    seed = _checks.seed(seed)
    if not learners:
        raise ValueError("learners must hold at least one, such as {'composed': kn.Composed()}")
    edges = np.linspace(0, n_episodes, n_bins + 1).round().astype(int)
    waiting = prelearned(learners)
    with _progress(n_episodes + episodes_needed(waiting), progress) as advance:
        found = prelearn_all(waiting, reservoir, task, seed=seed, threads=threads, advance=advance)
        runs = [_Run(name, one, found.get(name), seed, diverged, edges) for name, one in learners.items()]
        stream = reservoir.stream(task, n_episodes, seed, batch_size=CHUNK, threads=threads)
        head = _take(stream, min(CALIBRATION, n_episodes))
        V = np.concatenate([batch.states for batch in head])
        with ThreadPoolExecutor(threads) as pool:
            _all(pool, lambda run: run.begin(V, task.n_classes), runs)
            for batch in chain(head, stream):
                _all(pool, lambda run, batch=batch: run.learn(batch), runs)
                advance(len(batch.items))
        tests = [_Test(run.readout(), task.n_classes, Source(seed, run.name)) for run in runs]
        for batch in reservoir.stream(task, n_test, _seeding.derive(seed, "test"), batch_size=CHUNK, threads=threads):
            for test in tests:
                test.take(batch)
    return _dataset(runs, tests, edges, _attributes(learners, found, reservoir, task, n_episodes, seed, n_test))


class _Run:
    """One learner under way."""

    def __init__(
        self,
        name: str,
        learner: Learns,
        found: Prelearned | Diverged | None,
        seed: int,
        diverged: str,
        edges: NDArray[np.int_],
    ) -> None:
        self.name, self.learner, self.seed, self.record = name, learner, seed, diverged == "record"
        self.state: Any = None
        self.edges, self.episode = edges, 0
        self.correct = np.zeros(len(edges) - 1)  # right choices in each bin
        self.proposals = np.zeros(2)  # kept, and made
        self.failure = found if isinstance(found, Diverged) else None
        if isinstance(found, Prelearned):
            self.learner = start_from(learner, found)  # type: ignore[arg-type]
        elif self.failure and not self.record:
            raise self.failure

    def begin(self, V: NDArray[np.float32], n_classes: int) -> None:
        if self.failure is None:
            self.state = self.learner.begin(V, n_classes, Source(self.seed, self.name))

    def learn(self, batch: Batch) -> None:
        info = Info(np.empty(0, np.float32), np.full(len(batch.items), np.nan, np.float32), [])
        if self.failure is None:
            try:
                self.state, info = self.learner.update(self.state, batch.states, batch.labels)
            except Diverged as failure:
                if not self.record:
                    raise
                self.failure = failure
        episodes = np.arange(self.episode, self.episode + len(batch.items))
        bins = np.searchsorted(self.edges, episodes, side="right") - 1
        self.correct += np.bincount(bins, info.correct, minlength=len(self.correct))
        self.episode += len(batch.items)
        self.proposals += [sum(one.accepted for one in info.proposals), len(info.proposals)]

    def readout(self) -> Readout | None:
        return None if self.failure else self.learner.readout(self.state)


class _Test:
    """What a readout does on test episodes, summed batch by batch."""

    def __init__(self, readout: Readout | None, n_classes: int, source: Source) -> None:
        self.readout, self.n_classes, self.source, self.n = readout, n_classes, source, 0
        self.sums = np.zeros(4)
        self.counts: Any = 0.0

    def take(self, batch: Batch) -> None:
        n = len(batch.items)
        if self.readout is not None:
            x = self.readout.features(batch.states)
            uniforms = self.source.uniforms("test", self.n, n)[:, 0]
            y = x @ self.readout.W.T / np.float32(self.readout.temperature)
            found = metrics.accuracies(y, batch.labels, uniforms)
            self.sums += n * np.array([*found, metrics.coding_level(x)])
            self.counts = self.counts + metrics.class_sums(x > 0, batch.labels, self.n_classes)
        self.n += n

    def measures(self) -> dict[str, Any]:
        names = ("accuracy", "expected_accuracy", "argmax_accuracy", "coding_level")
        if self.readout is None:
            return dict.fromkeys((*names, "theta", "specificity", "theta_mean", "theta_sd"), np.nan)
        theta = self.readout.theta.astype(np.float64)
        return {
            **dict(zip(names, self.sums / self.n, strict=True)),
            "theta": theta,
            "theta_mean": theta.mean(),
            "theta_sd": theta.std(),
            "specificity": metrics.specificity(self.counts, self.n),
        }


def _dataset(runs: list[_Run], tests: list[_Test], edges: NDArray[np.int_], attributes: dict[str, str]) -> xr.Dataset:
    import xarray as xr

    n_neurons = next((len(test.readout.theta) for test in tests if test.readout is not None), 0)
    measures = [test.measures() for test in tests]
    proposals = [run.proposals for run in runs]
    variables: dict[str, Any] = {
        "training_accuracy": (("learner", "episode"), [run.correct / np.diff(edges) for run in runs])
    }
    for name in measures[0]:
        per_neuron = name in ("theta", "specificity")
        values = [np.broadcast_to(m[name], n_neurons) if per_neuron else m[name] for m in measures]
        variables[name] = (("learner", "neuron") if per_neuron else ("learner",), np.array(values, np.float64))
    variables["acceptance"] = ("learner", [kept / made if made else np.nan for kept, made in proposals])
    variables["diverged_at"] = ("learner", [run.failure.episode if run.failure else -1 for run in runs])
    messages = {run.name: str(run.failure) for run in runs if run.failure}
    coordinates = {"learner": [run.name for run in runs], "episode": edges[1:]}
    return xr.Dataset(variables, coordinates, {**attributes, "diverged": json.dumps(messages)})


def _attributes(
    learners: Mapping[str, Any],
    found: Mapping[str, Prelearned | Diverged],
    reservoir: Reservoir,
    task: Task,
    n_episodes: int,
    seed: int,
    n_test: int,
) -> dict[str, str]:
    from kenyon import __version__

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
    provenance = {"kenyon": __version__, "numpy": np.__version__, "python": platform.python_version()}
    return {
        "config": json.dumps(config),
        "prelearning": json.dumps(record),
        "provenance": json.dumps({**provenance, "machine": platform.machine()}),
    }


def _settings(thing: Any) -> dict[str, Any]:
    """Return the kind of a thing and its settings: the fields of a dataclass, or else its plain attributes."""
    fields = asdict(thing) if is_dataclass(thing) and not isinstance(thing, type) else vars(thing)
    plain = (int, float, str, dict, type(None))
    return {
        "kind": type(thing).__name__,
        **{name: value for name, value in fields.items() if isinstance(value, plain) and not name.startswith("_")},
    }


def _take(stream: Iterator[Batch], n: int) -> list[Batch]:
    """Take batches until they hold at least `n` episodes."""
    taken: list[Batch] = []
    while n > 0:
        taken.append(next(stream))
        n -= len(taken[-1].items)
    return taken


def _all(pool: ThreadPoolExecutor, job: Any, runs: list[_Run]) -> None:
    """Do a job for every run; the first error comes out."""
    for result in [pool.submit(job, run) for run in runs]:
        result.result()


@contextmanager
def _progress(n_episodes: int, wanted: bool | None) -> Iterator[Callable[[int], None]]:
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda n: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        job = bar.add_task("training", total=n_episodes)
        yield lambda n: bar.advance(job, n)
