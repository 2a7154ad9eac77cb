"""The kernel for a single episode: lanes are neurons.

    V(t+1) = (1-a) V(t) + a f[ W_in s(t) + rho W V(t) + b ]

Eight neurons are advanced at a time; each gathers what its connections carry. Neurons are sorted by their number of
connections, so that eight neighbours have nearly the same number. The state is an array (n_rows, 8), read in memory
order: the neurons as sorted, padded to whole eights, and then what they hear: channels or columns of delays, and a one
if there is a bias. A neuron's connections are added up in the same order as in `many_episodes`, so states are the same
to the bit.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uintp
from numpy.typing import NDArray
from scipy import sparse

from kenyon.kernels import pooling
from kenyon.kernels.cache import inner, kernel
from kenyon.kernels.inputs import Taps
from kenyon.kernels.lanes import Rows8, aligned, fma, gather, lanes_like, load, store
from kenyon.kernels.neurons import Relu, Tanh, advanced
from kenyon.kernels.pooling import FULL, Kept, Pool

WIDTH = 8


class SortedNetwork(NamedTuple):
    """[rho W | W_in | b] by eights of neurons, sorted by their number of connections; the rest as in `Network`."""

    order: NDArray[np.uint32]  # (n_neurons,): the neuron at each place of the state
    ends: NDArray[np.uint32]  # (n_eights,): the row of `columns` and `weights` at which those of each eight end
    columns: Rows8  # a row holds one connection of each of eight neurons: the place in the state that it comes from
    weights: Rows8  # its weight, 0 where a neuron has no more connections
    leaks: Rows8  # a row for each eight
    activation: Relu | Tanh
    taps: Taps


def sorted_network(
    weights: sparse.csr_array, leaks: NDArray[np.float32], activation: Relu | Tanh, delays: Taps
) -> SortedNetwork:
    """Return [rho W | W_in | b], shape (n_neurons, n_rows), as the kernel takes it."""
    n_neurons, n_rows = weights.shape
    order = np.argsort(np.diff(weights.indptr), kind="stable")
    ordered, n_padded = weights[order], -(-n_neurons // WIDTH) * WIDTH
    degrees = np.diff(ordered.indptr)
    lengths = np.pad(degrees, (0, n_padded - n_neurons)).reshape(-1, WIDTH).max(axis=1)
    ends = np.cumsum(lengths)
    place = np.empty(n_rows, np.uint32)  # of each neuron and of each thing heard in the state
    place[order], place[n_neurons:] = np.arange(n_neurons), n_padded + np.arange(n_rows - n_neurons)
    neuron = np.repeat(np.arange(n_neurons), degrees)
    row = (ends - lengths)[neuron // WIDTH] + np.arange(ordered.nnz) - ordered.indptr[neuron]
    columns, values = np.zeros((ends[-1], WIDTH), np.uint32), np.zeros((ends[-1], WIDTH), np.float32)
    columns[row, neuron % WIDTH], values[row, neuron % WIDTH] = place[ordered.indices], ordered.data
    places = order.astype(np.uint32)
    own_leaks = _by_eights(leaks[None], places)
    return SortedNetwork(places, ends.astype(np.uint32), Rows8(columns), Rows8(values), own_leaks, activation, delays)


def _by_eights(values: NDArray[np.float32], order: NDArray[np.uint32]) -> Rows8:
    """Return numbers of each neuron, shape (k, n_neurons), as rows of eight sorted neurons, k for each eight."""
    (k, n), n_eights = values.shape, -(-values.shape[1] // WIDTH)
    laid = np.zeros((k, n_eights * WIDTH), np.float32)
    laid[:, :n] = values[:, order]
    return Rows8(np.ascontiguousarray(laid.reshape(k, n_eights, WIDTH).transpose(1, 0, 2)).reshape(n_eights * k, WIDTH))


def n_rows(network: SortedNetwork, n_heard: int) -> int:
    """Return the number of rows of a state; `n_heard` is the number of things that neurons hear."""
    return len(network.ends) + -(-n_heard // WIDTH)


def work_space(network: SortedNetwork, n_heard: int) -> tuple[Rows8, Rows8]:
    """Return work space: a state and the next one."""
    both = aligned(2, n_rows(network, n_heard), WIDTH)
    return Rows8(both[0]), Rows8(both[1])


def plain(network: SortedNetwork) -> tuple[Any, ...]:
    """Return a network as `simulate_one` takes it: of bare arrays, which Numba looks at in a third of the time."""
    rows = network.columns.values, network.weights.values, network.leaks.values
    return (network.order, network.ends, *rows), network.activation, tuple(network.taps)


def pool_for(kept: Kept, network: SortedNetwork) -> Pool:
    """Return an empty pool for one episode."""
    return pooling.pool_of(kept, Rows8, len(network.ends), _by_eights(kept.levels, network.order))


@inner
def _all_finite(values):
    total = np.float32(0)
    for value in values:
        total += value - value  # 0, or else NaN
    return total == 0


@inner
def _step(network, state, new):
    """Advance all neurons by one step, from `state` to `new`."""
    k = uintp(0)
    for eight in range(uintp(len(network.ends))):
        end = uintp(network.ends[eight])
        drive = lanes_like(network.weights, np.float32(0))
        while k < end:
            drive = fma(load(network.weights, k), gather(state, network.columns, k), drive)
            k += uintp(1)
        store(new, eight, advanced(network.activation, drive, load(network.leaks, eight), load(state, eight)))


@inner
def _rest(network, n_channels, work):
    """Bring the network to rest, with ones where the bias comes from; return the first place of what is heard."""
    first, n_columns = len(network.ends) * WIDTH, len(network.taps.offsets)
    constant = first + (n_columns if n_columns else n_channels)
    for state in work:
        state.values.reshape(-1)[:constant] = np.float32(0)
        state.values.reshape(-1)[constant:] = np.float32(1)
    return first


@inner
def _hear(delays, inputs, step, heard):
    """Write what neurons hear at a step: all channels, or columns of delays, silent beyond the ends."""
    if len(delays.offsets) == 0:
        for channel in range(inputs.shape[1]):
            heard[channel] = inputs[step, channel]
    for column in range(len(delays.offsets)):
        t = step + delays.offsets[column]
        heard[column] = inputs[t, delays.channels[column]] if 0 <= t < len(inputs) else np.float32(0)


@inner
def _run(network, inputs, first, state, new, out):
    """Run inputs from `state` on; what is heard is from place `first` on. Other arguments as in `simulate_one`."""
    n_steps, n_last = len(inputs), len(out)
    for step in range(n_steps):
        _hear(network.taps, inputs, step, state.values.reshape(-1)[first:])
        _step(network, state, new)
        state, new = new, state
        kept = step - (n_steps - n_last)
        if kept >= 0:
            _keep(network, state.values, out[kept])
    return _all_finite(out[n_last - 1])


@kernel
def simulate_one(network, inputs, n_times, n_rows, out):
    """Run inputs, shape (n_steps, n_channels), through a network from rest; return False if a state overflowed.

    Each step of the inputs is shown `n_times`. The states after each of the last `n_last` steps go to `out`, shape
    (n_last, n_neurons), with neurons in their original order. The network is `plain`, and its state has `n_rows`.
    """
    (order, ends, columns, weights, leaks), activation, taps = network
    own = SortedNetwork(order, ends, Rows8(columns), Rows8(weights), Rows8(leaks), activation, Taps(*taps))
    state, new = Rows8(np.empty((n_rows, WIDTH), np.float32)), Rows8(np.empty((n_rows, WIDTH), np.float32))
    shown = inputs
    if n_times > 1:
        shown = np.empty((len(inputs) * n_times, inputs.shape[1]), np.float32)
        for t in range(len(shown)):
            shown[t] = inputs[t // n_times]
    return _run(own, shown, _rest(own, inputs.shape[1], (state, new)), state, new, out)


@kernel
def go_on(network, inputs, work, V):
    """Do the same with a `SortedNetwork` from the states V, shape (1, n_neurons), which are moved on in place.

    Inputs before these are not known, so a network with delays hears silence in their place.
    """
    state, new = work
    first, values = _rest(network, inputs.shape[1], work), state.values.reshape(-1)
    for place in range(V.shape[1]):
        values[place] = V[0, network.order[place]]
    return _run(network, inputs, first, state, new, V)


@inner
def _keep(network, state, row):
    values = state.reshape(-1)
    for place in range(len(row)):
        row[network.order[place]] = values[place]


@njit
def _keep_sums(network, pool, place, out):
    """Write the sums to out[place:] and begin anew; return the place behind them."""
    pooling.settle(pool)
    if pool.mean:
        _keep(network, pool.sums.values, out[place])
        place += 1
    for level in range(pool.n_levels * pool.activity):
        _keep(network, np.ascontiguousarray(pool.totals[level :: pool.n_levels]), out[place])
        place += 1
    for level in range(pool.n_levels * pool.excess):
        _keep(network, np.ascontiguousarray(pool.over.values[level :: pool.n_levels]), out[place])
        place += 1
    pooling.empty(pool)
    return place


@kernel
def simulate_one_pooled(network, inputs, work, pool, times, ends, out):
    """Do the same as `simulate_one`, but keep states at chosen times and sums over stretches: see `simulate_pooled`.

    `times` and `ends` are those of one episode, and so is `out`, shape (n_times + n_stretches n_sums, n_neurons).
    """
    (n_steps, n_channels), done, ended, place = inputs.shape, 0, 0, len(times)
    state, new = work
    first = _rest(network, n_channels, work)
    pooling.empty(pool)
    for step in range(n_steps):
        _hear(network.taps, inputs, step, state.values.reshape(-1)[first:])
        _step(network, state, new)
        state, new = new, state
        pooling.add(pool, state, len(network.ends))
        while done < len(times) and times[done] == step:
            _keep(network, state.values, out[done])
            done += 1
        if step % FULL == FULL - 1:
            pooling.settle(pool)
        while ended < len(ends) and ends[ended] == step:
            place = _keep_sums(network, pool, place, out)
            ended += 1
    return _all_finite(state.values.reshape(-1)[:first])
