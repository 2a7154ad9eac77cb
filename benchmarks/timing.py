"""Tools for all benchmarks: interleaved rounds, separate processes, a description of the machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PACKAGES = ["kenyon", "numpy", "scipy", "numba", "torch", "jax", "reservoirpy", "pyrcn", "rclib"]

BUSY = 0.2  # a share by which a fixed loop takes longer: more than the differences that we look for
REST = 0.2  # seconds of rest: threads of the work before may still be spinning
LEAST = 0.05  # seconds: shorter work is done again until it has taken as long, since its first time is about waking up


class Times(NamedTuple):
    """Seconds of the same work in several rounds."""

    values: NDArray[np.float64]

    @property
    def median(self) -> float:
        return float(np.median(self.values))

    def text(self, unit: float = 1e-6) -> str:
        """Return median, shortest and longest, in the given unit of seconds, to three figures."""
        middle, least, most = (_three(value / unit) for value in (self.median, self.values.min(), self.values.max()))
        return f"{middle} ({least} to {most})"


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"


def interleave(works: Mapping[str, Callable[[], object]], rounds: int, warm: int = 1) -> dict[str, Times]:
    """Time every piece of work in each round, so that a busy moment of the machine affects all alike."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for k in range(warm + rounds):
        say(f"round {k + 1 - warm} of {rounds}: {', '.join(works)}")
        for name, work in works.items():
            time.sleep(REST)
            times[name].append(_once(work))
    return {name: Times(np.array(taken[warm:])) for name, taken in times.items()}


def _once(work: Callable[[], object]) -> float:
    """Return the seconds that a piece of work takes, on average where it is short."""
    start, n, taken = time.perf_counter(), 0, 0.0
    while taken < LEAST:
        work()
        n, taken = n + 1, time.perf_counter() - start
    return taken / n


def ratio(theirs: Times, ours: Times) -> float:
    """Return how many times as long they take, by medians."""
    return theirs.median / ours.median


def child(what: str, code: str, *arguments: str) -> list[float]:
    """Run code in a separate Python process and return the numbers it prints."""
    say(f"in a process of its own: {what}")
    done = subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def say(text: str) -> None:
    """Show progress on stderr, away from the results."""
    print(text, file=sys.stderr, flush=True)


def machine() -> list[str]:
    """Describe the machine and the versions, a line each."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")]
    return [
        f"{models[0] if models else platform.processor()}, {os.cpu_count()} cores, {platform.system()}; "
        f"before the start a fixed loop took {_longer(disturbance())}",
        f"Python {platform.python_version()}, " + ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
    ]


def meanwhile(delays: Sequence[float]) -> str:
    """Describe how disturbed the machine was in the course of a run."""
    return f"in the course of the run the same loop took up to {_longer(max(delays))}"


def _longer(delay: float) -> str:
    busy = " (busy: figures are worse than they would be)" if delay > BUSY else ""
    return f"{delay:.0%} longer than at its best{busy}"


def disturbance(threads: int = 2, n: int = 200) -> float:
    """Return by how much a fixed loop, in as many threads, takes longer on average than at its best.

    A machine at rest gives a few hundredths. Unlike the load, it is not about the minutes before.
    """
    values = np.ones(300_000)

    def once(_: int) -> float:
        start = time.perf_counter()
        values.cumsum()
        return time.perf_counter() - start

    with ThreadPoolExecutor(threads) as pool:
        taken = np.array(list(pool.map(once, range(n))))
    return float(taken.mean() / taken.min() - 1)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
