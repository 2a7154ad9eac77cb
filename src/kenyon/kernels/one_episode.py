"""The kernel for a single episode: lanes are neurons.

    V(t+1) = (1-a) V(t) + a relu[ W_in s(t) + rho W V(t) ]

Eight neurons are advanced at a time; each gathers what its connections carry. Neurons are sorted by their number of
connections, so that eight neighbours have nearly the same number. The state is an array (n_rows, 8), read in memory
order: the neurons as sorted, padded to whole eights, and then the input channels. A neuron's connections are added up
in the same order as in `many_episodes`, so states are the same to the bit.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, uintp
from numpy.typing import NDArray
from scipy import sparse

from kenyon.kernels.cache import kernel
from kenyon.kernels.lanes import Rows8, aligned, fma, gather, lanes_like, load, store, zero_up_to
from kenyon.kernels.many_episodes import SMALLEST, rectified

WIDTH = 8


class SortedNetwork(NamedTuple):
    """[rho W | W_in] by eights of neurons, sorted by their number of connections, and the leak rate."""

    order: NDArray[np.uint32]  # (n_neurons,): the neuron at each place of the state
    ends: NDArray[np.uint32]  # (n_eights,): the row of `columns` and `weights` at which those of each eight end
    columns: Rows8  # a row holds one connection of each of eight neurons: the place in the state that it comes from
    weights: Rows8  # its weight, 0 where a neuron has no more connections
    leak: np.float32


def sorted_network(weights: sparse.csr_array, leak: float) -> SortedNetwork:
    """Return [rho W | W_in], shape (n_neurons, n_neurons + n_channels), as the kernel takes it."""
    n_neurons, n_rows = weights.shape
    order = np.argsort(np.diff(weights.indptr), kind="stable")
    ordered, n_padded = weights[order], -(-n_neurons // WIDTH) * WIDTH
    degrees = np.diff(ordered.indptr)
    lengths = np.pad(degrees, (0, n_padded - n_neurons)).reshape(-1, WIDTH).max(axis=1)
    ends = np.cumsum(lengths)
    place = np.empty(n_rows, np.uint32)  # of each neuron and each channel in the state
    place[order], place[n_neurons:] = np.arange(n_neurons), n_padded + np.arange(n_rows - n_neurons)
    neuron = np.repeat(np.arange(n_neurons), degrees)
    row = (ends - lengths)[neuron // WIDTH] + np.arange(ordered.nnz) - ordered.indptr[neuron]
    columns, values = np.zeros((ends[-1], WIDTH), np.uint32), np.zeros((ends[-1], WIDTH), np.float32)
    columns[row, neuron % WIDTH], values[row, neuron % WIDTH] = place[ordered.indices], ordered.data
    return SortedNetwork(
        order.astype(np.uint32), ends.astype(np.uint32), Rows8(columns), Rows8(values), np.float32(leak)
    )


def work_space(network: SortedNetwork, n_channels: int) -> tuple[Rows8, Rows8]:
    """Return work space: a state and the next one."""
    n_rows = len(network.ends) + -(-n_channels // WIDTH)
    return Rows8(aligned(n_rows, WIDTH)), Rows8(aligned(n_rows, WIDTH))


@njit
def _step(network, state, new):
    """Advance all neurons by one step, from `state` to `new`."""
    keep, k = np.float32(1) - network.leak, uintp(0)
    for eight in range(uintp(len(network.ends))):
        end = uintp(network.ends[eight])
        drive = lanes_like(network.weights, np.float32(0))
        while k < end:
            drive = fma(load(network.weights, k), gather(state, network.columns, k), drive)
            k += uintp(1)
        store(new, eight, zero_up_to(fma(network.leak, rectified(drive), keep * load(state, eight)), SMALLEST))


@njit
def _run(network, inputs, state, new, out):
    """Run inputs from `state` on; arguments as in `simulate_one`."""
    (n_steps, n_channels), (n_last, n_neurons) = inputs.shape, out.shape
    first = len(network.ends) * WIDTH
    for step in range(n_steps):
        shown = state.values.reshape(-1)[first : first + n_channels]
        for channel in range(n_channels):
            shown[channel] = inputs[step, channel]
        _step(network, state, new)
        state, new = new, state
        kept = step - (n_steps - n_last)
        if kept >= 0:
            values = state.values.reshape(-1)
            for place in range(n_neurons):
                out[kept, network.order[place]] = values[place]
    return np.isfinite(out[n_last - 1]).all()


@kernel
def simulate_one(network, inputs, work, out):
    """Run inputs, shape (n_steps, n_channels), through a `SortedNetwork` from rest; return False if a state overflowed.

    The states after each of the last `n_last` steps go to `out`, shape (n_last, n_neurons), with neurons in their
    original order. `work` is the `work_space` of this network.
    """
    state, new = work
    state.values[:] = np.float32(0)
    return _run(network, inputs, state, new, out)


@kernel
def go_on(network, inputs, work, V):
    """Do the same from the states V, shape (1, n_neurons), in whose place are those after the last step in the end."""
    state, new = work
    values = state.values.reshape(-1)
    values[:] = np.float32(0)
    for place in range(V.shape[1]):
        values[place] = V[0, network.order[place]]
    return _run(network, inputs, state, new, V)
