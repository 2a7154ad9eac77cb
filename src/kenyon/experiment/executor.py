"""Running the trials of an experiment: in this process, in other processes on this machine, or on a Dask cluster.

Trials that have a result are not run again. Workers return the contents of a result's file and only this process writes
it, so a cluster needs no shared disk. The trial of a worker that dies is tried again. Trials that learn from the same
stream of states run together, in one job, as long as there are jobs enough to keep all workers busy.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager
from functools import cached_property
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any, NamedTuple, Self

from kenyon import _checks
from kenyon.experiment.config import TrialConfig
from kenyon.experiment.first_stages import FirstStages
from kenyon.experiment.reports import Report
from kenyon.experiment.store import Store
from kenyon.experiment.sweep import Experiment
from kenyon.experiment.trial import execute, stream_of
from kenyon.provenance import git_commit

ATTEMPTS = 3  # at a trial whose worker dies
BEAT = 1.0  # seconds between two heartbeats
JOBS_EACH = 4  # for every worker, before trials share a job
PATIENCE = 10.0  # seconds for a scheduler to answer


class Stopped(SystemExit):
    """A sweep that was terminated; the code is the one that a shell reports for that."""


class ClusterError(RuntimeError):
    """A cluster that cannot be reached, or can no longer be."""


class SweepSummary(NamedTuple):
    """How a sweep ended."""

    n_trials: int
    n_new: int  # finished in this run
    failed: dict[str, str]  # reasons by trial
    seconds: float


class Workers(NamedTuple):
    """Where trials run."""

    make: Callable[[], Executor]
    leave: Callable[[Executor], None]  # at once
    n_at_once: int  # trials that are handed out at a time
    scheduler: str = ""  # its address, if there is one


class Crew:
    """Workers that come when there is something to do, and stay for all that is run within: they take seconds to come.

    `workers` and `cluster` are as in `run_experiment`.
    """

    def __init__(self, workers: int | None, cluster: str | None) -> None:
        self._asked = workers, cluster
        self._pool: Executor | None = None

    @cached_property
    def workers(self) -> Workers:
        """Where they come from."""
        return _workers(*self._asked)

    @property
    def pool(self) -> Executor:
        """Those who are there."""
        if self._pool is None:
            self._pool = self.workers.make()
        return self._pool

    def leave(self) -> None:
        """Send them away at once; others come when there is something to do again."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            self.workers.leave(pool)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


def run_experiment(
    experiment: Experiment,
    folder: str | Path,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    report: Report | None = None,
) -> SweepSummary:
    """Run the trials of an experiment that have no result yet; first stages (prelearning, tuning) before all others.

    Parameters
    ----------
    experiment
        What to run, from `load_experiment`.
    folder
        Where to store results, and to look for those of earlier runs.
    workers
        Number of processes, with one kernel thread each; by default one per processor. With 0, trials run in this
        process.
    cluster
        Address of a Dask scheduler that runs them instead.
    report
        Called at every event, to show progress.
    """
    _checks.instance("experiment", experiment, Experiment)
    if cluster is not None:
        _checks.instance("cluster", cluster, str)
    if workers is not None:
        _checks.integer("workers", workers, 0)
    store, report = Store(folder), Report() if report is None else _checks.instance("report", report, Report)
    start, n_new = time.monotonic(), 0

    first = FirstStages(store)
    with Crew(workers, cluster) as crew:
        while trials := first.pending(experiment):
            summary = _run(Experiment(experiment.name, tuple(trials), {}), first.store, crew, report)
            n_new += summary.n_new
            if summary.failed:
                return SweepSummary(len(trials), n_new, summary.failed, time.monotonic() - start)
        summary = _run(first.settled(experiment), store, crew, report)
    return summary._replace(n_new=n_new + summary.n_new, seconds=time.monotonic() - start)


def _run(experiment: Experiment, store: Store, crew: Crew, report: Report) -> SweepSummary:
    """Run the trials that have no result in the store yet."""
    store.create()
    store.register(experiment)
    return run_trials(experiment, store, crew, report)


def run_trials(experiment: Experiment, store: Store, crew: Crew, report: Report) -> SweepSummary:
    """Run trials that have no result yet, leaving the list of the experiment's trials as it is."""
    finished = set(store.finished())
    store.check(trial.id for trial in experiment.trials if trial.id in finished)
    todo = [trial for trial in experiment.trials if trial.id not in finished]
    start, sweep = time.monotonic(), _Sweep(store, experiment.name, report, crew) if todo else None
    with closing(report), _stoppable():
        report.begin(experiment.name, experiment.trials, todo)
        failed = sweep.run(todo) if sweep else {}
    return SweepSummary(len(experiment.trials), len(todo) - len(failed), failed, time.monotonic() - start)


Job = tuple[TrialConfig, ...]  # trials that run together


class Running(NamedTuple):
    """A job that a worker has."""

    job: Job
    began: float


