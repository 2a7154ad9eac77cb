"""What a trial is: task, reservoir, learners, episodes and seed, checked, and named by a hash of all of it.

Models of learners are made from the learners themselves, so that a setting is declared once.
"""

from __future__ import annotations

import difflib
import json
import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache, reduce
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from kenyon.learning import controls, learners, ridge
from kenyon.learning.learners import Percentile
from kenyon.learning.rules import QLearning, Schedule, Supervised
from kenyon.odours import SUBSETS, Odours, load_odours
from kenyon.reservoir import Reservoir
from kenyon.tasks import SequenceTask, StaticTask, Task

FORMAT = 2  # raised whenever the same settings give other numbers or other files

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Natural = Annotated[int, Field(ge=0)]
MANY = 100_000  # odours, or sequences, that a task may have


class ConfigError(ValueError):
    """Settings that are not known or cannot be."""


class Model(BaseModel):
    """Settings: typed strictly, unknown names refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class _Stimuli(Model):
    n_classes: Annotated[int, Field(ge=2)] = 2
    noise: Annotated[float, Field(ge=0)]
    odours: str = Field("all", description="A subset of the published odours, or a CSV file of your own.")
    odours_sha256: str = Field("", description="Filled in: the contents of the CSV file.")
    resample: Annotated[int, Field(ge=0, le=MANY)] = Field(
        0, description="Make this many odours out of those; 0 takes them as they are."
    )

    def table(self, seed: int) -> Odours:
        """Return the odours."""
        if self.odours in SUBSETS:
            odours = _published(self.odours)
        else:
            if file_digest(self.odours) != self.odours_sha256:
                raise ConfigError(f"task.odours: {self.odours} is not the file it was when the experiment was made")
            odours = Odours.from_csv(self.odours)
        return odours.resample(self.resample, seed) if self.resample else odours


class StaticConfig(_Stimuli):
    """A static task; see `kenyon.StaticTask`."""

    kind: Literal["static"] = "static"
    n_stimuli: Count = 140
    steps: Count = 50
    noise: Annotated[float, Field(ge=0)] = 0.3
    groups: Count = Field(1, description="Learn the stimuli in this many groups, one after another.")

    @property
    def size(self) -> int:
        """Number of items."""
        return self.n_stimuli

    def build(self, seed: int) -> Task:
        """Make the task."""
        return StaticTask(self.table(seed), self.n_stimuli, self.n_classes, seed, steps=self.steps, noise=self.noise)


class SequenceConfig(_Stimuli):
    """A sequence task; see `kenyon.SequenceTask`."""

    kind: Literal["sequence"]
    n_bases: Count = Field(28, description="Base sequences; each gives 3 n_classes^2 sequences.")
    steps: Count = 10
    noise: Annotated[float, Field(ge=0)] = 0.2
    groups: Count = Field(1, description="Learn the sequences in this many groups, one after another.")

    @property
    def size(self) -> int:
        """Number of items."""
        return 3 * self.n_classes**2 * self.n_bases

    def build(self, seed: int) -> Task:
        """Make the task."""
        if self.size > MANY:
            raise ConfigError(f"n_bases and n_classes ask for {self.size} sequences, above {MANY}")
        return SequenceTask(self.table(seed), self.n_bases, self.n_classes, seed, steps=self.steps, noise=self.noise)


class ReservoirConfig(Model):
    """A reservoir; see `kenyon.Reservoir`."""

    n_neurons: Count = 1000
    leak_rate: Annotated[float, Field(gt=0, le=1)] = 0.025
    spectral_radius: Annotated[float, Field(ge=0)] = 0.8
    connections: Annotated[float, Field(ge=0)] = 10.0
    input_weights: Literal["lognormal", "fixed_degree", "uniform", "gaussian"] = "lognormal"
    input_connections: Annotated[float, Field(ge=1)] = 6.0
    input_gain: Positive = 1.0

    def build(self, n_inputs: int, seed: int) -> Reservoir:
        """Make the reservoir."""
        return Reservoir(seed=seed, n_inputs=n_inputs, **self.model_dump())


class ScheduleConfig(Model):
    """A temperature that changes; see `kenyon.Schedule`."""

    start: Positive
    stop: Positive
    episodes: Count
    geometric: bool = False


class SupervisedConfig(Model):
    """The right class is told."""

    kind: Literal["supervised"] = "supervised"
    target: Positive = 10.0

    def build(self) -> Supervised:
        """Make the rule."""
        return Supervised(self.target)


class QLearningConfig(Model):
    """The reward of the action taken is told."""

    kind: Literal["q-learning"]
    reward: Positive = 10.0
    temperature: Positive | ScheduleConfig = 1.0

    def build(self) -> QLearning:
        """Make the rule."""
        if isinstance(self.temperature, ScheduleConfig):
            return QLearning(self.reward, Schedule(**self.temperature.model_dump()))
        return QLearning(self.reward, self.temperature)


class PercentileConfig(Model):
    """A start at a percentile of each neuron's states."""

    percentile: Annotated[float, Field(ge=0, le=100)]


