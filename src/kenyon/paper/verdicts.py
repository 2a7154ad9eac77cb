"""Effects with their intervals, and the verdict on a claim that follows from them.

An effect is the mean over seeds of a paired difference (all learners of a seed see the same network, task and
episodes), with the 95% percentile interval of the bootstrap over seeds. It supports a claim if its whole interval lies
on the claimed side, contradicts it if the whole interval lies on the other side, and leaves it open otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

Word = Literal["reproduced", "contradicted", "inconclusive"]
DRAWS = 10_000


class Effect(NamedTuple):
    """One number that bears on a claim."""

    label: str  # what was measured, such as "Composed minus GD_W at 140 stimuli"
    value: float
    low: float
    high: float
    supports: bool | None  # the claim; None if undecided
    unit: str = ""  # such as "accuracy"


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

    With both bounds the claim is that the value lies between them. Without a bound the number is only reported.
    """
    values = np.asarray(samples, np.float64).ravel()
    if not len(values) or not np.isfinite(values).all():
        return Effect(label, float("nan"), float("nan"), float("nan"), None, unit)
    low, high = interval(values)
    return Effect(label, float(values.mean()), low, high, _supports(low, high, above, below), unit)


def interval(values: ArrayLike) -> tuple[float, float]:
    """Return the 95% bootstrap interval of a mean over seeds."""
    array = np.asarray(values, np.float64)
    picks = np.random.default_rng(0).integers(len(array), size=(DRAWS, len(array)))
    low, high = np.percentile(array[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def _supports(low: float, high: float, above: float | None, below: float | None) -> bool | None:
    if above is None and below is None:
        return None
    floor, ceiling = -np.inf if above is None else above, np.inf if below is None else below
    if low > floor and high < ceiling:
        return True
    if high <= floor or low >= ceiling:
        return False
    return None


def conclude(effects: Sequence[Effect]) -> Word:
    """Return the verdict on a claim: it needs the support of all of its effects, and one against it is enough."""
    supports = [effect.supports for effect in effects]
    if False in supports:
        return "contradicted"
    return "reproduced" if supports and all(supports) else "inconclusive"
