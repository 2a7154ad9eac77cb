"""From user input to states: scaling chosen from the data, then a reservoir; or the features themselves.

Channels are shifted by their means and divided by their ranges in double precision, so that their units do not matter,
while a channel that hardly ever leaves rest stays as quiet as it is; then all are divided by a common factor. A few
extreme series do not count for the ranges. An additional constant channel lets neurons differ in what they respond to.
The leak follows the length of the series: a = 3 / T, so that the last state remembers the whole series, its end best.
With delays, whose taps may not hear a constant, neurons have a bias instead of the constant channel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kenyon import _checks, _seeding
from kenyon.estimators._pooling import LEVEL_SERIES, LEVELLED, WORDS, Pooling
from kenyon.estimators._series import Series, chunks
from kenyon.kernels.running import Moments, Percentiles, no_moments, no_percentiles
from kenyon.kernels.streams import (
    CONSTANT,
    RARE,
    SMALLEST_SPREAD,
    RandomFeatures,
    expand,
    input_factors,
    standardised,
    take_series,
)
from kenyon.reservoir import Reservoir

MEMORY = 3.0  # a T: the length of a series in time constants of the neurons
EXTREME = 100  # one series in so many, at least one, does not count for the range of a channel
SOURCES = 3  # features that a random one is made of
OFFSET = 1.0  # standard deviation of its constant, in standard deviations of the features
KINDS = ("range", "channel", "overall")  # of scaling
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


class RunningScaling(NamedTuple):
    """The same, from statistics of a stream that it follows."""

    kind: str  # "standard": each channel by its deviation; or as in `choose_scaling`
    moments: Moments
    lows: Percentiles  # of the smallest values of series
    highs: Percentiles  # of the largest

    def check(self) -> None:
        """Refuse parts that do not fit together, as those of a file may not: kernels check nothing."""
        n = len(self.moments.mean)
        if {len(self.lows.heights), len(self.highs.heights)} != {n} or self.kind not in ("standard", *KINDS):
            raise ValueError("inconsistent scaling")

    @property
    def shift(self) -> NDArray[np.float64]:
        """The means."""
        return self.moments.mean

    @property
    def factor(self) -> NDArray[np.float64]:
        """The factors for what has been seen so far."""
        if self.kind == "standard":
            return inverse(self.moments.deviation, self.moments.mean)
        factor = np.empty_like(self.moments.mean)
        input_factors(KINDS.index(self.kind), self.moments, self.lows, self.highs, factor)
        return factor

    def apply(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Scale in double precision, then round to single."""
        return Scaling(self.shift, self.factor).apply(values)

    def take(self, steps: NDArray[np.float64], forgetting: float) -> None:
        """Take the steps of a series, shape (T, channels), into the statistics."""
        check_width(steps.shape[1], len(self.moments.mean))
        take_series(KINDS.index(self.kind), self.moments, self.lows, self.highs, steps, forgetting)


def running_scaling(kind: str, n: int) -> RunningScaling:
    """Return the scaling of a stream of n channels before its first row."""
    low = 100.0 / EXTREME
    return RunningScaling(kind, no_moments(n), no_percentiles(n, low), no_percentiles(n, 100.0 - low))


