"""Recursive least squares: the ridge regression of V that is kept up to date after every episode, at O(N^2) each.

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
from kenyon.learning.ridge import check_outputs, check_rule, wanted_outputs
from kenyon.learning.rules import Regression, Supervised
from kenyon.readout import Readout

SMALLEST_PENALTY = 1e-100  # lambda where all states are close to zero


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
    rule
        What it learns from: `Supervised()`, the right class, or `Regression()`, real numbers.
    """

    penalty: float = 1e-3
    rule: Supervised | Regression = Supervised()  # noqa: RUF009 (frozen, and so safe to share)

    def __post_init__(self) -> None:
        _checks.set_fields(self, penalty=_checks.real("penalty", self.penalty, 0.0, _checks.LARGE, open_low=True))
        check_rule(self.rule)

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> RLSState:
        """Return W = 0 and P = 1 / lambda."""
        V, n_outputs = _checks.calibration(V), check_outputs(self.rule, n_classes)
        n, source = V.shape[1], _checks.instance("source", source, Source)
        lam = max(self.penalty * float((V.astype(np.float64) ** 2).sum(axis=1).mean()), SMALLEST_PENALTY)
        return RLSState(np.zeros((n_outputs, n)), np.asfortranarray(np.eye(n) / lam), 0, source)

    def update(self, state: RLSState, V: NDArray[np.float32], labels: NDArray[np.generic]) -> tuple[RLSState, Info]:
        """Learn from episodes in order."""
        _checks.instance("state", state, RLSState)
        V = _checks.single("states", _checks.states(V, len(state.P)))
        wanted = wanted_outputs(self.rule, labels, len(V), len(state.W))
        W, P = state.W.copy(), state.P.copy(order="F")
        uniforms = state.source.uniforms("choice", state.episode, len(V))[:, 0]
        temperatures = self.rule.temperatures(state.episode, len(V))
        cost, correct, sums = np.empty(len(V), np.float32), np.empty(len(V), np.float32), np.empty(len(W))
        for n, (v, y_true) in enumerate(zip(V.astype(np.float64), wanted, strict=True)):
            y = W @ v
            e = y_true - y
            cost[n], correct[n] = e @ e, y_true[choose(y, temperatures[n], uniforms[n], sums)] > 0
            Pv = blas.dsymv(1.0, P, v, lower=1)
            gain = Pv / (1.0 + v @ Pv)
            W += np.outer(e, gain)
            P = blas.dsyr(-1.0 / (1.0 + v @ Pv), Pv, a=P, lower=1, overwrite_a=1)
        if isinstance(self.rule, Regression):
            correct[:] = np.nan
        return state._replace(W=W, P=P, episode=state.episode + len(V)), Info(cost, correct)

    def readout(self, state: RLSState) -> Readout:
        """Return the running solution."""
        W = _checks.single("weights", _checks.instance("state", state, RLSState).W)
        temperature = float(self.rule.temperatures(state.episode, 1)[0])
        return Readout(W, np.zeros(W.shape[1], np.float32), thresholds=False, temperature=temperature)
