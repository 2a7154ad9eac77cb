"""What `run.py` measured, as text and pictures: it writes the whole of docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from kenyon.paper import style

if TYPE_CHECKING:
    from figure2 import Figure2
    from growth import Curve
    from run import Found, Row, Table

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = DOCS / "pictures" / "benchmarks"
TITLES = {
    "static": "Static task: 1000 neurons, 50 steps, 24 noisy channels; 2048 episodes",
    "sequences": "Sequences: 1000 neurons, 30 steps, 24 noisy channels; 2048 episodes",
    "large": "A large reservoir: 20,000 neurons, 50 steps; 256 episodes",
    "series": "One long series: 1000 neurons, 100,000 steps, every state kept",
}
BLUE = "#0072B2"
SHARES = {"share": "share", "at random": "share of the rate above"}
_HEAD = """# Benchmarks

Written by `make bench`, from one run. Every system gets the same weights and inputs, to the byte, and makes its own
input noise. Its states, or what it learns, are first compared with Kenyon's; a system that differs is not timed. All
may use two threads, and each is used in the fastest form that we found; what else was tried is in
`benchmarks/peers_arrays.py` and `peers_reservoirs.py`. Times are medians of interleaved rounds, with the shortest and
the longest; ratios are ratios of medians within this run. Goals that were missed are shown too.
"""
_LIMIT = """
## The machine's limit

What two threads of this machine achieve when they do nothing but loads and multiply-adds, depending on which cache
holds the rows of 32 lanes: the first, the second or the last.
"""
_SHARES = """
The next table shows how much of its limit each kernel reaches. For simulation, the limit is the kernel's own
multiply-adds on rows in the same order and the same cache, without noise and without writing results; for one series,
gathering and adding; for updates, reading and writing the weights once. See `benchmarks/limit.py`.
"""


def write(found: Found) -> None:
    """Write the page and its pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with style.context():
        systems(found.tables).savefig(PICTURES / "systems.png", dpi=160)
        growth(found.curves).savefig(PICTURES / "growth.png", dpi=160)
    (DOCS / "benchmarks.md").write_text(text(found), encoding="utf-8")


