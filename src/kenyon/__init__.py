"""Kenyon: reservoir computing with learned sparsity."""

from kenyon.odours import Odours, load_odours, projection_rates
from kenyon.reservoir import Batch, Reservoir
from kenyon.tasks import SequenceTask, StaticTask, Task

__version__ = "0.1.0"
__all__ = [
    "Batch",
    "Odours",
    "Reservoir",
    "SequenceTask",
    "StaticTask",
    "Task",
    "load_odours",
    "projection_rates",
]
