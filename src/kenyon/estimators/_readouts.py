"""The learners on any feature matrix: states of anyone's reservoir, or features of any other origin."""

from __future__ import annotations

from typing import Any

import numpy as np

from kenyon import _checks
from kenyon.estimators._base import LearningEstimator
from kenyon.estimators._classifier import ClassifierPart
from kenyon.estimators._encoding import FEW_FEATURES, RowEncoder, Scaling, inverse, moments
from kenyon.estimators._regressor import RegressorPart
from kenyon.estimators._series import Series, check_rows
from kenyon.estimators._training import pick
from kenyon.learning.learners import Learner


class RowPart(LearningEstimator):
    """Takes a feature matrix, and reads it as it is but for its units."""

    _signed = True

    def _series(self, X: Any, *, reset: bool) -> Series:
        return check_rows(self, X, reset=reset)

    def _encoder(self, series: Series, seed: int) -> RowEncoder:
        mean, sd = moments(series.steps)
        both = self.both_signs
        if both is None:
            both = len(mean) < FEW_FEATURES
        elif not isinstance(both, (bool, np.bool_)):
            raise ValueError(f"both_signs must be True, False or None, not {_checks.short_repr(both)}")
        factor = inverse(sd, mean)
        if not factor.any():
            raise ValueError(
                f"X does not vary: every feature is constant (n_samples={len(series)}), nothing can be learned"
            )
        learner = pick(self.learner, self._rule)
        return RowEncoder(Scaling(mean, factor), bool(both), isinstance(learner, Learner) and not learner.thresholds)


class ThresholdReadout(ClassifierPart, RowPart):
    """Classify rows of any feature matrix by a readout that learns thresholds, or by any other of the learners.

    Features are standardised first. It reads what ReservoirPy's, aeon's or anyone's states are: a matrix
    (n, features).

    Parameters
    ----------
    learner
        As in `ReservoirClassifier`.
    both_signs
        Read each feature and its negative, as relu would hide what lies below a threshold; by default, where there
        are fewer than 100 features.
    epochs, early_stopping, validation_fraction, patience, class_weight, warm_start, n_jobs, verbose, random_state
        As in `ReservoirClassifier`.

    Attributes
    ----------
    classes_, theta_, coding_level_, specificity_, learning_curve_, n_epochs_, readout_
        As in `ReservoirClassifier`; the neurons are the features, in standard deviations from their means.
    """

    def __init__(
        self,
        learner: Any = "normalised",
        *,
        both_signs: bool | None = None,
        epochs: int = 40,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.both_signs = both_signs
        self.epochs = epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state


class ThresholdRegressor(RegressorPart, RowPart):
    """Predict one number or several from rows of any feature matrix; `ThresholdReadout` for real targets.

    Parameters
    ----------
    learner, both_signs
        As in `ThresholdReadout`.
    epochs, early_stopping, validation_fraction, patience, warm_start, n_jobs, verbose, random_state
        As in `ReservoirRegressor`.

    Attributes
    ----------
    theta_, coding_level_, learning_curve_, n_epochs_, readout_, target_shift_, target_scale_
        As in `ReservoirRegressor`.
    """

    def __init__(
        self,
        learner: Any = "normalised",
        *,
        both_signs: bool | None = None,
        epochs: int = 40,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 5,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.both_signs = both_signs
        self.epochs = epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
