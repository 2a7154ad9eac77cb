"""scikit-learn estimators for a user's own data."""

from kenyon.estimators._displays import CodeDisplay, ForecastDisplay, LearningCurveDisplay, ThresholdsDisplay
from kenyon.estimators._forecaster import Forecaster
from kenyon.estimators._frames import series_from_frame
from kenyon.estimators._importance import permutation_importance
from kenyon.estimators._readouts import ThresholdReadout, ThresholdRegressor
from kenyon.estimators._reservoir import ReservoirClassifier, ReservoirRegressor, ReservoirTransformer
from kenyon.estimators._sequence import SequenceClassifier, SequenceRegressor

__all__ = [
    "CodeDisplay",
    "ForecastDisplay",
    "Forecaster",
    "LearningCurveDisplay",
    "ReservoirClassifier",
    "ReservoirRegressor",
    "ReservoirTransformer",
    "SequenceClassifier",
    "SequenceRegressor",
    "ThresholdReadout",
    "ThresholdRegressor",
    "ThresholdsDisplay",
    "permutation_importance",
    "series_from_frame",
]
