"""Measures of readouts: accuracy, coding level, specificity, speed of learning."""

from math import factorial
from sys import float_info
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from kenyon import _checks
from kenyon.readout import draw_choices


def accuracies(y: NDArray[np.floating], labels: NDArray[np.intp], uniforms: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the accuracy of choices drawn from softmax(y), its expected value, and the accuracy of argmax(y)."""
    p = softmax(np.asarray(y, np.float64), axis=1)
    sampled = draw_choices(p, uniforms) == labels
    expected = p[np.arange(len(labels)), labels]
    return float(sampled.mean()), float(expected.mean()), float((y.argmax(axis=1) == labels).mean())


def coding_level(x: NDArray[np.floating]) -> float:
    """Return the share of active neurons, x > 0, over neurons and episodes."""
    return float((x > 0).mean())


def class_sums(values: NDArray[Any], labels: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Sum values of shape (n_episodes, n_neurons) over the episodes of each class; shape (n_neurons, n_classes).

    Sums are taken in single precision, in which counts up to 16 million are exact.
    """
    members = (labels == np.arange(n_classes)[:, None]).astype(np.float32)
    return np.asarray(members @ values.astype(np.float32, copy=False), np.float64).T


def specificity(
    amounts: ArrayLike, n_episodes: int, *, relative: bool = False, mean: bool = False
) -> NDArray[np.float64]:
    """Return how well each neuron tells classes apart.

    spec_ijk = |N_ij - N_ik| / N;  Sp_i = 1/(n_classes - 1)! sum_{j<k} spec_ijk

    Parameters
    ----------
    amounts
        N_ij, shape (n_neurons, n_classes): number of episodes of class j in which neuron i was active, or its summed
        activity over them.
    n_episodes
        N, the number of episodes.
    relative
        Divide by N_ij + N_ik instead of N; pairs for which a neuron was silent count as 0.
    mean
        Take the mean over pairs of classes instead of the sum over (n_classes - 1)!.
    """
    amounts = _checks.numbers("amounts", amounts, "(n_neurons, n_classes)", 2).astype(np.float64)
    n_episodes = _checks.integer("n_episodes", n_episodes, 1)
    n_classes = _checks.integer("n_classes, the number of columns of amounts,", amounts.shape[1], 2)
    relative, mean = _checks.flag("relative", relative), _checks.flag("mean", mean)
    if not (np.abs(amounts) <= 1e300).all() or (relative and (amounts < 0).any()):
        raise ValueError(f"amounts must be finite, up to 1e300{' and not negative' if relative else ''}")
    j, k = np.triu_indices(n_classes, 1)
    difference, total = np.abs(amounts[:, j] - amounts[:, k]), amounts[:, j] + amounts[:, k]
    if relative:
        pairs = np.divide(difference, total, out=np.zeros_like(total), where=total > 0)
    else:
        pairs = difference / n_episodes
    return np.asarray(pairs.mean(axis=1) if mean else pairs.sum(axis=1) / min(factorial(n_classes - 1), float_info.max))


def episodes_to_reach(episode: ArrayLike, accuracy: ArrayLike, level: float) -> float:
    """Return the first `episode` at which the curve of `accuracy` is at least `level`; NaN if it never is."""
    episode = _checks.numbers("episode", episode, "(n,)", 1)
    accuracy = _checks.numbers("accuracy", accuracy, "(n,)", 1)
    if len(episode) != len(accuracy):
        raise ValueError(f"episode and accuracy must have the same length, not {len(episode)} and {len(accuracy)}")
    reached = np.flatnonzero(accuracy >= _checks.real("level", level, -np.inf))
    return float(episode[reached[0]]) if len(reached) else float("nan")