def inverse(sd: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / sd, and 0 where a column is constant."""
    return _reciprocal(sd, sd > np.maximum(CONSTANT * np.abs(mean), SMALLEST_SPREAD))


def standardisation(series: Series, must_vary: bool = True) -> Scaling:
    """Return the scaling that gives every channel a standard deviation of 1."""
    mean, sd = _moments(series)
    factor = inverse(sd, mean)
    if must_vary and not factor.any():
        raise ValueError(
            f"X does not vary: all features are constant (n_samples={len(series)}), nothing can be learned"
        )
    return Scaling(mean, factor)


def choose_scaling(series: Series, kind: str, must_vary: bool = True) -> Scaling:
    """Return the scaling of these series.

    Each channel is divided by its usual "range", by the standard deviation of the "channel", or not ("overall"); then
    all by a common factor, so that the mean variance is 1. For the range, mean and variance are those of values clipped
    to it.
    """
    standard = standardisation(series, must_vary)
    varies = standard.factor > 0
    if not varies.any():
        return standard
    mean, sd = standard.shift, _reciprocal(standard.factor, varies)
    size = sd if kind == "channel" else np.ones_like(sd)
    if kind == "range":
        low, high = _usual_range(series, sd)
        size, (mean, sd) = high - low, _moments(series, low, high)
    relative = _reciprocal(size, varies)
    return Scaling(mean, relative / np.sqrt(((relative * sd)[varies] ** 2).mean()))


def _reciprocal(values: NDArray[np.float64], where: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.divide(1.0, values, out=np.zeros_like(values), where=where)


def _moments(
    series: Series, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each channel, of values clipped to these limits."""
    n = int(series.lengths.sum())
    mean = sum(np.clip(part, low, high).sum(axis=0) for part in series.steps()) / n
    square = sum(((np.clip(part, low, high) - mean) ** 2).sum(axis=0) for part in series.steps()) / n
    return np.asarray(mean), np.sqrt(np.asarray(square))


def _usual_range(series: Series, sd: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lowest and highest values of each channel, without the most extreme series.

    A channel that does little in all the others keeps its whole range.
    """
    kept = 1 + -(-(len(series) - 1) // EXTREME)
    highest, lowest = _largest(series, 1.0, kept), -_largest(series, -1.0, kept)
    rare = highest[0] - lowest[0] < RARE * sd
    return np.where(rare, lowest[-1], lowest[0]), np.where(rare, highest[-1], highest[0])


def _largest(series: Series, sign: float, kept: int) -> NDArray[np.float64]:
    """Return the largest values of each channel in as many series, sorted, of values times the sign."""
    found = np.empty((0, series.n_channels))
    for chunk in chunks(len(series)):
        found = np.sort(np.concatenate([found, series.take(chunk).largest(sign)]), axis=0)[-kept:]
    return found


class SeriesEncoder(NamedTuple):
    """Series to states: scaling, a constant channel, a reservoir."""

    scaling: Scaling | RunningScaling
    reservoir: Reservoir
    n_steps: int  # steps for which a static row is shown
    pooling: Pooling = Pooling((WORDS[0],))
    centred: bool = False  # show each series less its mean beside itself

    def check(self) -> None:
        """Refuse parts that do not fit together, as those of a file may not: kernels check nothing."""
        n, reservoir, levels = len(self.scaling.shift), self.reservoir, self.pooling.levels
        check_width(reservoir.n_inputs, 2 * n if self.centred else n + (reservoir.delays is None))
        if levels is not None:
            check_width(levels.shape[1], reservoir.n_neurons)

    @property
    def n_parts(self) -> int:
        """How many numbers are kept of each neuron."""
        return len(self.pooling.names)

    @property
    def alike(self) -> tuple[bool, ...]:
        """For each of them, whether its size means the same in all neurons; that of activity depends on the level."""
        return tuple(not name.startswith(LEVELLED) for name in self.pooling.names)

    @property
    def width(self) -> int:
        """Number of states."""
        return self.reservoir.n_neurons * self.n_parts

    def states(self, series: Series, threads: int) -> NDArray[np.float32]:
        """Return the state V of each series at its end, or what else is kept of it, shape (n, width)."""
        inputs = self._shown(series)
        if self.pooling.plain:
            return self.reservoir.run(inputs, threads=threads)
        return self.pooling.read(self.reservoir, inputs, threads)

    def calibrated(self, series: Series, seed: int, threads: int) -> SeriesEncoder:
        """Return this encoder with levels of activity, if it needs any, taken from some of these series."""
        if not self.pooling.percentiles:
            return self
        rng = _seeding.generator(seed, "estimator", "level series")
        some = series.take(np.sort(rng.permutation(len(series))[:LEVEL_SERIES]))
        return self._replace(pooling=self.pooling.calibrated(self.reservoir, self._shown(some), seed, threads))

    def _shown(self, series: Series) -> Any:
        """Return what the reservoir is shown: an array, or a list of arrays."""
        if isinstance(series.values, list):
            return [self.inputs(values) for values in series.values]
        inputs = self.inputs(series.values)
        if series.static:
            inputs = np.broadcast_to(inputs[:, None], (len(inputs), self.n_steps, inputs.shape[-1]))
        return inputs

    def follow(self, series: Series, threads: int, forgetting: float) -> NDArray[np.float32]:
        """Return the states of series that are taken into the statistics one after another, each before it is run."""
        scaling = self.scaling
        if isinstance(scaling, Scaling):
            return self.states(series, threads)
        shown = []
        for values in series.values:
            steps = np.atleast_2d(np.asarray(values, np.float64))
            scaling.take(steps, forgetting)
            inputs = self.inputs(steps)
            shown.append(np.broadcast_to(inputs, (self.n_steps, inputs.shape[1])) if series.static else inputs)
        same = len({len(inputs) for inputs in shown}) == 1
        return self.reservoir.run(np.stack(shown) if same else shown, threads=threads)

    def inputs(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Return what the channels are shown: scaled values and a constant, or the same values less their means."""
        scaled = self.scaling.apply(values)
        n_channels = scaled.shape[-1]
        check_width(n_channels, len(self.scaling.shift))
        if self.reservoir.n_inputs == n_channels:  # its neurons have a bias
            return scaled
        if self.centred:
            sums = np.cumsum(scaled, axis=-2, dtype=np.float64)[..., -1:, :]  # in order, however series are cut up
            return np.concatenate([scaled, (scaled - sums / scaled.shape[-2]).astype(np.float32)], axis=-1)
        return np.concatenate([scaled, np.ones((*scaled.shape[:-1], 1), np.float32)], axis=-1)


class RowEncoder(NamedTuple):
    """Features from any source, standardised."""

    scaling: Scaling | RunningScaling
    both_signs: bool  # each feature and its negative, so that relu loses neither half
    constant: bool  # and a 1, for readouts that have no other way to a constant output
    random: RandomFeatures  # and random ones made of them

    def check(self) -> None:
        """Refuse random features of others than there are."""
        if self.random.source.size and self.random.source.max() >= len(self.scaling.shift):
            raise ValueError("inconsistent random features")

    @property
    def alike(self) -> tuple[bool, ...]:
        """Features have one size for all."""
        return (True,)

    @property
    def width(self) -> int:
        """Number of states."""
        n_signed = len(self.scaling.shift) * (2 if self.both_signs else 1)
        return n_signed + len(self.random.bias) + self.constant

    def states(self, rows: Series, threads: int) -> NDArray[np.float32]:
        """Return the features as the readout sees them."""
        z = self.scaling.apply(rows.values)
        check_width(z.shape[1], len(self.scaling.shift))
        states = np.empty((len(z), self.width), np.float32)
        states[:, : z.shape[1]] = z
        expand(states, z.shape[1], self.both_signs, self.random, self.constant)
        return states

    def follow(self, rows: Series, threads: int, forgetting: float) -> NDArray[np.float32]:
        """Return the features of rows that are taken into the statistics one after another, each before its own."""
        if isinstance(self.scaling, Scaling):
            return self.states(rows, threads)
        check_width(rows.n_channels, len(self.scaling.shift))
        states = np.empty((len(rows), self.width), np.float32)
        values, parts = np.ascontiguousarray(rows.values, np.float64), (self.both_signs, self.random, self.constant)
        standardised(self.scaling.moments, values, *parts, forgetting, False, True, states)
        return states


def check_width(found: int, expected: int) -> None:
    """Refuse what kernels would read beyond its end: the parts of a damaged model."""
    if found != expected:
        raise ValueError(f"inconsistent model: {found} values where {expected} are expected")


def random_features(n_random: int, n_features: int, rng: np.random.Generator) -> RandomFeatures:
    """Draw random features, each of a few others and a constant."""
    n_sources = min(SOURCES, n_features)
    source = np.argsort(rng.random((n_random, n_features)), axis=1)[:, :n_sources]
    weight = rng.standard_normal((n_random, n_sources)) / np.sqrt(n_sources)
    bias = OFFSET * rng.standard_normal(n_random)
    return RandomFeatures(np.ascontiguousarray(source, np.intp), weight.astype(np.float32), bias.astype(np.float32))
