"""Controls that learn weights alone: what else could be done with the same states, at O(N) an episode.

| name              | what it is                                                                                 |
|-------------------|--------------------------------------------------------------------------------------------|
| AdaptiveSteps     | gradients on the squared error with steps of each weight's own: AdaGrad, RMSprop or Adam   |
| PassiveAggressive | the smallest change that repairs an episode, limited: PA-I                                  |
| ALMA              | an approximation of the largest margin                                                     |

They read V as it is, centred or standardised, or x = relu(V - theta) at thresholds that stay where they start. All
follow `LearnerProtocol`; experiments name them as `kind = "kenyon.paper.controls:AdaptiveSteps"`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks
from kenyon.learning.learners import Learner
from kenyon.learning.protocol import Diverged, Info, Source
from kenyon.learning.rules import QLearning, Supervised
from kenyon.learning.state import Percentile, fixed_start
from kenyon.paper.control_kernels import adapt, approach, padded, resist, steps_of
from kenyon.readout import Readout

METHODS = {  # numbers as they were published; the rate is the learner's
    "adagrad": steps_of(0.0, 1.0, 1.0, corrected=False),
    "rmsprop": steps_of(0.0, 0.9, 0.1, corrected=False),
    "adam": steps_of(0.9, 0.999, 0.001, corrected=True),
}
TOLERANCE = 0.1  # share of the reward by which an output may miss it, in passive-aggressive regression


class ControlState(NamedTuple):
    """What a control needs to go on."""

    W: NDArray[np.float32]  # (n_classes, n_padded)
    moments: NDArray[np.float32]  # (2, n_classes, n_padded): of the gradients of adaptive steps
    steps: NDArray[np.int64]  # (n_classes,): steps that each row has taken
    norm2: float  # mean |x|^2 over the calibration episodes
    reading: Readout  # how V is read; it has no weights yet
    episode: int
    source: Source


@dataclass(frozen=True, kw_only=True)
class _Control(ABC):
    """What controls share: how V is read, and the way to the kernel and back.

    Parameters
    ----------
    start
        Read x = relu(V - theta) with thresholds fixed at this number or `Percentile`; None reads V.
    scaling
        Without thresholds, read V "centred" or "standardised" by the calibration episodes; or None.
    """

    start: float | Percentile | None = None
    scaling: str | None = None

    def __post_init__(self) -> None:
        if self.start is not None and not isinstance(self.start, Percentile):
            _checks.set_fields(self, start=fixed_start(self.start, "a Percentile(q) or None"))
        self._reader()

    @property
    def thresholds(self) -> bool:
        """Whether it reads x = relu(V - theta)."""
        return self.start is not None

    def _reader(self) -> Learner:
        """Return a learner that reads V in the same way, which refuses impossible settings."""
        return Learner(thresholds=self.thresholds, start=self.start, scaling=self.scaling)

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> ControlState:
        """Return W = 0, and how V is read. `V` holds the calibration episodes."""
        reading = self._reader().readout(self._reader().begin(V, n_classes, source))
        x = padded(reading.features(V))
        norm2 = max(float(np.square(x, dtype=np.float64).sum(axis=1).mean()), float(np.finfo(np.float32).tiny))
        W, moments = np.zeros((n_classes, x.shape[1]), np.float32), np.zeros((2, n_classes, x.shape[1]), np.float32)
        return ControlState(W, moments, np.zeros(n_classes, np.int64), norm2, reading, 0, source)

    def update(
        self, state: ControlState, V: NDArray[np.float32], labels: NDArray[np.generic]
    ) -> tuple[ControlState, Info]:
        """Learn from episodes in order; return the new state and what happened. `state` is left as it was."""
        x = padded(_checks.instance("state", state, ControlState).reading.features(V))
        classes = _checks.labels(labels, len(x), len(state.W))
        state = state._replace(W=state.W.copy(), moments=state.moments.copy(), steps=state.steps.copy())
        info = Info(np.empty(len(x), np.float32), np.empty(len(x), np.float32))
        self._learn(state, x, classes, info)
        lost = np.flatnonzero(~np.isfinite(info.cost))
        if len(lost):
            raise Diverged(state.source.name, state.episode + int(lost[0]), "its cost is not finite; use smaller steps")
        return state._replace(episode=state.episode + len(x)), info

    @abstractmethod
    def _learn(self, state: ControlState, x: NDArray[np.float32], labels: NDArray[np.intp], info: Info) -> None:
        """Change the arrays of `state`, and fill in those of `info`."""

    def readout(self, state: ControlState) -> Readout:
        """Return what was learned so far."""
        reading = _checks.instance("state", state, ControlState).reading
        return reading._replace(W=state.W[:, : reading.W.shape[1]].copy(), temperature=self._temperature(state.episode))

    @abstractmethod
    def _temperature(self, episode: int) -> float:
        """Return the temperature of choices from this episode on."""


@dataclass(frozen=True, kw_only=True)
class _Drawn(_Control):
    """A control that draws its choices from softmax(y / temperature), and may learn from their rewards alone."""

    rule: Supervised | QLearning = Supervised()  # noqa: RUF009 (frozen, and so safe to share)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.rule, (Supervised, QLearning)):
            raise ValueError(f"rule must be Supervised() or QLearning(), not {_checks.short_repr(self.rule)}")

    def _told(self) -> tuple[np.float32, bool]:
        """Return `target` and `by_reward` as kernels take them."""
        return np.float32(self.rule.target), isinstance(self.rule, QLearning)

    def _choices(self, state: ControlState, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the random numbers of the next n choices, and their temperatures."""
        uniforms = state.source.uniforms("choice", state.episode, n, 1)[:, 0]
        return uniforms, self.rule.temperatures(state.episode, n)

    def _temperature(self, episode: int) -> float:
        return float(self.rule.temperatures(episode, 1)[0])


