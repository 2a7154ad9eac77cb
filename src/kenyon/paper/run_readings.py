"""Every claim in every reading: run what is missing, judge, and write the matrix.

DIR/results/          results, shared with the reproduction and between readings
DIR/readings.json     the verdicts of every reading
DIR/figures/figureR   the matrix; DIR/report.html is written again, if there is one
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kenyon import _checks
from kenyon.experiment.executor import run_experiment
from kenyon.experiment.reports import Report
from kenyon.experiment.store import StoreError
from kenyon.experiment.sweep import Experiment
from kenyon.paper.claims import CLAIMS as RULES
from kenyon.paper.claims import judge
from kenyon.paper.figures.readings import save_matrix
from kenyon.paper.matrix import Matrix, column, read_matrix, with_column, write_matrix
from kenyon.paper.plan import Plan, Results
from kenyon.paper.readings import READINGS, THIN, reading
from kenyon.paper.reproduce import CLOCK, rewrite

FIGURES = tuple(dict.fromkeys(place.split()[0] for place in THIN.parts))  # that claims read
QUICK_SEEDS = 2  # verdicts need more than one


def run_readings(
    folder: str | Path,
    *,
    only: Sequence[str] = (),
    seeds: int | None = None,
    quick: bool = False,
    workers: int | None = None,
    cluster: str | None = None,
    report: Report | None = None,
) -> Matrix:
    """Judge every claim in every reading, or in some of them; return the matrix of all that were run.

    Parameters
    ----------
    folder
        Of the reproduction, whose results are used as far as they serve; existing results are not run again.
    only
        Names of readings; by default all. Those that were run before with as many seeds stay in the matrix.
    seeds
        Number of seeds: 5 by default, 2 if quick.
    quick
        Whether to run small sizes, to see it work.
    workers, cluster, report
        As in `run_experiment`.
    """
    folder, quick = _checks.path("folder", folder), _checks.flag("quick", quick)
    names = [reading(name).name for name in _checks.texts("only", only)] if only else list(READINGS)
    usual = QUICK_SEEDS if quick else THIN.seeds
    seeds = usual if seeds is None else _checks.integer("seeds", seeds, 1)
    report = Report() if report is None else _checks.instance("report", report, Report)
    known, matrix = read_matrix(folder), Matrix((), seeds, quick)
    if known and (known.seeds, known.quick) == (seeds, quick):
        matrix = known
    plans = [Plan(seeds, quick, name) for name in names]
    # All at once: readings that change nothing but learners share the simulations of others.
    outcome = run_experiment(experiment(plans), folder / "results", workers=workers, cluster=cluster, report=report)
    if outcome.failed:
        raise StoreError(f"{len(outcome.failed)} trials failed, first: {next(iter(outcome.failed.values()))}")
    report.say(f"judging {len(RULES)} claims in {len(plans)} reading{'' if len(plans) == 1 else 's'}")
    for plan in plans:
        results = Results(folder / "results", plan)
        matrix = with_column(matrix, column(plan.reading, results, judge(results)))
    write_matrix(folder, matrix)
    save_matrix(matrix, folder / "figures")
    if (folder / CLOCK).exists():
        rewrite(folder, workers=workers, report=report)
    return matrix


def experiment(plans: Sequence[Plan]) -> Experiment:
    """Return all trials of some readings."""
    trials = {trial.id: trial for plan in plans for figure in FIGURES for trial in plan.experiment(figure).trials}
    return Experiment("readings", tuple(trials.values()), {})
