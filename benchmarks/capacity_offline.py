"""Offline readouts of the task and the reservoir of a trial, on states that are simulated once and kept in memory.

Everything is chosen on validation noise (thresholds, penalties, rates, how many episodes) and judged on the test
episodes of the online learners. Each result is a small JSON file, named by all that it depends on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from capacity_plan import METHODS, OFFLINE, READ, TRAINED, Effort
from capacity_solvers import Floats, Readout, Sums, descend, logistic, ridge
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kenyon import _seeding
from kenyon._files import write_whole
from kenyon.experiment.config import TrialConfig
from kenyon.learning.learners import CALIBRATION_EPISODES

RIDGE = {  # penalties that are tried
    "V": (1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6),
    "x": (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
}
LOGISTIC = {"V": (1e-11, 1e-10, 1e-9, 1e-8), "x": (1e-6, 1e-5, 1e-4, 1e-3)}
CHOOSING = (1e-6, 1e-3)  # penalties with which thresholds are compared
ITERATIONS = 30  # of L-BFGS, from ridge regression or from the solution with half of the episodes
FORMAT = 1  # raised whenever the same settings give other numbers
Result = dict[str, Any]


class Job(NamedTuple):
    """The offline readouts of one trial."""

    settings: str  # of the trial, as JSON, so that other processes can read them
    learned: Mapping[str, NDArray[np.float32]]  # thresholds that online learners came to
    effort: Effort

    @property
    def trial(self) -> TrialConfig:
        return _trial(self.settings)

    def file(self, folder: Path, name: str) -> Path:
        """Return where the result of a readout is, or will be."""
        settings = [FORMAT, self.trial.id, self.effort, RIDGE, LOGISTIC, CHOOSING, ITERATIONS, name]
        return folder / f"{sha256(json.dumps(settings).encode()).hexdigest()[:20]}.json"

    def missing(self, folder: Path) -> list[str]:
        return [name for name in OFFLINE if not self.file(folder, name).exists()]

    @property
    def work(self) -> float:
        """About how long it takes, in arbitrary units."""
        n_neurons, n_odours = self.trial.reservoir.n_neurons, self.trial.task.size
        return float(self.effort.per_odour(n_neurons, n_odours) * n_odours * n_neurons * (n_neurons + 1000))


@cache
def _trial(settings: str) -> TrialConfig:
    return TrialConfig.model_validate_json(settings)


class States:
    """Episodes of a trial's task, in units of each neuron's deviation; those to learn from grow as they are asked for.

    Units and percentiles are those of the calibration episodes of the online learners.
    """

    def __init__(self, job: Job) -> None:
        trial, self.effort, self.seed = job.trial, job.effort, job.trial.seed
        self.task = trial.task.build(trial.seed)
        self.reservoir = trial.reservoir.build(self.task, trial.seed)
        n, self.n_odours = trial.reservoir.n_neurons, trial.task.size
        self.most = self.effort.per_odour(n, self.n_odours)
        self.mean, self.sd = np.zeros(n, np.float32), np.ones(n, np.float32)
        self.calibration, _ = self._simulated(min(CALIBRATION_EPISODES, trial.n_episodes), self.seed)
        self.mean, self.sd = self.calibration.mean(axis=0), self.calibration.std(axis=0)
        self.sd[self.sd == 0] = 1
        self.calibration = self.scaled(self.calibration)
        self.validation = self._simulated(self.effort.n_validation, _seeding.derive(self.seed, "validation"))
        self.test = self._simulated(trial.n_test, _seeding.derive(self.seed, "test"))
        self._V = np.empty((self.most * self.n_odours, n), np.float32)
        self._signs, self._n = np.empty(len(self._V), np.float32), 0

    def scaled(self, V: Floats) -> Floats:
        """Return states, or thresholds, in units of each neuron's deviation from its mean."""
        V = V - self.mean
        V /= self.sd
        return V

    def first(self, per_odour: int) -> tuple[Floats, Floats]:
        """Return so many episodes for each odour, on average, and their signs."""
        n, piece = per_odour * self.n_odours, self.effort.few * self.n_odours
        while self._n < n:  # in pieces of one size, so that episodes are the same in whichever steps they are asked for
            part = slice(self._n, min(self._n + piece, len(self._V)))
            self._simulate(self._V[part], self._signs[part], _seeding.derive(self.seed, "capacity", str(self._n)))
            self._n = part.stop
        return self._V[:n], self._signs[:n]

    def doubled(self) -> Iterator[int]:
        """Yield numbers of episodes for each odour."""
        n = self.effort.first
        while n <= self.most:
            yield n
            n *= 2

    def thresholds(self, q: float, code: str) -> Floats:
        on, off = (np.percentile(self.calibration, p, axis=0).astype(np.float32) for p in (q, 100 - q))
        return np.concatenate([on, off]) if code == "on/off" else on

    def _simulated(self, n: int, seed: int) -> tuple[Floats, Floats]:
        V, signs = np.empty((n, len(self.mean)), np.float32), np.empty(n, np.float32)
        self._simulate(V, signs, seed)
        return V, signs

    def _simulate(self, V: Floats, signs: Floats, seed: int) -> None:
        """Fill V and signs with episodes."""
        first = 0
        for batch in self.reservoir.stream(self.task, len(V), seed, batch_size=512):
            part = slice(first, first + len(batch.labels))
            V[part], signs[part], first = self.scaled(batch.states), 2 * batch.labels - 1, part.stop


