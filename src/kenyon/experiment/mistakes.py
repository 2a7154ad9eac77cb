"""From plain settings to trials, noting everything that is wrong with them: a line for each mistake, with its place.

One mistake can hide others: bounds are only checked where names and types are right. So what is wrong is left out and
the rest tried again, until nothing more is found.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from kenyon import _checks
from kenyon.experiment.config import BY_TAG, TASKS, TrialConfig, file_digest
from kenyon.experiment.learner_settings import LEARNERS, is_own, own_model, settings_of
from kenyon.experiment.settings import MODELS, RULES, ConfigError, Model, unknown_kind, unknown_name
from kenyon.odours import SUBSETS

Settings = dict[str, Any]
Place = tuple[str, ...]  # the names of the tables around a setting, and its own
SOUND: Settings = {"kind": "Ridge"}  # stands in for a learner that cannot be made
STAND_INS: dict[Place, Settings] = {("task",): {"kind": "static"}, ("learners",): {"Ridge": SOUND}}
ALTERNATIVES = {"float", "int", "str", "bool", *(model.__name__ for model in MODELS.values())}  # types of one setting

_possible: set[str] = set()  # tasks and reservoirs that were made before: other trials have the same ones
CHECKED = re.compile(r"^function-after\[.*, (\w+)\]$")  # what pydantic calls a model with a check of its own


class Mistake(NamedTuple):
    """Something wrong with settings."""

    place: Place  # of what to leave out
    line: str
    lacks: bool = False  # a table lacks a setting


def trial_config(settings: Settings) -> TrialConfig:
    """Return plain settings, as a file has them, as a trial; raise all mistakes in them together."""
    trials = Trials({})
    trial = trials.make(settings)
    if trial is None:
        raise ConfigError(*trials.mistakes)
    return trial


class Trials:
    """Makes trials of plain settings, as a file has them, and notes every mistake once.

    `names` are those that learners had before their lists were expanded, by the names that they have now.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self.mistakes: list[str] = []
        self._wrong: set[tuple[Place, str]] = set()  # settings that were left out before, and their values

    def make(self, settings: Settings) -> TrialConfig | None:
        """Return a trial; None, after noting why, if it cannot be."""
        left_out = [place for place, value in self._wrong if value == repr(value_at(settings, place))]
        rest = _without_all(settings, left_out)
        while isinstance(made := self._attempt(rest), list):
            tables = {place[:-1] for place in left_out}  # these may lack what was left out
            lines = [mistake.line for mistake in made if not (mistake.lacks and mistake.place in tables)]
            self.mistakes = list(dict.fromkeys([*self.mistakes, *map(self._as_given, lines)]))
            places = [mistake.place for mistake in made]
            self._wrong |= {(place, repr(value_at(rest, place))) for place in places}
            left_out += places
            before, rest = rest, _without_all(rest, places)
            if rest == before:
                return None
        return made if rest == settings else None

    def _as_given(self, line: str) -> str:
        """Return a line about a learner with the name that the file has."""
        new = max((name for name in self._names if line.startswith(f"learners.{name}")), key=len, default="")
        return line.replace(new, self._names[new], 1) if new else line

    def _attempt(self, settings: Settings) -> TrialConfig | list[Mistake]:
        """Return a trial, or what was found to be wrong first."""
        settings, mistakes = _completed(settings)
        try:
            trial = TrialConfig.model_validate(settings)
        except ValidationError as error:
            return mistakes + _found(error, TrialConfig)
        return mistakes or _impossible(trial) or trial


def _impossible(trial: TrialConfig) -> list[Mistake]:
    """Return why task or reservoir cannot be made; one seed of each will do."""
    settings = repr((trial.task, trial.reservoir))
    if settings in _possible:
        return []
    try:
        task = trial.task.build(trial.seed)
        _checks.integer("groups", trial.task.groups, 1, len(task))
    except (ValueError, OSError) as error:
        return [_placed(("task",), error, type(trial.task).model_fields)]
    try:
        trial.reservoir.check(len(task.odours.channels))
    except ValueError as error:
        return [_placed(("reservoir",), error, type(trial.reservoir).model_fields)]
    _possible.add(settings)
    return []


def by_case(mistakes: Sequence[Sequence[str]]) -> list[str]:
    """Return the mistakes of all cases once each, with the numbers of cases where not all have them."""
    lines = []
    for mistake in dict.fromkeys(mistake for noted in mistakes for mistake in noted):
        having = [number for number, noted in enumerate(mistakes, 1) if mistake in noted]
        alike = len(having) == len(mistakes)
        lines.append(mistake if alike else f"case {', '.join(map(str, having))}: {mistake}")
    return lines


def value_at(settings: Any, place: Place) -> Any:
    """Return the setting at a place; None if there is none."""
    for name in place:
        settings = settings.get(name) if isinstance(settings, Mapping) else None
    return settings


def without(settings: Settings, place: Place) -> Settings:
    """Return settings without the one at a place, or with something sound where there must be something."""
    if not place or not isinstance(value_at(settings, place[:-1]), Mapping):
        return settings
    stand_in = SOUND if len(place) == 2 and place[0] == "learners" else STAND_INS.get(place)
    rest = copy.deepcopy(settings)
    table = value_at(rest, place[:-1])
    table.pop(place[-1], None)
    if stand_in is not None:
        table[place[-1]] = copy.deepcopy(stand_in)
    return rest


