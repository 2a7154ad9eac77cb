"""Effects with their intervals, and the verdict on a claim that follows from them.

An effect is the mean over seeds of a paired difference (all learners of a seed see the same network, task and
episodes), with its 95% interval by Student's t. A claim is

- reproduced if the whole interval of every effect lies on the claimed side: all must hold, so nothing is corrected;
- contradicted if at least one lies wholly on the other side, after Holm's correction for the number of the claim's
  effects (Holm 1979): the more effects a claim has, the more likely one of them is on the other side by chance;
- inconclusive otherwise. An exact tie, the same for all seeds, contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

Word = Literal["reproduced", "contradicted", "inconclusive"]
ALPHA = 0.05  # 1 minus the coverage of intervals
ROUNDING = 1e-9  # differences this small come from arithmetic, not from the model


class Effect(NamedTuple):
    """One number that bears on a claim."""

    label: str  # what was measured, such as "Composed minus GD_W at 140 stimuli"
    value: float
    low: float
    high: float
    supports: bool | None  # the claim; None if undecided
    unit: str = ""  # such as "accuracy"
    p_against: float = 1.0  # two-sided p-value of the effect being on the other side; 1 if it is not


class Verdict(NamedTuple):
    """The outcome for a claim."""

    number: int
    claim: str  # what the paper says, in our words
    test: str  # what was tested, in words
    verdict: Word
    effects: tuple[Effect, ...]  # the first is one that decided
    figures: tuple[str, ...]  # where to look, such as ("2",)
    note: str = ""  # what a reader should know besides


def effect(
    label: str, samples: ArrayLike, *, above: float | None = None, below: float | None = None, unit: str = ""
) -> Effect:
    """Return the mean of one sample per seed, and whether its whole interval lies above (or below) a bound.

    With both bounds the claim is that the value lies between them. Without a bound the number is only reported. A
    single seed has no interval and decides nothing.
    """
    values = np.asarray(samples, np.float64).ravel()
    if not len(values) or not np.isfinite(values).all():
        return Effect(label, float("nan"), float("nan"), float("nan"), None, unit)
    low, high = interval(values)
    if above is None and below is None:
        return Effect(label, float(values.mean()), low, high, None, unit)
    p = min(1.0 if bound is None else _p_beyond(sign * (values - bound)) for bound, sign in ((above, -1), (below, 1)))
    floor, ceiling = -np.inf if above is None else above, np.inf if below is None else below
    supports = True if low > floor + ROUNDING and high < ceiling - ROUNDING else False if p < ALPHA else None
    return Effect(label, float(values.mean()), low, high, supports, unit, p)


def interval(values: ArrayLike) -> tuple[float, float]:
    """Return the 95% interval of a mean over seeds, by Student's t; NaN for a single seed."""
    array = np.asarray(values, np.float64)
    if len(array) < 2:
        return float("nan"), float("nan")
    half = student.ppf(1 - ALPHA / 2, len(array) - 1) * array.std(ddof=1) / np.sqrt(len(array))
    return float(array.mean() - half), float(array.mean() + half)


def _p_beyond(excess: NDArray[np.float64]) -> float:
    """Return the p-value of a mean above 0: below 0.05 exactly if the whole 95% interval is above 0."""
    mean, n = float(excess.mean()), len(excess)
    if n < 2 or mean <= ROUNDING:
        return 1.0
    error = float(excess.std(ddof=1)) / np.sqrt(n)
    return 2 * float(student.sf(mean / error, n - 1)) if error > 0 else 0.0


def holm(effects: Sequence[Effect]) -> list[Effect]:
    """Return a claim's effects, those that contradict it only by chance, as there are several, now undecided.

    By the step-down procedure of Holm (1979): the smallest p-value must be below 0.05 / m, the next below
    0.05 / (m - 1), and so on to the first that is not. The chance that any of m true statements is contradicted is then
    at most 0.05, however the effects depend on one another.
    """
    found = list(effects)
    order = sorted(range(len(found)), key=lambda i: found[i].p_against)
    rejected = True
    for rank, i in enumerate(order):
        rejected = rejected and found[i].p_against < ALPHA / (len(found) - rank)
        if found[i].supports is False and not rejected:
            found[i] = found[i]._replace(supports=None)
    return found


def conclude(effects: Sequence[Effect]) -> Word:
    """Return the verdict on a claim from its effects, corrected by `holm`."""
    supports = [effect.supports for effect in effects]
    if False in supports:
        return "contradicted"
    return "reproduced" if supports and all(supports) else "inconclusive"
