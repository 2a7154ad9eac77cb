"""Provenance of the results: versions, machines, commits, seeds, sizes, time; and how to run it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kenyon.experiment.reports import duration
from kenyon.paper.plan import FIGURES, Plan
from kenyon.paper.report.text import Table, listing

PACKAGES = ("kenyon", "python", "numpy", "scipy", "numba", "xarray")
Origins = Sequence[Mapping[str, Any]]


def machines(origins: Origins) -> str:
    """Return the processors that trials ran on."""
    return listing(_distinct(origins, "cpu")) or "an unknown machine"


def time_words(origins: Origins, seconds: float) -> str:
    """Return how long it took, and the total of all trials, wherever and whenever they ran."""
    return (
        f"Done in {duration(seconds)}: {len(origins)} trials with {duration(_total(origins))} of computing in all, on "
        f"{machines(origins)}."
    )


def facts(plan: Plan, origins: Origins, seconds: float) -> dict[str, str]:
    """Return what is known about how the results were made."""
    began = sorted(str(origin["began"]) for origin in origins) or ["–"]
    return {
        **{name: listing(_distinct(origins, name)) or "–" for name in PACKAGES},
        "processor": machines(origins),
        "system": listing(_distinct(origins, "system")) or "–",
        "commit": listing([commit or "unknown" for commit in _distinct(origins, "commit")]) or "–",
        "trials": f"{len(origins)}, started between {began[0]} and {began[-1]}",
        "computing": f"{_total(origins):,.0f} s over all trials",
        "wall time": duration(seconds),
        "seeds": f"{listing([str(seed) for seed in range(plan.seeds)])} (figure 1: 0)",
        "sizes": "quick: small, not the paper's" if plan.quick else "full",
    }


def steps(origins: Origins, command: str) -> str:
    """Return the commands to type in a clone."""
    commits = [commit.rstrip("+") for commit in _distinct(origins, "commit") if commit]
    return "\n".join([*(f"git checkout {commit}" for commit in commits[-1:]), "pip install .", command])


def sizes(plan: Plan) -> Table:
    """Return how large the trials of each figure are."""
    rows = []
    for figure in FIGURES:
        for part, trials in plan.parts(figure).items():
            items = "stimuli" if trials[0].task.kind == "static" else "sequences"
            rows.append([
                f"{figure}, {part}" if part else figure,
                str(len(trials)),
                _span(trial.reservoir.n_neurons for trial in trials),
                f"{_span(trial.task.size for trial in trials)} {items}",
                _span(trial.n_episodes for trial in trials),
            ])  # fmt: skip
    return Table("Sizes of what was run", ["figure", "trials", "neurons", "task", "episodes"], rows)


def _total(origins: Origins) -> float:
    return sum(float(origin["seconds"]) for origin in origins)


def _distinct(origins: Origins, name: str) -> list[str]:
    return sorted({str(origin.get(name, "")) for origin in origins})


def _span(values: Iterable[int]) -> str:
    distinct = sorted(set(values))
    return f"{distinct[0]:,}" if len(distinct) == 1 else f"{distinct[0]:,} to {distinct[-1]:,}"
