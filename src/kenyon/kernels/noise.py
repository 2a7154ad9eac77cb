"""Random numbers that depend on nothing but (seed, episode, step, channel).

Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3") is a
keyed bijection of a counter: the seed's key turns an episode's number into that episode's key, and the episode's key
turns (step, pair of channels) into two words, which the Box-Muller transform turns into two normal numbers. There is no
state to carry, so chunks, threads, order and processes cannot matter.

In lanes: keys (k0, k1), counters (c0, c1) and random words are uint32, one number per lane.
"""

import numpy as np
from numba import uintp

from kenyon.kernels.cache import inner, kernel
from kenyon.kernels.lanes import Rows32, bits_of, choose, fma, from_bits, load, sqrt, store, to_float


@inner
def _mix(x0, x1, rotation):
    """One round: add, rotate, xor."""
    x0 = x0 + x1
    x1 = (x1 << rotation) ^ (x1 >> (32 - rotation))
    return x0, x1 ^ x0


@inner
def _four_rounds(x0, x1, rotations, k0, k1, count):
    """Four rounds, and the key injection that follows, which is number `count`."""
    first, second, third, fourth = rotations
    x0, x1 = _mix(x0, x1, first)
    x0, x1 = _mix(x0, x1, second)
    x0, x1 = _mix(x0, x1, third)
    x0, x1 = _mix(x0, x1, fourth)
    return x0 + k0, x1 + k1 + count


@inner
def threefry(k0, k1, c0, c1):
    """Return two random words per lane from a two-word key and a two-word counter."""
    odd, even = (13, 15, 26, 6), (17, 29, 16, 24)
    k2 = k0 ^ k1 ^ 0x1BD11BDA
    x0, x1 = _four_rounds(c0 + k0, c1 + k1, odd, k1, k2, 1)
    x0, x1 = _four_rounds(x0, x1, even, k2, k0, 2)
    x0, x1 = _four_rounds(x0, x1, odd, k0, k1, 3)
    x0, x1 = _four_rounds(x0, x1, even, k1, k2, 4)
    return _four_rounds(x0, x1, odd, k2, k0, 5)


@inner
def _minus_two_log(u):
    """Return -2 ln(u) for 0 < u <= 1: u = 2^e m with m from sqrt(1/2) to sqrt(2), and a series in m - 1."""
    shifted = bits_of(u) - 0x3F3504F3  # the bits of sqrt(1/2)
    exponent = shifted >> 23
    m = from_bits((shifted & 0x007FFFFF) + 0x3F3504F3)
    # u <= 1, so the exponent is 0, -1, -2, ... in the remaining nine bits: negate it.
    minus_e = to_float((0 - exponent) & 0x1FF)
    f = m - 1.0
    p = 7.0376836292e-2
    p = fma(p, f, -1.1514610310e-1)
    p = fma(p, f, 1.1676998740e-1)
    p = fma(p, f, -1.2420140846e-1)
    p = fma(p, f, 1.4249322787e-1)
    p = fma(p, f, -1.6668057665e-1)
    p = fma(p, f, 2.0000714765e-1)
    p = fma(p, f, -2.4999993993e-1)
    p = fma(p, f, 3.3333331174e-1)
    square = f * f
    log_m = fma(p, f * square, fma(square, -0.5, f))
    return fma(minus_e, 2 * 0.6931471805599453, log_m * -2.0)


@inner
def normal_pair(k0, k1, c0, c1):
    """Return two independent standard normal numbers per lane (Box & Muller 1958)."""
    w0, w1 = threefry(k0, k1, c0, c1)
    u = fma(to_float(w0), 2.0**-32, 2.0**-33)
    radius = sqrt(_minus_two_log(u))
    # 30 bits give an angle within 45 degrees of the x axis; two more bits mirror it into the whole circle.
    angle = fma(to_float(w1 >> 2), np.pi / 2 * 2.0**-30, -np.pi / 4)
    a2 = angle * angle
    sine = fma(a2, -1.9515295891e-4, 8.3321608736e-3)
    sine = fma(fma(sine, a2, -1.6666654611e-1), a2 * angle, angle)
    cosine = fma(a2, 2.443315711809948e-5, -1.388731625493765e-3)
    cosine = fma(cosine, a2, 4.166664568298827e-2)
    cosine = fma(cosine, a2 * a2, fma(a2, -0.5, 1.0))
    along = radius * from_bits(bits_of(cosine) ^ ((w1 & 1) << 31))
    across = radius * sine
    swap = w1 & 2
    return choose(swap, across, along), choose(swap, along, across)


@kernel
def random_words(key, first, out):
    """Write threefry(key, first + i), two words, to out[i].

    `key` has two words, `out` has shape (n, 2); the counter's first word is the low one of the number.
    """
    rows = Rows32(np.empty((2, 32), np.uint32))
    lanes = rows.values
    for start in range(0, len(out), 32):
        for lane in range(32):
            number = np.uint64(first) + np.uint64(start + lane)
            lanes[0, lane] = np.uint32(number & np.uint64(0xFFFFFFFF))
            lanes[1, lane] = np.uint32(number >> np.uint64(32))
        x0, x1 = threefry(key[0], key[1], load(rows, uintp(0)), load(rows, uintp(1)))
        store(rows, uintp(0), x0)
        store(rows, uintp(1), x1)
        for lane in range(min(32, len(out) - start)):
            out[start + lane, 0], out[start + lane, 1] = lanes[0, lane], lanes[1, lane]


@kernel
def random_uniforms(key, first, out):
    """Write uniform numbers in [0, 1) to out[i], two or less: the words of number first + i, over 2^32."""
    words = np.empty((len(out), 2), np.uint32)
    random_words(key, first, words)
    for i in range(len(out)):
        for j in range(out.shape[1]):
            out[i, j] = words[i, j] * 2.0**-32
