"""Controls: what a linear readout of V can do at best, offline and online.

Ridge regression solves min_W sum |y_true - W V|^2 + lambda |W|^2 in closed form once all episodes were seen (or the
same with x in the place of V); recursive least squares keeps that solution up to date after every episode, at O(N^2)
each. Other controls are settings of the learners: `GradientWeights(scaling="centred")` or "standardised",
`Metropolis(search="per_neuron")`, `Percentile` starts.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import blas

from kenyon import _checks
from kenyon.kernels.learning import choose
from kenyon.learning.learners import Percentile
from kenyon.learning.protocol import Info, Source
from kenyon.readout import Readout

SMALLEST_PENALTY = 1e-100  # lambda of recursive least squares if all states are practically 0


class RidgeState(NamedTuple):
    """Thresholds, and sums over the episodes seen."""

    theta: NDArray[np.float32] | None  # None: V itself is read
    gram: NDArray[np.float64]  # (N, N): sum of x x^T
    cross: NDArray[np.float64]  # (n_classes, N): sum of y_true x^T
    n_episodes: int


@dataclass(frozen=True, kw_only=True)
class Ridge:
    """Ridge regression on V, or on x with fixed thresholds: the offline ceiling of a linear readout of either.

    Parameters
    ----------
    penalty
        lambda, as a share of the sum of all squared states: 0 is plain least squares.
    target
        Output wanted for the right class; 0 is wanted for the others.
    start
        Read x = relu(V - theta) with thresholds at this number or `Percentile`, where they stay; None reads V.
    """

    penalty: float = 1e-10
    target: float = 10.0
    start: float | Percentile | None = None

    def __post_init__(self) -> None:
        _checks.set_fields(
            self,
            penalty=_checks.real("penalty", self.penalty, 0.0, _checks.LARGE),
            target=_checks.real("target", self.target, _checks.SMALL, _checks.BIG),
        )
        if self.start is not None and not isinstance(self.start, Percentile):
            _checks.set_fields(self, start=_checks.real("start", self.start, -_checks.LARGE, _checks.LARGE))

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> RidgeState:
        """Return the thresholds and empty sums."""
        V, n_classes = _checks.calibration(V), _checks.integer("n_classes", n_classes, 2)
        n, theta = V.shape[1], None
        if isinstance(self.start, Percentile):
            theta = self.start.of(V)
        elif self.start is not None:
            theta = np.full(n, self.start, np.float32)
        return RidgeState(theta, np.zeros((n, n)), np.zeros((n_classes, n)), 0)

    def update(self, state: RidgeState, V: NDArray[np.float32], labels: NDArray[np.intp]) -> tuple[RidgeState, Info]:
        """Add episodes to the sums. Nothing is chosen while learning, so `correct` and `cost` are NaN."""
        _checks.instance("state", state, RidgeState)
        V = _checks.single("states", _checks.states(V, len(state.gram)))
        x = (V if state.theta is None else np.maximum(V - state.theta, np.float32(0))).astype(np.float64)
        labels = _checks.labels(labels, len(x), len(state.cross))
        wanted = self.target * (labels[:, None] == np.arange(len(state.cross)))
        nothing = np.full(len(V), np.nan, np.float32)
        gram, cross = state.gram + x.T @ x, state.cross + wanted.T @ x
        return RidgeState(state.theta, gram, cross, state.n_episodes + len(V)), Info(nothing, nothing)

    def readout(self, state: RidgeState) -> Readout:
        """Solve for the weights."""
        if _checks.instance("state", state, RidgeState).n_episodes == 0:
            return self._readout(state, state.cross)
        lam = self.penalty * max(np.trace(state.gram), np.finfo(float).tiny)
        gram = state.gram + lam * np.eye(len(state.gram))
        with warnings.catch_warnings():
            warnings.simplefilter("error", linalg.LinAlgWarning)
            try:
                W = linalg.solve(gram, state.cross.T, assume_a="pos").T
            except (linalg.LinAlgError, linalg.LinAlgWarning):  # some neurons follow from others: the least weights
                W = linalg.lstsq(gram, state.cross.T)[0].T
        return self._readout(state, W)

    def _readout(self, state: RidgeState, W: NDArray[np.float64]) -> Readout:
        theta = np.zeros(len(state.gram), np.float32) if state.theta is None else state.theta
        return Readout(_checks.single("weights", W), theta, thresholds=state.theta is not None)


class RLSState(NamedTuple):
    """The running solution."""

    W: NDArray[np.float64]  # (n_classes, N)
    P: NDArray[np.float64]  # (N, N): inverse of lambda + sum of V V^T
    episode: int
    source: Source


@dataclass(frozen=True, kw_only=True)
class RecursiveLeastSquares:
    """Recursive least squares on V: ridge regression kept up to date, at O(N^2) per episode.

    Parameters
    ----------
    penalty
        lambda, as a share of the mean squared length of V over the calibration episodes.
    target
        Desired output for the right class; for the others it is 0.
    """

    penalty: float = 1e-3
    target: float = 10.0

    def __post_init__(self) -> None:
        _checks.set_fields(
            self,
            penalty=_checks.real("penalty", self.penalty, 0.0, _checks.LARGE, open_low=True),
            target=_checks.real("target", self.target, _checks.SMALL, _checks.BIG),
        )

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> RLSState:
        """Return W = 0 and P = 1 / lambda."""
        V, n_classes = _checks.calibration(V), _checks.integer("n_classes", n_classes, 2)
        n, source = V.shape[1], _checks.instance("source", source, Source)
        lam = max(self.penalty * float((V.astype(np.float64) ** 2).sum(axis=1).mean()), SMALLEST_PENALTY)
        return RLSState(np.zeros((n_classes, n)), np.asfortranarray(np.eye(n) / lam), 0, source)

    def update(self, state: RLSState, V: NDArray[np.float32], labels: NDArray[np.intp]) -> tuple[RLSState, Info]:
        """Learn from episodes in order."""
        _checks.instance("state", state, RLSState)
        V = _checks.single("states", _checks.states(V, len(state.P)))
        labels = _checks.labels(labels, len(V), len(state.W))
        W, P = state.W.copy(), state.P.copy(order="F")
        uniforms = state.source.uniforms("choice", state.episode, len(V))[:, 0]
        cost, correct, sums = np.empty(len(V), np.float32), np.empty(len(V), np.float32), np.empty(len(W))
        for n, (v, label) in enumerate(zip(V.astype(np.float64), labels, strict=True)):
            y = W @ v
            e = self.target * (np.arange(len(W)) == label) - y
            cost[n], correct[n] = e @ e, choose(y, 1.0, uniforms[n], sums) == label
            Pv = blas.dsymv(1.0, P, v, lower=1)
            gain = Pv / (1.0 + v @ Pv)
            W += np.outer(e, gain)
            P = blas.dsyr(-1.0 / (1.0 + v @ Pv), Pv, a=P, lower=1, overwrite_a=1)
        return state._replace(W=W, P=P, episode=state.episode + len(V)), Info(cost, correct)

    def readout(self, state: RLSState) -> Readout:
        """Return the running solution."""
        W = _checks.single("weights", _checks.instance("state", state, RLSState).W)
        return Readout(W, np.zeros(W.shape[1], np.float32), thresholds=False)
