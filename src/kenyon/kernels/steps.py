"""Gradient steps of one episode: what `learning` does once outputs and errors are known.

Lanes are neurons, LANES of them at a time; `reading` says how arrays are laid out, and `learning` what arguments mean.
"""

from typing import Any

import numpy as np
from numba import uintp

from kenyon.kernels.cache import inner
from kenyon.kernels.lanes import (
    LANES,
    PART,
    along,
    fma,
    lanes_of,
    load_at,
    load_part,
    part_of,
    prefetch_at,
    relu,
    store_at,
    sum_lanes,
    where_active,
)
from kenyon.kernels.reading import AHEAD, row_of


@inner
def collect(nets, m, first, last, x, e, local):
    """Add one episode to the batch's gradient."""
    n_padded = uintp(nets.theta.shape[1])
    own, start = uintp(m) * n_padded, uintp(m) * uintp(nets.W.shape[1]) * n_padded
    for j in range(uintp(first), uintp(last)):
        row, error = start + j * n_padded, lanes_of(e[j])
        for i in range(uintp(0), uintp(len(x)), uintp(LANES)):
            store_at(nets.grad_W, row + i, fma(error, load_at(x, i), load_at(nets.grad_W, row + i)))
    if local:
        for i in range(uintp(0), uintp(len(x)), uintp(LANES)):
            pull = lanes_of(np.float32(0))
            for j in range(uintp(first), uintp(last)):
                pull = fma(lanes_of(e[j]), load_at(nets.W, start + j * n_padded + i), pull)
            store_at(nets.grad_theta, own + i, load_at(nets.grad_theta, own + i) + along(load_at(x, i), pull))


@inner
def apply_gradients(nets, m, rates, local):
    """Take a step along a batch's gradient, and reset the gradient to 0."""
    n_padded, n_classes = uintp(nets.theta.shape[1]), uintp(nets.W.shape[1])
    _apply(nets.W, nets.grad_W, uintp(m) * n_classes * n_padded, n_classes * n_padded, rates[0])
    if local:
        _apply(nets.theta, nets.grad_theta, uintp(m) * n_padded, n_padded, -rates[1])


@inner
def _apply(values, gradient, start, size, rate):
    """Do so for `size` elements from `start` on."""
    for i in range(start, start + size, uintp(LANES)):
        store_at(values, i, fma(lanes_of(rate), load_at(gradient, i), load_at(values, i)))
        store_at(gradient, i, lanes_of(np.float32(0)))


@inner
def learn_at_once(nets, m, first, last, rates, x, e, local):
    """Take a step along one episode's gradient; thresholds see the weights as they were before it.

    It goes from the last neuron to the first, since those that were read last are in the nearest cache.
    """
    n_padded, n_used = uintp(nets.theta.shape[1]), uintp(len(x))
    own, start = uintp(m) * n_padded, uintp(m) * uintp(nets.W.shape[1]) * n_padded
    for done in range(uintp(LANES), n_used + uintp(LANES), uintp(LANES)):
        i = n_used - done
        active, pull = load_at(x, i), lanes_of(np.float32(0))
        for j in range(uintp(first), uintp(last)):
            place = start + j * n_padded + i
            w, error = load_at(nets.W, place), e[j]
            pull = fma(lanes_of(error), w, pull)
            store_at(nets.W, place, fma(lanes_of(rates[0] * error), active, w))
        if local:
            change = lanes_of(-rates[1]) * along(active, pull)
            store_at(nets.theta, own + i, load_at(nets.theta, own + i) + change)


@inner
def learn_two_and_read(step, nets, m, rates, V, n, scaling, weigh, room, e):
    """Do the same for two classes, and read episode n, the next, on the way; return its |x|^2.

    What is learned from an episode at a place is all that reading the next one there depends on. So weights are loaded
    once for both. Sums are those of `read`, in the same order. In a batch of a plain readout, but for the last of its
    episodes, the gradient is collected instead.
    """
    row = row_of(V, n, scaling, step.both, room)
    if not step.thresholds and step.batch > 1:
        return _collect_plain(nets, m, rates, row, room, e)
    if not step.thresholds:
        return _learn_plain(nets, m, rates, row, room, e)
    if not step.local:
        return _learn_coded(nets, m, rates, row, room, e)
    if not weigh:
        return _learn_local(nets, m, rates, row, room, e)
    return _learn_weighed(nets, m, rates, row, room, e)


