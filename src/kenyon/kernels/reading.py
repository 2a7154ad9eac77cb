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
If states are scaled, all lanes are: `rest` then holds the whole row of (V - shift) scale. Networks stay in the nearer
caches, but states come from far away, so their rows are asked for two episodes ahead.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, uintp
from numpy.typing import NDArray

from kenyon.kernels.cache import inner
from kenyon.kernels.lanes import (
    LANES,
    along,
    fma,
    lanes_of,
    load_at,
    magnitude,
    prefetch_at,
    relu,
    store_at,
    sum_lanes,
    where_active,
)

APART = 160  # places between two rows, modulo 1024: about as many as are on their way to memory at a time
TILE = 2048  # neurons that are read for all classes at a time, two of them side by side
AHEAD, LINE = 2, 16  # rows of V that are asked for ahead of time, and the states in a cache line
NO_SCALING = np.zeros((2, 0), np.float32)  # states are read as they are


def row_length(n: int) -> int:
    """Return how many places the units of one side take in a row: whole lanes, and never a multiple of 512."""
    n_padded = -(-n // LANES) * LANES
    return n_padded + LANES if n_padded % 512 == 0 else n_padded  # 4096 bytes apart, sides fall on the same lines


def row_distance(n: int) -> int:
    """Return how far apart rows of n places begin.

    A load is held up by a store just before it if the last 12 bits of their addresses agree. Rows are written side by
    side, so long ones begin at a distance from multiples of 4096 bytes.
    """
    n_padded = row_length(n)
    page = 1024
    beyond = n_padded % page
    if n_padded <= page - APART or APART <= beyond <= page - APART:
        return n_padded
    return n_padded + (APART - beyond) % page


row_length_of = inner(row_length)


class Room(NamedTuple):
    """Work space, and what is read."""

    x: NDArray[np.float32]  # features; between two sides they stay 0
    rest: NDArray[np.float32]  # of a row of V
    y: NDArray[np.float32]  # (n_classes,): outputs
    active: NDArray[np.float32]  # (n_classes,): sum_{i: x_i > 0} W_ji^2
    lanes: NDArray[np.float32]  # two sums for each class and one more, lane by lane


@njit
def room_for(V, scaling, both, n_classes):
    """Return a `Room` for these states."""
    n_used = -(-V.shape[1] // LANES) * LANES
    n_rest = n_used if scaling.shape[1] > 0 else LANES
    if both:
        n_used += row_length_of(V.shape[1])
    y, active = np.zeros(n_classes, np.float32), np.zeros(n_classes, np.float32)
    lanes = np.zeros((2 * n_classes + 1) * LANES, np.float32)
    return Room(np.zeros(n_used, np.float32), np.zeros(n_rest, np.float32), y, active, lanes)


@inner
def read(V, n, scaling, nets, m, thresholds, both, signed, weigh, room):
    """Write x and y of network m in episode n to `room`; return |x|^2, NaN if a state is not finite.

    scaling     (2, n_neurons): shift and scale of states; (2, 0): none
    weigh       whether to write sum_{i: x_i > 0} W_ji^2, too
    """
    row, n_padded = row_of(V, n, scaling, both, room), uintp(nets.theta.shape[1])
    norm2 = _read_features(row, nets.theta, uintp(m) * n_padded, thresholds, both, signed, room)
    first = uintp(m) * uintp(len(room.y)) * n_padded
    for tile in range(uintp(0), uintp(len(room.x)), uintp(TILE)):
        for j in range(uintp(0), uintp(len(room.y)), uintp(2)):
            after = min(j + uintp(1), uintp(len(room.y)) - uintp(1))  # the last may be its own neighbour
            _add_outputs(nets.W, first, n_padded, tile, room, j, after)
            if weigh:
                _add_active_weights(nets.W, first, n_padded, tile, room, j, after)
    return norm2


@inner
def row_of(V, n, scaling, both, room):
    """Return V, where row n begins, how many of it are in whole lanes, and how far apart its two sides are, if so."""
    whole = _fill(V, n, scaling, room.rest)
    return V, uintp(n) * uintp(V.shape[1]), whole, uintp(row_length_of(V.shape[1])) if both else uintp(0)


@inner
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


@inner
def _read_features(row, theta, own, thresholds, both, signed, room):
    """Write x, for thresholds that begin at element `own`; return |x|^2."""
    (V, V_start, whole, side), x, zero = row, room.x, lanes_of(np.float32(0))
    norm2 = finite = zero
    beyond = V_start + uintp(AHEAD * V.shape[1])
    for k in range(uintp(0), uintp(2 if both else 1)):
        for i in range(uintp(0), uintp(len(x)) - side, uintp(LANES)):
            v = load_at(V, V_start + i) if i < whole else load_at(room.rest, i - whole)
            for line in range(i, i + uintp(LANES), uintp(LINE)):
                prefetch_at(V, beyond + line)
            finite = fma(v, zero, finite)  # NaN from here on if v is not finite, which relu would hide
            if k == 1:
                v = zero - v
            if thresholds:
                limit = load_at(theta, own + k * side + i)
                v = along(v, relu(magnitude(v) - limit)) if signed else relu(v - limit)
            store_at(x, k * side + i, v)
            norm2 = fma(v, v, norm2)
    return sum_lanes(norm2 + finite)


@inner
def _add_outputs(W, first, n_padded, tile, room, j, k):
    """Add the tile that begins at neuron `tile` to y_j = sum_i W_ji x_i and to y_k, for W from element `first` on."""
    row, other, end = first + j * n_padded, first + k * n_padded, min(tile + uintp(TILE), uintp(len(room.x)))
    a, b = _begun(room, j, tile), _begun(room, k, tile)
    for i in range(tile, end, uintp(LANES)):
        x = load_at(room.x, i)
        a, b = fma(load_at(W, row + i), x, a), fma(load_at(W, other + i), x, b)
    _keep(room, j, end, room.y, j, a)
    _keep(room, k, end, room.y, k, b)


@inner
def _add_active_weights(W, first, n_padded, tile, room, j, k):
    """Do the same for the sums of W_ji^2 and W_ki^2 over active neurons."""
    row, other, end = first + j * n_padded, first + k * n_padded, min(tile + uintp(TILE), uintp(len(room.x)))
    n_classes = uintp(len(room.y))
    a, b = _begun(room, n_classes + j, tile), _begun(room, n_classes + k, tile)
    for i in range(tile, end, uintp(LANES)):
        x, w, v = load_at(room.x, i), load_at(W, row + i), load_at(W, other + i)
        a, b = fma(w, where_active(x, w), a), fma(v, where_active(x, v), b)
    _keep(room, n_classes + j, end, room.active, j, a)
    _keep(room, n_classes + k, end, room.active, k, b)


@inner
def _begun(room, number, tile):
    """Return a sum, lane by lane, as the tile before left it."""
    return load_at(room.lanes, number * uintp(LANES)) if tile > 0 else lanes_of(np.float32(0))


@inner
def _keep(room, number, end, sums, j, total):
    """Keep a sum for the next tile, or write the sum over its lanes to sums[j] after the last."""
    if end < len(room.x):
        store_at(room.lanes, number * uintp(LANES), total)
    else:
        sums[j] = sum_lanes(total)
