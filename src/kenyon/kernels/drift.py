"""Abrupt drifts, told from rows of a stream that are answered worse than by silence.

A row is bad if its cost is above |y_true|^2, that of outputs of 0, and more than |x|^2 alone explains: after inputs
have jumped, outputs are too large until scales have followed, though the weights may be right. So the cost must exceed
|y_true|^2 times |x|^2 over its usual size, where that is above 1. The usual share of bad rows is taken from all rows
since the last drift, which are forgotten as elsewhere, by the factor g, and ROWS more, BAD of them bad, that nobody has
seen:

    p = (BAD + bad rows) / (ROWS + rows),    q = p + (1 - p) / 3

Evidence that their share has risen from p to q is summed up for as long as it is positive (CUSUM, Page 1954):

    S = max(0, S + log(q / p)) after a bad row,    S = max(0, S + log((1 - q) / (1 - p))) after any other

The stream has drifted if e^S > 1 / (1 - g): the last rows are more likely by q than by p, as many times as there are
rows that count. Then only a share KEPT of the weights is left. All outputs shrink alike, so that alone changes no
prediction; but the weights no longer stand in the way of what rows say from now on.

The drift began with the first row of those that S sums up, or LATEST rows ago. The rows since then are few, and are all
that is known. So until memory is full of them weights go to where a ridge regression of these rows has them: AGAIN of
the rows are learned again with every one that follows, the newest first, then all in turn, by

    e = y_true - y - lambda a,    W += e x^T / (|x|^2 + lambda),    a += e / (|x|^2 + lambda)

where a, which begins at 0, is the row's share in the weights, and lambda is RIDGE times the usual |x|^2 (dual
coordinate ascent, Shalev-Shwartz & Zhang 2013: in the end lambda a = y_true - y for all rows). Thresholds wait
meanwhile, and so does the learner's own step, which then goes on as cool as if it had learned as often.

A false alarm is noticed by what it costs. As long as rows are learned again, each is also answered by the weights from
before the drift. If these had been better, by more than silence costs in DOUBT rows, they are taken back.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kenyon.kernels.learning import Networks
from kenyon.kernels.reading import read, room_for
from kenyon.kernels.steps import learn_at_once
from kenyon.kernels.stream_steps import DRIFTED, LEAD, MEAN, SEEN, WEIGHT, scaled
from kenyon.kernels.stream_steps import ROWS as N_ROWS

BAD, ROWS = 2.0, 4.0  # rows counted in from the start
RISE = 1.0 / 3.0  # of the way from p to 1, for q
KEPT = np.float32(0.1)  # of the weights, after a drift
AGAIN = 20  # rows learned again with every row after a drift
RIDGE = np.float32(0.7)  # lambda, in usual |x|^2
REMEMBERED = 200  # rows in memory
LATEST = 100.0  # rows since a drift when it is noticed: at most, so that as many more are learned again
DOUBT = 7.0  # rows of silence
WORST = 2.0  # cost of a row in comparisons, in those of silence: no single one decides


class Memory(NamedTuple):
    """The last rows of a stream, and the weights from before its last drift. Kernels change it in place.

    Row n is at place n modulo the number of rows. Where nothing is forgotten, all is empty.
    """

    states: NDArray[np.float32]  # (REMEMBERED, n_states)
    told: NDArray[np.float64]  # (REMEMBERED, n_told): the number of the class, or the targets
    shares: NDArray[np.float32]  # (REMEMBERED, n_classes): a
    W: NDArray[np.float32]  # as in `Networks`
    theta: NDArray[np.float32]

    def check(self) -> None:
        """Refuse arrays that do not fit together, as those of a file may not: kernels check nothing."""
        fits = [part.ndim for part in self] == [2, 2, 2, 3, 2] and len(self.told) in (0, REMEMBERED)
        fits = fits and len(self.states) == len(self.told) == len(self.shares)
        if len(self.told) == 0:
            fits = fits and self.W.shape == (0, 0, 0) and self.theta.shape == (0, 0)
        if not fits or [np.dtype(part.dtype).str for part in self] != ["<f4", "<f8", *["<f4"] * 3]:
            raise ValueError("inconsistent memory")


def no_memory(n_states: int) -> Memory:
    """Return the memory of a stream that forgets nothing."""
    nothing, none = np.zeros((0, n_states), np.float32), np.zeros((0, 0), np.float32)
    return Memory(nothing, np.zeros((0, 1)), none, np.zeros((0, 0, 0), np.float32), none)


def empty_memory(n_states: int, n_told: int, nets: Networks) -> Memory:
    """Return a memory before the first row."""
    rows = np.zeros((REMEMBERED, n_states), np.float32), np.zeros((REMEMBERED, n_told))
    shares = np.zeros((REMEMBERED, nets.W.shape[1]), np.float32)
    return Memory(*rows, shares, np.zeros_like(nets.W), np.zeros_like(nets.theta))


@njit
def watch(plan, step, nets, counts, memory, factor, aims, row, U):
    """Take a row that has just been learned into memory; notice a drift, and learn again from the rows since then.

    row         its states and, shape (1,), its label; its targets; what it cost before; and its |x|^2
    others      as in `take_step`
    """
    V, label, told, cost, norm2 = row
    _remember(memory, counts, V, label[0], told, step.regression)
    if counts[DRIFTED] > 0 and step.batch == 1:
        _doubt(plan, step, nets, counts, memory, factor, aims, row, U)
    targets = scaled(step, nets, aims, told)
    silence = np.float64((targets * targets).sum() if step.regression else step.target * step.target)
    usual = counts[MEAN] if counts[MEAN] > 0 else np.inf
    since = drifted(counts[SEEN:], cost > silence * max(1.0, norm2 / usual), plan.forgetting)
    if since > 0:
        if counts[DRIFTED] == 0:
            _put(nets.W, memory.W)
            _put(nets.theta, memory.theta)
        weights = nets.W[0].reshape(-1)
        for i in range(len(weights)):
            weights[i] *= KEPT
        memory.shares[:] = 0
        counts[WEIGHT], counts[DRIFTED], counts[LEAD] = 0.0, min(since, LATEST), DOUBT
    if counts[DRIFTED] > 0 and step.batch == 1:
        _learn_again(step, nets, counts, memory, factor, aims, U)


@njit
def _put(values, into):
    """Copy numbers one by one: Numba takes seconds to compile an assignment of arrays, for the sake of its error."""
    given, own = values.reshape(-1), into.reshape(-1)
    for i in range(len(own)):
        own[i] = given[i]


@njit
def _remember(memory, counts, V, label, told, regression):
    """Put a row into memory; a drift that began with the row that it replaces is over."""
    place = int(counts[N_ROWS]) % len(memory.told)
    _put(V, memory.states[place])
    memory.shares[place] = 0
    if regression:
        _put(told, memory.told[place])
    else:
        memory.told[place, 0] = label
    if counts[DRIFTED] > 0:
        counts[DRIFTED] = counts[DRIFTED] + 1.0 if counts[DRIFTED] < len(memory.told) else 0.0


@njit
def _room(nets, step, U):
    return room_for(U, np.zeros((2, 0), np.float32), step.both, nets.W.shape[1])


@njit
def _answer(step, nets, factor, aims, V, label, told, U, room, e):
    """Let a network answer a row, and write its errors to `e`; return |x|^2."""
    for i in range(len(V)):
        U[0, i] = V[i] * factor[i]
    norm2 = read(U, 0, np.zeros((2, 0), np.float32), nets, 0, step.thresholds, step.both, step.signed, False, room)
    targets = scaled(step, nets, aims, told)
    for j in range(len(e)):
        right = step.target if j == label and not step.regression else np.float32(0)
        e[j] = targets[0, j] + right - room.y[j]
    return norm2


@njit
def _doubt(plan, step, nets, counts, memory, factor, aims, row, U):
    """Let the weights from before the drift answer a row, and take them back if they have cost less so far."""
    V, label, told, cost, _ = row
    past = Networks(memory.W, memory.theta, memory.W, memory.theta, np.zeros((1, 2)), np.zeros(1))
    room, e, then = _room(nets, step, U), np.empty(nets.W.shape[1], np.float32), np.float32(0)
    _answer(step, past, factor, aims, V, label[0], told, U, room, e)
    for error in e:
        then += error * error
    silence = np.float64(step.target) ** 2
    counts[LEAD] += min(then / silence, WORST) - min(cost / silence, WORST)
    if counts[LEAD] < 0:
        _put(memory.W, nets.W)
        _put(memory.theta, nets.theta)
        counts[WEIGHT] = (1.0 - plan.forgetting ** counts[N_ROWS]) / (1.0 - plan.forgetting)
        counts[DRIFTED:] = 0.0


@njit
def _learn_again(step, nets, counts, memory, factor, aims, U):
    """Learn from some of the rows since the drift."""
    since, last = max(int(min(counts[DRIFTED], len(memory.told))), 1), int(counts[N_ROWS])
    n_classes = nets.W.shape[1]
    room, e = _room(nets, step, U), np.empty(n_classes, np.float32)
    for k in range(AGAIN):
        place = (last - ((last * AGAIN + k) % since if k > 0 else 0)) % len(memory.told)
        V, told, share = memory.states[place], memory.told[place], memory.shares[place]
        label, told = (0, told) if step.regression else (int(told[0]), told[:0])
        norm2 = _answer(step, nets, factor, aims, V, label, told, U, room, e)
        ridge = RIDGE * (np.float32(counts[MEAN]) if counts[MEAN] > 0 else norm2)
        rate = np.float32(1) / (norm2 + ridge) if norm2 > 0 else np.float32(0)
        for j in range(n_classes):
            e[j] -= ridge * share[j]
            share[j] += rate * e[j]
        learn_at_once(nets, 0, 0, n_classes, (rate, np.float32(0)), room.x, e, False)
        counts[WEIGHT] += 1.0


@njit
def drifted(seen, bad, forgetting):
    """Take a row into `seen`, shape (4,): bad rows, all rows, S, and over how many rows it is summed up.

    Return with how many rows, this one included, the stream has drifted, or 0 if it has not. After a drift `seen`
    begins anew. The forgetting factor is less than 1.
    """
    p = (BAD + seen[0]) / (ROWS + seen[1])
    q = p + (1.0 - p) * RISE
    seen[2] = max(0.0, seen[2] + np.log(q / p if bad else (1.0 - q) / (1.0 - p)))
    seen[3] = seen[3] + 1.0 if seen[2] > 0.0 else 0.0
    seen[0], seen[1] = forgetting * seen[0] + bad, forgetting * seen[1] + 1.0
    if seen[2] + np.log(1.0 - forgetting) <= 0.0:
        return 0.0
    since = seen[3]
    seen[:] = 0.0
    return since
