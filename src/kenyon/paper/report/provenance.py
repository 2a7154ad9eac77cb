"""Where the results came from: versions, machines, commits, seeds, sizes, time; how to run it again, how to cite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from kenyon import __version__
from kenyon.paper.plan import FIGURES, Plan, Results
from kenyon.paper.report.markup import Table, duration, listing, table_html, text
from kenyon.paper.report.words import DATA, PAPER

PACKAGES = ("kenyon", "python", "numpy", "scipy", "numba", "xarray")
Origins = Sequence[Mapping[str, Any]]


def machines(origins: Origins) -> str:
    """Return the processors that trials ran on."""
    return listing(_distinct(origins, "cpu")) or "an unknown machine"


def time_words(origins: Origins, seconds: float) -> str:
    """Return how long it took, and what the trials took together, wherever and whenever they ran."""
    total = sum(float(one["seconds"]) for one in origins)
    return (
        f"Done in {duration(seconds)}: {len(origins)} trials, which took {duration(total)} of computing together, on "
        f"{machines(origins)}."
    )


def provenance_html(results: Results, origins: Origins, seconds: float, command: str) -> str:
    """Return all that is known of how the results came about."""
    began = sorted(str(one["began"]) for one in origins) or ["–"]
    facts = {
        **{name: listing(_distinct(origins, name)) or "–" for name in PACKAGES},
        "processor": machines(origins),
        "system": listing(_distinct(origins, "system")) or "–",
        "commit": listing([one or "not noted" for one in _distinct(origins, "commit")]) or "–",
        "trials": f"{len(origins)}, begun from {began[0]} to {began[-1]}",
        "computing": f"{sum(float(one['seconds']) for one in origins):,.0f} s over all trials",
        "wall time": duration(seconds),
        "seeds": f"{listing([str(one) for one in range(results.plan.seeds)])} (figure 1: 0)",
        "sizes": "quick: small, not the paper's" if results.plan.quick else "full",
    }
    pairs = "".join(f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())
    return (
        f'<dl class="facts">{pairs}</dl>{table_html(_sizes(results.plan))}<h3>How to run it again</h3>'
        f"<pre tabindex='0'><code>{escape(_steps(origins, command))}</code></pre>"
        "<p>The same seeds give the same numbers, whatever the number of threads and workers. "
        "Trials that are there already are not run again.</p>"
    )


def _steps(origins: Origins, command: str) -> str:
    """Return what to type, in a clone."""
    commits = [one.rstrip("+") for one in _distinct(origins, "commit") if one]
    return "\n".join([*(f"git checkout {one}" for one in commits[-1:]), "pip install .", command])


def _distinct(origins: Origins, name: str) -> list[str]:
    return sorted({str(one.get(name, "")) for one in origins})


def _sizes(plan: Plan) -> Table:
    rows = []
    for figure in FIGURES:
        for part, trials in plan.parts(figure).items():
            tasks = [trial.task for trial in trials]
            rows.append([
                f"{figure}, {part}" if part else figure,
                str(len(trials)),
                _span(trial.reservoir.n_neurons for trial in trials),
                f"{_span(task.size for task in tasks)} {'stimuli' if tasks[0].kind == 'static' else 'sequences'}",
                _span(trial.n_episodes for trial in trials),
            ])  # fmt: skip
    return Table("Sizes of what was run", ["figure", "trials", "neurons", "task", "episodes"], rows)


def _span(values: Iterable[int]) -> str:
    distinct = sorted(set(values))
    return f"{distinct[0]:,}" if len(distinct) == 1 else f"{distinct[0]:,} to {distinct[-1]:,}"


def cite_html() -> str:
    """Return what to cite."""
    data = "".join(f"<li>{text(one)}.</li>" for one in DATA)
    return (
        f"<ul class='references'><li>The paper: {text(PAPER)}.</li>"
        f"<li>The data: <ul>{data}</ul></li>"
        f"<li>This software: Kenyon {escape(__version__)}, reservoir computing with learned sparsity.</li></ul>"
    )
