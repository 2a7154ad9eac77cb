"""Checks of what a user hands in. Each error names the argument, what came and what is allowed."""

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high]; numpy integers pass, floats and bools do not."""
    allowed = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be {allowed}, not {value!r}") from None
    if number < low or (high is not None and number > high):
        raise ValueError(f"{name} must be {allowed}, not {number}")
    return number


def real(name: str, value: Any, low: float, high: float = math.inf, *, open_low: bool = False) -> float:
    """Return `value` as a finite float in [low, high], or in (low, high] with `open_low`."""
    bracket = "(" if open_low else "["
    end = f"{high:g}]" if math.isfinite(high) else "inf)"
    allowed = f"a number in {bracket}{low:g}, {end}"
    try:
        if isinstance(value, (bool, np.bool_, str)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be {allowed}, not {value!r}") from None
    if not (math.isfinite(number) and low <= number <= high) or (open_low and number == low):
        raise ValueError(f"{name} must be {allowed}, not {number!r}")
    return number


def seed(value: Any) -> int:
    """Return `value` as a seed: any integer of at least 0."""
    return integer("seed", value, 0)


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return `value` if it is one of the `allowed` words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}")
    return value


def numbers(name: str, value: ArrayLike, shape: str, n_dims: int) -> NDArray[Any]:
    """Return `value` as a real array of `n_dims` dimensions; `shape` describes it in the error."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} must be an array of shape {shape}; the rows differ in length") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, not {array.dtype} ({shape} expected)")
    if array.ndim != n_dims:
        raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
    return array


def labels(value: ArrayLike, n: int, n_classes: int) -> NDArray[np.intp]:
    """Return `value` as `n` classes from 0 to n_classes - 1."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu" or array.shape != (n,):
        raise ValueError(f"labels must be {n} integers, one per row of states, not {array.dtype} {array.shape}")
    if n and (array.min() < 0 or array.max() >= n_classes):
        raise ValueError(f"labels must be from 0 to {n_classes - 1}, not {array.min()} to {array.max()}")
    return array.astype(np.intp, copy=False)


def targets(value: ArrayLike, n: int, n_outputs: int) -> NDArray[np.float32]:
    """Return `value` as finite targets (n, n_outputs) in single precision."""
    array = numbers("targets", value, f"({n}, {n_outputs})", 2)
    if array.shape != (n, n_outputs):
        raise ValueError(f"targets must have shape ({n}, {n_outputs}), not {array.shape}")
    return single("targets", array)


def states(value: ArrayLike, n_neurons: int | None = None) -> NDArray[np.float32]:
    """Return `value` as hidden states (n, n_neurons) in single precision; whether they are finite is not looked at."""
    width = "n_neurons" if n_neurons is None else n_neurons
    array = numbers("states", value, f"(n, {width})", 2)
    if array.shape[1] == 0 or (n_neurons is not None and array.shape[1] != n_neurons):
        raise ValueError(f"states must have shape (n, {width}), not {array.shape}")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def single(name: str, array: NDArray[Any]) -> NDArray[np.float32]:
    """Return `array` in single precision, contiguous, refusing NaN, inf and what float32 cannot hold."""
    with np.errstate(over="ignore"):
        result = np.ascontiguousarray(array, dtype=np.float32)
    if not np.isfinite(result).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise ValueError(f"{name} must be finite and within float32; {name}{list(where)} is {array[where]}")
    return result
