"""What a classifier reads of series, and with which reservoir, where its user leaves that open.

Short series, and those with nearly as many channels as steps (rows of pixels, spectra), are told apart by what happens
when: states halfway and at the end of a reservoir that remembers all of it. In longer ones something happens somewhere:
the readout sees for which share of the time each neuron is above each of a few levels, in a reservoir of many time
scales,

    V(t+1) = (1-a) V(t) + a relu[ sum_k w_k s(t + (4-k) d) + rho W V(t) + b ].

Seven eighths of the neurons hear nine taps, with weights w that sum to 0 and steps d between taps from 1 to an eighth
of the length. They hear each series less its mean, so that its ends, beyond which taps hear 0, are no steps up or down.
Three fifths of them only do that (a = 1, rho = 0); the others have a leak of .3, are connected among themselves, or
both. The last eighth of the neurons hears the step itself and its change, with leaks from 1 to .03. A positive bias
keeps neurons above 0 where changes are slow and drives small; which levels lie among its states is what makes a neuron
nonlinear then, and neurons differ in their levels.

Shares of time are given in even units (see `_pooling`), above three levels: five tell no more. They are those of either
half of a series, so that it matters when something happens. In some series it does not, and then halves only add noise.
So both ways are tried, leaving out one series after the other: if whole series do better by more than twice the
standard error of the difference, these are read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kenyon import _seeding, connectivity
from kenyon.learning.ridge import left_out
from kenyon.reservoir import Reservoir
from kenyon.timing import Delays, spread

AUTO = "auto"  # settings that are left to this file
NEURONS, RADIUS = 1000, 1.5  # of a reservoir that is read at the end
LONG, STEPS_PER_CHANNEL = 20, 4  # series of at least so many steps are read over time
OVER_TIME_NEURONS, MANY_NEURONS, MANY = 1800, 900, 4000  # the second from so many series on, where ridge takes long
TAPS = 9
SPACINGS = 16  # steps between taps, from 1 to an eighth of the length, as many as differ
PLAIN = 8  # one neuron in so many hears no taps
PURE, KINDS = 6, 10  # of so many others that hear taps, those that do nothing else
MOST_CHANNELS = 3  # that a neuron hears
LEAK, SLOW_LEAKS = 0.3, (1.0, 0.3, 0.1, 0.03)
OVER_TIME_RADIUS = 0.8
BIAS = 1.5  # in standard deviations, as its spread of 1 is
LEVELS, SPREAD = (20.0, 50.0, 80.0), 15.0  # percentiles, and how far those of a neuron are from them at most
STRETCHES = 2  # of a series
TRIED, SURE = 300, 2.0  # series on which whole ones are tried, and standard errors by which they must be better


def pooling_for(length: float, n_channels: int) -> str | int:
    """Return what to read of series of this length."""
    return "activity" if length >= max(LONG, STEPS_PER_CHANNEL * n_channels) else 2


def whole_is_better(parts: NDArray[np.float32], whole: NDArray[np.float32], classes: NDArray[Any]) -> bool:
    """Tell whether series are clearly better told apart by what is read of them as a whole than by their stretches."""
    some = np.unique(np.linspace(0, len(classes) - 1, TRIED).astype(np.intp))
    Y = (classes[some, None] == np.unique(classes[some])).astype(np.float64)
    Y -= Y.mean(axis=0)
    by_parts, by_whole = (left_out(_standardised(read[some]), Y) for read in (parts, whole))
    more = by_parts - by_whole
    return bool(more.mean() * np.sqrt(len(more)) > SURE * more.std())


def _standardised(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return columns less their means, in units of their deviations; in single precision, which is enough to choose."""
    centred = values - values.mean(axis=0, dtype=np.float64).astype(np.float32)
    deviation = np.sqrt(np.einsum("ij,ij->j", centred, centred) / np.float32(len(values)))
    centred *= np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-6)
    return centred


def over_time(n_neurons: int, n_channels: int, length: float, activation: str, seed: int) -> Reservoir:
    """Return a reservoir of many time scales, for series of this length, and after them the same less their means."""
    rng = _seeding.generator(seed, "estimator", "over time")
    spacings = _spacings(length)
    n_plain = max(1, round(len(spacings) / (PLAIN - 1)))
    delays = Delays(TAPS, ((1,) * n_plain + spacings)[:n_neurons])
    number = np.arange(n_neurons)
    plain = number * len(np.atleast_1d(delays.spacings)) // n_neurons < n_plain
    kind = number % KINDS - PURE  # of those with taps: below 0 pure, then leaky, connected, leaky and connected, ...
    leaks = np.where(
        plain, np.take(SLOW_LEAKS, number, mode="wrap"), np.where((kind >= 0) & (kind % 3 != 1), LEAK, 1.0)
    )
    connected = np.where(plain, number // len(SLOW_LEAKS) % 2 == 1, (kind >= 0) & (kind % 3 != 0))
    bias = BIAS + rng.standard_normal(n_neurons)
    W_in = _inputs(delays, plain, n_channels, rng)
    W = _among(np.flatnonzero(connected), n_neurons, rng)
    return Reservoir.from_weights(W_in=W_in, W=W, leak_rate=leaks, activation=activation, delays=delays, bias=bias)


def _spacings(length: float) -> tuple[int, ...]:
    """Return the steps between taps of each group of neurons."""
    most = np.log2(max(1.0, length / (TAPS - 1)))
    return tuple(sorted({int(2.0**power) for power in np.linspace(0.0, most, SPACINGS)}))


def _inputs(delays: Delays, plain: NDArray[np.bool_], n_channels: int, rng: np.random.Generator) -> sparse.csr_array:
    """Return W_in: from one to three channels to a neuron, through taps, or its step and its change where `plain`."""
    n_neurons, most = len(plain), min(MOST_CHANNELS, n_channels)
    degrees = rng.integers(1, most + 1, n_neurons)
    drawn = np.argsort(rng.random((n_neurons, n_channels)), axis=1)[:, :most]
    drawn = np.sort(np.where(np.arange(most) < degrees[:, None], drawn, n_channels), axis=1)
    sizes, here = np.repeat(1.0 / np.sqrt(degrees), degrees), np.repeat(plain, degrees)
    channels = drawn[drawn < n_channels] + np.where(here, 0, n_channels)
    ends = np.concatenate([[0], np.cumsum(degrees)])
    W_in = spread(delays, sparse.csr_array((sizes, channels, ends), shape=(n_neurons, 2 * n_channels)), rng)
    taps = W_in.data.reshape(-1, TAPS)
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
