"""Compile the kernels that most tests use, so that processes which run them side by side do not each do so.

python tests/compile.py
"""

import numpy as np

import kenyon as kn


def main() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 8, 3)), np.arange(40) % 2
    stream = kn.ThresholdReadout()
    for row, label in zip(X[:3, 0], y[:3].tolist(), strict=True):
        stream.learn_one(row, label)
        stream.predict_one(row)
    kn.train({"composed": kn.Composed(start=1.0)}, kn.Reservoir(30), kn.StaticTask(kn.load_odours()), 200)
    kn.ReservoirClassifier(n_neurons=20).fit(X, y).predict(X)


if __name__ == "__main__":
    main()
