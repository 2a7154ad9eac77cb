"""A control: normalised steps on V whose leading principal components are scaled down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from threadpoolctl import threadpool_limits

from kenyon import _checks
from kenyon.learning.learners import GradientWeights
from kenyon.learning.protocol import Info, Source
from kenyon.learning.rules import QLearning, Supervised
from kenyon.learning.state import State
from kenyon.paper.control_kernels import padded, shrink
from kenyon.readout import Readout, standardise


class WhitenedState(NamedTuple):
    """The learner's state, and how V is whitened."""

    inner: State
    directions: NDArray[np.float32]  # (k, n_padded): leading principal components
    factors: NDArray[np.float32]  # (k,): what the parts of V along them are multiplied by
    shift: NDArray[np.float32] | None
    scale: NDArray[np.float32] | None


@dataclass(frozen=True, kw_only=True)
class Whitened:
    """Normalised steps on V, whitened as far as O(N) allows.

    V is standardised, and the parts along its k leading principal components, over the calibration episodes, are scaled
    down to the variance of component k + 1. That costs O(k N) an episode; whitening all would cost O(N^2).

    Parameters
    ----------
    components
        k.
    mu
        Share of an episode's error that one step removes.
    rule
        What it learns from: `Supervised()` or `QLearning()`.
    """

    components: int = 10
    mu: float = 0.5
    rule: Supervised | QLearning = Supervised()  # noqa: RUF009 (frozen, and so safe to share)

    def __post_init__(self) -> None:
        _checks.set_fields(self, components=_checks.integer("components", self.components, 1))
        _checks.set_fields(self, mu=self._learner().mu)

    def _learner(self, scaling: str | None = None) -> GradientWeights:
        return GradientWeights(batch=1, step="normalised", mu=self.mu, rule=self.rule, scaling=scaling)

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> WhitenedState:
        """Return W = 0, and the principal components of the calibration episodes `V`."""
        plain = self._learner("standardised").begin(V, n_classes, source)
        u = standardise(_checks.calibration(V), plain.shift, plain.scale).astype(np.float64)
        _checks.integer("components", self.components, 1, min(u.shape) - 1)
        ends = (u.shape[1] - self.components - 1, u.shape[1] - 1)
        with threadpool_limits(1, "blas"):  # sums depend on the number of threads
            variances, axes = linalg.eigh(u.T @ u / len(u), subset_by_index=ends)
        floor = np.finfo(np.float32).tiny
        factors = np.sqrt(np.maximum(variances[0], floor) / np.maximum(variances[1:], floor)).astype(np.float32)
        directions = padded(axes[:, 1:].T.astype(np.float32))
        return WhitenedState(self._learner().begin(V, n_classes, source), directions, factors, plain.shift, plain.scale)

    def update(
        self, state: WhitenedState, V: NDArray[np.float32], labels: NDArray[np.generic]
    ) -> tuple[WhitenedState, Info]:
        """Learn from episodes in order; return the new state and what happened. `state` is left as it was."""
        _checks.instance("state", state, WhitenedState)
        V = _checks.single("states", _checks.states(V, state.inner.n_neurons))
        x = self._whitened(state, standardise(V, state.shift, state.scale))
        inner, info = self._learner().update(state.inner, x, labels)
        return state._replace(inner=inner), info

    def _whitened(self, state: WhitenedState, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        x = padded(rows)
        shrink(state.directions, state.factors, x)
        return x[:, : rows.shape[1]]

    def readout(self, state: WhitenedState) -> Readout:
        """Return what was learned so far, as weights of standardised V: whitening is symmetric, so they can take it."""
        readout = self._learner().readout(_checks.instance("state", state, WhitenedState).inner)
        return readout._replace(W=self._whitened(state, readout.W).copy(), shift=state.shift, scale=state.scale)
