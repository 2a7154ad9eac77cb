"""User input: static rows, series of equal length, or series of different lengths; validated, and cut into chunks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, validate_data

from kenyon import _checks
from kenyon.estimators._labelled import check_columns, columns, names_of, unpack
from kenyon.kernels.streams import LARGEST_VALUE

SERIES_PER_CHUNK = 512  # series processed at a time
EXPECTED = "a series of shape (T, features)"
SHAPES = "(n, features), (n, T, features) or a list of (T_k, features)"


class Series(NamedTuple):
    """Validated input. Series of different lengths are a list; rows that are constant in time have two dimensions."""

    values: Any  # an array (n, channels) or (n, T, channels), or a list of arrays (T_k, channels)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def static(self) -> bool:
        """Whether these are rows that are constant in time."""
        return not isinstance(self.values, list) and self.values.ndim == 2

    @property
    def lengths(self) -> NDArray[np.intp]:
        """The number of steps of each; 1 for rows."""
        if isinstance(self.values, list):
            return np.array([len(values) for values in self.values], np.intp)
        return np.full(len(self), 1 if self.static else self.values.shape[1], np.intp)

    @property
    def n_channels(self) -> int:
        """The number of features."""
        return int(self.values[0].shape[-1])

    def take(self, chosen: NDArray[np.intp] | slice) -> Series:
        """Return some of the series."""
        if isinstance(self.values, list):
            return Series(self.values[chosen] if isinstance(chosen, slice) else [self.values[i] for i in chosen])
        return Series(self.values[chosen])

    def steps(self) -> Iterator[NDArray[np.float64]]:
        """Yield all steps of all series in double precision, a chunk of series at a time; shape (n, channels)."""
        for chunk in chunks(len(self)):
            part = self.take(chunk).values
            flat = np.concatenate(part) if isinstance(part, list) else part.reshape(-1, part.shape[-1])
            yield flat.astype(np.float64)

    def largest(self, sign: float) -> NDArray[np.float64]:
        """Return the largest value of each channel in each series, of values times the sign; shape (n, channels)."""
        extreme = np.max if sign > 0 else np.min
        if isinstance(self.values, list):
            return sign * np.array([extreme(values, axis=0) for values in self.values], np.float64)
        return sign * (self.values if self.static else extreme(self.values, axis=1)).astype(np.float64)


def joined(first: Series, second: Series) -> Series:
    """Return all of both."""
    if not isinstance(first.values, list) and first.values.shape[1:] == np.shape(second.values)[1:]:
        return Series(np.concatenate([first.values, second.values]))
    return Series([*first.values, *second.values])


def chunks(n: int) -> Iterator[slice]:
    """Cut n series into slices."""
    return (slice(first, min(first + SERIES_PER_CHUNK, n)) for first in range(0, n, SERIES_PER_CHUNK))


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Put the argument's name in front of errors by scikit-learn or NumPy that do not mention it."""
    try:
        with np.errstate(over="ignore"):  # infinities are refused later
            yield
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        if isinstance(error, (TypeError, ValueError)) and re.search(rf"\b{name}\b", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from None


def check_unmasked(name: str, values: Any) -> None:
    """Refuse masked values, whose mask would be lost."""
    objects = values.flat if isinstance(values, np.ndarray) and values.dtype == object else ()
    if np.ma.is_masked(values) or any(value is np.ma.masked for value in objects):
        raise ValueError(f"{name} has masked values; fill them in or remove them")


def alone(name: str, value: Any) -> NDArray[Any]:
    """Return a single row, series, label or target as the only one of several."""
    check_unmasked(name, value)
    if isinstance(value, Mapping):
        raise ValueError(
            f"{name} must be plain values in a fixed order, not a dict: the models of kenyon.river take dicts"
        )
    with naming(name):
        return np.asarray(value)[None]


def check_given(estimator: Any, y: Any) -> None:
    """Refuse missing and masked targets."""
    if y is None:
        raise ValueError(f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None")
    check_unmasked("y", y)


def check_same_length(X: Any, y: Any) -> None:
    """Refuse series and targets that differ in number."""
    with naming("X and y"):
        check_consistent_length(X, y)


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Series:
    """Return X as rows, and set or compare the estimator's number of features."""
    check_unmasked("X", X)
    with naming("X"):
        return Series(_finite("X", validate_data(estimator, X, reset=reset, dtype=(np.float64, np.float32))))


def check_series(estimator: Any, X: Any, *, reset: bool) -> Series:
    """Return X as `Series`, and set or compare the estimator's kind of input and number and names of features."""
    values = unpack(X)
    is_list = _is_list_of_series(values)
    kind = "series" if is_list or getattr(values, "ndim", None) == 3 else "rows"
    if not reset and kind != estimator.input_kind_:
        _refuse_kind(estimator, values, kind)
    series = _read(estimator, X, values, is_list, reset=reset)
    estimator.input_kind_ = kind
    return series


def check_sequences(estimator: Any, X: Any, *, reset: bool) -> Series:
    """Return X as `Series` whose static rows are the steps of one series; set or compare the features as above."""
    values = unpack(X)
    return _read(estimator, X, values, _is_list_of_series(values), reset=reset)


def _read(estimator: Any, X: Any, values: Any, is_list: bool, *, reset: bool) -> Series:
    if not is_list and getattr(values, "ndim", None) != 3:
        return check_rows(estimator, values, reset=reset)
    series = Series(_check_list(values, names_of(X, len(values))) if is_list else _check_stack(values))
    named = is_list and columns(values[0]) is not None
    _check_features(estimator, values[0] if named else series.values[0], series, reset=reset)
    return series


def _check_features(estimator: Any, first: Any, series: Series, *, reset: bool) -> None:
    """Set or compare number and names of the features of the first series; say so if channels seem to come first."""
    try:
        with naming("X"):
            validate_data(estimator, first, reset=reset, skip_check_array=True)
    except ValueError as error:
        if reset or set(series.lengths) != {estimator.n_features_in_}:
            raise
        fix = "x.T for each series" if isinstance(series.values, list) else "X.transpose(0, 2, 1)"
        raise ValueError(f"{error} Do channels come first? Then transpose: {fix}") from None


def _refuse_kind(estimator: Any, X: Any, kind: str) -> None:
    """Refuse series instead of rows, or rows instead of series, and say what to write."""
    name, n = type(estimator).__name__, estimator.n_features_in_
    if kind == "series":
        given = "is a list of series" if isinstance(X, (list, tuple)) else f"has the shape {X.shape}"
        raise ValueError(f"X {given}, but {name} was fitted to rows: expected (n, {n})")
    shape = tuple(X.shape if hasattr(X, "shape") else _checks.array("X", X, SHAPES).shape)
    fix = f"expected (n, T, {n}) or a list of (T_k, {n})"
    if shape[1:] == (n,):
        fix = "for a single series write [x], or x[None] if it is an array"
    elif shape[:1] == (n,) and len(shape) == 2:
        fix = "for a single series with channels first write [x.T]"
    elif n == 1:
        fix = "for a single series write [x[:, None]], and for a table of series X[:, :, None]"
    raise ValueError(f"X has the shape {shape}, but {name} was fitted to series of {n} features: {fix}")


def _is_list_of_series(X: Any) -> bool:
    """Distinguish lists and object arrays of series from tables; refuse one-dimensional series."""
    if isinstance(X, np.ndarray) and (X.dtype != object or X.ndim != 1):
        return False
    if not isinstance(X, (list, tuple, np.ndarray)) or len(X) == 0:
        return False
    with naming("X"):
        depths = {_checks.array(f"X[{i}]", series, EXPECTED).ndim for i, series in enumerate(X)}
    if depths == {1} and len({len(series) for series in X}) > 1:
        raise ValueError(
            "X is a list of series without features; a series must have shape (T, features): use x[:, None]"
        )
    return 2 in depths


def _check_list(X: Sequence[Any], names: Sequence[str]) -> list[NDArray[Any]]:
    check_columns(X, names)
    values = [_check_single(name, series) for name, series in zip(names, X, strict=True)]
    shapes = [series.shape for series in values]
    for name, (_, width) in zip(names, shapes, strict=True):
        if width != shapes[0][1]:
            same = len({length for length, _ in shapes}) == 1
            fix = "; if channels come first, transpose each: x.T" if same else ""
            raise ValueError(f"{name} has {width} features, but {names[0]} has {shapes[0][1]}{fix}")
    return values


def _check_stack(X: Any) -> NDArray[Any]:
    check_unmasked("X", X)
    values = np.asarray(X)
    if 0 in values.shape:
        what = ("no series", "series of length 0", "no features")[values.shape.index(0)]
        raise ValueError(f"X of shape {values.shape} contains {what}; expected {SHAPES}")
    return _finite("X", _real("X", values))


def _check_single(name: str, values: Any) -> NDArray[Any]:
    series = _checks.array(name, values, EXPECTED)
    if series.ndim != 2:
        raise ValueError(f"{name} must have shape (T, features), not {series.shape}")
    if len(series) == 0:
        raise ValueError(f"{name} is a series of length 0; each must have at least one step")
    if series.size == 0:
        raise ValueError(f"{name} has no features: {series.shape}; expected {SHAPES}")
    check_unmasked(name, series)
    return _finite(name, _real(name, series))


def _real(name: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind not in "fiubO":
        raise ValueError(f"{name} must hold real numbers, not {values.dtype}")
    try:
        with np.errstate(over="ignore"):  # infinities are refused later
            return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must hold real numbers, in series of equal shape or a list of series") from None


def _finite(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Refuse values that are missing, infinite or too large to square, and name the first."""
    if float(values.min()) >= -LARGEST_VALUE and float(values.max()) <= LARGEST_VALUE:
        return values
    place = tuple(int(i) for i in np.argwhere(~(np.abs(values.astype(np.float64)) <= LARGEST_VALUE))[0])
    words = ("series", "step", "feature")[-len(place) :]
    where = ", ".join(f"{word} {i}" for word, i in zip(words, place, strict=True))
    found = "a missing value (NaN)" if np.isnan(values[place]) else f"a value beyond {LARGEST_VALUE:g}, {values[place]}"
    raise ValueError(f"{name} has {found}: {where}; fill it in or remove the series")
