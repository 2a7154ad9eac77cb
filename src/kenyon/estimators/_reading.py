"""What was learned, as a readout of plain states in double precision: units and scales are part of its weights.

u = (z - shift) factor,    relu(u - theta) = factor relu(z - (shift + theta / factor))
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kenyon.estimators._training import Training, Units
from kenyon.kernels.every_step import LINEAR, Reading
from kenyon.learning.protocol import check_readout
from kenyon.learning.ridge import Candidates, Ridge, solution
from kenyon.readout import CODES, NO_THETA, ON_OFF, Readout

# Of ridge regression: noise-free series need little penalty; steps of a series are not independent.
CANDIDATES = Candidates(np.logspace(-13, 0, 53), caution=1.4)
Numbers = NDArray[np.float64]


def reading_of(training: Training) -> Reading:
    """Return the readout of what a learner has learned so far."""
    learner: Any = training.learner
    n_states = len(training.units.factor)
    if isinstance(learner, Ridge):
        W, bias = solution(learner, training.state, CANDIDATES)
        theta, code = training.state.theta, learner.code or CODES[0]
        held = NO_THETA if theta is None else theta
        found = Readout(np.zeros((1, len(W)), np.float32), held, theta is not None, code=code)
        return _in_plain_units(W.T, bias, found, training.units)
    readout = check_readout("learner", learner.readout(training.state), n_states)
    if type(readout).features is not Readout.features or type(readout).outputs is not Readout.outputs:
        raise ValueError(f"learner.readout must return a plain Readout here, not {type(readout).__name__}")
    return _in_plain_units(readout.W.astype(np.float64), readout.bias, readout, training.units)


def scaled(reading: Reading, factor: Numbers, shift: Numbers) -> Reading:
    """Return the readout of y factor + shift."""
    return reading._replace(W=np.ascontiguousarray(reading.W * factor[:, None]), bias=reading.bias * factor + shift)


def _in_plain_units(W: Numbers, bias: Numbers | None, readout: Readout, units: Units) -> Reading:
    sides = 2 if readout.code == ON_OFF else 1
    factor, shift = (np.tile(part.astype(np.float64), sides) for part in (units.factor, units.shift))
    bias = np.zeros(len(W)) if bias is None else bias.astype(np.float64)
    if not readout.thresholds:
        if readout.scale is not None:
            W = W * readout.scale
        if readout.shift is not None:
            bias = bias - W @ readout.shift
        bias = bias - (W * factor) @ shift
        return Reading(np.ascontiguousarray(W * factor), np.zeros(len(factor)), bias, LINEAR)
    theta, silent = readout.theta.astype(np.float64), factor == 0
    off = np.arange(len(factor)) >= len(units.factor)
    constant = np.maximum(np.where(off, theta, -theta), 0.0) * silent  # x of units whose states have no size
    bias = bias + W @ constant
    own = shift + np.divide(theta, factor, out=np.zeros_like(theta), where=~silent)
    return Reading(np.ascontiguousarray(W * factor), own, bias, 1 + CODES.index(readout.code))
