"""Digests of fixed results for each set of processor features: a table that shows when numbers have changed.

`python -m tests.reliability.digests` writes the row of this machine. On x86-64 it also writes the rows of lesser
processors, for which Numba is told to compile. All other rows are kept. Run it when numbers were meant to change.

A row holds only results that are the same to the bit for one set of features, whatever the versions of Numba, NumPy,
SciPy and BLAS. Anything that goes through BLAS or LAPACK is left out, because OpenBLAS sums in another order on each
processor: outputs of readouts, ridge regression, and measures derived from them. For these the table has the predicted
labels instead. The spectral radius is an eigenvalue, but it is rounded to ten digits, so the weights can be included.

AVX-512 has no row of its own. It doubles the width of the registers, and so changes how many of them LLVM uses for a
block of lanes, but not what happens in a lane: lanes are never combined except by `sum_lanes`, which fixes the order,
and no kernel is compiled with fast-math flags, so LLVM may not reorder a sum. Multiply-adds are fused with AVX-512 as
they are with FMA alone. NumPy has functions of its own for AVX-512, which may differ in the last bit of double
precision; what they return is rounded to single precision before it enters a result of this table.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

import llvmlite.binding as llvm
import numba
import numpy as np
from safetensors.numpy import load_file

import kenyon as kn
from kenyon.experiment.sweep import load_experiment
from kenyon.experiment.trial import run_trial
from kenyon.kernels.noise import random_words
from tests.estimators.data import sines

TABLE = Path(__file__).with_name("digests.json")
FEATURES = ("fma", "avx2", "neon")  # those that can change a rounding
LESSER = {
    "x86_64 fma avx2": {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "+fma,+avx2"},
    "x86_64": {"NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": "+sse4.2"},
}
LEARNERS = {
    "GradientWeights": kn.GradientWeights(batch=10, eta_w=5e-4),
    "GradientThresholds": kn.GradientThresholds(),
    "Metropolis": kn.Metropolis(start=0.3),
    "Composed": kn.Composed(start=0.3),
    "Normalised": kn.Normalised(),
    "Metropolis per neuron": kn.Metropolis(search="per_neuron", start=0.3),
    "Composed by reward": kn.Composed(start=0.3, rule=kn.QLearning()),
    "Normalised by reward": kn.Normalised(rule=kn.QLearning()),
}
TRIAL = {
    "preset": "static", "seeds": 1, "n_episodes": 1000, "n_test": 100, "n_bins": 10,
    "task": {"n_stimuli": 10, "steps": 8, "pool": "all"}, "reservoir": {"n_neurons": 40, "leak_rate": 0.1},
    "learners": {"GradientWeights": {}, "Composed": {"start": 0.3}, "Normalised": {}},
}  # fmt: skip
EXACT = ("training_accuracy", "theta", "activity", "coding_level", "acceptance", "diverged_at")  # no BLAS in between


def processor():
    """Return the row's name: the architecture, and which of `FEATURES` Numba compiles for."""
    enabled = (numba.config.CPU_FEATURES or llvm.get_host_cpu_features().flatten()).split(",")
    return " ".join([platform.machine(), *(feature for feature in FEATURES if f"+{feature}" in enabled)])


def results():
    """Return the digest of every result, by name."""
    return {**core(), **_fitted(), **_step_by_step(), **_tried()}


def core():
    """Return the digests of simulation and learning, which all other numbers follow from."""
    odours = kn.load_odours()
    static = kn.StaticTask(odours, 20, seed=1, steps=20, pool="all")
    sequence = kn.SequenceTask(odours, 2, 3, seed=1, pool="all")
    reservoir = kn.Reservoir(150, 0.06, seed=1)
    V, labels, _ = next(reservoir.stream(static, 3000, seed=2, batch_size=3000))
    return {
        **_simulated(reservoir, static, sequence),
        **{f"learning: {name}": _learned(learner, V, labels, 2) for name, learner in LEARNERS.items()},
        "learning: three classes": _learned(kn.Composed(start=0.3, batch=10), V, np.arange(3000) % 3, 3),
        "prelearning": _prelearned(reservoir, static),
    }


