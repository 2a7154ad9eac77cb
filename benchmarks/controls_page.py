"""docs/controls.md: what the controls are, how their settings were chosen, and what came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from controls_plan import FAMILIES, GROUPS, OURS, REPORT, RULES, TASKS, TUNING, Row
from numpy.typing import NDArray

from kenyon.paper.verdicts import interval

PAGE = Path(__file__).parents[1] / "docs" / "controls.md"
RESULTS = "## Results\n\n"
NOT_RUN = "The study has not been run yet.\n"
TEXT = """\
# Controls

Is it the learned thresholds, or would a better rule for the weights alone do as well? Here are the usual ones, on the
same states, told the right class and by reward. They read V as it is, centred or standardised, or x = relu(V − θ) with
θ held at the 85th percentile of each neuron. Written by `make controls` from `benchmarks/controls_plan.py`, where all
that is run is written down; whatever comes out is printed.

| control | what it is | reads | setting, chosen from |
|---|---|---|---|
{families}

Rates are in units of target / √(N mean |x|²), aggressiveness in units of target / mean |x|², and penalties in
units of mean |x|², so that a value means the same whatever is read. Targets and rewards are 10, as for all learners
here; other numbers of a rule are the published ones. By reward the action is drawn from softmax(y), and only its row
learns.

**How settings were chosen.** For each task, told and by reward, every control was run with every value of its grid, on
a seed of its own ({tuned}) and {part} of the episodes. The value with the best accuracy counts, of several the one in
the middle; one that diverges is worst. What is reported is its accuracy on seeds {reported}. A value at an end of its
grid is marked † (alpha cannot be larger than 1). Our own learners have their defaults and were not tuned:

{ours}

| task | episodes |
|---|---|
{tasks}

Networks have 1,000 neurons unless it says otherwise. Accuracy is on {n_test:,} episodes of fresh noise, mean and 95%
interval by Student's t over {n} seeds: of the largest output, which does not depend on the size of outputs, and of
choices drawn from softmax(y). (Outputs of ALMA have no size; it takes the largest.)

In Python they are `AdaptiveSteps`, `PassiveAggressive` and `ALMA` of `kenyon.paper.controls`, `Whitened` of
`kenyon.paper.whitened`, `kn.RecursiveLeastSquares`, and `kn.GradientWeights(step="normalised", batch=1)` or, on x,
`kn.Learner(step="normalised", start=kn.Percentile(85))`; in experiments, `kind = "kenyon.paper.controls:ALMA"`.

"""


class Cell(NamedTuple):
    """What one learner reached."""

    largest: NDArray[np.float64]  # accuracy of the largest output, for each seed
    drawn: NDArray[np.float64]  # accuracy of drawn choices
    setting: float | None  # that was chosen


class Table(NamedTuple):
    """What all learners reached on one task."""

    task: str
    cells: Mapping[tuple[str, str], Cell]  # by name, and told or by reward


def page(results: str) -> str:
    """Return the page with results as they are given."""
    families = [
        f"| {one.name} | {one.text} | {', '.join(one.readings)} | {one.setting}: {', '.join(map(_plain, one.grid))} |"
        for one in FAMILIES
    ]
    text = TEXT.format(
        families="\n".join(families),
        tuned=" and ".join(map(str, TUNING.seeds)),
        part={2: "half", 4: "a quarter"}[TUNING.part],
        reported=f"{REPORT.seeds[0]} to {REPORT.seeds[-1]}",
        ours="\n".join(f"- {name}" for name in OURS),
        tasks="\n".join(f"| {name} | {task['n_episodes']:,} |" for name, task in TASKS.items()),
        n_test=REPORT.n_test,
        n=len(REPORT.seeds),
    )
    return text + RESULTS + results


def write(results: str) -> None:
    PAGE.write_text(page(results), encoding="utf-8")


def results(tables: Sequence[Table], rows: Mapping[str, Row], costs: Mapping[str, float], machine: list[str]) -> str:
    """Return all that was measured, as Markdown."""
    return "\n".join([*(line for table in tables for line in _task(table, rows)), *_costs(costs, machine), ""])


def _task(table: Table, rows: Mapping[str, Row]) -> Iterable[str]:
    yield from (f"### {table.task[0].upper()}{table.task[1:]}", "")
    yield "| learner | " + " | ".join(f"{rule} | drawn | setting" for rule in RULES) + " |"
    yield "|---|" + "---|" * 3 * len(RULES)
    for name, row in rows.items():
        parts = [part for rule in RULES for part in _cell(table.cells.get((name, rule)), row)]
        yield f"| {name}{_episodes(row)} | {' | '.join(parts)} |"
    yield ""


def _episodes(row: Row) -> str:
    fewer = GROUPS[row.group].get("n_episodes")
    return f" ({fewer:,} episodes)" if fewer else ""


def _cell(cell: Cell | None, row: Row) -> tuple[str, str, str]:
    if cell is None:
        return "", "", ""
    setting = "" if cell.setting is None else f"{row.setting} {_plain(cell.setting)}"
    at_end = " †" if cell.setting in (row.grid[:1] + row.grid[-1:]) else ""
    return _accuracy(cell.largest), _short(np.nanmean(cell.drawn)) if _some(cell) else "", setting + at_end


def _some(cell: Cell) -> bool:
    return bool(np.isfinite(cell.drawn).any())


def _accuracy(values: NDArray[np.float64]) -> str:
    """Return mean and half of the interval over seeds; those that diverged are told, not counted."""
    kept = values[np.isfinite(values)]
    lost = f" ({len(values) - len(kept)} of {len(values)} diverged)" if len(kept) < len(values) else ""
    if not len(kept):
        return "diverged"
    low, high = interval(kept)
    return f"{_short(kept.mean())} ± {_short((high - low) / 2)}{lost}"


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0") if np.isfinite(value) else "?"


def _plain(value: float) -> str:
    return f"{value:g}"


def _costs(costs: Mapping[str, float], machine: list[str]) -> Iterable[str]:
    yield from (
        "### Cost",
        "",
        "Told the class, two classes, one thread, the best of several rounds; simulation is shared.",
        "",
    )
    yield from (*(f"- {line}" for line in machine), "", "| | µs per episode | episodes/s |", "|---|---|---|")
    yield from (f"| {name} | {cost:,.1f} | {1e6 / cost:,.0f} |" for name, cost in costs.items())
