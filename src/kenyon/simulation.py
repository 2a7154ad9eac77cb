"""From weights to the layout of the kernels, and episodes through the kernel that suits their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kenyon.chunks import chunks, drain, equal_lengths, in_order, padded
from kenyon.kernels import many_episodes, one_episode
from kenyon.kernels.every_step import Reading
from kenyon.kernels.free_run import free_run, free_runs
from kenyon.kernels.inputs import NO_TAPS, Episodes, taps, trace, work_space
from kenyon.kernels.lanes import LANES, WIDTHS, Rows, Rows8, Rows16, Rows32, aligned
from kenyon.kernels.many_episodes import Network, n_neuron_rows, network, simulate, simulate_pooled
from kenyon.kernels.neurons import ACTIVATIONS
from kenyon.kernels.one_episode import SortedNetwork, simulate_one, simulate_one_pooled, sorted_network
from kenyon.kernels.pooling import Kept, spaced
from kenyon.timing import Delays, columns

STATES_PER_CHUNK = 2**19  # states that a thread computes at a time: 512 episodes of 1000 neurons
FEW_EPISODES = 2  # up to this number, episodes are faster one by one than in lanes


def lay_out(
    W: sparse.csr_array,
    W_in: sparse.csr_array,
    leaks: NDArray[np.float32],
    activation: str,
    delays: Delays | None,
    bias: NDArray[np.float32] | None,
) -> tuple[Network, SortedNetwork]:
    """Return [rho W | W_in | b] as both kernels take it."""
    heard, listened = W_in, NO_TAPS
    if delays is not None:
        heard, channels, offsets = columns(delays, W_in)
        listened = taps(channels, offsets)
    constant = [] if bias is None else [sparse.csr_array(bias[:, None])]
    both = sparse.hstack([W, heard, *constant], format="csr")
    kind = ACTIVATIONS[activation]
    return network(both, leaks, kind, listened, bias is not None), sorted_network(both, leaks, kind, listened)


def chunk_size(n_neurons: int, n_episodes: int, threads: int) -> int:
    """Episodes that a thread takes at a time: enough to fill lanes, few enough for memory and for all threads."""
    most = max(4 * LANES, min(512, STATES_PER_CHUNK // n_neurons // LANES * LANES))
    return max(1, min(most, -(-n_episodes // threads)))


def run_episodes(
    networks: tuple[Network, SortedNetwork],
    episodes: Episodes,
    out: NDArray[np.float32],
    kept: Kept | None = None,
    times: NDArray[np.intp] | None = None,
) -> bool:
    """Fill `out` with the last states of episodes, or with what is kept of them; return False if a state overflows.

    `times`, one row for each episode, count from its own beginning.
    """
    one_by_one = len(out) <= FEW_EPISODES
    return (_run_few if one_by_one else _run_in_lanes)(networks, episodes, out, kept, times)


def _run_in_lanes(
    networks: tuple[Network, SortedNetwork],
    episodes: Episodes,
    out: NDArray[np.float32],
    kept: Kept | None,
    times: NDArray[np.intp] | None,
) -> bool:
    net, rows = networks[0], _rows(len(out))
    n_channels = episodes.table.shape[1]
    work = work_space(rows, n_neuron_rows(net) + n_heard(net, n_channels), n_channels, net.taps)
    if kept is None or times is None:
        return bool(simulate(net, episodes, work, out))
    starts, pool = episodes.starts[:, None], many_episodes.pool_for(kept, net, rows)
    return bool(simulate_pooled(net, episodes, work, pool, times + starts, _ends(episodes, kept) + starts, out))


def run_alone(networks: tuple[Network, SortedNetwork], inputs: NDArray[np.float32], out: NDArray[np.float32]) -> bool:
    """Do the same for one series (n_steps, n_channels), its last states in `out`."""
    return bool(simulate_one(one_episode.plain(networks[1]), inputs, 1, rows_of_one(networks, inputs.shape[1]), out))


def rows_of_one(networks: tuple[Network, SortedNetwork], n_channels: int) -> int:
    """Return the number of rows of the state of one series of so many channels."""
    return one_episode.n_rows(networks[1], n_heard(networks[0], n_channels))


def room_for_one(networks: tuple[Network, SortedNetwork], n_channels: int) -> tuple[Rows8, Rows8]:
    """Return work space for one series of so many channels."""
    return one_episode.work_space(networks[1], n_heard(networks[0], n_channels))


def _run_few(
    networks: tuple[Network, SortedNetwork],
    episodes: Episodes,
    out: NDArray[np.float32],
    kept: Kept | None,
    times: NDArray[np.intp] | None,
) -> bool:
    own = [values[start:] for values, start in zip(_shown(episodes), episodes.starts, strict=True)]
    if kept is None or times is None:
        return all(run_alone(networks, s, V[-len(s) :]) for s, V in zip(own, out, strict=True))
    net = networks[1]
    room, pool = room_for_one(networks, own[0].shape[1]), one_episode.pool_for(kept, net)
    given = zip(own, times, _ends(episodes, kept), out, strict=True)
    return all(simulate_one_pooled(net, s, room, pool, t, ends, V) for s, t, ends, V in given)


def _ends(episodes: Episodes, kept: Kept) -> NDArray[np.intp]:
    """Return the steps with which the stretches of each episode end, counted from its own beginning."""
    return spaced(episodes.shown.shape[1] * episodes.steps - episodes.starts, kept.n_stretches)


def _shown(episodes: Episodes) -> NDArray[np.float32]:
    """Return the input of episodes, shape (n, n_steps, n_channels)."""
    if episodes.noise == 0 and episodes.steps == 1:
        return episodes.table[episodes.shown]
    (n, n_elements), n_channels = episodes.shown.shape, episodes.table.shape[1]
    inputs = np.empty((n, n_elements * episodes.steps, n_channels), np.float32)
    trace(episodes, work_space(Rows8, n_channels, n_channels), inputs)
    return inputs


def n_heard(net: Network, n_channels: int) -> int:
    """Return how many rows there are beside the neurons: channels or columns, and one if there is a bias."""
    return (len(net.taps.offsets) or n_channels) + net.biased


def run_pooled(
    networks: tuple[Network, SortedNetwork],
    series: NDArray[np.float32] | Sequence[NDArray[np.float32]],
    kept: Kept,
    times: NDArray[np.intp],
    threads: int,
) -> tuple[NDArray[np.float32], bool]:
    """Return states at `times` and then the sums `kept`, shape (n, n_times + n_sums, n_neurons); and if all is finite.

    Sums are of one stretch after another. Series are an array (n, T, n_inputs), or a list of (T_k, n_inputs), of which
    those of similar length are simulated together.
    """
    ragged = not isinstance(series, np.ndarray)
    order = np.argsort([len(values) for values in series], kind="stable") if ragged else np.arange(len(series))
    n_neurons = kept.levels.shape[1]
    out = np.empty((len(series), times.shape[1] + kept.n_sums, n_neurons), np.float32)
    fine: list[bool] = []

    def job(chunk: slice) -> None:
        members = order[chunk]
        chosen: Any = [series[i] for i in members] if ragged else np.ascontiguousarray(series[chunk])
        episodes = padded(chosen) if ragged else equal_lengths(chosen)
        part = np.empty((len(members), *out.shape[1:]), np.float32) if ragged else out[chunk]
        fine.append(run_episodes(networks, episodes, part, kept, times[members]))
        if ragged:
            out[members] = part

    drain(in_order(job, chunks(len(series), chunk_size(n_neurons, len(series), threads)), threads))
    return out, all(fine)


def run_freely(
    networks: tuple[Network, SortedNetwork],
    reading: Reading,
    V: NDArray[np.float32],
    start: NDArray[np.float32],
    ahead: NDArray[np.float32],
    threads: int,
) -> tuple[NDArray[np.float64], int]:
    """Return what networks say that run freely, shape (n, n_steps, n_outputs), and for how many steps all are finite.

    Arguments as in `free_runs`.
    """
    n, n_steps, heard = len(V), ahead.shape[1], n_heard(networks[0], start.shape[1] + ahead.shape[2])
    out = np.empty((n, n_steps, start.shape[1]))

    def job(runs: slice) -> int:
        given = start[runs], np.ascontiguousarray(ahead[runs])
        if n <= FEW_EPISODES:
            work = one_episode.work_space(networks[1], heard)
            return int(free_run(networks[1], reading, work, V[runs][0], given[0][0], given[1][0], out[runs][0]))
        rows = _rows(n)
        state, new = (rows(aligned(n_neuron_rows(networks[0]) + heard, WIDTHS[rows])) for _ in range(2))
        return int(free_runs(networks[0], reading, state, new, V[runs], *given, out[runs]))

    width = 1 if n <= FEW_EPISODES else WIDTHS[_rows(n)]
    return out, min(in_order(job, chunks(n, width), threads))


def _rows(n_episodes: int) -> type[Rows]:
    """Choose the number of lanes, which affects only the time it takes."""
    return Rows8 if n_episodes <= 8 else Rows16 if n_episodes <= 16 else Rows32
