"""Kernels of the controls: one episode after another, on features that have been made from V before.

Arguments that the kernels share; weights and what belongs to them change in place, as do `cost` and `correct`:

    W               (n_classes, n_padded): weights; rows are padded with zeros to whole lanes, as those of X are
    steps           (n_classes,): steps that each row has taken so far
    X               (n_episodes, n_padded): features x
    labels          (n_episodes,): the right class
    uniforms        (n_episodes,): random numbers that draw the choices
    temperatures    (n_episodes,): of the choices
    target          output wanted for the right class, or the reward for choosing it; 0 for the others
    by_reward       only the row of the action taken learns
    cost, correct   (n_episodes,): what the episode cost before its own update, and whether the choice was right
"""

from typing import Any, NamedTuple

import numpy as np
from numba import uintp
from numpy.typing import NDArray

from kenyon.kernels.cache import kernel
from kenyon.kernels.lanes import LANES, fma, lanes_of, load_at, store_at, sum_lanes
from kenyon.kernels.learning import choose

Floats = NDArray[np.float32]
EPSILON = np.float32(1e-8)  # keeps the step of a weight whose gradients were all 0 finite


class Adaptive(NamedTuple):
    """Steps m / sqrt(s), with running m of gradients g and s of their squares."""

    rate: np.float32
    momentum: np.float32  # m <- momentum m + (1 - momentum) g
    keep: np.float32  # s <- keep s + add g^2
    add: np.float32
    corrected: bool  # m and s are divided by 1 - momentum^t and 1 - keep^t, t the row's steps


def steps_of(momentum: float, keep: float, add: float, *, corrected: bool) -> Adaptive:
    """Return steps of rate 1."""
    return Adaptive(np.float32(1), np.float32(momentum), np.float32(keep), np.float32(add), corrected)


