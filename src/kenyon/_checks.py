"""Checks of what a user passes in. Each error names the argument, what came and what is allowed."""

import difflib
import math
import operator
import os
from collections.abc import Iterable, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

WHOLE = 2**63 - 1  # the largest integer that kernels take
LARGE = 1e25  # a factor or rate above which single precision would soon overflow
SMALL, BIG = 1e-15, 1e15  # range of desired outputs: their squares fit into single precision
Kind = TypeVar("Kind")


def short_repr(value: Any) -> str:
    """Return `value` as error messages show it: on one short line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an integer with too many digits, or an object whose repr fails
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 200 else f"{text[:197]}..."


class MissingPackage(ModuleNotFoundError, ValueError):
    """An optional package that is not installed."""


def missing(what: str, package: str) -> MissingPackage:
    """Return an error that says what an optional package is needed for, and how to install it."""
    return MissingPackage(f"{what} needs {package}, which is not installed: pip install {package}", name=package)


def suggestion(name: Any, known: Iterable[str]) -> str:
    """Return a question with the name that was probably meant, if there is a similar one."""
    similar = closest(name, known)
    return f"; did you mean {similar}?" if similar else ""


def closest(name: Any, known: Iterable[str]) -> str | None:
    """Return the name that was probably meant, if there is a similar one."""
    longer = [candidate for candidate in known if name and candidate.startswith(str(name))]
    similar = longer or difflib.get_close_matches(str(name), list(known), 1, 0.5)
    return similar[0] if similar else None


def integer(name: str, value: Any, low: int, high: int = WHOLE) -> int:
    """Return `value` as an int in [low, high]; numpy integers pass, floats and bools do not."""
    if type(value) is int and low <= value <= high:
        return value
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        number = None
    if number is not None and low <= number <= high:
        return number
    open_end = high >= WHOLE and (number is None or number < low)  # the machine's limit is mentioned when exceeded
    allowed = f"an integer of at least {low}" if open_end else f"an integer from {low} to {high}"
    raise ValueError(f"{name} must be {allowed}, not {short_repr(value if number is None else number)}")


def real(name: str, value: Any, low: float, high: float = math.inf, *, open_low: bool = False) -> float:
    """Return `value` as a finite float in [low, high], or in (low, high] with `open_low`."""
    number = _float(value)
    if number is not None and math.isfinite(number) and low <= number <= high and not (open_low and number == low):
        return number
    bracket = "(" if open_low else "["
    open_end = high >= 1e6 and not (number is not None and number > high)
    end = "inf)" if open_end else f"{high:g}]"
    raise ValueError(f"{name} must be a number in {bracket}{low:g}, {end}, not {short_repr(value)}")


def real_or(name: str, value: Any, low: float, high: float, others: str) -> float:
    """Return `value` as a float in [low, high]; the error says what `others` are allowed."""
    try:
        return real(name, value, low, high)
    except ValueError:
        raise ValueError(
            f"{name} must be a number from {low:g} to {high:g}, {others}, not {short_repr(value)}"
        ) from None


def _float(value: Any) -> float | None:
    """Return a real number, or an array without dimensions, as a float; None for anything else."""
    try:
        if not isinstance(value, Real):
            value = np.asarray(value)
            if value.ndim != 0 or value.dtype.kind not in "fiu" or np.ma.is_masked(value):
                return None
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, not {short_repr(value)}")
    return bool(value)


def seed(value: Any) -> int:
    """Return `value` as a seed: an integer of at least 0 and at most 128 bits."""
    return integer("seed", value, 0, 2**128 - 1)


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return `value` if it is one of the `allowed` words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {short_repr(value)}")
    return value


def instance(name: str, value: Any, kind: type[Kind]) -> Kind:
    """Return `value` if it is an instance of `kind`."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIO" else "a"
        raise ValueError(f"{name} must be {article} {kind.__name__}, not {short_repr(value)}")
    return value


