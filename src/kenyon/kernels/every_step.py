"""A series step by step: states after every step, from a state carried over, and what a readout makes of them.

    y = b + W x(z),    z = [V, s, 1]

z holds the states, the inputs of the same step and a constant; x is z itself, or what thresholds leave of it. Sums are
taken in double precision and in a fixed order, so that y depends neither on how a series is cut into calls nor on how
many series are read at a time.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kenyon.kernels.cache import kernel
from kenyon.kernels.one_episode import _rest, _run

LINEAR, ON, ON_OFF, SIGNED = range(4)  # what a unit makes of its z: see `Readout`


class Reading(NamedTuple):
    """A readout in units of z, in double precision."""

    W: NDArray[np.float64]  # (n_outputs, n_units)
    theta: NDArray[np.float64]  # (n_units,)
    bias: NDArray[np.float64]  # (n_outputs,)
    code: int


@kernel
def follow(network, inputs, work, V, out):
    """Run inputs, shape (n_steps, n_channels), through a `SortedNetwork`; return False if a state overflowed.

    It starts from the states V, shape (n_neurons,), in whose place are those after the last step in the end. States
    after every step go to `out`, shape (n_steps, n_neurons). `work` is the `work_space` of this network.
    """
    state, new = work
    first = _rest(network, inputs.shape[1], work)
    set_out(network, V, state.values)
    finite = _run(network, inputs, first, state, new, out)
    V[:] = out[len(out) - 1]
    return finite


@njit
def set_out(network, V, state):
    """Write states to where the network has its neurons."""
    values = state.reshape(-1)
    for place in range(len(V)):
        values[place] = V[network.order[place]]


@njit
def _unit(code, z, theta):
    """Return x of one unit."""
    if code == LINEAR:
        return z
    if code == SIGNED:
        size = max(abs(z) - theta, 0.0)
        return size if z > 0 else -size
    return max(z - theta, 0.0)


@njit
def encode(reading, z, x):
    """Write x of all units; `z` is in single precision."""
    n = len(z)
    for i in range(n):
        x[i] = _unit(reading.code, np.float64(z[i]), reading.theta[i])
    if reading.code == ON_OFF:
        for i in range(n):
            x[n + i] = max(reading.theta[n + i] - np.float64(z[i]), 0.0)


@njit
def weighted_sum(w, x):
    """Return w x in four sums, which run side by side; then those are added up."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = len(x) - len(x) % 4
    for i in range(0, whole, 4):
        a += w[i] * x[i]
        b += w[i + 1] * x[i + 1]
        c += w[i + 2] * x[i + 2]
        d += w[i + 3] * x[i + 3]
    for i in range(whole, len(x)):
        a += w[i] * x[i]
    return (a + b) + (c + d)


@kernel
def read(reading, Z, out):
    """Write y of each row of Z, shape (n, n_states), to `out`, shape (n, n_outputs)."""
    x = np.empty(reading.W.shape[1])
    for n in range(len(Z)):
        encode(reading, Z[n], x)
        for j in range(len(reading.bias)):
            out[n, j] = reading.bias[j] + weighted_sum(reading.W[j], x)
