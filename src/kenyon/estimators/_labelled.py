"""What pandas objects and dicts carry besides values: identifiers of series and names of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kenyon import _checks


def is_pandas(values: Any) -> bool:
    """Tell pandas objects, without importing pandas."""
    return hasattr(values, "iloc") and hasattr(values, "index")


def is_dict(values: Any) -> bool:
    """Tell dicts of series from SciPy's sparse arrays, some of which are dicts too."""
    return isinstance(values, dict) and not hasattr(values, "shape")


def unpack(X: Any) -> Any:
    """Return the series of a dict or of a pandas Series as a list, and anything else as it is."""
    if is_dict(X):
        return list(X.values())
    return list(X) if is_pandas(X) and X.ndim == 1 and X.dtype == object else X


def names_of(X: Any, n: int) -> list[str]:
    """Return what errors call each series: by its identifier, if it has one, or by its number."""
    return [f"X[{_checks.short_repr(key)}]" for key in identifiers(X) or range(n)]


def identifiers(values: Any) -> list[Any] | None:
    """Return the keys of a dict or the index of a pandas object; None for anything else."""
    if is_dict(values):
        return list(values)
    return values.index.tolist() if is_pandas(values) else None


def columns(series: Any) -> list[Any] | None:
    """Return the column names of a DataFrame; None for anything else."""
    found = getattr(series, "columns", None)
    return None if found is None or callable(found) else list(found)


def check_columns(X: Sequence[Any], names: Sequence[str]) -> None:
    """Refuse series whose columns differ in name or order."""
    first = columns(X[0])
    for series, name in zip(X, names, strict=True):
        if columns(series) != first:
            raise ValueError(
                f"{name} has {_described(columns(series))}, but {names[0]} has {_described(first)}; "
                "all series must have the same columns in the same order"
            )


def _described(found: list[Any] | None) -> str:
    return "no column names" if found is None else f"the columns {_checks.short_repr(found)}"


def check_aligned(X: Any, y: Any) -> None:
    """Refuse y whose index does not fit that of X. A default index, 0 to n - 1, identifies nothing."""
    if is_pandas(X) and is_pandas(y) and X.index.equals(y.index):
        return
    a, b = identifiers(X), identifiers(y)
    if a is None or b is None or len(a) != len(b) or a == b:
        return
    fix = "if the order is right nevertheless, y.to_numpy()"
    if set(a) == set(b):
        keys = "list(X)" if is_dict(X) else "X.index"
        raise ValueError(f"y has the index of X in another order: write y.loc[{keys}], or {fix}")
    default = list(range(len(a)))
    if default not in (a, b):
        place = next(i for i, (one, other) in enumerate(zip(a, b, strict=True)) if one != other)
        raise ValueError(
            f"y and X have different indices: number {place} is {b[place]!r} in y and {a[place]!r} in X. "
            f"Select the same series for both, or, {fix}"
        )
