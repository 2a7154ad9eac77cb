"""Is GD_W, as tuned, at its best? Its whole grid of batches and rates again, on seeds used for nothing else.

For every size of figures 2, 4 and 7, batch and rate were chosen on some seeds, and claims are judged on others. Here
the grid is run on seeds of its own (extended where its best is at an end, as in tuning), and what was chosen is
compared with the best of the grid, seed by seed. The best of twenty on these very seeds is better by chance alone, so
`lead` is what another choice gains on one half of the seeds when it was picked on the other half, both ways.

python benchmarks/baseline.py REPRODUCTION [DIR] [--seeds 2000 2001 ...] [--workers 2]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kenyon.experiment.config import TrialConfig
from kenyon.experiment.executor import run_experiment
from kenyon.experiment.first_stages import FirstStages
from kenyon.experiment.reports import Lines
from kenyon.experiment.stages import SCORE, findings
from kenyon.experiment.store import Store
from kenyon.experiment.sweep import Experiment
from kenyon.paper.plan import Plan, Results

PARTS = (("2", ""), ("4", ""), ("7", "static"), ("7", "sequence"))
SEEDS = tuple(range(2000, 2006))
Setting = tuple[int, float]  # batch and rate


class Row(NamedTuple):
    """One size of a figure: what was chosen, and how it does on fresh seeds beside the rest of the grid."""

    figure: str
    size: int
    chosen: Setting
    best: Setting
    scores: dict[Setting, np.ndarray]  # by batch and rate, one for each seed; 0 where it diverged

    @property
    def lead(self) -> float:
        """What the best of the grid on half of the seeds gains on the other half, on average over both ways."""
        half = len(self.scores[self.chosen]) // 2
        return float(
            np.mean([self._gain(slice(0, half), slice(half, None)), self._gain(slice(half, None), slice(0, half))])
        )

    def _gain(self, picked: slice, judged: slice) -> float:
        other = max(self.scores, key=lambda setting: self.scores[setting][picked].mean())
        return float((self.scores[other] - self.scores[self.chosen])[judged].mean())


def wanted(results: Results, seeds: Iterable[int]) -> Iterator[tuple[str, TrialConfig, Setting]]:
    """Yield, for each size, a trial that asks for the grid on these seeds, and what was chosen on others."""
    for figure, part in PARTS:
        for size, found in results.found(figure, part).items():
            best = found["tuning"]["best"]
            trial = next(own for own in results.plan.parts(figure)[part] if own.task.size == size)
            settings = trial.model_dump(mode="json")
            name = settings["tuning"]["learner"]
            settings |= {"prelearning": None, "learners": {name: settings["learners"][name]}, "examples": 0}
            settings["tuning"]["seeds"] = list(seeds)
            label = f"{figure} {part}".strip()
            yield label, TrialConfig.model_validate_json(json.dumps(settings)), (best["batch"], best["eta_w"])


def scores(trial: TrialConfig, first: FirstStages) -> dict[Setting, np.ndarray]:
    """Return the score of every batch and rate that was run, seed by seed."""
    found: dict[Setting, dict[int, float]] = {}
    for own in findings(trial, first.read)["tuning"]["trials"]:
        stored = first.store.read(own, lambda name, dimensions: name in ("learner", SCORE))
        config = json.loads(stored.attributes["config"])
        for name, score in zip(config["learners"], stored.variables[SCORE][1], strict=True):
            setting = (int(name.split()[0]), float(config["learners"][name]["eta_w"]))
            found.setdefault(setting, {})[config["seed"]] = float(score) if np.isfinite(score) else 0.0
    assert trial.tuning is not None
    return {setting: np.array([by_seed[seed] for seed in trial.tuning.seeds]) for setting, by_seed in found.items()}


def compared(results: Results, folder: Path, seeds: Iterable[int], workers: int | None) -> list[Row]:
    """Run what is missing, and return all sizes."""
    tasks = list(wanted(results, seeds))
    experiment = Experiment("baseline", tuple(trial for _, trial, _ in tasks), {})
    first = FirstStages(Store(folder))
    while trials := first.pending(experiment):
        run_experiment(Experiment("baseline", tuple(trials), {}), first.store.folder, workers=workers, report=Lines())
    rows = []
    for figure, trial, chosen in tasks:
        own = scores(trial, first)
        known = min(own, key=lambda setting: abs(np.log(setting[1] / chosen[1])) + 99 * (setting[0] != chosen[0]))
        best = max(own, key=lambda setting: own[setting].mean())
        rows.append(Row(figure, trial.task.size, known, best, own))
    return rows


def table(rows: Iterable[Row]) -> str:
    """Return the comparison as a table in Markdown."""
    lines = [
        "| figure | size | as tuned | accuracy | best of the grid here | accuracy | gain of another choice |",
        "|---|---:|---|---:|---|---:|---:|",
    ]
    for row in rows:
        cells = [f"batch {batch}, rate {rate:.2g}" for batch, rate in (row.chosen, row.best)]
        means = [f"{row.scores[setting].mean():.3f}" for setting in (row.chosen, row.best)]
        lines.append(
            f"| {row.figure} | {row.size} | {cells[0]} | {means[0]} | {cells[1]} | {means[1]} | {row.lead:+.3f} |"
        )
    leads = np.array([row.lead for row in rows])
    error = leads.std(ddof=1) / np.sqrt(len(leads))
    return "\n".join([*lines, "", f"Mean gain of another choice: {leads.mean():+.4f}, standard error {error:.4f}."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reproduction", type=Path, help="a folder of `kenyon reproduce`, whose choices are checked")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("results/baseline"))
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    plan = Plan(
        **{name: json.loads((given.reproduction / "run.json").read_text())[name] for name in ("seeds", "quick")}
    )
    rows = compared(Results(given.reproduction / "results", plan), given.folder, given.seeds, given.workers)
    print(table(rows))


if __name__ == "__main__":
    main()
