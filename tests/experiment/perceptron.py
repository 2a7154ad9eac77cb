"""A learner that is not part of the package, as a user would write it."""

from dataclasses import dataclass

import numpy as np

import kenyon as kn
from kenyon.learning.protocol import Info


@dataclass(frozen=True)
class Perceptron:
    """Moves the weights of two classes whenever the wrong one wins."""

    rate: float = 0.1
    passes: int = 1
    start: str = "zeros"

    def begin(self, V, n_classes, source):
        return np.zeros((n_classes, V.shape[1]), np.float32)

    def update(self, state, V, labels):
        W, correct = state.copy(), np.zeros(len(V), np.float32)
        for n, (v, label) in enumerate(zip(V, labels, strict=True)):
            for _ in range(self.passes):
                chosen = int(np.argmax(W @ v))
                correct[n] = chosen == label
                W[label] += np.float32(self.rate) * v
                W[chosen] -= np.float32(self.rate) * v
        return W, Info(1 - correct, correct)

    def readout(self, state):
        return kn.Readout(state, np.zeros(state.shape[1], np.float32), thresholds=False, temperature=0)


@dataclass(frozen=True)
class Broken(Perceptron):
    """Fails as soon as it is to learn."""

    def update(self, state, V, labels):
        raise RuntimeError("broken")
