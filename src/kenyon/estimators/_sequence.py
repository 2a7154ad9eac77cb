"""Numbers and classes along a series: a target for every step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from kenyon import _checks
from kenyon.estimators._base import TARGET
from kenyon.estimators._classifier import check_classes, check_labels
from kenyon.estimators._every_step import CALIBRATION, EveryStep
from kenyon.estimators._reading import scaled
from kenyon.estimators._regressor import check_targets, scaled_targets, target_size
from kenyon.estimators._series import Series, check_given, check_sequences, naming
from kenyon.estimators._training import Targets
from kenyon.kernels.every_step import Reading
from kenyon.learning.rules import Regression, Supervised
from kenyon.readout import tempered

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
        for k, (values, targets) in enumerate(zip(_each(series), told, strict=True)):
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
        self._learn_all(_each(series), told, "X")
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
            self._check_same(told[0])
            self._take(_each(series), told, self._from("_learned_to", len(told), continued), None)
        else:
            self._take_early(series, told, continued)
        return self

    def _take_early(self, series: Series, told: list[NDArray[Any]], continued: bool) -> None:
        """Begin anew with all that has come so far, scaled by the first steps that can be learned from."""
        early = [*(self._early or []), (_each(series), told, _checks.flag("continued", continued))]
        if len(early) == 1 and continued:
            raise ValueError("continued=True needs series in X that go on, but there were none before")
        seen, targets, enough = _first_steps(early, self.washout)
        self._choose(targets)
        self._make_encoder(seen, self._drawn if len(early) == 1 else None)
        self._early = early
        for values, told_then, went_on in early:
            self._check_same(told_then[0])
            self._take(values, told_then, self._from("_learned_to", len(values), went_on), None)
        if enough:
            self._early = None

    def _said(self, X: Any, continued: bool) -> tuple[Series, list[NDArray[np.float64]]]:
        """Return outputs at every step of each series."""
        check_is_fitted(self)
        series = check_sequences(self, X, reset=False)
        each = _each(series)
        ends = self._from("_predicted_to", len(each), continued)
        y = self._outputs(each, ends, self._scaled())
        if continued:
            self._predicted_to = ends
        return series, y

    def _scaled(self) -> Reading:
        """Return the readout of what `predict` needs."""
        return self._reading()


@dataclass(eq=False, repr=False)
class SequenceRegressor(RegressorMixin, SequencePart):
    """Predict one number or several at every step of a series, with a reservoir and a readout that learns.

    A series is followed from state to state, and every step is an example. What a prediction may depend on is the
    series up to its own step.

    Parameters
    ----------
    learner
        How the readout learns: "ridge" (in closed form, from sums that grow with the steps), or online, step after
        step, as in `ReservoirClassifier`.
    n_neurons
        Size of the reservoir.
    leak_rate
        Share of a neuron's state that is replaced at every step: near 1 for short memories, below for long ones. One
        number, an array with one for each neuron, or `LogUniform(low, high)` to draw them from.
    spectral_radius
        Of the recurrent weights; the larger, the longer the memory, up to where states no longer follow the input.
    input_gain
        Standard deviation of what neurons receive from inputs, which are scaled to deviations of 1.
    bias_scale
        Standard deviation of the neurons' biases.
    activation
        Of the neurons: "tanh" or "relu".
    washout
        Steps at the beginning of each series that are not learned from, since the network has not forgotten its rest
        yet. Predictions are made for all steps.
    epochs
        Passes of online learners over the series.
    n_jobs
        Threads that follow several series side by side; -1 for all cores. Results do not depend on it.
    random_state
        Seed of the reservoir and of the choices.

    Attributes
    ----------
    theta_
        Thresholds of what is read: the neurons, then the scaled inputs and a constant; 0 for learners without.
    reservoir_
        The reservoir.
    target_shift_, target_scale_
        Mean and standard deviation of the targets.
    """

    _rule = Regression(TARGET)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @property
    def _n_outputs(self) -> int:
        return len(self.target_shift_)

    def _targets(self, y: Any) -> NDArray[Any]:
        return check_targets(self, y)

    def _choose(self, targets: NDArray[Any]) -> None:
        columns = targets.reshape(len(targets), -1)
        mean = columns.mean(axis=0)
        self._flat = targets.ndim == 1
        self.target_shift_, self.target_scale_ = mean, target_size(mean, columns.std(axis=0))

    def _check_same(self, targets: NDArray[Any]) -> None:
        if targets.size // len(targets) != self._n_outputs:
            raise ValueError(f"y has shape {targets.shape}, but the model was fitted to {self._n_outputs} outputs")

    def _learned(self, targets: Targets) -> Targets:
        return scaled_targets(targets, self.target_shift_, self.target_scale_)

    def _scaled(self) -> Reading:
        return scaled(self._reading(), self.target_scale_ / TARGET, self.target_shift_)

    def predict(self, X: ArrayLike | Sequence[ArrayLike], *, continued: bool = False) -> Any:
        """Return the predicted numbers of every step, in the form that y has in `fit`.

        Parameters
        ----------
        X
            As in `fit`.
        continued
            X goes on where the last call ended, whether it learned or predicted with `continued`; if it had several
            series, each where its own did. By default series begin at rest, and nothing is remembered of the call.
        """
        series, y = self._said(X, continued)
        return _in_form(series, [values[:, 0] for values in y] if self._flat else y)

    def score(
        self, X: ArrayLike | Sequence[ArrayLike], y: ArrayLike | Sequence[ArrayLike], *, continued: bool = False
    ) -> float:
        """Return the coefficient of determination R² of the predictions of all steps; arguments as in `predict`."""
        predicted, told = _flat_pair(self, X, y, continued)
        with naming("y"):
            return float(r2_score(told, predicted))


@dataclass(eq=False, repr=False)
class SequenceClassifier(ClassifierMixin, SequencePart):
    """Classify every step of a series, with a reservoir and a readout that learns.

    Parameters, and the attributes `theta_` and `reservoir_`, are those of `SequenceRegressor`.

    Attributes
    ----------
    classes_
        The labels.
    """

    _rule = Supervised(TARGET)

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_)

    def _targets(self, y: Any) -> NDArray[Any]:
        return check_labels(self, y)

    def _choose(self, targets: NDArray[Any]) -> None:
        with naming("y"):
            known = np.unique(targets)
        declared = getattr(self, "_declared", None)
        if declared is not None:
            known = declared
        if len(known) < 2:
            raise ValueError(
                f"y contains only one class, {known[0]!r}; at least two are needed, if not in y then in classes"
            )
        self.classes_ = known

    def _check_same(self, targets: NDArray[Any]) -> None:
        with naming("y"):
            unknown = np.setdiff1d(targets, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y has labels that are not in classes: {unknown.tolist()}; pass classes, all labels that may occur, "
                "on the first call"
            )

    def _learned(self, targets: Targets) -> Targets:
        return np.searchsorted(self.classes_, targets).astype(np.intp)

    def fit(self, X: ArrayLike | Sequence[ArrayLike], y: ArrayLike | Sequence[ArrayLike]) -> Self:
        """Learn from series with a label for every step; each series begins at rest. See `SequenceRegressor.fit`."""
        self._declared: NDArray[Any] | None = None
        return super().fit(X, y)

    def partial_fit(
        self,
        X: ArrayLike | Sequence[ArrayLike],
        y: ArrayLike | Sequence[ArrayLike],
        classes: ArrayLike | None = None,
        *,
        continued: bool = False,
    ) -> Self:
        """Learn once from further steps, in their order.

        Parameters
        ----------
        X, y, continued
            As in `SequenceRegressor.partial_fit`.
        classes
            All labels that may occur in any call; by default those of the first 500 steps that are learned from.
        """
        if classes is not None:
            known = check_classes(classes)
            if hasattr(self, "encoder_") and not np.array_equal(known, self.classes_):
                raise ValueError(
                    f"classes {known.tolist()} differ from those of the first call, {self.classes_.tolist()}"
                )
            self._declared = known
        return super().partial_fit(X, y, continued=continued)

    def predict(self, X: ArrayLike | Sequence[ArrayLike], *, continued: bool = False) -> Any:
        """Return the most likely label of every step; arguments as in `SequenceRegressor.predict`."""
        series, y = self._said(X, continued)
        return _in_form(series, [self.classes_[values.argmax(axis=1)] for values in y])

    def predict_proba(self, X: ArrayLike | Sequence[ArrayLike], *, continued: bool = False) -> Any:
        """Return softmax(y) at every step, with a column for each class; arguments as in `predict`."""
        series, y = self._said(X, continued)
        temperature = float(self._rule.temperatures(0, 1)[0])
        return _in_form(series, [softmax(tempered(values, temperature), axis=1) for values in y])

    def score(
        self, X: ArrayLike | Sequence[ArrayLike], y: ArrayLike | Sequence[ArrayLike], *, continued: bool = False
    ) -> float:
        """Return the share of steps whose most likely label is correct; arguments as in `predict`."""
        predicted, told = _flat_pair(self, X, y, continued)
        with naming("y"):
            return float(accuracy_score(told, predicted))


def _each(series: Series) -> list[NDArray[Any]]:
    """Return the series one by one; rows are the steps of one."""
    return [series.values] if series.static else list(series.values)


def _parts(y: Any, n: int) -> list[Any]:
    """Return what belongs to each of n series."""
    if isinstance(y, str) or not hasattr(y, "__len__") or len(y) != n:
        given = _checks.short_repr(y) if not hasattr(y, "__len__") else len(y)
        raise ValueError(f"y must hold targets for each of the {n} series of X, not {given}")
    return list(y.values()) if isinstance(y, dict) else list(y)


def _in_form(series: Series, found: list[NDArray[Any]]) -> Any:
    """Return what was found for each series in the form in which series came: alone, as an array or as a list."""
    if series.static:
        return found[0]
    return found if isinstance(series.values, list) else np.stack(found)


def _flat_pair(model: SequencePart, X: Any, y: Any, continued: bool) -> tuple[NDArray[Any], NDArray[Any]]:
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
