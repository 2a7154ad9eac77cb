"""The kernels of streams as they are called for single rows, and learning for any number of them.

Most of the time of a call would go into telling Numba what named tuples are; these take plain ones instead.
"""

import numpy as np

from kenyon.kernels.cache import kernel
from kenyon.kernels.drift import Memory
from kenyon.kernels.learning import EpisodeLog, Networks, Step
from kenyon.kernels.reading import row_length_of
from kenyon.kernels.running import Moments, Percentiles
from kenyon.kernels.stream_steps import Aims, Plan
from kenyon.kernels.streams import (
    Following,
    RandomFeatures,
    input_factors,
    learn_rows,
    standardised,
    take_series,
)


@kernel
def standardised_row(moments, row, both_signs, random, constant, forgetting, gaps, takes, out):
    """Call `standardised`."""
    parts = RandomFeatures(*random)
    return standardised(Moments(*moments), row, both_signs, parts, constant, forgetting, gaps, takes, out)


@kernel
def shown_row(kind, moments, lows, highs, steps, forgetting, takes, largest, out):
    """Write scaled steps and a constant channel to `out`, taking them into the statistics first if asked.

    Return whether none is beyond the `largest` value.
    """
    own, low, high = Moments(*moments), Percentiles(*lows), Percentiles(*highs)
    if takes:
        take_series(kind, own, low, high, steps, forgetting)
    n_channels, factor, fits = steps.shape[1], np.empty(steps.shape[1]), True
    input_factors(kind, own, low, high, factor)
    for t in range(len(steps)):
        for i in range(n_channels):
            scaled = (steps[t, i] - own.mean[i]) * factor[i]
            fits = fits and abs(scaled) <= largest
            out[t, i] = np.float32(scaled)
        out[t, n_channels] = np.float32(1)
    return fits


@kernel
def learn_plain(
    plan,
    step,
    nets,
    counts,
    starts,
    moments,
    on,
    off,
    memory,
    factor,
    aims,
    V,
    labels,
    told,
    uniforms,
    temperatures,
    place,
    out,
    U,
):
    """Call `learn_rows`."""
    stream = Following(counts, starts, Moments(*moments), Percentiles(*on), Percentiles(*off), Memory(*memory))
    target_moments, shift, scale = aims
    own = Aims(Moments(*target_moments), shift, scale)
    networks, log = Networks(*nets), EpisodeLog(*out)
    return learn_rows(
        Plan(*plan), Step(*step), networks, stream, factor, own, V, labels, told, uniforms, temperatures, place, log, U
    )


@kernel
def outputs_row(thresholds, both, signed, W, theta, factor, V, y):
    """Write what a network says to a row of states, shape (1, n_states), to `y`, in double precision."""
    n_states, side = V.shape[1], row_length_of(V.shape[1])
    y[:] = 0.0
    for i in range(n_states):
        u = V[0, i] * factor[i]
        size = abs(u) if signed else u
        on = max(size - theta[0, i], np.float32(0)) if thresholds else u
        if signed and u < 0:
            on = -on
        off = max(-u - theta[0, side + i], np.float32(0)) if both else np.float32(0)
        if on != 0:
            for j in range(len(y)):
                y[j] += np.float64(on) * np.float64(W[0, j, i])
        if off != 0:
            for j in range(len(y)):
                y[j] += np.float64(off) * np.float64(W[0, j, side + i])
