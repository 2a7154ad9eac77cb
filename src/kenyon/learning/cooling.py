"""Cooling: steps that shrink while a learner learns, so that the last episodes do not undo what it stored before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TO_THE_END = ("linear", "sqrt")  # over a known number of episodes: as the share of them that is left, or its root
KINDS = (*TO_THE_END, "power")  # with the number of episodes seen, whatever may come
UNCHANGED = np.ones(1, np.float32)  # for all episodes
POWER, PACE = 0.5, 10_000  # of "power": the exponent, and its horizon by default, in episodes


def factors(kind: str | None, horizon: int | None, episode: int, n: int) -> NDArray[np.float32]:
    """Return the factors on the steps of the next n episodes, of which the first is number `episode`; or one for all.

    After its last episode a learner that cools to the end goes on with the step that it had there.
    """
    if kind is None:
        return UNCHANGED
    if kind == "power":
        horizon = horizon or PACE
    if horizon is None:
        raise ValueError(
            f"horizon must be given to cool by {kind!r}: the number of episodes in all, which `train` and estimators "
            'know; where nobody does, use cooling="power"'
        )
    seen = np.arange(episode, episode + n, dtype=np.float64)
    if kind == "power":
        return ((1.0 + seen / horizon) ** -POWER).astype(np.float32)
    left = np.maximum(1.0 - seen / horizon, 1.0 / horizon)
    return (left if kind == "linear" else np.sqrt(left)).astype(np.float32)
