"""Running the trials of an experiment: in this process, in processes of this machine, or on a Dask cluster.

Trials that have a result are not run again. A worker returns the bytes of a result and this process alone writes
them, so a cluster needs no shared disk. A worker that dies takes its trial along, which is then tried again.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any, NamedTuple

from kenyon import _checks
from kenyon.experiment.config import TrialConfig
from kenyon.experiment.progress import Report
from kenyon.experiment.store import Store
from kenyon.experiment.sweep import Experiment
from kenyon.experiment.trial import execute
from kenyon.provenance import git_commit

ATTEMPTS = 3  # of a trial whose worker died
BEAT = 1.0  # seconds between two signs of life
PATIENCE = 10.0  # seconds for a scheduler to answer


class Stopped(SystemExit):
    """A sweep that was told to terminate; its code is what a shell makes of that."""


class ClusterError(RuntimeError):
    """A cluster that cannot be reached, or no longer."""


class SweepSummary(NamedTuple):
    """What became of a sweep."""

    n_trials: int
    n_new: int  # finished now
    failed: dict[str, str]
    seconds: float


class Workers(NamedTuple):
    """Where trials run: how to make an executor, how to leave it at once, how many trials it works on at a time."""

    make: Callable[[], Executor]
    leave: Callable[[Executor], None]
    at_once: int
    scheduler: str = ""  # its address, if there is one


def run_experiment(
    experiment: Experiment,
    folder: str | Path,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    report: Report | None = None,
) -> SweepSummary:
    """Run those trials of an experiment that have no result yet.

    Parameters
    ----------
    experiment
        What to run, from `load_experiment`.
    folder
        Where to keep results; they are found again there.
    workers
        Processes that run trials, one kernel thread each: by default as many as there are processors. 0 runs them in
        this process.
    cluster
        Address of a Dask scheduler that runs them instead.
    report
        What to tell of progress, and how.
    """
    _checks.instance("experiment", experiment, Experiment)
    if cluster is not None:
        _checks.instance("cluster", cluster, str)
    if workers is not None:
        _checks.integer("workers", workers, 0)
    store, report = Store(folder), Report() if report is None else _checks.instance("report", report, Report)
    store.create()
    store.register(experiment)
    finished = set(store.finished())
    store.check(trial.id for trial in experiment.trials if trial.id in finished)
    todo = [trial for trial in experiment.trials if trial.id not in finished]
    start, crew = time.monotonic(), _workers(workers, cluster) if todo else None
    with report, _stoppable():
        report.begin(experiment.name, len(experiment.trials) - len(todo), todo)
        failed = _Sweep(store, experiment.name, report, crew).run(todo) if crew else {}
    return SweepSummary(len(experiment.trials), len(todo) - len(failed), failed, time.monotonic() - start)


class _Sweep:
    """A sweep under way."""

    def __init__(self, store: Store, name: str, report: Report, workers: Workers) -> None:
        self.store, self.name, self.report, self.workers = store, name, report, workers
        self.attempts: Counter[str] = Counter()
        self.failed: dict[str, str] = {}
        self.running: dict[Future[bytes], TrialConfig] = {}
        self.began: dict[str, float] = {}
        self.todo: deque[TrialConfig] = deque()
        self.commit = git_commit()

    def run(self, trials: list[TrialConfig]) -> dict[str, str]:
        """Run trials; return the reasons of those that failed."""
        self.todo.extend(trials)
        pool = self.workers.make()
        try:
            while self.todo or self.running:
                self._fill(pool)
                done, _ = wait(self.running, timeout=BEAT, return_when=FIRST_COMPLETED)
                alive = [self._take(future) for future in done]
                if not all(alive):
                    self._again()
                    self.workers.leave(pool)
                    pool = self.workers.make()
                self._sign()
        finally:
            self.workers.leave(pool)
            self.store.end_heartbeat(self.name)
        return self.failed

    def _fill(self, pool: Executor) -> None:
        while self.todo and len(self.running) < self.workers.at_once:
            trial = self.todo.popleft()
            self.began[trial.id] = time.monotonic()
            self.report.started(trial)
            try:
                self.running[pool.submit(execute, trial.canonical(), self.commit)] = trial
            except BrokenExecutor:
                self.todo.appendleft(trial)
                return
            except Exception as error:
                raise self._lost() if _lost(error) else error from None

    def _take(self, future: Future[bytes]) -> bool:
        """Keep what came of a trial; return whether its worker is still alive."""
        trial = self.running[future]
        try:
            contents = future.result()
        except BrokenExecutor:
            return False
        except Exception as error:
            if _lost(error):
                raise self._lost() from None
            self._fail(trial, _line(error))
        else:
            self.store.save(trial.id, contents)
            self.report.finished(trial, time.monotonic() - self.began[trial.id])
        del self.running[future]
        return True

    def _lost(self) -> ClusterError:
        return ClusterError(
            f"the Dask scheduler at {self.workers.scheduler} was lost; start it again, or another, "
            "and run the same command again: what is done is kept"
        )

    def _fail(self, trial: TrialConfig, reason: str) -> None:
        self.failed[trial.id] = reason
        self.store.fail(trial.id, reason)
        self.report.failed(trial, reason)

    def _again(self) -> None:
        """Put the trials of dead workers back, unless they were tried too often."""
        for trial in self.running.values():
            self.attempts[trial.id] += 1
            if self.attempts[trial.id] < ATTEMPTS:
                self.report.retried(trial)
                self.todo.append(trial)
            else:
                self._fail(trial, f"its worker died {ATTEMPTS} times; is there memory enough?")
        self.running.clear()

    def _sign(self) -> None:
        self.report.beat([trial.id for trial in self.running.values()])
        running = [trial.id for trial in self.running.values()]
        self.store.heartbeat(self.name, running=running, time=time.time(), left=self.report.left)


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
    workers = _checks.integer("workers", workers, 0)
    if workers == 0:
        return Workers(_Here, Executor.shutdown, 1)
    context = multiprocessing.get_context("spawn")
    return Workers(lambda: ProcessPoolExecutor(workers, context, initializer=_begin_worker), _end_workers, workers)


def _cluster(address: str) -> Workers:
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("cluster needs Dask: pip install 'kenyon[cluster]'") from None
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # a lost scheduler is told by us, in one line
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"no Dask scheduler answers at {address} ({_line(error)})") from None
    at_once = max(1, 2 * sum(client.nthreads().values()))

    def leave(pool: Executor) -> None:
        pool.shutdown(wait=False)
        client.close(timeout=PATIENCE)

    return Workers(lambda: client.get_executor(retries=ATTEMPTS), leave, at_once, address)


def _lost(error: BaseException) -> bool:
    """Tell whether an error is that of a cluster that went away, not of a trial."""
    return type(error).__name__ in ("FutureCancelledError", "CancelledError", "CommClosedError")


def _begin_worker() -> None:
    """Leave interrupts to the parent, and end when it ends, however that came about."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch(sentinel: int) -> None:
        wait_for([sentinel])
        os._exit(1)

    if parent is not None:
        threading.Thread(target=watch, args=(parent.sentinel,), daemon=True).start()


def _end_workers(pool: Executor) -> None:
    """End processes, whatever they are doing."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let a request to terminate, which is what a cluster's queue sends, end a sweep as an interrupt does."""
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
