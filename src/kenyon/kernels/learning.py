"""The kernel of learning: gradient steps of readout weights and thresholds, one episode after another.

    x = relu(V - theta),  y = W x
    dW_ji    =  step_W     e_j x_i
    dtheta_i = -step_theta H(x_i) sum_j e_j W_ji

where e_j = y_true_j - y_j for every class or output j (supervised, regression), or e_a = R - y_a for the action taken
and none for the others (Q-learning; see `rules`). With fixed steps, step_W = eta_W and step_theta = eta_theta. With the
normalised step

    step_W = mu / ( |x|^2 + kappa sum_{i: x_i > 0} sum_j W_ji^2 ),    step_theta = kappa step_W

over the rows j that learn, so that one step shrinks the error by the factor 1 - mu, to first order. A batch's
cost, and so its gradient, is the mean over its episodes, or the sum (normalised: mean numerators over mean
denominators, where both come to the same). All steps of an episode are multiplied by a factor of its own, by which they
cool. Several networks may learn from the same episodes side by side, taking turns every few episodes: a Metropolis
pair, between which `search` decides, or all the starts of prelearning.

Lanes are neurons, LANES of them at a time; `reading` says how arrays are laid out. Sums over a batch, grad_W and
grad_theta, are laid out as W and theta are. With the code "signed", x may be negative, and

    dtheta_i = -step_theta sign(x_i) sum_j e_j W_ji

which is the above for x >= 0; so H(x_i) is written as the sign of x_i throughout.

Arguments that the functions share:

    step, nets              a `Step` and `Networks`
    m, n                    the number of the network and of the episode
    first, last             the rows of W that learn: first <= j < last
    room                    what is read of one network in one episode: features x, outputs y
    e                       (n_classes,): errors
    rates                   step_W and step_theta
    local                   whether thresholds learn
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kenyon.kernels.cache import inner, kernel
from kenyon.kernels.lanes import aligned
from kenyon.kernels.reading import read, room_for, row_distance
from kenyon.kernels.search import decide
from kenyon.kernels.steps import apply_gradients, collect, learn_at_once, learn_two_and_read

FEW = 8  # episodes for which it does not pay to begin arrays on a cache line
BLOCK = 32  # episodes that a network sees before the next one does, so that it stays in the nearest cache


class Networks(NamedTuple):
    """Readouts that learn side by side, and what they carry from episode to episode. Kernels change them in place."""

    W: NDArray[np.float32]  # (n_networks, n_classes, n_padded)
    theta: NDArray[np.float32]  # (n_networks, n_padded)
    grad_W: NDArray[np.float32]  # as W: sums over the current batch
    grad_theta: NDArray[np.float32]  # as theta
    size: NDArray[np.float64]  # (n_networks, 2): sums over the batch of E and of the step's denominator
    running: NDArray[np.float64]  # (n_networks,): running average of E; NaN before the first

    def copy(self, batch: int, n: int) -> "Networks":
        """Return networks that may learn from n episodes, so many to a step, without changing these."""
        W, theta = _copies(self.W, self.theta, n)
        grad_W, grad_theta = self.grad_W, self.grad_theta
        if batch > 1:  # otherwise steps do not touch the sums
            grad_W, grad_theta = _copies(grad_W, grad_theta, n)
        return Networks(W, theta, grad_W, grad_theta, self.size.copy(), self.running.copy())


def _room(n_halves: int, n: int, n_classes: int, n_padded: int) -> list[NDArray[np.float32]]:
    """Return room for W and theta, and for their gradients if there is a second half. All begin on a cache line."""
    room: list[NDArray[np.float32]] = []
    for half in aligned(n_halves, n * (n_classes + 1), n_padded):
        room += half[:-n].reshape(n, n_classes, n_padded), half[-n:]
    return room


def _copies(W: NDArray[np.float32], theta: NDArray[np.float32], n: int) -> list[NDArray[np.float32]]:
    """Return copies to learn from n episodes."""
    if n < FEW:
        return [W.copy(), theta.copy()]
    room = _room(1, *W.shape)
    room[0][:], room[1][:] = W, theta
    return room


class Step(NamedTuple):
    """The switches and sizes of a gradient step, as the kernel takes them."""

    thresholds: bool  # read x = relu(V - theta), not V itself
    both: bool  # read both sides of every neuron: the code "on_off"
    signed: bool  # read x = sign(V) relu(|V| - theta): the code "signed"
    local: bool  # learn theta
    normalised: bool  # steps as above, not fixed
    rate_W: np.float32  # eta_W, or mu
    rate_theta: np.float32  # eta_theta, or kappa
    batch: int  # episodes to a gradient step
    summed: bool  # a batch's cost is the sum over its episodes, not the mean
    by_reward: bool  # Q-learning
    following: bool  # by reward, the second network of each pair learns from what the first did
    told: bool  # by reward, actions and rewards are given, not chosen and made from labels
    regression: bool  # targets are real numbers, not classes
    target: np.float32  # y_true of the right class, or the reward for choosing it; 0 for the others
    alpha: float  # share of a batch's cost in the running average
    stride: int  # episodes between two decisions of a search; 0: no search
    beta: float  # the inverse temperature of its decisions
    from_zero: bool  # its running averages start at 0, not at the first cost


class EpisodeLog(NamedTuple):
    """What happened in each episode, before its own update. Filled in place; shape (n_networks, n_episodes)."""

    cost: NDArray[np.float32]
    correct: NDArray[np.float32]  # of networks that choose: 1 or 0
    norm2: NDArray[np.float32]  # |x|^2; NaN where a state was not finite

    def part(self, first: int, last: int) -> "EpisodeLog":
        """Return a view of some of the episodes."""
        return EpisodeLog(self.cost[:, first:last], self.correct[:, first:last], self.norm2[:, first:last])


def networks(n: int, n_classes: int, theta: NDArray[np.float32]) -> Networks:
    """Return `n` networks that know nothing: W = 0, thresholds `theta`, one per neuron."""
    n_padded = row_distance(len(theta))
    W, thresholds, grad_W, grad_theta = _room(2, n, n_classes, n_padded)
    thresholds[:] = np.inf
    thresholds[:, : len(theta)] = theta
    return Networks(W, thresholds, grad_W, grad_theta, np.zeros((n, 2)), np.full(n, np.nan))


def episode_log(n_networks: int, n_episodes: int) -> EpisodeLog:
    """Return an empty log."""
    return EpisodeLog(*np.empty((3, n_networks, n_episodes), np.float32))


@inner
def _rates(step, denominator, n, cooled):
    """Return step_W and step_theta for gradients and denominators summed over a batch; a fixed step is shared by n."""
    if not step.normalised:
        return cooled * step.rate_W / np.float32(n), cooled * step.rate_theta / np.float32(n)
    if denominator <= 0:
        return np.float32(0), np.float32(0)
    rate = np.float32(cooled * step.rate_W / denominator)
    return rate, step.rate_theta * rate


@kernel
def choose(y, temperature, u, sums):
    """Draw a class from softmax(y / temperature) with the uniform number u; -1 if y holds a NaN.

    `sums` is work space, one number per class.
    """
    top = y[0]
    for value in y:
        top = max(top, value)
    total = 0.0
    for j in range(len(y)):
        total += 1.0 if y[j] == top else np.exp(np.float64(y[j] - top) / temperature)
        sums[j] = total
    if not np.isfinite(total):
        return -1
    for j in range(len(y) - 1):
        if u * total < sums[j]:
            return j
    return len(y) - 1


@inner
def _supervised(step, y, label, e):
    """Write the errors of all classes to `e`; return the cost."""
    cost = np.float32(0)
    for j in range(len(y)):
        e[j] = (step.target if j == label else np.float32(0)) - y[j]
        cost += e[j] * e[j]
    return cost


@inner
def _regression(targets, n, y, e):
    """Write the errors of all outputs in episode n to `e`; return the cost."""
    cost = np.float32(0)
    for j in range(len(y)):
        e[j] = targets[n, j] - y[j]
        cost += e[j] * e[j]
    return cost


@inner
def _by_reward(step, y, action, label, targets, n, e):
    """Write the error of the action taken, the only one whose reward is known, to `e`; return the cost."""
    reward = targets[n, 0] if step.told else step.target if action == label else np.float32(0)
    e[action] = reward - y[action]
    return e[action] * e[action]


@inner
def _errors(step, y, action, label, targets, n, e):
    """Write the errors of episode n to `e`; return the cost."""
    if step.by_reward:
        return _by_reward(step, y, action, label, targets, n, e)
    if step.regression:
        return _regression(targets, n, y, e)
    return _supervised(step, y, label, e)


@inner
def _action(step, y, labels, uniforms, temperatures, m, n, sums, taken, k):
    """Return what network m does in episode n, or -1 if it does nothing; the k-th action of a block is kept."""
    if step.told:
        return labels[n]
    if step.following and m % 2 == 1:
        return taken[k]
    if m >= uniforms.shape[1]:
        return -1
    taken[k] = choose(y, temperatures[min(n, len(temperatures) - 1)], uniforms[n, m], sums)
    return taken[k]


@kernel
def act(thresholds, both, signed, nets, V, scaling, uniforms, temperatures, actions):
    """Write what the first network chooses in each episode to `actions`; arguments are those of `learn`."""
    own, n_classes = Networks(*nets), nets[0].shape[1]
    room, sums = room_for(V, scaling, both, n_classes), np.empty(n_classes, np.float64)
    for n in range(len(V)):
        read(V, n, scaling, own, 0, thresholds, both, signed, False, room)
        temperature = temperatures[min(n, len(temperatures) - 1)]
        actions[n] = max(choose(room.y, temperature, uniforms[n, 0], sums), 0)


@njit
def learn_all(
    step, nets, V, scaling, labels, targets, uniforms, temperatures, cooled, decisions, shifts, seen, first, out, place
):  # fmt: skip
    """Let all networks learn from episodes in order, and a search decide between them.

    Return how many episodes were seen; whether costs, states, running costs and labels were well; and whether in every
    episode the first network had an active neuron. If something is not well, it stops at the end of the period, before
    the decision. To go on nevertheless, call it again from there on.

    V               (n_episodes, n_neurons): hidden states
    scaling         (2, n_neurons): networks read (V - scaling[0]) scaling[1]; (2, 0): V
    labels          (n_episodes,): the right class, or the action taken if that is told; in regression ignored
    targets         (n_episodes, n_classes): in regression, the outputs wanted; (n_episodes, 1): the rewards, if they
                    are told; otherwise ignored
    uniforms        (n_episodes, n_choosing): random numbers that draw the choices of the first `n_choosing` networks;
                    in Q-learning all networks must choose, except those that follow another, unless actions are told
    temperatures    (n_episodes,): of the choices; (1,): the same for all
    cooled          (n_episodes,) or (1,): factors on the steps; that of a batch is the factor of its last episode
    decisions       those that fall due in these episodes, and the shifts of thresholds after them, as `decide` takes
    and shifts      them; none without a search
    seen            how many episodes the networks saw before all these
    first           the episode to begin at: the end of a period that was not well, otherwise 0
    out, place      an `EpisodeLog`, and its column for the first of these episodes
    """
    n_classes, stride = nets.W.shape[1], step.stride
    room, e, sums = room_for(V, scaling, step.both, n_classes), np.empty(n_classes, np.float32), np.empty(n_classes)
    taken = np.empty(BLOCK, np.intp)  # actions of the last network that chose
    active, well, due = True, True, first > 0
    while True:
        if due and stride > 0 and (seen + first) % stride == 0:
            decide(nets, step.beta, step.from_zero, decisions, shifts, (seen + first) // stride - seen // stride - 1)
        if first == len(V):
            return first, True, active
        last = min(len(V), first + stride - (seen + first) % stride) if stride > 0 else len(V)
        well, alive = _learn_in_turn(
            step, nets, V, scaling, labels, targets, uniforms, temperatures, cooled, (seen + first) % step.batch,
            first, last, out, place, room, e, sums, taken,
        )  # fmt: skip
        first, active, due = last, active and alive, True
        if not well or np.isinf(nets.running).any():
            return first, False, active


@kernel
def learn(
    step, nets, V, scaling, labels, targets, uniforms, temperatures, cooled, decisions, shifts, seen, first, out, place
):  # fmt: skip
    """Call `learn_all`, with plain tuples for `step`, `nets` and `out`: named ones take Numba three times as long."""
    return learn_all(
        Step(*step), Networks(*nets), V, scaling, labels, targets, uniforms, temperatures, cooled, decisions, shifts,
        seen, first, EpisodeLog(*out), place,
    )  # fmt: skip


@inner
def _learn_in_turn(
    step, nets, V, scaling, labels, targets, uniforms, temperatures, cooled, n_in_batch, first_episode, last_episode,
    out, place, room, e, sums, taken,
):  # fmt: skip
    """Do as `learn_all` says with some of the episodes, in the work space that it made, without decisions.

    Return whether costs, states and labels were well, and whether the first network had an active neuron throughout.
    """
    n_networks, n_classes = nets.W.shape[:2]
    code, weigh = (step.thresholds, step.both, step.signed), step.normalised and step.local
    in_one = n_classes == 2 and not step.signed and not step.by_reward and not (step.batch > 1 and step.thresholds)
    total, silent, strange = np.float32(0), False, False  # the total is 0 as long as everything is finite
    for start in range(first_episode, last_episode, BLOCK):
        end = min(start + BLOCK, last_episode)
        for m in range(n_networks):
            place_in_batch, is_read = n_in_batch, False
            for n in range(start, end):
                if not is_read:
                    norm2 = read(V, n, scaling, nets, m, *code, weigh, room)
                action = _action(step, room.y, labels, uniforms, temperatures, m, n, sums, taken, n - start)
                first, last = (max(action, 0), max(action, 0) + 1) if step.by_reward else (0, n_classes)
                cost = _errors(step, room.y, first, labels[n], targets, n, e)
                k = place + n
                out.cost[m, k], out.norm2[m, k], out.correct[m, k] = cost, norm2, action == labels[n]
                total += cost * np.float32(0) + norm2 * np.float32(0)
                silent = silent or (m == 0 and norm2 == 0)
                strange = strange or labels[n] < 0 or labels[n] >= n_classes
                denominator = norm2
                if weigh:
                    for j in range(first, last):
                        denominator += step.rate_theta * room.active[j]
                nets.size[m, 0] += cost
                nets.size[m, 1] += denominator
                place_in_batch += 1
                factor = cooled[min(n, len(cooled) - 1)]
                rates = _rates(step, nets.size[m, 1], 1, factor)
                is_read = in_one and (step.batch == 1 or place_in_batch < step.batch)
                if is_read:  # in one pass
                    after = min(n + 1, end - 1)  # the last reads itself again, for nothing
                    norm2 = learn_two_and_read(step, nets, m, rates, V, after, scaling, weigh, room, e)
                elif step.batch > 1:
                    collect(nets, m, first, last, room.x, e, step.local)
                else:
                    learn_at_once(nets, m, first, last, rates, room.x, e, step.local)
                if place_in_batch == step.batch:
                    _end_batch(step, nets, m, factor)
                    place_in_batch = 0
        n_in_batch = (n_in_batch + end - start) % step.batch
    return total == 0 and not strange, not silent


@inner
def _end_batch(step, nets, m, cooled):
    """Take the step of a batch, unless it has one episode and so has taken it, and average its cost."""
    if step.batch > 1:
        rates = _rates(step, nets.size[m, 1], 1 if step.summed else step.batch, cooled)
        apply_gradients(nets, m, rates, step.local)
    _average(nets, m, step)


@inner
def _average(nets, m, step):
    """Take the batch's cost into the running average; NaN becomes the first cost, and infinity stays once a cost was.

    Then reset the batch's sums.
    """
    cost, old = nets.size[m, 0] / (1 if step.summed else step.batch), nets.running[m]
    if not np.isfinite(cost):
        nets.running[m] = np.inf
    else:
        nets.running[m] = cost if np.isnan(old) else (1 - step.alpha) * old + step.alpha * cost
    nets.size[m, 0] = nets.size[m, 1] = 0.0
