"""Slow, obvious versions in float64 of what the kernels do: the oracle of the tests."""

import numpy as np


def run(W, W_in, leak, inputs):
    """States of one series after every step, shape (T, N)."""
    W, W_in = W.astype(np.float64), W_in.astype(np.float64)
    V = np.zeros(W.shape[0])
    states = []
    for s in np.asarray(inputs, np.float64):
        V = (1 - leak) * V + leak * np.maximum(0, W_in @ s + W @ V)
        states.append(V)
    return np.array(states)


def threefry(key, counter):
    """Threefry-2x32 with 20 rounds, in Python's own integers."""
    mask = 0xFFFFFFFF
    k = [int(key[0]), int(key[1]), 0x1BD11BDA ^ int(key[0]) ^ int(key[1])]
    x0, x1 = (int(counter[0]) + k[0]) & mask, (int(counter[1]) + k[1]) & mask
    rotations = [13, 15, 26, 6, 17, 29, 16, 24]
    for r in range(20):
        x0 = (x0 + x1) & mask
        x1 = ((x1 << rotations[r % 8]) | (x1 >> (32 - rotations[r % 8]))) & mask
        x1 ^= x0
        if r % 4 == 3:
            j = r // 4 + 1
            x0 = (x0 + k[j % 3]) & mask
            x1 = (x1 + k[(j + 1) % 3] + j) & mask
    return x0, x1


def normal_pair(key, counter):
    """Two normal numbers from the two words of `threefry`, by Box and Muller's transform."""
    w0, w1 = threefry(key, counter)
    radius = np.sqrt(-2 * np.log((w0 + 0.5) / 2**32))
    angle = np.pi / 2 * ((w1 >> 2) / 2**30 - 0.5)
    along = radius * np.cos(angle) * (-1 if w1 & 1 else 1)
    across = radius * np.sin(angle)
    return (across, along) if w1 & 2 else (along, across)


def inputs(task, draw):
    """What the channels of drawn episodes receive, shape (n, T, n_channels)."""
    scaled = task.odours.rates / task.odours.scale
    out = np.zeros((len(draw.items), task.n_steps, scaled.shape[1]))
    for episode, (item, key) in enumerate(zip(draw.items, draw.keys, strict=True)):
        for step in range(task.n_steps):
            clean = scaled[task.items[item][step // task.steps]]
            for channel in range(len(clean)):
                xi = normal_pair(key, (step, channel // 2))[channel % 2]
                out[episode, step, channel] = clean[channel] * (1 + task.noise * xi)
    return out


def gradient_step(W, theta, V, labels, learner, kappa=0.0):
    """One batch in float64: new W and theta, and the cost of every episode."""
    dW, dtheta, denominator, costs = np.zeros_like(W), np.zeros_like(theta), 0.0, []
    for v, label in zip(V, labels, strict=True):
        x = np.maximum(0, v - theta) if learner.thresholds else v
        e = learner.rule.target * (np.arange(len(W)) == label) - W @ x
        dW += np.outer(e, x) / len(V)
        dtheta -= (x > 0) * (e @ W) / len(V)
        denominator += (x @ x + kappa * (W**2).sum(axis=0) @ (x > 0)) / len(V)
        costs.append(e @ e)
    if learner.step == "normalised":
        rate_w = learner.mu / denominator if denominator > 0 else 0.0
        rate_theta = kappa * rate_w
    else:
        rate_w, rate_theta = learner.eta_w, learner.eta_theta
    return W + rate_w * dW, theta + learner.local * rate_theta * dtheta, np.array(costs)


def cost(W, theta, v, label, target):
    """E of one episode."""
    y = W @ np.maximum(0, v - theta)
    return ((target * (np.arange(len(W)) == label) - y) ** 2).sum()


def choose(y, temperature, u):
    """The class that a uniform number u draws from softmax(y / temperature)."""
    p = np.exp((y - y.max()) / temperature)
    return int(np.searchsorted(np.cumsum(p)[:-1], u * p.sum(), side="right"))


def reward_step(W, theta, V, labels, uniforms, learner, kappa=0.0):
    """One batch of Q-learning in float64: new W and theta, costs, actions."""
    dW, dtheta, denominator, costs, actions = np.zeros_like(W), np.zeros_like(theta), 0.0, [], []
    for v, label, u in zip(V, labels, uniforms, strict=True):
        x = np.maximum(0, v - theta) if learner.thresholds else v
        Q = W @ x
        a = choose(Q, learner.rule.temperature, u)
        e = learner.rule.reward * (a == label) - Q[a]
        dW[a] += e * x / len(V)
        dtheta -= (x > 0) * e * W[a] / len(V)
        denominator += (x @ x + kappa * W[a] ** 2 @ (x > 0)) / len(V)
        costs.append(e * e)
        actions.append(a)
    rate_w, rate_theta = learner.eta_w, learner.eta_theta
    if learner.step == "normalised":
        rate_w = learner.mu / denominator if denominator > 0 else 0.0
        rate_theta = kappa * rate_w
    new_theta = theta + learner.local * rate_theta * dtheta
    return W + rate_w * dW, new_theta, np.array(costs), np.array(actions)
