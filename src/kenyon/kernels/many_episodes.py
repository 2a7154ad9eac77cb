"""The kernel for many episodes: a sparse matrix times a block of episodes, fused with noise, activation and leak.

    V(t+1) = (1-a) V(t) + a f[ W_in s(t) + rho W V(t) + b ]

Lanes are episodes. The state of a block is an array (n_rows, n_lanes): a row per neuron and, below, one for each thing
that they hear: input channels or, with delays, columns (see `inputs`), and a row of ones if there is a bias. So
[rho W | W_in | b] is one sparse matrix: each of its nonzeros is one broadcast and one multiply-add of all lanes, and
one pass over it serves a whole block. A single episode would leave most lanes idle: see `one_episode`.

Neurons are advanced two at a time, since each addition to a sum waits for the one before, and in the order of their
number of connections, so that both have nearly as many and the processor can foresee where their sums end. Connections
of a pair take turns in memory; what the first of the two lacks has weight 0. Rows of the state are in the same order,
so that they are written one after another; an odd number of neurons is made even by one that hears nothing. Rows of a
state too large for the nearer caches are asked for some connections ahead.

Episodes of different lengths end together. Whatever happens in a lane before its episode begins is wiped out then.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uintp
from numpy.typing import NDArray
from scipy import sparse

from kenyon.kernels import pooling
from kenyon.kernels.cache import inner, kernel
from kenyon.kernels.inputs import Taps, load_keys, write_columns
from kenyon.kernels.lanes import Rows, copy_turned, fma, item, lanes_like, load, prefetch, store
from kenyon.kernels.neurons import Relu, Tanh, advanced
from kenyon.kernels.pooling import FULL, Kept, Pool

AHEAD = 32  # connections: about those of one pair
FAR = 2**21  # bytes of a block's states, beyond which rows are asked for ahead; if they are near, it only costs time


class Network(NamedTuple):
    """[rho W | W_in | b] by pairs of neurons, what W_in hears, and what neurons do with it.

    Neurons are sorted by their number of connections.
    """

    places: NDArray[np.uint32]  # (n_neurons,): the row of each neuron in a state
    ends: NDArray[np.uint32]  # (n_pairs,): where the connections of each pair end; those of the next begin there
    columns: NDArray[np.uint32]  # (ends[-1] + AHEAD,): the row of the state that a connection comes from
    weights: NDArray[np.float32]  # (ends[-1],)
    leaks: NDArray[np.float32]  # (2 n_pairs,): of each row
    activation: Relu | Tanh
    taps: Taps
    biased: bool  # whether there is b


def network(
    weights: sparse.csr_array, leaks: NDArray[np.float32], activation: Relu | Tanh, delays: Taps, biased: bool
) -> Network:
    """Return [rho W | W_in | b], shape (n_neurons, n_rows), as the kernel takes it."""
    (n_neurons, n_heard), odd = weights.shape, weights.shape[0] % 2
    order = np.argsort(np.diff(weights.indptr), kind="stable")
    places = np.empty(n_heard, np.uint32)  # the row of each neuron and of each thing heard
    places[order], places[n_neurons:] = odd + np.arange(n_neurons), odd + np.arange(n_neurons, n_heard)
    laid = weights[order]
    degrees = np.pad(np.diff(laid.indptr), (odd, 0))
    lengths = 2 * degrees.reshape(-1, 2).max(axis=1)
    ends, begins = np.cumsum(lengths), np.cumsum(degrees) - degrees
    row = np.repeat(np.arange(len(degrees)), degrees)
    k = (ends - lengths)[row // 2] + 2 * (np.arange(laid.nnz) - begins[row]) + row % 2
    columns, values = np.zeros(ends[-1] + AHEAD, np.uint32), np.zeros(ends[-1], np.float32)
    columns[k], values[k] = places[laid.indices], laid.data
    own = np.pad(leaks[order], (odd, 0))
    return Network(places[:n_neurons], ends.astype(np.uint32), columns, values, own, activation, delays, biased)


def n_neuron_rows(network: Network) -> int:
    """Return the number of rows of a state before those of what neurons hear."""
    return len(network.leaks)


def pool_for(kept: Kept, network: Network, rows: type[Rows]) -> Pool:
    """Return an empty pool for blocks of as many episodes as a row has lanes."""
    levels = np.zeros((n_neuron_rows(network), len(kept.levels)), np.float32)
    levels[network.places] = kept.levels.T
    return pooling.pool_of(kept, rows, len(levels), levels.ravel())


def _stepping(ahead: int) -> Any:
    """Make the function that advances a block by one step, and asks for rows so many connections ahead if not 0."""

    @inner
    def hear(network, state, k, drive):
        if ahead > 0:
            prefetch(state, uintp(item(network.columns, k + uintp(ahead))))
        return fma(item(network.weights, k), load(state, uintp(item(network.columns, k))), drive)

    @inner
    def finish(network, state, new, row, drive):
        store(new, row, advanced(network.activation, drive, item(network.leaks, row), load(state, row)))

    @inner
    def step(network, state, new):
        k, one = uintp(0), uintp(1)
        for pair in range(uintp(len(network.ends))):
            end, row = uintp(item(network.ends, pair)), uintp(2) * pair
            first = second = lanes_like(state, np.float32(0))
            while k < end:
                first, second = hear(network, state, k, first), hear(network, state, k + one, second)
                k += uintp(2)
            finish(network, state, new, row, first)
            finish(network, state, new, row + one, second)

    return step


_step_near, _step_far = _stepping(0), _stepping(AHEAD)


@inner
def _step(network, state, new):
    """Advance all neurons of one block by one step, from `state` to `new`."""
    if 2 * state.values.nbytes > FAR:
        _step_far(network, state, new)
    else:
        _step_near(network, state, new)


@inner
def _keep(network, state, first, kept, out):
    """Write a block's states to out[first:, kept], squares of eight neurons and episodes at a time.

    Further columns of `out`, which is in C order, are left alone.
    """
    (n_episodes, n_kept, n_columns), n_neurons = out.shape, len(network.places)
    n_lanes, apart, eight = min(state.values.shape[1], n_episodes - first), uintp(n_kept * n_columns), uintp(8)
    n_whole, n_square = uintp(n_neurons // 8 * 8), uintp(n_lanes // 8 * 8)
    start = uintp(first) * apart + uintp(kept * n_columns)
    for neuron in range(uintp(0), n_whole, eight):
        for lane in range(uintp(0), n_square, eight):
            copy_turned(state, network.places, neuron, lane, out, start + lane * apart + neuron, apart)
    for lane in range(uintp(n_lanes)):
        row = out[uintp(first) + lane, uintp(kept)]
        for neuron in range(n_whole if lane < n_square else uintp(0), uintp(n_neurons)):
            row[neuron] = state.values[uintp(item(network.places, neuron)), lane]


@inner
def _overflow(state, n_rows):
    """Tell whether any lane of any of the rows is not finite: v - v is 0 for finite v, else NaN. Overwrites row 0."""
    total = lanes_like(state, np.float32(0))
    for row in range(uintp(n_rows)):
        v = load(state, row)
        total = total + (v - v)
    store(state, uintp(0), total)
    return not np.isfinite(state.values[0].sum())


@inner
def _rest(network, episodes, work, first):
    """Bring a block to rest, with ones where the bias comes from; tell whether some episodes begin later."""
    constant = len(work.state.values) - network.biased
    work.state.values[:constant] = np.float32(0)
    for state in (work.state, work.new):
        state.values[constant:] = np.float32(1)
    late = False
    for start in episodes.starts[first : first + work.state.values.shape[1]]:
        late = late or start > 0
    return late


@inner
def _begins(episodes, first, lane, step):
    """Tell whether the episode of this lane begins at this step; lanes beyond the last episode never do."""
    return first + lane < len(episodes.starts) and episodes.starts[first + lane] == step


@kernel
def simulate(network, episodes, work, out):
    """Run `Episodes` through a `Network` from rest; return False if a state overflowed.

    The states after each of the last `n_last` steps go to `out`, shape (n_episodes, n_last, n_neurons). `work` is for
    this number of rows and channels; the number of lanes in its rows is the size of a block.
    """
    (n_episodes, n_last, _), n_rows = out.shape, len(network.leaks)
    n_steps, width = episodes.shown.shape[1] * episodes.steps, work.state.values.shape[1]
    for first in range(0, n_episodes, width):
        state, new = work.state, work.new
        k0, k1 = load_keys(episodes.keys, first, work.words)
        late = _rest(network, episodes, work, first)
        for step in range(n_steps):
            if late and step > 0:
                for lane in range(width):
                    if _begins(episodes, first, lane, step):
                        state.values[:n_rows, lane] = np.float32(0)
            write_columns(network.taps, episodes, work, k0, k1, first, step, state, uintp(n_rows))
            _step(network, state, new)
            state, new = new, state
            kept = step - (n_steps - n_last)
            if kept >= 0:
                _keep(network, state, first, kept, out)
        if _overflow(state, n_rows):
            return False
    return True


@njit
def _due(times, first, step, done, lanes):
    """Return the lanes for which this step is the next of their times; `done` is how many of each lane are over."""
    n_episodes, n_times = times.shape
    n = 0
    for lane in range(min(len(done), n_episodes - first)):
        if done[lane] < n_times and times[first + lane, done[lane]] == step:
            lanes[n] = lane
            n += 1
    return lanes[:n]


@inner
def _keep_times(network, state, first, done, lanes, out):
    """Write the states of lanes that are due to `out`."""
    for start in range(0, out.shape[2], 16):
        for lane in lanes:
            row = out[first + lane, done[lane]]
            for neuron in range(start, min(start + 16, out.shape[2])):
                row[neuron] = state[network.places[neuron], lane]
    for lane in lanes:
        done[lane] += 1


@inner
def _keep_sums(network, pool, first, n_times, n_sums, done, lanes, out):
    """Write the sums of lanes whose stretches end to `out`, behind the states at `n_times` times."""
    for start in range(0, out.shape[2], 16):
        stop = min(start + 16, out.shape[2])
        for lane in lanes:
            place = n_times + done[lane] * n_sums
            pooling.move_out(pool, network.places, lane, start, stop, out[first + lane, place : place + n_sums])
    for lane in lanes:
        done[lane] += 1


@inner
def _begin_late(episodes, first, step, state, n_rows, pool):
    """Bring lanes to rest whose episodes begin at this step."""
    for lane in range(state.values.shape[1]):
        if _begins(episodes, first, lane, step):
            state.values[:n_rows, lane] = np.float32(0)
            pooling.empty_lane(pool, lane)


@inner
def _take(pool, before, state, n_rows, waiting, alone):
    """Take states into the sums; return how many: this and the one before if that is `waiting`, else this or none."""
    if waiting:
        pooling.add_two(pool, before, state, n_rows)
        return 2
    if alone:
        pooling.add(pool, state, n_rows)
        return 1
    return 0


@kernel
def simulate_pooled(network, episodes, work, pool, times, ends, out):
    """Do the same as `simulate`, but keep states at chosen times and sums over stretches of an episode.

    `times`, shape (n_episodes, n_times), are the steps after which states are kept, in order, counted as those of
    `episodes`; `ends`, shape (n_episodes, n_stretches), those with which stretches end, the last of them the last.
    `out` has shape (n_episodes, n_times + n_stretches n_sums, n_neurons).
    """
    (n_episodes, n_kept, _), n_times, n_rows = out.shape, times.shape[1], len(network.leaks)
    n_steps, width = episodes.shown.shape[1] * episodes.steps, work.state.values.shape[1]
    n_sums = (n_kept - n_times) // ends.shape[1]
    done, ended, lanes = np.empty(width, np.intp), np.empty(width, np.intp), np.empty(width, np.intp)
    for first in range(0, n_episodes, width):
        state, new = work.state, work.new
        k0, k1 = load_keys(episodes.keys, first, work.words)
        late = _rest(network, episodes, work, first)
        begun = episodes.starts[first : first + width].max()
        pooling.empty(pool)
        done[:], ended[:], taken, counted = 0, 0, 1, 0
        for step in range(n_steps):
            if late and 0 < step <= begun:
                _begin_late(episodes, first, step, state, n_rows, pool)
            write_columns(network.taps, episodes, work, k0, k1, first, step, state, uintp(n_rows))
            _step(network, state, new)
            state, new = new, state
            ending = _due(ends, first, step, ended, lanes)
            taken = _take(pool, new, state, n_rows, taken == 0, step < begun or len(ending) > 0)
            counted += taken
            if counted >= FULL:
                pooling.settle(pool)
                counted = 0
            while len(ending) > 0:
                _keep_sums(network, pool, first, n_times, n_sums, ended, ending, out)
                ending = _due(ends, first, step, ended, lanes)
            keeping = _due(times, first, step, done, lanes)
            while len(keeping) > 0:
                _keep_times(network, state.values, first, done, keeping, out)
                keeping = _due(times, first, step, done, lanes)
        if _overflow(state, n_rows):
            return False
    return True
