"""The part of an estimator that learns real numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_array

from kenyon import _checks
from kenyon.estimators._base import TARGET
from kenyon.estimators._encoding import inverse
from kenyon.estimators._labelled import check_aligned
from kenyon.estimators._series import Series, alone, check_given, naming
from kenyon.estimators._stream import Live
from kenyon.estimators._streaming import StreamingEstimator
from kenyon.estimators._training import Targets
from kenyon.estimators._weights import Numbers, Sample, check_weights, gather, in_shows
from kenyon.kernels.running import no_moments
from kenyon.kernels.stream_steps import Aims
from kenyon.kernels.streams import LARGEST_VALUE
from kenyon.learning.rules import Regression


@dataclass(eq=False, repr=False)
class RegressorPart(RegressorMixin, StreamingEstimator):
    """Learns one real number or several per series. Targets are scaled to mean 0 and a common size, and back."""

    _rule = Regression(TARGET)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: ArrayLike | Sequence[ArrayLike], y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from series and their targets; the order in which they are listed does not matter.

        Parameters
        ----------
        X
            Static rows (n, features), series (n, T, features), or a list, dict or pandas Series of series (T_k,
            features). Column names of DataFrames are remembered and compared.
        y
            A number for each series, shape (n,), or several, shape (n, n_outputs). If it has an index, it must be that
            of X.
        sample_weight
            A weight for each series, by default 1. A weight of 2 is the same as listing the series twice, and one of 0
            the same as leaving it out; fractions count by chance. Weights that average below 1 are taken as shares:
            they are scaled up to an average of 1.
        """
        self._check_parameters()
        series, targets, weights = self._read(X, y, sample_weight, reset=not self._continues)
        sample = gather(series, targets, in_shows(weights))
        if not self._continues:
            self._choose_scale(targets, sample)
        self.__dict__.pop("_kept", None)
        self._learn(series, self._as_learned(targets), sample, len(self.target_shift_))
        return self

    def partial_fit(
        self, X: ArrayLike | Sequence[ArrayLike], y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn once from some series, in their order; the next call continues from there.

        Parameters
        ----------
        X, y
            As in `fit`; one row or series is enough. Scales, thresholds and sizes of steps follow what has been seen,
            and how series are cut into calls makes no difference. Learners that cannot follow ("ridge", those with a
            search, your own) calibrate on the first call, or on the first 30 series if it has fewer.
        sample_weight
            As in `fit`, but never scaled.
        """
        self._check_parameters()
        first = not hasattr(self, "_training")
        series, targets, weights = self._read(X, y, sample_weight, reset=first)
        series, targets, weights = self._rows_so_far(series, targets, weights)
        if first and self._follows:
            self._flat = targets.ndim == 1
            self._follow_targets(targets.size // len(targets))
        elif not hasattr(self, "_training"):
            self._choose_scale(targets, gather(series, targets, weights))
        self._partial(series, targets.reshape(len(targets), -1), weights, len(self.target_shift_))
        return self

    def learn_one(self, x: ArrayLike, y: Any) -> Self:
        """Learn from one row or series, without overhead; the same as `partial_fit` of it alone, to the bit.

        Measures of the neurons and the learning curve are left as they are.

        Parameters
        ----------
        x
            A row (features,); for a reservoir also a series (T, features).
        y
            Its target, or its targets.
        """
        live = self._live_now()
        if live is None:
            return self.partial_fit(self._alone(x), alone("y", y))
        self._learn_row(self._tell(y), x)
        return self

    def predict_one(self, x: ArrayLike) -> Any:
        """Return the predicted number of one row or series, or several, without overhead."""
        return self._said(self._outputs_one(x))

    def _said(self, outputs: NDArray[np.float64]) -> Any:
        y = outputs / TARGET * self.target_scale_ + self.target_shift_
        return float(y[0]) if self._flat else y

    def _tell(self, y: Any) -> Live:
        live = self._live_now()
        assert live is not None
        if not isinstance(y, (int, float)) or live.told.shape[1] != 1 or not abs(y) <= LARGEST_VALUE:
            y = self._targets(alone("y", y))[0]
        if np.size(y) != live.told.shape[1]:
            raise ValueError(
                f"y must have as many numbers as before, {live.told.shape[1]}, not {_checks.short_repr(y)}"
            )
        live.told[0] = y
        return live

    def _begin_targets(self) -> int:
        self._follow_targets(1)
        self._flat = True
        return 1

    def _follow_targets(self, n_outputs: int) -> None:
        """Let the scale of targets follow a stream."""
        self._target_moments = no_moments(n_outputs)
        self.target_shift_, self.target_scale_ = np.zeros(n_outputs), np.ones(n_outputs)

    def _aims(self) -> Aims:
        return Aims(self._target_moments, self.target_shift_, self.target_scale_)

    def predict(self, X: ArrayLike | Sequence[ArrayLike]) -> NDArray[np.float64]:
        """Return the predicted numbers of each series, in the shape that y had in `fit`."""
        y = self._outputs(X) / TARGET * self.target_scale_ + self.target_shift_
        return y[:, 0] if self._flat else y

    def score(self, X: ArrayLike | Sequence[ArrayLike], y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination R² of the predictions."""
        check_aligned(X, y)
        predicted, targets = self.predict(X), self._targets(y)
        weights = None if sample_weight is None else check_weights(sample_weight, len(predicted))
        with naming("y"):
            return float(r2_score(targets, predicted, sample_weight=weights))

    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Series, Numbers, Numbers]:
        """Return series, targets and weights; without `reset`, targets must be as many as before."""
        targets = self._targets(y)
        series, targets, weights = self._weighted(self._series(X, y, reset=reset), targets, sample_weight)
        if not reset and targets.size // len(targets) != len(self.target_shift_):
            raise ValueError(
                f"y has shape {targets.shape}, but the model was fitted to {len(self.target_shift_)} outputs"
            )
        return series, targets, weights

    def _choose_scale(self, targets: Numbers, sample: Sample) -> None:
        """Take mean and spread of the targets from a sample."""
        columns = targets.reshape(len(targets), -1)[sample.numbers]
        mean = np.average(columns, axis=0, weights=sample.weights)
        sd = np.sqrt(np.average((columns - mean) ** 2, axis=0, weights=sample.weights))
        self._flat, self._target_moments = targets.ndim == 1, no_moments(0)
        self.target_shift_, self.target_scale_ = mean, target_size(mean, sd)

    def _as_learned(self, targets: Targets) -> NDArray[np.float32]:
        return scaled_targets(targets, self.target_shift_, self.target_scale_)

    def _targets(self, y: Any) -> NDArray[np.float64]:
        return check_targets(self, y)

    def _score(self, y: Numbers, targets: Targets, weights: Numbers) -> float:
        wanted = targets.astype(np.float64)
        mean = np.average(wanted, axis=0, weights=weights)
        error, total = (float(np.average((wanted - other) ** 2, axis=0, weights=weights).sum()) for other in (y, mean))
        return 1.0 - error / max(total, np.finfo(float).tiny)


