"""Learners that only claims need: thresholds shifted after learning, and the parts of V above and below one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks
from kenyon.kernels.learning import networks
from kenyon.learning.learners import GradientThresholds, Learner
from kenyon.learning.protocol import Info, Source
from kenyon.learning.ridge import Ridge, RidgeState
from kenyon.learning.rules import Supervised
from kenyon.learning.state import ROWS, State
from kenyon.readout import Readout


@dataclass(frozen=True, kw_only=True)
class Relearned:
    """GD_theta for the first episodes; then its thresholds, shifted by a common amount, are held and W is learned anew.

    Parameters
    ----------
    first
        Episodes in which thresholds learn.
    shift
        What is added to all thresholds afterwards.
    rule
        What it learns from.
    """

    first: int = 60_000
    shift: float = 0.0
    rule: Supervised = Supervised()  # noqa: RUF009 (frozen, and so safe to share)
    thresholds: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _checks.set_fields(self, first=_checks.integer("first", self.first, 1))
        _checks.set_fields(self, shift=_checks.real("shift", self.shift, -_checks.LARGE, _checks.LARGE))

    @property
    def _first(self) -> GradientThresholds:
        return GradientThresholds(rule=self.rule)

    @property
    def _then(self) -> Learner:
        return Learner(rule=self.rule)

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> State:
        """Return the first state."""
        return self._first.begin(V, n_classes, source)

    def update(self, state: State, V: NDArray[np.float32], labels: NDArray[np.generic]) -> tuple[State, Info]:
        """Learn from episodes in order, those before and after the shift apart."""
        left = max(0, self.first - state.episode)
        state, before = self._first.update(state, V[:left], labels[:left])
        if 0 < left <= len(V):
            theta = self._first.readout(state).theta + np.float32(self.shift)
            state = state._replace(nets=networks(1, max(ROWS, state.n_outputs), theta))
        state, after = self._then.update(state, V[left:], labels[left:])
        cost, correct = (np.concatenate(parts) for parts in zip(before[:2], after[:2], strict=True))
        return state, Info(cost, correct)

    def readout(self, state: State) -> Readout:
        """Return what was learned so far."""
        return self._then.readout(state)


class PartState(NamedTuple):
    """The threshold, and the sums of the regression."""

    theta: float
    sums: RidgeState
    episode: int


@dataclass(frozen=True, kw_only=True)
class RidgePart:
    """Ridge regression on the part of V above one threshold, relu(V - theta), or below it, min(V, theta).

    Parameters
    ----------
    part
        "above" or "below".
    quantile
        The threshold is this quantile of all states in the calibration episodes.
    episodes
        Episodes that count: the first so many.
    rule
        What it learns from.
    """

    part: str = "above"
    quantile: float = 0.5
    episodes: int = 10_000
    rule: Supervised = Supervised()  # noqa: RUF009 (frozen, and so safe to share)

    def __post_init__(self) -> None:
        _checks.one_of("part", self.part, ("above", "below"))
        _checks.set_fields(self, quantile=_checks.real("quantile", self.quantile, 0.0, 1.0))
        _checks.set_fields(self, episodes=_checks.integer("episodes", self.episodes, 1))

    @property
    def _ridge(self) -> Ridge:
        return Ridge(rule=self.rule)

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> PartState:
        """Return the threshold and empty sums."""
        theta = float(np.quantile(_checks.calibration(V).astype(np.float64), self.quantile))
        return PartState(theta, self._ridge.begin(V, n_classes, source), 0)

    def update(self, state: PartState, V: NDArray[np.float32], labels: NDArray[np.generic]) -> tuple[PartState, Info]:
        """Add episodes to the sums, as long as they count."""
        n = min(len(V), max(0, self.episodes - state.episode))
        sums = state.sums
        if n:
            sums, _ = self._ridge.update(sums, _part(V[:n], self.part, np.float32(state.theta)), labels[:n])
        unknown = np.full(len(V), np.nan, np.float32)
        return PartState(state.theta, sums, state.episode + len(V)), Info(unknown, unknown)

    def readout(self, state: PartState) -> Readout:
        """Solve for the weights."""
        solved = self._ridge.readout(state.sums)
        theta = np.full(solved.W.shape[1], state.theta, np.float32)
        kind = Readout if self.part == "above" else _Below
        return kind(solved.W, theta, temperature=solved.temperature)


class _Below(Readout):
    """A readout of min(V, theta)."""

    def features(self, V: NDArray[np.float32]) -> NDArray[np.float32]:
        return _part(V, "below", self.theta)


def _part(V: NDArray[np.float32], part: str, theta: NDArray[np.float32] | np.float32) -> NDArray[np.float32]:
    return np.maximum(V - theta, np.float32(0)) if part == "above" else np.minimum(V, theta)
