"""Reading: what networks make of a row of states, features x and outputs y, lanes of neurons at a time.

    x = relu(V - theta),  y = W x

Layout. Lanes are loaded by the number of their first element in memory order (C order), so arrays are indexed as if
they were flat:

    W           (n_networks, n_classes, n_padded): [m, j, i] is element (m n_classes + j) n_padded + i
    theta       (n_networks, n_padded): [m, i] is element m n_padded + i
    V           (n_episodes, n_neurons): [n, i] is element n n_neurons + i

With the code "signed" a neuron is active on both sides of 0, x = sign(V) relu(|V| - theta). With the code "on_off" it
has a second unit, x = relu(-V - theta). Units of the second side follow those of the first, which are padded as rows
are; x, W and theta then have twice the length, and only reading knows of it.

Rows of W and theta are padded to whole lanes with units whose threshold is infinite: never active, they never learn.
Rows of V are not padded, so their last, incomplete lanes are loaded from a copy, `rest`, which is zero from there on.
If states are scaled, all lanes are: `rest` then holds the whole row of (V - shift) scale. While one row of V is read,
the next is asked for: processors do so by themselves only within a page of memory, which a row about fills.
"""

import numpy as np
from numba import njit, uintp

from kenyon.kernels.lanes import (
    HALF,
    LANES,
    along,
    fma,
    half_of,
    lanes_of,
    load_at,
    load_half,
    magnitude,
    prefetch_half,
    relu,
    store_at,
    sum_lanes,
    where_active,
)

NO_SCALING = np.zeros((2, 0), np.float32)  # states are read as they are


