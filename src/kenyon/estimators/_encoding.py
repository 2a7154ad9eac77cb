"""From user input to states: scaling chosen from the data, then a reservoir; or the features themselves.

Channels are shifted by their means and divided by their standard deviation in double precision, so that the unit of
the data does not matter; an additional constant channel lets neurons differ in what they respond to. The leak follows
the length of the series: a = 3 / T, so that the last state remembers the whole series, its end best.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks
from kenyon.estimators._series import Series
from kenyon.reservoir import Reservoir

MEMORY = 3.0  # a T: the length of a series in time constants of the neurons
CONSTANT = 1e-12  # smaller spreads, relative to the mean, are rounding errors
SMALLEST_SPREAD = 1e-150  # smaller spreads underflow when squared
APART = 1000.0  # ratio of spreads above which channels are assumed to have different units
FEW_FEATURES = 100  # fewer features than this are read with both signs


class Scaling(NamedTuple):
    """How channels are brought to a common size: (s - shift) factor."""

    shift: NDArray[np.float64]
    factor: NDArray[np.float64]

    def apply(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Scale in double precision, then round to single."""
        scaled = np.asarray((values.astype(np.float64) - self.shift) * self.factor)
        if scaled.min() < -_checks.BIG or scaled.max() > _checks.BIG:
            raise ValueError(
                f"X has values more than {_checks.BIG:g} standard deviations away from those in the data fitted to"
            )
        return scaled.astype(np.float32)


def inverse(sd: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / sd, and 0 where a column is constant."""
    varies = sd > np.maximum(CONSTANT * np.abs(mean), SMALLEST_SPREAD)
    return np.divide(1.0, sd, out=np.zeros_like(sd), where=varies)


def standardisation(series: Series) -> tuple[Scaling, NDArray[np.float64]]:
    """Return the scaling that gives every channel a spread of 1, and the spreads."""
    n, total = 0, 0.0
    for part in series.steps():
        n, total = n + len(part), total + part.sum(axis=0)
    mean = np.asarray(total / n)
    sd = np.sqrt(np.asarray(sum(((part - mean) ** 2).sum(axis=0) for part in series.steps())) / n)
    factor = inverse(sd, mean)
    if not factor.any():
        raise ValueError(
            f"X does not vary: all features are constant (n_samples={len(series)}), nothing can be learned"
        )
    return Scaling(mean, factor), sd


def choose_scaling(series: Series, kind: str) -> Scaling:
    """Return the scaling of these series: each "channel" by its own spread, or all by the "overall" one.

    "auto" is the overall one, unless the spreads are so far apart that the units must differ.
    """
    scaling, sd = standardisation(series)
    varying = scaling.factor > 0
    if kind == "overall" or (kind == "auto" and sd[varying].max() <= APART * sd[varying].min()):
        return scaling._replace(factor=np.where(varying, 1.0 / np.sqrt((sd**2).mean()), 0.0))
    return scaling


class SeriesEncoder(NamedTuple):
    """Series to states: scaling, a constant channel, a reservoir."""

    scaling: Scaling
    reservoir: Reservoir
    n_steps: int  # steps for which a static row is shown

    @property
    def width(self) -> int:
        """Number of states."""
        return self.reservoir.n_neurons

    def states(self, series: Series, threads: int) -> NDArray[np.float32]:
        """Return the state V of each series at its end, shape (n, n_neurons)."""
        if isinstance(series.values, list):
            return self.reservoir.run([self._inputs(values) for values in series.values], threads=threads)
        inputs = self._inputs(series.values)
        if series.static:
            inputs = np.broadcast_to(inputs[:, None], (len(inputs), self.n_steps, inputs.shape[-1]))
        return self.reservoir.run(inputs, threads=threads)

    def _inputs(self, values: NDArray[Any]) -> NDArray[np.float32]:
        scaled = self.scaling.apply(values)
        return np.concatenate([scaled, np.ones((*scaled.shape[:-1], 1), np.float32)], axis=-1)


class RowEncoder(NamedTuple):
    """Features from any source, standardised."""

    scaling: Scaling
    both_signs: bool  # each feature and its negative, so that relu loses neither half
    constant: bool  # and a 1, for readouts that have no other way to a constant output

    @property
    def width(self) -> int:
        """Number of states."""
        return len(self.scaling.shift) * (2 if self.both_signs else 1) + self.constant

    def states(self, rows: Series, threads: int) -> NDArray[np.float32]:
        """Return the features as the readout sees them."""
        z = self.scaling.apply(rows.values)
        parts = [z, -z] if self.both_signs else [z]
        return np.concatenate([*parts, np.ones((len(z), int(self.constant)), np.float32)], axis=1)
