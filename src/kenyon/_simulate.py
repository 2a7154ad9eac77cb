"""The kernel: a sparse matrix times a block of episodes, fused with noise, relu and leak.

    V(t+1) = (1-a) V(t) + a relu[ W_in s(t) + rho W V(t) ]

Lanes are episodes. The state of a block has a row per neuron and, below, a row per input channel, so that [rho W |
W_in] is one sparse matrix: each of its nonzeros is one broadcast and one multiply-add of all lanes, and one pass over
it serves LANES episodes.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, uintp
from numpy.typing import NDArray

from kenyon._inputs import load_keys, write_input
from kenyon._simd import LANES, fma, item, lanes_of, load, relu, store


class Network(NamedTuple):
    """[rho W | W_in] as compressed sparse rows, and the leak."""

    row_ends: NDArray[np.uint32]
    columns: NDArray[np.uint32]
    weights: NDArray[np.float32]
    leak: np.float32


@njit
def _step(network, n_neurons, state, new):
    """Advance all neurons of one block by one step."""
    keep, gain = lanes_of(np.float32(1) - network.leak), lanes_of(network.leak)
    k = uintp(0)
    for neuron in range(n_neurons):
        end = uintp(item(network.row_ends, neuron))
        drive = lanes_of(np.float32(0))
        while k < end:
            weight = lanes_of(item(network.weights, k))
            drive = fma(weight, load(state, uintp(item(network.columns, k))), drive)
            k += uintp(1)
        store(new, neuron, fma(gain, relu(drive), keep * load(state, neuron)))


@njit
def _keep(state, first, kept, out):
    """Write a block's states to `out`, sixteen neurons at a time to stay within the nearest cache."""
    n_episodes, _, n_neurons = out.shape
    for start in range(0, n_neurons, 16):
        for lane in range(min(LANES, n_episodes - first)):
            for neuron in range(start, min(start + 16, n_neurons)):
                out[first + lane, kept, neuron] = state[neuron, lane]


@njit
def _overflow(state, n_neurons):
    """Tell whether any lane of any neuron is not finite: v - v is 0 for finite v, else NaN."""
    total = lanes_of(np.float32(0))
    for neuron in range(n_neurons):
        v = load(state, neuron)
        total = total + (v - v)
    store(state, uintp(0), total)
    return not np.isfinite(state[0].sum())


@njit(nogil=True, cache=True)
def simulate(network, episodes, state, new, clean, out):
    """Run episodes and write their last states to `out`, shape (n_episodes, n_last, n_neurons); False on overflow.

    `state`, `new` and `clean` are work space: (n_neurons + n_channels, LANES) twice and (n_channels, LANES).
    """
    n_episodes, n_last, n_neurons = out.shape
    n_steps = episodes.shown.shape[1] * episodes.steps
    rows = uintp(n_neurons)
    words = np.empty((2, LANES), np.uint32)
    for first in range(0, n_episodes, LANES):
        k0, k1 = load_keys(episodes.keys, first, words)
        state[:] = np.float32(0)
        for step in range(n_steps):
            write_input(episodes, clean, k0, k1, first, step, state, rows)
            _step(network, rows, state, new)
            state, new = new, state
            kept = step - (n_steps - n_last)
            if kept >= 0:
                _keep(state, first, kept, out)
        if _overflow(state, rows):
            return False
    return True
