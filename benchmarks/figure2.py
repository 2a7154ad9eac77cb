"""The whole of figure 2 for one seed: four learners, all sizes; and the same work with ReservoirPy and NumPy.

ReservoirPy's time is extrapolated: the time for one episode or update, times the number that Kenyon did. Updates are
counted separately for one network, a Metropolis pair and the twenty networks of prelearning. ReservoirPy gets the
benefit of Kenyon's design: states are simulated once for all learners, and networks that learn from the same episode
are updated together by NumPy.

python benchmarks/figure2.py
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import peers
import workloads
from timing import Times, interleave, say
from workloads import THREADS, Updates

import kenyon as kn
from kenyon.learning import learners, prelearning
from kenyon.paper.style import PAPER

N_EPISODES, N_UPDATES = 32, 500  # that the other systems are timed on


class Figure2(NamedTuple):
    """Seconds, and what was done in them."""

    ours: float
    simulated: int  # episodes
    learned: dict[int, int]  # episodes, by the number of networks that learned from them side by side
    episode: Times  # of ReservoirPy, for one
    update: dict[int, Times]  # of NumPy, for one

    @property
    def theirs(self) -> float:
        """Seconds, extrapolated."""
        updates = sum(n * self.update[networks].median for networks, n in self.learned.items())
        return self.simulated * self.episode.median + updates


def measure(rounds: int) -> Figure2:
    with as_file(files("kenyon.paper") / "experiments" / "figure2.toml") as path:
        every = kn.load_experiment(path, seeds=1).trials
    alone = {"prelearning": None, "tuning": None}  # every trial prelearns for itself, and no rates are tuned
    trials = [
        trial.model_copy(update={"learners": {name: trial.learners[name] for name in PAPER}, **alone})
        for trial in every
    ]
    kn.run_trial(trials[0].model_copy(update={"n_episodes": 2000}), threads=THREADS)  # compiles
    with counted() as done:
        start = time.perf_counter()
        for trial in trials:
            say(f"figure 2: {trial.task.n_stimuli} stimuli")
            kn.run_trial(trial, threads=THREADS)
        ours = time.perf_counter() - start
    simulated = done.pop("simulated")
    return Figure2(ours, simulated, dict(done), *peer_times(list(done), rounds))


@contextmanager
def counted() -> Iterator[Counter[Any]]:
    """Count the episodes that are simulated, and those learned from by so many networks."""
    done: Counter[Any] = Counter()
    stream, learn = kn.Reservoir.stream, learners.learn

    def counting_stream(self: kn.Reservoir, task: kn.Task, n_episodes: int, *args: Any, **kwargs: Any) -> Any:
        done["simulated"] += n_episodes
        return stream(self, task, n_episodes, *args, **kwargs)

    def counting_learn(step: Any, nets: Any, V: Any, *args: Any) -> Any:
        done[len(nets[0])] += len(V)
        return learn(step, nets, V, *args)

    with (
        patch.object(kn.Reservoir, "stream", counting_stream),
        patch.object(learners, "learn", counting_learn),
        patch.object(prelearning, "learn", counting_learn),
    ):
        yield done


def peer_times(networks: list[int], rounds: int) -> tuple[Times, dict[int, Times]]:
    """Time ReservoirPy on a few episodes, and NumPy on a few updates of so many networks side by side."""
    static, updates = workloads.static(), workloads.updates(2, N_UPDATES)
    simulate = next(system for system in peers.EPISODES if system.name == "ReservoirPy").prepare(static)
    check(updates)
    works = {str(n): (lambda n=n: learn_side_by_side(updates, n)) for n in networks}
    times = interleave({"ReservoirPy": lambda: simulate(N_EPISODES, static.noise), **works}, rounds)
    episode = Times(times.pop("ReservoirPy").values / N_EPISODES)
    return episode, {int(n): Times(taken.values / N_UPDATES) for n, taken in times.items()}


def learn_side_by_side(work: Updates, n_networks: int) -> tuple[Any, Any]:
    """Learn weights and thresholds of several networks from the same episodes with NumPy."""
    if n_networks == 1:
        return next(system for system in peers.UPDATES if system.name == "NumPy").prepare(work)(len(work.V))
    eta_W, eta_theta = np.float32(work.eta_W), np.float32(work.eta_theta)
    theta = np.zeros((n_networks, work.V.shape[1]), np.float32)
    W = np.zeros((n_networks, work.n_classes, work.V.shape[1]), np.float32)
    x, dW = np.empty_like(theta), np.empty_like(W)
    for v, target in zip(work.V, work.targets[work.labels], strict=True):
        np.subtract(v, theta, out=x)
        np.maximum(x, 0, out=x)
        e = target - np.matmul(W, x[:, :, None])[:, :, 0]
        pull = np.matmul(e[:, None], W)[:, 0]
        pull *= x > 0
        pull *= eta_theta
        np.multiply((eta_W * e)[:, :, None], x[:, None], out=dW)
        W += dW
        theta -= pull
    return W, theta


def check(work: Updates) -> None:
    """Stop unless networks side by side learn the same as a single one."""
    alone, several = learn_side_by_side(work, 1), learn_side_by_side(work, 3)
    for ours, theirs in zip(alone, several, strict=True):
        assert peers.distance(ours, theirs[2]) < peers.TOLERANCE


def main() -> None:
    found = measure(5)
    print(f"Kenyon {found.ours:.1f} s; ReservoirPy and NumPy {found.theirs:.0f} s, extrapolated: ", end="")
    print(f"{found.theirs / found.ours:.0f} times; {found.simulated} episodes simulated, learned from {found.learned}")
    print(f"ReservoirPy {found.episode.text()} us an episode; NumPy", {n: t.text() for n, t in found.update.items()})


if __name__ == "__main__":
    main()
