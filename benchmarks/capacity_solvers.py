"""Readouts solved offline, on states that are kept: least squares, logistic regression, and thresholds as well.

With two classes one output will do: y = b + w . x, of the sign of the right class, +1 or -1. x is V itself
(`linear`), relu(V - theta), or [relu(V - theta_on), relu(theta_off - V)] where theta has two values for each neuron.
Logistic regression minimises log(1 + exp(-sign y)); `descend` does so over w, b and theta together, by Adam (Kingma &
Ba 2015) in minibatches.

Arguments that the kernels share:

    V, signs        (n, N) and (n,): states, and the sign of each
    rows            which of them, in order
    w, theta, b     the readout; (n_units,), (n_units,) and (1,)
    dw, dtheta, db  its gradient, summed over the rows
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import linalg, optimize

Floats = NDArray[np.float32]
Array = NDArray[np.float64]
BLOCK = 2048  # episodes summed in single precision, before they are added up in double precision
FAST = {"fastmath": True, "nogil": True, "cache": True}
KEEP, KEEP_SQUARES, EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-8)  # Adam's, as published


class Readout(NamedTuple):
    """One output of V, shape (n_units,) each: x is linear in V without thresholds, and two-sided if theta is longer."""

    w: Floats
    theta: Floats
    b: float = 0.0
    linear: bool = False

    def outputs(self, V: Floats) -> Floats:
        """Return y for every row of V."""
        parts = [V[chunk] for chunk in _blocks(len(V))]
        return np.concatenate([self.features(part) @ self.w for part in parts]) + np.float32(self.b)

    def features(self, V: Floats) -> Floats:
        """Return x, shape (n, n_units)."""
        if self.linear:
            return V - self.theta
        n = V.shape[1]
        x = np.concatenate([V - self.theta[:n], self.theta[n:] - V], axis=1) if self.two_sided(n) else V - self.theta
        return np.maximum(x, np.float32(0), out=x)

    def two_sided(self, n_neurons: int) -> bool:
        return len(self.theta) > n_neurons

    def accuracy(self, V: Floats, signs: Floats) -> float:
        """Return the share of rows whose output has the right sign."""
        return float(np.mean(self.outputs(V) * signs > 0))


class Sums(NamedTuple):
    """Sums over episodes that least squares needs."""

    n: int
    x: Array
    gram: Array
    cross: Array
    sign: float

    @classmethod
    def none(cls, n_units: int) -> Sums:
        return cls(0, np.zeros(n_units), np.zeros((n_units, n_units)), np.zeros(n_units), 0.0)

    def add(self, readout: Readout, V: Floats, signs: Floats) -> Sums:
        """Return the sums with more episodes in them. The products change in place."""
        n, total, gram, cross, sign = self
        for chunk in _blocks(len(V)):
            x = readout.features(V[chunk]).astype(np.float64 if readout.linear else np.float32)
            gram += x.T @ x
            cross += x.T @ signs[chunk]
            total += x.sum(axis=0, dtype=np.float64)
        return Sums(n + len(V), total, gram, cross, sign + float(signs.sum(dtype=np.float64)))

    def covariance(self) -> Array:
        mean = self.x / self.n
        return self.gram / self.n - np.outer(mean, mean)


def ridge(sums: Sums, penalty: float, start: Readout) -> Readout:
    """Return the readout with the least squared error, |w|^2 counted `penalty` times the mean variance of a unit."""
    mean, covariance = sums.x / sums.n, sums.covariance()
    covariance.flat[:: len(mean) + 1] += penalty * np.trace(covariance) / len(mean)
    middle = sums.sign / sums.n
    w = linalg.solve(covariance, sums.cross / sums.n - middle * mean, assume_a="pos", overwrite_a=True)
    return start._replace(w=w.astype(np.float32), b=float(middle - mean @ w))


def logistic(V: Floats, signs: Floats, sums: Sums, penalty: float, start: Readout, iterations: int = 60) -> Readout:
    """Return the readout of least logistic loss, by L-BFGS from `start`.

    The loss is a mean over episodes; |w|^2 / 2 is counted as in `ridge`, over 4. With the Cholesky factor of what the
    Hessian is at w = 0 as its metric, it needs few passes.
    """
    n, covariance = len(start.w), sums.covariance()
    weight = penalty * np.trace(covariance) / n / 4
    metric = linalg.cholesky(covariance / 4 + weight * np.eye(n), lower=True)
    mean = sums.x / sums.n

    def plain(u: Array) -> tuple[Array, float]:
        w = linalg.solve_triangular(metric, u[:-1], lower=True, trans="T")
        return w, float(2 * u[-1] - mean @ w)  # the constant goes with centred x

    def loss(u: Array) -> tuple[float, Array]:
        w, b = plain(u)
        value, dw, _, db = gradient(start._replace(w=w.astype(np.float32), b=b), V, signs)
        dw = dw - db * mean + weight * w
        slope = np.append(linalg.solve_triangular(metric, dw, lower=True), 2 * db)
        return value + weight * float(w @ w) / 2, slope

    first = np.append(metric.T @ start.w.astype(np.float64), (start.b + mean @ start.w) / 2)
    found = optimize.minimize(
        loss, first, jac=True, method="L-BFGS-B", options={"maxiter": iterations, "maxcor": 20, "gtol": 1e-6}
    )
    w, b = plain(found.x)
    return start._replace(w=w.astype(np.float32), b=b)


def gradient(readout: Readout, V: Floats, signs: Floats) -> tuple[float, Array, Array, float]:
    """Return the mean logistic loss over all rows, and its gradient in w, theta and b."""
    w, theta, b = readout.w, readout.theta, np.array([readout.b], np.float32)
    total, dw, dtheta, db = 0.0, np.zeros(len(w)), np.zeros(len(w)), 0.0
    for chunk in _blocks(len(V)):
        parts = np.zeros((2, len(w)), np.float32)
        rows = np.arange(chunk.start, chunk.stop)
        one, own = add_gradient(V, signs, rows, w, theta, b, readout.linear, parts[0], parts[1])
        total, db = total + one, db + own
        dw += parts[0]
        dtheta += parts[1]
    n = len(V)
    return total / n, dw / n, dtheta / n, db / n


def descend(
    V: Floats, signs: Floats, start: Readout, rng: np.random.Generator, *, epochs: int, rate: float, batch: int = 64
) -> Readout:
    """Return a readout whose thresholds were learned too, by Adam in minibatches; its rate falls linearly to 0."""
    own = _Adam(start.w.copy(), start.theta.copy(), np.array([start.b], np.float32))
    memory = tuple(np.zeros_like(part) for part in own for _ in range(2))
    steps = -(-len(V) // batch)
    for epoch in range(epochs):
        order = rng.permutation(len(V))
        adam_pass(V, signs, order, *own, memory, batch, np.float32(rate), epoch * steps, epochs * steps)
    return start._replace(w=own.w, theta=own.theta, b=float(own.b[0]))


class _Adam(NamedTuple):
    w: Floats
    theta: Floats
    b: Floats


def _blocks(n: int) -> Iterator[slice]:
    return (slice(first, min(n, first + BLOCK)) for first in range(0, n, BLOCK))


@njit(**FAST)
def add_gradient(
    V: Any, signs: Any, rows: Any, w: Any, theta: Any, b: Any, linear: bool, dw: Any, dtheta: Any
) -> tuple[float, float]:
    """Add the gradient of rows to dw and dtheta; return their loss, and the gradient in b."""
    n, loss, db, zero = V.shape[1], 0.0, 0.0, np.float32(0)
    sides = len(w) // n
    for row in rows:
        v, y = V[row], b[0]
        for side in range(sides):
            own, t, up = w[side * n : (side + 1) * n], theta[side * n : (side + 1) * n], np.float32(1 - 2 * side)
            for i in range(n):
                x = up * (v[i] - t[i])
                y += own[i] * x if linear or x > zero else zero
        z = np.float64(signs[row] * y)
        loss += max(-z, 0.0) + np.log1p(np.exp(-abs(z)))
        e = np.float32(-signs[row] / (1.0 + np.exp(min(z, 80.0))))
        db += e
        for side in range(sides):
            own, t, up = w[side * n : (side + 1) * n], theta[side * n : (side + 1) * n], np.float32(1 - 2 * side)
            d, dt, lowered = dw[side * n : (side + 1) * n], dtheta[side * n : (side + 1) * n], e * up
            for i in range(n):
                x = up * (v[i] - t[i])
                active = linear or x > zero
                d[i] += e * x if active else zero
                dt[i] -= lowered * own[i] if active else zero
    return loss, db


@njit(**FAST)
def adam_pass(
    V: Any, signs: Any, order: Any, w: Any, theta: Any, b: Any, memory: Any, batch: int, rate: Any, step: int, end: int
) -> None:
    """Change a readout by a step for every minibatch in the order given; `step` of `end` were taken before."""
    dw, dtheta, db = np.zeros_like(w), np.zeros_like(theta), np.zeros_like(b)
    for first in range(0, len(order), batch):
        rows = order[first : first + batch]
        dw[:], dtheta[:] = 0, 0
        db[0] = add_gradient(V, signs, rows, w, theta, b, False, dw, dtheta)[1]
        own = rate * np.float32(1 - step / end)
        step += 1
        size = np.float32(own * np.sqrt(1 - KEEP_SQUARES**step) / (1 - KEEP**step))
        share = np.float32(1) / np.float32(len(rows))
        _adam(w, dw, memory[0], memory[1], share, size)
        _adam(theta, dtheta, memory[2], memory[3], share, size)
        _adam(b, db, memory[4], memory[5], share, size)


@njit(**FAST)
def _adam(values: Any, slopes: Any, first: Any, second: Any, share: Any, size: Any) -> None:
    for i in range(len(values)):
        slope = slopes[i] * share
        first[i] = KEEP * first[i] + (np.float32(1) - KEEP) * slope
        second[i] = KEEP_SQUARES * second[i] + (np.float32(1) - KEEP_SQUARES) * slope * slope
        values[i] -= size * first[i] / (np.sqrt(second[i]) + EPSILON)
