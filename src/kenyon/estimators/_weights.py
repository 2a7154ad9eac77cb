"""Weights of series: checked, and gathered so that a weight of 2 is the same as listing a series twice, to the bit.

What is learned in `fit` depends neither on the order in which series are listed nor on how repetitions are written:
equal series with equal targets are one example whose weight is the sum of theirs, and examples are sorted by their
numbers, from the first step on, before any order is drawn. Positive factors of channels and targets leave them sorted
as they are, so units do not matter here either. Series of weight 0 are as good as absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from kenyon import _checks
from kenyon.estimators._series import Series, check_same_length, check_unmasked, chunks, naming

BLOCK = 1024  # numbers of a series that are compared at a time
REPEATS = 100.0  # mean number of times a series is drawn to take scales from; larger weights are scaled down
MOST_SHOWS = 1000.0  # mean weight above which an online learner would take too long over a pass
Indices = NDArray[np.intp]
Numbers = NDArray[np.float64]


class Sample(NamedTuple):
    """Different series, sorted, by their numbers in the data; and their weights."""

    numbers: Indices
    weights: Numbers

    def draw(self, rng: np.random.Generator) -> Indices:
        """Return each number as often as its weight says, the fractional part by chance."""
        relative = in_shows(self.weights) / max(1.0, self.weights.mean() / REPEATS)
        return np.repeat(self.numbers, repeats(relative, rng))

    def by_number(self, n: int, factors: Numbers | None) -> tuple[Numbers, Numbers]:
        """Return the weights of all n series in the data, 0 for those not in here; as they are, and times factors."""
        weights = np.zeros(n)
        weights[self.numbers] = self.weights
        return weights, weights if factors is None else weights * factors


class Selection(NamedTuple):
    """Some series of others, any of them any number of times, without a copy; stands in for `Series`."""

    series: Series
    numbers: Indices

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def static(self) -> bool:
        """Whether these are rows that are constant in time."""
        return self.series.static

    @property
    def lengths(self) -> Indices:
        """The number of steps of each; 1 for rows."""
        return self.series.lengths[self.numbers]

    @property
    def n_channels(self) -> int:
        """The number of features."""
        return self.series.n_channels

    def take(self, chosen: Indices | slice) -> Series:
        """Return some of them."""
        return self.series.take(self.numbers[chosen])

    def steps(self) -> Iterator[Numbers]:
        """Yield all steps, as `Series` does."""
        for chunk in chunks(len(self)):
            yield from self.take(chunk).steps()


def repeats(weights: Numbers, rng: np.random.Generator) -> Indices:
    """Return how often each is shown: as often as its weight says, the fractional part by chance."""
    return np.floor(weights + rng.random(len(weights))).astype(np.intp)


def check_weights(values: Any, n: int) -> Numbers:
    """Return the weights of n series: finite, none negative and not all zero; 1 if none are given."""
    if values is None:
        return np.ones(n)
    check_unmasked("sample_weight", values)
    with naming("sample_weight"):
        weights = np.asarray(
            check_array(values, ensure_2d=False, allow_nd=True, ensure_all_finite=False, ensure_min_samples=0)
        )
    if weights.dtype.kind not in "fiub":
        raise ValueError(f"sample_weight must hold real numbers, not {weights.dtype}")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have one number for each of {n} series, not shape {weights.shape}")
    with np.errstate(over="ignore"):  # infinities are refused below
        weights = weights.astype(np.float64)
    wrong = np.flatnonzero(~((weights >= 0) & (weights <= _checks.BIG)))
    if len(wrong):
        raise ValueError(
            f"sample_weight must hold numbers from 0 to {_checks.BIG:g}, but sample_weight[{wrong[0]}] is "
            f"{weights[wrong[0]]}"
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for all series; at least one weight must be above 0")
    return weights


def weighted(series: Series, targets: NDArray[Any], sample_weight: Any) -> tuple[Series, NDArray[Any], Numbers]:
    """Return series and targets with their weights, without those of weight 0."""
    check_same_length(series, targets)
    weights = check_weights(sample_weight, len(series))
    present = np.flatnonzero(weights)
    if len(present) == len(weights):
        return series, targets, weights
    return series.take(present), targets[present], weights[present]


def in_shows(weights: Numbers) -> Numbers:
    """Return weights as numbers of times that series count: as they are, unless they average below 1.

    Then they are shares, such as those that sum to 1, and are scaled up to an average of 1 (over those above 0).
    """
    above = weights[weights > 0]
    mean = float(np.clip(above.mean(), above.min(), above.max()))  # equal weights are 1 exactly
    return weights / min(1.0, mean)


def check_shows(weights: Numbers) -> None:
    """Refuse weights by which an online learner would be shown far too much."""
    if weights.mean() > MOST_SHOWS:
        raise ValueError(
            f"sample_weight averages {weights.mean():g}; an online learner is shown a series as often as its weight "
            f"says, on average {MOST_SHOWS:g} times at most: divide the weights by their mean"
        )


def gather(series: Series, targets: NDArray[Any], weights: Numbers) -> Sample:
    """Return what there is to learn from: different pairs of series and target, sorted, and their total weights."""
    present = np.flatnonzero(weights).tolist()
    groups, level = [(present, False)], 0
    ends = _sortable(targets.reshape(len(targets), -1))
    while not all(single for _, single in groups):
        parts = ([group] if group[1] else _split(group[0], series, ends, level) for group in groups)
        groups, level = [part for several in parts for part in several], level + 1
    order = np.array([number for members, _ in groups for number in members], np.intp)
    first = np.cumsum([0, *(len(members) for members, _ in groups[:-1])])
    return Sample(order[first], np.add.reduceat(weights[order], first))


def _split(members: list[int], series: Series, ends: NDArray[Any], level: int) -> list[tuple[list[int], bool]]:
    """Sort series by target and by one block of numbers; for each group of equals tell whether it stays together."""
    found: dict[bytes, list[int]] = {}
    whole = 8 * BLOCK + (ends[0].nbytes if level == 0 else 0)
    for number, key in zip(members, _keys(series, np.array(members, np.intp), level), strict=True):
        found.setdefault(ends[number].tobytes() + key if level == 0 else key, []).append(number)
    return [(found[key], len(found[key]) == 1 or len(key) < whole) for key in sorted(found)]


def _keys(series: Series, numbers: Indices, level: int) -> Iterator[bytes]:
    """Yield a block of each series as bytes that sort as its numbers do."""
    block = slice(level * BLOCK, (level + 1) * BLOCK)
    for part in chunks(len(numbers)):
        values = series.take(numbers[part]).values
        if isinstance(values, list):
            yield from (_sortable(one.reshape(-1)[block]).tobytes() for one in values)
        else:
            yield from (row.tobytes() for row in _sortable(values.reshape(len(values), -1)[:, block]))


def _sortable(values: NDArray[Any]) -> NDArray[Any]:
    """Return unsigned words, most significant byte first, in the order of the numbers; 0 and -0 are the same."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign).astype(">u8")