def row_length(n: int) -> int:
    """Return how many places a row of n units takes: whole lanes, and never a multiple of 512."""
    n_padded = -(-n // LANES) * LANES
    return n_padded + LANES if n_padded % 512 == 0 else n_padded  # 4096 bytes apart, rows fall on the same lines


row_length_of = njit(row_length)


@njit
def room_for(V, scaling, both):
    """Return work space for x and for the `rest` of a row of V. Between two sides x stays 0."""
    n_used = -(-V.shape[1] // LANES) * LANES
    n_rest = n_used if scaling.shape[1] > 0 else LANES
    if both:
        n_used += row_length_of(V.shape[1])
    return np.zeros(n_used, np.float32), np.zeros(n_rest, np.float32)


@njit
def read(V, n, scaling, nets, m, thresholds, both, signed, weigh, room, y, active):
    """Write x and y of network m in episode n; return |x|^2, NaN if a state is not finite.

    scaling     (2, n_neurons): shift and scale of states; (2, 0): none
    weigh       whether to write sum_{i: x_i > 0} W_ji^2 to active[j]
    room        what `room_for` returned; its first part becomes x
    """
    x, rest = room
    whole = _fill(V, n, scaling, rest)
    if both:
        return _read_both(V, n, nets, m, weigh, whole, rest, x, y, active)
    if signed:
        return _read_signed(V, n, nets, m, weigh, whole, rest, x, y, active)
    return _read_one_side(V, n, nets, m, thresholds, weigh, whole, rest, x, y, active)


@njit
def _fill(V, n, scaling, rest):
    """Write the lanes of row n that cannot be loaded from V to `rest`; return how many neurons are in those that can.

    These are the last, incomplete ones or, if states are scaled, all of them.
    """
    n_neurons = V.shape[1]
    if scaling.shape[1] > 0:
        for i in range(n_neurons):
            rest[i] = (V[n, i] - scaling[0, i]) * scaling[1, i]
        return uintp(0)
    whole = n_neurons // LANES * LANES
    for i in range(n_neurons - whole):
        rest[i] = V[n, whole + i]
    return uintp(whole)


@njit
def _add_output(W, place, x, weigh, y, active):
    """Return the sums of W x and, with `weigh`, of W^2 where x is active, with the lanes of W from `place` on added."""
    w = load_half(W, place)
    if weigh:
        active = fma(w, where_active(x, w), active)
    return fma(w, x, y), active


@njit
def _read_one_side(V, n, nets, m, thresholds, weigh, whole, rest, x, y, active):
    """Do as `read` says, for x = relu(V - theta) or x = V.

    Two outputs ride on the pass that makes x. Even and odd halves of the lanes take turns, since registers would not
    hold all sums at once; added in the end, they give the sum over whole lanes.
    """
    n_padded, n_neurons = uintp(nets.theta.shape[1]), uintp(V.shape[1])
    V_start = uintp(n) * n_neurons
    theta_start, row0 = uintp(m) * n_padded, uintp(m) * uintp(len(y)) * n_padded
    row1 = row0 + n_padded
    zero = half_of(np.float32(0))
    all_norm2 = all_y0 = all_y1 = all_active0 = all_active1 = zero
    for start in (uintp(0), uintp(HALF)):
        norm2 = finite = y0 = y1 = active0 = active1 = zero
        for i in range(start, uintp(len(x)), uintp(LANES)):
            v = load_half(V, V_start + i) if i < whole else load_half(rest, i - whole)
            prefetch_half(V, V_start + n_neurons + i)
            finite = fma(v, zero, finite)  # NaN from here on if v is not finite, which relu would hide
            if thresholds:
                v = relu(v - load_half(nets.theta, theta_start + i))
            store_at(x, i, v)
            norm2 = fma(v, v, norm2)
            y0, active0 = _add_output(nets.W, row0 + i, v, weigh, y0, active0)
            y1, active1 = _add_output(nets.W, row1 + i, v, weigh, y1, active1)
        all_norm2, all_y0, all_y1 = all_norm2 + norm2 + finite, all_y0 + y0, all_y1 + y1
        all_active0, all_active1 = all_active0 + active0, all_active1 + active1
    y[0], y[1] = sum_lanes(all_y0), sum_lanes(all_y1)
    active[0], active[1] = sum_lanes(all_active0), sum_lanes(all_active1)
    _read_further(nets.W, row0, n_padded, 2, weigh, x, y, active)
    return sum_lanes(all_norm2)


@njit
def _read_both(V, n, nets, m, weigh, whole, rest, x, y, active):
    """Do the same for both sides of every neuron, in one pass over V."""
    n_padded, n_neurons, side = uintp(nets.theta.shape[1]), uintp(V.shape[1]), uintp(row_length_of(V.shape[1]))
    V_start = uintp(n) * n_neurons
    theta_start, row0 = uintp(m) * n_padded, uintp(m) * uintp(len(y)) * n_padded
    row1 = row0 + n_padded
    zero = half_of(np.float32(0))
    all_norm2 = all_y0 = all_y1 = all_active0 = all_active1 = zero
    for start in (uintp(0), uintp(HALF)):
        norm2 = finite = y0 = y1 = active0 = active1 = zero
        for i in range(start, uintp(len(x)) - side, uintp(LANES)):
            v = load_half(V, V_start + i) if i < whole else load_half(rest, i - whole)
            prefetch_half(V, V_start + n_neurons + i)
            finite = fma(v, zero, finite)
            on = relu(v - load_half(nets.theta, theta_start + i))
            off = relu(zero - v - load_half(nets.theta, theta_start + side + i))
            store_at(x, i, on)
            store_at(x, side + i, off)
            norm2 = fma(off, off, fma(on, on, norm2))
            y0, active0 = _add_output(nets.W, row0 + i, on, weigh, y0, active0)
            y0, active0 = _add_output(nets.W, row0 + side + i, off, weigh, y0, active0)
            y1, active1 = _add_output(nets.W, row1 + i, on, weigh, y1, active1)
            y1, active1 = _add_output(nets.W, row1 + side + i, off, weigh, y1, active1)
        all_norm2, all_y0, all_y1 = all_norm2 + norm2 + finite, all_y0 + y0, all_y1 + y1
        all_active0, all_active1 = all_active0 + active0, all_active1 + active1
    y[0], y[1] = sum_lanes(all_y0), sum_lanes(all_y1)
    active[0], active[1] = sum_lanes(all_active0), sum_lanes(all_active1)
    _read_further(nets.W, row0, n_padded, 2, weigh, x, y, active)
    return sum_lanes(all_norm2)


@njit
def _read_signed(V, n, nets, m, weigh, whole, rest, x, y, active):
    """Do the same for x = sign(V) relu(|V| - theta)."""
    n_padded, V_start = uintp(nets.theta.shape[1]), uintp(n) * uintp(V.shape[1])
    theta_start, W_start = uintp(m) * n_padded, uintp(m) * uintp(len(y)) * n_padded
    zero = lanes_of(np.float32(0))
    norm2 = finite = zero
    for i in range(uintp(0), uintp(len(x)), uintp(LANES)):
        v = load_at(V, V_start + i) if i < whole else load_at(rest, i - whole)
        finite = fma(v, zero, finite)
        v = along(v, relu(magnitude(v) - load_at(nets.theta, theta_start + i)))
        store_at(x, i, v)
        norm2 = fma(v, v, norm2)
    _read_further(nets.W, W_start, n_padded, 0, weigh, x, y, active)
    return sum_lanes(norm2 + finite)


@njit
def _read_further(W, first_row, n_padded, first, weigh, x, y, active):
    """Write the outputs from number `first` on, once x is there."""
    for j in range(first, len(y)):
        row = first_row + uintp(j) * n_padded
        y[j] = _output(W, row, x)
        if weigh:
            active[j] = _active_weight(W, row, x)


@njit
def _output(W, row, x):
    """Return sum_i W_ji x_i, row j of W beginning at element `row`."""
    total = lanes_of(np.float32(0))
    for i in range(uintp(0), uintp(len(x)), uintp(LANES)):
        total = fma(load_at(W, row + i), load_at(x, i), total)
    return sum_lanes(total)


@njit
def _active_weight(W, row, x):
    """Return the sum of W_ji^2 over active neurons, row j of W beginning at element `row`."""
    total = lanes_of(np.float32(0))
    for i in range(uintp(0), uintp(len(x)), uintp(LANES)):
        w = load_at(W, row + i)
        total = fma(w, where_active(load_at(x, i), w), total)
    return sum_lanes(total)
