"""When a learner cannot go on: costs that are no longer finite, or thresholds above all states; and what would help.

`own` is the learner, with its settings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks
from kenyon.kernels.learning import EpisodeLog
from kenyon.learning.protocol import Diverged
from kenyon.learning.state import State

SILENT_EPISODES = 1000  # consecutive episodes without an active neuron after which none is expected any more


def check_costs(own: Any, state: State, V: NDArray[np.float32], part: EpisodeLog) -> None:
    """Refuse states that are not finite, and raise `Diverged` if no network has finite costs any more."""
    if np.isnan(part.norm2[0]).any():
        _checks.single("states", V)
    alive = np.isfinite(part.cost).all(axis=1) & (state.nets.running != np.inf)
    if alive.any():
        return
    bad = int(np.argmin(np.isfinite(part.cost[0])))
    norm2 = float(part.norm2[0][max(0, bad - 1)])
    episode = state.episode - part.cost.shape[1] + bad
    raise Diverged(state.source.name, episode, _remedy(own, norm2))


def check_silence(own: Any, state: State, V: NDArray[np.float32], norm2: NDArray[np.float32]) -> State:
    """Raise `Diverged` if all thresholds have risen above all states, from where no gradient leads back.

    A search may still bring them down, and is given ten decisions to do so.
    """
    if len(norm2) and norm2.all():
        return state._replace(silent=0)
    ends = np.concatenate([[-1 - state.silent], np.flatnonzero(norm2), [len(norm2)]])
    runs = np.diff(ends) - 1
    limit = max(SILENT_EPISODES, 10 * own.stride) if own.search else SILENT_EPISODES
    if runs.max() >= limit:
        rates = " and ".join(name for name in ("eta_w", "mu", "eta_theta", "k") if getattr(own, name) is not None)
        remedy = f"all thresholds exceed all states; use smaller {rates}, or a lower start"
        if not V.any():
            remedy = "all states are 0; check the inputs and W_in of the reservoir"
        message = f"no neuron was active for {limit} consecutive episodes: {remedy}"
        raise Diverged(state.source.name, state.episode, message)
    return state._replace(silent=int(runs[-1]))


def _remedy(own: Any, norm2: float) -> str:
    if own.step == "normalised":
        return f"mu = {own.mu:g} is too large here (|x|^2 = {norm2:.3g}); use a smaller mu or k"
    n = own.batch if own.batch_cost == "sum" else 1
    advice = f"use eta_w below {2 / (n * norm2):.2g}" if norm2 > 0 else "use a smaller eta_w"
    if own.thresholds:
        advice += ", or a higher start, which makes |x| smaller"
    times = f" times the batch of {n}" if n > 1 else ""
    return f"eta_w |x|^2{times} = {n * (own.eta_w or 0.0) * norm2:.3g}, but steps are stable only below 2; {advice}"
