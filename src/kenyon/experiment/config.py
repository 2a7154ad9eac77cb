"""What a trial is: task, reservoir, learners, episodes and seed, validated, and named by a hash of all of them."""

from __future__ import annotations

import inspect
import json
from abc import abstractmethod
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from kenyon import _checks, _seeding
from kenyon.connectivity import INPUT_FORMS, mean_connections, mean_inputs
from kenyon.experiment.learner_settings import LEARNERS, AnyLearner
from kenyon.experiment.settings import MODELS, RULES, ConfigError, Made, Model, model_of
from kenyon.experiment.stage_settings import PrelearningConfig, TuningConfig
from kenyon.kernels.neurons import ACTIVATIONS
from kenyon.learning.prelearning import STARTS, STEPS
from kenyon.learning.training import train
from kenyon.matching import matched_gain
from kenyon.odours import SUBSETS, Odours, load_odours
from kenyon.reservoir import Reservoir, check_setting, check_settings
from kenyon.tasks import SequenceTask, StaticTask, Task
from kenyon.timing import LogUniform

TRIAL_FORMAT = 4  # raised whenever the same settings give other numbers or other files
MOST_ITEMS = 100_000  # limit for the odours and the sequences of a task
TRAIN = {name: parameter.default for name, parameter in inspect.signature(train).parameters.items()}
MATCHED = "matched"  # an input gain that is computed
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
            raise ConfigError(f"it would have {self.size} items, above {MOST_ITEMS}")
        task: Task = self.make(odours=self.table(seed), seed=seed)
        return task

    def table(self, seed: int) -> Odours:
        """Return the odours."""
        if self.odours in SUBSETS:
            odours = published_odours(self.odours)
        elif file_digest(self.odours) == self.odours_sha256:
            odours = Odours.from_csv(self.odours)
        else:
            raise ConfigError(f"odours: {self.odours} has changed since the experiment was loaded")
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


_RESERVOIR: Any = model_of(
    Reservoir,
    Made,
    without=NOT_SETTINGS,
    input_weights=Literal[INPUT_FORMS],
    input_gain=float | Literal[MATCHED],
    activation=Literal[tuple(ACTIVATIONS)],
    leak_rate=float | MODELS[LogUniform],
)


class ReservoirConfig(_RESERVOIR):  # type: ignore[misc]
    """A reservoir; see `kenyon.Reservoir`.

    `input_gain = "matched"` gives it the mean |V|^2 that lognormal input weights have on the trial's task.
    """

    def build(self, task: Task, seed: int) -> Reservoir:
        """Make the reservoir for a task."""
        given: dict[str, Any] = {"n_inputs": len(task.odours.channels), "seed": seed}
        if self.input_gain != MATCHED:
            return self.make(**given)  # type: ignore[no-any-return]
        reservoir = self.make(**given, input_gain=1.0)
        reference = self.make(**given, input_gain=1.0, input_weights="lognormal")
        gain = matched_gain(reservoir, reference, task, seed=_seeding.derive(seed, "matching"))
        return self.make(**given, input_gain=gain)  # type: ignore[no-any-return]

    def check(self, n_inputs: int) -> None:
        """Refuse settings that such a number of inputs does not allow."""
        given = {**self._built(), "n_inputs": n_inputs}
        check_settings({**given, "input_gain": 1.0} if self.input_gain == MATCHED else given)

    def _built(self) -> dict[str, Any]:
        """Return the settings as the constructor takes them."""
        return {name: value.make() if isinstance(value, Made) else value for name, value in self}

    @model_validator(mode="after")
    def _fill_in(self) -> Self:
        for name, value in self._built().items():
            if value is not None and value != MATCHED:
                check_setting(name, value)
        _checks.set_fields(self, connections=mean_connections(self.connections, self.n_neurons))
        if self.input_weights == "gaussian":
            mean_inputs(self.input_connections, self.input_weights, 1)
        return self


# Settings of learners and of reservoirs that were added to format 4, with the values at which all is as it was before:
# results that were made without them keep their names.
ADDED: dict[str, tuple[Any, ...]] = {"code": (None, "on"), "cooling": (None,), "horizon": (None,)}
ADDED_TO = {"RecursiveLeastSquares": {"start": (None,)}}
ADDED_TO_RESERVOIRS = {"activation": ("relu",), "delays": (None,), "bias_scale": (0.0,)}
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
    halve_diverged: bool = Field(True, description="Train a plain readout that diverges again at half its rate.")
    prelearning: PrelearningConfig | None = Field(None, description="A first stage: prelearn once for all trials.")
    tuning: TuningConfig | None = Field(None, description="A first stage: find batch and rate of a plain readout.")
    origins: dict[str, str] = Field({}, description="Filled in: the trials of first stages that numbers came from.")

    @cached_property
    def id(self) -> str:
        """The name of the result: a hash of all settings, defaults included, but for those in `ADDED`."""
        whole = _identity(self.model_dump(mode="json"))
        whole["reservoir"] = _without(whole["reservoir"], ADDED_TO_RESERVOIRS)
        settings = json.dumps(whole)
        return sha256(f"{TRIAL_FORMAT} {settings}".encode()).hexdigest()[:20]

    @property
    def learner_names(self) -> list[str]:
        """The names of its learners, in order."""
        return list(self.learners)

    @property
    def work(self) -> float:
        """About how long it takes, in arbitrary units: to estimate the time left, and to start with the longest."""
        prelearned = [
            getattr(own, "batch", 1) for own in self.learners.values() if isinstance(getattr(own, "start", None), str)
        ]
        before, n = STEPS * max(prelearned, default=0), self.n_episodes * self.task.groups
        updates = n * len(self.learners) + before * 2 * STARTS * len(prelearned)
        return float((before + n) * self.reservoir.n_neurons + updates * self.task.n_classes * 100)

    def canonical(self) -> str:
        """Return all settings as JSON, in the order in which they are declared; learners in the order given."""
        return json.dumps(self.model_dump(mode="json"))


@lru_cache(4096)
def trial_of(settings: str) -> TrialConfig:
    """Return a trial from its settings in JSON; made once, since claims and figures ask for the same ones."""
    return TrialConfig.model_validate_json(settings)


def _identity(settings: Any) -> Any:
    """Return settings without those of learners that came later and are as they were before."""
    if not isinstance(settings, dict):
        return settings
    kind = settings.get("kind")
    added = {**ADDED, **ADDED_TO.get(kind, {})} if kind in LEARNERS else {}
    return {name: _identity(value) for name, value in _without(settings, added).items()}


def _without(settings: dict[str, Any], added: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value not in added.get(name, ())}


def file_digest(path: str) -> str:
    """Return the SHA-256 of a file's contents."""
    return sha256(Path(path).read_bytes()).hexdigest()
