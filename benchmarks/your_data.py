"""How good the estimators are on real series, learner by learner, beside ReservoirPy's Reservoir and Ridge.

All data ship with scikit-learn and aeon. Nothing is set but the learner; all reservoirs have 1000 neurons. Each data
set is learned from its training part and tested on its test part, as its authors cut it (digits: a stratified third
held out). Figures are means over reservoirs and orders of three seeds.
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
from sklearn.preprocessing import StandardScaler

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
    "... batch 1": kn.GradientWeights(batch=1, step="normalised"),
    "... and V standardised": kn.GradientWeights(batch=1, step="normalised", scaling="standardised"),
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
    for title, settings in {
        "ReservoirPy, defaults": ({}, 0.0, False),
        "... its tutorial's": ({"sr": 0.9, "lr": 0.1}, 1e-6, False),
        "... and X standardised": ({"sr": 0.9, "lr": 0.1}, 1e-6, True),
    }.items():
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
        parts += [[np.asarray(one).T for one in X], np.asarray(y, float if name in NUMBERS else None)]
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
    model = kind(learner, n_neurons=N_NEURONS, random_state=seed).fit(split.X, split.y)
    return float(model.score(split.X_test, split.y_test))


def theirs(
    regression: bool, split: Split, seed: int, settings: dict, ridge: float, standardise: bool, read: str
) -> float:
    reservoir = Reservoir(N_NEURONS, seed=seed, **settings)
    scaler = StandardScaler(with_mean=standardise, with_std=standardise).fit(np.concatenate(split.X))

    def states(series: list) -> np.ndarray:
        out = []
        for one in series:
            if reservoir.initialized:
                reservoir.reset()
            run = reservoir.run(scaler.transform(one))
            out.append(run[-1] if read == "last" else run.mean(axis=0))
        return np.array(out)

    labels = np.unique(split.y)
    wanted = split.y[:, None] if regression else (split.y[:, None] == labels).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a singular matrix, for its ridge is 0 by default
        y = Ridge(ridge=ridge).fit(states(split.X), wanted).run(states(split.X_test))
    if not regression:
        return float((labels[y.argmax(axis=1)] == split.y_test).mean())
    return 1 - float(((y[:, 0] - split.y_test) ** 2).sum() / ((split.y_test - split.y_test.mean()) ** 2).sum())


if __name__ == "__main__":
    main()
