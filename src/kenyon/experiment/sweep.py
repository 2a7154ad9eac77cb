"""From an experiment file to its trials.

Any value may be a list: the trials are the product of all lists, or of lists that go together where `zip` says so.
Lists among a learner's settings give that many learners, which share a trial and its simulation. `case` tables, with
an optional `label`, change settings for some of the trials; `seeds` counts seeds from 0; `extends` starts from another
file.
"""

from __future__ import annotations

import copy
import math
import os
import reprlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from kenyon import _checks
from kenyon.experiment.config import TrialConfig
from kenyon.experiment.learner_settings import LEARNERS, is_own, over_preset, settings_of
from kenyon.experiment.mistakes import SOUND, Place, Settings, Trials, by_case, value_at, without
from kenyon.experiment.presets import PRESETS, Preset
from kenyon.experiment.settings import ConfigError, noting, refuse_unknown, unknown_kind
from kenyon.experiment.stage_settings import PrelearningConfig
from kenyon.experiment.stages import is_open, pending

LIMIT = 100_000  # learners in all trials of an experiment: asking for more is a mistake
FILE_KEYS = ("name", "extends", "preset", "seeds", "zip", "case", "label", "tune")
KEYS = (*FILE_KEYS, *TrialConfig.model_fields)
STAGES = ("prelearning", "tuning")
PRELEARNED = PrelearningConfig.model_fields["learner"].default


class Experiment(NamedTuple):
    """A set of trials under one name."""

    name: str
    trials: tuple[TrialConfig, ...]
    tune: Settings


def load_experiment(source: str | Path | Mapping[str, Any], *, seeds: int | None = None) -> Experiment:
    """Read an experiment.

    Parameters
    ----------
    source
        A TOML file, or a mapping of what would be in one. In a mapping, a learner may also be an object.
    seeds
        Number of seeds, instead of what the source says.
    """
    if isinstance(source, Mapping):
        return _experiment(dict(source), "experiment", seeds)
    settings, name = read_file(_checks.path("source", source))
    try:
        return _experiment(settings, name, seeds)
    except ConfigError as error:
        raise in_file(source, error) from None


def _experiment(settings: Settings, name: str, seeds: int | None) -> Experiment:
    if seeds is not None:
        settings["seeds"] = seeds
    name, tune = settings.get("name", name), settings.get("tune", {})
    mistakes: list[str] = []
    trials: list[TrialConfig] = []
    with noting(mistakes):
        check_name(name)
    if not isinstance(tune, dict):
        mistakes.append(f"tune must be a table of settings, not {tune!r}")
    with noting(mistakes):
        trials = expand(settings)
        for trial in filter(is_open, trials):
            pending(trial, lambda source: None)  # which refuses first stages that cannot be run
    if mistakes:
        raise ConfigError(*mistakes)
    return Experiment(name, tuple(trials), tune)


def in_file(path: str | Path, error: ConfigError) -> ConfigError:
    """Return an error whose every line names the file."""
    return ConfigError(*(f"{path}: {mistake}" for mistake in error.args))


def check_name(name: Any) -> None:
    """Refuse a name that cannot be that of a file in the folder of results."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name.encode()) <= 200 or {*name} & {*"/\\"}:
        raise ConfigError(f"name must be a text that can name a file, without slashes, not {reprlib.repr(name)}")


def read_file(path: Path, below: tuple[Path, ...] = ()) -> tuple[Settings, str]:
    """Return the settings in a TOML file and the files it extends, and the experiment's name.

    `below` are the files that led here by extending one another.
    """
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{path}: cannot be read: {reason}") from None
    if "extends" in settings:
        base, _ = read_file(_extended(settings.pop("extends"), (*below, path)), (*below, path))
        base.pop("name", None)
        settings = merge(base, settings)
    odours = settings.get("task", {}).get("odours") if isinstance(settings.get("task"), dict) else None
    if isinstance(odours, str) and os.path.isfile(path.parent / odours):
        settings["task"]["odours"] = str(path.parent / odours)
    return settings, path.stem


def _extended(name: Any, files: tuple[Path, ...]) -> Path:
    """Return the file that the last of these extends."""
    path = files[-1].parent / str(name)
    if not os.path.isfile(path):
        raise ConfigError(f"{files[-1]}: extends must name an experiment file, not {reprlib.repr(name)}")
    if any(path.samefile(file) for file in files):
        raise ConfigError(f"{files[-1]}: extends leads back to {path}")
    return path


def expand(settings: Settings) -> list[TrialConfig]:
    """Return the trials of an experiment's settings, without repetition; raise all mistakes in them together."""
    cases = settings.get("case", [{}])
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise ConfigError("case must be an array of tables: [[case]]")
    plans, mistakes, n_learners = [], [], 0
    for case in cases:
        plan, noted = _plan(merge(settings, case))
        n_learners += plan.n_learners if plan else 0
        if n_learners > LIMIT:
            raise ConfigError(f"lists and seeds ask for {n_learners} learners in all trials together, above {LIMIT}")
        plans.append(plan)
        mistakes.append(noted)
    trials: dict[str, TrialConfig] = {}
    for plan, noted in zip(plans, mistakes, strict=True):
        made = Trials(plan.names if plan else {})
        found = [made.make(chosen) for chosen in plan.choices()] if plan else []
        trials.update({trial.id: trial for trial in found if trial})
        noted += made.mistakes
    if any(mistakes):
        raise ConfigError(*by_case(mistakes))
    return list(trials.values())


