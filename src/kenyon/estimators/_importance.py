"""Which channels matter: how much worse a model gets when one of them is exchanged between series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch

from kenyon import _checks, _seeding
from kenyon.estimators._base import random_numbers
from kenyon.estimators._series import Series, check_given, check_same_length, check_series, naming


def permutation_importance(
    model: Any,
    X: ArrayLike | Sequence[ArrayLike],
    y: ArrayLike,
    *,
    scoring: Any = None,
    n_repeats: int = 5,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Return how much each channel matters: the drop in score when it is exchanged between series.

    A channel is exchanged as a whole: series k gets the course that the channel takes in another series, drawn at
    random, while its other channels and its length stay as they are. Courses are aligned at their ends, where models
    read the state: of a longer one the last steps are taken, and a shorter one is repeated. What the length itself
    tells is therefore not counted for any channel. Static rows are passed on to scikit-learn's function of this name.

    Parameters
    ----------
    model
        A fitted estimator: one of Kenyon's, or any other one that takes such series.
    X, y
        Series and their labels or targets, best those not learned from. X may have any form that `fit` takes.
    scoring
        What is measured, as in scikit-learn: a name, a function of (model, X, y), or None, the model's own `score`.
    n_repeats
        How often each channel is exchanged.
    n_jobs
        Threads that work on channels; -1 for all cores. Results do not depend on it.
    random_state
        Seed of the exchanges.

    Returns
    -------
    A Bunch as from scikit-learn: `importances`, shape (channels, n_repeats), `importances_mean` and `importances_std`;
    and `channels`, the names of the channels, or their numbers if they have none.
    """
    check_given(model, y)
    score, n_repeats = _scorer(model, scoring), _checks.integer("n_repeats", n_repeats, 1)
    if n_jobs is not None and _checks.integer("n_jobs", n_jobs, -_checks.WHOLE) == 0:
        raise ValueError("n_jobs must be a number of threads, -1 for all cores or None, not 0")
    seen = BaseEstimator()
    series = check_series(seen, X, reset=True)
    check_same_length(series, y)
    first = X[0] if isinstance(X, (list, tuple, np.ndarray)) else None
    names = getattr(seen, "feature_names_in_", getattr(first, "columns", None))  # of a table, or of series in frames
    seed = int(random_numbers(random_state).randint(2**31 - 1))
    with parallel_config(backend="threading", n_jobs=n_jobs):
        if series.static:
            from sklearn.inspection import permutation_importance as of_rows  # a second to load, needed only here

            found = of_rows(model, X, y, scoring=scoring, n_repeats=n_repeats, n_jobs=n_jobs, random_state=seed)
        else:
            found = _drops(lambda values: score(model, values, y), X, series, names, n_repeats, seed)
    found.channels = np.arange(len(found.importances)) if names is None else np.asarray(names)
    return found


def _scorer(model: Any, scoring: Any) -> Callable[..., float]:
    """Return the one function of (model, X, y) that is measured."""
    if isinstance(model, type) or not hasattr(model, "fit"):
        raise ValueError(f"model must be a fitted estimator, not {_checks.short_repr(model)}")
    if isinstance(scoring, (list, tuple, set, dict)):
        raise ValueError(f"scoring must be one measure, not several: {_checks.short_repr(scoring)}")
    with naming("scoring"):
        found: Callable[..., float] = check_scoring(model, scoring=scoring)
    return found


def _drops(
    score: Callable[[Any], float], X: Any, series: Series, names: NDArray[Any] | None, n_repeats: int, seed: int
) -> Bunch:
    """Return the drop in score for each channel and repeat."""
    whole, n_channels = score(X), series.values[0].shape[-1]

    def drop(channel: int, repeat: int) -> float:
        donors = _seeding.generator(seed, "importance", str(channel), str(repeat)).permutation(len(series))
        return whole - score(_dressed(exchange(series, channel, donors), names))

    drops = Parallel()(delayed(drop)(channel, i) for channel in range(n_channels) for i in range(n_repeats))
    importances = np.array(drops, np.float64).reshape(n_channels, n_repeats)
    return Bunch(importances_mean=importances.mean(1), importances_std=importances.std(1), importances=importances)


def exchange(series: Series, channel: int, donors: NDArray[np.intp]) -> Any:
    """Return series in which one channel takes the courses that it takes in the donors, aligned at their ends."""
    values = series.values
    if isinstance(values, list):
        courses = (values[donor][:, channel] for donor in donors)
        return [_with_course(own, channel, course) for own, course in zip(values, courses, strict=True)]
    changed = values.copy()
    changed[..., channel] = values[donors, ..., channel]
    return changed


def _with_course(own: NDArray[Any], channel: int, course: NDArray[Any]) -> NDArray[Any]:
    changed = own.copy()
    changed[:, channel] = course[np.arange(-len(own), 0) % len(course)]  # counted from the end; a short one repeats
    return changed


def _dressed(values: Any, names: NDArray[Any] | None) -> Any:
    """Return series as frames if their channels have names, which the model may compare with those it knows."""
    if names is None:
        return values
    from pandas import DataFrame

    return [DataFrame(one, columns=names) for one in values]
