"""Series that arrive in batches of 50: "ridge" and "normalised" by `partial_fit`, on series not seen yet.

Digits are read by row (1200 to learn from); of the Japanese vowels only the training part is used (200 to learn from).
The rest is tested on. Figures are means over three splits, each with a reservoir of its own of 300 neurons.
"""

from pathlib import Path

import aeon.datasets
import numpy as np
from aeon.datasets import load_from_ts_file
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import kenyon as kn

BATCH = 50
SEEDS = (0, 1, 2)
SHOWN = (50, 100, 150, 200, 300, 600, 1200)
FOLDER = Path(aeon.datasets.__file__).parent / "data"


def main() -> None:
    print(f"{'':<22}" + "".join(f"{n:>8}" for n in SHOWN))
    for name, (X, y, n) in {"digits": digits(), "vowels": vowels()}.items():
        for learner in ("ridge", "normalised"):
            scores = np.mean([curve(learner, X, y, n, seed) for seed in SEEDS], axis=0)
            print(f"{name + ', ' + learner:<22}" + "".join(f"{score:>8.3f}" for score in scores), flush=True)


def digits() -> tuple[list[np.ndarray], np.ndarray, int]:
    data = load_digits()
    return list(data.images), data.target, 1200


def vowels() -> tuple[list[np.ndarray], np.ndarray, int]:
    X, y = load_from_ts_file(str(FOLDER / "JapaneseVowels" / "JapaneseVowels_TRAIN.ts"))
    return [np.ascontiguousarray(series.T) for series in X], y, 200


def curve(learner: str, X: list[np.ndarray], y: np.ndarray, n: int, seed: int) -> list[float]:
    """Return the accuracies after the numbers of series in `SHOWN`, as far as there are as many."""
    X, X_test, y, y_test = train_test_split(X, y, train_size=n, random_state=seed, stratify=y)
    model, scores = kn.ReservoirClassifier(learner, n_neurons=300, random_state=seed), []
    for first in range(0, n, BATCH):
        model.partial_fit(X[first : first + BATCH], y[first : first + BATCH], classes=np.unique(y))
        if first + BATCH in SHOWN:
            scores.append(model.score(X_test, y_test))
    return scores


if __name__ == "__main__":
    main()
