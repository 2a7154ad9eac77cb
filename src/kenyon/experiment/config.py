"""What a trial is: task, reservoir, learners, episodes and seed, validated, and named by a hash of all of them."""

from __future__ import annotations

import inspect
import json
import os
from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from kenyon import _checks
from kenyon.connectivity import INPUT_FORMS
from kenyon.experiment.learner_settings import LEARNERS, AnyLearner, is_own, own_model, settings_of
from kenyon.experiment.settings import MODELS, RULES, ConfigError, Made, Model, model_of, unknown_kind, unknown_name
from kenyon.learning.training import train
from kenyon.odours import SUBSETS, Odours, load_odours
from kenyon.reservoir import Reservoir, check_setting
from kenyon.tasks import SequenceTask, StaticTask, Task

TRIAL_FORMAT = 4  # raised whenever the same settings give other numbers or other files
MOST_ITEMS = 100_000  # limit for the odours and the sequences of a task
TRAIN = {name: parameter.default for name, parameter in inspect.signature(train).parameters.items()}
NOT_SETTINGS = ("odours", "n_inputs", "seed")  # parameters of constructors that a trial fills in

published_odours = lru_cache(load_odours)
Count = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]


class TaskConfig(Made):
    """What tasks have in common."""

    n_classes: int
    noise: float
    odours: str = Field("all", description="A subset of the published odours, or a CSV file of your own.")
    odours_sha256: str = Field("", description="Filled in: the contents of the CSV file.")
    resample: Annotated[int, Field(ge=0, le=MOST_ITEMS)] = Field(
        0, description="Make this many odours out of those; 0 takes them as they are."
    )
    kind: str

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of items."""

    def build(self, seed: int) -> Task:
        """Make the task."""
        if self.size > MOST_ITEMS:
            raise ConfigError(f"its task would have {self.size} items, above {MOST_ITEMS}")
        task: Task = self.make(odours=self.table(seed), seed=seed)
        return task

    def table(self, seed: int) -> Odours:
        """Return the odours."""
        if self.odours in SUBSETS:
            odours = published_odours(self.odours)
        elif _file_digest(self.odours) == self.odours_sha256:
            odours = Odours.from_csv(self.odours)
        else:
            raise ConfigError(f"task.odours: {self.odours} has changed since the experiment was loaded")
        return odours.resample(self.resample, seed) if self.resample else odours


class StaticConfig(model_of(StaticTask, TaskConfig, without=NOT_SETTINGS, kind="static")):  # type: ignore[misc]
    """A static task; see `kenyon.StaticTask`."""

    groups: Count = Field(1, description="Learn the stimuli in this many groups, one after another.")

    @property
    def size(self) -> int:
        """Number of stimuli."""
        return int(self.n_stimuli)


class SequenceConfig(model_of(SequenceTask, TaskConfig, without=NOT_SETTINGS, kind="sequence")):  # type: ignore[misc]
    """A sequence task; see `kenyon.SequenceTask`."""

    groups: Count = Field(1, description="Learn the sequences in this many groups, one after another.")

    @property
    def size(self) -> int:
        """Number of sequences."""
        return int(3 * self.n_classes**2 * self.n_bases)


class ReservoirConfig(model_of(Reservoir, Made, without=NOT_SETTINGS, input_weights=Literal[INPUT_FORMS])):  # type: ignore[misc]
    """A reservoir; see `kenyon.Reservoir`."""

    def build(self, n_inputs: int, seed: int) -> Reservoir:
        """Make the reservoir."""
        reservoir: Reservoir = self.make(n_inputs=n_inputs, seed=seed)
        return reservoir

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, value in self:
            check_setting(name, value)
        return self


TASKS: dict[str, Any] = {"static": StaticConfig, "sequence": SequenceConfig}
BY_TAG: dict[str, type[Model]] = {  # by what pydantic's errors call them
    **TASKS, "reservoir": ReservoirConfig, **LEARNERS, **RULES, **{model.__name__: model for model in MODELS.values()}
}  # fmt: skip


class TrialConfig(Model):
    """One trial: everything its result depends on."""

    task: Annotated[StaticConfig | SequenceConfig, Field(discriminator="kind")]
    reservoir: ReservoirConfig = ReservoirConfig()
    learners: Annotated[dict[str, AnyLearner], Field(min_length=1)]
    n_episodes: Count = Field(TRAIN["n_episodes"], description="Episodes to learn from; for each group, if any.")
    n_test: Count = TRAIN["n_test"]
    n_bins: Count = TRAIN["n_bins"]
    seed: Natural = Field(TRAIN["seed"], description="Decides task, network, episodes, choices and proposals.")
    examples: Natural = Field(0, description="Keep the states of this many episodes, for pictures.")

    @property
    def id(self) -> str:
        """The name of the result: a hash of all settings, defaults included."""
        return sha256(f"{TRIAL_FORMAT} {self.canonical()}".encode()).hexdigest()[:20]

    @property
    def work(self) -> float:
        """About how long it takes, in arbitrary units: to estimate the time left, and to start with the longest."""
        learning = 100 * len(self.learners) * self.task.n_classes
        return float(self.n_episodes * self.task.groups * (self.reservoir.n_neurons + learning))

    def canonical(self) -> str:
        """Return all settings as JSON, in the order in which they are declared; learners in the order given."""
        return json.dumps(self.model_dump(mode="json"))

    def check(self) -> None:
        """Raise `ConfigError` if the task cannot be made, without simulating anything."""
        try:
            self.task.build(self.seed).split(self.task.groups)
        except (ValueError, OSError) as error:
            raise ConfigError(f"this trial cannot be run: {error}") from None


def trial_config(settings: Mapping[str, Any]) -> TrialConfig:
    """Validate plain settings, as a file has them, and return them as a trial; raise `ConfigError` in one line."""
    learners, task = settings.get("learners"), settings.get("task")
    if isinstance(learners, Mapping):
        settings = {**settings, "learners": {name: _complete(name, table) for name, table in learners.items()}}
    if isinstance(task, Mapping):
        settings = {**settings, "task": _with_digest(task)}
    try:
        return TrialConfig.model_validate(settings)
    except ValidationError as error:
        raise ConfigError(_line(error, TrialConfig)) from None


def _complete(name: str, table: Any) -> Any:
    """Add the defaults to the settings of a learner of the user's own; pydantic does so for others."""
    if not isinstance(table, Mapping) or not is_own(table.get("kind")):
        return table
    try:
        model = own_model(table["kind"])
        return settings_of(model.model_validate(table).build())
    except ValidationError as error:
        raise ConfigError(_line(error, model, f"learners.{name}")) from None
    except (ConfigError, TypeError) as error:
        raise ConfigError(f"learners.{name}: {error}") from None


