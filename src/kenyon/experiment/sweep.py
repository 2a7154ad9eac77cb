"""From an experiment file to its trials.

Any value may be a list: the trials are the product of all lists, or of lists that go together where `zip` says so.
Lists among a learner's settings give that many learners, which share a trial and its simulation. `case` tables, with
a `label` if wanted, change settings for some of the trials; `seeds` counts seeds, from 0; `extends` starts from
another file.
"""

from __future__ import annotations

import copy
import math
import os
import reprlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from kenyon import _checks
from kenyon.experiment.config import LEARNERS, ConfigError, TrialConfig, suggestion, trial_config, unknown
from kenyon.experiment.presets import PRESETS

LIMIT = 100_000  # learners in all trials of an experiment: what asks for more is a mistake
FILE_KEYS = ("name", "extends", "preset", "seeds", "zip", "case", "label", "tune")
Settings = dict[str, Any]


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
        A TOML file, or what would be in one.
    seeds
        Number of seeds, instead of what the source says.
    """
    if isinstance(source, Mapping):
        return _experiment(dict(source), "experiment", seeds)
    settings, name = read_file(_checks.path("source", source))
    try:
        return _experiment(settings, name, seeds)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None


def _experiment(settings: Settings, name: str, seeds: int | None) -> Experiment:
    if seeds is not None:
        settings["seeds"] = seeds
    name, tune = settings.get("name", name), settings.get("tune", {})
    check_name(name)
    if not isinstance(tune, dict):
        raise ConfigError(f"tune must be a table of settings, not {tune!r}")
    trials = expand(settings)
    for trial in {repr((one.task, one.learners)): one for one in trials}.values():  # one of those that differ in seeds
        trial.check()
    return Experiment(name, tuple(trials), tune)


def check_name(name: Any) -> None:
    """Refuse a name that cannot be that of a file in the folder of results."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name.encode()) <= 200 or {*name} & {*"/\\"}:
        raise ConfigError(f"name must be a text that can name a file, without slashes, not {reprlib.repr(name)}")


def read_file(path: Path, below: tuple[Path, ...] = ()) -> tuple[Settings, str]:
    """Return the settings in a TOML file, and of the files that it extends, and the experiment's name.

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
    if any(path.samefile(one) for one in files):
        raise ConfigError(f"{files[-1]}: extends leads back to {path}")
    return path


def expand(settings: Settings) -> list[TrialConfig]:
    """Return the trials of an experiment's settings, each once."""
    cases = settings.get("case", [{}])
    if not isinstance(cases, list) or not all(isinstance(one, dict) for one in cases):
        raise ConfigError("case must be an array of tables: [[case]]")
    plans, n_learners = [], 0
    for case in cases:
        plan = _plan(merge(settings, case))
        n_learners += plan.n_trials * len(plan.settings["learners"])
        if n_learners > LIMIT:
            raise ConfigError(f"lists and seeds ask for {n_learners} learners in all trials together, above {LIMIT}")
        plans.append(plan)
    trials = [trial_config(chosen) for plan in plans for chosen in _choices(plan)]
    return list({trial.id: trial for trial in trials}.values())


class _Plan(NamedTuple):
    """Settings with lists in them, and which of the lists go together: groups of one, or more where zipped."""

    settings: Settings
    lists: dict[tuple[str, ...], list[Any]]
    groups: list[list[tuple[str, ...]]]

    @property
    def n_trials(self) -> int:
        return math.prod(len(self.lists[group[0]]) for group in self.groups)


def _plan(settings: Settings) -> _Plan:
    known = {**dict.fromkeys(FILE_KEYS), **TrialConfig.model_fields}
    unknown("", settings, known)
    zipped = _zipped(settings.get("zip", []))
    settings = _seeded(_with_preset(settings))
    settings["learners"] = _expand_learners(settings["learners"], zipped)
    return _grouped(settings, [group for group in zipped if group[0][0] != "learners"])


def _with_preset(settings: Settings) -> Settings:
    """Put the preset's settings under the given ones."""
    name = settings.get("preset", "static")
    if not isinstance(name, str) or name not in PRESETS:
        raise ConfigError(f"preset must be one of {', '.join(PRESETS)}, not {name!r}{suggestion(name, PRESETS)}")
    preset = PRESETS[name]
    given = {key: value for key, value in settings.items() if key not in FILE_KEYS or key == "seeds"}
    merged = merge(copy.deepcopy(preset.settings), given)
    learners = given.get("learners", preset.learners)
    if not isinstance(learners, dict) or not all(isinstance(one, dict) for one in learners.values()):
        raise ConfigError("learners must be tables of settings, such as [learners.Composed]")
    merged["learners"] = {name: _learner(name, one, preset.by_kind) for name, one in learners.items()}
    return merged


