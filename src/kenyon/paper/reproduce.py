"""The whole reproduction: run what is missing, draw the figures, judge the claims, write the report.

DIR/results/       one file per trial, shared by all figures
DIR/figures/       figure1.svg, .pdf, .png, ...
DIR/claims.json    the verdicts; of a quick run, which judges nothing, what claims will be judged by
DIR/report.html    everything on one page
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kenyon import _checks
from kenyon.experiment.executor import run_experiment
from kenyon.experiment.reports import Report
from kenyon.experiment.store import Store, StoreError
from kenyon.experiment.sweep import Experiment
from kenyon.paper.claims import CLAIMS as RULES
from kenyon.paper.claims import judge
from kenyon.paper.figures import save
from kenyon.paper.plan import CLAIMS, FIGURES, Plan, Results
from kenyon.paper.report import write_report
from kenyon.paper.verdicts import Effect, Verdict

CLOCK = "run.json"  # what was run, and how long it took


class Reproduced(NamedTuple):
    """The outcome of a reproduction."""

    folder: Path
    verdicts: list[Verdict]  # none unless all figures were asked for, at full size
    seconds: float  # of all runs together
    report: Path | None  # the page, if all figures were asked for


def reproduce(
    folder: str | Path,
    *,
    figures: Sequence[str] = FIGURES,
    seeds: int | None = None,
    quick: bool = False,
    workers: int | None = None,
    cluster: str | None = None,
    report: Report | None = None,
) -> Reproduced:
    """Reproduce the paper, or some of its figures.

    Parameters
    ----------
    folder
        Where to put results, figures and report; existing results are not run again.
    figures
        Which figures, such as ["2", "S1"]. Claims and report need all of them.
    seeds
        Number of seeds: 10 by default, 1 if quick.
    quick
        Whether to run small sizes, to see it work. They are too small to judge the claims, so none is.
    workers, cluster, report
        As in `run_experiment`.
    """
    for figure in _checks.texts("figures", figures):
        if figure not in FIGURES:
            similar = _checks.suggestion(figure, FIGURES)
            raise ValueError(f"figures: there is no figure {figure!r}{similar}; there are {', '.join(FIGURES)}")
    folder, plan = _checks.path("folder", folder), Plan.of(seeds, _checks.flag("quick", quick))
    report = Report() if report is None else _checks.instance("report", report, Report)
    results, start = Results(folder / "results", plan), time.monotonic()
    everything = set(figures) == set(FIGURES)
    names = (*figures, *([CLAIMS] if everything else []))
    trials = {trial.id: trial for name in names for trial in plan.experiment(name).trials}
    experiment = Experiment("reproduction", tuple(trials.values()), {})
    store = Store(results.folder)
    outcome = run_experiment(experiment, results.folder, workers=workers, cluster=cluster, report=report)
    if outcome.failed:
        raise StoreError(f"{len(outcome.failed)} trials failed, first: {next(iter(outcome.failed.values()))}")
    for name in names:  # so that the results of a figure can be opened by its name
        store.register(results.experiment(name))
    with _drawing(figures, results, folder / "figures", workers, report):
        verdicts = _judged(results, report) if everything else []
    seconds = _clock(folder, plan, time.monotonic() - start)
    return _written(folder, results, verdicts, seconds, report) if everything else Reproduced(folder, [], seconds, None)


def rewrite(folder: str | Path, *, workers: int | None = None, report: Report | None = None) -> Reproduced:
    """Draw, judge and write the report again from the results in a folder, without running anything."""
    folder = _checks.path("folder", folder)
    clock = _read_clock(folder)
    if not clock:
        raise StoreError(f"{folder} holds no reproduction: make one with kenyon reproduce --out {folder}")
    results = Results(folder / "results", Plan(int(clock["seeds"]), bool(clock["quick"])))
    report = Report() if report is None else report
    with _drawing(FIGURES, results, folder / "figures", workers, report):
        verdicts = _judged(results, report)
    return _written(folder, results, verdicts, float(clock["seconds"]), report)


@contextmanager
def _drawing(
    figures: Sequence[str], results: Results, folder: Path, workers: int | None, report: Report
) -> Iterator[None]:
    """Draw figures: in two other processes, during what is done within, unless there are to be no workers."""
    report.say(f"drawing {len(figures)} figure{'' if len(figures) == 1 else 's'}")
    if workers == 0:
        for figure in figures:
            save(figure, results, folder)
        yield
        return
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        drawn = [pool.submit(save, figure, results, folder) for figure in reversed(figures)]  # the largest is last
        yield
        for future in drawn:
            future.result()


def _judged(results: Results, report: Report) -> list[Verdict]:
    """Return the verdicts; none on quick results, whose sizes say nothing about the paper."""
    if results.plan.quick:
        return []
    report.say(f"judging {len(RULES)} claims")
    return judge(results)


def _written(folder: Path, results: Results, verdicts: list[Verdict], seconds: float, report: Report) -> Reproduced:
    """Write claims and report."""
    report.say("writing the report")
    contents: dict[str, Any] = {"quick": results.plan.quick, "seeds": results.plan.seeds, "seconds": round(seconds, 1)}
    claims = [{**verdict._asdict(), "effects": [_plain(effect) for effect in verdict.effects]} for verdict in verdicts]
    rules = [{"number": rule.number, "claim": rule.statement, "test": rule.rule, "bound": rule.bound} for rule in RULES]
    contents["claims"] = claims or rules
    Store(folder).put("claims.json", json.dumps(contents, indent=1, allow_nan=False))
    page = folder / "report.html"
    write_report(results, verdicts, folder / "figures", page, seconds)
    return Reproduced(folder, verdicts, seconds, page)


def _plain(effect: Effect) -> dict[str, Any]:
    """Return an effect with None for NaN, which JSON does not have."""
    return {name: None if value != value else value for name, value in effect._asdict().items()}


def _read_clock(folder: Path) -> dict[str, Any]:
    return Store(folder).get(CLOCK, seconds=float, seeds=int, quick=bool)


def _clock(folder: Path, plan: Plan, seconds: float) -> float:
    """Add the time of this run to that of earlier runs of the same plan, and return the sum."""
    known, now = _read_clock(folder), plan._asdict()
    if all(known.get(name) == value for name, value in now.items()):
        seconds += float(known["seconds"])
    Store(folder).put(CLOCK, json.dumps({**now, "seconds": seconds}))
    return seconds