def _with_digest(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the digest of a table of the user's own, so that another table makes another trial."""
    odours = task.get("odours", "all")
    if not isinstance(odours, str) or odours in SUBSETS:
        return task
    if not os.path.isfile(odours):
        raise ConfigError(f"task.odours must be one of {', '.join(SUBSETS)}, or a CSV file, not {odours!r}")
    return {"odours_sha256": _file_digest(odours), **task}


def _file_digest(path: str) -> str:
    return sha256(Path(path).read_bytes()).hexdigest()


def _line(error: ValidationError, model: type[Model], above: str = "") -> str:
    """Return one of the errors that pydantic found in one line: an unknown name, or else the most deeply nested."""
    first = min(error.errors(), key=lambda found: (found["type"] != "extra_forbidden", -len(found["loc"])))
    *tables, last = map(str, first["loc"] or [""])
    place, given = _place(above, [*tables, last]), first["input"]
    match first["type"]:
        case "extra_forbidden":
            models = [BY_TAG[part] for part in tables if part in BY_TAG]
            return unknown_name(f"{_place(above, tables)}.".lstrip("."), last, [model, *models][-1].model_fields)
        case "union_tag_invalid" | "union_tag_not_found":
            kinds = TASKS if place == "task" else RULES if place.endswith(".rule") else LEARNERS
            return unknown_kind(place, given.get("kind") if isinstance(given, Mapping) else given, kinds)
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"{place} must be a table of settings, not {_checks.short_repr(given)}"
        case "missing":
            return f"{place} is missing"
        case "value_error":
            return f"{place}: {first['ctx']['error']}"
    return f"{place}: {first['msg'].lower()}, not {_checks.short_repr(given)}"


def _place(above: str, parts: list[str]) -> str:
    """Return the name of a setting, without the types and models that pydantic tried on the way to it."""
    names = parts[:2] if parts[:1] == ["learners"] else parts[:1]
    names += [part for part in parts[len(names) :] if part not in BY_TAG and part not in ("float", "int", "str")]
    return ".".join(name for name in [above, *names] if name)
