"""What is run for each figure: the experiment files of the package, at full size or quick; and their results."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from kenyon import _checks
from kenyon.experiment.config import TrialConfig, trial_of
from kenyon.experiment.first_stages import FirstStages
from kenyon.experiment.mistakes import Settings
from kenyon.experiment.presets import FIVE
from kenyon.experiment.results import combine
from kenyon.experiment.stages import findings, is_open
from kenyon.experiment.store import Store, StoreError
from kenyon.experiment.sweep import Experiment, expand, read_file
from kenyon.paper.readings import THIN, reading

FIGURES = ("1", "2", "3", "4", "5", "6", "7", "S1", "S2", "S3", "S4", "S5", "S6")
CLAIMS = "claims"  # what claims need beyond the figures
STIMULI, SEQUENCES = 140, 336  # sizes at which training curves are shown: the paper's, and our largest
GD_W, GD_THETA, METROPOLIS, COMPOSED = FIVE[:4]  # the paper's learners
SEEDS = 10
QUICK_SEEDS = 1  # a quick run judges nothing


class Plan(NamedTuple):
    """How much to run."""

    seeds: int = SEEDS
    quick: bool = False
    reading: str = ""  # one of the readings, with fewer sizes, or else everything in the central one

    @classmethod
    def of(cls, seeds: int | None, quick: bool) -> Plan:
        """Return a plan, by default with the usual number of seeds."""
        usual = QUICK_SEEDS if quick else SEEDS
        return cls(usual if seeds is None else _checks.integer("seeds", seeds, 1), quick)

    def experiment(self, figure: str) -> Experiment:
        """Return all trials of a figure, or of the claims."""
        trials = {trial.id: trial for part in self.parts(figure).values() for trial in part}
        name = f"{self.reading} {_file(figure)}".strip()
        return Experiment(name, tuple(trials.values()), {})

    def parts(self, figure: str) -> dict[str, list[TrialConfig]]:
        """Return the trials of each labelled case of a figure; without cases there is one part, named ""."""
        return _parts(self, figure)


class Results(NamedTuple):
    """The results of a plan, in a folder."""

    folder: Path
    plan: Plan

    def get(self, figure: str, part: str = "") -> xr.Dataset:
        """Return the results of a part of a figure, including those per neuron."""
        return _open(self, figure, part)

    def experiment(self, figure: str) -> Experiment:
        """Return all trials of a figure as they ran, with what first stages found."""
        experiment = self.plan.experiment(figure)
        return experiment._replace(trials=tuple(_first_stages(self.folder).settle(experiment.trials)))

    def found(self, figure: str, part: str = "") -> dict[int, dict[str, Any]]:
        """Return what was found before a part of a figure ran, by size: the start, batch and rate, and all tried."""
        stages = _first_stages(self.folder)
        trials = {trial.task.size: trial for trial in self.plan.parts(figure)[part] if is_open(trial)}
        return {size: findings(trial, stages.read) for size, trial in sorted(trials.items())}

    def provenance(self) -> list[dict[str, Any]]:
        """Return where, when and for how long each trial of the plan ran."""
        store = Store(self.folder)
        trials = {trial.id for figure in (*FIGURES, CLAIMS) for trial in self.experiment(figure).trials}
        finished = sorted(trials & set(store.finished()))
        headers = [store.read(trial, lambda name, dimensions: False).attributes for trial in finished]
        return [json.loads(header["provenance"]) for header in headers]


def joined(results: Results, figure: str) -> xr.Dataset:
    """Return the accuracies of all parts of a figure as one Dataset, where parts differ only in their learners."""
    parts = [results.get(figure, part) for part in results.plan.parts(figure)]
    measures = [part[["accuracy", "argmax_accuracy"]].reset_coords(drop=True) for part in parts]
    return xr.concat(measures, "learner", join="exact", combine_attrs="override")


def nearest_size(data: xr.Dataset, wanted: int) -> int:
    """Return the size to show or judge: the paper's if it was run, otherwise the nearest."""
    sizes = data["size"].values
    return int(sizes[np.abs(sizes - wanted).argmin()])


