"""What estimators that learn a target for every step share: reading series and targets, learning, going on."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kenyon import _checks
from kenyon.estimators._every_step import CALIBRATION, EveryStep
from kenyon.estimators._series import Series, check_given, check_sequences
from kenyon.kernels.every_step import Reading

Early = tuple[list[NDArray[Any]], list[NDArray[Any]], bool]  # series, their targets, whether they go on


@dataclass(eq=False, repr=False)
class SequencePart(EveryStep):
    """Takes series with a target for every step."""

    @abstractmethod
    def _targets(self, y: Any) -> NDArray[Any]:
        """Return the targets of one series, checked."""

    @abstractmethod
    def _choose(self, targets: NDArray[Any]) -> None:
        """Take scale or classes from these targets."""

    @abstractmethod
    def _check_same(self, targets: NDArray[Any]) -> None:
        """Refuse targets unlike those before."""

    def _read_both(self, X: Any, y: Any, *, reset: bool) -> tuple[Series, list[NDArray[Any]]]:
        """Return series and, for each, its targets."""
        check_given(self, y)
        series = check_sequences(self, X, reset=reset)
        one = series.static
        told = [self._targets(part) for part in ([y] if one else _parts(y, len(series)))]
        for k, (values, targets) in enumerate(zip(each(series), told, strict=True)):
            if len(targets) != len(values):
                which = "" if one else f"[{k}]"
                raise ValueError(
                    f"X and y must have as many steps: X{which} has {len(values)}, but y{which} has {len(targets)}"
                )
        if len({targets.shape[1:] for targets in told}) > 1:
            raise ValueError("y must have as many numbers for a step in every series")
        return series, told

    def fit(self, X: ArrayLike | Sequence[ArrayLike], y: ArrayLike | Sequence[ArrayLike]) -> Self:
        """Learn from series with a target for every step; each series begins at rest.

        Parameters
        ----------
        X
            One series, shape (T, features); or several, an array (n, T, features) or a list of (T_k, features).
        y
            A target for every step: for one series of shape (T,) or, where numbers are learned, (T, n_outputs); for
            several an array with one more dimension, or a list.
        """
        self._check_parameters()
        series, told = self._read_both(X, y, reset=True)
        self._choose(np.concatenate(told))
        self._make_encoder(series, self._new_seed())
        self._early: list[Early] | None = None
        self._learn_all(each(series), told, "X")
        self._reading()
        return self

    def partial_fit(
        self, X: ArrayLike | Sequence[ArrayLike], y: ArrayLike | Sequence[ArrayLike], *, continued: bool = False
    ) -> Self:
        """Learn once from further steps, in their order.

        Parameters
        ----------
        X, y
            As in `fit`; a single step is enough. How a series is cut into calls makes no difference. A model that was
            never fitted takes its scales from the first 500 steps that it learns from; until then it learns from all of
            them anew in every call.
        continued
            X goes on where the last series that was learned from ended; if there were several, each where its own did.
            By default series begin at rest, and their first `washout` steps are not learned from.
        """
        self._check_parameters()
        first = not hasattr(self, "encoder_")
        series, told = self._read_both(X, y, reset=first)
        if first:
            self._early, self._drawn = [], self._new_seed()
        if self._early is None:
            self._check_same(np.concatenate(told))
            self._take(each(series), told, self._from("_learned_to", len(told), continued), None)
        else:
            self._take_early(series, told, continued)
        return self

    def _take_early(self, series: Series, told: list[NDArray[Any]], continued: bool) -> None:
        """Begin anew with all that has come so far, scaled by the first steps that can be learned from."""
        early = [*(self._early or []), (each(series), told, _checks.flag("continued", continued))]
        if len(early) == 1 and continued:
            raise ValueError("continued=True needs series in X that go on, but there were none before")
        seen, targets, enough = _first_steps(early, self.washout)
        self._choose(targets)
        self._make_encoder(seen, self._drawn if len(early) == 1 else None)
        self._early = early
        for values, told_then, went_on in early:
            self._check_same(np.concatenate(told_then))
            self._take(values, told_then, self._from("_learned_to", len(values), went_on), None)
        if enough:
            self._early = None

    def _said(self, X: Any, continued: bool) -> tuple[Series, list[NDArray[np.float64]]]:
        """Return outputs at every step of each series."""
        check_is_fitted(self)
        series = check_sequences(self, X, reset=False)
        values = each(series)
        ends = self._from("_predicted_to", len(values), continued)
        y = self._outputs(values, ends, self._scaled())
        if continued:
            self._predicted_to = ends
        return series, y

    def _scaled(self) -> Reading:
        """Return the readout of what `predict` needs."""
        return self._reading()


def each(series: Series) -> list[NDArray[Any]]:
    """Return the series one by one; rows are the steps of one."""
    return [series.values] if series.static else list(series.values)


def _parts(y: Any, n: int) -> list[Any]:
    """Return what belongs to each of n series."""
    if isinstance(y, str) or not hasattr(y, "__len__") or len(y) != n:
        given = _checks.short_repr(y) if not hasattr(y, "__len__") else len(y)
        raise ValueError(f"y must hold targets for each of the {n} series of X, not {given}")
    return list(y.values()) if isinstance(y, dict) else list(y)


def in_form(series: Series, found: list[NDArray[Any]]) -> Any:
    """Return what was found for each series in the form in which series came: alone, as an array or as a list."""
    if series.static:
        return found[0]
    return found if isinstance(series.values, list) else np.stack(found)


def flat_pair(model: SequencePart, X: Any, y: Any, continued: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return predictions and targets of all steps."""
    check_is_fitted(model)
    series, told = model._read_both(X, y, reset=False)
    predicted = model.predict(X, continued=continued)
    return (predicted if series.static else np.concatenate(list(predicted))), np.concatenate(told)


def _first_steps(early: list[Early], washout: int) -> tuple[Series, NDArray[Any], bool]:
    """Return all steps up to the last that scales are taken from, their targets, and whether there are enough."""
    steps, targets, left, seen = [], [], CALIBRATION, np.zeros(0, np.intp)
    for values, told, continued in early:
        seen = seen if continued else np.zeros(len(values), np.intp)
        for k in range(len(values)):
            n = min(len(values[k]), max(0, washout - int(seen[k])) + left)
            steps.append(values[k][:n])
            targets.append(told[k][:n])
            left -= max(0, n - max(0, washout - int(seen[k])))
            seen[k] += len(values[k])
            if left == 0:
                return Series(steps), np.concatenate(targets), True
    return Series(steps), np.concatenate(targets), False
