"""What a neuron makes of its drive: an activation, then the leak.

    V(t+1) = (1-a) V(t) + a f(drive),    f = relu or tanh

The activation is a type, so that each has kernels of its own and relu pays nothing for tanh.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from kenyon.kernels.cache import inner
from kenyon.kernels.lanes import clamp, fma, relu, zero_up_to, zero_within

# tanh(z) = z P(z^2) / Q(z^2) up to FLAT, coefficients in ascending order: fitted for the smallest relative error, which
# stays below 4e-7 in single precision. Beyond FLAT tanh is 1 within 1e-7.
FLAT = np.float32(8.5)
P = tuple(map(np.float32, (1.0, 0.13413275, 3.5340599e-3, 2.1251568e-5, 1.4269912e-8)))
Q = tuple(map(np.float32, (1.0, 0.46746598, 2.6022878e-2, 3.3489180e-4, 8.1454127e-7)))


class Relu(NamedTuple):
    """f(drive) = drive where it is positive, else 0."""

    smallest: np.float32  # states up to this count as 0


class Tanh(NamedTuple):
    """f(drive) = tanh(drive)."""

    smallest: np.float32  # states no further from 0 count as 0


# Without input, states would decay to denormal numbers, which slow some processors down.
ACTIVATIONS: dict[str, Relu | Tanh] = {"relu": Relu(np.float32(1e-30)), "tanh": Tanh(np.float32(1e-30))}


@inner
def _rectified(drive):
    """Return relu(drive), but NaN where drive is infinite: 0 would hide that a sum has overflowed."""
    return fma(drive, np.float32(0), relu(drive))


@inner
def _squashed(drive):
    """Return tanh(drive), but NaN where drive is infinite."""
    z = clamp(drive, FLAT)
    z2 = z * z
    above = fma(z2, fma(z2, fma(z2, fma(z2, P[4], P[3]), P[2]), P[1]), P[0])
    below = fma(z2, fma(z2, fma(z2, fma(z2, Q[4], Q[3]), Q[2]), Q[1]), Q[0])
    return fma(drive, np.float32(0), clamp(z * above / below, np.float32(1)))


@inner
def _relu_advanced(activation, drive, leak, state):
    return zero_up_to(fma(leak, _rectified(drive), (np.float32(1) - leak) * state), activation.smallest)


@inner
def _tanh_advanced(activation, drive, leak, state):
    return zero_within(fma(leak, _squashed(drive), (np.float32(1) - leak) * state), activation.smallest)


def advanced(activation, drive, leak, state):
    """Return the next state; `leak` is a number or, like `drive` and `state`, in lanes."""
    raise NotImplementedError  # compiled code only


@overload(advanced)
def _advanced(activation, drive, leak, state):
    work = _relu_advanced if activation.instance_class is Relu else _tanh_advanced
    return lambda activation, drive, leak, state: work(activation, drive, leak, state)