def all_forms(results: Results) -> xr.Dataset:
    """Return accuracies for every form of the input weights: those of figure S3, after the paper's own, of figure 2."""
    shown = ["accuracy", "argmax_accuracy", "diverged_at"]
    own, others = results.get("2"), results.get("S3")[shown]
    own = own.sel(learner=others.learner, size=[nearest_size(own, int(others["size"][0]))])[shown]
    own = own.assign_coords(size=others["size"]).expand_dims(input_weights=["lognormal"])
    return xr.concat([own, others], "input_weights", join="outer", combine_attrs="override")


def best(accuracy: xr.DataArray) -> str:
    """Return the learner with the highest mean over the seeds that have a value."""
    means = accuracy.mean("seed", skipna=True).fillna(0.0)
    return str(accuracy.learner.values[int(means.values.argmax())])


@cache
def _open(results: Results, figure: str, part: str) -> xr.Dataset:
    trials = tuple(trial.id for trial in _first_stages(results.folder).settle(results.plan.parts(figure)[part]))
    store = Store(results.folder)
    missing = [trial for trial in trials if not store.path(trial).exists()]
    if missing:
        raise StoreError(f"{results.folder} lacks {len(missing)} of the {len(trials)} trials of figure {figure}")
    return _combined(results.folder, trials)


@cache
def _combined(folder: Path, trials: tuple[str, ...]) -> xr.Dataset:
    """Return the results of trials, which figures may share: 3 has those of 2."""
    return combine(Store(folder), trials, neurons=True)


@cache
def _first_stages(folder: Path) -> FirstStages:
    """Return the first stages in a folder; figures share them."""
    return FirstStages(Store(folder))


@cache
def _parts(plan: Plan, figure: str) -> dict[str, list[TrialConfig]]:
    """Return the trials of each case: made once, since every claim asks for them."""
    trials = _thin(figure, plan.seeds) if plan.reading else _whole(figure, plan.seeds)
    if plan.reading:
        trials = {label: list(map(reading(plan.reading).of, part)) for label, part in trials.items()}
    return {label: _smaller(part) for label, part in trials.items()} if plan.quick else trials


@cache
def _thin(figure: str, seeds: int) -> dict[str, list[TrialConfig]]:
    """Return what is run of each case for every reading."""
    parts = {label: THIN.part(figure, label) for label in _cases(figure)}
    trials = _whole(figure, seeds)
    return {
        label: [THIN.of(part, trial) for trial in trials[label] if THIN.keeps(part, trial)]
        for label, part in parts.items()
        if part is not None
    }


@cache
def _whole(figure: str, seeds: int) -> dict[str, list[TrialConfig]]:
    """Return all trials of each case."""
    settings = {name: value for name, value in _settings(figure).items() if name != "case"}
    if (usual := settings.get("seeds", 1)) > 1:  # of the usual number: what no claim needs has fewer
        settings["seeds"] = max(min(2, seeds), round(usual * seeds / SEEDS))
    return {label: expand(copy.deepcopy({**settings, "case": [case]})) for label, case in _cases(figure).items()}


def _cases(figure: str) -> dict[str, Settings]:
    return {case.get("label", ""): case for case in _settings(figure).get("case", [{}])}


@cache
def _settings(figure: str) -> Settings:
    with as_file(files("kenyon.paper") / "experiments") as folder:
        return read_file(folder / f"{_file(figure)}.toml")[0]


def _file(figure: str) -> str:
    return figure if figure == CLAIMS else f"figure{figure}"


def _smaller(trials: Sequence[TrialConfig]) -> list[TrialConfig]:
    """Return fewer and smaller trials of the same kind, enough to see everything work."""
    sizes = sorted({trial.task.size for trial in trials})
    shown = STIMULI if trials[0].task.kind == "static" else SEQUENCES
    kept = {sizes[0], shown if shown in sizes else sizes[-1]}
    small = [_small(trial) for trial in trials if trial.task.size in kept]
    return list({trial.id: trial for trial in small}.values())


def _small(trial: TrialConfig) -> TrialConfig:
    settings = trial.model_dump(mode="json")
    settings["reservoir"]["n_neurons"] = min(200, settings["reservoir"]["n_neurons"])
    settings["n_episodes"] = max(1000, settings["n_episodes"] // 40)
    settings["n_test"], settings["n_bins"] = 200, 30
    if settings["tuning"]:
        settings["tuning"] |= {name: settings["tuning"][name][:n] for name, n in (("seeds", 1), ("batch", 2))}
    return trial_of(json.dumps(settings))
