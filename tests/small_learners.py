"""Three learners as users write them at first: as little as will do, and each another way."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import kenyon as kn


@dataclass
class Delta:
    """The delta rule in double precision. Lists and plain tuples; a readout without thresholds."""

    rate: float = 0.001

    def begin(self, V, n_classes, source):
        return np.zeros((n_classes, V.shape[1]))

    def update(self, W, V, labels):
        W, cost, correct = W.copy(), [], []
        for v, label in zip(V, labels, strict=True):
            e = np.eye(len(W))[label] - W @ v
            cost.append(float(e @ e))
            correct.append(bool((W @ v).argmax() == label))
            W += self.rate * np.outer(e, v)
        return W, (cost, correct)

    def readout(self, W):
        return kn.Readout(W, thresholds=False, temperature=0)


class Happened(NamedTuple):
    """What an update says, without proposals, and one number for all episodes."""

    correct: Any
    cost: float = np.nan


@dataclass(frozen=True)
class Centroids:
    """The nearest mean of a class. Its state is a dict; it makes no choices while learning; a bias, and no theta."""

    def begin(self, V, n_classes, source):
        return {"sums": np.zeros((n_classes, V.shape[1])), "n": np.zeros(n_classes)}

    def update(self, state, V, labels):
        sums, n = state["sums"].copy(), state["n"].copy()
        np.add.at(sums, labels, V)
        np.add.at(n, labels, 1)
        return {"sums": sums, "n": n}, Happened(np.nan)

    def readout(self, state):
        means = state["sums"] / np.maximum(state["n"], 1)[:, None]
        return kn.Readout(means, None, thresholds=False, temperature=0, bias=-(means**2).sum(axis=1) / 2)


@dataclass(frozen=True)
class Sparse:
    """A perceptron above a percentile. Its info is any object with the two names, its readout a plain tuple."""

    rate: float = 1.0

    def begin(self, V, n_classes, source):
        return np.zeros((n_classes, V.shape[1]), np.float32), np.percentile(V, 70, axis=0)

    def update(self, state, V, labels):
        W, theta = state[0].copy(), state[1]
        correct = []
        for x, label in zip(np.maximum(V - theta, 0), labels, strict=True):
            choice = (W @ x).argmax()
            correct.append(choice == label)
            W[label] += self.rate * x
            W[choice] -= self.rate * x
        return (W, theta), SimpleNamespace(cost=1.0 - np.array(correct), correct=np.array(correct))

    def readout(self, state):
        return *state, True, None, None, 0.0
