"""When neurons hear what, and for how long they remember it: delays of their inputs, and leak rates from a range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kenyon import _checks, _seeding

LONGEST = 2**20  # steps that delays may reach over


@dataclass(frozen=True)
class LogUniform:
    """Numbers drawn log-uniformly from a range: as many between .01 and .1 as between .1 and 1.

    Parameters
    ----------
    low, high
        The ends of the range, above 0; for leak rates, at most 1.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        low = _checks.real("low", self.low, 0.0, _checks.LARGE, open_low=True)
        _checks.set_fields(self, low=low, high=_checks.real("high", self.high, low, _checks.LARGE))

    def draw(self, n: int, seed: int = 0) -> NDArray[np.float32]:
        """Return n such numbers, which the seed determines."""
        n, rng = _checks.integer("n", n, 0, 2**31), _seeding.generator(_checks.seed(seed), "network", "leak")
        drawn = np.exp(rng.uniform(np.log(self.low), np.log(self.high), n))
        return np.clip(drawn, self.low, self.high).astype(np.float32)


@dataclass(frozen=True)
class Delays:
    """Delays of input connections: each of them is split into taps, which hear the channel at different times.

    Taps of a connection are `spacing` steps apart. At the ends of a series, where taps reach beyond it, they hear 0.

    Parameters
    ----------
    taps
        Number of taps of each input connection.
    spacings
        Steps from one tap to the next: a number, or several, with as many groups of neurons, of equal size and in
        order.
    centred
        Taps lie around the step, half of them ahead of it, so that a state tells of the near future too; this needs an
        odd number of taps. Otherwise the first hears the step itself, and the others the past.
    balanced
        Weights of the taps of a connection sum to 0: neurons hear change, not level.
    """

    taps: int = 9
    spacings: int | tuple[int, ...] = 1
    centred: bool = True
    balanced: bool = True

    def __post_init__(self) -> None:
        centred, balanced = (_checks.flag(name, getattr(self, name)) for name in ("centred", "balanced"))
        taps = _checks.integer("taps", self.taps, 2 if balanced else 1, LONGEST)
        if centred and taps % 2 == 0:
            raise ValueError(f"taps must be an odd number with centred=True, not {taps}")
        spacings = _spacings(self.spacings)
        if (reach := (taps - 1) * int(np.max(spacings))) > LONGEST:
            raise ValueError(f"taps and spacings must reach over at most {LONGEST} steps, not {reach}")
        _checks.set_fields(self, taps=taps, spacings=spacings, centred=centred, balanced=balanced)


def spread(delays: Delays, W_in: sparse.csr_array, rng: np.random.Generator) -> sparse.csr_array:
    """Return W_in with the weight of each connection spread over its taps in random proportions.

    The taps of a channel follow one another: shape (n_neurons, n_inputs taps). Their squares sum to that of the
    connection.
    """
    shares = rng.standard_normal((W_in.nnz, delays.taps))
    if delays.balanced:
        shares -= shares.mean(axis=1, keepdims=True)
    shares /= np.linalg.norm(shares, axis=1, keepdims=True)
    places = W_in.indices[:, None] * delays.taps + np.arange(delays.taps)
    data = (W_in.data[:, None] * shares).astype(np.float32)
    shape = W_in.shape[0], W_in.shape[1] * delays.taps
    return sparse.csr_array((data.ravel(), places.ravel(), W_in.indptr * delays.taps), shape=shape)


def columns(delays: Delays, W_in: sparse.csr_array) -> tuple[sparse.csr_array, NDArray[np.intp], NDArray[np.intp]]:
    """Return W_in with a column for each channel at each time that anyone hears it; their channels and offsets.

    Connections of a neuron stay in their order.
    """
    spacing = np.repeat(_by_neuron(delays, W_in.shape[0]), np.diff(W_in.indptr))
    channel, tap = np.divmod(W_in.indices.astype(np.intp), delays.taps)
    offset = ((delays.taps // 2 if delays.centred else 0) - tap) * spacing
    pairs, column = np.unique(channel * (2 * LONGEST + 1) + offset + LONGEST, return_inverse=True)
    pairs = pairs if len(pairs) else np.array([LONGEST], np.intp)  # nobody hears anything: channel 0, at once
    heard = sparse.csr_array((W_in.data, column.ravel(), W_in.indptr), shape=(W_in.shape[0], len(pairs)))
    channels, offsets = np.divmod(pairs, 2 * LONGEST + 1)
    return heard, channels, offsets - LONGEST


def _by_neuron(delays: Delays, n: int) -> NDArray[np.intp]:
    """Return the spacing of each of n neurons."""
    spacings = np.atleast_1d(delays.spacings)
    if len(spacings) > n:
        raise ValueError(f"spacings must be at most as many as there are neurons, {n}, not {len(spacings)}")
    return np.asarray(spacings[np.arange(n) * len(spacings) // n], np.intp)


def _spacings(given: Any) -> int | tuple[int, ...]:
    if not isinstance(given, (list, tuple, np.ndarray)):
        return _checks.integer("spacings", given, 1, LONGEST)
    if len(given) == 0:
        raise ValueError("spacings must be a number of steps, or several, not none")
    return tuple(_checks.integer("spacings", spacing, 1, LONGEST) for spacing in given)
