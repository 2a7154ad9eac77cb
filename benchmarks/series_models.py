"""The models of the benchmark of series: each learns from a split, and returns what it says of the test part.

All run in one thread, and seconds are of processor time, so that a busy machine does not count. ReservoirPy's ridge has
the penalty of its tutorial; "best" is whichever scaling of the input, and of last state and mean over time, did best on
the test part, which flatters it. Series of different lengths are stretched to the longest for aeon's models.
"""

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from aeon.classification.convolution_based import MiniRocketClassifier, MultiRocketClassifier
from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier
from numpy.typing import NDArray
from reservoirpy.nodes import Reservoir, Ridge
from series_data import Split, stretched
from series_plan import PAIRS, STEPS

import kenyon as kn

SMALLEST = 10  # steps that MiniRocket's kernels need, and MultiRocket's on the differences
N_NEURONS = 1000  # of ReservoirPy
TUTORIAL = {"sr": 0.9, "lr": 0.1}
PENALTY = 1e-6


class Measured(NamedTuple):
    """What a model does on a set."""

    accuracy: float
    fit: float  # seconds
    predict: float


def affordable(model: str, split: Split) -> bool:
    """Tell whether a model is worth its time on a set."""
    if model == "1-NN DTW":
        length = max(map(len, [*split.X, *split.X_test]))
        return len(split.X) * len(split.X_test) * length**2 <= PAIRS
    return split.n_steps <= STEPS[model]


def ours(learner: str, split: Split, seed: int) -> Measured:
    model = kn.ReservoirClassifier(learner, random_state=seed)
    return _timed(lambda: model.fit(split.X, split.y), lambda: model.predict(split.X_test), split.y_test)


def aeons(make: Callable[..., object], split: Split, seed: int) -> Measured:
    length = max(SMALLEST, *map(len, [*split.X, *split.X_test]))
    X, X_test = stretched(split.X, length), stretched(split.X_test, length)
    model = make(random_state=seed)
    return _timed(lambda: model.fit(X, split.y), lambda: model.predict(X_test), split.y_test)


def nearest(split: Split, seed: int) -> Measured:
    return aeons(lambda random_state: KNeighborsTimeSeriesClassifier(1, distance="dtw"), split, seed)


def tutorial(split: Split, seed: int) -> Measured:
    return _reservoirpy(split, seed, "raw")["last"]


def best(split: Split, seed: int) -> Measured:
    tried = [way for scale in ("raw", "standard", "unit") for way in _reservoirpy(split, seed, scale).values()]
    return max(tried, key=lambda measured: measured.accuracy)


def _reservoirpy(split: Split, seed: int, scale: str) -> dict[str, Measured]:
    """Return what is reached by the last state, and by the mean over time."""
    every = np.concatenate(split.X)
    shift = every.mean(axis=0) if scale == "standard" else 0.0
    size = {"raw": 1.0, "standard": every.std(axis=0), "unit": np.abs(every).max()}[scale]
    reservoir = Reservoir(N_NEURONS, seed=seed, **TUTORIAL)

    def states(series: list[NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
        last, mean = [], []
        for values in series:
            if reservoir.initialized:
                reservoir.reset()
            run = reservoir.run((values - shift) / np.where(size == 0, 1.0, size))
            last.append(run[-1].copy())  # a view would keep the whole run
            mean.append(run.mean(axis=0))
        return {"last": np.array(last), "mean": np.array(mean)}

    learned, fit = _seconds(lambda: states(split.X))
    tested, predict = _seconds(lambda: states(split.X_test))
    labels = np.unique(split.y)
    found = {}
    for way in learned:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a singular matrix
            readout, more = _seconds(
                lambda way=way: Ridge(ridge=PENALTY).fit(learned[way], (split.y[:, None] == labels).astype(float))
            )
            y, last = _seconds(lambda way=way, readout=readout: readout.run(tested[way]))
        accuracy = float((labels[y.argmax(axis=1)] == split.y_test).mean())
        found[way] = Measured(accuracy, fit + more, predict + last)
    return found


def _timed(fit: Callable[[], object], predict: Callable[[], NDArray[np.generic]], y: NDArray[np.generic]) -> Measured:
    _, fitted = _seconds(fit)
    said, predicted = _seconds(predict)
    return Measured(float((said == y).mean()), fitted, predicted)


def _seconds(job: Callable[[], object]) -> tuple[object, float]:
    started = time.process_time()
    return job(), time.process_time() - started


MODELS: dict[str, Callable[[Split, int], Measured]] = {
    "Kenyon, ridge": lambda split, seed: ours("ridge", split, seed),
    "MiniRocket": lambda split, seed: aeons(MiniRocketClassifier, split, seed),
    "Kenyon, normalised": lambda split, seed: ours("normalised", split, seed),
    "ReservoirPy, tutorial": tutorial,
    "ReservoirPy, best": best,
    "MultiRocket": lambda split, seed: aeons(MultiRocketClassifier, split, seed),
    "1-NN DTW": nearest,
}
