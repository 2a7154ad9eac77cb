"""The input of a block of episodes, step by step, in lanes.

    s_i(t) = s_i (1 + sigma xi_i(t))

with a xi for each channel i, or with that of the first channel for all. A block is as many episodes as there are lanes,
and `first` is the number of its first episode. Lanes beyond the last episode repeat it, and nobody reads them. `k0` and
`k1` are the two words of each lane's noise key.

With delays, neurons hear columns: a channel some steps ago or, if taps are centred, some steps ahead. Inputs of a block
are then kept in a ring of as many steps as delays reach over, and at every step each column is copied from there.
Before the first step and after the last all channels are 0.
"""

from typing import NamedTuple

import numpy as np
from numba import uintp
from numpy.typing import NDArray

from kenyon.kernels.cache import inner, kernel
from kenyon.kernels.lanes import WIDTHS, Rows, aligned, fma, load, store
from kenyon.kernels.noise import normal_pair


class Work(NamedTuple):
    """Work space for a block of episodes; rows have a lane per episode."""

    state: Rows  # a row per neuron, then one per channel
    new: Rows  # the state after the step
    clean: Rows  # a row per channel: the input without noise
    words: Rows  # two rows: the noise keys
    history: Rows  # with delays: a row per channel for each step of the ring


class Taps(NamedTuple):
    """What neurons hear with delays: channel channels[j] at step t + offsets[j]. Without delays, no columns."""

    channels: NDArray[np.uint32]  # (n_columns,)
    offsets: NDArray[np.int64]  # (n_columns,): below 0 for the past
    lead: int  # the largest offset, or 0
    reach: int  # steps from the smallest offset to the largest, both included


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
    starts: NDArray[np.intp]  # (n_episodes,): the step at which an episode begins, silent before

    def part(self, chosen: slice) -> "Episodes":
        """Return some of the episodes."""
        return self._replace(shown=self.shown[chosen], keys=self.keys[chosen], starts=self.starts[chosen])


def taps(channels: NDArray[np.intp], offsets: NDArray[np.intp]) -> Taps:
    """Return columns of these channels and offsets as kernels take them."""
    lead, past = int(offsets.max(initial=0)), int(offsets.min(initial=0))
    return Taps(channels.astype(np.uint32), offsets.astype(np.int64), lead, lead - past + 1)


NO_TAPS = taps(np.zeros(0, np.intp), np.zeros(0, np.intp))


def work_space(rows: type[Rows], n_rows: int, n_channels: int, delays: Taps = NO_TAPS) -> Work:
    """Return work space for blocks of as many episodes as a row of this type has lanes.

    `n_rows` is the number of neurons and of what they hear.
    """
    width, n_kept = WIDTHS[rows], delays.reach * n_channels if len(delays.offsets) else 0
    both = aligned(2, n_rows, width)  # at once: NumPy asks for huge pages for what is large
    clean, history = rows(aligned(n_channels, width)), rows(aligned(n_kept, width))
    return Work(rows(both[0]), rows(both[1]), clean, rows(np.empty((2, width), np.uint32)), history)


@inner
def _show(table, shown, element, first, clean):
    """Write element number `element` of each lane's episode to `clean`, shape (n_channels, n_lanes)."""
    last = len(shown) - 1
    for lane in range(clean.shape[1]):
        row = shown[min(first + lane, last), element]
        for channel in range(table.shape[1]):
            clean[channel, lane] = table[row, channel]


@inner
def load_keys(keys, first, words):
    """Return k0 and k1 of a block, given the keys of all episodes, shape (n_episodes, 2); `words` is work space."""
    last = len(keys) - 1
    for lane in range(words.values.shape[1]):
        row = min(first + lane, last)
        words.values[0, lane], words.values[1, lane] = keys[row, 0], keys[row, 1]
    return load(words, uintp(0)), load(words, uintp(1))


@inner
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


@inner
def _add_common_noise(clean, sigma, k0, k1, step, inputs, first_row):
    """Do the same with one xi for all channels."""
    xi, _ = normal_pair(k0, k1, np.uint32(step), np.uint32(0))
    for channel in range(uintp(len(clean.values))):
        s = load(clean, uintp(channel))
        store(inputs, first_row + uintp(channel), fma(s * sigma, xi, s))


@inner
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


@inner
def _remember(delays, episodes, work, k0, k1, first, step):
    """Write the input at `step` to its place in the ring; silence after the last step."""
    n_channels = len(work.clean.values)
    row = step % delays.reach * n_channels
    if step < episodes.shown.shape[1] * episodes.steps:
        write_input(episodes, work.clean, k0, k1, first, step, work.history, uintp(row))
    else:
        work.history.values[row : row + n_channels] = np.float32(0)


@inner
def write_columns(delays, episodes, work, k0, k1, first, step, state, row):
    """Write what neurons hear at t = `step` to `state`, from row `row` on: all channels, or columns of delays."""
    if len(delays.offsets) == 0:
        write_input(episodes, work.clean, k0, k1, first, step, state, row)
        return
    if step == 0:
        work.history.values[:] = np.float32(0)
        for early in range(delays.lead):
            _remember(delays, episodes, work, k0, k1, first, early)
    _remember(delays, episodes, work, k0, k1, first, step + delays.lead)
    n_channels = uintp(len(work.clean.values))
    for column in range(len(delays.offsets)):
        place = uintp((step + delays.offsets[column]) % delays.reach)
        heard = load(work.history, place * n_channels + uintp(delays.channels[column]))
        store(state, row + uintp(column), heard)


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
