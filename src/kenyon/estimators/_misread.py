"""Warnings where input is probably not what its shape says: rows that look like series, features that look like time.

Nothing here changes a result. All doubts are of two kinds: neighbours that are much more alike than others, and labels
that stay the same from row to row.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kenyon.estimators._labelled import is_pandas
from kenyon.estimators._series import Series

FEWEST_COLUMNS = 16  # that can be told to be smooth
FEWEST_ROWS = 20  # in long form
SAMPLE = 200  # rows, or series, that columns are compared in
LONGEST, WIDEST = 20_000, 100  # rows and columns in which groups are looked for
ROUGH = 0.35  # squared difference of neighbours, relative to any two: less is smooth; 1 where the order means nothing
GRADUAL = 0.45  # the same of neighbouring rows: less is gradual
ORDERED, UNORDERED = 0.6, 0.8  # the same: features, but not steps, have an order
ALIKE = 0.6  # correlation of neighbouring columns: more is smooth
STEPS = 5  # a typical series has at least so many
GROUPS = 5  # long form has at least so many series
MANY = 20  # so many targets, or series, are not just classes
STILL = 4  # labels in long form change so many times less often than in random order

LONG_FORM = (
    "X seems to hold the steps of series in long form, since {}; but each row is taken for a sample of its own. For "
    "series write X, y = kn.series_from_frame(df, id=..., time=..., channels=..., label=...)"
)
TABLE = (
    "X of shape {} seems to hold a series of one channel in each row, since neighbouring columns are alike; but its "
    "columns are taken for features that are constant in time. For series write {}[:, :, None]"
)
ORDER = (
    "X seems to hold series of shape (channels, T), since {}; but time comes first in a series, so that these have {} "
    "steps of {} features. Write X.transpose(0, 2, 1), or x.T for each series of a list"
)


def warn_if_misread(series: Series, X: Any, y: Any = None) -> None:
    """Warn, once, if X is probably meant otherwise than it is understood."""
    doubt = _doubt_about_rows(series.values, X, y) if series.static else _doubt_about_order(series.values)
    if doubt:
        warnings.warn(doubt, UserWarning, stacklevel=4)


def _doubt_about_rows(rows: NDArray[Any], X: Any, y: Any) -> str | None:
    with np.errstate(all="ignore"):
        if rows.shape[1] >= FEWEST_COLUMNS and _smooth(rows[:SAMPLE]):
            return TABLE.format(rows.shape, "X.to_numpy()" if is_pandas(X) else "X")
        reason = _long_form(rows, X, y) if len(rows) >= FEWEST_ROWS else None
    return reason and LONG_FORM.format(reason)


def _doubt_about_order(values: Any) -> str | None:
    first = values[:SAMPLE]
    steps, features = first[0].shape
    if features < max(FEWEST_COLUMNS, steps + 1) or any(one.shape != (steps, features) for one in first):
        return None
    stack = np.asarray(first, np.float64)
    if steps == 1:
        return ORDER.format("all have one step", 1, features)
    with np.errstate(all="ignore"):
        across = np.mean([_roughness(stack[:, i]) for i in range(steps)])
        z = (stack - stack.mean(axis=(0, 2), keepdims=True)) / stack.std(axis=(0, 2), keepdims=True)
        along = _roughness(z.transpose(0, 2, 1).reshape(-1, steps))
    reason = "neighbouring features are alike, and neighbouring steps are not"
    return ORDER.format(reason, steps, features) if across < ORDERED and along > UNORDERED else None


def _smooth(rows: NDArray[Any]) -> bool:
    """Tell whether neighbouring columns are alike, as the steps of a series are."""
    rows = rows.astype(np.float64)
    z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    correlations = (z[:, 1:] * z[:, :-1]).mean(axis=0)
    return bool(_roughness(rows) < ROUGH and _median(correlations, 0.0) > ALIKE)


def _roughness(rows: NDArray[np.float64]) -> float:
    """Return the mean squared difference of neighbouring columns, relative to that of any two."""
    width = rows.shape[1]
    any_two = 2 * rows.var(axis=1).mean() * width / (width - 1)
    return float((np.diff(rows, axis=1) ** 2).mean() / any_two)


def _long_form(rows: NDArray[Any], X: Any, y: Any) -> str | None:
    """Return why rows seem to be steps of series: groups of rows have one label each."""
    targets = np.zeros(0) if y is None else np.asarray(y)
    if len(targets) != len(rows):
        return next((f"{name} marks {1 + starts.sum()} groups of rows" for name, starts in _by_index(X)), None)
    rows, labels = rows[:LONGEST, :WIDEST], _codes(targets[:LONGEST])
    n_labels, changes = int(labels.max()) + 1, labels[1:] != labels[:-1]
    for name, starts in (*_by_index(X), *_by_column(X, rows)):
        enough = n_labels > 1 and 1 + starts.sum() >= min(2 * n_labels, MANY)
        if enough and (starts | ~changes).all():
            return f"{name} marks {1 + starts.sum()} groups of rows with one label each"
    return _in_runs(rows, labels, changes)


def _in_runs(rows: NDArray[Any], labels: NDArray[np.intp], starts: NDArray[np.bool_]) -> str | None:
    """Return a reason if labels stay the same over many rows, and that often, or while rows change little by little."""
    lengths = np.diff(np.flatnonzero(np.concatenate([[True], starts, [True]])))
    reason = f"labels stay the same for {np.median(lengths):g} rows at a time"
    shares = np.bincount(labels) / len(labels)
    turns = np.sign(np.diff(labels))  # numbers of sorted labels only rise
    many = len(lengths) >= GROUPS * len(shares) or (len(shares) >= MANY and len(set(turns[turns != 0])) == 2)
    if many and lengths.min() >= STEPS:
        return reason
    expected = len(rows) * (1 - (shares**2).sum())  # runs, in random order
    if len(shares) == 1 or len(rows) < 2 * FEWEST_ROWS or expected < STILL * len(lengths):
        return None
    return f"{reason}, and neighbouring rows are alike" if _gradual(rows, starts) else None


def _by_index(X: Any) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield where groups of rows start, by levels of the index that are identifiers or times."""
    if not is_pandas(X):
        return
    for i in range(X.index.nlevels):
        values = X.index[:LONGEST].get_level_values(i)
        starts = _starts(np.asarray(values)) if values.has_duplicates else None
        if starts is not None:
            yield "the index", starts