def set_fields(thing: Any, **values: Any) -> None:
    """Set the fields of a frozen dataclass, to the plain values that their checks returned."""
    for name, value in values.items():
        object.__setattr__(thing, name, value)


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Return `value` as a tuple of strings."""
    if isinstance(value, (Sequence, np.ndarray)) and np.shape(value) and not isinstance(value, (str, bytes, bytearray)):
        found = tuple(value)
        if all(isinstance(text, str) for text in found):
            return found
    raise ValueError(f"{name} must be a list of strings, not {short_repr(value)}")


def path(name: str, value: Any) -> Path:
    """Return `value` as a path; numbers, which `open` takes for file descriptors, are refused."""
    try:
        text = os.fspath(value)
    except TypeError:
        text = None
    if not isinstance(text, str) or "\0" in text:
        raise ValueError(f"{name} must be the path of a file or folder, not {short_repr(value)}")
    return Path(text)


def array(name: str, value: ArrayLike, expected: str) -> NDArray[Any]:
    """Return `value` as a plain array; `expected` describes it in the error."""
    try:
        found = np.asarray(value)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"{name} must be {expected}; its rows differ in length or do not hold numbers") from None
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name} must be {expected} without masked values: fill in what is missing")
    return found


def as_kernel_array(array: NDArray[Any], kind: type[Any]) -> NDArray[Any]:
    """Return an array as kernels are compiled for: contiguous, aligned, writeable; itself if it is all that.

    What is too large for this kind of number becomes infinite.
    """
    if array.dtype == kind and array.ndim and array.flags.carray:
        return array
    with np.errstate(over="ignore"):
        result = np.ascontiguousarray(array, kind)
    return result if result.flags.carray else result.copy()


def numbers(name: str, value: ArrayLike, shape: str, n_dims: int) -> NDArray[Any]:
    """Return `value` as a real array of `n_dims` dimensions; `shape` describes it in the error."""
    found = array(name, value, f"an array of shape {shape}")
    if found.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, not {found.dtype} ({shape} expected)")
    if found.ndim != n_dims:
        raise ValueError(f"{name} must have shape {shape}, not {found.shape}")
    return found


def whole_numbers(name: str, value: ArrayLike, expected: str, n_dims: int, n: int | None) -> NDArray[np.intp]:
    """Return `value` as integers from 0 to n - 1, or any if n is None, in an array of `n_dims` dimensions."""
    found = array(name, value, expected)
    if found.dtype.kind not in "iu" or found.ndim != n_dims:
        raise ValueError(f"{name} must be {expected}, not {found.dtype} {found.shape}")
    whole = as_kernel_array(found, np.intp)
    if n is not None and whole.size and whole.view(np.uintp).max() >= n:  # below 0 and beyond intp in one look
        raise ValueError(f"{name} must be from 0 to {n - 1}, not {found.min()} to {found.max()}")
    return whole


def labels(
    value: ArrayLike, n: int, n_classes: int | None, name: str = "labels", each: str = "row of states"
) -> NDArray[np.intp]:
    """Return `value` as `n` classes from 0 to n_classes - 1; of any number if that is None."""
    if n_classes is None and type(value) is np.ndarray and value.shape == (n,) and value.dtype == np.intp:
        return as_kernel_array(value, np.intp)
    expected = f"{n} integers, one per {each}"
    found = whole_numbers(name, value, expected, 1, n_classes)
    if len(found) != n:
        raise ValueError(f"{name} must be {expected}, not {len(found)}")
    return found


def targets(value: ArrayLike, n: int, n_outputs: int) -> NDArray[np.float32]:
    """Return `value` as finite targets (n, n_outputs) in single precision."""
    found = numbers("targets", value, f"({n}, {n_outputs})", 2)
    if found.shape != (n, n_outputs):
        raise ValueError(f"targets must have shape ({n}, {n_outputs}), not {found.shape}")
    return single("targets", found)


def rewards(value: ArrayLike, n: int) -> NDArray[np.float32]:
    """Return `value` as `n` finite rewards in single precision."""
    found = numbers("rewards", value, f"({n},)", 1)
    if len(found) != n:
        raise ValueError(f"rewards must be {n} numbers, one per row of states, not {len(found)}")
    return single("rewards", found)


def states(value: ArrayLike, n_neurons: int | None = None) -> NDArray[np.float32]:
    """Return `value` as hidden states (n, n_neurons) in single precision, without checking that they are finite."""
    if type(value) is np.ndarray and value.shape[1:] == (n_neurons,) and value.dtype == np.float32:
        return as_kernel_array(value, np.float32)
    width = "n_neurons" if n_neurons is None else n_neurons
    found = numbers("states", value, f"(n, {width})", 2)
    if found.shape[1] == 0 or (n_neurons is not None and found.shape[1] != n_neurons):
        raise ValueError(f"states must have shape (n, {width}), not {found.shape}")
    return as_kernel_array(found, np.float32)


def calibration(value: ArrayLike) -> NDArray[np.float32]:
    """Return `value` as calibration states: finite, of at least one episode."""
    found = single("states", states(value))
    if len(found) == 0:
        raise ValueError(f"states must hold at least one episode, not {found.shape}")
    return found


def single(name: str, array: NDArray[Any], first: int = 0) -> NDArray[np.float32]:
    """Return `array` in single precision, contiguous, refusing NaN, inf and what float32 cannot hold.

    `first` is the number of its first row in the error.
    """
    result = as_kernel_array(array, np.float32)
    if not np.isfinite(result).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        place = [first + where[0], *where[1:]]
        raise ValueError(f"{name} must be finite and within float32; {name}{place} is {array[where]}")
    return result
