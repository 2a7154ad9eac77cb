"""Kenyon: reservoir computing with learned sparsity."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kenyon.odours import Odours, load_odours, projection_rates
from kenyon.reservoir import Batch, Reservoir
from kenyon.tasks import SequenceTask, StaticTask, Task

if TYPE_CHECKING:
    from kenyon.estimators import (
        CodeDisplay,
        LearningCurveDisplay,
        ReservoirClassifier,
        ReservoirRegressor,
        ReservoirTransformer,
        ThresholdReadout,
        ThresholdRegressor,
        ThresholdsDisplay,
    )
    from kenyon.experiment.executor import run_experiment
    from kenyon.experiment.results import open_results
    from kenyon.experiment.sweep import load_experiment
    from kenyon.experiment.trial import run_trial
    from kenyon.learning.controls import RecursiveLeastSquares
    from kenyon.learning.in_turn import train_in_turn
    from kenyon.learning.learners import (
        Composed,
        GradientThresholds,
        GradientWeights,
        Learner,
        Metropolis,
        Normalised,
        Percentile,
    )
    from kenyon.learning.prelearning import Prelearned, prelearn
    from kenyon.learning.protocol import Diverged, Source
    from kenyon.learning.ridge import Ridge
    from kenyon.learning.rules import QLearning, Regression, Schedule, Supervised
    from kenyon.learning.training import train
    from kenyon.metrics import episodes_to_reach, specificity
    from kenyon.readout import Readout
    from kenyon.saving import load

__version__ = "0.1.0"

# Loaded when first asked for, so that a start pays only for what it uses.
_LATER = {
    "kenyon.estimators": (
        "CodeDisplay",
        "LearningCurveDisplay",
        "ReservoirClassifier",
        "ReservoirRegressor",
        "ReservoirTransformer",
        "ThresholdReadout",
        "ThresholdRegressor",
        "ThresholdsDisplay",
    ),
    "kenyon.experiment.executor": ("run_experiment",),
    "kenyon.experiment.results": ("open_results",),
    "kenyon.experiment.sweep": ("load_experiment",),
    "kenyon.experiment.trial": ("run_trial",),
    "kenyon.learning.controls": ("RecursiveLeastSquares",),
    "kenyon.learning.learners": (
        "Composed",
        "GradientThresholds",
        "GradientWeights",
        "Learner",
        "Metropolis",
        "Normalised",
        "Percentile",
    ),
    "kenyon.learning.in_turn": ("train_in_turn",),
    "kenyon.learning.prelearning": ("Prelearned", "prelearn"),
    "kenyon.learning.protocol": ("Diverged", "Source"),
    "kenyon.learning.ridge": ("Ridge",),
    "kenyon.learning.rules": ("QLearning", "Regression", "Schedule", "Supervised"),
    "kenyon.learning.training": ("train",),
    "kenyon.metrics": ("episodes_to_reach", "specificity"),
    "kenyon.readout": ("Readout",),
    "kenyon.saving": ("load",),
}
_HOME = {name: module for module, names in _LATER.items() for name in names}

__all__ = [
    "Batch",
    "CodeDisplay",
    "Composed",
    "Diverged",
    "GradientThresholds",
    "GradientWeights",
    "Learner",
    "LearningCurveDisplay",
    "Metropolis",
    "Normalised",
    "Odours",
    "Percentile",
    "Prelearned",
    "QLearning",
    "Readout",
    "RecursiveLeastSquares",
    "Regression",
    "Reservoir",
    "ReservoirClassifier",
    "ReservoirRegressor",
    "ReservoirTransformer",
    "Ridge",
    "Schedule",
    "SequenceTask",
    "Source",
    "StaticTask",
    "Supervised",
    "Task",
    "ThresholdReadout",
    "ThresholdRegressor",
    "ThresholdsDisplay",
    "episodes_to_reach",
    "load",
    "load_experiment",
    "load_odours",
    "open_results",
    "prelearn",
    "projection_rates",
    "run_experiment",
    "run_trial",
    "specificity",
    "train",
    "train_in_turn",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kenyon' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
