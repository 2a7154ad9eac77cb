"""Recursive least squares: the ridge regression that is kept up to date after every episode, at O(N^2) each.

Other controls are `Ridge`, which solves once all episodes have been seen, and settings of the learners:
`GradientWeights(scaling="centred")` or "standardised", `Metropolis(search="per_neuron")`, `Percentile` starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from kenyon import _checks
from kenyon.kernels.learning import choose
from kenyon.learning.protocol import Info, Source
from kenyon.learning.ridge import check_outputs, wanted_outputs
from kenyon.learning.rules import QLearning, Regression, Supervised
from kenyon.learning.state import Percentile, fixed_start, initial_thresholds
from kenyon.readout import Readout

SMALLEST_PENALTY = 1e-100  # lambda where all states are close to zero


class RLSState(NamedTuple):
    """The running solution."""

    W: NDArray[np.float64]  # (n_classes, N)
    P: NDArray[np.float64]  # (N, N): inverse of lambda + sum of x x^T; by reward (n_classes, N, N), one for each action
    episode: int
    source: Source
    theta: NDArray[np.float32] | None = None  # None: V itself is read

    def check(self) -> None:
        """Refuse arrays that do not fit together, as those of a file may not."""
        n_classes, n = self.W.shape
        fits = self.P.shape in ((n, n), (n_classes, n, n)) and self.W.dtype == self.P.dtype == np.float64
        if not fits or not (self.theta is None or self.theta.shape == (n,)) or not isinstance(self.episode, int):
            raise ValueError("inconsistent state of recursive least squares")


@dataclass(frozen=True, kw_only=True)
class RecursiveLeastSquares:
    """Recursive least squares on V, or on x with fixed thresholds: ridge kept up to date, at O(N^2) per episode.

    By reward each action is a regression of its own, on the episodes in which it was taken.

    Parameters
    ----------
    penalty
        lambda, as a share of the mean squared length of x over the calibration episodes.
    start
        Read x = relu(V - theta) with thresholds fixed at this number or `Percentile`; None reads V.
    rule
        What it learns from: `Supervised()`, the right class; `Regression()`, real numbers; or `QLearning()`, the reward
        of the action taken.
    """

    penalty: float = 1e-3
    start: float | Percentile | None = None
    rule: Supervised | Regression | QLearning = Supervised()  # noqa: RUF009 (frozen, and so safe to share)

    def __post_init__(self) -> None:
        _checks.set_fields(self, penalty=_checks.real("penalty", self.penalty, 0.0, _checks.LARGE, open_low=True))
        if self.start is not None and not isinstance(self.start, Percentile):
            _checks.set_fields(self, start=fixed_start(self.start, "a Percentile(q) or None"))
        if not isinstance(self.rule, (Supervised, Regression, QLearning)):
            raise ValueError(
                f"rule must be Supervised(), Regression() or QLearning(), not {_checks.short_repr(self.rule)}"
            )

    @property
    def thresholds(self) -> bool:
        """Whether it reads x = relu(V - theta)."""
        return self.start is not None

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> RLSState:
        """Return W = 0 and P = 1 / lambda."""
        V, n_outputs = _checks.calibration(V), check_outputs(self.rule, n_classes)
        n, source = V.shape[1], _checks.instance("source", source, Source)
        theta = None if self.start is None else initial_thresholds(self.start, V)
        lam = max(self.penalty * float((_features(V, theta) ** 2).sum(axis=1).mean()), SMALLEST_PENALTY)
        P = np.asfortranarray(np.eye(n) / lam)
        if isinstance(self.rule, QLearning):
            P = np.repeat(P[None], n_outputs, axis=0)
        return RLSState(np.zeros((n_outputs, n)), P, 0, source, theta)

    def update(self, state: RLSState, V: NDArray[np.float32], labels: NDArray[np.generic]) -> tuple[RLSState, Info]:
        """Learn from episodes in order."""
        _checks.instance("state", state, RLSState)
        V = _checks.single("states", _checks.states(V, state.W.shape[1]))
        wanted = wanted_outputs(self.rule, labels, len(V), len(state.W))
        by_reward = isinstance(self.rule, QLearning)
        if by_reward is not (state.P.ndim == 3):
            raise ValueError(f"state must come from a learner by {type(self.rule).__name__}(), as this one is")
        W, P = state.W.copy(), state.P.copy() if by_reward else state.P.copy(order="F")
        uniforms = state.source.uniforms("choice", state.episode, len(V))[:, 0]
        temperatures = self.rule.temperatures(state.episode, len(V))
        cost, correct, sums = np.empty(len(V), np.float32), np.empty(len(V), np.float32), np.empty(len(W))
        for n, (x, y_true) in enumerate(zip(_features(V, state.theta), wanted, strict=True)):
            y = W @ x
            action = max(choose(y, temperatures[n], uniforms[n], sums), 0)
            rows, inverse = (slice(action, action + 1), P[action].T) if by_reward else (slice(None), P)
            e = (y_true - y)[rows]
            cost[n], correct[n] = e @ e, y_true[action] > 0
            W[rows] += np.outer(e, gain(inverse, x))
        if isinstance(self.rule, Regression):
            correct[:] = np.nan
        return state._replace(W=W, P=P, episode=state.episode + len(V)), Info(cost, correct)

    def readout(self, state: RLSState) -> Readout:
        """Return the running solution."""
        W = _checks.single("weights", _checks.instance("state", state, RLSState).W)
        theta = np.zeros(W.shape[1], np.float32) if state.theta is None else state.theta
        temperature = float(self.rule.temperatures(state.episode, 1)[0])
        return Readout(W, theta, thresholds=state.theta is not None, temperature=temperature)


def _features(V: NDArray[np.float32], theta: NDArray[np.float32] | None) -> NDArray[np.float64]:
    return (V if theta is None else np.maximum(V - theta, np.float32(0))).astype(np.float64)


def gain(P: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take x into P, of which the lower triangle counts, in place; return how an error is shared between neurons."""
    Px = blas.dsymv(1.0, P, x, lower=1)
    size = 1.0 + x @ Px
    blas.dsyr(-1.0 / size, Px, a=P, lower=1, overwrite_a=1)
    return np.asarray(Px / size)
