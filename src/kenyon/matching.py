"""Reservoirs of different kinds at the same level of activity."""

from __future__ import annotations

import math

import numpy as np

from kenyon import _checks
from kenyon.reservoir import Reservoir, stream_chunks
from kenyon.tasks import Task


def matched_gain(
    reservoir: Reservoir,
    reference: Reservoir,
    task: Task,
    *,
    n_episodes: int = 1000,
    seed: int = 0,
    threads: int = 1,
) -> float:
    """Return the `input_gain` at which a reservoir has the mean |V|^2 of another one on a task.

    States are proportional to the gain, because the neurons are rectifying and have no bias: so one run of each
    reservoir is enough, and the match is exact up to rounding.

    Parameters
    ----------
    reservoir
        The one whose gain is wanted, with any gain.
    reference
        The one whose activity it is to have, such as one with the paper's lognormal input weights.
    task
        What both are shown.
    n_episodes
        Number of episodes that the mean is taken over.
    seed
        Decides the episodes, which are the same for both.
    threads
        Number of threads; the result does not depend on it.
    """
    n_episodes = _checks.integer("n_episodes", n_episodes, 1)
    gain = _checks.instance("reservoir", reservoir, Reservoir).input_gain
    if gain is None:
        raise ValueError("reservoir has weights of its own, so it has no input_gain: scale W_in before you pass it")
    sizes = [
        _mean_square(one, task, n_episodes, seed, threads)
        for one in (reservoir, _checks.instance("reference", reference, Reservoir))
    ]
    if not min(sizes) > 0:
        raise ValueError("reservoir and reference must both become active on the task: one has |V|^2 = 0 throughout")
    return gain * math.sqrt(sizes[1] / sizes[0])


def _mean_square(reservoir: Reservoir, task: Task, n_episodes: int, seed: int, threads: int) -> float:
    """Return the mean of |V|^2, summed in an order that does not depend on the number of threads."""
    total = 0.0
    for batch in stream_chunks(reservoir, task, n_episodes, seed, threads):
        total += float(np.square(batch.states, dtype=np.float64).sum())
    return total / n_episodes
