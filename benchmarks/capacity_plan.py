"""What `capacity.py` runs: networks, numbers of odours, learners, seeds, and how hard the offline readouts try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import kenyon as kn
from kenyon.experiment.sweep import Experiment

Settings = dict[str, Any]
PRELEARNING = 1000  # a seed that no trial has
LEVEL = 0.95  # odours count as stored at this accuracy
COOLING: Settings = {"kind": "Normalised", "cooling": "sqrt"}
BOTH: Settings = {**COOLING, "code": "on_off"}
LEARNERS: dict[str, Settings] = {
    "Composed": {"kind": "Composed"},
    "Normalised": {"kind": "Normalised"},
    "Normalised, cooling": COOLING,
    "Normalised, on and off": {"kind": "Normalised", "code": "on_off"},
    "Normalised, both": BOTH,
    "both, thresholds held": {**BOTH, "k": 0.0},
}
LEARNED = ("Normalised", "Normalised, cooling")  # whose thresholds linear readouts of x may have
METHODS = ("ridge", "logistic regression")
READ = ("V", "x", "on/off")
TRAINED = "both, trained offline"
OFFLINE = (*(f"{method} on {code}" for code in READ for method in METHODS), TRAINED)


class Effort(NamedTuple):
    """How hard offline readouts try. Numbers of episodes are for each odour."""

    first: int = 8  # from so many on the number is doubled, while accuracy on validation noise rises
    most: int = 128  # at most to this,
    most_states: int = 400_000_000  # and to so many numbers in memory: 1.6 GB
    rise: float = 0.001  # by so much at least
    few: int = 4  # that thresholds are chosen with
    n_validation: int = 8000
    percentiles: tuple[float, ...] = (50.0, 70.0, 85.0, 92.0)  # q of thresholds that are held; 100 - q for off
    trained: int = 64  # at most, that thresholds are trained on,
    starts: tuple[float, ...] = (85.0, 60.0)  # from these q,
    rates: tuple[float, ...] = (0.005, 0.01, 0.02)  # with these rates of Adam, times sqrt(1000 / N),
    short: int = 6  # for so many passes each,
    long: int = 50  # and the best of them again for so many

    def per_odour(self, n_neurons: int, n_odours: int) -> int:
        """Return the largest number of episodes for each odour."""
        room, n = self.most_states // (n_neurons * n_odours), self.first
        while 2 * n <= min(room, self.most):
            n *= 2
        return n


class Study(NamedTuple):
    """What is run."""

    neurons: tuple[int, ...] = (1000, 500, 250, 50)
    ratios: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0, 6.0)  # odours for each neuron,
    shown: tuple[int, ...] = (200, 200, 200, 300, 300, 400)  # and episodes for each odour, online
    least: int = 20_000  # episodes in all
    n_test: int = 8000
    seeds: int | None = None  # 2 with 1,000 neurons, 1 otherwise
    effort: Effort = Effort()

    def odours(self, n_neurons: int) -> list[int]:
        return [round(ratio * n_neurons) for ratio in self.ratios]

    def seeds_of(self, n_neurons: int) -> int:
        return self.seeds or (2 if n_neurons == 1000 else 1)

    def episodes(self, n_neurons: int) -> list[int]:
        """Return how many episodes learners have for each number of odours."""
        pairs = zip(self.odours(n_neurons), self.shown, strict=True)
        return [max(self.least, n_odours * shown) for n_odours, shown in pairs]

    def experiment(self, n_neurons: int) -> Experiment:
        """Return the trials of all online learners in networks of one size; those of a trial share one stream."""
        sizes, most = self.odours(n_neurons), max(self.odours(n_neurons))
        pairs = zip(sizes, self.episodes(n_neurons), strict=True)
        settings: Settings = {
            "preset": "static",
            "name": f"capacity of {n_neurons} neurons",
            "reservoir": {"n_neurons": n_neurons},
            "seeds": self.seeds_of(n_neurons),
            "n_test": self.n_test,
            "n_bins": 20,
            "learners": LEARNERS,
            "prelearning": {"seed": PRELEARNING, "task": {"n_stimuli": most, "resample": most}},
            "case": [{"task": {"n_stimuli": n, "resample": n}, "n_episodes": episodes} for n, episodes in pairs],
        }
        return kn.load_experiment(settings)


QUICK = Study(
    neurons=(40, 20), ratios=(1.0, 4.0), shown=(10, 10), least=400, n_test=200, seeds=2,
    effort=Effort(first=2, most=4, few=2, n_validation=200, percentiles=(70.0, 85.0), short=2, long=3),
)  # fmt: skip


def separable(n_patterns: int, n_units: int) -> float:
    """Return the share of all ways to split patterns in general position in two that a linear readout has (Cover)."""
    return float(stats.binom.cdf(n_units - 1, n_patterns - 1, 0.5))


def stored(odours: Sequence[int], accuracies: Sequence[float], level: float = LEVEL) -> tuple[float, bool]:
    """Return up to how many odours accuracy stays at a level, by interpolation, and whether it falls below it at all.

    Below the smallest number of odours, where nothing was run, accuracy is taken to fall from 1 at none.
    """
    x, y = np.array([0, *odours], float), np.array([1.0, *accuracies])
    below = np.flatnonzero(y < level)
    if not len(below):
        return float(x[-1]), False
    i = int(below[0])
    return float(x[i - 1] + (x[i] - x[i - 1]) * (y[i - 1] - level) / (y[i - 1] - y[i])), True
