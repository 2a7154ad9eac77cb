"""The parts of `forecast.py` that are not a comparison on a task: defaults, time, learning online."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import reservoirpy
from reservoirpy import datasets
from reservoirpy.nodes import RLS, Reservoir, Ridge

import kenyon as kn

N_STEPS, N_FREE, REPEATS = 5000, 10_000, 5
SERIES_SEEDS = range(10, 15)  # of series and networks; defaults were chosen on 100, 101 and 102


def _lorenz(n: int, seed: int) -> np.ndarray:
    start = np.random.default_rng(seed).normal([0, 0, 25], 5)
    return datasets.lorenz(n + 1000, x0=list(start), h=0.02)[1000:]


def _mackey_glass(n: int, seed: int) -> np.ndarray:
    start = float(np.random.default_rng(seed).uniform(0.5, 1.3))
    return datasets.mackey_glass(n + 1000, tau=17, x0=start, seed=seed)[1000:]


def defaults() -> dict[str, Any]:
    """Return errors of free runs of `Forecaster()`, in deviations, for each series and start."""
    found: dict[str, Any] = {}
    for name, make, horizon in (("Lorenz", _lorenz, 75), ("Mackey-Glass 17", _mackey_glass, 300)):
        for n in (3000, 5000):
            rows = []
            for seed in SERIES_SEEDS:
                series = make(n + 2000, seed)
                model = kn.Forecaster(random_state=seed).fit(series[:n])
                starts = np.linspace(n, len(series) - horizon, 20).astype(int)
                runs = model.forecast(horizon, np.stack([series[t - 500 : t] for t in starts]))
                wanted = np.stack([series[t : t + horizon] for t in starts])
                rows.append(np.sqrt((((runs - wanted) / series.std(axis=0)) ** 2).mean(axis=(1, 2))).tolist())
            found[f"{name}, {n} steps"] = rows
    return found


def _fastest(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def timing() -> dict[str, Any]:
    """Return seconds to make and fit, and to run freely, 1,000 neurons."""
    series = _mackey_glass(N_STEPS, 0)
    z = (series - series.mean()) / series.std()

    def kenyon(learner: Any) -> dict[str, float]:
        model = kn.Forecaster(learner, n_neurons=1000, random_state=0)
        model.fit(series[:300]).forecast(10)  # compiles
        return {"fit": _fastest(lambda: model.fit(series)), "run": _fastest(lambda: model.forecast(N_FREE))}

    def peer(connectivity: float) -> dict[str, float]:
        def fit() -> Any:
            reservoir = Reservoir(1000, lr=0.5, sr=1.0, rc_connectivity=connectivity, input_connectivity=1.0, seed=0)
            return (reservoir >> Ridge(ridge=1e-8)).fit(z[:-1], z[1:], warmup=100)

        reservoirpy.set_seed(0)
        model = fit()

        def run() -> None:
            y = model.run(z[-200:])[-1]
            for _ in range(N_FREE):
                y = model(y)

        return {"fit": _fastest(fit), "run": _fastest(run)}

    return {
        "Kenyon, defaults (penalty by cross-validation)": kenyon("ridge"),
        "Kenyon, penalty given": kenyon(kn.Ridge(penalty=1e-11)),
        "ReservoirPy, 10 connections a neuron": peer(0.01),
        "ReservoirPy, 100 connections a neuron (its default)": peer(0.1),
    }


def online() -> dict[str, Any]:
    """Return one-step errors after one pass over Mackey-Glass, step after step, for networks of two sizes."""
    return {f"{n} neurons": _online(n) for n in (50, 300)}


def _online(n_neurons: int) -> dict[str, list[float]]:
    nlms = {"thresholds": False, "step": "normalised", "rule": kn.Regression()}
    learners: dict[str, Any] = {
        "ridge regression (in closed form)": "ridge",
        "recursive (learned thresholds)": "recursive",
        "the same, thresholds held": kn.RecursiveThresholds(reach=0.0),
        "RLS on states": kn.RecursiveLeastSquares(penalty=1e-9),
        "RLS on x, thresholds at the 20th percentile": kn.RecursiveLeastSquares(
            penalty=1e-9, start=kn.Percentile(20.0)
        ),
        "normalised (learned thresholds)": "normalised",
        "gradient_thresholds (learned thresholds)": "gradient_thresholds",
        "composed (learned thresholds)": "composed",
        "NLMS (normalised steps, no thresholds)": kn.Learner(**nlms, mu=0.5),
    }
    found: dict[str, list[float]] = {name: [] for name in learners}
    for seed in SERIES_SEEDS:
        series = _mackey_glass(7001, seed)
        z = (series - series[:5000].mean()) / series[:5000].std()
        for name, learner in learners.items():
            model = kn.SequenceRegressor(learner, n_neurons=n_neurons, random_state=seed).fit(z[:5000], z[1:5001])
            found[name].append(float(np.sqrt(np.mean((model.predict(z[:-1])[5000:] - z[5001:]) ** 2))))
        reservoirpy.set_seed(seed)
        reservoir = Reservoir(n_neurons, lr=0.5, sr=1.0, input_scaling=0.4, input_connectivity=1.0, seed=seed)
        states, node = reservoir.run(z[:-1]), RLS()
        node.partial_fit(states[100:5000], z[101:5001])
        error = float(np.sqrt(np.mean((node.run(states[5000:]) - z[5001:]) ** 2)))
        found.setdefault("RLS of ReservoirPy, its own reservoir", []).append(error)
    return found


MORE: dict[str, Callable[[], dict[str, Any]]] = {"defaults": defaults, "time": timing, "online": online}
