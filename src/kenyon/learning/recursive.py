"""Recursive least squares with thresholds: weights by least squares, thresholds by gradient, one episode at a time.

    x = [V, relu(V - theta)],    y = W x,    W = [A, B]

Each neuron is read as it is and beyond its threshold, so y is a piecewise linear function of its state, with a bend at
theta, and whatever is linear in V can be said exactly. For each episode, with e = y_true - y,

    g = P x / (1 + x P x),      P <- P - g (P x)^T,      W <- W + e g^T           weights: least squares so far
    e <- y_true - W x,          b_i = [V_i > theta_i] B_i                         thresholds: the error that is left
    theta_i <- theta_i - p_i (b_i e) / S,    p_i <- p_i - p_i^2 |b_i|^2 / S,      S = R^2 + sum_i p_i |b_i|^2

R being the size of the targets. Thresholds move down the gradient of |e|^2, by no more than what would remove e. p_i is
what is still unknown of a threshold: its variance in a Kalman filter that follows each threshold by itself (decoupled,
as in Puskorius & Feldkamp 1994). It begins at the square of `reach` deviations, and falls as the threshold is made use
of. So steps cool by themselves, and no length of the run need be known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kenyon import _checks
from kenyon.kernels.learning import choose
from kenyon.learning.controls import SMALLEST_PENALTY, gain
from kenyon.learning.protocol import Info, Source
from kenyon.learning.ridge import check_outputs, check_rule, wanted_outputs
from kenyon.learning.rules import Regression, Supervised
from kenyon.learning.state import Percentile, fixed_start, initial_thresholds
from kenyon.readout import ON_OFF, Readout

Array = NDArray[np.float64]


class RecursiveState(NamedTuple):
    """The running solution."""

    W: Array  # (n_outputs, 2 N): weights of V, and of relu(V - theta)
    P: Array  # (2 N, 2 N): inverse of lambda + sum of x x^T, of which the lower triangle counts
    theta: Array  # (N,)
    p: Array  # (N,): variance that each threshold still has
    episode: int
    source: Source

    def check(self) -> None:
        """Refuse arrays that do not fit together, as those of a file may not."""
        n = len(self.theta)
        shapes = [self.W.shape[1:] == (2 * n,), self.P.shape == (2 * n, 2 * n), self.p.shape == (n,), n > 0]
        doubles = [part.dtype == np.float64 for part in (self.W, self.P, self.theta, self.p)]
        if not all(shapes + doubles) or not isinstance(self.episode, int) or self.episode < 0:
            raise ValueError("inconsistent state of recursive least squares")


@dataclass(frozen=True, kw_only=True)
class RecursiveThresholds:
    """Recursive least squares of V and relu(V - theta), with thresholds that learn by gradient; O(N^2) per episode.

    The most exact of the online learners, for real numbers above all, and the most expensive one.

    Parameters
    ----------
    penalty
        lambda, as a share of the mean squared length of x over the calibration episodes. Noise-free series need little.
    start
        Initial thresholds: a number, or this `Percentile` of each neuron's states.
    reach
        How far thresholds may move, in standard deviations of their neurons' states, if errors are as large as targets.
        0 holds them.
    rule
        What it learns from: `Supervised()`, the right class, or `Regression()`, real numbers.
    """

    penalty: float = 1e-9
    start: float | Percentile = Percentile(50.0)  # noqa: RUF009 (frozen, and so safe to share)
    reach: float = 10.0
    rule: Supervised | Regression = Supervised()  # noqa: RUF009 (frozen, and so safe to share)

    def __post_init__(self) -> None:
        _checks.set_fields(
            self,
            penalty=_checks.real("penalty", self.penalty, 0.0, _checks.LARGE, open_low=True),
            reach=_checks.real("reach", self.reach, 0.0, _checks.LARGE),
        )
        if not isinstance(self.start, Percentile):
            _checks.set_fields(self, start=fixed_start(self.start, "or a Percentile(q)"))
        check_rule(self.rule)

    @property
    def thresholds(self) -> bool:
        """Whether it has thresholds: it does."""
        return True

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> RecursiveState:
        """Return W = 0, P = 1 / lambda and the thresholds at their start."""
        V, n_outputs = _checks.calibration(V), check_outputs(self.rule, n_classes)
        source, n = _checks.instance("source", source, Source), V.shape[1]
        theta = initial_thresholds(self.start, V).astype(np.float64)
        x = _features(V.astype(np.float64), theta)
        lam = max(self.penalty * float((x**2).sum(axis=1).mean()), SMALLEST_PENALTY)
        p = self.reach**2 * V.var(axis=0, dtype=np.float64)
        return RecursiveState(np.zeros((n_outputs, 2 * n)), np.eye(2 * n) / lam, theta, p, 0, source)

    def update(
        self, state: RecursiveState, V: NDArray[np.float32], labels: NDArray[np.generic]
    ) -> tuple[RecursiveState, Info]:
        """Learn from episodes in order."""
        _checks.instance("state", state, RecursiveState)
        V = _checks.single("states", _checks.states(V, len(state.theta)))
        wanted = wanted_outputs(self.rule, labels, len(V), len(state.W))
        W, P, theta, p = state.W.copy(), state.P.copy(order="F"), state.theta.copy(), state.p.copy()
        uniforms = state.source.uniforms("choice", state.episode, len(V))[:, 0]
        temperatures = self.rule.temperatures(state.episode, len(V))
        cost, correct, sums = np.empty(len(V), np.float32), np.full(len(V), np.nan, np.float32), np.empty(len(W))
        with threadpool_limits(1, "blas"):  # so that bits do not depend on the number of threads
            for n, (v, y_true) in enumerate(zip(V.astype(np.float64), wanted, strict=True)):
                x = _features(v, theta)
                y = W @ x
                e = y_true - y
                cost[n] = e @ e
                if isinstance(self.rule, Supervised):
                    correct[n] = y_true[max(choose(y, temperatures[n], uniforms[n], sums), 0)] > 0
                W += np.outer(e, gain(P, x))
                if self.reach:
                    _move(theta, p, W, v, x, y_true, self.rule.target)
        new = RecursiveState(W, P, theta, p, state.episode + len(V), state.source)
        return new, Info(cost, correct)

    def readout(self, state: RecursiveState) -> Readout:
        """Return the running solution, as on and off units around each threshold: V = theta + on - off."""
        _checks.instance("state", state, RecursiveState)
        linear, bend = np.split(state.W, 2, axis=1)
        W = _checks.single("weights", np.hstack([linear + bend, -linear]))
        theta = np.tile(state.theta.astype(np.float32), 2)
        temperature = float(self.rule.temperatures(state.episode, 1)[0])
        return Readout(W, theta, temperature=temperature, bias=linear @ state.theta, code=ON_OFF)


def _features(V: Array, theta: Array) -> Array:
    """Return x for one row of states or for many."""
    return np.concatenate([V, np.maximum(V - theta, 0.0)], axis=-1)


def _move(theta: Array, p: Array, W: Array, v: Array, x: Array, y_true: Array, size: float) -> None:
    """Move thresholds towards what is left of the error, in place."""
    b = np.where(v > theta, W[:, len(v) :], 0.0)
    squares = (b**2).sum(axis=0)
    S = size**2 + p @ squares
    theta -= p * ((y_true - W @ x) @ b) / S
    p -= p**2 * squares / S
