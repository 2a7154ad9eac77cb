"""Readings of the paper: choices that it leaves open, laid one at a time over the trials of all figures and claims.

All readings, the central one included, are run at fewer sizes and seeds than the figures, and only with what claims
read. They are listed, with what they change and why, in readings.toml. A trial that a reading does not change keeps its
identity, and so shares its result with the central reading.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from kenyon import _checks
from kenyon.experiment.config import TrialConfig, trial_of
from kenyon.experiment.learner_settings import LearnerModel
from kenyon.experiment.mistakes import Settings
from kenyon.experiment.stages import started

CENTRAL = "central"


class Part(NamedTuple):
    """What claims read of a part of a figure."""

    learners: tuple[str, ...] = ()  # all if empty
    keep: Mapping[str, Any] = {}  # trials with one of these values, by table and setting


class Thin(NamedTuple):
    """How much is run for every reading."""

    seeds: int
    sizes: Mapping[str, list[int]]  # by kind of task
    n_episodes: Mapping[str, int]  # by kind of task, instead of what files say
    tuning_seeds: list[int]
    parts: Mapping[str, Part]  # by figure and label

    def part(self, figure: str, label: str) -> Part | None:
        """Return what is read of a part of a figure; None if nothing is."""
        return self.parts.get(f"{figure} {label}".strip())

    def keeps(self, part: Part, trial: TrialConfig) -> bool:
        """Tell whether a trial is run."""
        settings = trial.model_dump(mode="json")
        wanted = [settings[table][name] in values for table, own in part.keep.items() for name, values in own.items()]
        return trial.task.size in self.sizes[trial.task.kind] and all(wanted)

    def of(self, part: Part, trial: TrialConfig) -> TrialConfig:
        """Return a trial with fewer episodes and learners."""
        settings = trial.model_dump(mode="json")
        settings["n_episodes"] = min(trial.n_episodes, self.n_episodes.get(trial.task.kind, trial.n_episodes))
        if part.learners:
            settings["learners"] = {name: settings["learners"][name] for name in part.learners}
        if settings["tuning"]:
            settings["tuning"]["seeds"] = self.tuning_seeds
        return _trial(settings)


class Reading(NamedTuple):
    """A reading of the paper, and how its trials differ from the central ones."""

    name: str
    title: str
    changes: str  # in words
    why: str  # what the paper says of it, or does not
    set: Mapping[str, Any] = {}  # settings by table: task, reservoir, learners
    factors: Mapping[str, Any] = {}  # on numbers, likewise
    where: Mapping[str, list[Any]] = {}  # which learners: those with one of these values
    start: float | str | None = None  # instead of what prelearning finds
    without: tuple[str, ...] = ()  # first stages

    def of(self, trial: TrialConfig) -> TrialConfig:
        """Return a trial as this reading has it; the trial itself if nothing changes."""
        settings = trial.model_dump(mode="json")
        for name in ("task", "reservoir"):
            settings[name] = self._changed(name, settings[name])
        settings["learners"] = {name: self._learner(learner) for name, learner in trial.learners.items()}
        if trial.prelearning and trial.prelearning.own:
            settings["prelearning"]["own"] = self._learner(trial.prelearning.own)
        return _trial({**settings, **dict.fromkeys(self.without)})

    def _learner(self, learner: LearnerModel) -> Settings:
        settings = learner.model_dump(mode="json")
        if self.start is not None and settings.get("start") == "prelearned":
            settings = json.loads(type(learner).model_validate(started(learner, self.start)).model_dump_json())
        chosen = all(settings.get(name) in values for name, values in self.where.items())
        return self._changed("learners", settings) if chosen else settings

    def _changed(self, table: str, settings: Settings) -> Settings:
        settings = _laid_over(settings, self.set.get(table, {}), lambda old, new: new)
        return _laid_over(settings, self.factors.get(table, {}), _multiplied)


def _laid_over(settings: Settings, over: Mapping[str, Any], change: Callable[[Any, Any], Any]) -> Settings:
    """Return settings changed where they have a value: what does nothing in a trial is None there, or missing."""
    changed = dict(settings)
    for name, value in over.items():
        old = settings.get(name)
        if isinstance(value, Mapping) and isinstance(old, dict):
            changed[name] = _laid_over(old, value, change)
        elif old is not None:
            changed[name] = change(old, value)
    return changed


def _multiplied(value: Any, factor: float) -> Any:
    """Return a number times a factor; other values, such as a gain that is matched, as they are."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return value * factor


def _trial(settings: Settings) -> TrialConfig:
    return trial_of(json.dumps(settings))


def reading(name: str) -> Reading:
    """Return a reading by its name."""
    if name not in READINGS:
        similar = _checks.suggestion(name, READINGS)
        raise ValueError(f"there is no reading {name!r}{similar}; there are {', '.join(READINGS)}")
    return READINGS[name]


def _load() -> tuple[Thin, dict[str, Reading]]:
    found = tomllib.loads((files("kenyon.paper") / "readings.toml").read_text(encoding="utf-8"))
    parts = {name: Part(**table) for name, table in found["thin"].pop("parts").items()}
    return Thin(**found["thin"], parts=parts), {table["name"]: Reading(**table) for table in found["reading"]}


THIN, READINGS = _load()
