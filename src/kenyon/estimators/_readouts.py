"""The learners on any feature matrix: states of any reservoir, or features from any other source."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from kenyon import _checks, _seeding
from kenyon.estimators._classifier import ClassifierPart
from kenyon.estimators._encoding import (
    FEW_FEATURES,
    RowEncoder,
    RunningScaling,
    Scaling,
    random_features,
    running_scaling,
    standardisation,
)
from kenyon.estimators._labelled import check_aligned
from kenyon.estimators._regressor import RegressorPart
from kenyon.estimators._series import Series, alone, check_rows
from kenyon.estimators._streaming import StreamingEstimator
from kenyon.estimators._training import pick
from kenyon.learning.protocol import LearnerProtocol


@dataclass(eq=False, repr=False)
class RowPart(StreamingEstimator):
    """Takes a feature matrix, and reads it as it is apart from its units."""

    learner: str | LearnerProtocol = "normalised"
    _: KW_ONLY
    both_signs: bool | None = None
    random_features: int = 0

    _signed = True

    def _series(self, X: Any, y: Any = None, *, reset: bool) -> Series:
        check_aligned(X, y)
        return check_rows(self, X, reset=reset)

    def _alone(self, x: Any) -> Any:
        return alone("x", x)

    def _encoder(self, series: Series, seed: int, whole: bool = True) -> RowEncoder:
        return self._scaled_by(standardisation(series, must_vary=not hasattr(self, "_kept")), seed)

    def _running_encoder(self, series: Series, seed: int) -> RowEncoder:
        return self._scaled_by(running_scaling("standard", series.n_channels), seed)

    def _scaled_by(self, scaling: Scaling | RunningScaling, seed: int) -> RowEncoder:
        n_features = len(scaling.shift)
        both_signs = n_features < FEW_FEATURES if self.both_signs is None else self.both_signs
        if not isinstance(both_signs, (bool, np.bool_)):
            raise ValueError(f"both_signs must be True, False or None, not {_checks.short_repr(both_signs)}")
        n_random = _checks.integer("random_features", self.random_features, 0, 2**20)
        random = random_features(n_random, n_features, _seeding.generator(seed, "estimator", "random features"))
        learner = pick(self.learner, self._rule)
        constant = not (getattr(learner, "thresholds", False) or getattr(learner, "intercept", False))
        return RowEncoder(scaling, bool(both_signs), constant, random)


@dataclass(eq=False, repr=False)
class ThresholdReadout(RowPart, ClassifierPart):
    """Classify rows of any feature matrix with a readout that learns thresholds, or with any other learner.

    Features are standardised first. They may be the states of ReservoirPy's, aeon's or any other library's models:
    a matrix (n, features).

    All other parameters are those of `ReservoirClassifier`, and so are the attributes `classes_`, `theta_`,
    `coding_level_`, `specificity_`, `learning_curve_`, `n_epochs_` and `readout_`: their neurons are the features, in
    standard deviations from the means.

    Parameters
    ----------
    both_signs
        Read each feature and its negative, since relu hides what lies below a threshold; by default, if there are
        fewer than 100 features.
    random_features
        How many random features to read beside them: relu of a random sum of three features and a constant. They let a
        readout tell apart what no sum of single features can.
    """


@dataclass(eq=False, repr=False)
class ThresholdRegressor(RowPart, RegressorPart):
    """Predict one number or several from rows of any feature matrix; `ThresholdReadout` for real targets.

    Parameters are those of `ThresholdReadout`, without `class_weight`. Attributes are those of `ReservoirRegressor`,
    without `reservoir_`.
    """
