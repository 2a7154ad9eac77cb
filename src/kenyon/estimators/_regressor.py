"""The part of an estimator that is told real numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.model_selection import ShuffleSplit
from sklearn.utils import check_array

from kenyon import _checks
from kenyon.estimators._base import TARGET, LearningEstimator
from kenyon.estimators._encoding import inverse
from kenyon.estimators._series import LARGEST_VALUE, Series, check_as_many, check_unmasked, check_weights, naming
from kenyon.estimators._training import Told
from kenyon.learning.rules import Regression


class RegressorPart(RegressorMixin, LearningEstimator):
    """LearnerProtocol one real number, or several, per series. Targets are scaled to mean 0 and one size, and back."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @property
    def _rule(self) -> Regression:
        return Regression(TARGET)

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from series and their targets.

        Parameters
        ----------
        X
            Static rows (n, features), series (n, T, features), or a list of series (T_k, features).
        y
            A number for each, shape (n,), or several, shape (n, n_outputs).
        """
        self._check_parameters()
        warm = self.warm_start and hasattr(self, "_training")
        series, targets = self._read(X, y, reset=not warm)
        if not warm:
            self._choose_target_scale(targets)
        self._learn(series, self._told(targets), None, targets.shape[1])
        return self

    def partial_fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn once from some series, in their order, and go on from there at the next call.

        The first batch decides the scaling of input and targets, thresholds and step sizes, and should be like those
        to come.

        Parameters
        ----------
        X, y
            As in `fit`.
        """
        self._check_parameters()
        first = not hasattr(self, "_training")
        series, targets = self._read(X, y, reset=first)
        if first:
            self._choose_target_scale(targets)
        self._partial(series, self._told(targets), None, targets.shape[1])
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the numbers expected of each series, in the shape of y as it was fitted."""
        y = self._outputs(X) / TARGET * self.target_scale_ + self.target_shift_
        return y[:, 0] if self._flat else y

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination of the numbers expected."""
        found, targets, weights = self.predict(X), self._targets(y), check_weights(sample_weight)
        with naming("y"):
            return float(r2_score(targets, found, sample_weight=weights))

    def _read(self, X: Any, y: Any, *, reset: bool) -> tuple[Series, NDArray[np.float64]]:
        targets = self._targets(y)
        series = self._series(X, reset=reset)
        check_as_many(series, targets)
        if not reset and targets.size // len(targets) != len(self.target_shift_):
            raise ValueError(f"y has shape {targets.shape}, but {len(self.target_shift_)} outputs are being learned")
        if reset:
            self._flat = targets.ndim == 1
        return series, targets.reshape(len(targets), -1)

    def _targets(self, y: Any) -> NDArray[np.float64]:
        if y is None:
            name = type(self).__name__
            raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None")
        check_unmasked("y", y)
        with naming("y"):
            targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if targets.ndim not in (1, 2) or targets.size == 0:
            raise ValueError(f"y must have shape (n,) or (n, n_outputs), not {targets.shape}")
        if np.abs(targets).max() > LARGEST_VALUE:
            raise ValueError(f"y must be within ±{LARGEST_VALUE:g}, not {np.abs(targets).max():g}")
        return np.asarray(targets)

    def _choose_target_scale(self, targets: NDArray[np.float64]) -> None:
        mean, sd = targets.mean(axis=0), targets.std(axis=0)
        varies = inverse(sd, mean) > 0
        self.target_shift_ = mean
        self.target_scale_ = np.where(varies, sd, np.where(mean == 0, 1.0, np.abs(mean)))

    def _told(self, targets: NDArray[np.float64]) -> NDArray[np.float32]:
        told = np.asarray((targets - self.target_shift_) / self.target_scale_ * TARGET)
        if not (np.abs(told) <= _checks.BIG).all():
            raise ValueError(f"y has targets more than {_checks.BIG:g} times as large as those it was first fitted to")
        return told.astype(np.float32)

    def _held_out(self, told: Told) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        n = len(told)
        size = max(1, round(self.validation_fraction * n))
        if size >= n:
            raise ValueError(f"early_stopping holds out a part of the series; {n} are too few")
        seen, held = next(ShuffleSplit(1, test_size=size, random_state=self._seed).split(np.zeros(n)))
        return np.sort(seen), np.sort(held)

    def _score(self, y: NDArray[np.float64], told: Told) -> float:
        """Return the coefficient of determination."""
        wanted = told.astype(np.float64)
        total = float(((wanted - wanted.mean(axis=0)) ** 2).sum())
        return 1.0 - float(((wanted - y) ** 2).sum()) / max(total, np.finfo(float).tiny)
