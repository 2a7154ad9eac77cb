"""First stages: what is found out by trials of its own, before the trials of an experiment can run.

A trial with a `prelearning` or a `tuning` table is open. `pending` says which trials must run before it can, given the
results that there are; once there are none, `settled` returns the trial with numbers in place of the tables, and
`origins` telling which trials they came from. Everything follows from stored results, so a stopped run goes on as if it
had not been stopped.

Prelearning is a trial with a single episode: what counts is the record of its prelearning. Tuning trains a learner for
every batch and rate side by side, in one trial for each seed. Rates are a factor of 2 apart, and where the best of a
batch is at an end of its rates, these are extended, until both ends are worse. (Where nothing can be learned no rate is
worse than another, and the rates end at some point.) The first rates reach far: one more learner costs less than
simulating the states again, and some readouts have a second best, at rates far below the first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from kenyon.experiment.config import TrialConfig
from kenyon.experiment.learner_settings import LearnerModel, settings_of
from kenyon.experiment.mistakes import trial_config
from kenyon.experiment.result_file import Stored
from kenyon.experiment.settings import ConfigError
from kenyon.learning.learners import Learner, changed

Read = Callable[[TrialConfig], Stored | None]  # the result of a trial, if there is one
LOWEST, HIGHEST = -7, 1  # doublings of the learner's own rate that are tried first, with batch 1
PER_TENFOLD = 2.5  # doublings by which the lowest is higher for ten times the batch, which makes a tenth of the steps
WIDTH = 2  # doublings by which an end is extended
FURTHEST = 12  # doublings from the learner's own rate at which rates end: beyond, nothing is learned either way
SCORE = "expected_accuracy"  # the accuracy that choices have on average: they are not drawn, so it varies less


def is_open(trial: TrialConfig) -> bool:
    """Tell whether a trial waits for a first stage."""
    return trial.prelearning is not None or trial.tuning is not None


def pending(trial: TrialConfig, read: Read) -> list[TrialConfig]:
    """Return the trials that must run next before `trial` can be settled; none if it can be, or is."""
    sources = _sources(trial)
    if trial.tuning is not None:
        sources += _tuned(trial, read).trials
    return [source for source in sources if read(source) is None]


def settled(trial: TrialConfig, read: Read) -> TrialConfig:
    """Return the trial that runs: with what was found in place of the tables that asked for it."""
    settings, origins = trial.model_dump(mode="json"), dict(trial.origins)
    for source in _sources(trial):
        origins["prelearning"] = source.id
        found = _prelearned(source, read)
        for name in _waiting(trial) if "theta_g" in found else []:
            settings["learners"][name] = started(trial.learners[name], found["theta_g"])
    if trial.tuning is not None:
        tuned = _tuned(trial, read)
        origins["tuning"] = " ".join(source.id for source in tuned.trials)
        settings["learners"][trial.tuning.learner].update(tuned.best())
    return _made({**settings, "prelearning": None, "tuning": None, "origins": origins})


def findings(trial: TrialConfig, read: Read) -> dict[str, Any]:
    """Return what the first stages of a trial found, and how: to be kept with the results."""
    found: dict[str, Any] = {}
    for source in _sources(trial):
        found["prelearning"] = {"trials": [source.id], "learner": source.learner_names[0], **_prelearned(source, read)}
    if trial.tuning is not None:
        tuned = _tuned(trial, read)
        table = [
            {"batch": batch, "eta_w": tuned.rate(power), SCORE: score if np.isfinite(score) else None}
            for batch, scores in tuned.scores.items()
            for power, score in sorted(scores.items())
        ]
        ids = [source.id for source in tuned.trials]
        found["tuning"] = {"trials": ids, "learner": trial.tuning.learner, "best": tuned.best(), "table": table}
    return found


def _waiting(trial: TrialConfig) -> list[str]:
    """Return the names of the learners that start from what prelearning finds."""
    own = {name: learner for name, learner in trial.learners.items() if isinstance(learner, LearnerModel)}
    return [name for name, learner in own.items() if getattr(learner, "start", None) == "prelearned"]


def started(settings: LearnerModel, start: float | str) -> dict[str, Any]:
    """Return the settings of a learner with another start."""
    learner = settings.build()
    if not isinstance(learner, Learner) or not learner.thresholds:
        raise ConfigError(f"prelearning.learner must name a learner with thresholds, not a {settings.kind}")
    return settings_of(changed(learner, start=start))


def _sources(trial: TrialConfig) -> list[TrialConfig]:
    """Return the trial that prelearns, if one is asked for and needed."""
    if trial.prelearning is None or not _waiting(trial):
        return []
    table = trial.prelearning
    learner = trial.learners.get(table.learner, table.own)
    if learner is None:
        known = ", ".join(trial.learners)
        raise ConfigError(f"prelearning.learner must be one of {known}, or a kind of learner, not {table.learner!r}")
    settings = {**_without_stages(trial), "learners": {table.learner: started(learner, "prelearned")}}
    settings["task"] = {**settings["task"], **table.task}
    return [_made({**settings, "seed": table.seed, "n_episodes": 1, "n_test": 1, "n_bins": 1})]


def _made(settings: dict[str, Any]) -> TrialConfig:
    """Return settings as a trial: made once, since trials of many seeds and sizes ask for the same first stage."""
    return _made_of(json.dumps(settings))


@lru_cache(4096)
def _made_of(settings: str) -> TrialConfig:
    return trial_config(json.loads(settings))


def _without_stages(trial: TrialConfig) -> dict[str, Any]:
    return {**trial.model_dump(mode="json"), "prelearning": None, "tuning": None, "examples": 0}


def _prelearned(source: TrialConfig, read: Read) -> dict[str, Any]:
    """Return the record of prelearning in a result, or why it failed; then learners prelearn by themselves."""
    attributes, name = _result(source, read).attributes, source.learner_names[0]
    record: dict[str, dict[str, Any]] = json.loads(attributes["prelearning"])
    return record.get(name) or {"failed": json.loads(attributes["diverged"]).get(name, "")}


class _Tuned(NamedTuple):
    """A grid of batches and rates as far as it has got: the rates are `base` times powers of 2."""

    base: float
    scores: dict[int, dict[int, float]]  # by batch and power: mean score; minus infinity where a seed diverged
    trials: list[TrialConfig]  # all so far; the last ones may have no result yet

    def rate(self, power: int) -> float:
        return float(self.base * 2.0**power)

    def best(self) -> dict[str, Any]:
        """Return the best batch and rate; of equals the smallest batch, and the one in the middle of its rates."""
        highest = max(score for scores in self.scores.values() for score in scores.values())
        batch = next(batch for batch, scores in self.scores.items() if highest in scores.values())
        equals = sorted(power for power, score in self.scores[batch].items() if score == highest)
        return {"batch": batch, "eta_w": self.rate(equals[len(equals) // 2])}


def _tuned(trial: TrialConfig, read: Read) -> _Tuned:
    """Follow the grid as far as there are results: to its end, or to trials that have not run."""
    assert trial.tuning is not None
    settings, name = _without_stages(trial), trial.tuning.learner
    own = settings["learners"].get(name)
    if own is None:
        raise ConfigError(f"tuning.learner must be one of {', '.join(trial.learners)}, not {name!r}")
    if own["kind"] != "GradientWeights" or own["eta_w"] is None:
        raise ConfigError(f"tuning.learner must name a learner of kind GradientWeights with fixed steps, not {own}")
    grid = _Tuned(float(own["eta_w"]), {batch: {} for batch in sorted(set(trial.tuning.batch))}, [])
    while wanted := {batch: more for batch, scores in grid.scores.items() if (more := _next_powers(batch, scores))}:
        learners = {
            f"{batch} {power}": {**own, "batch": batch, "eta_w": grid.rate(power)}
            for batch, powers in wanted.items()
            for power in powers
        }
        sources = [
            _made({**settings, "learners": learners, "seed": seed, "halve_diverged": False, "n_bins": 1})
            for seed in trial.tuning.seeds
        ]
        grid.trials.extend(sources)
        if any(read(source) is None for source in sources):
            return grid
        accuracies = np.mean([_accuracies(_result(source, read)) for source in sources], axis=0)
        for name, accuracy in zip(learners, accuracies, strict=True):
            batch, power = map(int, name.split())
            grid.scores[batch][power] = float(accuracy)
    return grid


def _accuracies(stored: Stored) -> Any:
    """Return the accuracy of every learner, minus infinity for those that diverged."""
    accuracy = stored.variables[SCORE][1]
    return np.where(np.isfinite(accuracy), accuracy, -np.inf)


def _next_powers(batch: int, scores: Mapping[int, float]) -> list[int]:
    """Return the powers to try next: the first ones, and those beyond an end that is not worse than the best."""
    if not scores:
        return list(range(min(LOWEST + round(PER_TENFOLD * math.log10(batch)), 0), HIGHEST + 1))
    low, high, best = min(scores), max(scores), max(scores.values())
    powers: list[int] = []
    if scores[low] == best and low > -FURTHEST:
        powers += range(max(low - WIDTH, -FURTHEST), low)
    if scores[high] == best and np.isfinite(best) and high < FURTHEST:
        powers += range(high + 1, min(high + WIDTH, FURTHEST) + 1)
    return powers


def _result(source: TrialConfig, read: Read) -> Stored:
    stored = read(source)
    if stored is None:
        raise ConfigError(f"the first stage has not been run: there is no result of trial {source.id}")
    return stored
