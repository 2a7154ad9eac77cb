"""Statistics of a stream, kept up to date row by row with a few numbers for each feature, in double precision.

Mean and variance (Welford 1962), of all rows or with a forgetting factor g, by which the weight of a row falls with
every row that follows; g = 1 forgets nothing:

    w = g w + 1,    d = s - mean,    mean += d / w,    square = g square + d (s - mean),    variance = square / w

Percentiles by the P2 algorithm (Jain & Chlamtac 1985): five markers for each, which are the smallest and the largest
value so far, the percentile itself and one between it and either end. Each marker has a height, a value of the feature,
and a place, the number of values up to it. After every row those whose places are off by one or more from where they
should be are moved, along a parabola through their neighbours. The first five values are kept as they are.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kenyon.kernels.cache import kernel

MARKERS = 5


class Moments(NamedTuple):
    """Means and squared deviations. Kernels change them in place."""

    weight: NDArray[np.float64]  # (n,): of all values; their number if none are forgotten
    mean: NDArray[np.float64]  # (n,)
    square: NDArray[np.float64]  # (n,): sum of squared deviations

    @property
    def deviation(self) -> NDArray[np.float64]:
        """The standard deviation of each feature."""
        return np.asarray(np.sqrt(self.square / np.maximum(self.weight, 1.0)))

    def check(self) -> None:
        """Refuse arrays that do not fit together, as those of a file may not: kernels check nothing."""
        if (
            {part.shape for part in self} != {self.mean.shape}
            or self.mean.ndim != 1
            or any(p.dtype != np.float64 for p in self)
        ):
            raise ValueError("inconsistent moments")


class Percentiles(NamedTuple):
    """One percentile of each feature. Kernels change it in place."""

    share: NDArray[np.float64]  # (1,): of the values that are below it
    rows: NDArray[np.float64]  # (1,): how many so far
    heights: NDArray[np.float64]  # (n, MARKERS)
    places: NDArray[np.float64]  # (n, MARKERS)

    def check(self) -> None:
        """Refuse arrays that do not fit together."""
        shapes = [(1,), (1,), (len(self.heights), MARKERS), (len(self.heights), MARKERS)]
        fits = [part.shape for part in self] == shapes and all(part.dtype == np.float64 for part in self)
        if not fits or not 0.0 <= self.share[0] <= 1.0 or not 0.0 <= self.rows[0] < np.inf:
            raise ValueError("inconsistent percentiles")


def no_moments(n: int) -> Moments:
    """Return moments of n features before the first row."""
    return Moments(np.zeros(n), np.zeros(n), np.zeros(n))


def no_percentiles(n: int, q: float) -> Percentiles:
    """Return percentile q of n features before the first row."""
    places = np.repeat(np.arange(1.0, MARKERS + 1.0)[None], n, axis=0)
    return Percentiles(np.array([q / 100.0]), np.zeros(1), np.zeros((n, MARKERS)), places)


@kernel
def take_moments(moments, rows, forgetting):
    """Take rows into the moments, in order. Values that are missing (NaN) change nothing."""
    for n in range(len(rows)):
        for i in range(rows.shape[1]):
            value = np.float64(rows[n, i])
            if np.isnan(value):
                continue
            moments.weight[i] = forgetting * moments.weight[i] + 1.0
            difference = value - moments.mean[i]
            moments.mean[i] += difference / moments.weight[i]
            moments.square[i] = forgetting * moments.square[i] + difference * (value - moments.mean[i])


@kernel
def take_percentiles(percentiles, rows):
    """Take rows into the percentiles, in order."""
    share, heights, places = percentiles.share[0], percentiles.heights, percentiles.places
    for n in range(len(rows)):
        count = percentiles.rows[0]
        for i in range(rows.shape[1]):
            if count < MARKERS:
                _insert(heights, i, int(count), np.float64(rows[n, i]))
            else:
                _count(heights, places, i, np.float64(rows[n, i]))
                for k in range(1, MARKERS - 1):
                    _settle(heights, places, i, k, 1.0 + count * _wanted(k, share) - places[i, k])
        percentiles.rows[0] += 1.0


@kernel
def percentile(percentiles, i):
    """Return the percentile of feature i; between values, as NumPy does, as long as there are fewer than five."""
    count, heights = int(percentiles.rows[0]), percentiles.heights[i]
    if count > MARKERS:
        return heights[2]
    if count == 0:
        return 0.0
    place = percentiles.share[0] * (count - 1)
    below = min(int(place), count - 1)
    above = min(below + 1, count - 1)
    return heights[below] + (place - below) * (heights[above] - heights[below])


@njit
def last(percentiles):
    """Return the number of the marker of the largest value."""
    return min(int(percentiles.rows[0]), MARKERS) - 1


@njit
def _wanted(k, share):
    """Return the share of values that should be up to marker k."""
    if k == 2:
        return share
    return share / 2.0 if k == 1 else (1.0 + share) / 2.0


@njit
def _insert(heights, i, count, value):
    """Put one of the first values where it belongs."""
    k = count
    while k > 0 and heights[i, k - 1] > value:
        heights[i, k] = heights[i, k - 1]
        k -= 1
    heights[i, k] = value


@njit
def _count(heights, places, i, value):
    """Move the ends if the value lies beyond them, and count it in the places of all markers above it."""
    heights[i, 0], heights[i, MARKERS - 1] = min(heights[i, 0], value), max(heights[i, MARKERS - 1], value)
    for k in range(1, MARKERS - 1):
        if value < heights[i, k]:
            places[i, k] += 1.0
    places[i, MARKERS - 1] += 1.0


@njit
def _settle(heights, places, i, k, off):
    """Move marker k by one place if it is off by as much and there is room; its height follows its neighbours'."""
    if abs(off) < 1.0:
        return
    up, down = places[i, k + 1] - places[i, k], places[i, k] - places[i, k - 1]
    if up <= 1.0 if off > 0.0 else down <= 1.0:
        return
    step = 1.0 if off > 0.0 else -1.0
    rise, fall = (heights[i, k + 1] - heights[i, k]) / up, (heights[i, k] - heights[i, k - 1]) / down
    height = heights[i, k] + step / (up + down) * ((down + step) * rise + (up - step) * fall)
    if not heights[i, k - 1] < height < heights[i, k + 1]:
        height = heights[i, k] + (rise if step > 0.0 else -fall)
    heights[i, k] = height
    places[i, k] += step
