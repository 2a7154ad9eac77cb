"""What else the simulator promises: a quick start, cheap noise, large reservoirs built quickly.

python benchmarks/start.py
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from timing import Times, child, interleave

import kenyon as kn

START = """
import sys, time
times = [float(sys.argv[1]), time.time()]
import kenyon as kn
times.append(time.time())
task, reservoir = kn.StaticTask(kn.load_odours()), kn.Reservoir()
times.append(time.time())
next(reservoir.stream(task, 1))
times.append(time.time())
print(*(after - before for before, after in zip(times, times[1:])))
"""
LINE = """
from numba import njit

@njit(cache=True)
def first(values):
    return values[0]
"""
ALONE = """
import sys, time
start = float(sys.argv[1])
sys.path.insert(0, sys.argv[2])
import numpy as np
from line import first
first(np.zeros(1))
print(time.time() - start)
"""
BUILD = """
import time, kenyon as kn
kn.Reservoir(100)
start = time.perf_counter()
kn.Reservoir(20_000)
print(time.perf_counter() - start)
"""


def start() -> tuple[Times, Times]:
    """Time fresh processes with cached kernels, and what Numba alone takes to call a function of one line.

    The first of each, which may compile, is not counted.
    """
    with TemporaryDirectory() as folder:
        Path(folder, "line.py").write_text(LINE)
        runs = [(_start(START, "."), _start(ALONE, folder)) for _ in range(8)]
    ours, least = np.array(runs[1:]).T
    return Times(ours), Times(least)


def _start(code: str, folder: str) -> float:
    return sum(child("start", code, repr(time.time()), folder))


def build() -> Times:
    return Times(np.array([child("20,000 neurons", BUILD)[0] for _ in range(3)]))


def noise(rounds: int) -> float:
    """Return the share of a step that noise takes, on one thread, from runs next to each other in time."""
    odours, reservoir = kn.load_odours(), kn.Reservoir()
    tasks = {"noise": kn.StaticTask(odours), "no noise": kn.StaticTask(odours, noise=0.0)}
    times = interleave({name: lambda t=task: list(reservoir.stream(t, 512)) for name, task in tasks.items()}, rounds)
    return float(1 - np.median(times["no noise"].values / times["noise"].values))


def small_batches(rounds: int) -> dict[int, Times]:
    """Time a call for few episodes, on one thread, per episode."""
    reservoir, task = kn.Reservoir(), kn.StaticTask(kn.load_odours())
    sizes = (1, 2, 4, 8, 16, 32, 64, 256)
    times = interleave({str(n): lambda n=n: list(reservoir.stream(task, n)) for n in sizes}, rounds)
    return {n: Times(times[str(n)].values / n) for n in sizes}


def main() -> None:
    ours, least = start()
    print(f"from a process's start to its first episode: {ours.text(1)} s; to a line of Numba: {least.text(1)} s")
    print(f"20,000 neurons built in {build().text(1)} s")
    print(f"noise takes {noise(15):.0%} of a step")
    for n, taken in small_batches(5).items():
        print(f"{n} episodes at once: {taken.text()} us each")


if __name__ == "__main__":
    main()
