"""Kenyon, other systems and the machine's limit: prints tables, writes docs/benchmarks.md and its pictures.

python benchmarks/run.py [--quick]        (--quick: one round of everything, to check that it works; writes nothing)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import figure2
import growth
import limit
import page
import peers
import start
import workloads
from timing import Times, disturbance, interleave, machine, meanwhile, ratio, say
from workloads import THREADS

BATCHED = "SciPy CSR", "PyTorch sparse", "PyTorch dense", "JAX scan"
TIMES_JAX = {2: 4, 10: 4, 100: 3}  # that an update should be as fast as JAX's, by number of classes


class Row(NamedTuple):
    """One system on one kind of work; `times` are seconds for one episode, step or update."""

    name: str
    agreement: str
    times: Times | None = None
    note: str = ""


class Table(NamedTuple):
    """All systems on one kind of work, Kenyon first."""

    name: str
    unit: str
    rows: list[Row]

    def to_kenyon(self, row: Row) -> float:
        """Return how many times as long as Kenyon a system takes; 0 if it was not timed."""
        assert self.rows[0].times is not None
        return ratio(row.times, self.rows[0].times) if row.times else 0.0

    def best(self, names: Sequence[str]) -> tuple[str, float]:
        """Return the fastest of some systems that do the same work, and its ratio to Kenyon."""
        same = [row for row in self.rows if row.name in names and row.times and not row.note.startswith("other")]
        quickest = min(same, key=self.to_kenyon)
        return quickest.name, self.to_kenyon(quickest)


class Aim(NamedTuple):
    """A goal, and what was measured."""

    text: str
    found: str
    met: bool


class Found(NamedTuple):
    """All that was measured."""

    machine: list[str]
    tables: list[Table]
    rates: dict[int, float]
    shares: dict[str, dict[str, Any]]
    figure2: figure2.Figure2
    curves: list[growth.Curve]
    start: Times
    least: Times
    build: Times
    noise: float
    small: dict[int, Times]
    aims: list[Aim]


def table(work: Any, systems: Sequence[peers.System], n: int, unit: str, rounds: int, warm: int) -> Table:
    """Check all systems on some work, and time those that agree, in turn."""
    say(f"checking: {work.name}")
    extra = (work.noise,) if isinstance(work, workloads.Workload) else ()
    verdicts = peers.check(work, systems)
    sizes = {verdict.system.name: min(n, verdict.system.few or n) for verdict in verdicts}
    works = {
        verdict.system.name: partial(verdict.run, sizes[verdict.system.name], *extra)
        for verdict in verdicts
        if verdict.run is not None
    }
    times = interleave(works, rounds, warm)
    rows = []
    for system, text, run in verdicts:
        part = f"timed on {sizes[system.name]}" if sizes[system.name] < n else ""
        taken = Times(times[system.name].values / sizes[system.name]) if run else None
        rows.append(Row(system.name, text, taken, "; ".join(filter(None, ("other" * bool(system.other), part)))))
    return Table(work.name, unit, rows)


def shares(works: dict[str, Any], rounds: int) -> dict[str, dict[str, Any]]:
    """Time each kernel and its limit."""
    found = {}
    for name in ("static", "sequences", "large"):
        work = works[name]
        stream: Callable[[], object] = partial(_drain, work)
        found[name] = limit.share(stream, work.n_episodes, limit.simulation(work), rounds)
    series = works["series"]
    steps = series.inputs[None, :5000]
    found["series"] = limit.share(lambda: series.reservoir.run(steps), 5000, limit.alone(series), rounds)
    for n_classes in workloads.CLASSES:
        work = works[f"updates {n_classes}"]
        run = peers.UPDATES[0].prepare(work)
        found[f"updates, {n_classes} classes"] = limit.share(
            partial(run, len(work.V)), len(work.V), limit.updates(work), rounds
        )
    return found


def _drain(work: workloads.Workload) -> None:
    for _ in work.reservoir.stream(work.task, work.n_episodes, threads=THREADS):
        pass


def aims(
    tables: list[Table],
    found: dict[str, dict[str, Any]],
    whole: figure2.Figure2,
    curves: list[growth.Curve],
    starts: dict[str, tuple[Times, float]],
) -> list[Aim]:
    """Return all goals; `starts` are times in seconds and how long each may be."""
    times = whole.theirs / whole.ours
    return [
        *simulation_aims({table.name: table for table in tables}, found),
        *update_aims({table.name: table for table in tables}, found),
        Aim("figure 2: 40 times ReservoirPy and NumPy", f"{times:.0f} (extrapolated)", times >= 40),
        *(
            Aim(f"{what}: at most {most:g} s", taken.text(1), taken.median <= most)
            for what, (taken, most) in starts.items()
        ),
        *(
            Aim(f"time is linear in {curve.name}: exponent 0.9 to 1.1", f"{curve.exponent:.2f}", curve.kept)
            for curve in curves
            if curve.wanted
        ),
    ]


def simulation_aims(tables: dict[str, Table], found: dict[str, dict[str, Any]]) -> Iterator[Aim]:
    for name in ("static", "sequences"):
        quickest, times = tables[name].best(BATCHED)
        yield Aim(f"{name}: 3 times the best of SciPy, PyTorch and JAX", f"{times:.1f} ({quickest})", times >= 3)
        _, times = tables[name].best(["ReservoirPy"])
        yield Aim(f"{name}: 50 times ReservoirPy", f"{times:.0f}", times >= 50)
        reached = found[name]["share"]
        yield Aim(f"{name}: 70% of the limit on its own rows", f"{reached:.0%}", reached >= 0.7)
    _, times = tables["series"].best(["ReservoirPy"])
    yield Aim("one long series: 4 times ReservoirPy", f"{times:.1f}", times >= 4)
    quickest, times = tables["large"].best([row.name for row in tables["large"].rows[1:]])
    yield Aim("20,000 neurons: 2.7 times the best peer", f"{times:.1f} ({quickest})", times >= 2.7)


def update_aims(tables: dict[str, Table], found: dict[str, dict[str, Any]]) -> Iterator[Aim]:
    for n, wanted in TIMES_JAX.items():
        _, times = tables[f"updates, {n} classes"].best(["JAX scan"])
        yield Aim(f"updates, {n} classes: {wanted} times JAX", f"{times:.1f}", times >= wanted)
    reached = found["updates, 2 classes"]["share"]
    yield Aim("updates, 2 classes: 25% of the limit", f"{reached:.0%}", reached >= 0.25)


def measure(quick: bool) -> Found:
    described = machine()
    rounds, few, warm = (1, 1, 0) if quick else (7, 3, 1)
    works: dict[str, Any] = {make.__name__: make() for make in (workloads.static, workloads.sequences, workloads.large)}
    works["series"] = workloads.series(5000 if quick else 100_000)
    works |= {f"updates {n}": workloads.updates(n) for n in workloads.CLASSES}
    tables = [
        table(works["static"], peers.EPISODES, 2048, "episode", rounds, warm),
        table(works["sequences"], peers.EPISODES, 2048, "episode", rounds, warm),
        table(works["large"], peers.EPISODES, works["large"].n_episodes, "episode", few, warm),
        table(works["series"], peers.SERIES, len(works["series"].inputs), "step", few, 0),
        *(table(works[f"updates {n}"], peers.UPDATES, 1000, "update", rounds, warm) for n in workloads.CLASSES),
    ]
    delays = [disturbance()]
    reached, rates = shares(works, rounds), limit.rates(rounds)
    delays.append(disturbance())
    for name, rate in zip(("static", "sequences", "large"), (rates[1000], rates[1000], rates[20_000]), strict=True):
        work, share = works[name], reached[name]
        share["at random"] = work.network.both.nnz * work.task.n_steps / rate / 1e9 / share["kernel"].median
    whole = figure2.measure(rounds)
    curves, (started, least), built = growth.curves(few), start.start(), start.build()
    delays.append(disturbance())
    starts = {"start and first episode": (started, 0.6), "a reservoir of 20,000 neurons": (built, 4.0)}
    return Found(
        [*described, meanwhile(delays)],
        tables,
        rates,
        reached,
        whole,
        curves,
        started,
        least,
        built,
        start.noise(2 * rounds + 1),
        start.small_batches(rounds),
        aims(tables, reached, whole, curves, starts),
    )


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    found = measure(quick)
    print(page.text(found))
    if not quick:
        page.write(found)


if __name__ == "__main__":
    main()
