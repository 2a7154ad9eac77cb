"""What a learner starts from and carries along: initial thresholds, and the state of its networks.

Units of the code "on" are neurons, x = relu(V - theta). The code "on_off" reads each neuron twice: units of the second
side are active below a threshold of their own, x = relu(theta_off - V). In networks both sides follow one another, each
padded as rows are, and the second holds -theta_off: so x = relu(-V - theta) there, the gradient is the same for all,
and to raise thresholds makes both sides sparser. The code "signed" reads states on both sides of 0 by one unit,
x = sign(V) relu(|V| - theta), so its thresholds start at percentiles of |V|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks
from kenyon.chunks import chunks
from kenyon.kernels.lanes import LANES
from kenyon.kernels.learning import Networks
from kenyon.kernels.reading import NO_SCALING, row_length
from kenyon.learning.protocol import Source
from kenyon.readout import ON_OFF, SIGNED

ROWS = 2  # fewest outputs that the kernel works on; unused ones stay at zero


@dataclass(frozen=True)
class Percentile:
    """Initial thresholds: this percentile of each neuron's states over the calibration episodes."""

    q: float

    def __post_init__(self) -> None:
        _checks.set_fields(self, q=_checks.real("q", self.q, 0.0, 100.0))

    def of(self, V: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return this percentile of each neuron's states: between two of them in float64, as NumPy has it.

        In float32, NumPy's own depends on its version; in float64 it takes twice as long as this.
        """
        V, place = _checks.calibration(V), (len(V) - 1) * (self.q / 100)
        below, share = int(place), place % 1
        low, above = np.empty((2, V.shape[1]))
        for some in chunks(V.shape[1], 64):  # neurons whose states fit into a cache
            states = np.ascontiguousarray(V[:, some].T)  # a row each, four times as fast as columns
            states.partition(below, axis=1)
            low[some] = states[:, below]
            above[some] = states[:, below + 1 :].min(axis=1, initial=np.inf) if share else low[some]
        width = above - low
        return np.asarray(low + share * width if share < 0.5 else above - (1 - share) * width, np.float32)


def fixed_start(start: Any, others: str) -> float:
    """Return a start that is the same for all neurons; the error says what `others` are allowed."""
    return _checks.real_or("start", start, -_checks.LARGE, _checks.LARGE, others)


def initial_thresholds(start: float | str | Percentile | None, V: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a threshold for each neuron, given the states of calibration episodes; zeros where there are none."""
    if isinstance(start, str):
        raise ValueError(f'start="{start}" must be replaced by a number: call `prelearn`, or let `train` do so')
    return start.of(V) if isinstance(start, Percentile) else np.full(V.shape[1], start or 0.0, np.float32)


def sized(V: NDArray[np.float32], code: str | None) -> NDArray[np.float32]:
    """Return what thresholds are compared with: V, or |V| with the code "signed"."""
    return np.abs(V) if code == SIGNED else V


def opposite_thresholds(start: float | Percentile | None, V: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return theta_off for each neuron: with as many states below it as there are above the threshold at `start`."""
    if isinstance(start, Percentile):
        return Percentile(100.0 - start.q).of(V)
    above = float(np.mean(np.float32(start or 0.0) < V))
    return np.full(V.shape[1], np.quantile(V.astype(np.float64), above), np.float32)


def unit_thresholds(
    start: float | str | Percentile | None, V: NDArray[np.float32], code: str | None
) -> NDArray[np.float32]:
    """Return the initial thresholds of all units as networks hold them."""
    on = initial_thresholds(start, sized(V, code))
    if code != ON_OFF:
        return on
    assert not isinstance(start, str)  # which was refused
    padded = np.full(row_length(len(on)), np.inf, np.float32)
    padded[: len(on)] = on
    return np.concatenate([padded, -opposite_thresholds(start, V)])


class State(NamedTuple):
    """The state of a learner: what it needs to go on, and nothing else."""

    nets: Networks  # the current network, followed by the proposed one if there is a search
    n_neurons: int
    n_outputs: int
    theta_g: float
    proposed: float  # theta_g of the proposed network
    episode: int  # number of episodes seen
    silent: int  # number of episodes since a neuron was last active
    kappa: float  # of the normalised step, otherwise 0
    shift: NDArray[np.float32] | None
    scale: NDArray[np.float32] | None
    source: Source
    sides: int = 1  # units of each neuron: 2 with the code "on_off"

    @property
    def places(self) -> list[slice]:
        """Where the units of each side are in the rows of networks."""
        width = row_length(self.n_neurons)
        return [slice(side * width, side * width + self.n_neurons) for side in range(self.sides)]

    @property
    def scaling(self) -> NDArray[np.float32]:
        """Shift and scale of states as the kernel takes them."""
        if self.shift is None:
            return NO_SCALING
        return np.stack([self.shift, np.ones_like(self.shift) if self.scale is None else self.scale])

    def check(self) -> None:
        """Refuse arrays that do not fit together, as those of a file may not: the kernel checks nothing."""
        n, rows, padded = self.nets.W.shape
        shapes = [(n, rows, padded), (n, padded), (n, rows, padded), (n, padded), (n, 2), (n,)]
        arrays: list[NDArray[np.generic]] = list(self.nets)
        single = [*arrays[:4], *(part for part in (self.shift, self.scale) if part is not None)]
        fits = [array.shape == shape for array, shape in zip(arrays, shapes, strict=True)]
        fits += [array.dtype == np.float32 for array in single] + [array.dtype == np.float64 for array in arrays[4:]]
        fits += [isinstance(count, int) for count in (self.n_neurons, self.n_outputs, self.episode, self.silent)]
        fits += [self.sides in (1, 2), padded % LANES == 0, self.n_neurons > 0, rows >= max(ROWS, self.n_outputs)]
        if not all(fits) or padded < -(-self.places[-1].stop // LANES) * LANES:
            raise ValueError("inconsistent learner state")
