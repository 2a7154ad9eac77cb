"""What each neuron does on the series learned from: how often it is active, how much it varies, what it tells apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kenyon import metrics
from kenyon.chunks import chunks
from kenyon.estimators._training import Examples, Units
from kenyon.estimators._weights import Indices, Numbers
from kenyon.readout import Readout

if TYPE_CHECKING:
    from pandas import DataFrame

UNITS = 256  # whose pairs of classes are compared at a time
ROWS = 64  # series that are measured at a time: fresh memory for more would take longer than the sums


class Neurons(NamedTuple):
    """Measures of each neuron, in which series count by their weights, and the outputs for all series."""

    activity: Numbers  # share of series in which it is active
    spread: Numbers  # standard deviation of x
    specificity: Numbers | None  # None in a regression
    outputs: Numbers  # (n_series, n_outputs)


def measure(readout: Readout, units: Units, data: Examples, seen: Indices, n_classes: int) -> Neurons:
    """Measure the code of the series `seen`; `n_classes` is 0 in a regression."""
    rest, width = units.apply(np.zeros_like(units.shift)[None]), readout.W.shape[1]
    active, moments, outputs = np.zeros((width, max(1, n_classes))), np.zeros((2, width)), []
    for part in chunks(len(seen), ROWS):
        U, w = data.states[seen[part]], data.counts[seen[part]]
        x = readout.features(U).astype(np.float64)
        on = x != 0 if readout.thresholds else rest != U
        groups = data.targets[seen[part]].astype(np.intp) if n_classes else np.zeros(len(U), np.intp)
        active += metrics.class_sums(on * w[:, None].astype(np.float32), groups, max(1, n_classes))
        outputs.append(_outputs(readout, x))
        moments += np.stack([w @ x, w @ np.square(x, out=x)])
    total = data.counts[seen].sum()
    mean, square = moments / total
    return Neurons(
        active.sum(axis=1) / total,
        np.sqrt(np.maximum(square - mean**2, 0.0)),
        _specificity(active / total) if n_classes else None,
        np.concatenate(outputs),
    )


def _specificity(amounts: Numbers) -> Numbers:
    """Return how well each unit tells classes apart; a single class it cannot.

    Units are taken a few at a time: there may be thousands, and as many pairs of classes.
    """
    if amounts.shape[1] == 1:
        return np.zeros(len(amounts))
    parts = (amounts[first : first + UNITS] for first in range(0, len(amounts), UNITS))
    return np.concatenate([metrics.specificity(part, 1, mean=True) for part in parts])


def rank(
    W: NDArray[np.float32],
    theta: Numbers,
    activity: Numbers,
    spread: Numbers,
    specificity: Numbers | None,
    n_states: int,
    names: list[str],
) -> DataFrame:
    """Return a row for each unit, those with the largest effect on the outputs first.

    A neuron may have several: one for each of the things of these names that are read of it, and for each side.
    """
    from pandas import DataFrame, Index

    effects = W.astype(np.float64) * spread
    if specificity is not None:  # what is added to all classes alike changes no choice
        effects -= effects.mean(axis=0)
    weight = np.sqrt((effects**2).sum(axis=0))
    told = {} if specificity is None else {"specificity": specificity}
    numbers = np.arange(len(weight))
    sides = {"side": np.where(numbers < n_states, "on", "off")} if len(weight) > n_states else {}
    part, neuron = np.divmod(numbers % n_states, n_states // len(names))
    parts = {"pooling": np.array(names)[part]} if len(names) > 1 else {}
    table = DataFrame(
        {"weight": weight, **told, "threshold": theta, "activity": activity, **sides, **parts},
        index=Index(neuron, name="neuron"),
    )
    return table.iloc[np.argsort(-weight, kind="stable")]


def readout_outputs(readout: Readout, U: NDArray[np.float32]) -> Numbers:
    """Return y in double precision, so that it does not depend on how rows are batched."""
    return _outputs(readout, readout.features(U).astype(np.float64))


def _outputs(readout: Readout, x: Numbers) -> Numbers:
    y = x @ readout.W.T.astype(np.float64)
    return np.asarray(y if readout.bias is None else y + readout.bias)
