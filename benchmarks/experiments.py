"""Sweeps: the gain from a second process, and the time to open a thousand results.

python benchmarks/experiments.py
"""

import statistics
import tempfile
import time
from pathlib import Path

import kenyon as kn
from kenyon.experiment.result_file import encode
from kenyon.experiment.store import Store

TRIALS = {"preset": "static", "seeds": 8, "n_episodes": 30_000, "task": {"n_stimuli": 140}}
REPEATS = 3
N_RESULTS = 1000


def sweep_seconds(workers, **changes):
    experiment = kn.load_experiment({**TRIALS, **changes})
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        outcome = kn.run_experiment(experiment, folder, workers=workers)
        assert outcome.n_new == len(experiment.trials)
        return time.perf_counter() - start


def processes():
    sweep_seconds(1, seeds=1, n_episodes=3000)  # compiles
    rounds = [(sweep_seconds(1), sweep_seconds(2)) for _ in range(REPEATS)]
    ratios = [alone / shared for alone, shared in rounds]
    for name, times in (("1 process", [r[0] for r in rounds]), ("2 processes", [r[1] for r in rounds])):
        print(
            f"8 trials, five learners, {name}: {statistics.median(times):.1f} s ({min(times):.1f} to {max(times):.1f})"
        )
    print(f"ratio: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})\n")


def fill(folder):
    """Write results of trials that differ only in their seeds, all with the numbers of the first."""
    store = Store(folder)
    store.create()
    configs = kn.load_experiment({**TRIALS, "n_episodes": 1000, "seeds": N_RESULTS}).trials
    result = kn.run_trial(configs[0])
    for config in configs:
        result.attrs.update(id=config.id, config=config.canonical())
        store.save(config.id, encode(result))


def opening():
    with tempfile.TemporaryDirectory() as folder:
        fill(folder)
        size = sum(path.stat().st_size for path in Path(folder).glob("*.nc")) / 1e6
        for neurons in (False, True):
            times = []
            for _ in range(REPEATS):
                start = time.perf_counter()
                results = kn.open_results(folder, neurons=neurons)
                times.append(time.perf_counter() - start)
            assert results.sizes["seed"] == N_RESULTS
            what = "with what is kept per neuron" if neurons else "without what is kept per neuron"
            print(f"{N_RESULTS} results ({size:.0f} MB) opened, {what}: {statistics.median(times):.1f} s "
                  f"({min(times):.1f} to {max(times):.1f})")  # fmt: skip


if __name__ == "__main__":
    processes()
    opening()
