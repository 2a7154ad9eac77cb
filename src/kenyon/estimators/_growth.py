"""Features that appear in mid-stream: a model of rows that reads more of them from now on.

A new feature counts as if it had always been at its mean. Random features are made of those of the first row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kenyon.estimators._encoding import RowEncoder, RunningScaling
from kenyon.estimators._training import Training, Units
from kenyon.kernels.reading import row_length
from kenyon.kernels.running import Moments, Percentiles, no_percentiles, take_percentiles
from kenyon.kernels.stream_steps import ROWS
from kenyon.kernels.streams import SETTLED, Following
from kenyon.learning.state import State


def with_features(encoder: RowEncoder, training: Training, n_new: int) -> tuple[RowEncoder, Training]:
    """Return encoder and training of a stream with so many features more."""
    assert isinstance(encoder.scaling, RunningScaling)
    assert training.following is not None
    n_old = len(encoder.scaling.shift)
    moments = Moments(*(np.concatenate([part, np.zeros(n_new)]) for part in encoder.scaling.moments))
    grown = encoder._replace(scaling=encoder.scaling._replace(moments=moments))
    signed = np.arange(n_old)
    if encoder.both_signs:
        signed = np.concatenate([signed, n_old + n_new + signed])
    rest = np.arange(grown.width - (encoder.width - len(signed)), grown.width)
    places = np.concatenate([signed, rest])  # of the old states among the new
    factor = _moved(training.units.factor, places, grown.width, 1.0)
    units = Units(np.zeros(grown.width, np.float32), factor)
    following = _following(training.following, training.past, places, grown.width)
    state = _state(training.state, places, grown.width)
    return grown, training._replace(state=state, units=units, following=following)


def _moved(values: NDArray[Any], places: NDArray[np.intp], n: int, otherwise: float) -> NDArray[Any]:
    """Return n values along the last axis, the old ones at their new places."""
    moved = np.full((*values.shape[:-1], n), otherwise, values.dtype)
    moved[..., places] = values
    return moved


def _following(old: Following, past: State, places: NDArray[np.intp], n: int) -> Following:
    n_rows = int(min(old.counts[ROWS], SETTLED))
    moments = Moments(*(_moved(part, places, n, 0.0) for part in old.moments))
    on, off = (_percentiles(part, places, n, n_rows) for part in (old.on, old.off))
    memory = old.memory._replace(states=_moved(old.memory.states, places, n, 0.0))
    if len(memory.told) > 0:
        nets = _state(past, places, n).nets
        memory = memory._replace(W=nets.W, theta=nets.theta)
    return Following(old.counts, _moved(old.starts, places, n, 0.0), moments, on, off, memory)


def _percentiles(old: Percentiles, places: NDArray[np.intp], n: int, n_rows: int) -> Percentiles:
    """Return percentiles of more states, those that are new having been 0 in all rows so far."""
    if len(old.heights) == 0:
        return old
    found = no_percentiles(n, 100.0 * float(old.share[0]))
    take_percentiles(found, np.zeros((n_rows, n)))
    found.heights[places], found.places[places] = old.heights, old.places
    return found._replace(share=old.share, rows=old.rows)


def _state(old: State, places: NDArray[np.intp], n: int) -> State:
    """Return the state with units for more neurons, which have learned nothing."""
    width = row_length(n)
    sides = range(old.sides)
    own = np.concatenate([places + side * width for side in sides])  # of the old units in the new rows
    end = (old.sides - 1) * width + n
    padded = row_length(end)

    def moved(values: NDArray[np.float32]) -> NDArray[np.float32]:
        kept = np.concatenate([values[..., place] for place in old.places], axis=-1)
        return _moved(kept, own, padded, 0.0)

    nets = old.nets
    theta = moved(nets.theta)
    outside = np.ones(padded, bool)
    for side in sides:
        outside[side * width : side * width + n] = False
    theta[:, outside] = np.inf  # never active
    nets = nets._replace(W=moved(nets.W), theta=theta, grad_W=moved(nets.grad_W), grad_theta=moved(nets.grad_theta))
    return old._replace(nets=nets, n_neurons=n)
