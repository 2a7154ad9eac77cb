"""Reading a series: what is kept of each neuron's states over time.

    "last"      the state at the end
    "mean"      the mean over all steps
    k           states at k equally spaced steps, of which the end is the last
    "activity"  the share of steps on which the state is above a level, for each of several levels
    "excess"    the sum over steps of relu(V - level), for each of them

Levels are percentiles of each neuron's states over all steps of the series fitted to. Means, shares and sums may be
those of several stretches of a series, of equal length, one after another. All of it is accumulated while series run,
so memory does not grow with their length.

A share p near 0 or 1 varies less from series to series than one in the middle, by about sqrt(p (1-p)). In `even` units,
2 / pi arcsin sqrt(p), from 0 to 1 as before, all vary about equally: a few steps more or less of what hardly ever
happens count as much as many of what often does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks, _seeding
from kenyon.chunks import chunks
from kenyon.kernels.pooling import Kept, spaced
from kenyon.reservoir import Reservoir

WORDS = ("last", "mean", "activity", "excess")
LEVELLED = ("activity", "excess")
PERCENTILES = (55.0, 65.0, 75.0, 85.0, 95.0)
MOST_TIMES = 2**16
GOLDEN = (5**0.5 - 1) / 2  # its multiples spread evenly, however many there are
LEVEL_SERIES, LEVEL_STATES = 128, 1024  # series that levels are taken from, and states of each neuron, at least


class Pooling(NamedTuple):
    """What is kept of each neuron: one number or several, those of all neurons one after another."""

    parts: tuple[str | int, ...]
    percentiles: tuple[float, ...] = ()  # of the levels; none if nothing needs levels
    levels: NDArray[np.float32] | None = None  # (n_levels, n_neurons), once they are known
    spread: float = 0.0  # how far the percentiles of a neuron are from these, at most
    stretches: int = 1  # that means, shares and sums are those of
    even: bool = False  # give shares in units in which all vary about equally

    def check(self) -> None:
        """Refuse parts that do not fit together, as those of a file may not: kernels check nothing."""
        n_levels, known = len(self.percentiles), all(_part(part) == part for part in self.parts)
        levels = np.zeros((n_levels, 0), np.float32) if self.levels is None else self.levels
        known = known and isinstance(self.stretches, int) and self.stretches >= 1
        if not known or levels.dtype != np.float32 or levels.ndim != 2 or len(levels) != n_levels:
            raise ValueError("inconsistent pooling")

    @property
    def plain(self) -> bool:
        """Whether only the last state is kept."""
        return self.parts == (WORDS[0],)

    @property
    def names(self) -> list[str]:
        """What each of the numbers that are kept of a neuron is called."""
        found: list[str] = []
        for part in self.parts:
            if isinstance(part, int):
                found += [f"time {i + 1} of {part}" for i in range(part)]
            elif part == WORDS[0]:
                found.append(part)
            else:
                at = [f"{part} {q:g}" for q in self.percentiles] if part in LEVELLED else [part]
                found += [f"{name}{where}" for where in self._where for name in at]
        return found

    @property
    def _where(self) -> list[str]:
        """What is added to a name for each stretch."""
        k = self.stretches
        return [f" in part {i + 1} of {k}" for i in range(k)] if k > 1 else [""]

    def read(self, reservoir: Reservoir, inputs: Any, threads: int) -> NDArray[np.float32]:
        """Return what is kept of series, an array (n, T, n_inputs) or a list of (T_k, n_inputs); a row for each."""
        lengths = _lengths(inputs)
        levels = np.zeros((0, reservoir.n_neurons), np.float32) if self.levels is None else self.levels
        kept = Kept("mean" in self.parts, "activity" in self.parts, "excess" in self.parts, levels, self.stretches)
        times = {part: spaced(lengths, part if isinstance(part, int) else 1) for part in self.parts if _is_time(part)}
        wanted = np.concatenate([np.zeros((len(lengths), 0), np.intp), *times.values()], axis=1)
        states, sums = _read(reservoir, inputs, kept, wanted, threads)
        sums = sums.reshape(len(lengths), self.stretches, -1, reservoir.n_neurons)
        first, last = int(kept.mean), sums.shape[2] - len(levels) * kept.excess
        sums[:, :, :first] /= self._steps(lengths)
        self._to_shares(sums[:, :, first:last], self._steps(lengths))
        found: dict[str | int, NDArray[np.float32]] = {
            "mean": sums[:, :, :first],
            "activity": sums[:, :, first:last],
            "excess": sums[:, :, last:],
        }
        for part, steps in times.items():
            found[part], states = states[:, : steps.shape[1]], states[:, steps.shape[1] :]
        kinds = [found[part].reshape(len(lengths), -1) for part in self.parts]
        return kinds[0] if len(kinds) == 1 else np.concatenate(kinds, axis=1)

    def _steps(self, lengths: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the number of steps of each stretch of series, shape (n, n_stretches, 1, 1)."""
        steps = np.diff(spaced(lengths, self.stretches), axis=1, prepend=-1)
        return np.maximum(steps, 1).astype(np.float32)[:, :, None, None]

    def whole(self, activity: NDArray[np.float32], lengths: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return activity over whole series, given that of their stretches; to the bit what `read` would return."""
        shares = activity.reshape(len(activity), self.stretches, len(self.percentiles), -1)
        counts, steps = np.empty((len(shares), 1, *shares.shape[2:]), np.float32), self._steps(lengths)
        for some in chunks(len(shares), 8):  # which fit into a cache
            part = np.sin(shares[some] * np.float32(np.pi / 2)) ** 2 if self.even else shares[some]
            np.rint(part * steps[some]).sum(axis=1, keepdims=True, out=counts[some])
        self._to_shares(counts, self._replace(stretches=1)._steps(lengths))
        return counts.reshape(len(activity), -1)

    def _to_shares(self, counts: NDArray[np.float32], steps: NDArray[np.float32]) -> None:
        """Turn counts, shape (n, n_stretches, n_levels, n_neurons), into shares of so many steps, in place."""
        if not self.even:
            counts /= steps
            return
        evened = {k: _evened(k) for k in np.unique(steps).tolist()}
        for place in np.ndindex(counts.shape[:2]):
            counts[place] = evened[steps[place].item()].take(counts[place].astype(np.intp), mode="clip")

    def calibrated(self, reservoir: Reservoir, inputs: Any, seed: int, threads: int) -> Pooling:
        """Return the same with levels, at percentiles of each neuron's states on steps drawn from these series."""
        lengths = _lengths(inputs)
        k = min(int(lengths.max()), -(-LEVEL_STATES // len(lengths)))
        within = _seeding.generator(seed, "estimator", "levels").uniform(size=(len(lengths), k))
        times = ((np.arange(k) + within) * lengths[:, None] / k).astype(np.intp)
        nothing = Kept(False, False, False, np.zeros((0, reservoir.n_neurons), np.float32))
        states = reservoir._pooled(inputs, nothing, times, threads).reshape(-1, reservoir.n_neurons)
        return self._replace(levels=self._levels(states))

    def _levels(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the levels of each neuron: percentiles of its states, all by another amount apart from the usual."""
        if not self.spread:
            return np.asarray(np.percentile(states.astype(np.float64), self.percentiles, axis=0), np.float32)
        apart = self.spread * (2.0 * np.modf(np.arange(states.shape[1]) * GOLDEN)[0] - 1.0)
        ranks = (np.array(self.percentiles)[:, None] + apart) / 100.0 * (len(states) - 1)
        return np.take_along_axis(np.sort(states, axis=0), np.rint(ranks).astype(np.intp), axis=0)


def _evened(n_steps: float) -> NDArray[np.float32]:
    """Return the shares of 0, 1, ... steps in even units: a look is a quarter of the work of an arcsine."""
    return (2.0 / np.pi * np.arcsin(np.sqrt(np.arange(n_steps + 1.0) / n_steps))).astype(np.float32)


def check_pooling(pooling: Any, percentiles: Any) -> Pooling:
    """Return what to keep, without levels, refusing what is neither a part nor several."""
    given = pooling if isinstance(pooling, (list, tuple)) else [pooling]
    parts = tuple(_part(part) for part in given)
    if not parts or len({*parts}) < len(parts):
        raise ValueError(f"pooling must name at least one thing to keep, and none twice, not {pooling!r}")
    if not isinstance(percentiles, (list, tuple, np.ndarray)) or len(percentiles) == 0:
        shown = _checks.short_repr(percentiles)
        raise ValueError(f"pooling_percentiles must be numbers from 0 to 100, at least one, not {shown}")
    found = tuple(_checks.real("pooling_percentiles", q, 0.0, 100.0) for q in percentiles)
    return Pooling(parts, found if {*LEVELLED} & {*parts} else ())


def _part(part: Any) -> str | int:
    if isinstance(part, str):
        return _checks.one_of("pooling", part, WORDS)
    try:
        return _checks.integer("pooling", part, 1, MOST_TIMES)
    except ValueError:
        allowed = f"{', '.join(map(repr, WORDS))}, a number of equally spaced times up to {MOST_TIMES}, or several"
        raise ValueError(f"pooling must be {allowed}, not {_checks.short_repr(part)}") from None


def _is_time(part: str | int) -> bool:
    return isinstance(part, int) or part == "last"


def _lengths(inputs: Any) -> NDArray[np.intp]:
    return np.array([len(series) for series in inputs], np.intp)


def _read(
    reservoir: Reservoir, inputs: Any, kept: Kept, times: NDArray[np.intp], threads: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return states at these times, in whatever order, and the sums."""
    order = np.argsort(times, axis=1, kind="stable")
    out = reservoir._pooled(inputs, kept, np.take_along_axis(times, order, axis=1), threads)
    back = np.argsort(order, axis=1, kind="stable")[:, :, None]
    return np.take_along_axis(out[:, : times.shape[1]], back, axis=1), out[:, times.shape[1] :]
