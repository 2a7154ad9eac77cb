"""What a block of episodes is shown, step by step, in lanes.

s_i(t) = s_i (1 + sigma xi_i(t))
"""

from typing import NamedTuple

import numpy as np
from numba import njit, uintp
from numpy.typing import NDArray

from kenyon._noise import normal_pair
from kenyon._simd import LANES, fma, lanes_of, load, store, words_of


class Episodes(NamedTuple):
    """What a block of episodes is shown.

    Episode k shows rows shown[k, 0], shown[k, 1], ... of `table` for `steps` steps each, channel i at step t
    multiplied by 1 + noise xi_i(t), xi drawn with the episode's own key.
    """

    table: NDArray[np.float32]  # (n_patterns, n_channels)
    shown: NDArray[np.intp]  # (n_episodes, n_elements)
    steps: int
    noise: np.float32
    keys: NDArray[np.uint32]  # (n_episodes, 2)


@njit
def _show(table, shown, element, first, clean):
    """Lay out what each lane is shown, channel by channel; lanes past the last episode repeat it."""
    last = len(shown) - 1
    for lane in range(LANES):
        row = shown[min(first + lane, last), element]
        for channel in range(table.shape[1]):
            clean[channel, lane] = table[row, channel]


@njit
def load_keys(keys, first, lanes):
    """Return the keys of a block, a lane per episode; lanes past the last episode repeat it."""
    last = len(keys) - 1
    for lane in range(LANES):
        row = min(first + lane, last)
        lanes[0, lane], lanes[1, lane] = keys[row, 0], keys[row, 1]
    return load(lanes, uintp(0)), load(lanes, uintp(1))


@njit
def _add_noise(clean, sigma, k0, k1, step, inputs, first_row):
    """Write s = clean (1 + sigma xi) of one step to rows `first_row` and on of `inputs`."""
    n_channels = uintp(len(clean))
    deviation = lanes_of(np.float32(sigma))
    for pair in range((n_channels + uintp(1)) // uintp(2)):
        z0, z1 = normal_pair(k0, k1, words_of(np.uint32(step)), words_of(np.uint32(pair)))
        channel = uintp(2) * uintp(pair)
        s = load(clean, channel)
        store(inputs, first_row + channel, fma(s * deviation, z0, s))
        if channel + uintp(1) < n_channels:
            s = load(clean, channel + uintp(1))
            store(inputs, first_row + channel + uintp(1), fma(s * deviation, z1, s))


@njit
def write_input(episodes, clean, k0, k1, first, step, state, row):
    """Write s(t) of this block to rows `row` and on of `state`."""
    if step % episodes.steps == 0:
        _show(episodes.table, episodes.shown, step // episodes.steps, first, clean)
    if episodes.noise > 0:
        _add_noise(clean, episodes.noise, k0, k1, step, state, row)
    else:
        for channel in range(uintp(len(clean))):
            store(state, row + uintp(channel), load(clean, uintp(channel)))


@njit(nogil=True, cache=True)
def trace(episodes, inputs, clean, out):
    """Write what the episodes' input channels receive to `out`, shape (n_episodes, n_steps, n_channels).

    `inputs` and `clean` are work space of (n_channels, LANES).
    """
    n_episodes, n_steps, n_channels = out.shape
    words = np.empty((2, LANES), np.uint32)
    for first in range(0, n_episodes, LANES):
        k0, k1 = load_keys(episodes.keys, first, words)
        for step in range(n_steps):
            write_input(episodes, clean, k0, k1, first, step, inputs, uintp(0))
            for lane in range(min(LANES, n_episodes - first)):
                for channel in range(n_channels):
                    out[first + lane, step, channel] = inputs[channel, lane]