def _without_all(settings: Settings, places: Iterable[Place]) -> Settings:
    for place in places:
        settings = without(settings, place)
    return settings


def _completed(settings: Settings) -> tuple[Settings, list[Mistake]]:
    """Add what pydantic cannot: the digest of a user's own table, and the defaults of a user's own learners."""
    mistakes: list[Mistake] = []
    task, learners = settings.get("task"), settings.get("learners")
    if isinstance(task, Mapping):
        settings = {**settings, "task": _with_digest(task, mistakes)}
    if isinstance(learners, Mapping):
        complete = {name: _complete(name, table, mistakes) for name, table in learners.items()}
        settings = {**settings, "learners": complete}
    return settings, mistakes


def _with_digest(task: Mapping[str, Any], mistakes: list[Mistake]) -> Mapping[str, Any]:
    """Add the digest of a table of the user's own, so that another table makes another trial."""
    odours = task.get("odours", "all")
    if not isinstance(odours, str) or odours in SUBSETS:
        return task
    if os.path.isfile(odours):
        return {"odours_sha256": file_digest(odours), **task}
    line = f"task.odours must be one of {', '.join(SUBSETS)}, or a CSV file, not {odours!r}"
    mistakes.append(Mistake(("task", "odours"), line))
    return {name: value for name, value in task.items() if name != "odours"}


def _complete(name: str, table: Any, mistakes: list[Mistake]) -> Any:
    """Add the defaults to the settings of a learner of the user's own; pydantic does so for others."""
    if not isinstance(table, Mapping) or not is_own(table.get("kind")):
        return table
    place = ("learners", name)
    try:
        model = own_model(table["kind"])
        return settings_of(model.model_validate(table).build())
    except ValidationError as error:
        mistakes += _found(error, model, place)
    except (ConfigError, TypeError) as error:
        mistakes.append(_placed(place, error, ()))
    return SOUND


def _found(error: ValidationError, model: type[Model], above: Place = ()) -> list[Mistake]:
    """Return what pydantic found, without what only follows from it.

    Of the types that a setting may have, it is the one that got furthest that counts. A name that is missing where
    another is unknown was misspelt.
    """
    by_setting: dict[Place, list[Any]] = {}
    for one in error.errors():
        place = (*above, *(CHECKED.sub(r"\1", str(part)) for part in one["loc"]))
        at = next((i for i, part in enumerate(place) if i > 1 and _is_type(part)), len(place))
        steps = len(place) - at + (one["type"] == "value_error")  # a constructor was reached
        by_setting.setdefault(place[:at], []).append((steps, place, one))
    kept = [
        (place, one)
        for group in by_setting.values()
        for steps, place, one in ([one for one in group if one[0] > 1] or group[:1])
    ]
    misspelt = {place[:-1] for place, one in kept if one["type"] == "extra_forbidden"}
    return [
        _mistake(place, one, model) for place, one in kept if one["type"] != "missing" or place[:-1] not in misspelt
    ]


def _mistake(parts: Place, found: Any, model: type[Model]) -> Mistake:
    """Return one of the errors that pydantic found, in one line."""
    names, given = _names(parts), found["input"]
    tags = (part for i, part in enumerate(parts) if part in BY_TAG and (i, parts[0]) != (1, "learners"))
    place, fields = ".".join(names), [model, *map(BY_TAG.__getitem__, tags)][-1].model_fields
    match found["type"]:
        case "extra_forbidden":
            return Mistake(names, unknown_name("".join(f"{name}." for name in names[:-1]), names[-1], fields))
        case "union_tag_invalid" | "union_tag_not_found":
            kinds = TASKS if place == "task" else RULES if place.endswith(".rule") else LEARNERS
            kind = given.get("kind") if isinstance(given, Mapping) else given
            return Mistake(names, unknown_kind(place, kind, kinds))
        case "model_type" | "model_attributes_type" | "dict_type":
            return Mistake(names, f"{place} must be a table of settings, not {_checks.short_repr(given)}")
        case "missing":
            return Mistake(names[:-1], f"{place} is missing", lacks=True)
        case "too_short":
            such_as = ", such as [learners.Composed]" if place == "learners" else ""
            return Mistake(names, f"{place} must have at least one{such_as}")
        case "value_error":
            return _placed(names, found["ctx"]["error"], fields)
    return Mistake(names, f"{place}: {found['msg'].lower()}, not {_checks.short_repr(given)}")


def _placed(table: Place, error: Exception, names: Iterable[str]) -> Mistake:
    """Return an error of a constructor, whose first word may be the name of a setting."""
    text = " ".join(str(error).split())
    name = text.partition(" ")[0].rstrip(":")
    if name in names:
        return Mistake((*table, name), f"{'.'.join(table)}.{text}")
    return Mistake(table, f"{'.'.join(table)}: {text}")


def _names(parts: Sequence[str]) -> Place:
    """Return the place of a setting without the types and models that pydantic tried on the way to it."""
    n = 2 if parts[:1] == ("learners",) else 1
    return (*parts[:n], *(part for part in parts[n:] if part not in BY_TAG and not _is_type(part)))


def _is_type(part: str) -> bool:
    """Tell whether a part of a place is a type that pydantic tried, not a name."""
    return part in ALTERNATIVES or part.startswith("literal[")