def _by_column(X: Any, rows: NDArray[Any]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield where groups of rows start, by columns of whole numbers that are identifiers or times."""
    for i, values in enumerate(rows.T):
        starts = _starts(values) if (values == np.round(values)).all() else None
        if starts is not None:
            yield f"column {X.columns[i] if is_pandas(X) else i!r}", starts


def _starts(values: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Return where groups start if this is an identifier, each in one place, or a time that starts again and again."""
    changes, most = values[1:] != values[:-1], len(values) / STEPS
    if GROUPS <= 1 + changes.sum() <= most and 1 + changes.sum() == _codes(values).max() + 1:
        return np.asarray(changes)
    again = values[1:] <= values[:-1] if values.dtype.kind in "iufM" else np.zeros(0)
    return np.asarray(again) if GROUPS <= 1 + again.sum() <= most and changes.all() else None


def _codes(values: NDArray[Any]) -> NDArray[np.intp]:
    """Return a number for each different label, or row of targets."""
    if values.ndim > 1 or values.dtype.kind not in "biufM":
        values = np.array(list(map(str, values.tolist())))
    return np.unique(values, return_inverse=True)[1].ravel()


def _gradual(rows: NDArray[Any], starts: NDArray[np.bool_]) -> bool:
    """Tell whether rows of a group are more like their neighbours than like the others of the group."""
    rows = rows.astype(np.float64)
    group = np.concatenate([[0], np.cumsum(starts)])
    mixed = rows[np.lexsort((np.random.default_rng(0).random(len(rows)), group))]
    near, far = ((np.diff(part, axis=0)[~starts] ** 2).mean(axis=0) for part in (rows, mixed))
    return _median(near / far, 1.0) < GRADUAL


def _median(values: NDArray[np.float64], otherwise: float) -> float:
    """Return the median of columns that vary."""
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else otherwise
