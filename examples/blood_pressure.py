"""Arterial pressure, predicted from the last 50 samples: regression on a real recording, which comes with aeon.

pip install aeon
"""

import numpy as np
from aeon.datasets import load_kdd_tsad_135

import kenyon as kn

WINDOW, AHEAD = 50, 10


def main() -> None:
    X, y = windows()
    cut = len(X) * 2 // 3  # learn from the first two thirds, test on the rest
    last = X[cut:, -1, 0]
    print(f"{len(X)} windows; R² of taking the last sample {r2(y[cut:], last):.3f}")
    for learner in ("ridge", "normalised"):
        model = kn.ReservoirRegressor(learner, n_neurons=500, random_state=0).fit(X[:cut], y[:cut])
        print(f"{learner:<12} R² {model.score(X[cut:], y[cut:]):.3f}")


def windows():
    """Return windows (n, 50, 1) and the pressure 10 samples after each."""
    pressure = np.asarray(load_kdd_tsad_135(split="train")[0], float).ravel()
    starts = np.arange(0, len(pressure) - WINDOW - AHEAD, 2)
    X = np.stack([pressure[i : i + WINDOW, None] for i in starts])
    return X, pressure[starts + WINDOW + AHEAD]


def r2(y, found) -> float:
    return 1 - float(((y - found) ** 2).sum() / ((y - y.mean()) ** 2).sum())


if __name__ == "__main__":
    main()
