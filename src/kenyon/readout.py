"""What reads a reservoir: x = relu(V - theta), y = W x, and a choice drawn from softmax(y)."""

import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Readout(NamedTuple):
    """A readout that has learned, applied to states V of shape (n, n_neurons).

    Without thresholds it reads V itself, or (V - shift) scale where these are given.
    """

    W: NDArray[np.float32]  # (n_classes, n_neurons)
    theta: NDArray[np.float32]  # (n_neurons,)
    thresholds: bool = True
    shift: NDArray[np.float32] | None = None
    scale: NDArray[np.float32] | None = None
    temperature: float = 1.0  # of its choices
    bias: NDArray[np.float64] | None = None  # (n_classes,): added to y, where there is one

    def features(self, V: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return x, shape (n, n_neurons)."""
        if self.thresholds:
            return np.asarray(np.maximum(V - self.theta, np.float32(0)))
        return standardise(V, self.shift, self.scale)

    def outputs(self, V: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return y, shape (n, n_classes)."""
        y = np.asarray(self.features(V) @ self.W.T)
        return y if self.bias is None else (y + self.bias).astype(y.dtype)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this readout to a file, without pickle; `kenyon.load` reads it."""
        from kenyon.saving import save

        save(path, self)


def standardise(
    V: NDArray[np.float32], shift: NDArray[np.float32] | None, scale: NDArray[np.float32] | None
) -> NDArray[np.float32]:
    """Return (V - shift) scale, leaving out what is not given."""
    if shift is not None:
        V = V - shift
    return V if scale is None else V * scale


def softmax(y: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the probabilities of the classes, shape (n, n_classes); rows sum to 1 whatever the size of y."""
    z = np.asarray(y, np.float64)
    z = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(z / z.sum(axis=1, keepdims=True))


def draw_choices(probabilities: NDArray[np.float64], uniforms: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return a class for each row, drawn with its probabilities."""
    below = np.cumsum(probabilities[:, :-1], axis=1)
    return np.asarray((uniforms[:, None] >= below).sum(axis=1))
