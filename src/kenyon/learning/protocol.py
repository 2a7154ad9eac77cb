"""What every learner is to `train`: a configuration that begins a state, and updates it from states and labels."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks, _seeding
from kenyon.kernels.noise import random_words
from kenyon.readout import Readout


class Source(NamedTuple):
    """Where a learner's random numbers come from: its own name under the run's seed, so that none disturbs another."""

    seed: int
    name: str

    def uniforms(self, purpose: str, first: int, n: int) -> NDArray[np.float64]:
        """Return two uniform numbers in [0, 1) for each of the episodes `first`, `first + 1`, ...; shape (n, 2)."""
        words = np.empty((_checks.integer("n", n, 0), 2), np.uint32)
        random_words(self._key(purpose), _checks.integer("first", first, 0), words)
        return words.astype(np.float64) * 2.0**-32

    def normals(self, purpose: str, first: int, n: int) -> NDArray[np.float64]:
        """Return a standard normal number for each of the events `first`, `first + 1`, ... (Box & Muller 1958)."""
        u = self.uniforms(purpose, first, n)
        return np.asarray(np.sqrt(-2.0 * np.log1p(-u[:, 0])) * np.cos(2.0 * np.pi * u[:, 1]))

    def generator(self, purpose: str, number: int) -> np.random.Generator:
        """Return a generator for the `number`-th event of a kind."""
        low, high = self._key(purpose)
        number = _checks.integer("number", number, 0)
        return np.random.Generator(np.random.Philox(key=[low, high], counter=[0, 0, 0, number]))

    def _key(self, purpose: str) -> NDArray[np.uint32]:
        name, purpose = _checks.instance("name", self.name, str), _checks.instance("purpose", purpose, str)
        return _seeding.key(self.seed, "learner", name, purpose)


class Proposal(NamedTuple):
    """One Metropolis step: what was current and proposed, at what running costs, and what was kept."""

    theta_g: float
    proposed: float
    cost: float
    proposed_cost: float
    accepted: bool


class Info(NamedTuple):
    """What happened in an update: logged, never used to go on."""

    cost: NDArray[np.float32]  # (n_episodes,): E before the episode's own update
    correct: NDArray[np.float32]  # (n_episodes,): 1 where the choice was right; NaN for learners that do not choose
    proposals: Sequence[Proposal] = ()  # Metropolis decisions, if there were any


class LearnerProtocol(Protocol):
    """A learner."""

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> Any:
        """Return the first state; `V` holds the calibration episodes, shape (n, n_neurons)."""

    def update(self, state: Any, V: NDArray[np.float32], labels: NDArray[np.intp]) -> tuple[Any, Info]:
        """Learn from episodes in order; return the new state and what happened. `state` is left as it was."""

    def readout(self, state: Any) -> Readout:
        """Return what was learned so far."""


class Diverged(ArithmeticError):
    """A learner whose cost is no longer finite."""

    def __init__(self, name: str, episode: int, message: str) -> None:
        super().__init__(f"{name} diverged by episode {episode}: {message}")
        self.name, self.episode, self.message = name, episode, message