def padded(x: Floats) -> Floats:
    """Return rows with zeros behind them up to whole lanes, and one more: 4096 bytes apart they would be slow."""
    whole = np.zeros((len(x), (-(-x.shape[1] // LANES) + 1) * LANES), np.float32)
    whole[:, : x.shape[1]] = x
    return whole


@kernel
def _product(A: Floats, row_A: Any, B: Floats, row_B: Any) -> Any:
    """Return the product of a row of A with one of B, which are equally long; always summed in the same order."""
    n, total = uintp(A.shape[1]), lanes_of(np.float32(0))
    first_A, first_B = uintp(row_A) * n, uintp(row_B) * n
    for i in range(uintp(0), n, uintp(LANES)):
        total = fma(load_at(A, first_A + i), load_at(B, first_B + i), total)
    return sum_lanes(total)


@kernel
def _add(A: Floats, row_A: Any, B: Floats, row_B: Any, factor: Any) -> None:
    """Add a row of B, times a factor, to a row of A."""
    n = uintp(A.shape[1])
    first_A, first_B = uintp(row_A) * n, uintp(row_B) * n
    for i in range(uintp(0), n, uintp(LANES)):
        store_at(A, first_A + i, fma(lanes_of(factor), load_at(B, first_B + i), load_at(A, first_A + i)))


@kernel
def _outputs(W: Floats, X: Floats, n: int, y: Floats) -> None:
    """Write y = W x of episode n."""
    for j in range(len(y)):
        y[j] = _product(W, j, X, n)


@kernel
def _adapt(w: Floats, m: Floats, s: Floats, x: Floats, e: Any, step: Adaptive, unit_m: Any, unit_s: Any) -> None:
    """Take the step of one row, whose gradient is e x; `np.divide`, unlike /, does not look for zeros."""
    for i in range(len(w)):
        g = e * x[i]
        m[i] = step.momentum * m[i] + (np.float32(1) - step.momentum) * g
        s[i] = step.keep * s[i] + step.add * (g * g)
        w[i] += np.divide(step.rate * (unit_m * m[i]), np.sqrt(unit_s * s[i]) + EPSILON)


@kernel
def adapt(
    step: Adaptive, target: Any, by_reward: bool, W: Floats, m: Floats, s: Floats, steps: Any,
    X: Floats, labels: Any, uniforms: Any, temperatures: Any, cost: Floats, correct: Floats,
) -> None:  # fmt: skip
    """Learn by gradients on the squared error, each weight with steps of its own size; m and s are as W."""
    y, sums = np.empty(len(W), np.float32), np.empty(len(W), np.float64)
    for n in range(len(X)):
        _outputs(W, X, n, y)
        action = choose(y, temperatures[n], uniforms[n], sums)
        cost[n], correct[n] = 0.0, action == labels[n]
        first, last = (max(action, 0), max(action, 0) + 1) if by_reward else (0, len(W))
        for j in range(first, last):
            e = (target if j == labels[n] else np.float32(0)) - y[j]
            cost[n] += e * e
            steps[j] += 1
            unit_m = unit_s = np.float32(1)
            if step.corrected:
                unit_m = np.float32(1 / (1 - np.float64(step.momentum) ** steps[j]))
                unit_s = np.float32(1 / (1 - np.float64(step.keep) ** steps[j]))
            _adapt(W[j], m[j], s[j], X[n], e, step, unit_m, unit_s)


@kernel
def resist(
    limit: Any, tolerance: Any, target: Any, by_reward: bool, W: Floats, steps: Any,
    X: Floats, labels: Any, uniforms: Any, temperatures: Any, cost: Floats, correct: Floats,
) -> None:  # fmt: skip
    """Learn as little as repairs the episode's loss, but no more than `limit` (passive-aggressive, PA-I).

    The loss is what the right class lacks of leading the best wrong one by `target`; by reward, the distance of the
    chosen row's output from the reward, beyond `tolerance`.
    """
    y, sums = np.empty(len(W), np.float32), np.empty(len(W), np.float64)
    for n in range(len(X)):
        _outputs(W, X, n, y)
        action = choose(y, temperatures[n], uniforms[n], sums)
        correct[n] = action == labels[n]
        if by_reward:
            up, down = max(action, 0), -1
            e = (target if up == labels[n] else np.float32(0)) - y[up]
            loss, sides, sign = abs(e) - tolerance, np.float32(1), np.float32(1 if e > 0 else -1)
        else:
            up, down = labels[n], _best_wrong(y, labels[n])
            loss, sides, sign = target - (y[up] - y[down]), np.float32(2), np.float32(1)
        cost[n] = max(loss, np.float32(0)) if np.isfinite(loss) else loss
        norm2 = _product(X, n, X, n)
        if loss > 0 and norm2 > 0:
            tau = min(limit, np.float32(np.divide(loss, sides * norm2)))
            _add(W, up, X, n, sign * tau)
            steps[up] += 1
            if down >= 0:
                _add(W, down, X, n, -tau)
                steps[down] += 1


@kernel
def _best_wrong(y: Floats, label: int) -> int:
    """Return the class other than the right one with the largest output, the first of several."""
    best = 1 if label == 0 else 0
    for j in range(len(y)):
        if j != label and y[j] > y[best]:
            best = j
    return best


@kernel
def approach(
    alpha: float, B: float, C: float, W: Floats, steps: Any, X: Floats, labels: Any, cost: Floats, correct: Floats
) -> None:
    """Learn each class against the rest where its margin is too small (ALMA with p = 2); the largest output is chosen.

    A row's margin is w x / |x|, with the sign of its class; rows stay within the unit ball; margins lack `cost`.
    """
    y = np.empty(len(W), np.float32)
    for n in range(len(X)):
        _outputs(W, X, n, y)
        cost[n], correct[n] = 0.0, np.argmax(y) == labels[n]
        length = np.sqrt(_product(X, n, X, n))
        if length > 0:
            for j in range(len(W)):
                sign, k = 1.0 if j == labels[n] else -1.0, np.sqrt(steps[j] + 1.0)
                lacking = (1 - alpha) * B / k - sign * y[j] / length
                if lacking >= 0:
                    cost[n] += lacking
                    steps[j] += 1
                    _add(W, j, X, n, np.float32(sign * C / (k * length)))
                    size = np.sqrt(_product(W, j, W, j))
                    if size > 1:
                        _add(W, j, W, j, np.float32(1 / size - 1))


@kernel
def shrink(directions: Floats, factors: Floats, X: Floats) -> None:
    """Multiply the part of every row of X along each of some orthonormal directions by its factor, in place."""
    for n in range(len(X)):
        for c in range(len(directions)):
            along = _product(directions, c, X, n)
            _add(X, n, directions, c, (factors[c] - np.float32(1)) * along)
