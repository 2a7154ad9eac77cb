"""The first stages of experiments in a folder: their results are in a folder within it, and what they found beside it.

DIR/first/              results of prelearning and tuning, one file per trial
DIR/NAME.found.json     of experiment NAME: the starts, batches and rates found, with all that was tried
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from kenyon.experiment.config import TrialConfig, trial_of
from kenyon.experiment.result_file import Stored
from kenyon.experiment.stages import SCORE, findings, is_open, pending, settled
from kenyon.experiment.store import Store
from kenyon.experiment.sweep import Experiment

FOLDER = "first"


class FirstStages:
    """What is found out before the trials of experiments in a folder can run.

    First stages have seeds of their own, so trials that differ in nothing but the seed share them.
    """

    def __init__(self, store: Store) -> None:
        self.above, self.store = store, Store(store.folder / FOLDER)
        self.known: dict[str, Stored] = {}
        self.done: dict[str, TrialConfig] = {}  # one settled trial of those that share their first stages

    def pending(self, experiment: Experiment) -> list[TrialConfig]:
        """Return the trials that must run next; none when the experiment can be settled."""
        waiting = [source for trial in _one_of_each(experiment.trials) for source in pending(trial, self.read)]
        return list({source.id: source for source in waiting}.values())

    def settled(self, experiment: Experiment) -> Experiment:
        """Return the experiment as it runs, with numbers for what was asked for; write down where they came from."""
        opened = _one_of_each(experiment.trials)
        if not opened:
            return experiment
        self.above.create()
        found = {json.dumps(findings(trial, self.read)): None for trial in opened}
        self.above.put(f"{experiment.name}.found.json", json.dumps(list(map(json.loads, found)), indent=1))
        return experiment._replace(trials=tuple(self.settle(experiment.trials)))

    def settle(self, trials: Iterable[TrialConfig]) -> list[TrialConfig]:
        """Return trials as they run, without repetition."""
        done = [self._settled(trial) if is_open(trial) else trial for trial in trials]
        return list({trial.id: trial for trial in done}.values())

    def _settled(self, trial: TrialConfig) -> TrialConfig:
        if (key := _but_for_seed(trial)) not in self.done:
            self.done[key] = settled(trial, self.read)
        return trial_of(json.dumps({**self.done[key].model_dump(mode="json"), "seed": trial.seed}))

    def read(self, trial: TrialConfig) -> Stored | None:
        """Return the result of a trial of a first stage, if there is one; each file is read once."""
        if trial.id not in self.known and self.store.path(trial.id).exists():
            self.known[trial.id] = self.store.read(trial.id, lambda name, dimensions: name in ("learner", SCORE))
        return self.known.get(trial.id)


def _one_of_each(trials: Iterable[TrialConfig]) -> list[TrialConfig]:
    """Return one of the open trials that share their first stages."""
    return list({_but_for_seed(trial): trial for trial in trials if is_open(trial)}.values())


def _but_for_seed(trial: TrialConfig) -> str:
    return trial.model_dump_json(exclude={"seed"})
