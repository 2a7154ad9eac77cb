"""Made-up series whose classes are easy to tell: sines of different speed and height, noisy, of different lengths."""

import numpy as np


def sines(n=60, n_classes=3, seed=0, low=15, high=30, channels=2):
    """Return a list of series (T_k, channels) and a label for each."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = []
    for label in y:
        t = np.arange(rng.integers(low, high))[:, None]
        phase = rng.uniform(0, 0.5, channels)
        X.append(0.5 * label + np.sin(0.3 * (label + 1) * t + phase) + rng.normal(0, 0.1, (len(t), channels)))
    return X, y


def objects(X):
    """Return a list of series as an array of objects, as scikit-learn's splitters make them."""
    array = np.empty(len(X), object)
    array[:] = X
    return array
