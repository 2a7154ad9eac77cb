"""The long run of a stream: ten million rows, one at a time, in which memory stays flat and statistics do not drift.

Run as `python -m tests.reliability.soak_streams`, after the other one in `make soak`. Means and deviations of the
features are compared with those of all rows so far, merged chunk by chunk in extended precision (Chan, Golub & LeVeque
1979).
"""

import sys

import numpy as np
import psutil

import kenyon as kn

ROWS = 10_000_000
CHUNK = 10_000
N_FEATURES, N_CLASSES = 5, 3
MEMORY = 20.0  # MB by which the process may grow after the first tenth
DRIFT = 1e-6  # largest distance of running statistics from those of all rows, in deviations


def rows(rng, n):
    """Return rows of features of very different size, and labels that they tell."""
    y = rng.integers(N_CLASSES, size=n)
    z = rng.normal(size=(n, N_FEATURES)) + 2 * np.eye(N_CLASSES, N_FEATURES)[y]
    return z * np.logspace(-3, 3, N_FEATURES) + np.logspace(3, -3, N_FEATURES), y.tolist()


def merge(count, mean, square, X):
    """Take a chunk into the oracle's statistics."""
    own, n = X.astype(np.longdouble), len(X)
    own_mean = own.mean(axis=0)
    delta, total = own_mean - mean, count + n
    square = square + ((own - own_mean) ** 2).sum(axis=0) + delta**2 * count * n / total
    return total, mean + delta * n / total, square


def run(n_rows=ROWS, chunk=CHUNK, show=print):
    """Return the largest drift, the growth of memory in MB, and the accuracy of the last tenth."""
    rng, model, process = np.random.default_rng(0), kn.ThresholdReadout(random_state=0), psutil.Process()
    oracle = 0, np.zeros(N_FEATURES, np.longdouble), np.zeros(N_FEATURES, np.longdouble)
    drift, before, right = 0.0, 0.0, []
    for done in range(0, n_rows, chunk):
        X, y = rows(rng, chunk)
        if done >= 0.9 * n_rows:
            right.append(np.mean(model.predict(X) == y))
        for x, label in zip(X, y, strict=True):
            model.learn_one(x, label)
        oracle = merge(*oracle, X)
        count, mean, square = oracle
        deviation, moments = np.sqrt(square / count), model.encoder_.scaling.moments
        apart = np.abs(moments.mean - mean) / deviation, np.abs(moments.deviation / deviation - 1)
        drift = max(drift, *(float(part.max()) for part in apart))
        memory = process.memory_info().rss / 1e6
        before = memory if done < n_rows / 10 else before
        if done % (n_rows // 10) == 0:
            show(f"{done + chunk:>10,} rows: drift {drift:.1e}, memory {memory:.0f} MB")
    return drift, memory - before, float(np.mean(right))


if __name__ == "__main__":
    drift, growth, accuracy = run()
    print(f"{ROWS:,} rows: drift {drift:.1e}, {growth:.1f} MB more, accuracy {accuracy:.3f}")
    sys.exit(drift > DRIFT or growth > MEMORY)
