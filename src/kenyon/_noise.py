"""Random numbers that depend on nothing but (seed, episode, step, channel).

Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3") is a
keyed bijection of a counter: the seed's key turns an episode's number into that episode's key, and the episode's key
turns (step, pair of channels) into two words, which Box and Muller's transform makes into two normal numbers. There
is no state to carry, so chunks, threads, order and processes cannot matter.
"""

import numpy as np
from numba import njit, uintp

from kenyon._simd import (
    LANES,
    bits_of,
    choose,
    fma,
    from_bits,
    lanes_of,
    load,
    sqrt,
    store,
    to_float,
    words_of,
)


@njit(inline="always")
def _word(value):
    return words_of(np.uint32(value))


@njit(inline="always")
def _number(value):
    return lanes_of(np.float32(value))


@njit
def _mix(x0, x1, rotation):
    x0 = x0 + x1
    x1 = (x1 << _word(rotation)) ^ (x1 >> _word(32 - rotation))
    return x0, x1 ^ x0


@njit
def _odd_rounds(x0, x1, k0, k1, count):
    x0, x1 = _mix(x0, x1, 13)
    x0, x1 = _mix(x0, x1, 15)
    x0, x1 = _mix(x0, x1, 26)
    x0, x1 = _mix(x0, x1, 6)
    return x0 + k0, x1 + k1 + _word(count)


@njit
def _even_rounds(x0, x1, k0, k1, count):
    x0, x1 = _mix(x0, x1, 17)
    x0, x1 = _mix(x0, x1, 29)
    x0, x1 = _mix(x0, x1, 16)
    x0, x1 = _mix(x0, x1, 24)
    return x0 + k0, x1 + k1 + _word(count)


@njit
def threefry(k0, k1, c0, c1):
    """Two random words per lane from a two-word key and a two-word counter."""
    k2 = k0 ^ k1 ^ _word(0x1BD11BDA)
    x0, x1 = _odd_rounds(c0 + k0, c1 + k1, k1, k2, 1)
    x0, x1 = _even_rounds(x0, x1, k2, k0, 2)
    x0, x1 = _odd_rounds(x0, x1, k0, k1, 3)
    x0, x1 = _even_rounds(x0, x1, k1, k2, 4)
    return _odd_rounds(x0, x1, k2, k0, 5)


@njit
def _minus_two_log(u):
    """-2 ln(u) for 0 < u <= 1: u = 2^e m with m from sqrt(1/2) to sqrt(2), and a series in m - 1."""
    shifted = bits_of(u) - _word(0x3F3504F3)  # the bits of sqrt(1/2)
    exponent = shifted >> _word(23)
    m = from_bits((shifted & _word(0x007FFFFF)) + _word(0x3F3504F3))
    # u <= 1, so the exponent is 0, -1, -2, ... in the nine bits that are left: count it downwards.
    minus_e = to_float((_word(0) - exponent) & _word(0x1FF))
    f = m - _number(1.0)
    p = _number(7.0376836292e-2)
    p = fma(p, f, _number(-1.1514610310e-1))
    p = fma(p, f, _number(1.1676998740e-1))
    p = fma(p, f, _number(-1.2420140846e-1))
    p = fma(p, f, _number(1.4249322787e-1))
    p = fma(p, f, _number(-1.6668057665e-1))
    p = fma(p, f, _number(2.0000714765e-1))
    p = fma(p, f, _number(-2.4999993993e-1))
    p = fma(p, f, _number(3.3333331174e-1))
    square = f * f
    log_m = fma(p, f * square, fma(square, _number(-0.5), f))
    return fma(minus_e, _number(2 * 0.6931471805599453), log_m * _number(-2.0))


@njit
def normal_pair(k0, k1, c0, c1):
    """Two independent standard normal numbers per lane (Box & Muller 1958)."""
    w0, w1 = threefry(k0, k1, c0, c1)
    u = fma(to_float(w0), _number(2.0**-32), _number(2.0**-33))
    radius = sqrt(_minus_two_log(u))
    # An angle within 45 degrees of the x axis from 30 bits; two more bits mirror it into the whole circle.
    angle = fma(to_float(w1 >> _word(2)), _number(np.pi / 2 * 2.0**-30), _number(-np.pi / 4))
    a2 = angle * angle
    sine = fma(a2, _number(-1.9515295891e-4), _number(8.3321608736e-3))
    sine = fma(fma(sine, a2, _number(-1.6666654611e-1)), a2 * angle, angle)
    cosine = fma(a2, _number(2.443315711809948e-5), _number(-1.388731625493765e-3))
    cosine = fma(cosine, a2, _number(4.166664568298827e-2))
    cosine = fma(cosine, a2 * a2, fma(a2, _number(-0.5), _number(1.0)))
    along = radius * from_bits(bits_of(cosine) ^ ((w1 & _word(1)) << _word(31)))
    across = radius * sine
    swap = w1 & _word(2)
    return choose(swap, across, along), choose(swap, along, across)


@njit(nogil=True, cache=True)
def random_words(key, first, out):
    """Fill out[i] with threefry(key, first + i), two words each, the number's low word coming first."""
    lanes = np.empty((2, LANES), np.uint32)
    for start in range(0, len(out), LANES):
        for lane in range(LANES):
            number = np.uint64(first) + np.uint64(start + lane)
            lanes[0, lane] = np.uint32(number & np.uint64(0xFFFFFFFF))
            lanes[1, lane] = np.uint32(number >> np.uint64(32))
        x0, x1 = threefry(words_of(key[0]), words_of(key[1]), load(lanes, uintp(0)), load(lanes, uintp(1)))
        store(lanes, uintp(0), x0)
        store(lanes, uintp(1), x1)
        for lane in range(min(LANES, len(out) - start)):
            out[start + lane, 0], out[start + lane, 1] = lanes[0, lane], lanes[1, lane]
