"""What is timed: networks, their inputs and what they learn, the same to the byte for every system.

    s_i(t) = s_i (1 + sigma xi_i(t)),    V(t+1) = (1-a) V(t) + a relu[ W_in s(t) + W V(t) ],    V(0) = 0

xi is fresh at every step and channel. It is part of the work: every system makes its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import kenyon as kn

CLASSES = 2, 10, 100
THREADS = 2

# What a system makes of a workload, a series and updates; each takes how many, so that a slow one may do a part.
Array = NDArray[np.floating]
Finals = Callable[[int, float], Array]  # n episodes, noise -> the states at their ends, (n, n_neurons)
Trajectory = Callable[[int], Array]  # n steps -> the states after each, (n, n_neurons)
Learning = Callable[[int], tuple[Array, Array]]  # n updates -> W, theta


class Refused(Exception):
    """Raised, with the reason, if a system cannot do some work."""


class Network(NamedTuple):
    """Weights in compressed rows, float32, and the leak rate."""

    W: sparse.csr_array
    W_in: sparse.csr_array
    leak: float

    @property
    def both(self) -> sparse.csr_array:
        """[W | W_in]."""
        return sparse.hstack([self.W, self.W_in], format="csr")

    @property
    def n_neurons(self) -> int:
        return self.W.shape[0]


@dataclass(frozen=True)
class Workload:
    """Many short episodes; the result is the state at the end of each."""

    name: str
    reservoir: kn.Reservoir
    task: kn.Task
    n_episodes: int

    @property
    def network(self) -> Network:
        return _network(self.reservoir)

    @property
    def steps(self) -> int:
        """Steps for which an element is shown."""
        return self.task.steps

    @property
    def noise(self) -> float:
        return self.task.noise

    def clean(self, n: int) -> NDArray[np.float32]:
        """Return the elements shown in the first n episodes, without noise: (n, n_elements, n_channels)."""
        return self.task.odours.scaled[self.task.items[self.task.draw(n).items]]

    def blocks(self, n: int, size: int) -> list[NDArray[np.float32]]:
        """Return the same in blocks of at most `size` episodes: (n_elements, n_channels, episodes)."""
        clean = self.clean(n)
        return [np.ascontiguousarray(clean[k : k + size].transpose(1, 2, 0)) for k in range(0, n, size)]

    def noisy(self, n: int, noise: float) -> NDArray[np.float32]:
        """Return what is shown at every step, with NumPy's noise: (n, n_steps, n_channels)."""
        inputs = self.clean(n).repeat(self.steps, axis=1)
        xi = np.random.default_rng(0).standard_normal(inputs.shape, np.float32)
        xi *= np.float32(noise)
        xi += 1
        inputs *= xi
        return inputs


@dataclass(frozen=True)
class Series:
    """One long series; the result is the state after every step. Its noise is part of the data."""

    name: str
    reservoir: kn.Reservoir
    inputs: NDArray[np.float32]  # (T, n_channels)

    @property
    def network(self) -> Network:
        return _network(self.reservoir)


@dataclass(frozen=True)
class Updates:
    """States to learn from one by one, by the rule of `kenyon.GradientThresholds`.

    x = relu(V - theta), e = target - W x, dW = eta_W e x, dtheta = -eta_theta H(x) W^T e, all from 0; the target is 10
    for the right class and 0 else.
    """

    name: str
    V: NDArray[np.float32]  # (n, n_neurons)
    labels: NDArray[np.intp]
    n_classes: int
    eta_W: float = 0.0018
    eta_theta: float = 0.00018

    @property
    def targets(self) -> NDArray[np.float32]:
        return np.float32(10) * np.eye(self.n_classes, dtype=np.float32)


def static() -> Workload:
    return Workload("static", kn.Reservoir(), kn.StaticTask(kn.load_odours(), 176), 2048)


def sequences() -> Workload:
    reservoir = kn.Reservoir(leak_rate=0.1, spectral_radius=0.95)
    return Workload("sequences", reservoir, kn.SequenceTask(kn.load_odours()), 2048)


def large() -> Workload:
    return Workload("large", kn.Reservoir(20_000), kn.StaticTask(kn.load_odours(), 176), 256)


def series(n_steps: int = 100_000) -> Series:
    """Odours one after another, for 50 steps each."""
    task = kn.StaticTask(kn.load_odours(), 176)
    inputs = task.inputs(-(-n_steps // task.n_steps))
    return Series("series", kn.Reservoir(), inputs.reshape(-1, inputs.shape[-1])[:n_steps])


def updates(n_classes: int, n: int = 1000) -> Updates:
    task = kn.StaticTask(kn.load_odours(), 176)
    (batch,) = kn.Reservoir().stream(task, n, batch_size=n)
    return Updates(f"updates, {n_classes} classes", batch.states, batch.items % n_classes, n_classes)


def _network(reservoir: kn.Reservoir) -> Network:
    return Network(reservoir.W, reservoir.W_in, reservoir.leak_rate)