def _learner(name: str, given: Settings, by_kind: Mapping[str, Settings]) -> Settings:
    kind = given.get("kind", name)
    if not isinstance(kind, str) or kind not in LEARNERS:
        raise ConfigError(
            f"learners.{name} needs a kind, one of {', '.join(LEARNERS)}, not {kind!r}{suggestion(kind, LEARNERS)}"
        )
    return {**by_kind.get(kind, {}), "kind": kind, **given}


def _seeded(settings: Settings) -> Settings:
    if "seeds" not in settings:
        return settings
    seeds = settings.pop("seeds")
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise ConfigError(f"seeds must be a number of seeds, at least 1, not {seeds!r}; give a list to seed for others")
    if seeds > LIMIT:
        raise ConfigError(f"seeds must be at most {LIMIT}, not {seeds}")
    if "seed" in settings:
        raise ConfigError("seed and seeds cannot both be given: seeds = 5 stands for seed = [0, 1, 2, 3, 4]")
    return {**settings, "seed": list(range(seeds))}


def _expand_learners(learners: Settings, zipped: list[list[tuple[str, ...]]]) -> Settings:
    """Return a learner for each choice of a learner's lists, named by what was chosen."""
    expanded: Settings = {}
    for name, settings in learners.items():
        groups = [[path[2:] for path in group] for group in zipped if group[0][:2] == ("learners", name)]
        lists = [path for path, value in _leaves(settings) if isinstance(value, list)]
        plan = _grouped(settings, groups)
        if plan.n_trials > LIMIT:
            raise ConfigError(f"learners.{name}: its lists ask for {plan.n_trials} learners, above {LIMIT}")
        for chosen in _choices(plan):
            parts = [f"{path[-1]}={_text(_get(chosen, path))}" for path in lists]
            expanded[" ".join([name, *parts])] = chosen
    return expanded


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _grouped(settings: Settings, zipped: Sequence[Sequence[tuple[str, ...]]]) -> _Plan:
    """Find the lists in settings, and put together those that are zipped."""
    lists = {path: value for path, value in _leaves(settings) if isinstance(value, list)}
    groups = [_group(group, lists) for group in zipped]
    together = {path for group in groups for path in group}
    return _Plan(settings, lists, groups + [[path] for path in lists if path not in together])


def _choices(plan: _Plan) -> Iterator[Settings]:
    """Yield settings without lists: one choice of each list, in lockstep within a zipped group."""
    plain = copy.deepcopy(plan.settings)
    for path in plan.lists:
        set_value(plain, path, None)
    for picks in product(*(range(len(plan.lists[group[0]])) for group in plan.groups)):
        chosen = copy.deepcopy(plain)
        for group, pick in zip(plan.groups, picks, strict=True):
            for path in group:
                set_value(chosen, path, plan.lists[path][pick])
        yield chosen


def _group(group: Sequence[tuple[str, ...]], lists: Mapping[tuple[str, ...], list[Any]]) -> list[tuple[str, ...]]:
    for path in group:
        if path not in lists:
            raise ConfigError(f"zip names {'.'.join(path)}, which is not a list")
    lengths = {".".join(path): len(lists[path]) for path in group}
    if len(set(lengths.values())) > 1:
        raise ConfigError(f"zip needs lists of the same length, not {lengths}")
    return list(group)


def _zipped(groups: Any) -> list[list[tuple[str, ...]]]:
    valid = isinstance(groups, list) and all(
        isinstance(group, list) and group and all(isinstance(name, str) for name in group) for group in groups
    )
    if not valid:
        raise ConfigError('zip must be a list of lists of names, such as [["task.noise", "task.steps"]]')
    paths = [[tuple(name.split(".")) for name in group] for group in groups]
    for group in paths:
        if len({path[:2] if path[0] == "learners" else "" for path in group}) > 1:
            raise ConfigError("zip cannot join a learner's settings with others: each learner's lists are its own")
    return paths


def _leaves(settings: Settings, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, name))
        else:
            if isinstance(value, list) and not value:
                raise ConfigError(f"{'.'.join((*path, name))} is an empty list, which leaves no trial")
            yield (*path, name), value


def _get(settings: Settings, path: tuple[str, ...]) -> Any:
    for name in path:
        settings = settings[name]
    return settings


def set_value(settings: Settings, path: tuple[str, ...], value: Any) -> None:
    """Put a value in its place, in place."""
    for name in path[:-1]:
        settings = settings[name]
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
