"""Settings as pydantic models that are made from the constructors of what they describe.

Names, types and defaults come from the signature of a class, descriptions from its docstring, and bounds are checked by
calling it. So a setting is declared once, where it is used.
"""

from __future__ import annotations

import inspect
import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import lru_cache, reduce
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model, model_validator

from kenyon import _checks
from kenyon.learning.rules import QLearning, Schedule, Supervised
from kenyon.learning.state import Percentile
from kenyon.timing import Delays, LogUniform

PLAIN = (bool, int, float, str, type(None))


class ConfigError(ValueError):
    """Settings that are unknown or impossible: its arguments are the mistakes, a line each."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


@contextmanager
def noting(mistakes: list[str]) -> Iterator[None]:
    """Add the mistakes that come up within to a list, and go on behind."""
    try:
        yield
    except ConfigError as error:
        mistakes += error.args


class Model(BaseModel):
    """Settings: strictly typed, unknown names refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


@lru_cache
def _parameters(cls: Any) -> frozenset[str]:
    """Return what a constructor takes: asked for with every trial, and slow to find out."""
    return frozenset(inspect.signature(cls).parameters)


class Made(Model):
    """The settings of a class."""

    makes: ClassVar[Any]

    def make(self, **more: Any) -> Any:
        """Call the class with these settings, and some more."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        names = _parameters(self.makes) & values.keys()
        built = {name: values[name].make() if isinstance(values[name], Made) else values[name] for name in names}
        return self.makes(**{**built, **more})


class Tried(Made):
    """Settings that suffice to make something, which is made to see whether it accepts them."""

    def build(self) -> Any:
        """Make it."""
        return self.make()

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.build()
        return self


class PercentileConfig(Made):
    """Thresholds that start at a percentile of each neuron's states."""

    percentile: Annotated[float, Field(ge=0, le=100)]

    def make(self, **more: Any) -> Percentile:
        """Return the percentile."""
        return Percentile(self.percentile)


class RuleConfig(Tried):
    """What a learner is told."""

    kind: str


def model_of(cls: Any, base: type[Made], *, without: Iterable[str] = (), kind: str = "", **types: Any) -> Any:
    """Return a model derived from `base` whose fields are the parameters of a constructor, some left out.

    `kind` is the value of a field of that name, and `types` replace types of the signature.
    """
    hints, notes = get_type_hints(cls if is_dataclass(cls) else cls.__init__), _descriptions(cls)
    settings: dict[str, Any] = {"kind": (Literal[kind], kind)} if kind else {}
    for name, parameter in inspect.signature(cls).parameters.items():
        if name not in without:
            default = ... if parameter.default is parameter.empty else as_setting(name, parameter.default)
            hint = types.get(name, _setting_type(hints[name]))
            settings[name] = (hint, Field(default, description=notes.get(name)))
    model = create_model(f"{cls.__name__}Config", __base__=base, __doc__=f"See `kenyon.{cls.__name__}`.", **settings)
    model.makes = cls
    return model


def _descriptions(cls: type) -> dict[str, str]:
    """Return what the docstrings of a class and its bases say about each parameter."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        _, _, text = inspect.cleandoc(base.__doc__ or "").partition("Parameters\n----------\n")
        for names, lines in re.findall(r"^(\w[\w, ]*)\n((?: {4}.+\n?)+)", text, re.MULTILINE):
            found.update(dict.fromkeys(names.split(", "), " ".join(lines.split())))
    return found


def _setting_type(hint: Any) -> Any:
    """Return the type of a parameter as settings have it, with models for `Percentile` and `Schedule`."""
    parts = get_args(hint)
    return reduce(operator.or_, (MODELS.get(part, part) for part in parts)) if MODELS.keys() & set(parts) else hint


def as_setting(name: str, value: Any) -> Any:
    """Return the value of a parameter as settings have it: a model, or itself if it is plain."""
    if isinstance(value, Percentile):
        return PercentileConfig(percentile=value.q)
    if model := MODELS.get(type(value)):
        return model(**{field.name: as_setting(field.name, getattr(value, field.name)) for field in fields(value)})
    if not isinstance(value, PLAIN) or (isinstance(value, float) and not math.isfinite(value)):
        raise ConfigError(
            f"{name} must be a finite number, a text, True, False or None, not {_checks.short_repr(value)}"
        )
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return str(value) if isinstance(value, str) else value


MODELS: dict[Any, Any] = {Percentile: PercentileConfig}  # by the class that they make
MODELS.update({cls: model_of(cls, Tried) for cls in (Schedule, LogUniform)})
MODELS[Delays] = model_of(Delays, Tried, spacings=int | list[int])
RULES = {
    name: model_of(cls, RuleConfig, kind=name) for name, cls in (("supervised", Supervised), ("q-learning", QLearning))
}
MODELS.update({model.makes: model for model in RULES.values()})
Rule: Any = Annotated[
    reduce(operator.or_, RULES.values()),
    BeforeValidator(lambda value: {"kind": value} if isinstance(value, str) else value),
    Field(discriminator="kind"),
]


def refuse_unknown(place: str, settings: Any, known: Iterable[str]) -> None:
    """Refuse a table with names that are not `known`."""
    if not isinstance(settings, Mapping):
        raise ConfigError(f"{place.rstrip('.')} must be a table of settings, not {_checks.short_repr(settings)}")
    if unknown := [unknown_name(place, name, known) for name in settings if name not in known]:
        raise ConfigError(*unknown)


def unknown_name(place: str, name: Any, known: Iterable[str]) -> str:
    """Return what to say of an unknown name: a similar one, or all there are."""
    return f"{place}{name} is not known" + (_checks.suggestion(name, known) or f" (known: {', '.join(known)})")


def unknown_kind(place: str, kind: Any, known: Iterable[str]) -> str:
    """Return what to say of an unknown kind."""
    similar = _checks.suggestion(kind, known)
    return f"{place}.kind must be one of {', '.join(known)}, not {_checks.short_repr(kind)}{similar}"