def _by_name(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


Rule = Annotated[SupervisedConfig | QLearningConfig, BeforeValidator(_by_name), Field(discriminator="kind")]
Start = float | Literal["prelearned"] | PercentileConfig
KINDS: dict[str, type[Any]] = {
    **{
        kind: getattr(learners, kind)
        for kind in ("Learner", "GradientWeights", "GradientThresholds", "Metropolis", "Composed", "Normalised")
    },
    "Ridge": ridge.Ridge,
    "RecursiveLeastSquares": controls.RecursiveLeastSquares,
}


class LearnerModel(Model):
    """A learner of one of `KINDS`."""

    kind: str

    def build(self) -> Any:
        """Make the learner."""
        settings = {name: getattr(self, name) for name in type(self).model_fields if name != "kind"}
        if isinstance(rule := settings.get("rule"), (SupervisedConfig, QLearningConfig)):
            settings["rule"] = rule.build()
        if isinstance(start := settings.get("start"), PercentileConfig):
            settings["start"] = Percentile(start.percentile)
        return KINDS[self.kind](**settings)


def _default(value: Any) -> Any:
    """Return the default of a learner's setting as a configuration has it."""
    if isinstance(value, Supervised):
        return SupervisedConfig()
    return PercentileConfig(percentile=value.q) if isinstance(value, Percentile) else value


def _learner_model(kind: str, cls: type[Any]) -> type[LearnerModel]:
    hints: dict[str, Any] = get_type_hints(cls)
    if "start" in hints:
        hints["start"] = Start | None if type(None) in get_args(hints["start"]) else Start
    hints["rule"] = Rule
    settings: dict[str, Any] = {one.name: (hints[one.name], _default(one.default)) for one in fields(cls)}
    settings["kind"] = (Literal[kind], kind)
    return create_model(f"{kind}Config", __base__=LearnerModel, __doc__=f"See `kenyon.{kind}`.", **settings)


LEARNERS = {kind: _learner_model(kind, cls) for kind, cls in KINDS.items()}
TASKS: dict[str, type[Model]] = {"static": StaticConfig, "sequence": SequenceConfig}
if TYPE_CHECKING:
    AnyLearner = LearnerModel
else:
    AnyLearner = Annotated[reduce(operator.or_, LEARNERS.values()), Field(discriminator="kind")]


class TrialConfig(Model):
    """One trial: everything its result depends on."""

    task: Annotated[StaticConfig | SequenceConfig, Field(discriminator="kind")]
    reservoir: ReservoirConfig = ReservoirConfig()
    learners: Annotated[dict[str, AnyLearner], Field(min_length=1)]
    n_episodes: Count = Field(60_000, description="Episodes to learn from; of each group, if there are groups.")
    n_test: Count = 2000
    n_bins: Count = 60
    seed: Natural = Field(0, description="Decides task, network, episodes, choices and proposals.")
    examples: Natural = Field(0, description="Keep the states of this many episodes, for pictures.")

    @property
    def id(self) -> str:
        """The name of the result: a hash of all settings, in full."""
        return sha256(f"{FORMAT} {self.canonical()}".encode()).hexdigest()[:20]

    @property
    def work(self) -> float:
        """About how long it takes, in some unit: to say what is left, and to begin with the longest."""
        learning = 100 * len(self.learners) * self.task.n_classes
        return float(self.n_episodes * self.task.groups * (self.reservoir.n_neurons + learning))

    def canonical(self) -> str:
        """Return all settings as JSON, in the order of their declaration; learners as they were given."""
        return json.dumps(self.model_dump(mode="json"))

    def check(self) -> None:
        """Raise `ConfigError` if these settings cannot be satisfied, without simulating anything."""
        try:
            task = self.task.build(self.seed)
            task.split(self.task.groups)
            for learner in self.learners.values():
                learner.build()
        except (ValueError, OSError) as error:
            raise ConfigError(f"this trial cannot be: {error}") from None


def trial_config(settings: Mapping[str, Any]) -> TrialConfig:
    """Check plain settings, as they come from a file, and return them as a trial; raise `ConfigError` in one line."""
    _refuse_unknown(settings)
    settings = {**settings, "task": _with_digest(settings["task"])}
    try:
        return TrialConfig.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{_place(first['loc'])}: {first['msg'].lower()}, not {first['input']!r}") from None


def _place(where: Sequence[Any]) -> str:
    """Return the name of the setting that an error of pydantic is about, without its notes on which model it tried."""
    parts = [str(part) for part in where]
    if parts[0] == "learners":
        return ".".join([*parts[:2], *parts[3:4]])
    return ".".join([parts[0], *parts[2:3]] if parts[0] == "task" else parts[:2])


def _refuse_unknown(settings: Mapping[str, Any]) -> None:
    """Refuse names that no model knows, with the suggestion that one does."""
    unknown("", settings, TrialConfig.model_fields)
    unknown("task.", settings.get("task", {}), _fields("task.kind", settings.get("task", {}), TASKS))
    unknown("reservoir.", settings.get("reservoir", {}), ReservoirConfig.model_fields)
    for name, learner in settings.get("learners", {}).items():
        unknown(f"learners.{name}.", learner, _fields(f"learners.{name}.kind", learner, LEARNERS))


def _fields(place: str, settings: Any, models: Mapping[str, type[Model]]) -> Mapping[str, Any]:
    if not isinstance(settings, Mapping):
        raise ConfigError(f"{place.removesuffix('.kind')} must be a table of settings, not {settings!r}")
    kind: Any = settings.get("kind")
    if not isinstance(kind, str) or kind not in models:
        raise ConfigError(f"{place} must be one of {', '.join(models)}, not {kind!r}{suggestion(kind, models)}")
    return models[kind].model_fields


def unknown(place: str, settings: Any, known: Mapping[str, Any]) -> None:
    """Refuse names that are not `known`."""
    if not isinstance(settings, Mapping):
        raise ConfigError(f"{place.rstrip('.')} must be a table of settings, not {settings!r}")
    for name in settings:
        if name not in known:
            meant = suggestion(name, known) or f" (known: {', '.join(known)})"
            raise ConfigError(f"{place}{name} is not known{meant}")


def suggestion(name: Any, known: Mapping[str, Any]) -> str:
    """Return a question that names what may have been meant, if anything is near."""
    begun = [one for one in known if name and one.startswith(str(name))]
    found = begun or difflib.get_close_matches(str(name), list(known), 1, 0.5)
    return f"; did you mean {found[0]}?" if found else ""


def _with_digest(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """Note the contents of a table of the user's own, so that a changed table is another trial."""
    odours = task.get("odours", "all")
    if not isinstance(odours, str) or odours in SUBSETS:
        return task
    if not os.path.isfile(odours):
        raise ConfigError(f"task.odours must be one of {', '.join(SUBSETS)}, or a CSV file, not {odours!r}")
    return {"odours_sha256": file_digest(odours), **task}


def file_digest(path: str) -> str:
    """Return the SHA-256 of a file."""
    return sha256(Path(path).read_bytes()).hexdigest()


@lru_cache
def _published(subset: str) -> Odours:
    return load_odours(subset)
