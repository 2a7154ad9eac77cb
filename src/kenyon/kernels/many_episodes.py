"""The kernel for many episodes: a sparse matrix times a block of episodes, fused with noise, activation and leak.

    V(t+1) = (1-a) V(t) + a f[ W_in s(t) + rho W V(t) + b ]

Lanes are episodes. The state of a block is an array (n_rows, n_lanes): a row per neuron and, below, one for each thing
that they hear: input channels or, with delays, columns (see `inputs`), and a row of ones if there is a bias. So
[rho W | W_in | b] is one sparse matrix: each of its nonzeros is one broadcast and one multiply-add of all lanes, and
one pass over it serves a whole block. A single episode would leave most lanes idle: see `one_episode`.

Neurons are advanced in the order of their number of connections, so that neighbours have equally many and the processor
can foresee where a sum ends; two at a time, since each addition to a sum waits for the one before. Rows of a state too
large for the nearer caches are asked for some connections ahead.

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
from kenyon.kernels.lanes import Rows, fma, item, lanes_like, load, prefetch, store
from kenyon.kernels.neurons import Relu, Tanh, advanced
from kenyon.kernels.pooling import FULL, Kept, Pool

AHEAD = 16  # connections: about one neuron's
FAR = 2**21  # bytes of a block's states, beyond which rows are asked for ahead; if they are near, it only costs time


class Network(NamedTuple):
    """[rho W | W_in | b] as compressed sparse rows, what W_in hears, and what neurons do with it.

    Neurons are sorted by their number of connections; rows of the state are not.
    """

    order: NDArray[np.uint32]  # (n_neurons,): the neuron at each place of the following
    row_ends: NDArray[np.uint32]  # (n_neurons,): where each neuron's connections end; the next one's begin there
    columns: NDArray[np.uint32]  # (n_connections + AHEAD,): the row of the state that a connection comes from
    weights: NDArray[np.float32]  # (n_connections,)
    leaks: NDArray[np.float32]  # (n_neurons,)
    activation: Relu | Tanh
    taps: Taps
    biased: bool  # whether there is b


def network(
    weights: sparse.csr_array, leaks: NDArray[np.float32], activation: Relu | Tanh, delays: Taps, biased: bool
) -> Network:
    """Return [rho W | W_in | b], shape (n_neurons, n_rows), as the kernel takes it."""
    order = np.argsort(np.diff(weights.indptr), kind="stable")
    laid = weights[order]
    ends, columns = laid.indptr[1:].astype(np.uint32), np.pad(laid.indices, (0, AHEAD)).astype(np.uint32)
    own = laid.data.astype(np.float32), leaks[order]
    return Network(order.astype(np.uint32), ends, columns, *own, activation, delays, biased)


def pool_for(kept: Kept, rows: type[Rows]) -> Pool:
    """Return an empty pool for blocks of as many episodes as a row has lanes."""
    return pooling.pool_of(kept, rows, kept.levels.shape[1], np.ascontiguousarray(kept.levels.T).ravel())


def _stepping(ahead: int) -> Any:
    """Make the function that advances a block by one step, and asks for rows so many connections ahead if not 0."""

    @inner
    def hear(network, state, k, drive):
        if ahead > 0:
            prefetch(state, uintp(item(network.columns, k + uintp(ahead))))
        return fma(item(network.weights, k), load(state, uintp(item(network.columns, k))), drive)

    @inner
    def finish(network, state, new, place, drive):
        neuron = uintp(item(network.order, place))
        store(new, neuron, advanced(network.activation, drive, item(network.leaks, place), load(state, neuron)))

    @inner
    def step(network, state, new):
        n, k, place = uintp(len(network.order)), uintp(0), uintp(0)
        while place + uintp(1) < n:
            end, last = uintp(item(network.row_ends, place)), uintp(item(network.row_ends, place + uintp(1)))
            one, other, j = lanes_like(state, np.float32(0)), lanes_like(state, np.float32(0)), end
            while k < end:
                one, other = hear(network, state, k, one), hear(network, state, j, other)
                k += uintp(1)
                j += uintp(1)
            while j < last:
                other = hear(network, state, j, other)
                j += uintp(1)
            finish(network, state, new, place, one)
            finish(network, state, new, place + uintp(1), other)
            k = last
            place += uintp(2)
        if place < n:
            drive = lanes_like(state, np.float32(0))
            while k < uintp(item(network.row_ends, place)):
                drive = hear(network, state, k, drive)
                k += uintp(1)
            finish(network, state, new, place, drive)

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
def _keep(state, first, kept, out):
    """Write a block's states to out[first:, kept], sixteen neurons at a time to stay within the nearest cache."""
    n_episodes, _, n_neurons = out.shape
    for start in range(0, n_neurons, 16):
        neurons = range(uintp(start), uintp(min(start + 16, n_neurons)))
        for lane in range(uintp(min(state.shape[1], n_episodes - first))):
            row = out[uintp(first) + lane, uintp(kept)]
            for neuron in neurons:
                row[neuron] = state[neuron, lane]


