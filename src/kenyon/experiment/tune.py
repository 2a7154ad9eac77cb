"""A search for good settings: an Optuna study whose trials are stored like any others.

    [tune]
    learner = "Normalised"          # the learner to be scored
    measure = "accuracy"            # its score: the mean of this variable over sizes and seeds
    [tune.search]
    "learners.Normalised.mu" = {low = 0.05, high = 1.5, log = true}
    "reservoir.leak_rate" = [0.025, 0.05, 0.1]

The study is a journal next to the results. When a stopped search continues, it first repeats what it had begun. The
sampler is seeded by the number of the trial, so stopping a search does not change how it ends. A file that was changed
begins a study of its own, because scores under other settings do not compare.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kenyon import _checks
from kenyon.experiment.config import TrialConfig
from kenyon.experiment.executor import Crew, run_trials
from kenyon.experiment.reports import Report
from kenyon.experiment.results import combine
from kenyon.experiment.settings import ConfigError, noting, refuse_unknown
from kenyon.experiment.store import SEARCH, Store
from kenyon.experiment.sweep import Experiment, check_name, expand, in_file, read_file, set_value, spelt_out

RANGE = {"low", "high", "log"}
KEYS = ("learner", "measure", "minimize", "seed", "search")


class Best(NamedTuple):
    """The best settings found."""

    score: float
    settings: dict[str, Any]
    n_trials: int

    def describe(self) -> str:
        """Return them as lines that can go into an experiment file."""
        lines = [f"{name} = {value!r}" for name, value in self.settings.items()]
        return "\n".join([f"best of {self.n_trials}: {self.score:.4f}", *lines])


class Study(NamedTuple):
    """What to search, and by which score."""

    name: str
    base: dict[str, Any]
    search: dict[str, Any]
    learner: str
    measure: str
    minimize: bool
    seed: int

    @property
    def id(self) -> str:
        """A hash of everything that scores depend on."""
        trials = [trial.id for trial in expand(copy.deepcopy(self.base))]
        facts = json.dumps([trials, *self[2:]], default=str)
        return f"{self.name} {sha256(facts.encode()).hexdigest()[:20]}"


def tune(
    file: str | Path,
    folder: str | Path,
    n_trials: int,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    report: Report | None = None,
) -> Best:
    """Search until `n_trials` settings have been tried in total, including those of earlier calls.

    Parameters
    ----------
    file
        An experiment file with a [tune] table.
    folder
        Where results and study are stored.
    n_trials
        How many settings to try.
    workers, cluster, report
        As in `run_experiment`.
    """
    study = load_study(file)
    optuna, store = _optuna(), Store(folder)
    store.create()
    report = Report() if report is None else report
    record, known = _record(study, store, optuna), dict[int, tuple[TrialConfig, ...]]()
    _requeue(record, optuna)
    with Crew(workers, cluster) as crew:
        while (number := len(_listed(store, study, record, known))) < n_trials:
            record.sampler = optuna.samplers.TPESampler(seed=study.seed + number, n_startup_trials=10)
            trial = record.ask()
            settings = {place: _suggest(trial, place, what) for place, what in study.search.items()}
            report.say(f"{number + 1} of {n_trials}: {spelt_out(settings.items())}")
            now = _trials(study.base, settings)
            _listed(store, study, record, known, now)
            summary = run_trials(Experiment(study.name + SEARCH, now, {}), store, crew, report)
            score = np.nan if summary.failed else _score(store, now, study)
            trial.set_user_attr("trials", [config.id for config in now])
            record.tell(trial, *((score,) if np.isfinite(score) else (None, optuna.trial.TrialState.FAIL)))
    return Best(float(record.best_value), dict(record.best_params), n_trials)


def _listed(
    store: Store, study: Study, record: Any, known: dict[int, tuple[TrialConfig, ...]], now: Sequence[TrialConfig] = ()
) -> list[Any]:
    """Return what was tried, after listing its trials, and those that are run now, as those of the search.

    `known` holds the trials of what was tried, by its number, so that they are expanded once.
    """
    tried = [trial for trial in record.get_trials(deepcopy=False) if "trials" in trial.user_attrs]
    for trial in tried:
        if trial.number not in known:
            known[trial.number] = _trials(study.base, trial.params)
    trials = {config.id: config for trial in tried for config in known[trial.number]}
    trials.update({config.id: config for config in now})
    if trials:
        store.register(Experiment(study.name + SEARCH, tuple(trials.values()), {}))
    return tried


def _record(study: Study, store: Store, optuna: Any) -> Any:
    """Return the study in its journal, which may have others of the same name from before the file was changed."""
    direction = "minimize" if study.minimize else "maximize"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        backend = optuna.storages.journal.JournalFileBackend(str(store.folder / f"{study.name}.study"))
        storage = optuna.storages.JournalStorage(backend)
        return optuna.create_study(storage=storage, study_name=study.id, direction=direction, load_if_exists=True)


def load_study(file: str | Path) -> Study:
    """Read an experiment file with a [tune] table."""
    path = Path(file)
    settings, name = read_file(path)
    name = settings.get("name", name)
    mistakes: list[str] = []
    with noting(mistakes):
        check_name(name)
    with noting(mistakes):
        study = _study(name, settings, mistakes)
    if mistakes:
        raise in_file(path, ConfigError(*mistakes))
    return study


def _study(name: str, settings: dict[str, Any], mistakes: list[str]) -> Study:
    table = settings.pop("tune", None)
    with noting(mistakes):
        expand(copy.deepcopy(settings))
    if not isinstance(table, dict) or not isinstance(table.get("search"), dict) or not table["search"]:
        raise ConfigError("tune needs a [tune] table with a learner and a [tune.search] table")
    with noting(mistakes):
        refuse_unknown("tune.", table, KEYS)
    learner, measure, seed = table.get("learner", ""), table.get("measure", "accuracy"), table.get("seed", 0)
    if not (isinstance(learner, str) and learner and isinstance(measure, str)):
        mistakes.append("tune.learner must name the learner to be scored, and tune.measure the variable")
    if not isinstance(seed, int):
        mistakes.append(f"tune.seed must be an integer, not {seed!r}")
    for place, what in table["search"].items():
        if not _is_range(what):
            mistakes.append(
                f"tune.search: {place} must be a list of choices or {{low = , high = , log = }}, not {what!r}"
            )
    return Study(name, settings, table["search"], learner, measure, bool(table.get("minimize")), seed)


def _is_range(what: Any) -> bool:
    """Tell whether something can be searched: choices, or a range of numbers."""
    if not isinstance(what, dict):
        return isinstance(what, list) and bool(what)
    ends: list[Any] = [what.get("low"), what.get("high")]
    return set(what) <= RANGE and all(isinstance(end, int | float) for end in ends) and ends[0] < ends[1]


def _suggest(trial: Any, place: str, what: Any) -> Any:
    if isinstance(what, list):
        return trial.suggest_categorical(place, what)
    whole = isinstance(what["low"], int) and isinstance(what["high"], int)
    suggest = trial.suggest_int if whole else trial.suggest_float
    return suggest(place, what["low"], what["high"], log=bool(what.get("log")))


def _trials(base: dict[str, Any], settings: dict[str, Any]) -> tuple[TrialConfig, ...]:
    chosen = copy.deepcopy(base)
    for place, value in settings.items():
        set_value(chosen, place.split("."), value)
    return tuple(expand(chosen))


def _score(store: Store, trials: Sequence[TrialConfig], study: Study) -> float:
    results = combine(store, [trial.id for trial in trials])
    if study.measure not in results or study.learner not in results.learner:
        raise ConfigError(f"tune: there is no measure {study.measure!r} for a learner {study.learner!r}")
    return float(results[study.measure].sel(learner=study.learner).mean(skipna=False))


def _requeue(record: Any, optuna: Any) -> None:
    """Queue again what a stopped search had begun."""
    for trial in record.get_trials(deepcopy=False):
        if trial.state == optuna.trial.TrialState.RUNNING:
            record.enqueue_trial(trial.params)
            record.tell(trial.number, state=optuna.trial.TrialState.FAIL)


def _optuna() -> Any:
    try:
        import optuna
    except ModuleNotFoundError:
        raise _checks.missing("tune", "optuna") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
