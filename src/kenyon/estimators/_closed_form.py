"""Ridge regression in closed form from sums that stream, with its penalty chosen from the data.

    W = C (G + lambda)^-1,    G = sum (V - m)(V - m)^T,    C = sum (y_true - m_y)(V - m)^T

Without a given penalty, lambda is the one with the least generalised cross-validation score (Golub, Heath & Wahba
1979), RSS / (n - 1 - tr H)^2, which needs nothing but the same sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from threadpoolctl import threadpool_limits

from kenyon import _checks
from kenyon.learning.protocol import Info, Source
from kenyon.learning.rules import Regression, Supervised
from kenyon.readout import Readout

PENALTIES = np.logspace(-9, 0, 37)  # tried, as shares of the sum of all squares


class Sums(NamedTuple):
    """What the solution needs of the episodes seen."""

    n: float  # how many, or their weight
    states: NDArray[np.float64]  # (N,)
    wanted: NDArray[np.float64]  # (n_outputs,)
    gram: NDArray[np.float64]  # (N, N)
    cross: NDArray[np.float64]  # (N, n_outputs)
    square: float  # of what was wanted


@dataclass(frozen=True, kw_only=True)
class ClosedForm:
    """Ridge regression with an intercept, as a learner.

    Parameters
    ----------
    penalty
        lambda as a share of the sum of all squared states, centred; None lets cross-validation choose.
    rule
        What is told.
    """

    penalty: float | None = None
    rule: Supervised | Regression = Supervised()  # noqa: RUF009 (frozen, and so safe to share)

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> Sums:
        """Return empty sums."""
        n = V.shape[1]
        return Sums(0.0, np.zeros(n), np.zeros(n_classes), np.zeros((n, n)), np.zeros((n, n_classes)), 0.0)

    def update(
        self,
        state: Sums,
        V: NDArray[np.float32],
        labels: NDArray[np.generic],
        weights: NDArray[np.float64] | None = None,
    ) -> tuple[Sums, Info]:
        """Add episodes to the sums. Nothing is chosen while learning, so `correct` and `cost` are NaN."""
        X = _checks.single("states", _checks.states(V, len(state.gram))).astype(np.float64)
        if isinstance(self.rule, Regression):
            Y = _checks.targets(labels, len(X), len(state.wanted)).astype(np.float64)
        else:
            known = _checks.labels(labels, len(X), len(state.wanted))
            Y = self.rule.target * (known[:, None] == np.arange(len(state.wanted)))
        w = np.ones(len(X)) if weights is None else weights
        weighted = X * w[:, None]
        new = Sums(
            state.n + float(w.sum()),
            state.states + w @ X,
            state.wanted + w @ Y,
            state.gram + weighted.T @ X,
            state.cross + weighted.T @ Y,
            state.square + float(w @ (Y**2).sum(axis=1)),
        )
        nothing = np.full(len(X), np.nan, np.float32)
        return new, Info(nothing, nothing)

    def readout(self, state: Sums) -> Readout:
        """Solve for the weights and the intercept."""
        mean, mean_y = state.states / state.n, state.wanted / state.n
        gram = state.gram - state.n * np.outer(mean, mean)
        cross = state.cross - state.n * np.outer(mean, mean_y)
        square = max(0.0, state.square - state.n * float(mean_y @ mean_y))
        W = self._solve(gram, cross, square, state.n)
        bias = mean_y - mean @ W
        return Readout(W.T.astype(np.float32), np.zeros(len(W), np.float32), thresholds=False, bias=bias)

    def _solve(
        self, gram: NDArray[np.float64], cross: NDArray[np.float64], square: float, n: float
    ) -> NDArray[np.float64]:
        """Return W, shape (N, n_outputs), from an eigendecomposition. BLAS keeps to one thread, for equal bits."""
        with threadpool_limits(1, "blas"):
            d, U = linalg.eigh(gram)
            d = np.maximum(d, 0.0)
            C = U.T @ cross
            total = max(float(d.sum()), np.finfo(float).tiny)
            if self.penalty is None:
                score = [_cross_validation(d, C, square, n, share * total) for share in PENALTIES]
                penalty = float(PENALTIES[int(np.argmin(score))])
            else:
                penalty = self.penalty
            return np.asarray(U @ (C / (d + max(penalty * total, np.finfo(float).eps * total))[:, None]))


def _cross_validation(d: NDArray[np.float64], C: NDArray[np.float64], square: float, n: float, lam: float) -> float:
    """Return RSS / (n - 1 - tr H)^2 for one lambda; no degrees of freedom left is the worst there is."""
    W = C / (d + lam)[:, None]
    rss = square - 2 * float((W * C).sum()) + float((W**2 * d[:, None]).sum())
    left = n - 1 - float((d / (d + lam)).sum())
    return np.inf if left <= 1e-6 * n else max(rss, 1e-12 * square) / left**2
