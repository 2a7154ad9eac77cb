"""Kenyon: reservoir computing with learned sparsity."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kenyon.odours import Odours, load_odours, projection_rates
from kenyon.reservoir import Batch, Reservoir, ReservoirProtocol
from kenyon.tasks import SequenceTask, StaticTask, Task

if TYPE_CHECKING:  # `as` tells type checkers that a name is public
    from kenyon.estimators import CodeDisplay as CodeDisplay
    from kenyon.estimators import LearningCurveDisplay as LearningCurveDisplay
    from kenyon.estimators import ReservoirClassifier as ReservoirClassifier
    from kenyon.estimators import ReservoirRegressor as ReservoirRegressor
    from kenyon.estimators import ReservoirTransformer as ReservoirTransformer
    from kenyon.estimators import ThresholdReadout as ThresholdReadout
    from kenyon.estimators import ThresholdRegressor as ThresholdRegressor
    from kenyon.estimators import ThresholdsDisplay as ThresholdsDisplay
    from kenyon.experiment.executor import run_experiment as run_experiment
    from kenyon.experiment.results import open_results as open_results
    from kenyon.experiment.sweep import load_experiment as load_experiment
    from kenyon.experiment.trial import run_trial as run_trial
    from kenyon.learning.controls import RecursiveLeastSquares as RecursiveLeastSquares
    from kenyon.learning.learners import Composed as Composed
    from kenyon.learning.learners import GradientThresholds as GradientThresholds
    from kenyon.learning.learners import GradientWeights as GradientWeights
    from kenyon.learning.learners import Learner as Learner
    from kenyon.learning.learners import Metropolis as Metropolis
    from kenyon.learning.learners import Normalised as Normalised
    from kenyon.learning.learners import Percentile as Percentile
    from kenyon.learning.prelearning import Prelearned as Prelearned
    from kenyon.learning.prelearning import prelearn as prelearn
    from kenyon.learning.protocol import Diverged as Diverged
    from kenyon.learning.protocol import Info as Info
    from kenyon.learning.protocol import LearnerProtocol as LearnerProtocol
    from kenyon.learning.protocol import Proposal as Proposal
    from kenyon.learning.protocol import Source as Source
    from kenyon.learning.ridge import Ridge as Ridge
    from kenyon.learning.rules import QLearning as QLearning
    from kenyon.learning.rules import Regression as Regression
    from kenyon.learning.rules import Schedule as Schedule
    from kenyon.learning.rules import Supervised as Supervised
    from kenyon.learning.training import train as train
    from kenyon.learning.training import train_in_turn as train_in_turn
    from kenyon.metrics import episodes_to_reach as episodes_to_reach
    from kenyon.metrics import specificity as specificity
    from kenyon.readout import Readout as Readout
    from kenyon.saving import load as load

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
    "kenyon.learning.prelearning": ("Prelearned", "prelearn"),
    "kenyon.learning.protocol": ("Diverged", "Info", "LearnerProtocol", "Proposal", "Source"),
    "kenyon.learning.ridge": ("Ridge",),
    "kenyon.learning.rules": ("QLearning", "Regression", "Schedule", "Supervised"),
    "kenyon.learning.training": ("train", "train_in_turn"),
    "kenyon.metrics": ("episodes_to_reach", "specificity"),
    "kenyon.readout": ("Readout",),
    "kenyon.saving": ("load",),
}
_HOME = {name: module for module, names in _LATER.items() for name in names}

__all__ = ["Batch", "Odours", "Reservoir", "ReservoirProtocol", "SequenceTask", "StaticTask", "Task"]
__all__ += ["load_odours", "projection_rates"]
__all__ += sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kenyon' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
