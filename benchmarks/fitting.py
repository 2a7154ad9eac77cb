"""How long `fit` and `predict` take next to aeon's MiniRocket and to ReservoirPy: 1,000 series, one thread each.

ReservoirPy reads the last state, as in its tutorial, and so does Kenyon beside it; it runs only a few series, and its
time is multiplied. Kenyon as it chooses by itself is compared with MiniRocket.

python benchmarks/fitting.py
"""

from functools import partial

import numpy as np
from aeon.classification.convolution_based import MiniRocketClassifier
from numpy.typing import NDArray
from reservoirpy.nodes import Reservoir, Ridge
from timing import Times, interleave, machine, ratio

import kenyon as kn

N_SERIES, N_CLASSES, FEW, ROUNDS = 1000, 4, 10, 3
LENGTHS, NEURONS = (100, 1000), (300, 1000)
TIMES_RESERVOIRPY = 15  # as fast as which `fit` should be at least


def series(n_steps: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return waves of four frequencies in noise, shape (n, n_steps, 1), and which it is."""
    rng = np.random.default_rng(0)
    y = rng.integers(N_CLASSES, size=N_SERIES)
    phase, noise = rng.uniform(0, 2 * np.pi, (N_SERIES, 1)), rng.normal(0, 0.7, (N_SERIES, n_steps))
    X = np.sin(np.arange(n_steps) * (0.2 + 0.05 * y[:, None]) + phase) + noise
    return X.astype(np.float32)[:, :, None], y


def reservoirpy(X: NDArray[np.float32], y: NDArray[np.int64], n_neurons: int) -> None:
    reservoir = Reservoir(n_neurons, sr=0.9, lr=0.1, seed=0)
    states = []
    for values in X[:FEW]:
        if reservoir.initialized:
            reservoir.reset()
        states.append(reservoir.run(values)[-1])
    Ridge(ridge=1e-6).fit(np.array(states), np.eye(N_CLASSES)[y[:FEW]])


def measure(n_steps: int) -> None:
    X, y = series(n_steps)
    turned = np.ascontiguousarray(X.transpose(0, 2, 1))
    fits = {
        "Kenyon": lambda: kn.ReservoirClassifier(random_state=0).fit(X, y),
        "MiniRocket": lambda: MiniRocketClassifier(random_state=0, n_jobs=1).fit(turned, y),
    }
    for n in NEURONS:
        own = kn.ReservoirClassifier(n_neurons=n, pooling="last", random_state=0)
        fits[f"Kenyon, {n} neurons"] = partial(own.fit, X, y)
        fits[f"ReservoirPy, {n} neurons"] = partial(reservoirpy, X, y, n)
    times = interleave(fits, ROUNDS)
    for n in NEURONS:
        few = times[f"ReservoirPy, {n} neurons"]
        times[f"ReservoirPy, {n} neurons"] = Times(few.values * N_SERIES / FEW)
    print(f"\nfit, {N_SERIES} series of {n_steps} steps, s")
    for name, taken in times.items():
        print(f"  {name:<26}{taken.text(1)}")
    aim("MiniRocket's time over ours", ratio(times["MiniRocket"], times["Kenyon"]), 1)
    for n in NEURONS:
        found = ratio(times[f"ReservoirPy, {n} neurons"], times[f"Kenyon, {n} neurons"])
        aim(f"ReservoirPy's time over ours, {n} neurons", found, TIMES_RESERVOIRPY)
    predicting(X, turned, y)


def aim(text: str, found: float, least: float) -> None:
    print(f"  {text}: {found:.1f} (goal: {least:g}, {'met' if found >= least else 'missed'})")


def predicting(X: NDArray[np.float32], turned: NDArray[np.float32], y: NDArray[np.int64]) -> None:
    ours = kn.ReservoirClassifier(random_state=0).fit(X, y)
    theirs = MiniRocketClassifier(random_state=0, n_jobs=1).fit(turned, y)
    times = interleave({"Kenyon": lambda: ours.predict(X), "MiniRocket": lambda: theirs.predict(turned)}, ROUNDS)
    print("predict, s")
    for name, taken in times.items():
        print(f"  {name:<26}{taken.text(1)}")


def main() -> None:
    print(*machine(), sep="\n")
    for n_steps in LENGTHS:
        measure(n_steps)


if __name__ == "__main__":
    main()
