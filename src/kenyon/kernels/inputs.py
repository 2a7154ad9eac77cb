"""The input of a block of episodes, step by step, in lanes.

    s_i(t) = s_i (1 + sigma xi_i(t))

with a xi for each channel i, or with that of the first channel for all. A block is as many episodes as there are lanes,
and `first` is the number of its first episode. Lanes beyond the last episode repeat it, and nobody reads them. `k0` and
`k1` are the two words of each lane's noise key.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, uintp
from numpy.typing import NDArray

from kenyon.kernels.cache import kernel
from kenyon.kernels.lanes import WIDTHS, Rows, aligned, fma, load, store
from kenyon.kernels.noise import normal_pair


class Work(NamedTuple):
    """Work space for a block of episodes; rows have a lane per episode."""

    state: Rows  # a row per neuron, then one per channel
    new: Rows  # the state after the step
    clean: Rows  # a row per channel: the input without noise
    words: Rows  # two rows: the noise keys


class Episodes(NamedTuple):
    """The input of episodes.

    Episode k shows rows shown[k, 0], shown[k, 1], ... of `table` for `steps` steps each. Channel i at step t is
    multiplied by 1 + noise xi_i(t), xi drawn with the episode's own key; if `common`, by 1 + noise xi_0(t).
    """

    table: NDArray[np.float32]  # (n_patterns, n_channels)
    shown: NDArray[np.intp]  # (n_episodes, n_elements)
    steps: int
    noise: np.float32
    common: bool
    keys: NDArray[np.uint32]  # (n_episodes, 2)


def work_space(rows: type[Rows], n_neurons: int, n_channels: int) -> Work:
    """Return work space for blocks of as many episodes as a row of this type has lanes."""
    width, n_rows = WIDTHS[rows], n_neurons + n_channels
    state, new, clean = (rows(aligned(n, width)) for n in (n_rows, n_rows, n_channels))
    return Work(state, new, clean, rows(np.empty((2, width), np.uint32)))


@njit
def _show(table, shown, element, first, clean):
    """Write element number `element` of each lane's episode to `clean`, shape (n_channels, n_lanes)."""
    last = len(shown) - 1
    for lane in range(clean.shape[1]):
        row = shown[min(first + lane, last), element]
        for channel in range(table.shape[1]):
            clean[channel, lane] = table[row, channel]


@njit
def load_keys(keys, first, words):
    """Return k0 and k1 of a block, given the keys of all episodes, shape (n_episodes, 2); `words` is work space."""
    last = len(keys) - 1
    for lane in range(words.values.shape[1]):
        row = min(first + lane, last)
        words.values[0, lane], words.values[1, lane] = keys[row, 0], keys[row, 1]
    return load(words, uintp(0)), load(words, uintp(1))


@njit
def _add_noise(clean, sigma, k0, k1, step, inputs, first_row):
    """Write s = clean (1 + sigma xi) of one step to `inputs`, from row `first_row` on."""
    n_channels = uintp(len(clean.values))
    for pair in range((n_channels + uintp(1)) // uintp(2)):
        z0, z1 = normal_pair(k0, k1, np.uint32(step), np.uint32(pair))
        channel = uintp(2) * uintp(pair)
        s = load(clean, channel)
        store(inputs, first_row + channel, fma(s * sigma, z0, s))
        if channel + uintp(1) < n_channels:
            s = load(clean, channel + uintp(1))
            store(inputs, first_row + channel + uintp(1), fma(s * sigma, z1, s))


@njit
def _add_common_noise(clean, sigma, k0, k1, step, inputs, first_row):
    """Do the same with one xi for all channels."""
    xi, _ = normal_pair(k0, k1, np.uint32(step), np.uint32(0))
    for channel in range(uintp(len(clean.values))):
        s = load(clean, uintp(channel))
        store(inputs, first_row + uintp(channel), fma(s * sigma, xi, s))


@njit
def write_input(episodes, clean, k0, k1, first, step, state, row):
    """Write s(t) of a block at t = `step` to `state`, from row `row` on; `clean` carries over from step to step."""
    if step % episodes.steps == 0:
        _show(episodes.table, episodes.shown, step // episodes.steps, first, clean.values)
    if episodes.noise > 0 and episodes.common:
        _add_common_noise(clean, episodes.noise, k0, k1, step, state, row)
    elif episodes.noise > 0:
        _add_noise(clean, episodes.noise, k0, k1, step, state, row)
    else:
        for channel in range(uintp(len(clean.values))):
            store(state, row + uintp(channel), load(clean, uintp(channel)))


@kernel
def trace(episodes, work, out):
    """Write the input of `Episodes` to `out`, shape (n_episodes, n_steps, n_channels); `work` needs no neurons."""
    n_episodes, n_steps, n_channels = out.shape
    inputs, width = work.state.values, work.state.values.shape[1]
    for first in range(0, n_episodes, width):
        k0, k1 = load_keys(episodes.keys, first, work.words)
        for step in range(n_steps):
            write_input(episodes, work.clean, k0, k1, first, step, work.state, uintp(0))
            for lane in range(min(width, n_episodes - first)):
                for channel in range(n_channels):
                    out[first + lane, step, channel] = inputs[channel, lane]
