"""Numbers and classes along a series: a target for every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score

from kenyon.estimators._base import TARGET
from kenyon.estimators._classifier import check_classes, check_labels
from kenyon.estimators._reading import scaled
from kenyon.estimators._regressor import check_targets, scaled_targets, target_size
from kenyon.estimators._sequence_part import SequencePart, flat_pair, in_form
from kenyon.estimators._series import naming
from kenyon.estimators._training import Targets
from kenyon.kernels.every_step import Reading
from kenyon.learning.rules import Regression, Supervised
from kenyon.readout import tempered


@dataclass(eq=False, repr=False)
class SequenceRegressor(RegressorMixin, SequencePart):
    """Predict one number or several at every step of a series, with a reservoir and a readout that learns.

    A series is followed from state to state, and every step is an example. What a prediction may depend on is the
    series up to its own step.

    Parameters
    ----------
    learner
        How the readout learns: "ridge" (in closed form, from sums that grow with the steps), or online, step after
        step: "recursive" (least squares with learned thresholds, nearly as exact as "ridge"), or any other name or
        learner, as in `ReservoirClassifier`.
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
        self._learned(targets)  # steps may wait before they are learned, but what is too large is refused now

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
        return in_form(series, [values[:, 0] for values in y] if self._flat else y)

    def score(
        self, X: ArrayLike | Sequence[ArrayLike], y: ArrayLike | Sequence[ArrayLike], *, continued: bool = False
    ) -> float:
        """Return the coefficient of determination R² of the predictions of all steps; arguments as in `predict`."""
        predicted, told = flat_pair(self, X, y, continued)
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
        return in_form(series, [self.classes_[values.argmax(axis=1)] for values in y])

    def predict_proba(self, X: ArrayLike | Sequence[ArrayLike], *, continued: bool = False) -> Any:
        """Return softmax(y) at every step, with a column for each class; arguments as in `predict`."""
        series, y = self._said(X, continued)
        temperature = float(self._rule.temperatures(0, 1)[0])
        return in_form(series, [softmax(tempered(values, temperature), axis=1) for values in y])

    def score(
        self, X: ArrayLike | Sequence[ArrayLike], y: ArrayLike | Sequence[ArrayLike], *, continued: bool = False
    ) -> float:
        """Return the share of steps whose most likely label is correct; arguments as in `predict`."""
        predicted, told = flat_pair(self, X, y, continued)
        with naming("y"):
            return float(accuracy_score(told, predicted))
