"""How time and memory grow: with episodes, neurons, connections, steps, classes and threads.

python benchmarks/growth.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import workloads
from timing import Times, child, interleave
from workloads import THREADS

import kenyon as kn

# The peak is read from the kernel where it can be: a child's ru_maxrss starts at what its parent used.
PEAK = """
import sys
import kenyon as kn
task, reservoir = kn.StaticTask(kn.load_odours()), kn.Reservoir(int(sys.argv[2]))
for batch in reservoir.stream(task, int(sys.argv[1]), threads=2):
    pass
try:
    print(next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
except FileNotFoundError:
    import resource
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


class Curve(NamedTuple):
    """Times, or memory, against the quantity that grows."""

    name: str
    unit: str
    x: list[float]
    times: list[Times]
    wanted: tuple[float, float] | None = None  # the exponent must lie between

    @property
    def y(self) -> list[float]:
        return [times.median for times in self.times]

    @property
    def exponent(self) -> float:
        """The slope of a straight line through the logarithms, by least squares."""
        return float(np.polyfit(np.log(self.x), np.log(self.y), 1)[0])

    @property
    def kept(self) -> bool:
        return self.wanted is None or self.wanted[0] <= self.exponent <= self.wanted[1]


LINEAR = (0.9, 1.1)


def simulating(reservoir: kn.Reservoir, task: kn.Task, n: int, threads: int = THREADS) -> Callable[[], object]:
    return lambda: [None for _ in reservoir.stream(task, n, threads=threads)]


def measured(
    name: str,
    unit: str,
    works: dict[float, Callable[[], object]],
    rounds: int,
    wanted: tuple[float, float] | None = None,
) -> Curve:
    times = interleave({f"{x:g} {name}": work for x, work in works.items()}, rounds)
    return Curve(name, unit, list(works), list(times.values()), wanted)


def curves(rounds: int) -> list[Curve]:
    odours, reservoir = kn.load_odours(), kn.Reservoir()
    task = kn.StaticTask(odours)
    networks = {c: kn.Reservoir(connections=c) for c in (10, 30, 90, 270)}
    return [
        measured(
            "episodes", "s", {n: simulating(reservoir, task, n) for n in (1024, 4096, 16384)}, rounds, wanted=LINEAR
        ),
        measured(
            "steps",
            "s",
            {t: simulating(reservoir, kn.StaticTask(odours, steps=t), 1024) for t in (20, 60, 200, 600)},
            rounds,
            wanted=LINEAR,
        ),
        measured(
            "connections",
            "s",
            {network.W.nnz + network.W_in.nnz: simulating(network, task, 1024) for network in networks.values()},
            rounds,
            wanted=LINEAR,
        ),
        measured(
            "neurons", "s", {n: simulating(kn.Reservoir(n), task, 512) for n in (100, 300, 1000, 3000, 10_000)}, rounds
        ),
        measured("classes", "s", {c: learning(c) for c in (2, 8, 32, 128)}, rounds),
        measured("threads", "s", {n: simulating(reservoir, task, 2048, n) for n in (1, 2)}, rounds),
        memory("episodes", [(n, 1000) for n in (6_000, 60_000, 600_000)], 0),
        memory("neurons", [(512, n) for n in (1000, 4000, 16_000)], 1),
    ]


def learning(n_classes: int) -> Callable[[], object]:
    work, learner = workloads.updates(n_classes), kn.GradientThresholds(batch=1)
    state = learner.begin(work.V, n_classes, kn.Source(0, "growth"))
    return lambda: learner.update(state, work.V, work.labels)


def memory(name: str, cases: Sequence[tuple[int, int]], of: int) -> Curve:
    peaks = [child(f"{n} episodes, {size} neurons", PEAK, str(n), str(size)) for n, size in cases]
    return Curve(f"{name}, memory", "MB", [case[of] for case in cases], [Times(np.array(peak)) for peak in peaks])


def main() -> None:
    for curve in curves(3):
        shown = ", ".join(f"{x:g}: {y:.3g}" for x, y in zip(curve.x, curve.y, strict=True))
        print(f"{curve.name}: {shown} {curve.unit}; exponent {curve.exponent:.2f}")


if __name__ == "__main__":
    main()
