"""Series from tables in long form: a row per step, with a column that says which series it belongs to."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks

if TYPE_CHECKING:
    import pandas as pd


def series_from_frame(
    frame: pd.DataFrame,
    *,
    id: Hashable,
    time: Hashable | None = None,
    channels: Sequence[Hashable] | str | None = None,
    label: Hashable | None = None,
) -> Any:
    """Return the series of a table in long form, which has a row for each step of each series.

    Parameters
    ----------
    frame
        A pandas DataFrame.
    id
        The column that says which series a row belongs to.
    time
        The column by which the steps of a series are sorted: numbers, dates, ordered categories, or strings, which
        are sorted alphabetically. None keeps the order of the rows.
    channels
        The columns with the values; by default all others.
    label
        The column with the label or target of the series, the same in all of its rows.

    Returns
    -------
    X : pandas.Series
        A DataFrame for each series, with its times as the index and the channels as columns; indexed by `id`, in the
        order in which series first appear. The estimators take it as it is, as do scikit-learn's splitters.
    y : pandas.Series
        With `label`, the label of each series, with the same index.
    """
    import pandas as pd

    _checks.instance("frame", frame, pd.DataFrame)
    if len(frame) == 0:
        raise ValueError("frame has no rows")
    others = [name for what, name in (("id", id), ("time", time), ("label", label)) if _is_column(frame, what, name)]
    names = _channels(frame, channels, others)
    table = frame[[*dict.fromkeys(others), *names]]
    _check_complete(table, id)
    code, ids = _factors(table, "id", id)
    rank = np.arange(len(table)) if time is None else _ranks(table, time)
    order = np.lexsort((rank, code))
    if time is not None:
        _check_times(table.iloc[order], id, time, code[order], rank[order])
    X = pd.Series(_parts(table.iloc[order], code[order], time, names), index=pd.Index(ids, name=id))
    return X if label is None else (X, _labels(table, id, label, code).set_axis(X.index))


def _is_column(frame: pd.DataFrame, what: str, name: Any) -> bool:
    """Tell whether a column was named, and refuse one that does not exist, or exists twice."""
    if name is None and what in ("time", "label"):
        return False
    n = list(frame.columns).count(name) if isinstance(name, Hashable) else 0
    if n != 1:
        level = isinstance(name, str) and name in list(frame.index.names)
        hint = "; it is in the index: use frame.reset_index()" if level else ""
        names = _checks.short_repr(list(frame.columns))
        raise ValueError(f"{what} must name one column of frame, not {_checks.short_repr(name)}; it has {names}{hint}")
    return True


def _channels(frame: pd.DataFrame, channels: Any, others: list[Any]) -> list[Any]:
    """Return the names of the channels: numeric columns, and none of the others."""
    if channels is None:
        names = [name for name in frame.columns if name not in others]
    elif isinstance(channels, (list, tuple)) or (hasattr(channels, "tolist") and np.ndim(channels) == 1):
        names = list(channels)
    else:
        names = [channels]
    for name in names:
        _is_column(frame, "channels", name)
        if name in others:
            raise ValueError(f"channels must not contain {name!r}, which is id, time or label")
        if frame[name].dtype.kind not in "fiub":
            raise ValueError(f"channels must name columns of numbers, but {name!r} holds {frame[name].dtype}")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"channels must name at least one column, and none twice, not {_checks.short_repr(names)}")
    return names


def _check_complete(table: pd.DataFrame, id: Any) -> None:
    missing = table.isna().to_numpy()
    if missing.any():
        row, column = (int(i) for i in np.argwhere(missing)[0])
        raise ValueError(
            f"frame has a missing value in column {table.columns[column]!r}, row {row} "
            f"({id} {_checks.short_repr(table[id].tolist()[row])}); fill it in or remove the row"
        )


def _factors(table: pd.DataFrame, what: str, name: Any, *, sort: bool = False) -> tuple[NDArray[np.intp], Any]:
    """Return a number for each different value of a column, in the order of appearance or sorted; and the values."""
    import pandas as pd

    try:
        code, values = pd.factorize(table[name], sort=sort)
    except TypeError as error:
        raise ValueError(f"{what}={name!r} is a column of values that cannot be compared: {error}") from None
    return np.asarray(code, np.intp), values


def _ranks(table: pd.DataFrame, time: Any) -> NDArray[np.intp]:
    """Return the order of the times; refuse numbers written as text, of which "10" would come before "9"."""
    import pandas as pd

    rank, times = _factors(table, "time", time, sort=True)
    if all(isinstance(value, str) for value in times) and not isinstance(times, pd.CategoricalIndex):
        numbers = pd.to_numeric(pd.Series(list(times)), errors="coerce")
        if numbers.notna().all() and not numbers.is_monotonic_increasing:
            raise ValueError(f"time={time!r} holds numbers as text; convert them: pd.to_numeric(frame[{time!r}])")
    return rank


def _check_times(table: pd.DataFrame, id: Any, time: Any, code: NDArray[np.intp], rank: NDArray[np.intp]) -> None:
    """Refuse two rows of a series with the same time."""
    twice = np.flatnonzero((code[1:] == code[:-1]) & (rank[1:] == rank[:-1]))
    if len(twice):
        which, when = (_checks.short_repr(table[name].tolist()[twice[0]]) for name in (id, time))
        raise ValueError(f"time={time!r} has {when} twice for {id} {which}; each step of a series needs its own")


def _parts(table: pd.DataFrame, code: NDArray[np.intp], time: Any, names: list[Any]) -> NDArray[Any]:
    """Cut a sorted table into one for each series."""
    values = table[names].astype(np.float64)
    if time is not None:
        values.index = table.set_index(time).index
    cuts = np.flatnonzero(np.diff(code)) + 1
    parts = np.empty(len(cuts) + 1, object)
    for i, (first, end) in enumerate(zip([0, *cuts], [*cuts, len(table)], strict=True)):
        parts[i] = values.iloc[first:end] if time is not None else values.iloc[first:end].reset_index(drop=True)
    return parts


def _labels(table: pd.DataFrame, id: Any, label: Any, code: NDArray[np.intp]) -> pd.Series:
    """Return the label of each series, refusing a series with several."""
    found, _ = _factors(table, "label", label)
    first = np.unique(code, return_index=True)[1]
    other = np.flatnonzero(found != found[first][code])
    if len(other):
        here, labels = int(other[0]), table[label].tolist()
        pair = f"{_checks.short_repr(labels[first[code[here]]])} and {_checks.short_repr(labels[here])}"
        raise ValueError(f"label={label!r} differs within {id} {_checks.short_repr(table[id].tolist()[here])}: {pair}")
    return table[label].iloc[first]