def solve(job: Job, folder: Path) -> float:
    """Find and store the readouts of a trial that have no result yet; return the seconds it took."""
    began, missing = time.perf_counter(), job.missing(folder)
    with threadpool_limits(1, "blas"):
        states = States(job) if missing else None
        for code in READ:
            if states and any(f"{method} on {code}" in missing for method in METHODS):
                _store(job, folder, {f"{method} on {code}": one for method, one in linear(states, job, code).items()})
        if states and TRAINED in missing:
            _store(job, folder, {TRAINED: trained(states)})
    return time.perf_counter() - began


def _store(job: Job, folder: Path, found: Mapping[str, Result]) -> None:
    for name, result in found.items():
        write_whole(job.file(folder, name), json.dumps(result))


def linear(states: States, job: Job, code: str) -> dict[str, Result]:
    """Return the best ridge and logistic regression on one code, its thresholds held."""
    name, start = _chosen_start(states, _starts(states, job, code))
    methods = {method: _Method(states, solver, grid) for method, (solver, grid) in _solvers(code).items()}
    sums, before, began = Sums.none(len(start.w)), 0, time.perf_counter()
    for n in states.doubled():
        V, signs = states.first(n)
        sums, before = sums.add(start, V[before:], signs[before:]), len(V)
        for method in methods.values():
            method.go_on(n, V, signs, sums, start)
        if not any(method.rising for method in methods.values()):
            break
    took = time.perf_counter() - began
    return {key: {**method.result(), "thresholds": name, "seconds": took} for key, method in methods.items()}


def _solvers(code: str) -> dict[str, tuple[Callable[..., Readout], tuple[float, ...]]]:
    grid = "V" if code == "V" else "x"
    return dict(zip(METHODS, ((_ridge, RIDGE[grid]), (_logistic, LOGISTIC[grid])), strict=True))


def _ridge(V: Floats, signs: Floats, sums: Sums, penalty: float, start: Readout, last: Readout | None) -> Readout:
    return ridge(sums, penalty, start)


def _logistic(V: Floats, signs: Floats, sums: Sums, penalty: float, start: Readout, last: Readout | None) -> Readout:
    return logistic(V, signs, sums, penalty, last or ridge(sums, penalty, start), ITERATIONS)


