"""Slow, obvious versions in float64 of what the kernels do: the oracle of the tests."""

import math

import numpy as np


def run(W, W_in, leak, inputs, activation="relu", bias=0.0, delays=None):
    """States of one series after every step, shape (T, N)."""
    W, W_in = W.astype(np.float64), W_in.astype(np.float64)
    inputs = np.asarray(inputs, np.float64)
    f = np.tanh if activation == "tanh" else lambda drive: np.maximum(0, drive)
    V = np.zeros(W.shape[0])
    states = []
    for t, s in enumerate(inputs):
        into = W_in @ s if delays is None else heard_with_delays(W_in, inputs, t, delays)
        V = (1 - leak) * V + leak * f(into + W @ V + bias)
        states.append(V)
    return np.array(states)


def heard_with_delays(W_in, inputs, t, delays):
    """What each neuron hears of a series at step t: every channel through every tap, 0 beyond the ends."""
    W_in, n_inputs = W_in.toarray() if hasattr(W_in, "toarray") else W_in, inputs.shape[1]
    groups = np.array_split(np.arange(len(W_in)), np.size(delays.spacings))
    total = np.zeros(len(W_in))
    for group, spacing in zip(groups, np.atleast_1d(delays.spacings), strict=True):
        for neuron in group:
            for channel in range(n_inputs):
                for tap in range(delays.taps):
                    step = t - tap * spacing + (delays.taps // 2 * spacing if delays.centred else 0)
                    if 0 <= step < len(inputs):
                        total[neuron] += W_in[neuron, channel * delays.taps + tap] * inputs[step, channel]
    return total


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
                source = 0 if task.noise_kind == "common" else channel
                xi = normal_pair(key, (step, source // 2))[source % 2]
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
        n = len(V) if learner.batch_cost == "sum" else 1
        rate_w, rate_theta = n * learner.eta_w, n * (learner.eta_theta or 0.0)
    return W + rate_w * dW, theta + rate_theta * dtheta if learner.local else theta, np.array(costs)


def cost(W, theta, v, label, target):
    """E of one episode."""
    y = W @ np.maximum(0, v - theta)
    return ((target * (np.arange(len(W)) == label) - y) ** 2).sum()


def choose(y, temperature, u):
    """The class that a uniform number u draws from softmax(y / temperature)."""
    p = np.exp((y - y.max()) / temperature)
    return int(np.searchsorted(np.cumsum(p)[:-1], u * p.sum(), side="right"))


def reward_step(W, theta, V, labels, uniforms, learner, kappa=0.0, followed=None, rewards=None):
    """One batch of Q-learning in float64: new W and theta, costs, actions, which are those `followed` if given.

    Rewards are given too, or those of the rule.
    """
    dW, dtheta, denominator, costs, actions = np.zeros_like(W), np.zeros_like(theta), 0.0, [], []
    for n, (v, label, u) in enumerate(zip(V, labels, uniforms, strict=True)):
        x = np.maximum(0, v - theta) if learner.thresholds else v
        Q = W @ x
        a = choose(Q, learner.rule.temperature, u) if followed is None else followed[n]
        e = (learner.rule.reward * (a == label) if rewards is None else rewards[n]) - Q[a]
        dW[a] += e * x / len(V)
        dtheta -= (x > 0) * e * W[a] / len(V)
        denominator += (x @ x + kappa * W[a] ** 2 @ (x > 0)) / len(V)
        costs.append(e * e)
        actions.append(a)
    n = len(V) if learner.batch_cost == "sum" else 1
    rate_w, rate_theta = n * (learner.eta_w or 0.0), n * (learner.eta_theta or 0.0)
    if learner.step == "normalised":
        rate_w = learner.mu / denominator if denominator > 0 else 0.0
        rate_theta = kappa * rate_w
    new_theta = theta + rate_theta * dtheta if learner.local else theta
    return W + rate_w * dW, new_theta, np.array(costs), np.array(actions)


def learn(W, theta, V, labels, learner, uniforms, followed=None):
    """Batch after batch: new W and theta, the running average of their costs, and actions (by reward)."""
    average, taken = None if learner.average_start == "first" else 0.0, []
    for first in range(0, len(V), learner.batch):
        part = slice(first, first + learner.batch)
        if hasattr(learner.rule, "reward"):
            told = V[part], labels[part], uniforms[part], learner, 0.0, followed[part] if followed else None
            W, theta, costs, actions = reward_step(W, theta, *told)
            taken += list(actions)
        else:
            W, theta, costs = gradient_step(W, theta, V[part], labels[part], learner)
        E = costs.sum() if learner.batch_cost == "sum" else costs.mean()
        average = E if average is None else average + (E - average) / learner.period
    return W, theta, average, taken


def learn_pair(W, theta, delta, V, labels, learner, uniforms):
    """The current network and one with shifted thresholds, which acts by itself only if both act."""
    current = learn(W, theta, V, labels, learner, uniforms[:, 0])
    followed = current[3] if learner.acting == "current" else None
    return current, learn(W, theta + delta, V, labels, learner, uniforms[:, 1], followed)


def metropolis(learner, V, labels, source, n_classes):
    """Every decision of a search from `learner.start`: (theta_g, proposed, cost, proposed cost, accepted)."""
    W, theta, theta_g, decisions = (
        np.zeros((n_classes, V.shape[1])),
        np.full(V.shape[1], learner.start),
        learner.start,
        [],
    )
    n = learner.batch * learner.period
    uniforms = source.uniforms("choice", 0, len(V))
    for number in range(len(V) // n):
        part = slice(n * number, n * (number + 1))
        delta = learner.sigma * source.normals("proposal", number, 1)[0]
        if learner.search == "per_neuron":
            delta = learner.sigma * source.generator("proposal", number).standard_normal(V.shape[1])
        current, proposed = learn_pair(W, theta, delta, V[part], labels[part], learner, uniforms[part])
        u = source.uniforms("acceptance", number + 1, 1)[0, 0]
        accepted = u < np.exp(-learner.beta * (proposed[2] - current[2]))
        decisions.append((theta_g, theta_g + np.mean(delta), current[2], proposed[2], accepted))
        theta_g = decisions[-1][int(accepted)]
        W, theta = (proposed if accepted else current)[:2]
    return decisions


def prelearn(learner, V, labels, source, n_classes, method, n_starts=10):
    """The start that prelearning chooses, where all walks end, and their average costs."""
    ends, costs = np.quantile(V[:1000], np.linspace(0, 0.95, n_starts)), []
    if method == "resets":
        ends[0] = 0.0
    n, per_neuron = learner.batch * learner.period, learner.search == "per_neuron"
    uniforms = source.uniforms("choice", 0, len(V))[:, [0, 0]]
    for number in range(len(V) // n):
        part, kept = slice(n * number, n * (number + 1)), []
        shown = V[part], labels[part], learner, uniforms[part]
        normals, chances = source.generator("proposal", number), source.generator("acceptance", number)
        for i in range(n_starts):
            delta = learner.sigma * np.full(V.shape[1], normals.standard_normal())
            if per_neuron:
                delta = learner.sigma * normals.standard_normal(V.shape[1])
            from_nothing = np.zeros((n_classes, V.shape[1]))
            pair = learn_pair(from_nothing, np.full(V.shape[1], ends[i]), delta, *shown)
            current, proposed = pair[0][2], pair[1][2]
            accepted = chances.random() < np.exp(-learner.beta * (proposed - current))
            if method == "walks":
                ends[i] += accepted * delta.mean()
            kept.append(proposed if accepted else current)
        costs.append(kept)
    means = np.mean(costs, axis=0)
    return ends[np.argmin(means)], ends, means


def free_run(reservoir, bias, V, start, ahead, say, n_steps):
    """What a network of leaky tanh or relu neurons says that hears what it said: `say(z)` of z = [V, s, 1]."""
    W, W_in = reservoir.W.toarray().astype(np.float64), reservoir.W_in.toarray().astype(np.float64)
    f = np.tanh if reservoir.activation == "tanh" else lambda drive: np.maximum(0, drive)
    y, said = start, []
    for step in range(n_steps):
        s = np.concatenate([y, ahead[step]])
        V = (1 - reservoir.leak_rate) * V + reservoir.leak_rate * f(W_in @ s + W @ V + bias)
        y = say(np.concatenate([V, s, [1.0]]))
        said.append(y)
    return np.array(said)


def recursive_thresholds(V, wanted, theta, lam, p, size):
    """Weights of [V, relu(V - theta)] and thresholds after episodes in order, by normal equations solved anew.

    Returned are W, shape (n_outputs, 2 N), theta, p, and the costs before each update.
    """
    n, costs = V.shape[1], []
    G, W = lam * np.eye(2 * n), np.zeros((wanted.shape[1], 2 * n))
    for v, y_true in zip(V, wanted, strict=True):
        x = np.concatenate([v, np.maximum(0, v - theta)])
        e = y_true - W @ x
        costs.append(e @ e)
        G += np.outer(x, x)
        W = W + np.outer(e, np.linalg.solve(G, x))
        left = y_true - W @ x
        S = size**2 + sum(p[i] * (W[:, n + i] ** 2).sum() for i in range(n) if v[i] > theta[i])
        new_theta, new_p = theta.copy(), p.copy()
        for i in range(n):
            if v[i] > theta[i]:
                new_theta[i] -= p[i] * (W[:, n + i] @ left) / S
                new_p[i] -= p[i] ** 2 * (W[:, n + i] ** 2).sum() / S
        theta, p = new_theta, new_p
    return W, theta, p, np.array(costs)


def learn_again(W, shares, x, labels, order, target, ridge):
    """Take the steps towards a ridge regression of rows x, in place: rows modulo their number in this order."""
    for number in order:
        i = number % len(x)
        penalty = ridge * (x[i] ** 2).sum()
        e = target * (np.arange(len(W)) == labels[i]) - W @ x[i] - penalty * shares[i]
        rate = 1 / ((x[i] ** 2).sum() + penalty)
        W += rate * np.outer(e, x[i])
        shares[i] += rate * e


def drifts(bad, forgetting):
    """Return after which rows a stream has drifted, and with how many: CUSUM over the rows since the last time."""
    found, first, S, since = [], 0, 0.0, 0
    for n, row in enumerate(bad):
        weights = [forgetting ** (n - 1 - k) for k in range(first, n)]
        p = (2 + sum(w for w, b in zip(weights, bad[first:n], strict=True) if b)) / (4 + sum(weights))
        q = p + (1 - p) / 3
        S = max(0.0, S + math.log(q / p if row else (1 - q) / (1 - p)))
        since = since + 1 if S > 0 else 0
        if math.exp(S) > 1 / (1 - forgetting):
            found.append((n, since))
            first, S, since = n + 1, 0.0, 0
    return found
