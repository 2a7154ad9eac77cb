"""What a classifier reads of series, and with which reservoir, where its user leaves that open.

Short series, and those with nearly as many channels as steps (rows of pixels, spectra), are told apart by what happens
when: states halfway and at the end of a reservoir that remembers all of it. In longer ones something happens somewhere:
the readout sees for which share of the time each neuron is above each of a few levels, in a reservoir of many time
scales,

    V(t+1) = (1-a) V(t) + a relu[ sum_k w_k s(t + (4-k) d) + rho W V(t) + b ],

where three quarters of the neurons hear nine taps, d = 1, 2, 4, ... up to an eighth of the length, with weights w that
sum to 0; the others hear the step itself and its change. Leaks are 1 and .3, for the others .1 and .03 too, and every
other four neurons are connected among themselves. A positive bias keeps neurons above 0 where changes are slow and
drives small; where a level lies among its states is what makes a neuron nonlinear then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kenyon import _seeding, connectivity
from kenyon.reservoir import Reservoir
from kenyon.timing import Delays, spread

AUTO = "auto"  # settings that are left to this file
NEURONS, RADIUS = 1000, 1.5  # of a reservoir that is read at the end
LONG, STEPS_PER_CHANNEL = 20, 4  # series of at least so many steps are read over time
OVER_TIME_NEURONS, MANY_NEURONS, MANY = 1800, 900, 4000  # the second from so many series on, where ridge takes long
TAPS = 9
MOST_CHANNELS = 3  # that a neuron hears
LEAKS, SLOW_LEAKS = (1.0, 0.3), (1.0, 0.3, 0.1, 0.03)
OVER_TIME_RADIUS = 0.8
BIAS = 1.5  # in standard deviations, as its spread of 1 is


def pooling_for(length: float, n_channels: int) -> str | int:
    """Return what to read of series of this length."""
    return "activity" if length >= max(LONG, STEPS_PER_CHANNEL * n_channels) else 2


def over_time(n_neurons: int, n_channels: int, length: float, activation: str, seed: int) -> Reservoir:
    """Return a reservoir of many time scales, suited to series of this length."""
    rng = _seeding.generator(seed, "estimator", "over time")
    spacings, n_plain = _spacings(length)
    groups = ((1,) * n_plain + spacings)[:n_neurons]
    delays = Delays(TAPS, groups)
    number = np.arange(n_neurons)
    plain = number * len(groups) // n_neurons < n_plain
    leaks = np.where(plain, np.take(SLOW_LEAKS, number, mode="wrap"), np.take(LEAKS, number, mode="wrap"))
    bias = BIAS + rng.standard_normal(n_neurons)
    W_in = _inputs(delays, plain, n_channels, rng)
    W = _among(np.flatnonzero(number // len(SLOW_LEAKS) % 2), n_neurons, rng)
    return Reservoir.from_weights(W_in=W_in, W=W, leak_rate=leaks, activation=activation, delays=delays, bias=bias)


def _spacings(length: float) -> tuple[tuple[int, ...], int]:
    """Return the steps between taps, and how many groups of neurons beside them hear no taps: a quarter of all."""
    found = [1]
    while 2 * found[-1] * (TAPS - 1) <= length:
        found.append(2 * found[-1])
    return tuple(found), max(1, round(len(found) / 3))


def _inputs(delays: Delays, plain: NDArray[np.bool_], n_channels: int, rng: np.random.Generator) -> sparse.csr_array:
    """Return W_in: from one to three channels to a neuron, through taps, or its step and its change where `plain`."""
    n_neurons, most = len(plain), min(MOST_CHANNELS, n_channels)
    degrees = rng.integers(1, most + 1, n_neurons)
    heard = [np.sort(rng.choice(n_channels, k, replace=False)) for k in degrees]
    sizes = np.repeat(1.0 / np.sqrt(degrees), degrees)
    ends = np.concatenate([[0], np.cumsum(degrees)])
    connected = sparse.csr_array((sizes, np.concatenate(heard), ends), shape=(n_neurons, n_channels))
    W_in = spread(delays, connected, rng)
    taps, here = W_in.data.reshape(-1, TAPS), np.repeat(plain, degrees)
    step, change = rng.standard_normal((2, int(here.sum()))) * sizes[here]
    taps[here] = 0.0
    taps[here, TAPS // 2], taps[here, TAPS // 2 + 1] = step + change, -change
    W_in.eliminate_zeros()
    return W_in


def _among(members: NDArray[np.intp], n_neurons: int, rng: np.random.Generator) -> Any:
    """Return W that connects these neurons among themselves; None if there are none."""
    if len(members) == 0:
        return None
    n = len(members)
    W = connectivity.recurrent(n, connectivity.mean_connections(None, n), OVER_TIME_RADIUS, rng).tocoo()
    return sparse.csr_array((W.data, (members[W.row], members[W.col])), shape=(n_neurons, n_neurons))