def _two(thresholds: bool, local: bool, weigh: bool, collecting: bool = False) -> Any:
    """Make the function that does so: a loop of its own for each case, to spare registers.

    Parts of the lanes take turns for the same reason; side by side in memory, their sums are those of whole lanes.
    """

    @inner
    def learn_and_read(nets, m, rates, row, room, e):
        (rate_W, rate_theta), (V, V_start, whole, side), (x, rest, y, active, lanes) = rates, row, room
        W, theta, n_padded = nets.W, nets.theta, uintp(nets.theta.shape[1])
        own, row0 = uintp(m) * n_padded, uintp(m) * uintp(2) * n_padded
        row1 = row0 + n_padded
        e0, e1, rate = part_of(e[0]), part_of(e[1]), part_of(-rate_theta)
        f0, f1 = part_of(rate_W * e[0]), part_of(rate_W * e[1])
        zero, n_parts = part_of(np.float32(0)), uintp(LANES // PART)
        for start in range(uintp(0), uintp(LANES), uintp(PART)):
            norm2 = finite = y0 = y1 = active0 = active1 = zero
            beyond = V_start + uintp(AHEAD * V.shape[1]) + start // uintp(PART) * uintp(V.shape[1]) // n_parts
            for k in range(uintp(0), uintp(1 if side == 0 else 2)):
                sign = part_of(np.float32(1 if k == 0 else -1))
                for i in range(k * side + start, uintp(len(x)) - side + k * side, uintp(LANES)):
                    old, w0, w1 = load_part(x, i), load_part(W, row0 + i), load_part(W, row1 + i)
                    place = i - k * side
                    prefetch_at(V, beyond + place // n_parts)
                    v = load_part(V, V_start + place) if place < whole else load_part(rest, place - whole)
                    finite = fma(v, zero, finite)
                    if thresholds:
                        limit = load_part(theta, own + i)
                        if local:
                            limit = fma(rate, where_active(old, fma(e1, w1, e0 * w0)), limit)
                            store_at(theta, own + i, limit)
                        v = relu(sign * v - limit)
                    if collecting:
                        store_at(nets.grad_W, row0 + i, fma(e0, old, load_part(nets.grad_W, row0 + i)))
                        store_at(nets.grad_W, row1 + i, fma(e1, old, load_part(nets.grad_W, row1 + i)))
                    else:
                        w0, w1 = fma(f0, old, w0), fma(f1, old, w1)
                        store_at(W, row0 + i, w0)
                        store_at(W, row1 + i, w1)
                    store_at(x, i, v)
                    norm2, y0, y1 = fma(v, v, norm2), fma(w0, v, y0), fma(w1, v, y1)
                    if weigh:
                        active0 = fma(w0, where_active(v, w0), active0)
                        active1 = fma(w1, where_active(v, w1), active1)
            _put(lanes, start, norm2 + finite, y0, y1, active0, active1)
        return _take(lanes, y, active)

    return learn_and_read


_learn_plain, _learn_coded = _two(False, False, False), _two(True, False, False)
_learn_local, _learn_weighed = _two(True, True, False), _two(True, True, True)
_collect_plain = _two(False, False, False, collecting=True)


@inner
def _put(lanes, start, norm2, y0, y1, active0, active1):
    """Write sums over a part of the lanes, from lane `start` on, to their rows of `lanes`."""
    store_at(lanes, start, norm2)
    store_at(lanes, uintp(LANES) + start, y0)
    store_at(lanes, uintp(2 * LANES) + start, y1)
    store_at(lanes, uintp(3 * LANES) + start, active0)
    store_at(lanes, uintp(4 * LANES) + start, active1)


@inner
def _take(lanes, y, active):
    """Write the sums over all lanes to y and `active`; return |x|^2."""
    y[0], y[1] = sum_lanes(load_at(lanes, uintp(LANES))), sum_lanes(load_at(lanes, uintp(2 * LANES)))
    active[0], active[1] = sum_lanes(load_at(lanes, uintp(3 * LANES))), sum_lanes(load_at(lanes, uintp(4 * LANES)))
    return sum_lanes(load_at(lanes, uintp(0)))
