"""The random numbers of a Metropolis search, and its record; `kernels.search` decides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kenyon.kernels.search import COST, KEPT, PROPOSED_COST, UNIFORM
from kenyon.learning.protocol import Proposal
from kenyon.learning.state import State


class Decisions(NamedTuple):
    """Decisions that fall due in some episodes, as the kernel takes them and fills them in."""

    table: NDArray[np.float64]  # (n, 4): a uniform number, and what comes of it
    shifts: NDArray[np.float32]  # (n, 1), the same for all thresholds, or (n, n_places)
    moves: list[float]  # by which they change theta_g

    def proposals(self, theta_g: float, proposed: float) -> tuple[list[Proposal], float, float]:
        """Return what was decided, given both values before; and both after it."""
        made: list[Proposal] = []
        if not self.moves:
            return made, theta_g, proposed
        costs, kept = self.table[:, [COST, PROPOSED_COST]].tolist(), self.table[:, KEPT].astype(np.bool_).tolist()
        for (cost, proposed_cost), accepted, move in zip(costs, kept, self.moves, strict=True):
            made.append(Proposal(theta_g, proposed, cost, proposed_cost, accepted))
            theta_g = proposed if accepted else theta_g
            proposed = theta_g + move
        return made, theta_g, proposed


NONE_DUE = Decisions(np.zeros((0, 4)), np.zeros((0, 1), np.float32), [])


def due(state: State, search: str, sigma: float, stride: int, n: int) -> Decisions:
    """Return the decisions that fall due in the next n episodes."""
    first, last = state.episode // stride + 1, (state.episode + n) // stride + 1
    if first == last:
        return NONE_DUE
    table = np.zeros((last - first, 4))
    table[:, UNIFORM] = state.source.uniforms("acceptance", first, last - first)[:, 0]
    return Decisions(table, *shifts(state, search, sigma, first, last - first))


def shifts(state: State, search: str, sigma: float, first: int, n: int) -> tuple[NDArray[np.float32], list[float]]:
    """Return proposals `first` and after: sigma N(0, 1), drawn once for all neurons or for each; and their means."""
    if search == "global":
        alike = (sigma * state.source.normals("proposal", first, n)).astype(np.float32)
        return alike[:, None], alike.tolist()
    own = [independent(state.source.generator("proposal", first + k), sigma, state.places[-1].stop) for k in range(n)]
    return np.stack(own), [float(shift[: state.n_neurons].mean(dtype=np.float64)) for shift in own]


def independent(rng: np.random.Generator, sigma: float, n_neurons: int) -> NDArray[np.float32]:
    """Return an independent perturbation for every neuron."""
    return (sigma * rng.standard_normal(n_neurons)).astype(np.float32)
