"""Settings of a learner that act only together with others: when, their defaults, and what they belong to.

Such a setting is None unless it is given. Where it acts, it then takes its default; where it does not, it stays None,
and a value that was given is refused.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

from kenyon import _checks


class Default:
    """A value that nobody gave, so that `dataclasses.replace` may switch off what it belongs to."""


class _Float(Default, float):
    pass


class _Int(Default, int):
    pass


class _Text(Default, str):
    pass


class Dependent(NamedTuple):
    """A setting that acts only together with others."""

    default: Any  # or a function of the learner that returns it
    acts: Callable[[Any], bool]  # whether it does in a learner whose switches are set
    belongs_to: str


def _searches(own: Any) -> bool:
    return own.search is not None or isinstance(own.start, str)


def _fixed(own: Any) -> bool:
    return bool(own.step == "fixed")


SEARCH = "a search (search='global' or 'per_neuron', or start='prelearned')"
DEPENDENT = {  # `start` comes first, because others depend on it
    "start": Dependent(_Float(0.0), lambda own: own.thresholds, "thresholds=True; without thresholds, start=None"),
    "scaling": Dependent(None, lambda own: not own.thresholds, "thresholds=False: thresholds apply to V itself"),
    "code": Dependent(_Text("on"), lambda own: own.thresholds, "thresholds=True: without, V itself is read"),
    "horizon": Dependent(
        None, lambda own: own.cooling is not None, "cooling, and is the number of episodes over which steps cool"
    ),
    "eta_w": Dependent(_Float(0.0018), _fixed, "step='fixed'; with a normalised step use mu"),
    "eta_theta": Dependent(
        _Float(0.00018), lambda own: own.local and _fixed(own), "learned thresholds (local=True) with step='fixed'"
    ),
    "mu": Dependent(_Float(0.5), lambda own: not _fixed(own), "step='normalised'; with a fixed step use eta_w"),
    "k": Dependent(
        lambda own: _Float(0.005) if own.cooling is None else None,  # by the number of units: `threshold_share`
        lambda own: own.local and not _fixed(own),
        "learned thresholds (local=True) with step='normalised'",
    ),
    "batch_cost": Dependent(_Text("mean"), _fixed, "step='fixed'; a normalised step is sized by the batch itself"),
    "average_start": Dependent(_Text("first"), _searches, SEARCH),
    "acting": Dependent(
        _Text("current"), lambda own: _searches(own) and hasattr(own.rule, "reward"), f"rule=QLearning() with {SEARCH}"
    ),
    "sigma": Dependent(_Float(0.05), _searches, SEARCH),
    "period": Dependent(_Int(100), _searches, SEARCH),
    "beta": Dependent(_Float(4.0), _searches, SEARCH),
}


def settle(own: Any) -> None:
    """Give a learner the defaults of settings that act, and refuse given ones that do not; switches are set before."""
    for name, setting in DEPENDENT.items():
        value = getattr(own, name)
        if setting.acts(own):
            if value is None or isinstance(value, Default):
                _checks.set_fields(own, **{name: _default(own, name, setting)})
        elif value is None or isinstance(value, Default):
            _checks.set_fields(own, **{name: None})
        else:
            shown = _checks.short_repr(value)
            raise ValueError(f"{name} = {shown} would do nothing here: {name} belongs to {setting.belongs_to}")


def _default(own: Any, name: str, setting: Dependent) -> Any:
    of_its_class = getattr(type(own), name, None)
    if of_its_class is not None:
        return of_its_class
    return setting.default(own) if callable(setting.default) else setting.default


def acting(settings: dict[str, Any]) -> dict[str, Any]:
    """Return all settings of a learner, with None in place of those that do nothing beside the others."""
    own = SimpleNamespace(**settings)
    idle = [name for name, setting in DEPENDENT.items() if not setting.acts(own)]
    return {**settings, **dict.fromkeys(idle)}
