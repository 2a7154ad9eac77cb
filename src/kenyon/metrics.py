"""Measures of readouts: accuracy, coding level, specificity, overlap of classes, speed of learning."""

from math import factorial
from sys import float_info
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from kenyon import _checks
from kenyon.readout import draw_choices


def accuracies(y: NDArray[np.floating], labels: NDArray[np.intp], uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each episode whether a choice drawn from softmax(y) is right, its probability, and that of argmax(y).

    Shape (3, n_episodes).
    """
    p = softmax(np.asarray(y, np.float64), axis=1)
    expected = p[np.arange(len(labels)), labels]
    return np.array([draw_choices(p, uniforms) == labels, expected, y.argmax(axis=1) == labels])


def coding_level(x: NDArray[np.floating]) -> float:
    """Return the share of active neurons, x > 0, over neurons and episodes."""
    return float((x > 0).mean())


def class_sums(values: NDArray[Any], labels: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Sum values of shape (n_episodes, n_neurons) over the episodes of each class; shape (..., n_neurons, n_classes).

    `labels` has shape (..., n_episodes): several labellings are summed at once. Sums are taken in single precision, in
    which counts up to 16 million are exact.
    """
    members = (labels[..., None, :] == np.arange(n_classes)[:, None]).astype(np.float32)
    sums = members.reshape(-1, len(values)) @ values.astype(np.float32, copy=False)
    return np.asarray(np.moveaxis(sums.reshape(*members.shape[:-1], -1), -1, -2), np.float64)


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
    difference = np.abs(amounts[:, j] - amounts[:, k])
    if relative:
        total = amounts[:, j] + amounts[:, k]
        pairs = np.divide(difference, total, out=np.zeros_like(total), where=total > 0)
    else:
        pairs = difference / n_episodes
    return np.asarray(pairs.mean(axis=1) if mean else pairs.sum(axis=1) / min(factorial(n_classes - 1), float_info.max))


def overlap(amounts: ArrayLike) -> float:
    """Return how much the representations of different classes overlap.

    The cosine of the angle between the mean codes of two classes, averaged over pairs of classes: 1 if all classes have
    the same mean code, up to its length, and 0 if no neuron is active for more than one class. A class for which no
    neuron is active overlaps with none.

    Parameters
    ----------
    amounts
        Shape (n_neurons, n_classes): the activity x of each neuron, summed or averaged over the episodes of each class;
        or the number of episodes in which it was active.
    """
    amounts = _checks.numbers("amounts", amounts, "(n_neurons, n_classes)", 2).astype(np.float64)
    n_classes = _checks.integer("n_classes, the number of columns of amounts,", amounts.shape[1], 2)
    largest = np.abs(amounts).max(axis=0, initial=0.0)
    if not (largest <= 1e300).all():
        raise ValueError("amounts must be finite, up to 1e300")
    codes = np.divide(amounts, largest, out=np.zeros_like(amounts), where=largest > 0)
    lengths = np.sqrt((codes**2).sum(axis=0))
    codes = np.divide(codes, lengths, out=codes, where=lengths > 0)
    return float((codes.T @ codes)[np.triu_indices(n_classes, 1)].mean())


def theta_directions(
    x: NDArray[np.floating], W: NDArray[np.floating], errors: NDArray[np.floating], labels: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Count where the gradient moves thresholds as a neuron's weights to the right and to the wrong classes suggest.

    In an episode of class c, theta_i of an active neuron moves by -sum_j e_j W_ji. Neurons that favour c, whose W_ci
    exceeds their mean weight to the other classes, should lower their threshold; the others should raise it.

    Parameters
    ----------
    x
        Activities, shape (n_episodes, n_neurons).
    W
        Weights, shape (n_classes, n_neurons).
    errors
        e = y_true - y, shape (n_episodes, n_classes).
    labels
        The class of each episode.

    Returns
    -------
    Over active neurons and episodes: how many favour the class, how many of these lower their threshold, how many do
    not favour it, and how many of these raise their threshold.
    """
    counts = np.zeros(4)
    for own in range(len(W)):
        shown = labels == own
        active, falling = x[shown] > 0, errors[shown] @ W
        preference = W[own] - (W.sum(axis=0) - W[own]) / (len(W) - 1)
        n, fall, rise = (part.sum(axis=0) for part in (active, active & (falling > 0), active & (falling < 0)))
        counts += [
            part.sum() for part in (n[preference > 0], fall[preference > 0], n[preference < 0], rise[preference < 0])
        ]
    return counts


def episodes_to_reach(episode: ArrayLike, accuracy: ArrayLike, level: float) -> float:
    """Return the first `episode` at which the curve of `accuracy` is at least `level`; NaN if it never is."""
    episode = _checks.numbers("episode", episode, "(n,)", 1)
    accuracy = _checks.numbers("accuracy", accuracy, "(n,)", 1)
    if len(episode) != len(accuracy):
        raise ValueError(f"episode and accuracy must have the same length, not {len(episode)} and {len(accuracy)}")
    reached = np.flatnonzero(accuracy >= _checks.real("level", level, -np.inf))
    return float(episode[reached[0]]) if len(reached) else float("nan")