class _Sweep:
    """A running sweep."""

    def __init__(self, store: Store, name: str, report: Report, crew: Crew) -> None:
        self.store, self.name, self.report = store, name, report
        self.crew, self.workers = crew, crew.workers
        self.attempts: Counter[str] = Counter()
        self.failed: dict[str, str] = {}
        self.running: dict[Future[list[bytes]], Running] = {}
        self.todo: deque[Job] = deque()
        self.commit = git_commit()

    def run(self, trials: list[TrialConfig]) -> dict[str, str]:
        """Run trials; return why some failed."""
        self.todo.extend(jobs(trials, self.workers.n_at_once))
        try:
            while self.todo or self.running:
                alive = [self._fill()]
                done, _ = wait(self.running, timeout=BEAT, return_when=FIRST_COMPLETED)
                alive += [self._take(future) for future in done]
                if not all(alive):
                    self._put_back()
                    self.crew.leave()
                running = [trial.id for own in self.running.values() for trial in own.job]
                self.report.beat(running)
                self.store.heartbeat(self.name, running=running, time=time.time(), left=self.report.left)
        finally:
            self.store.end_heartbeat(self.name)
        return self.failed

    def _fill(self) -> bool:
        """Hand out jobs; return whether there is someone alive to work on them."""
        while self.todo and len(self.running) < self.workers.n_at_once:
            job, began = self.todo.popleft(), time.monotonic()
            for trial in job:
                self.report.started(trial)
            try:
                future = self.crew.pool.submit(execute, [trial.canonical() for trial in job], self.commit)
            except BrokenExecutor:
                self.todo.appendleft(job)
                return bool(self.running)
            except Exception as error:
                raise self._lost() if _lost(error) else error from None
            self.running[future] = Running(job, began)
        return True

    def _take(self, future: Future[list[bytes]]) -> bool:
        """Store the results of a job, or why it failed; return whether its worker is still alive."""
        job, began = self.running[future]
        try:
            contents = future.result()
        except BrokenExecutor:
            return False
        except Exception as error:
            if _lost(error):
                raise self._lost() from None
            self._fail(job, _line(error))
        else:
            seconds = (time.monotonic() - began) / len(job)
            for trial, content in zip(job, contents, strict=True):
                self.store.save(trial.id, content)
                self.report.finished(trial, seconds)
        del self.running[future]
        return True

    def _lost(self) -> ClusterError:
        return ClusterError(
            f"the Dask scheduler at {self.workers.scheduler} was lost; start it again, or another, "
            "and run the same command again: finished trials are kept"
        )

    def _fail(self, job: Job, reason: str) -> None:
        """Record why a trial failed; of several, try each by itself first."""
        if len(job) > 1:
            self.todo.extend((trial,) for trial in job)
            return
        self.failed[job[0].id] = reason
        self.store.fail(job[0].id, reason)
        self.report.failed(job[0], reason)

    def _put_back(self) -> None:
        """Put back the trials of dead workers, each by itself, unless they were tried too often."""
        for trial in (trial for running in self.running.values() for trial in running.job):
            self.attempts[trial.id] += 1
            if self.attempts[trial.id] < ATTEMPTS:
                self.report.retried(trial)
                self.todo.append((trial,))
            else:
                self._fail((trial,), f"its worker died {ATTEMPTS} times; is there enough memory?")
        self.running.clear()


def jobs(trials: Sequence[TrialConfig], n_at_once: int) -> list[Job]:
    """Return trials as jobs: those with the same stream together, as far as every worker has several jobs left.

    The longest come first, so that no worker is left with one at the end.
    """
    most = max(1, len(trials) // (JOBS_EACH * n_at_once))
    streams: dict[str, list[TrialConfig]] = {}
    for trial in trials:
        streams.setdefault(stream_of(trial), []).append(trial)
    made = [tuple(own[i : i + most]) for own in streams.values() for i in range(0, len(own), most)]
    return sorted(made, key=lambda job: -sum(trial.work for trial in job))


class _Here(Executor):
    """Runs each job at once, in this process."""

    def submit(self, job: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Run a job."""
        future: Future[Any] = Future()
        try:
            future.set_result(job(*arguments, **options))
        except Exception as error:
            future.set_exception(error)
        return future


def _workers(workers: int | None, cluster: str | None) -> Workers:
    if cluster is not None:
        return _cluster(cluster)
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers == 0:
        return Workers(_Here, Executor.shutdown, 1)
    context = multiprocessing.get_context("spawn")
    return Workers(lambda: ProcessPoolExecutor(workers, context, initializer=_begin_worker), _end_workers, workers)


def _cluster(address: str) -> Workers:
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise _checks.missing("cluster", "distributed") from None
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # we report a lost scheduler, in one line
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"no Dask scheduler answers at {address} ({_line(error)})") from None

    def leave(pool: Executor) -> None:
        pool.shutdown(wait=False)
        client.close(timeout=PATIENCE)

    return Workers(
        lambda: client.get_executor(retries=ATTEMPTS), leave, max(1, 2 * sum(client.nthreads().values())), address
    )


def _lost(error: BaseException) -> bool:
    """Tell whether an error means that the cluster is gone, not that a trial failed."""
    return type(error).__name__ in ("FutureCancelledError", "CancelledError", "CommClosedError")


def _begin_worker() -> None:
    """Leave interrupts to the parent, and end when it ends, for whatever reason."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch(sentinel: int) -> None:
        wait_for([sentinel])
        os._exit(1)

    if parent is not None:
        threading.Thread(target=watch, args=(parent.sentinel,), daemon=True).start()


def _end_workers(pool: Executor) -> None:
    """End all processes, whatever they are doing."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM, which the queue of a cluster sends, end a sweep as an interrupt does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise Stopped(128 + signal.SIGTERM)

    old = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"
