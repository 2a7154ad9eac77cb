"""What is kept of a neuron's states over a whole episode: their sum, how often and by how much they exceeded levels.

A neuron has `n_levels` levels, at which two things may be accumulated: the number of steps on which V was above, and
the sum of relu(V - level). Rows of lanes are counted as states are, with the levels of a neuron one after another.
Counts are bytes, a quarter of the memory to go through at every step; before one can overflow they are added to
`totals`. Sums run over steps in order, so they are the same to the bit in whatever lane and kernel.

An episode may be cut into stretches: at the end of each, sums are moved out and begin anew.
"""

from typing import NamedTuple

import numpy as np
from numba import types, uintp
from numba.extending import overload
from numpy.typing import NDArray

from kenyon.kernels.cache import inner
from kenyon.kernels.lanes import WIDTHS, Rows, Rows8, aligned, count_above, item, load, place_of_count, relu, store

_place = inner(place_of_count)
FULL = 254  # steps to be counted in a byte: up to one more may be


class Kept(NamedTuple):
    """What to keep of each neuron."""

    mean: bool  # the sum of its states
    activity: bool  # the number of steps above each level
    excess: bool  # the sum of what is above each level
    levels: NDArray[np.float32]  # (n_levels, n_neurons)
    n_stretches: int = 1  # of equal length

    @property
    def n_sums(self) -> int:
        """How many numbers that is, in all stretches."""
        return self.n_stretches * (self.mean + (self.activity + self.excess) * len(self.levels))


def spaced(lengths: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """Return k equally spaced steps of series of these lengths, the last of them their last; shape (n, k)."""
    return np.asarray(np.maximum(np.arange(1, k + 1) * lengths[:, None] // k - 1, 0))


class Pool(NamedTuple):
    """Sums of a block of episodes, or of one."""

    n_levels: int
    mean: bool
    activity: bool
    excess: bool
    levels: NDArray[np.float32] | Rows8  # (n_neurons n_levels,): a number for all episodes; or lanes of neurons
    sums: Rows
    counts: Rows  # of bytes
    totals: NDArray[np.uint32]  # as counts
    over: Rows


def pool_of(kept: Kept, rows: type[Rows], n_rows: int, levels: NDArray[np.float32] | Rows8) -> Pool:
    """Return an empty pool for `n_rows` rows of states, and levels laid out for them."""
    width, n_levels = WIDTHS[rows], len(kept.levels)
    n_counts, n_over = n_rows * n_levels * kept.activity, n_rows * n_levels * kept.excess
    counts, totals = np.zeros((n_counts, width), np.uint8), np.zeros((n_counts, width), np.uint32)
    sums, over = rows(aligned(n_rows * kept.mean, width)), rows(aligned(n_over, width))
    return Pool(n_levels, kept.mean, kept.activity, kept.excess, levels, sums, rows(counts), totals, over)


def _level(levels, row):
    """Return level number `row`: of all lanes, or of each."""
    raise NotImplementedError  # compiled code only


@overload(_level)
def _level_of(levels, row):
    if isinstance(levels, types.Array):
        return lambda levels, row: item(levels, row)
    return lambda levels, row: load(levels, row)


@inner
def add(pool, state, n_rows):
    """Take the states after a step: a pass for each kind of sum, since one for all spills registers."""
    n_levels = uintp(pool.n_levels)
    if pool.mean:
        for row in range(uintp(n_rows)):
            store(pool.sums, row, load(pool.sums, row) + load(state, row))
    if pool.activity:
        for row in range(uintp(n_rows)):
            V = load(state, row)
            for k in range(row * n_levels, row * n_levels + n_levels):
                level = _level(pool.levels, uintp(k))
                store(pool.counts, uintp(k), count_above(load(pool.counts, uintp(k)), V, level))
    if pool.excess:
        for row in range(uintp(n_rows)):
            V = load(state, row)
            for k in range(row * n_levels, row * n_levels + n_levels):
                level = _level(pool.levels, uintp(k))
                store(pool.over, uintp(k), load(pool.over, uintp(k)) + relu(V - level))


@inner
def add_two(pool, before, state, n_rows):
    """Take the states after two steps, going through the sums once instead of twice; the same to the bit."""
    n_levels = uintp(pool.n_levels)
    if pool.mean:
        for row in range(uintp(n_rows)):
            store(pool.sums, row, load(pool.sums, row) + load(before, row) + load(state, row))
    if pool.activity:
        for row in range(uintp(n_rows)):
            U, V = load(before, row), load(state, row)
            for k in range(row * n_levels, row * n_levels + n_levels):
                level = _level(pool.levels, uintp(k))
                counts = count_above(load(pool.counts, uintp(k)), U, level)
                store(pool.counts, uintp(k), count_above(counts, V, level))
    if pool.excess:
        for row in range(uintp(n_rows)):
            U, V = load(before, row), load(state, row)
            for k in range(row * n_levels, row * n_levels + n_levels):
                level = _level(pool.levels, uintp(k))
                store(pool.over, uintp(k), load(pool.over, uintp(k)) + relu(U - level) + relu(V - level))


@inner
def move_out(pool, rows, lane, first, last, out):
    """Write the sums of a lane for neurons from `first` up to `last` to `out`, shape (n_sums, n_neurons); begin anew.

    rows    (n_neurons,): the row of each neuron
    """
    n_levels, place = uintp(pool.n_levels), uintp(0)
    neurons, lane = range(uintp(first), uintp(last)), uintp(lane)
    if pool.mean:
        for neuron in neurons:
            row = uintp(item(rows, neuron))
            out[place, neuron], pool.sums.values[row, lane] = pool.sums.values[row, lane], np.float32(0)
        place += uintp(1)
    if pool.activity:
        column = uintp(_place(lane, uintp(pool.totals.shape[1])))
        for level in range(n_levels):
            for neuron in neurons:
                k = uintp(item(rows, neuron)) * n_levels + level
                out[place, neuron] = pool.totals[k, lane] + np.uint32(pool.counts.values[k, column])
                pool.totals[k, lane], pool.counts.values[k, column] = np.uint32(0), np.uint8(0)
            place += uintp(1)
    if pool.excess:
        for level in range(n_levels):
            for neuron in neurons:
                k = uintp(item(rows, neuron)) * n_levels + level
                out[place, neuron], pool.over.values[k, lane] = pool.over.values[k, lane], np.float32(0)
            place += uintp(1)


@inner
def empty(pool):
    """Begin anew."""
    pool.sums.values[:] = np.float32(0)
    pool.over.values[:] = np.float32(0)
    pool.counts.values[:] = np.uint8(0)
    pool.totals[:] = np.uint32(0)


@inner
def empty_lane(pool, lane):
    """Begin anew in one lane."""
    pool.sums.values[:, lane] = np.float32(0)
    pool.over.values[:, lane] = np.float32(0)
    pool.counts.values[:, _place(lane, pool.counts.values.shape[1])] = np.uint8(0)
    pool.totals[:, lane] = np.uint32(0)


@inner
def settle(pool):
    """Add what was counted to the totals."""
    counts, width = pool.counts.values, uintp(pool.totals.shape[1])
    for row in range(len(counts)):
        for lane in range(width):
            pool.totals[row, lane] += np.uint32(counts[row, uintp(_place(lane, width))])
        counts[row] = np.uint8(0)
