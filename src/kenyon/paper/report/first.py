"""What was found before the trials of a figure ran: a start for thresholds, batch and rate of the plain readout."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from kenyon.experiment.stages import SCORE
from kenyon.paper.plan import Results
from kenyon.paper.report.text import Table, number, quantity

Found = Mapping[int, Mapping[str, Any]]  # by size


def first_tables(results: Results, figure: str, part: str = "") -> list[Table]:
    """Return tables of all that prelearning and tuning tried for a part of a figure, and of what they chose."""
    found = results.found(figure, part)
    task = f", {part} task" if part else ""
    return [*_starts(found, task), *_rates(found, task)]


def _starts(found: Found, task: str) -> list[Table]:
    """Return the cost of every start that prelearning tried; it ran once, whatever the size."""
    records = [stages["prelearning"] for stages in found.values() if "starts" in stages.get("prelearning", {})]
    if not records:
        return []
    starts, costs, chosen = (records[0][name] for name in ("starts", "costs", "theta_g"))
    rows = [
        [number(start), quantity(cost) if isfinite(cost) else "diverged", "chosen" if start == chosen else ""]
        for start, cost in zip(starts, costs, strict=True)
    ]
    return [Table(f"Prelearning{task}: average cost from each start of theta_g", ["start", "cost", ""], rows)]


def _rates(found: Found, task: str) -> list[Table]:
    """Return the expected accuracy of the plain readout by size, batch and rate, on the seeds of tuning."""
    grids = {size: stages["tuning"] for size, stages in found.items() if "tuning" in stages}
    if not grids:
        return []
    rates = sorted({row["eta_w"] for grid in grids.values() for row in grid["table"]})
    rows = []
    for size, grid in grids.items():
        tried = {(row["batch"], row["eta_w"]): row[SCORE] for row in grid["table"]}
        best = (grid["best"]["batch"], grid["best"]["eta_w"])
        for batch in dict.fromkeys(batch for batch, _ in tried):
            cells = [_cell(tried, (batch, rate), best) for rate in rates]
            rows.append([f"{size}, batch {batch}", *cells])
    caption = (
        f"Tuning of GD_W{task}: expected accuracy by size and batch, and by eta_W; * was chosen, blanks were not tried"
    )
    return [Table(caption, ["eta_W", *(f"{rate:.2g}" for rate in rates)], rows)]


def _cell(tried: Mapping[tuple[int, float], float | None], place: tuple[int, float], best: tuple[int, float]) -> str:
    if place not in tried:
        return ""
    accuracy = tried[place]
    return "diverged" if accuracy is None else number(accuracy, 3) + ("*" if place == best else "")