def digest(values):
    """Return a hash of an array's contents."""
    array = np.asarray(values)
    text = array.astype("U") if array.dtype.kind in "OTU" else array
    contents = "\0".join(text.ravel()).encode() if text.dtype.kind == "U" else np.ascontiguousarray(text).tobytes()
    return sha256(contents).hexdigest()[:16]


def _all(*arrays):
    return digest([digest(array) for array in arrays])


def _simulated(reservoir, static, sequence):
    words = np.empty((1000, 2), np.uint32)
    random_words(np.array([1, 2], np.uint32), 2**32 - 500, words)
    large = kn.Reservoir(300, seed=4)
    states = [next(reservoir.stream(task, 500, seed=5, batch_size=500)) for task in (static, sequence)]
    return {
        "noise: words": _all(words),
        "noise: normal numbers": _all(static.inputs(100, seed=3)),
        "weights": _all(*(part for W in (large.W, large.W_in) for part in (W.data, W.indices, W.indptr))),
        "states: static": _all(*states[0]),
        "states: sequence": _all(*states[1]),
    }


def _learned(learner, V, labels, n_classes):
    state, info = learner.update(learner.begin(V, n_classes, kn.Source(6, "digest")), V, labels)
    readout = learner.readout(state)
    return _all(readout.W, readout.theta, info.cost, info.correct)


def _prelearned(reservoir, task):
    found = kn.prelearn(kn.Composed(), reservoir, task, seed=7, steps=1000, method="walks")
    return _all(found.starts, found.ends, found.costs)


def _fitted():
    X, y = sines(60)
    online, closed = (
        kn.ReservoirClassifier(learner, n_neurons=60, epochs=4, pooling="last", random_state=0).fit(X, y)
        for learner in ("normalised", "ridge")
    )
    with tempfile.TemporaryDirectory() as folder:
        online.save(Path(folder) / "model")
        tensors = load_file(Path(folder) / "model")
    return {
        "estimators: readout": _all(online.readout_.W, online.readout_.theta),
        "estimators: labels": _all(online.predict(X)),
        "estimators: labels, ridge": _all(closed.predict(X)),
        "saved model": _all(*(tensors[name] for name in sorted(tensors))),
    }


def _step_by_step():
    steps = np.sin(np.arange(900)[:, None] * [0.1, 0.23])
    settings = {"n_neurons": 60, "epochs": 2, "random_state": 0}
    labelled = kn.SequenceClassifier("normalised", **settings).fit(steps[:, :1], steps[:, 1] > 0)
    numbers, ahead = (kind("normalised", **settings) for kind in (kn.SequenceRegressor, kn.Forecaster))
    readouts = [model._reading()[:2] for model in (labelled, numbers.partial_fit(steps, steps[::-1]), ahead.fit(steps))]
    return {
        "every step: readouts": _all(*(part for readout in readouts for part in readout)),
        "every step: labels": _all(labelled.predict(steps[:, :1])),
        "every step: free runs": _all(
            ahead.forecast(50).astype(np.float32), ahead.forecast(9, [steps[:300]] * 20).astype(np.float32)
        ),
    }


def _tried():
    (trial,) = load_experiment(TRIAL).trials
    result = run_trial(trial)
    return {"trial: id": trial.id, **{f"trial: {name}": _all(result[name].values) for name in EXACT}}


def load():
    """Return the table: digests by name, by processor."""
    return json.loads(TABLE.read_text())


def write():
    """Write the row of the processor that Numba compiles for."""
    table = load() if TABLE.exists() else {}
    table[processor()] = results()
    TABLE.write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n")
    print("wrote", processor())


if __name__ == "__main__":
    write()
    if processor().startswith("x86_64") and not numba.config.CPU_FEATURES:
        for settings in LESSER.values():
            subprocess.run(
                [sys.executable, "-m", "tests.reliability.digests"], env={**os.environ, **settings}, check=True
            )