class _Plan(NamedTuple):
    """Settings with lists in them, and the groups in which lists are followed together: of one list unless zipped."""

    settings: Settings
    lists: dict[Place, list[Any]]
    groups: list[list[Place]]
    names: Mapping[str, str] = MappingProxyType({})  # of learners, as the file has them

    @property
    def n_choices(self) -> int:
        return math.prod(len(self.lists[group[0]]) for group in self.groups)

    @property
    def n_learners(self) -> int:
        """Number of learners in all trials."""
        return self.n_choices * len(self.settings["learners"])

    def choices(self) -> Iterator[Settings]:
        """Yield settings with one value from each list."""
        plain = copy.deepcopy(self.settings)
        for path in self.lists:
            set_value(plain, path, None)
        for picks in product(*(range(len(self.lists[group[0]])) for group in self.groups)):
            chosen = copy.deepcopy(plain)
            for group, pick in zip(self.groups, picks, strict=True):
                for path in group:
                    set_value(chosen, path, self.lists[path][pick])
            yield chosen


def _plan(settings: Settings) -> tuple[_Plan | None, list[str]]:
    """Return what to choose from, and the mistakes in it; nothing to choose from if that is beyond guessing."""
    mistakes: list[str] = []
    with noting(mistakes):
        refuse_unknown("", settings, KEYS)
    zipped = _zipped(settings.get("zip", []), mistakes)
    try:
        preset = _preset(settings, mistakes)
        settings = _with_preset({key: value for key, value in settings.items() if key in KEYS}, preset, mistakes)
        settings = _seeded(settings, mistakes)
        learners, names = _expand_learners(settings["learners"], zipped, mistakes)
    except ConfigError as error:
        return None, [*mistakes, *error.args]
    settings["learners"] = {
        name: over_preset(table, preset.by_kind.get(table["kind"], {})) for name, table in learners.items()
    }
    settings = _with_prelearner(settings, preset)
    plan = _grouped(settings, [group for group in zipped if group[0][0] != "learners"], mistakes)
    return plan._replace(names=names), mistakes


def _preset(settings: Settings, mistakes: list[str]) -> Preset:
    """Return the preset, or the one that was probably meant."""
    name = settings.get("preset", "static")
    if not isinstance(name, str) or name not in PRESETS:
        wrong = f"preset must be one of {', '.join(PRESETS)}, not {name!r}{_checks.suggestion(name, PRESETS)}"
        name = _checks.closest(name, PRESETS)
        if name is None:  # so the rest cannot be judged
            raise ConfigError(wrong)
        mistakes.append(wrong)
    return PRESETS[name]


def _with_preset(settings: Settings, preset: Preset, mistakes: list[str]) -> Settings:
    """Put the preset's settings under the given ones, and let all learners have a kind."""
    given = {key: value for key, value in settings.items() if key not in FILE_KEYS or key == "seeds"}
    learners = given.get("learners", preset.learners)
    if not isinstance(learners, dict):
        mistakes.append("learners must be tables of settings, such as [learners.Composed]")
        learners = preset.learners
    merged = merge(copy.deepcopy(preset.settings), given)
    return {**merged, "learners": {name: _learner(name, table, mistakes) for name, table in learners.items()}}


def _with_prelearner(settings: Settings, preset: Preset) -> Settings:
    """Give prelearning the preset's settings of its learner, if that is a kind and not among the trials' learners."""
    table = settings.get("prelearning")
    if not isinstance(table, dict):
        return settings
    kind = table.get("learner", PRELEARNED)
    if not isinstance(kind, str) or kind not in LEARNERS or kind in settings["learners"]:
        return settings
    return {**settings, "prelearning": {**table, "own": over_preset({"kind": kind}, preset.by_kind.get(kind, {}))}}


def _learner(name: str, given: Any, mistakes: list[str]) -> Settings:
    """Return the settings of a learner, which is given as a table or as an object."""
    if not isinstance(given, dict):
        try:
            return settings_of(given)
        except ConfigError as error:
            mistakes.append(f"learners.{name}: {error}")
            return SOUND
    kind = given.get("kind", name)
    if not isinstance(kind, str) or (kind not in LEARNERS and not is_own(kind)):
        mistakes.append(unknown_kind(f"learners.{name}", kind, LEARNERS))
        return SOUND
    return {"kind": kind, **given}


