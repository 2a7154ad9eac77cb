"""What a user hands in: static rows, series of one length, or series of different lengths; checked, and cut up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from kenyon import _checks

LARGEST_VALUE = 1e100  # a value whose square, summed over any number of series, is finite
SERIES_PER_CHUNK = 512  # series that are worked on at a time
SHAPES = "(n, features), (n, T, features) or a list of (T_k, features)"


class Series(NamedTuple):
    """Checked input. Series of different lengths are a list; rows that do not change in time have two dimensions."""

    values: Any  # an array (n, channels) or (n, T, channels), or a list of arrays (T_k, channels)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def static(self) -> bool:
        """Tell whether these are rows without a course in time."""
        return not isinstance(self.values, list) and self.values.ndim == 2

    @property
    def lengths(self) -> NDArray[np.intp]:
        """The number of steps of each; 1 for rows."""
        if isinstance(self.values, list):
            return np.array([len(one) for one in self.values], np.intp)
        return np.full(len(self), 1 if self.static else self.values.shape[1], np.intp)

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


def chunks(n: int) -> Iterator[slice]:
    """Cut n into slices."""
    return (slice(first, min(first + SERIES_PER_CHUNK, n)) for first in range(0, n, SERIES_PER_CHUNK))


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Put the argument's name before what scikit-learn or NumPy say is wrong with it, if they do not."""
    try:
        with np.errstate(over="ignore"):  # what becomes infinite is refused
            yield
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        if isinstance(error, (TypeError, ValueError)) and re.search(rf"\b{name}\b", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from None


def check_unmasked(name: str, values: Any) -> None:
    """Refuse masked values, whose mask would be lost."""
    objects = values.flat if isinstance(values, np.ndarray) and values.dtype == object else ()
    if np.ma.is_masked(values) or any(one is np.ma.masked for one in objects):
        raise ValueError(f"{name} has masked values; fill them in or leave them out")


def check_as_many(X: Any, y: Any) -> None:
    """Refuse series and targets that are not as many."""
    with naming("X and y"):
        check_consistent_length(X, y)


def check_weights(values: Any) -> NDArray[np.float64] | None:
    """Return weights of samples as finite numbers whose sum is not 0, which not all versions of scikit-learn see to."""
    if values is None:
        return None
    check_unmasked("sample_weight", values)
    with naming("sample_weight"):
        weights = np.asarray(check_array(values, ensure_2d=False, dtype=np.float64, input_name="sample_weight"))
        if weights.sum() == 0:
            raise ValueError("sample_weight must not sum to 0")
    return weights


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Series:
    """Return X as rows, and set or compare the estimator's number of features."""
    check_unmasked("X", X)
    with naming("X"):
        return Series(_finite("X", validate_data(estimator, X, reset=reset, dtype=(np.float64, np.float32))))


def check_series(estimator: Any, X: Any, *, reset: bool) -> Series:
    """Return X as `Series`, and set or compare the estimator's number of features."""
    if _is_list_of_series(X):
        values: Any = [_check_one(i, one) for i, one in enumerate(X)]
        n_channels = values[0].shape[1]
        for i, one in enumerate(values):
            if one.shape[1] != n_channels:
                raise ValueError(f"X[{i}] has {one.shape[1]} features, but X[0] has {n_channels}")
    elif getattr(X, "ndim", None) == 3:
        check_unmasked("X", X)
        values = _check_array(np.asarray(X))
        n_channels = values.shape[2]
    else:
        return check_rows(estimator, X, reset=reset)
    _check_width(estimator, n_channels, reset)
    return Series(values)


def _is_list_of_series(X: Any) -> bool:
    """Tell lists and object arrays of series from tables; say what is wrong with series of one dimension."""
    if isinstance(X, np.ndarray) and (X.dtype != object or X.ndim != 1):
        return False
    if not isinstance(X, (list, tuple, np.ndarray)) or len(X) == 0:
        return False
    depths = {_depth(i, one) for i, one in enumerate(X)}
    if depths == {1} and len({len(one) for one in X}) > 1:
        raise ValueError(
            "X is a list of series without features; a series must have shape (T, features): use x[:, None]"
        )
    return 2 in depths


def _depth(i: int, values: Any) -> int:
    with naming("X"):
        return np.ndim(_checks.array(f"X[{i}]", values, "a series of shape (T, features)"))


def _check_one(i: int, values: Any) -> NDArray[Any]:
    one = _checks.array(f"X[{i}]", values, "a series of shape (T, features)")
    if one.ndim != 2:
        raise ValueError(f"X[{i}] must have shape (T, features), not {one.shape}")
    if len(one) == 0:
        raise ValueError(f"X[{i}] is a series of length 0; each must have at least one step")
    if one.size == 0:
        raise ValueError(f"X[{i}] has no features: {one.shape}; expected {SHAPES}")
    check_unmasked(f"X[{i}]", one)
    return _finite(f"X[{i}]", _real(f"X[{i}]", one))


def _check_array(X: NDArray[Any]) -> NDArray[Any]:
    if 0 in X.shape:
        what = ("no series", "series of length 0", "no features")[X.shape.index(0)]
        raise ValueError(f"X of shape {X.shape} holds {what}; expected {SHAPES}")
    return _finite("X", _real("X", X))


def _real(name: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind not in "fiubO":
        raise ValueError(f"{name} must hold real numbers, not {values.dtype}")
    try:
        with np.errstate(over="ignore"):  # what becomes infinite is refused
            return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must hold real numbers, all series of one shape or a list of them") from None


def _finite(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Refuse missing and infinite values, and those whose squares would be, and name the first."""
    if float(values.min()) >= -LARGEST_VALUE and float(values.max()) <= LARGEST_VALUE:
        return values
    place = tuple(int(i) for i in np.argwhere(~(np.abs(values.astype(np.float64)) <= LARGEST_VALUE))[0])
    where = "".join(
        f", {word} {i}" for word, i in zip(("series", "step", "feature")[-len(place) :], place, strict=True)
    )
    found = "a missing value (NaN)" if np.isnan(values[place]) else f"a value beyond {LARGEST_VALUE:g}, {values[place]}"
    raise ValueError(f"{name} has {found}: {where[2:]}; fill it in or leave the series out")


def _check_width(estimator: Any, n_channels: int, reset: bool) -> None:
    if reset:
        estimator.n_features_in_ = n_channels
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    elif n_channels != estimator.n_features_in_:
        name = type(estimator).__name__
        expected = estimator.n_features_in_
        raise ValueError(f"X has {n_channels} features, but {name} is expecting {expected} features as input")
