"""The kernel of learning: gradient steps of readout weights and thresholds, one episode after another.

    x = relu(V - theta),  y = W x,  e_j = y_true_j - y_j,  E = sum_j e_j^2
    dW_ji    =  step_W     e_j x_i
    dtheta_i = -step_theta H(x_i) sum_j e_j W_ji

With fixed steps, step_W = eta_W and step_theta = eta_theta. With the normalised step

    step_W = mu / ( |x|^2 + kappa sum_{i: x_i > 0} sum_j W_ji^2 ),    step_theta = kappa step_W

so that one step shrinks the error by the factor 1 - mu, to first order. A batch's gradient is the mean over its
episodes (normalised: mean numerators over mean denominators). Several networks may learn from the same episodes side
by side, each row of V being read once: a Metropolis pair, or all the starts of prelearning.

Sums over neurons run in vector registers, so they may be taken in another order than written (`reassoc`), always the
same one on one kind of processor.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

_fast = njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")


class Networks(NamedTuple):
    """Readouts that learn side by side, and what they carry from episode to episode. Changed in place."""

    W: NDArray[np.float32]  # (n_networks, n_classes, n_neurons)
    theta: NDArray[np.float32]  # (n_networks, n_neurons)
    grad_W: NDArray[np.float32]  # sums over the running batch
    grad_theta: NDArray[np.float32]
    size: NDArray[np.float64]  # (n_networks, 2): sums over the batch of E and of the step's denominator
    running: NDArray[np.float64]  # (n_networks,): running average of E

    def copy(self) -> "Networks":
        """Return networks that may be changed without changing these."""
        W, theta = self.W.copy(), self.theta.copy()
        return Networks(W, theta, self.grad_W.copy(), self.grad_theta.copy(), self.size.copy(), self.running.copy())


class Step(NamedTuple):
    """The switches and sizes of a gradient step, as the kernel takes them."""

    thresholds: bool  # read x = relu(V - theta), not V itself
    local: bool  # learn theta
    normalised: bool  # steps as above, not fixed
    rate_W: np.float32  # eta_W, or mu
    rate_theta: np.float32  # eta_theta, or kappa
    batch: int
    target: np.float32  # y_true of the right class; 0 for the others
    alpha: float  # of the running average


class Outcome(NamedTuple):
    """What happened in each episode, before its own update. Filled in place; shape (n_networks, n_episodes)."""

    cost: NDArray[np.float32]
    correct: NDArray[np.bool_]  # of networks that choose
    norm2: NDArray[np.float32]  # |x|^2

    def part(self, first: int, last: int) -> "Outcome":
        """Return a view of some of the episodes."""
        return Outcome(self.cost[:, first:last], self.correct[:, first:last], self.norm2[:, first:last])


def networks(n: int, n_classes: int, n_neurons: int, theta: NDArray[np.float32]) -> Networks:
    """Return `n` networks that know nothing: W = 0, thresholds `theta`."""
    W = np.zeros((n, n_classes, n_neurons), np.float32)
    return Networks(
        W,
        np.array(np.broadcast_to(theta, (n, n_neurons)), np.float32, order="C"),
        np.zeros_like(W),
        np.zeros((n, n_neurons), np.float32),
        np.zeros((n, 2)),
        np.full(n, np.nan),
    )


def outcome(n_networks: int, n_episodes: int) -> Outcome:
    """Return room for what happens."""
    shape = (n_networks, n_episodes)
    return Outcome(np.empty(shape, np.float32), np.empty(shape, np.bool_), np.empty(shape, np.float32))


@_fast
def _features(V, theta, thresholds, x):
    """x, and its squared length."""
    norm2 = np.float32(0)
    if thresholds:
        for i in range(len(x)):
            difference = V[i] - theta[i]
            x[i] = difference if difference > 0 else np.float32(0)
            norm2 += x[i] * x[i]
    else:
        for i in range(len(x)):
            x[i] = V[i]
            norm2 += x[i] * x[i]
    return norm2


@_fast
def _dot(a, b):
    total = np.float32(0)
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@_fast
def _active_weight(w, x):
    """Sum of w^2 over active neurons."""
    total = np.float32(0)
    for i in range(len(x)):
        total += w[i] * w[i] if x[i] > 0 else np.float32(0)
    return total


@_fast
def _add_scaled(target, factor, source):
    for i in range(len(target)):
        target[i] += factor * source[i]


@_fast
def _add_where_active(target, factor, source, x):
    for i in range(len(target)):
        target[i] += factor * source[i] if x[i] > 0 else np.float32(0)


@_fast
def _learn_pair(w, factor, e, x, pull):
    """Add e w to `pull` and then factor x to w, in one pass."""
    for i in range(len(w)):
        pull[i] += e * w[i]
        w[i] += factor * x[i]


@njit(nogil=True, cache=True)
def choose(y, u):
    """Draw a class from softmax(y) with the uniform number u; -1 where y is not finite."""
    top = y[0]
    for value in y:
        top = max(top, value)
    total = 0.0
    for value in y:
        total += np.exp(np.float64(value - top))
    if not np.isfinite(total):
        return -1
    limit, below = u * total, 0.0
    for j in range(len(y) - 1):
        below += np.exp(np.float64(y[j] - top))
        if limit < below:
            return j
    return len(y) - 1


@njit(nogil=True, cache=True)
def _denominator(step, W, x, norm2):
    if not step.normalised:
        return norm2
    total = norm2
    if step.local:
        for j in range(len(W)):
            total += step.rate_theta * _active_weight(W[j], x)
    return total


@njit(nogil=True, cache=True)
def _rates(step, denominator, n):
    """Return the steps of W and theta for a batch of n whose denominators sum to `denominator`."""
    if not step.normalised:
        return step.rate_W / np.float32(n), step.rate_theta / np.float32(n)
    if denominator <= 0:
        return np.float32(0), np.float32(0)
    rate = np.float32(step.rate_W / denominator)
    return rate, step.rate_theta * rate


@njit(nogil=True, cache=True)
def _apply_one(step, W, theta, x, e, pull, denominator):
    rate_W, rate_theta = _rates(step, denominator, 1)
    if not step.local:
        for j in range(len(W)):
            _add_scaled(W[j], rate_W * e[j], x)
        return
    pull[:] = np.float32(0)
    for j in range(len(W)):
        _learn_pair(W[j], rate_W * e[j], e[j], x, pull)
    _add_where_active(theta, -rate_theta, pull, x)


@njit(nogil=True, cache=True)
def _accumulate(step, W, grad_W, grad_theta, x, e):
    for j in range(len(W)):
        _add_scaled(grad_W[j], e[j], x)
        if step.local:
            _add_where_active(grad_theta, e[j], W[j], x)


@njit(nogil=True, cache=True)
def _apply_batch(step, W, theta, grad_W, grad_theta, denominator):
    rate_W, rate_theta = _rates(step, denominator, step.batch)
    for j in range(len(W)):
        _add_scaled(W[j], rate_W, grad_W[j])
        grad_W[j] = np.float32(0)
    if step.local:
        _add_scaled(theta, -rate_theta, grad_theta)
        grad_theta[:] = np.float32(0)


@njit(nogil=True, cache=True)
def _errors(step, W, x, label, y, e):
    """Fill y and e; return the cost."""
    cost = np.float32(0)
    for j in range(len(W)):
        y[j] = _dot(W[j], x)
        e[j] = (step.target if j == label else np.float32(0)) - y[j]
        cost += e[j] * e[j]
    return cost


@njit(nogil=True, cache=True)
def learn(step, nets, V, labels, uniforms, filled, out):
    """Let all networks learn from episodes, `filled` of whose running batch they have seen already.

    `uniforms`, shape (n_episodes, n_choosing), draws the choices of the first `n_choosing` networks.
    """
    n_networks, n_classes, n_neurons = nets.W.shape
    x, pull = np.empty(n_neurons, np.float32), np.empty(n_neurons, np.float32)
    y, e = np.empty(n_classes, np.float32), np.empty(n_classes, np.float32)
    for n in range(len(V)):
        filled += 1
        for m in range(n_networks):
            W, theta = nets.W[m], nets.theta[m]
            norm2 = _features(V[n], theta, step.thresholds, x)
            cost = _errors(step, W, x, labels[n], y, e)
            out.cost[m, n], out.norm2[m, n] = cost, norm2
            out.correct[m, n] = m < uniforms.shape[1] and choose(y, uniforms[n, m]) == labels[n]
            denominator = _denominator(step, W, x, norm2)
            nets.size[m, 0] += cost
            nets.size[m, 1] += denominator
            if step.batch == 1:
                _apply_one(step, W, theta, x, e, pull, denominator)
            else:
                _accumulate(step, W, nets.grad_W[m], nets.grad_theta[m], x, e)
                if filled == step.batch:
                    _apply_batch(step, W, theta, nets.grad_W[m], nets.grad_theta[m], nets.size[m, 1])
            if filled == step.batch:
                _average(nets, m, step)
        if filled == step.batch:
            filled = 0


@njit(nogil=True, cache=True)
def _average(nets, m, step):
    """Take the batch's cost into the running average, which starts at the first; infinite once a cost was."""
    cost = nets.size[m, 0] / step.batch
    old = nets.running[m]
    if not np.isfinite(cost):
        nets.running[m] = np.inf
    else:
        nets.running[m] = cost if np.isnan(old) else (1 - step.alpha) * old + step.alpha * cost
    nets.size[m, 0] = 0.0
    nets.size[m, 1] = 0.0