def target_size(mean: Numbers, sd: Numbers) -> Numbers:
    """Return the unit of targets: their deviation or, if they do not vary, their size."""
    return np.where(inverse(sd, mean) > 0, sd, np.where(mean == 0, 1.0, np.abs(mean)))


def check_targets(estimator: Any, y: Any) -> NDArray[np.float64]:
    """Return y as real targets, shape (n,) or (n, n_outputs)."""
    check_given(estimator, y)
    with naming("y"):
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    if targets.ndim not in (1, 2) or targets.size == 0:
        raise ValueError(f"y must have shape (n,) or (n, n_outputs), not {targets.shape}")
    if np.abs(targets).max() > LARGEST_VALUE:
        raise ValueError(f"y must be within ±{LARGEST_VALUE:g}, not {np.abs(targets).max():g}")
    return np.asarray(targets)


def scaled_targets(targets: Targets, shift: Numbers, scale: Numbers) -> NDArray[np.float32]:
    """Return targets as learners are told them, shape (n, n_outputs)."""
    scaled = (targets.astype(np.float64).reshape(len(targets), -1) - shift) / scale * TARGET
    if not (np.abs(scaled) <= _checks.BIG).all():
        raise ValueError(f"y has targets more than {_checks.BIG:g} times as large as those first fitted to")
    return np.asarray(scaled, np.float32)
