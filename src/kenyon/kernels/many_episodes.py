"""The kernel for many episodes: a sparse matrix times a block of episodes, fused with noise, relu and leak.

    V(t+1) = (1-a) V(t) + a relu[ W_in s(t) + rho W V(t) ]

Lanes are episodes. The state of a block is an array (n_neurons + n_channels, n_lanes): a row per neuron and, below, a
row per input channel. So [rho W | W_in] is one sparse matrix: each of its nonzeros is one broadcast and one
multiply-add of all lanes, and one pass over it serves a whole block. A single episode would leave most lanes idle: see
`one_episode`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, uintp
from numpy.typing import NDArray
from scipy import sparse

from kenyon.kernels.cache import kernel
from kenyon.kernels.inputs import load_keys, write_input
from kenyon.kernels.lanes import fma, item, lanes_like, load, relu, store, zero_up_to

# States up to this count as 0: without input they would decay to denormal numbers, which slow some processors down.
SMALLEST = np.float32(1e-30)


class Network(NamedTuple):
    """[rho W | W_in] as compressed sparse rows, and the leak rate."""

    row_ends: NDArray[np.uint32]  # (n_neurons,): where each neuron's connections end; the next one's begin there
    columns: NDArray[np.uint32]  # (n_connections,): the row of the state that a connection comes from
    weights: NDArray[np.float32]  # (n_connections,)
    leak: np.float32


def network(weights: sparse.csr_array, leak: float) -> Network:
    """Return [rho W | W_in], shape (n_neurons, n_neurons + n_channels), as the kernel takes it."""
    ends, columns = weights.indptr[1:].astype(np.uint32), weights.indices.astype(np.uint32)
    return Network(ends, columns, weights.data.astype(np.float32), np.float32(leak))


@njit
def rectified(drive):
    """Return relu(drive), but NaN where drive is infinite: 0 would hide that a sum has overflowed."""
    return fma(drive, np.float32(0), relu(drive))


@njit
def _step(network, state, new):
    """Advance all neurons of one block by one step, from `state` to `new`."""
    keep, gain = np.float32(1) - network.leak, network.leak
    k = uintp(0)
    for neuron in range(uintp(len(network.row_ends))):
        end = uintp(item(network.row_ends, neuron))
        drive = lanes_like(state, np.float32(0))
        while k < end:
            drive = fma(item(network.weights, k), load(state, uintp(item(network.columns, k))), drive)
            k += uintp(1)
        store(new, neuron, zero_up_to(fma(gain, rectified(drive), keep * load(state, neuron)), SMALLEST))


@njit
def _keep(state, first, kept, out):
    """Write a block's states to out[first:, kept], sixteen neurons at a time to stay within the nearest cache."""
    n_episodes, _, n_neurons = out.shape
    for start in range(0, n_neurons, 16):
        neurons = range(uintp(start), uintp(min(start + 16, n_neurons)))
        for lane in range(uintp(min(state.shape[1], n_episodes - first))):
            row = out[uintp(first) + lane, uintp(kept)]
            for neuron in neurons:
                row[neuron] = state[neuron, lane]


@njit
def _overflow(state, n_neurons):
    """Tell whether any lane of any neuron is not finite: v - v is 0 for finite v, else NaN. Overwrites row 0."""
    total = lanes_like(state, np.float32(0))
    for neuron in range(uintp(n_neurons)):
        v = load(state, neuron)
        total = total + (v - v)
    store(state, uintp(0), total)
    return not np.isfinite(state.values[0].sum())


@kernel
def simulate(network, episodes, work, out):
    """Run `Episodes` through a `Network` from rest; return False if a state overflowed.

    The states after each of the last `n_last` steps go to `out`, shape (n_episodes, n_last, n_neurons). `work` is for
    this number of neurons and channels; the number of lanes in its rows is the size of a block.
    """
    n_episodes, n_last, n_neurons = out.shape
    n_steps = episodes.shown.shape[1] * episodes.steps
    state, new = work.state, work.new
    for first in range(0, n_episodes, state.values.shape[1]):
        k0, k1 = load_keys(episodes.keys, first, work.words)
        state.values[:] = np.float32(0)
        for step in range(n_steps):
            write_input(episodes, work.clean, k0, k1, first, step, state, uintp(n_neurons))
            _step(network, state, new)
            state, new = new, state
            kept = step - (n_steps - n_last)
            if kept >= 0:
                _keep(state.values, first, kept, out)
        if _overflow(state, n_neurons):
            return False
    return True
