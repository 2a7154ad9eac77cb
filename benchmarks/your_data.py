"""How good the estimators are on real series, learner by learner, next to ReservoirPy's Reservoir and Ridge.

All data ship with scikit-learn and aeon. Only the learner is set; all reservoirs have 1000 neurons, and their last
states are read. Each data set is learned from its training part and tested on its test part, as its authors cut it
(digits: a stratified third held out). Figures are means over three seeds.
"""

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import aeon.datasets
import numpy as np
from aeon.datasets import load_from_ts_file
from reservoirpy.nodes import Reservoir, Ridge
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import kenyon as kn

SEEDS = (0, 1, 2)
N_NEURONS = 1000
FOLDER = Path(aeon.datasets.__file__).parent / "data"
CLASSES = (
    "Digits",
    "JapaneseVowels",
    "ItalyPowerDemand",
    "GunPoint",
    "ArrowHead",
    "OSULeaf",
    "PickupGestureWiimoteZ",
    "BasicMotions",
)
NUMBERS = ("BloodPressure", "Covid3Month", "CardanoSentiment")
LEARNERS = {
    "ridge": "ridge",
    "normalised": "normalised",
    "composed": "composed",
    "metropolis": "metropolis",
    "gradient_thresholds": "gradient_thresholds",
    "gradient_weights": "gradient_weights",
    "... batch 1": kn.GradientWeights(batch=1, step="normalised", cooling="sqrt"),
    "... and V standardised": kn.GradientWeights(batch=1, step="normalised", scaling="standardised", cooling="sqrt"),
}
PEER = {  # settings of ReservoirPy's Reservoir, its Ridge's penalty, and how X is scaled for it
    "ReservoirPy, defaults": ({}, 0.0, "raw"),
    "... its tutorial's": ({"sr": 0.9, "lr": 0.1}, 1e-6, "raw"),
    "... X standardised": ({"sr": 0.9, "lr": 0.1}, 1e-6, "standard"),
    "... X at most 1": ({"sr": 0.9, "lr": 0.1}, 1e-6, "unit"),
}


class Split(NamedTuple):
    """Series (T, channels) and labels or targets, to learn from and to test on."""

    X: list
    y: np.ndarray
    X_test: list
    y_test: np.ndarray


def main() -> None:
    names = sys.argv[1:] or [*CLASSES, *NUMBERS]
    print(f"{'':<26}" + "".join(f"{name[:12]:>14}" for name in names))
    data = {name: load(name) for name in names}
    for name, learner in LEARNERS.items():
        row(name, data, lambda kind, split, seed, learner=learner: ours(learner, kind, split, seed))
    for title, settings in PEER.items():
        for read in ("last", "mean"):
            row(f"{title}, {read}", data, lambda kind, s, seed, o=settings, r=read: theirs(kind, s, seed, *o, r))


def row(name: str, data: dict[str, Split], measure: Callable[..., float]) -> None:
    started = time.perf_counter()
    scores = [np.mean([measure(key in NUMBERS, split, seed) for seed in SEEDS]) for key, split in data.items()]
    took = time.perf_counter() - started
    print(f"{name:<26}" + "".join(f"{score:>14.3f}" for score in scores) + f"{took:>8.1f} s", flush=True)


def load(name: str) -> Split:
    if name == "Digits":
        digits = load_digits()
        X, X_test, y, y_test = train_test_split(
            digits.images, digits.target, test_size=1 / 3, random_state=0, stratify=digits.target
        )
        return Split(list(X), y, list(X_test), y_test)
    if name == "BloodPressure":
        return blood_pressure()
    parts = []
    for part in ("TRAIN", "TEST"):
        X, y = load_from_ts_file(str(FOLDER / name / f"{name}_{part}.ts"))
        parts += [[np.asarray(series).T for series in X], np.asarray(y, float if name in NUMBERS else None)]
    return Split(*parts)


def blood_pressure(window: int = 50, ahead: int = 10) -> Split:
    """Cut a recording of arterial pressure into windows, and ask for the pressure some samples after each."""
    pressure = np.loadtxt(next((FOLDER / "KDD-TSAD_135").glob("*TRAIN.csv")), delimiter=",", skiprows=1, usecols=1)
    starts = np.arange(0, len(pressure) - window - ahead, 2)
    X, y = [pressure[i : i + window, None] for i in starts], pressure[starts + window + ahead]
    cut = len(starts) * 2 // 3
    return Split(X[:cut], y[:cut], X[cut:], y[cut:])


def ours(learner: object, regression: bool, split: Split, seed: int) -> float:
    kind = kn.ReservoirRegressor if regression else kn.ReservoirClassifier
    model = kind(learner, n_neurons=N_NEURONS, pooling="last", random_state=seed).fit(split.X, split.y)
    return float(model.score(split.X_test, split.y_test))


def theirs(regression: bool, split: Split, seed: int, settings: dict, ridge: float, scale: str, read: str) -> float:
    states, states_test = their_states(split, seed, settings, scale)[read]
    labels = np.unique(split.y)
    wanted = split.y[:, None] if regression else (split.y[:, None] == labels).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a singular matrix: its ridge is 0 by default
        y = Ridge(ridge=ridge).fit(states, wanted).run(states_test)
    if not regression:
        return float((labels[y.argmax(axis=1)] == split.y_test).mean())
    return 1 - float(((y[:, 0] - split.y_test) ** 2).sum() / ((split.y_test - split.y_test.mean()) ** 2).sum())


def their_states(split: Split, seed: int, settings: dict, scale: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return states to learn from and to test on, at the end of a series and averaged over it; made once."""
    key = id(split), seed, str(settings), scale
    if key not in MADE:
        reservoir, every = Reservoir(N_NEURONS, seed=seed, **settings), np.concatenate(split.X)
        shift = every.mean(axis=0) if scale == "standard" else 0.0
        size = {"raw": 1.0, "standard": every.std(axis=0), "unit": np.abs(every).max()}[scale]
        last, mean = [], []
        for series in [*split.X, *split.X_test]:
            if reservoir.initialized:
                reservoir.reset()
            run = reservoir.run((series - shift) / np.where(size == 0, 1.0, size))
            last.append(run[-1].copy())  # a view would keep the whole run
            mean.append(run.mean(axis=0))
        n = len(split.X)
        MADE[key] = {name: (np.array(rows[:n]), np.array(rows[n:])) for name, rows in (("last", last), ("mean", mean))}
    return MADE[key]


MADE: dict[tuple, dict[str, tuple[np.ndarray, np.ndarray]]] = {}


if __name__ == "__main__":
    main()
