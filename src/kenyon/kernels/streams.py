"""Learning from a stream: rows one after another, in units and from thresholds that follow what has been seen.

A row of features s becomes states V as the encoder says: standardised by the running moments, with both signs, and
expanded by random features V_j = relu(sum_i w_ji z_i + b_j). States become u = factor V, in the units that a readout
sees. Then `learn` takes its step, as it would from a batch.

Until a stream has settled, thresholds follow the percentiles that they start from: they are moved by as much as these
move, so what they have learned is kept. So do the sizes of steps, which depend on the mean and the largest |x|^2. With
the code "signed" percentiles are those of |V|.

Under a forgetting factor the stream is also watched for abrupt drifts (see `drift`).
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kenyon.kernels.cache import kernel
from kenyon.kernels.drift import Memory, watch
from kenyon.kernels.reading import row_length_of
from kenyon.kernels.running import Moments, Percentiles, last, percentile, take_moments, take_percentiles
from kenyon.kernels.stream_steps import DRIFTED, LARGEST, MEAN, N_COUNTS, ROWS, WEIGHT, cooled, scaled, take_step

LARGEST_VALUE = 1e100  # the square of such a value, summed over any number of rows, is finite
SETTLED = 1000  # rows after which thresholds and sizes follow no longer
CONSTANT, SMALLEST_SPREAD = 1e-12, 1e-150  # smaller spreads, relative to the mean or at all, are rounding errors
RARE = 0.25  # in standard deviations: with a smaller range in other series, a channel lives in the extreme ones
ALIKE = 1e-5  # relative to the root mean square: with a smaller deviation a state has never varied
PER_STATE, COMMON = 1, 2  # units of states: each its own deviation, or all their common root mean square


class RandomFeatures(NamedTuple):
    """Sparse random projections: V_j = relu(sum_c weight_jc z[source_jc] + bias_j)."""

    source: NDArray[np.intp]  # (n_random, n_sources)
    weight: NDArray[np.float32]  # (n_random, n_sources)
    bias: NDArray[np.float32]  # (n_random,)

    def check(self) -> None:
        """Refuse arrays that do not fit together."""
        fits = self.source.shape == self.weight.shape == (len(self.bias), self.source.shape[1])
        kinds = [np.dtype(part.dtype).str for part in self]
        if not fits or kinds != ["<i8", "<f4", "<f4"] or bool((self.source < 0).any()):
            raise ValueError("inconsistent random features")


class Following(NamedTuple):
    """What a stream has shown of its states. Kernels change it in place."""

    counts: NDArray[np.float64]  # (N_COUNTS,): rows, weight; while it settles, mean and largest |x|^2; for `watch`
    starts: NDArray[np.float32]  # (2, n_states): where thresholds of both sides start, in units; (2, 0): not followed
    moments: Moments  # of states, where units follow them; otherwise of none
    on: Percentiles  # of states, where thresholds start at a percentile; otherwise of none
    off: Percentiles  # the same for the other side
    memory: Memory

    def check(self) -> None:
        """Refuse arrays that do not fit together."""
        fits = self.counts.shape == (N_COUNTS,) and self.starts.ndim == 2 and len(self.starts) == 2
        fits = fits and self.counts.dtype == np.float64 and self.starts.dtype == np.float32
        if not fits or not bool(((self.counts >= 0) & (self.counts < np.inf)).all()):
            raise ValueError("inconsistent stream")


@kernel
def expand(states, n_features, both_signs, random, constant):
    """Complete rows of states that begin with standardised features: negatives, random features, a constant."""
    for n in range(len(states)):
        row, end = states[n], n_features
        if both_signs:
            for i in range(n_features):
                row[end + i] = -row[i]
            end += n_features
        for j in range(len(random.bias)):
            total = random.bias[j]
            for c in range(random.source.shape[1]):
                total += random.weight[j, c] * row[random.source[j, c]]
            row[end + j] = max(total, np.float32(0))
        if constant:
            row[end + len(random.bias)] = np.float32(1)


@kernel
def standardised(moments, rows, both_signs, random, constant, forgetting, gaps, takes, out):
    """Write the states of rows, shape (n, n_features), to `out`; return the number of the first row that cannot be.

    With `takes`, each row is taken into the moments first. With `gaps` values may be missing (NaN), as if at the mean.
    """
    n_features = rows.shape[1]
    for n in range(len(rows)):
        for i in range(n_features):
            if not abs(rows[n, i]) <= LARGEST_VALUE and not (gaps and np.isnan(rows[n, i])):
                return n
        if takes:
            take_moments(moments, rows[n : n + 1], forgetting)
        for i in range(n_features):
            mean, deviation = moments.mean[i], np.sqrt(moments.square[i] / max(moments.weight[i], 1.0))
            varies = deviation > max(CONSTANT * abs(mean), SMALLEST_SPREAD) and not np.isnan(rows[n, i])
            out[n, i] = np.float32((rows[n, i] - mean) * (1.0 / deviation)) if varies else np.float32(0)
        expand(out[n : n + 1], n_features, both_signs, random, constant)
    return len(rows)


@kernel
def take_series(kind, moments, lows, highs, steps, forgetting):
    """Take a series, shape (T, n_channels), into the statistics of channels; it is forgotten as a whole."""
    take_moments(moments, steps[:1], forgetting)
    take_moments(moments, steps[1:], 1.0)
    if kind == 0:
        smallest, largest = steps[:1].copy(), steps[:1].copy()
        for t in range(1, len(steps)):
            for i in range(steps.shape[1]):
                smallest[0, i], largest[0, i] = min(smallest[0, i], steps[t, i]), max(largest[0, i], steps[t, i])
        take_percentiles(lows, smallest)
        take_percentiles(highs, largest)


@kernel
def input_factors(kind, moments, lows, highs, factor):
    """Write the factors of input channels: by their "range" (0), by their deviation (1), or all alike (2).

    The range is that between percentiles of the extremes of series, `lows` and `highs`, unless a channel does little
    within it. Then all are divided by a common factor, so that the mean variance is 1.
    """
    total, n = 0.0, 0
    for i in range(len(factor)):
        deviation, factor[i] = np.sqrt(moments.square[i] / max(moments.weight[i], 1.0)), 0.0
        if deviation > max(CONSTANT * abs(moments.mean[i]), SMALLEST_SPREAD):
            size = deviation if kind == 1 else 1.0
            if kind == 0:
                size = percentile(highs, i) - percentile(lows, i)
                if size < RARE * deviation:
                    size = highs.heights[i, last(highs)] - lows.heights[i, 0]
            factor[i] = 1.0 / size
            total, n = total + (factor[i] * deviation) ** 2, n + 1
    if n > 0:
        common = np.sqrt(total / n)
        for i in range(len(factor)):
            factor[i] /= common


@njit
def _set_units(plan, moments, factor):
    """Write the units that the moments call for."""
    overall, n = 0.0, len(factor)
    for i in range(n):
        variance = moments.square[i] / max(moments.weight[i], 1.0)
        rms = np.sqrt(variance + moments.mean[i] ** 2)
        overall += rms * rms
        size = np.sqrt(variance)
        size = size if size > ALIKE * rms else rms
        if plan.units == PER_STATE:
            factor[i] = np.float32(1.0 / size) if size > 0 else np.float32(0)
    if plan.units == COMMON:
        factor[:] = np.float32(1.0 / np.sqrt(overall / n)) if overall > 0 else np.float32(1)


@njit
def _move_thresholds(theta, past, percentiles, sign, factor, starts, place):
    """Move the thresholds of one side, and those of the past, by as much as the percentiles that they start from."""
    for i in range(len(factor)):
        start = np.float32(sign * percentile(percentiles, i) * factor[i])
        theta[0, place + i] += start - starts[i]
        if len(past) > 0:
            past[0, place + i] += start - starts[i]
        starts[i] = start


@njit
def _follow_targets(plan, aims, told, nets, memory):
    """Take a row of targets into their moments, and let the weights keep what they say in the new unit."""
    take_moments(aims.moments, told, plan.forgetting)
    for j in range(len(aims.scale)):
        mean, old = aims.moments.mean[j], aims.scale[j]
        size = deviation = np.sqrt(aims.moments.square[j] / aims.moments.weight[j])
        if not deviation > max(CONSTANT * abs(mean), SMALLEST_SPREAD):
            size = 1.0 if mean == 0 else abs(mean)
        aims.shift[j], aims.scale[j] = mean, size
        for i in range(nets.W.shape[2]):
            nets.W[0, j, i] *= np.float32(old / size)
        for i in range(memory.W.shape[2]):
            memory.W[0, j, i] *= np.float32(old / size)


@njit
def _follow_states(plan, step, nets, stream, factor, V, settling, U):
    """Take a row of states, shape (1, n_states), into their statistics; units and thresholds follow."""
    if plan.follows and plan.units != 0:
        take_moments(stream.moments, V, plan.forgetting)
        _set_units(plan, stream.moments, factor)
    if settling and plan.moving:
        for i in range(V.shape[1]):
            U[0, i] = abs(V[0, i]) if step.signed else V[0, i]
        take_percentiles(stream.on, U)
        _move_thresholds(nets.theta, stream.memory.theta, stream.on, 1.0, factor, stream.starts[0], 0)
        if step.both:
            take_percentiles(stream.off, V)
            place = row_length_of(V.shape[1])
            _move_thresholds(nets.theta, stream.memory.theta, stream.off, -1.0, factor, stream.starts[1], place)


@njit(inline="always")  # otherwise it is compiled again with all that it calls
def learn_rows(plan, step, nets, stream, factor, aims, V, labels, told, uniforms, temperatures, n_in_batch, out, U):
    """Let a network learn from rows of states in order; return how many it took before its cost was not finite.

    stream      a `Following`, changed in place
    factor      (n_states,): units of the states, changed in place where they follow
    aims, told  how targets are scaled, and targets as they came, shape (n, n_outputs); (n, 0) where classes are
    U           work space, shape (1, n_states)
    others      as in `learn_all`, which takes the steps
    """
    counts = stream.counts
    for n in range(len(V)):
        settling = plan.follows and counts[ROWS] < SETTLED
        _follow_states(plan, step, nets, stream, factor, V[n : n + 1], settling, U)
        if step.regression and len(aims.moments.mean) > 0 and (settling or plan.forgetting < 1.0):
            _follow_targets(plan, aims, told[n : n + 1], nets, stream.memory)
        label, uniform, temperature = labels[n : n + 1], uniforms[n : n + 1], temperatures[n : n + 1]
        targets, heat = scaled(step, nets, aims, told[n]), cooled(plan, counts)
        if counts[DRIFTED] > 0 and step.batch == 1:
            heat = 0.0  # the row is learned by `watch`
        take_step(
            plan, step, nets, counts, factor, V[n], label, targets, uniform, temperature, heat, n_in_batch, out, n, U
        )
        n_in_batch = (n_in_batch + 1) % step.batch
        if not np.isfinite(out.cost[0, n]):
            return n
        counts[ROWS] += 1.0
        counts[WEIGHT] = plan.forgetting * counts[WEIGHT] + 1.0
        size = np.float64(out.norm2[0, n])
        if plan.forgetting < 1.0:
            row = V[n], label, told[n], np.float64(out.cost[0, n]), size
            watch(plan, step, nets, counts, stream.memory, factor, aims, row, U)
        if settling:
            counts[MEAN] += (size - counts[MEAN]) / counts[ROWS]
            counts[LARGEST] = max(counts[LARGEST], size)
    return len(V)