def text(found: Found) -> str:
    """Return the page."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Found) -> Iterable[str]:
    yield from (*_HEAD.splitlines(), "")
    yield from (f"- {line}" for line in found.machine)
    yield from ("", "## Goals", "")
    verdicts = ((aim.text, aim.found, "met" if aim.met else "**missed**") for aim in found.aims)
    yield from _table(("goal", "result", ""), verdicts)
    yield from ("", "## Compared with other systems", "", "![Time of all systems](pictures/benchmarks/systems.png)")
    for table in found.tables:
        yield from ("", f"### {TITLES.get(table.name, table.name.capitalize())}", "")
        yield from _table(
            (f"us per {table.unit}", "median (shortest to longest)", "relative to Kenyon", "agreement"), _rows(table)
        )
    yield from ("", "## The whole of figure 2, one seed", "", *_figure2(found.figure2))
    yield from (*_LIMIT.splitlines(), "")
    rates = ((f"{n:,}", f"{rate:.1f}") for n, rate in found.rates.items())
    yield from _table(("rows, picked at random", "10^9 multiply-adds per second"), rates)
    yield from (*_SHARES.splitlines(), "")
    shares = (
        (
            name,
            share["kernel"].text(),
            share["limit"].text(),
            *(f"{share[key]:.0%}" if key in share else "" for key in SHARES),
        )
        for name, share in found.shares.items()
    )
    yield from _table(("kernel", "us", "limit, us", *SHARES.values()), shares)
    yield from ("", "## Growth", "", "![Time and memory against size](pictures/benchmarks/growth.png)", "")
    yield from _table(("against", "from", "to", "exponent"), (_ends(curve) for curve in found.curves))
    yield from (
        "",
        "## Start-up and small batches",
        "",
        f"- From the start of a process to its first episode, with cached kernels: {found.start.text(1)} s.",
        f"  Numba alone takes {found.least.text(1)} s: the time to a cached function of one line.",
        f"- Building a reservoir of 20,000 neurons takes {found.build.text(1)} s.",
        f"- Noise takes {found.noise:.0%} of a step.",
        "",
    )
    small = ((str(n), taken.text()) for n, taken in found.small.items())
    yield from _table(("episodes per call, one thread", "us per episode"), small)


def _figure2(whole: Figure2) -> Iterable[str]:
    parts = ", ".join(f"{taken.text()} us for {networks}" for networks, taken in sorted(whole.update.items()))
    ratio = whole.theirs / whole.ours
    yield f"Four learners at six sizes: {whole.simulated:,} simulated episodes. Kenyon takes **{whole.ours:.1f} s** on"
    yield f"two threads. ReservoirPy and NumPy would take {whole.theirs:.0f} s, **{ratio:.0f} times as long**."
    yield f"This is extrapolated from ReservoirPy's {whole.episode.text()} us per episode and from NumPy's time per"
    yield f"update, which depends on the number of networks that learn side by side: {parts}."


def _ends(curve: Curve) -> tuple[str, ...]:
    ends = ((curve.x[k], curve.y[k]) for k in (0, -1))
    return curve.name, *(f"{x:,.0f}: {y:.3g} {curve.unit}" for x, y in ends), f"{curve.exponent:.2f}"


def _rows(table: Table) -> Iterable[tuple[str, ...]]:
    for row in table.rows:
        name = f"{row.name} ({row.note})" if row.note and not row.note.startswith("other") else row.name
        shown = (row.times.text(), f"{table.to_kenyon(row):.1f}") if row.times else ("not timed", "")
        yield name, *shown, row.agreement


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    yield from ("| " + " | ".join(row) + " |" for row in rows)


def systems(tables: Sequence[Table]) -> Figure:
    """Draw the time of every system on every kind of work, with its spread, on a logarithmic axis."""
    figure = Figure(figsize=(style.WIDTH * style.CM, 12 * style.CM), layout="constrained")
    shown = [table for table in tables if table.name in TITLES]
    for axes, table in zip(figure.subplots(2, 2).flat, shown, strict=True):
        rows = [(row, row.times.values * 1e6) for row in table.rows if row.times][::-1]
        for place, (row, values) in enumerate(rows):
            colour, middle = BLUE if row.name == "Kenyon" else "0.35", float(np.median(values))
            axes.plot([values.min(), values.max()], [place, place], color=colour, lw=1.2)
            axes.plot(middle, place, "o", color=colour)
            ratio = table.to_kenyon(row)
            said = f"{middle:.3g} us" if row.name == "Kenyon" else f"{ratio:.1f}x" if ratio < 100 else f"{ratio:.0f}x"
            axes.annotate(said, (values.max(), place), (5, 0), textcoords="offset points", va="center", fontsize=6.5)
        least, most = (reach(values) for reach, (_, values) in ((np.min, rows[-1]), (np.max, max(rows, key=_greatest))))
        axes.set(xscale="log", xlim=(least / 1.6, most * 4), ylim=(-0.6, len(rows) - 0.4))
        axes.set_yticks(range(len(rows)), [row.name for row, _ in rows])
        axes.set(xlabel=f"us per {table.unit}", title=TITLES[table.name].split(":")[0])
        axes.grid(axis="y", color="0.92", lw=0.6)
        axes.set_axisbelow(True)
    return figure


def _greatest(row: tuple[Row, np.ndarray]) -> float:
    return float(row[1].max())


def growth(curves: Sequence[Curve]) -> Figure:
    """Draw times and memory against what grows, with the fitted line."""
    figure = Figure(figsize=(style.WIDTH * style.CM, 9.5 * style.CM), layout="constrained")
    for axes, curve in zip(figure.subplots(2, 4).flat, curves, strict=True):
        axes.loglog(curve.x, curve.y, "o", color=BLUE)
        slope, level = np.polyfit(np.log(curve.x), np.log(curve.y), 1)
        ends = np.array([curve.x[0], curve.x[-1]])
        axes.loglog(ends, np.exp(level) * ends**slope, color="0.4", lw=1)
        axes.set(xlabel=curve.name.split(",")[0], title=f"exponent {slope:.2f}")
        axes.set_ylabel(f"peak memory, {curve.unit}" if curve.unit == "MB" else f"time, {curve.unit}")
        if max(curve.y) < 3 * min(curve.y):
            axes.set_ylim(min(curve.y) / 3, max(curve.y) * 3)
        axes.set_xlim(ends[0] / 1.5, ends[1] * 1.5)
        axes.set_xticks(ends, [f"{x:,.0f}" for x in ends])
        reached = [min(curve.y), max(curve.y)] if max(curve.y) > 1.3 * min(curve.y) else [max(curve.y)]
        axes.set_yticks(reached, [f"{y:.2g}" if y < 100 else f"{y:.0f}" for y in reached])
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_formatter(NullFormatter())
    return figure
