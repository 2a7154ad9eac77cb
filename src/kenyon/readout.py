"""The readout of a reservoir: x = relu(V - theta), y = W x, and a choice drawn from softmax(y).

With the code "on_off" each neuron is read twice: x = [relu(V - theta_on), relu(theta_off - V)], 2 n_neurons units. With
the code "signed", for states on both sides of 0, x = sign(V) relu(|V| - theta).
"""

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks

NO_THETA = np.zeros(0, np.float32)
# How thresholds act: a unit above a threshold; another one below a second threshold; or one unit on both sides of 0.
CODES = ("on", "on_off", "signed")
ON_OFF, SIGNED = CODES[1:]


class Readout(NamedTuple):
    """A trained readout, to be applied to states V of shape (n, n_neurons).

    Without thresholds it reads V itself, or (V - shift) scale where these are given. Units are neurons; with the code
    "on_off", those of the first half are active above their thresholds, and those of the second half below theirs; with
    the code "signed", units are active where |V| is above their thresholds, and x has the sign of V. Its choices are
    drawn from softmax(y / temperature); with a temperature of 0 it takes the largest output, the first of several.
    """

    W: NDArray[np.float32]  # (n_classes, n_units)
    theta: NDArray[np.float32] = NO_THETA  # (n_units,); may be left out without thresholds
    thresholds: bool = True
    shift: NDArray[np.float32] | None = None
    scale: NDArray[np.float32] | None = None
    temperature: float = 1.0  # of its choices
    bias: NDArray[np.float64] | None = None  # (n_classes,): added to y
    code: str = "on"  # or "on_off", or "signed"

    @property
    def n_neurons(self) -> int:
        """How many states it reads."""
        return int(self.W.shape[1]) // (2 if self.code == ON_OFF else 1)

    def features(self, V: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return x, shape (n, n_units)."""
        _, theta, shift, scale, _ = self._parts()
        V = _checks.single("states", _checks.states(V, self.n_neurons))
        with np.errstate(over="ignore", invalid="ignore"):
            return encoded(V, theta, self.code) if self.thresholds else standardise(V, shift, scale)

    def outputs(self, V: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return y, shape (n, n_classes)."""
        W, *_, bias = self._parts()
        with np.errstate(over="ignore", invalid="ignore"):
            y = weighted_sums(self.features(V), W, bias)
        if not np.isfinite(y).all():
            raise ValueError("y is not finite: states, W, theta, shift, scale or bias are too large, or not finite")
        return y

    def _parts(self) -> tuple[Any, ...]:
        """Return W, theta, shift, scale and bias as arrays that fit together: a named tuple checks nothing."""
        W = _checks.numbers("W", self.W, "(n_classes, n_neurons)", 2)
        n_classes, n = W.shape
        _checks.flag("thresholds", self.thresholds)
        if _checks.one_of("code", self.code, CODES) == ON_OFF and (n % 2 or not self.thresholds):
            raise ValueError('code="on_off" needs thresholds, and two units for each neuron: W has an odd number')
        if self.code == SIGNED and not self.thresholds:
            raise ValueError('code="signed" needs thresholds')
        if 0.0 < _checks.real("temperature", self.temperature, 0.0, _checks.BIG) < _checks.SMALL:
            raise ValueError(f"temperature must be 0 or at least {_checks.SMALL:g}, not {self.temperature}")
        left_out = self.theta is None or (isinstance(self.theta, np.ndarray) and self.theta.shape == (0,))
        if left_out and self.thresholds:
            raise ValueError(f"theta must have shape ({n},); only with thresholds=False may it be left out")
        theta = np.zeros(n, np.float32) if left_out else _vector("theta", self.theta, n)
        shift = None if self.shift is None else _vector("shift", self.shift, n)
        scale = None if self.scale is None else _vector("scale", self.scale, n)
        bias = None if self.bias is None else _vector("bias", self.bias, n_classes, np.float64)
        return _checks.as_kernel_array(W, np.float32), theta, shift, scale, bias

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this readout to a file, without pickle; `kenyon.load` reads it."""
        from kenyon.saving import save

        save(path, self)


def completed(readout: Readout) -> Readout:
    """Return a readout of the same class whose parts have been checked and are arrays, `theta` among them."""
    W, theta, shift, scale, bias = readout._parts()
    own = readout._replace(thresholds=bool(readout.thresholds), temperature=float(readout.temperature))
    return own._replace(W=W, theta=theta, shift=shift, scale=scale, bias=bias)


def encoded(V: NDArray[np.float32], theta: NDArray[np.float32], code: str) -> NDArray[np.float32]:
    """Return x = relu(V - theta); with the code "on_off" followed by relu(theta - V) at the second half of theta.

    With the code "signed", return x = sign(V) relu(|V| - theta).
    """
    if code == SIGNED:
        return np.asarray(np.sign(V) * np.maximum(np.abs(V) - theta, np.float32(0)))
    if code != ON_OFF:
        return np.asarray(np.maximum(V - theta, np.float32(0)))
    n = V.shape[1]
    x = np.empty((len(V), 2 * n), np.float32)
    np.subtract(V, theta[:n], out=x[:, :n])
    np.subtract(theta[n:], V, out=x[:, n:])
    return np.maximum(x, np.float32(0), out=x)


def _vector(name: str, value: Any, n: int, kind: type[Any] = np.float32) -> NDArray[Any]:
    found = _checks.numbers(name, value, f"({n},)", 1)
    if len(found) != n:
        raise ValueError(f"{name} must have shape ({n},) to fit W, not {found.shape}")
    return _checks.as_kernel_array(found, kind)


def weighted_sums(
    x: NDArray[np.float32], W: NDArray[np.float32], bias: NDArray[np.float64] | None
) -> NDArray[np.float32]:
    """Return y = W x + bias for every row of x."""
    y = np.asarray(x @ W.T)
    return y if bias is None else (y + bias).astype(y.dtype)


def standardise(
    V: NDArray[np.float32], shift: NDArray[np.float32] | None, scale: NDArray[np.float32] | None
) -> NDArray[np.float32]:
    """Return (V - shift) scale; either may be left out."""
    if shift is not None:
        V = V - shift
    return V if scale is None else V * scale


def tempered(y: NDArray[Any], temperature: float) -> NDArray[Any]:
    """Return y / temperature, from whose softmax choices are drawn; at 0 that leaves only the largest output."""
    if temperature == 0:
        largest = y.argmax(axis=1)[:, None] == np.arange(y.shape[1])
        return np.where(largest, 0.0, -np.inf).astype(y.dtype)
    return np.asarray(y / y.dtype.type(temperature))


def draw_choices(probabilities: NDArray[np.float64], uniforms: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return a class for each row, drawn with the probabilities in that row."""
    below = np.cumsum(probabilities[:, :-1], axis=1)
    return np.asarray((uniforms[:, None] >= below).sum(axis=1))
