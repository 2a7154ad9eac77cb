"""Classes that appear while a learner learns: states with more outputs, which have nothing learned yet.

Weights of a class that has never been right are 0, and so are its outputs and errors. So a learner that is told of a
class when it appears is where it would be had it known of it from the start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kenyon.learning.controls import RLSState
from kenyon.learning.recursive import RecursiveState
from kenyon.learning.ridge import RidgeState
from kenyon.learning.state import State


def with_outputs(state: Any, places: NDArray[np.intp], n_outputs: int) -> Any:
    """Return the state with so many outputs, in which those that it has come to these places; None if it cannot."""
    if isinstance(state, State):
        rows = max(state.nets.W.shape[1], n_outputs)
        W, grad_W = (_moved(part, places, rows, 1) for part in (state.nets.W, state.nets.grad_W))
        return state._replace(nets=state.nets._replace(W=W, grad_W=grad_W), n_outputs=n_outputs)
    if isinstance(state, RidgeState):
        cross = _moved(state.cross, places, n_outputs, 1)
        rows = tuple(part._replace(Y=_moved(part.Y, places, n_outputs, 1)) for part in state.rows)
        return state._replace(cross=cross, wanted=_moved(state.wanted, places, n_outputs, 0), rows=rows)
    if isinstance(state, RecursiveState) or (isinstance(state, RLSState) and state.P.ndim == 2):
        return state._replace(W=_moved(state.W, places, n_outputs, 0))
    return None


def _moved(values: NDArray[Any], places: NDArray[np.intp], n: int, axis: int) -> NDArray[Any]:
    """Return an array whose parts along an axis are at other places, with zeros between them."""
    shape = list(values.shape)
    shape[axis] = n
    moved = np.zeros(shape, values.dtype)
    index: list[Any] = [slice(None)] * values.ndim
    index[axis] = places
    moved[tuple(index)] = values.take(np.arange(len(places)), axis)
    return moved