@inner
def _overflow(state, n_neurons):
    """Tell whether any lane of any neuron is not finite: v - v is 0 for finite v, else NaN. Overwrites row 0."""
    total = lanes_like(state, np.float32(0))
    for neuron in range(uintp(n_neurons)):
        v = load(state, neuron)
        total = total + (v - v)
    store(state, uintp(0), total)
    return not np.isfinite(state.values[0].sum())


@inner
def _rest(network, episodes, work, first):
    """Bring a block to rest, with ones where the bias comes from; tell whether some episodes begin later."""
    n_columns = len(network.taps.offsets)
    constant = len(network.order) + (n_columns if n_columns else len(work.clean.values))
    for state in (work.state, work.new):
        state.values[:constant] = np.float32(0)
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
    n_episodes, n_last, n_neurons = out.shape
    n_steps, width = episodes.shown.shape[1] * episodes.steps, work.state.values.shape[1]
    state, new = work.state, work.new
    for first in range(0, n_episodes, width):
        k0, k1 = load_keys(episodes.keys, first, work.words)
        late = _rest(network, episodes, work, first)
        for step in range(n_steps):
            if late and step > 0:
                for lane in range(width):
                    if _begins(episodes, first, lane, step):
                        state.values[:n_neurons, lane] = np.float32(0)
            write_columns(network.taps, episodes, work, k0, k1, first, step, state, uintp(n_neurons))
            _step(network, state, new)
            state, new = new, state
            kept = step - (n_steps - n_last)
            if kept >= 0:
                _keep(state.values, first, kept, out)
        if _overflow(state, n_neurons):
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
def _keep_times(state, first, done, lanes, out):
    """Write the states of lanes that are due to `out`."""
    for start in range(0, out.shape[2], 16):
        for lane in lanes:
            row = out[first + lane, done[lane]]
            for neuron in range(start, min(start + 16, out.shape[2])):
                row[neuron] = state[neuron, lane]
    for lane in lanes:
        done[lane] += 1


@inner
def _keep_sums(pool, first, n_times, n_sums, done, lanes, out):
    """Write the sums of lanes whose stretches end to `out`, behind the states at `n_times` times."""
    for start in range(0, out.shape[2], 16):
        stop = min(start + 16, out.shape[2])
        for lane in lanes:
            place = n_times + done[lane] * n_sums
            pooling.move_out(pool, lane, start, stop, out[first + lane, place : place + n_sums])
    for lane in lanes:
        done[lane] += 1


@inner
def _begin_late(episodes, first, step, state, n_neurons, pool):
    """Bring lanes to rest whose episodes begin at this step."""
    for lane in range(state.values.shape[1]):
        if _begins(episodes, first, lane, step):
            state.values[:n_neurons, lane] = np.float32(0)
            pooling.empty_lane(pool, lane)


@inner
def _take(pool, before, state, n_neurons, waiting, alone):
    """Take states into the sums; return how many: this and the one before if that is `waiting`, else this or none."""
    if waiting:
        pooling.add_two(pool, before, state, n_neurons)
        return 2
    if alone:
        pooling.add(pool, state, n_neurons)
        return 1
    return 0


@kernel
def simulate_pooled(network, episodes, work, pool, times, ends, out):
    """Do the same as `simulate`, but keep states at chosen times and sums over stretches of an episode.

    `times`, shape (n_episodes, n_times), are the steps after which states are kept, in order, counted as those of
    `episodes`; `ends`, shape (n_episodes, n_stretches), those with which stretches end, the last of them the last.
    `out` has shape (n_episodes, n_times + n_stretches n_sums, n_neurons).
    """
    (n_episodes, n_kept, n_neurons), n_times = out.shape, times.shape[1]
    n_steps, width = episodes.shown.shape[1] * episodes.steps, work.state.values.shape[1]
    n_sums = (n_kept - n_times) // ends.shape[1]
    done, ended, lanes = np.empty(width, np.intp), np.empty(width, np.intp), np.empty(width, np.intp)
    state, new = work.state, work.new
    for first in range(0, n_episodes, width):
        k0, k1 = load_keys(episodes.keys, first, work.words)
        late = _rest(network, episodes, work, first)
        begun = episodes.starts[first : first + width].max()
        pooling.empty(pool)
        done[:], ended[:], taken, counted = 0, 0, 1, 0
        for step in range(n_steps):
            if late and 0 < step <= begun:
                _begin_late(episodes, first, step, state, n_neurons, pool)
            write_columns(network.taps, episodes, work, k0, k1, first, step, state, uintp(n_neurons))
            _step(network, state, new)
            state, new = new, state
            ending = _due(ends, first, step, ended, lanes)
            taken = _take(pool, new, state, n_neurons, taken == 0, step < begun or len(ending) > 0)
            counted += taken
            if counted >= FULL:
                pooling.settle(pool)
                counted = 0
            while len(ending) > 0:
                _keep_sums(pool, first, n_times, n_sums, ended, ending, out)
                ending = _due(ends, first, step, ended, lanes)
            keeping = _due(times, first, step, done, lanes)
            while len(keeping) > 0:
                _keep_times(state.values, first, done, keeping, out)
                keeping = _due(times, first, step, done, lanes)
        if _overflow(state, n_neurons):
            return False
    return True
