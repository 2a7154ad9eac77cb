"""Controls that a sceptic asks for: which get what learned thresholds give, and at what cost per episode.

What is run is in controls_plan.py. Each control's setting is chosen on one seed for every task, told the class and by
reward, and its accuracy is that on three others. Prints the tables and writes docs/controls.md.

python benchmarks/controls.py [DIR] [--workers 2] [--quick]     (--quick: a small network, to see it work; no page)
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import controls_page
import numpy as np
from controls_page import Cell, Table
from controls_plan import GROUPS, QUICK, REPORT, RULES, SCORE, TASKS, TUNING, Settings, Stage, rows
from threadpoolctl import threadpool_limits
from timing import machine

import kenyon as kn
from kenyon.experiment.sweep import Experiment
from kenyon.learning.protocol import told_of_length


def experiment(task: str, rule: str, group: str, learners: Settings, stage: Stage, quick: bool) -> Experiment:
    """Return one task, told or by reward, with the learners of one group."""
    settings = {**TASKS[task], **GROUPS[group], "n_test": stage.n_test}
    settings |= {"n_episodes": settings["n_episodes"] // stage.part, **(QUICK if quick else {})}
    by_rule = {name: _with_rule(table, RULES[rule]) for name, table in learners.items()}
    prelearned = any(table["kind"] == "Composed" for table in learners.values())
    settings |= {"name": f"{task} {rule} {group}", "seed": list(stage.seeds), "n_bins": 1, "halve_diverged": False}
    if prelearned:
        settings["prelearning"] = {"seed": TUNING.seeds[0]}
    return kn.load_experiment({**settings, "learners": by_rule})


def _with_rule(table: Settings, rule: str) -> Settings:
    return table if table["kind"].endswith(":ALMA") else {**table, "rule": rule}


def tuning(task: str, rule: str, quick: bool) -> Iterable[Experiment]:
    """Yield the trials in which every setting of every grid is tried."""
    for group in GROUPS:
        learners = {
            f"{name} = {value:g}": {**row.settings, row.setting: value}
            for name, row in rows().items()
            for value in row.grid
            if row.group == group and rule in row.rules
        }
        if learners:
            yield experiment(task, rule, group, learners, TUNING, quick)


def choose(scores: Mapping[float, float]) -> float:
    """Return the setting with the best score, of several the one in the middle; one that diverged counts as worst."""
    counted = {value: score if np.isfinite(score) else -np.inf for value, score in scores.items()}
    equals = [value for value, score in counted.items() if score == max(counted.values())]
    return equals[len(equals) // 2]


def accuracies(folder: Path, found: Iterable[Experiment], measure: str) -> dict[str, np.ndarray]:
    """Return the accuracies of all learners of some experiments, one for each seed."""
    results = [kn.open_results(folder, one)[measure].squeeze("size") for one in found]
    return {str(name): one.sel(learner=name).values for one in results for name in one.learner.values}


def chosen(folder: Path, task: str, rule: str, quick: bool) -> dict[str, float]:
    """Return the setting of every control that did best on the seeds of tuning."""
    scores = accuracies(folder, tuning(task, rule, quick), SCORE)
    tuned = {name: row for name, row in rows().items() if row.grid and rule in row.rules}
    return {
        name: choose({value: float(scores[f"{name} = {value:g}"].mean()) for value in row.grid})
        for name, row in tuned.items()
    }


def reporting(task: str, rule: str, settings: Mapping[str, float], quick: bool) -> Iterable[Experiment]:
    """Yield the trials that the tables report."""
    for group in GROUPS:
        learners = {
            name: {**row.settings, **({row.setting: settings[name]} if row.grid else {})}
            for name, row in rows().items()
            if row.group == group and rule in row.rules
        }
        if learners:
            yield experiment(task, rule, group, learners, REPORT, quick)


def run(name: str, found: Iterable[Experiment], folder: Path, workers: int | None) -> None:
    """Run experiments as one, the longest trials first."""
    trials = sorted((trial for one in found for trial in one.trials), key=lambda trial: -trial.work)
    outcome = kn.run_experiment(Experiment(name, tuple(trials), {}), folder, workers=workers)
    print(f"{name}: {outcome.n_new} trials run in {outcome.seconds / 60:.1f} min", flush=True)
    if outcome.failed:
        raise SystemExit(f"{len(outcome.failed)} trials failed, first: {next(iter(outcome.failed.values()))}")


def study(
    folder: Path, tasks: Sequence[str] = tuple(TASKS), *, workers: int | None = None, quick: bool = False
) -> list[Table]:
    """Tune, run what is reported, and return a table for each task."""
    parts = [(task, rule) for task in tasks for rule in RULES]
    run("tuning", [one for part in parts for one in tuning(*part, quick)], folder, workers)
    settings = {part: chosen(folder, *part, quick) for part in parts}
    found = {part: list(reporting(*part, settings[part], quick)) for part in parts}
    run("reported", [one for experiments in found.values() for one in experiments], folder, workers)
    tables = []
    for task in tasks:
        cells = {}
        for rule in RULES:
            largest, drawn = (accuracies(folder, found[task, rule], name) for name in (SCORE, "accuracy"))
            cells |= {
                (name, rule): Cell(largest[name], drawn[name], settings[task, rule].get(name)) for name in largest
            }
        tables.append(Table(task, cells))
    return tables


def costs(n_neurons: int = 1000, n: int = 1000, rounds: int = 7) -> dict[str, float]:
    """Return the us that an episode takes each learner on one thread, two classes; and that it takes to simulate."""
    task, found = kn.StaticTask(kn.load_odours(), 140), dict[str, float]()
    for group, changes in GROUPS.items():
        reservoir = kn.Reservoir(changes.get("reservoir", {}).get("n_neurons", n_neurons))
        for _ in range(rounds):
            start = time.perf_counter()
            batch = next(reservoir.stream(task, n, batch_size=n))
            took = (time.perf_counter() - start) / n * 1e6
            name = f"simulation, {reservoir.n_neurons:,} neurons"
            found[name] = min(took, found.get(name, np.inf))
        table = {name: row.settings for name, row in rows().items() if row.group == group}
        trial, *_ = experiment("140 stimuli", "told", group, table, REPORT, quick=False).trials
        for name, settings in trial.learners.items():
            found[name] = _cost(_startable(settings.build()), batch, rounds)
    return found


def _startable(learner: Any) -> Any:
    """Return a learner that needs no prelearning, and knows how long it will learn."""
    learner = told_of_length(learner, 100_000)
    return dataclasses.replace(learner, start=0.5) if getattr(learner, "start", None) == "prelearned" else learner


def _cost(learner: Any, batch: kn.Batch, rounds: int) -> float:
    state, taken = learner.begin(batch.states, 2, kn.Source(0, "timed")), []
    n = 100 if isinstance(learner, kn.RecursiveLeastSquares) else len(batch.states)
    with threadpool_limits(1, "blas"):
        for _ in range(rounds):
            start = time.perf_counter()
            learner.update(state, batch.states[:n], batch.labels[:n])
            taken.append(time.perf_counter() - start)
    return min(taken) / n * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("results/controls"))
    parser.add_argument("--workers", type=int)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    tables = study(given.folder / "quick" if given.quick else given.folder, workers=given.workers, quick=given.quick)
    results = controls_page.results(tables, rows(), costs(), machine())
    print(results)
    if not given.quick:
        controls_page.write(results)


if __name__ == "__main__":
    main()