class _Method:
    """One way to solve for the weights, on more and more episodes as long as it helps."""

    def __init__(self, states: States, solver: Callable[..., Readout], grid: tuple[float, ...]) -> None:
        self.states, self.solver, self.grid, self.rising = states, solver, grid, True
        self.course: dict[int, float] = {}
        self.best: tuple[float, int, float, Readout] | None = None
        self.last: Readout | None = None

    def go_on(self, n: int, V: Floats, signs: Floats, sums: Sums, start: Readout) -> None:
        """Solve with n episodes for each odour, and see whether they helped."""
        if not self.rising:
            return
        found = []
        for penalty in self.grid:
            with suppress(LinAlgError):  # too small a penalty for sums of finite precision
                readout = self.solver(V, signs, sums, penalty, start, self.last)
                found.append((readout.accuracy(*self.states.validation), n, penalty, readout))
        top = max(found, key=lambda one: one[0])
        self.rising = self.best is None or top[0] >= self.best[0] + self.states.effort.rise
        self.course[n], self.last = top[0], top[3]
        self.best = top if self.best is None or top[0] > self.best[0] else self.best
        if self.solver is _logistic:  # which takes long: from now on only that penalty and the next smaller one
            self.grid = tuple(penalty for penalty in self.grid if penalty <= top[2])[-2:]

    def result(self) -> Result:
        assert self.best is not None
        validation, n, penalty, readout = self.best
        return {
            "accuracy": readout.accuracy(*self.states.test), "validation": validation, "episodes": n,
            "penalty": penalty, "course": self.course, "rising": self.rising,
        }  # fmt: skip


def _starts(states: States, job: Job, code: str) -> dict[str, Readout]:
    """Return a code with all thresholds that it may have, without weights."""
    if code == "V":
        return {"none": _start(np.zeros(len(states.mean), np.float32), linear=True)}
    held = {f"percentile {q:g}": states.thresholds(q, code) for q in states.effort.percentiles}
    learned = {
        f"those of {name}": states.scaled(theta) for name, theta in job.learned.items() if np.isfinite(theta).all()
    }
    return {name: _start(theta) for name, theta in ({**held, **learned} if code == "x" else held).items()}


def _start(theta: Floats, *, linear: bool = False) -> Readout:
    return Readout(np.zeros(len(theta), np.float32), theta, 0.0, linear)


def _chosen_start(states: States, starts: Mapping[str, Readout]) -> tuple[str, Readout]:
    """Return the thresholds with which ridge regression on a few episodes is best."""
    if len(starts) == 1:
        return next(iter(starts.items()))
    V, signs = states.first(states.effort.few)

    def score(name: str) -> float:
        sums = Sums.none(len(starts[name].w)).add(starts[name], V, signs)
        found = [0.0]
        for penalty in CHOOSING:
            with suppress(LinAlgError):  # with fewer episodes than units
                found.append(ridge(sums, penalty, starts[name]).accuracy(*states.validation))
        return max(found)

    best = max(starts, key=score)
    return best, starts[best]


def trained(states: States) -> Result:
    """Return weights and thresholds of both sides trained together: restarts, and the best of them for longer."""
    effort, began = states.effort, time.perf_counter()
    n = min(effort.trained, states.most)
    V, signs = states.first(n)

    def run(q: float, rate: float, epochs: int) -> tuple[float, Readout]:
        rng = _seeding.generator(states.seed, "capacity", f"{q} {rate} {epochs}")
        own = rate * np.sqrt(1000 / V.shape[1])
        found = descend(V, signs, _start(states.thresholds(q, "on/off")), rng, epochs=epochs, rate=own)
        return found.accuracy(*states.validation), found

    tried = {(q, rate): run(q, rate, effort.short) for q in effort.starts for rate in effort.rates}
    q, rate = max(tried, key=lambda key: tried[key][0])
    validation, readout = max(tried[q, rate], run(q, rate, effort.long), key=lambda one: one[0])
    return {
        "accuracy": readout.accuracy(*states.test), "validation": validation, "episodes": n, "start": q,
        "rate": rate, "course": {f"{q:g}, {rate:g}": one[0] for (q, rate), one in tried.items()},
        "seconds": time.perf_counter() - began,
    }  # fmt: skip