@dataclass(frozen=True, kw_only=True)
class AdaptiveSteps(_Drawn):
    """Gradients on the squared error, g_ji = e_j x_i, with steps of each weight's own size.

    By reward only the row of the action taken learns; its moments and its count of steps are its own.

    Parameters
    ----------
    method
        "adagrad" (Duchi, Hazan & Singer 2011), W += rate g / sqrt(sum of g^2); "rmsprop" (Tieleman & Hinton 2012), with
        a running mean of g^2 instead; "adam" (Kingma & Ba 2015), with a running mean of g too. Their other numbers
        are the published ones.
    rate
        In units of target / sqrt(N mean |x|^2), the size of weights that together make an output right; so it means the
        same whatever is read.
    start, scaling
        How V is read: at fixed thresholds, "centred" or "standardised", or, if both are None, as it is.
    rule
        What it learns from: `Supervised()` or `QLearning()`.
    """

    method: str = "adam"
    rate: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.one_of("method", self.method, tuple(METHODS))
        _checks.set_fields(self, rate=_checks.real("rate", self.rate, 0.0, _checks.LARGE, open_low=True))

    def _learn(self, state: ControlState, x: NDArray[np.float32], labels: NDArray[np.intp], info: Info) -> None:
        unit = self.rule.target / np.sqrt(state.reading.W.shape[1] * state.norm2)
        step = METHODS[self.method]._replace(rate=np.float32(self.rate * unit))
        told, choices = self._told(), self._choices(state, len(x))
        adapt(step, *told, state.W, *state.moments, state.steps, x, labels, *choices, info.cost, info.correct)


@dataclass(frozen=True, kw_only=True)
class PassiveAggressive(_Drawn):
    """PA-I (Crammer et al. 2006): each episode's loss is repaired by the smallest change of weights, up to a limit.

    Told the class, the loss is what the right output lacks of leading the best wrong one by the target, and these two
    rows learn. By reward (their regression) it is the distance of the chosen output from the reward, beyond a tenth of
    the reward, and only that row learns.

    Parameters
    ----------
    aggressiveness
        The limit C, in units of target / mean |x|^2; so it means the same whatever is read.
    start, scaling
        How V is read: at fixed thresholds, "centred" or "standardised", or, if both are None, as it is.
    rule
        What it learns from: `Supervised()` or `QLearning()`.
    """

    aggressiveness: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        limit = _checks.real("aggressiveness", self.aggressiveness, 0.0, _checks.LARGE, open_low=True)
        _checks.set_fields(self, aggressiveness=limit)

    def _learn(self, state: ControlState, x: NDArray[np.float32], labels: NDArray[np.intp], info: Info) -> None:
        target, by_reward = self._told()
        limit, tolerance = np.float32(self.aggressiveness * target / state.norm2), np.float32(TOLERANCE * target)
        choices = self._choices(state, len(x))
        resist(limit, tolerance, target, by_reward, state.W, state.steps, x, labels, *choices, info.cost, info.correct)


@dataclass(frozen=True, kw_only=True)
class ALMA(_Control):
    """ALMA with p = 2 (Gentile 2001): approximates the hyperplane of largest margin, each class against the rest.

    In step k of a row, its margin, sign w x / |x|, should exceed (1 - alpha) B / sqrt(k). If not, w += sign C / sqrt(k)
    x / |x|, brought back into the unit ball, with B = 1 / alpha and C = sqrt(2), as in River, LIBOL and JSAT. (With two
    classes, one row mirrors the other.) The largest output is taken: outputs tell a side, not a size. So it cannot
    learn by reward: without the right class there is no side, and a value to be matched has no margin.

    Parameters
    ----------
    alpha
        Share of the margin that may be lost, from above 0 to 1; with 1 only mistakes teach.
    start, scaling
        How V is read: at fixed thresholds, "centred" or "standardised", or, if both are None, as it is.
    """

    alpha: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.set_fields(self, alpha=_checks.real("alpha", self.alpha, 0.0, 1.0, open_low=True))

    def _learn(self, state: ControlState, x: NDArray[np.float32], labels: NDArray[np.intp], info: Info) -> None:
        B, C = 1.0 / self.alpha, np.sqrt(2.0)
        approach(self.alpha, B, C, state.W, state.steps, x, labels, info.cost, info.correct)

    def _temperature(self, episode: int) -> float:
        return 0.0
