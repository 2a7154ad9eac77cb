"""Settings of the learner within an estimator: `learner__mu`, as a grid search sets it.

Learners are frozen, so a change replaces the learner by another one. A learner given by name remains one given by name,
and takes its step sizes from the data as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Self

from sklearn.base import BaseEstimator

from kenyon import _checks
from kenyon.estimators._training import BY_NAME, Named, by_name
from kenyon.learning.learners import Learner
from kenyon.learning.ridge import Ridge

PREFIX = "learner__"
STEPS = ("eta_w", "eta_theta")  # taken from the data where a learner with fixed steps is given by name


class LearnerSettings(BaseEstimator):
    """An estimator whose parameters include the settings of its learner."""

    learner: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep`, also the settings of the learner, as `learner__mu`."""
        found: dict[str, Any] = super().get_params(_checks.flag("deep", deep))
        inner = learner_settings(self.learner) if deep else {}
        return found | {f"{PREFIX}{name}": value for name, value in inner.items()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `learner__mu=0.2` gives the learner another `mu`, whether it was given by name or not.

        Parameters
        ----------
        params
            Parameters of the constructor, and settings of the learner after `learner__`.
        """
        inner = {name.removeprefix(PREFIX): params.pop(name) for name in list(params) if name.startswith(PREFIX)}
        super().set_params(**params)
        self.__dict__.pop("_live", None)  # which was made for the settings before
        if inner:
            self.learner = change_learner(self.learner, inner)
        return self


def learner_settings(learner: Any) -> dict[str, Any]:
    """Return the settings of a learner that may be changed, by name; none if it is not a dataclass."""
    named = isinstance(learner, Named) or (isinstance(learner, str) and learner in BY_NAME)
    found = by_name(learner) if named else learner
    if not is_dataclass(found) or isinstance(found, type):
        return {}
    given = {field.name: getattr(found, field.name) for field in fields(found) if field.init}
    fixed = isinstance(found, Learner) and found.step == "fixed"
    hidden = (*(STEPS if named and fixed else ()), *(("intercept",) if isinstance(found, Ridge) else ()))
    return {name: value for name, value in given.items() if name not in hidden}


def change_learner(learner: Any, changes: Mapping[str, Any]) -> Any:
    """Return a learner with other settings; unknown ones are refused."""
    if hasattr(learner, "set_params"):  # a learner with scikit-learn's own interface
        return learner.set_params(**changes)
    known = learner_settings(learner)
    for name in changes:
        if name not in known:
            raise ValueError(_unknown(learner, name, known))
    if isinstance(learner, (str, Named)):
        name, settings = learner if isinstance(learner, Named) else (learner, {})
        changed = Named(name, {**settings, **changes})
        by_name(changed)  # refuses wrong values, as the constructor of a learner does
        return changed
    return replace(learner, **changes)


def _unknown(learner: Any, name: str, known: Mapping[str, Any]) -> str:
    shown = _checks.short_repr(learner.name if isinstance(learner, Named) else learner)
    if name in STEPS and isinstance(learner, (str, Named)):
        return (
            f"learner__{name} cannot be set for {shown}: a learner given by name takes its step sizes from the data. "
            f"Give a learner instead, such as learner=kn.Composed({name}=...)"
        )
    names = ", ".join(f"learner__{one}" for one in known) or "none: only learners that are dataclasses have any"
    return f"learner__{name} is not a setting of {shown}{_checks.suggestion(name, known)} (known: {names})"