def _seeded(settings: Settings, mistakes: list[str]) -> Settings:
    if "seeds" not in settings:
        return settings
    settings = dict(settings)
    seeds = settings.pop("seeds")
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        mistakes.append(f"seeds must be a number of seeds, at least 1, not {seeds!r}; seed takes a list of others")
    elif seeds > LIMIT:
        mistakes.append(f"seeds must be at most {LIMIT}, not {seeds}")
    elif "seed" in settings:
        mistakes.append("seed and seeds cannot both be given: seeds = 5 stands for seed = [0, 1, 2, 3, 4]")
    else:
        settings["seed"] = list(range(seeds))
    return settings


def _expand_learners(
    learners: Settings, zipped: list[list[Place]], mistakes: list[str]
) -> tuple[Settings, dict[str, str]]:
    """Return a learner for each choice from a learner's lists, named after what was chosen, and the names before."""
    expanded: Settings = {}
    names: dict[str, str] = {}
    for name, settings in learners.items():
        own = [[path[2:] for path in group] for group in zipped if group[0][:2] == ("learners", name)]
        plan = _grouped(settings, own, mistakes, f"learners.{name}.")
        if plan.n_choices > LIMIT:
            raise ConfigError(f"learners.{name}: its lists ask for {plan.n_choices} learners, above {LIMIT}")
        for chosen in plan.choices():
            new = f"{name} {spelt_out((path[-1], value_at(chosen, path)) for path in plan.lists)}".strip()
            expanded[new], names[new] = chosen, name
    return expanded, names


def spelt_out(settings: Iterable[tuple[str, Any]]) -> str:
    """Return settings in a few words, as in "mu=0.2 k=0"."""
    return " ".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in settings)


def _grouped(settings: Settings, zipped: Sequence[Sequence[Place]], mistakes: list[str], above: str = "") -> _Plan:
    """Find the lists in settings, and put zipped ones together; those of first stages are not swept.

    `above` names the table that the settings are in.
    """
    lists = {path: value for path, value in leaves(settings) if isinstance(value, list) and path[0] not in STAGES}
    for path in [path for path, values in lists.items() if not values]:
        mistakes.append(f"{above}{'.'.join(path)} is an empty list, which leaves no trial")
        settings = without(settings, path)
        del lists[path]
    together = [group for group in zipped if _go_together(group, lists, mistakes, above)]
    within = {path for group in together for path in group}
    return _Plan(settings, lists, [*map(list, together), *([path] for path in lists if path not in within)])


def _go_together(group: Sequence[Place], lists: Mapping[Place, list[Any]], mistakes: list[str], above: str) -> bool:
    """Tell whether lists can be followed together."""
    if missing := [path for path in group if path not in lists]:
        mistakes += [f"zip names {above}{'.'.join(path)}, which is not a list" for path in missing]
        return False
    lengths = {above + ".".join(path): len(lists[path]) for path in group}
    if len(set(lengths.values())) > 1:
        mistakes.append(f"zip needs lists of the same length, not {lengths}")
        return False
    return True


def _zipped(groups: Any, mistakes: list[str]) -> list[list[Place]]:
    valid = isinstance(groups, list) and all(
        isinstance(group, list) and group and all(isinstance(name, str) for name in group) for group in groups
    )
    if not valid:
        mistakes.append('zip must be a list of lists of names, such as [["task.noise", "task.steps"]]')
        return []
    paths = [[tuple(name.split(".")) for name in group] for group in groups]
    mixed = [group for group in paths if len({path[:2] if path[0] == "learners" else "" for path in group}) > 1]
    if mixed:
        mistakes.append("zip cannot join the settings of a learner with others: each learner has its own lists")
    return [group for group in paths if group not in mixed]


def leaves(settings: Settings, path: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield the place and value of every setting that is not a table."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name), value


def set_value(settings: Settings, path: Sequence[str], value: Any) -> None:
    """Set a value in place, making tables on the way where there are none."""
    for name in path[:-1]:
        settings = settings.setdefault(name, {})
    settings[path[-1]] = value


def merge(base: Settings, over: Settings) -> Settings:
    """Return `base` updated by `over`, table by table; a table that is given another kind starts afresh."""
    merged = dict(base)
    for name, value in over.items():
        old = merged.get(name)
        if isinstance(old, dict) and isinstance(value, dict) and not _other_kind(name, base, value):
            value = merge(old, value)
        merged[name] = value
    return merged


def _other_kind(name: str, base: Settings, table: Settings) -> bool:
    """Tell whether a table names a kind other than in `base`, implied there by the preset or a learner's name."""
    preset = PRESETS.get(str(base.get("preset", "static")))
    implied = preset.settings["task"]["kind"] if name == "task" and preset else name
    return isinstance(table.get("kind"), str) and table["kind"] != base[name].get("kind", implied)
