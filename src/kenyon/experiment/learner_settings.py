"""Settings of learners: of those in the package by name, of a user's own by where their class is.

A learner of a user's own has the kind "module:Class". Its class is imported when an experiment is loaded and when a
trial runs, but never to read a result: `OwnLearnerConfig` takes any settings, and only its `build` imports.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache, reduce
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from kenyon import _checks
from kenyon.experiment.settings import ConfigError, Model, Rule, Tried, as_setting, model_of
from kenyon.learning.controls import RecursiveLeastSquares
from kenyon.learning.learners import Composed, GradientThresholds, GradientWeights, Learner, Metropolis, Normalised
from kenyon.learning.recursive import RecursiveThresholds
from kenyon.learning.ridge import Ridge
from kenyon.learning.switches import acting

OWN = "own"  # tag of learners that are not part of the package
METHODS = ("begin", "update", "readout")
BY_GRADIENT = (Learner, GradientWeights, GradientThresholds, Metropolis, Composed, Normalised)
BY_LEAST_SQUARES = (Ridge, RecursiveLeastSquares, RecursiveThresholds)
KINDS: dict[str, type[Any]] = {cls.__name__: cls for cls in (*BY_GRADIENT, *BY_LEAST_SQUARES)}


class LearnerModel(Tried):
    """A learner, which is built to see whether it accepts its settings, and to fill in its defaults."""

    kind: str

    @model_validator(mode="after")
    def _check(self) -> Self:
        learner = self.build()
        for name, value in self:
            if value is None and hasattr(learner, name):
                _checks.set_fields(self, **{name: as_setting(name, getattr(learner, name))})
        return self


class OwnLearnerConfig(Model):
    """A learner of your own: where its class is, and its settings."""

    model_config = ConfigDict(extra="allow")

    kind: Annotated[str, Field(pattern=r"^[\w.]+:[\w.]+$", description='Where its class is: "module:Class".')]

    def build(self) -> Any:
        """Import the class and make the learner."""
        return own_model(self.kind).model_validate(self.model_dump()).build()


LEARNERS = {kind: model_of(cls, LearnerModel, kind=kind, rule=Rule) for kind, cls in KINDS.items()}


def _tag(learner: Any) -> str | None:
    """Tell pydantic which model a learner's settings belong to."""
    kind = learner.get("kind") if isinstance(learner, Mapping) else getattr(learner, "kind", None)
    return OWN if is_own(kind) else kind if isinstance(kind, str) else None


if TYPE_CHECKING:
    AnyLearner = LearnerModel
else:
    TAGGED = [Annotated[model, Tag(tag)] for tag, model in {**LEARNERS, OWN: OwnLearnerConfig}.items()]
    AnyLearner = Annotated[reduce(operator.or_, TAGGED), Discriminator(_tag)]


def is_own(kind: Any) -> bool:
    """Tell whether a kind is that of a learner outside the package."""
    return isinstance(kind, str) and ":" in kind


def settings_of(learner: Any) -> dict[str, Any]:
    """Return all settings of a learner, as a file would have them."""
    cls = type(learner)
    if not is_dataclass(cls):
        raise ConfigError(f"{_checks.short_repr(learner)} is neither a table of settings nor a learner (a dataclass)")
    kind = cls.__name__ if KINDS.get(cls.__name__) is cls else f"{cls.__module__}:{cls.__qualname__}"
    if is_own(kind) and import_learner(kind) is not cls:
        raise ConfigError(f"{kind} is another class by now; make the learner again")
    values = {field.name: as_setting(field.name, getattr(learner, field.name)) for field in fields(cls) if field.init}
    plain = {name: value.model_dump() if isinstance(value, Model) else value for name, value in values.items()}
    return {"kind": kind, **plain}


def over_preset(settings: dict[str, Any], preset: Mapping[str, Any]) -> dict[str, Any]:
    """Put a preset's settings of a learner under the given ones, but for those that would do nothing beside them."""
    if not preset:
        return settings
    defaults = {field.name: field.default for field in fields(KINDS[settings["kind"]])}
    beside = acting({**defaults, **preset, **settings})
    return {**{name: value for name, value in preset.items() if beside[name] is not None}, **settings}


def own_model(kind: str) -> Any:
    """Return the model of a learner outside the package, after importing its class."""
    return _model(kind, import_learner(kind))


@lru_cache
def _model(kind: str, cls: Any) -> Any:
    try:
        return model_of(cls, LearnerModel, kind=kind, rule=Rule)
    except (TypeError, NameError, AttributeError, RuntimeError, ConfigError) as error:  # RuntimeErrors are pydantic's
        raise ConfigError(f"{kind} has settings that are not plain: {str(error).splitlines()[0]}") from None


def import_learner(kind: str) -> Any:
    """Import the class of a learner outside the package."""
    module, _, name = kind.partition(":")
    try:
        found = operator.attrgetter(name)(import_module(module))
    except Exception as error:  # whatever the module raises
        raise ConfigError(
            f"{kind} cannot be imported here ({type(error).__name__}: {error}); "
            "the class must be at the top level of a module that every worker finds"
        ) from None
    if not (isinstance(found, type) and is_dataclass(found) and all(hasattr(found, method) for method in METHODS)):
        raise ConfigError(f"{kind} must be a dataclass with the methods {', '.join(METHODS)}")
    return found
