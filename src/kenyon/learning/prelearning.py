"""Prelearning: a search for the global threshold to start from.

Several starts over the range of V are tried side by side, each with a Metropolis pair, all on the same episodes. After
every decision, weights, local thresholds and theta_g go back to what they were at first (method "resets", the paper's):
so each start is measured by how well M steps go from nothing, again and again. The cost of a step is that of the
network that the decision kept, and the start with the lowest average cost wins.

With the method "walks" theta_g goes on from decision to decision, and only weights and local thresholds are reset: a
walk settles where a network learns fastest from scratch. The walk with the lowest average cost wins, and the start is
where it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks, _seeding
from kenyon.kernels.learning import Networks, episode_log, learn, networks
from kenyon.kernels.reading import NO_SCALING
from kenyon.kernels.search import accept, propose
from kenyon.learning.cooling import UNCHANGED
from kenyon.learning.learners import NO_TARGETS, Learner
from kenyon.learning.metropolis import NONE_DUE, independent
from kenyon.learning.protocol import Diverged, Source
from kenyon.learning.rules import Regression, Supervised
from kenyon.learning.state import sized, unit_thresholds
from kenyon.reservoir import Batch, ReservoirProtocol, check_reservoir, stream_chunks
from kenyon.tasks import Task

STARTS = 10
STEPS = 10_000
METHODS = {"resets": "prelearned", "walks": "walked"}  # and what a learner's `start` calls them


class Prelearned(NamedTuple):
    """What prelearning tried, at what cost, and what it chose."""

    theta_g: float  # the choice
    starts: NDArray[np.float64]  # (n_starts,): the values tried
    ends: NDArray[np.float64]  # (n_starts,): where walks ended; the starts themselves, if theta_g was reset
    costs: NDArray[np.float64]  # (n_starts,): average cost of each start, infinite where both networks diverged
    n_episodes: int
    method: str = "resets"


def prelearn(
    learner: Learner,
    reservoir: ReservoirProtocol,
    task: Task,
    *,
    seed: int = 0,
    steps: int = STEPS,
    threads: int = 1,
    method: str = "resets",
) -> Prelearned:
    """Find a start for the global threshold of `learner`, on episodes that training will not see.

    Parameters
    ----------
    learner
        A learner with thresholds, whose own `start` does not matter. One without a search gets a global search here, to
        which its `sigma`, `period` and `beta` belong if it has start="prelearned".
    reservoir, task
        What it will learn.
    seed
        Decides the episodes, and what is proposed and kept.
    steps
        Batches in all, which every start learns from, with a decision after every `learner.period` of them.
    threads
        Number of threads for simulation.
    method
        "resets", as the paper describes it: after every decision weights, local thresholds and theta_g go back to
        their initial values, and the start with the lowest average cost is chosen. "walks": theta_g is not reset, and
        the end of the walk with the lowest average cost is chosen.
    """
    if isinstance(_checks.instance("learner", learner, Learner).rule, Regression):
        raise ValueError("learner must learn classes to be prelearned, not by Regression()")
    check_reservoir(reservoir)
    _checks.instance("task", task, Task)
    start = METHODS[_checks.one_of("method", method, tuple(METHODS))]
    learners = {"prelearn": replace(learner, start=start) if learner.thresholds else learner}
    found = prelearn_all(learners, reservoir, task, seed=seed, steps=steps, threads=threads)["prelearn"]
    if isinstance(found, Diverged):
        raise found
    return found


def prelearn_all(
    learners: Mapping[str, Learner],
    reservoir: ReservoirProtocol,
    task: Task,
    *,
    seed: int,
    steps: int = STEPS,
    threads: int = 1,
    advance: Callable[[int], None] = lambda n: None,
) -> dict[str, Prelearned | Diverged]:
    """Prelearn several learners from one stream of episodes, each by the method that its `start` names.

    `advance` is called with the number of episodes done. The result of a learner that diverged from every start is its
    `Diverged`.
    """
    for name, learner in learners.items():
        if not learner.thresholds:
            raise ValueError(f"learner {name} has no thresholds, so there is nothing to prelearn")
        steps = _checks.integer("steps", steps, learner.period or 1)
    if not learners:
        return {}
    n_episodes = episodes_needed(learners, steps)
    trials: dict[str, _Starts] = {}
    for batch in stream_chunks(reservoir, task, n_episodes, _seeding.derive(seed, "prelearning"), threads):
        for name, learner in learners.items():
            if name not in trials:
                source = Source(seed, f"{name}, in prelearning,")
                trials[name] = _Starts(learner, batch.states, task.n_classes, steps, source)
            trials[name].take(batch)
        advance(len(batch.items))
    return {name: starts.result() for name, starts in trials.items()}


def episodes_needed(learners: Mapping[str, Learner], steps: int = STEPS) -> int:
    """Return how many episodes it takes to prelearn these learners together."""
    return steps * max((learner.batch for learner in learners.values()), default=0)


class _Starts:
    """Several starts, a pair of networks each, all learning from the same episodes."""

    def __init__(self, learner: Learner, V: NDArray[np.float32], n_classes: int, steps: int, source: Source) -> None:
        self.learner = replace(learner, start=0.0, search=learner.search or "global")
        self.method = "walks" if learner.start == METHODS["walks"] else "resets"
        self.period, self.sigma, self.beta = learner.period or 1, learner.sigma or 0.0, learner.beta or 0.0
        self.source = source
        self.starts = np.quantile(sized(V, learner.code).astype(np.float64), np.linspace(0.0, 0.95, STARTS)).astype(
            np.float64, copy=False
        )
        if self.method == "resets":
            self.starts[0] = 0.0
        self.theta_g, self.proposed = self.starts.copy(), self.starts.copy()
        self.costs: list[NDArray[np.float64]] = []
        self.n_neurons = V.shape[1]
        self.episode, self.last = 0, steps * learner.batch
        state = self.learner.begin(V, n_classes, source)
        self.step = self.learner.kernel_step(state)._replace(stride=0)  # decisions are taken here
        own = [unit_thresholds(start, V, self.learner.code) for start in self.starts.tolist()]
        self.initial, self.places = np.array(own), state.places
        self.nets: Networks = networks(2 * STARTS, n_classes, self.initial[0])
        self._begin_step()

    def take(self, batch: Batch) -> None:
        """Learn from a batch, up to the last of this learner's steps."""
        stride = self.learner.batch * self.period
        n, first = min(len(batch.items), self.last - self.episode), 0
        while first < n:
            last = min(n, first + stride - self.episode % stride)
            episodes = batch.states[first:last], NO_SCALING, batch.labels[first:last], NO_TARGETS
            log, n_in_batch = episode_log(len(self.nets.W), last - first), self.episode % self.learner.batch
            choices = self._choices(last - first)
            parts = tuple(self.step), tuple(self.nets), *episodes, *choices, UNCHANGED, *NONE_DUE[:2]
            learn(*parts, n_in_batch, 0, tuple(log), 0)
            self.episode += last - first
            if self.episode % stride == 0:
                self._decide()
            first = last

    def _choices(self, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return uniform numbers (where choices matter, the same for all starts) and temperatures of n choices."""
        temperatures = self.learner.rule.temperatures(self.episode, n)
        if isinstance(self.learner.rule, Supervised):
            return np.empty((n, 0)), temperatures
        uniforms = self.source.uniforms("choice", self.episode, n)[:, :1]
        return np.repeat(uniforms, 2 * STARTS, axis=1), temperatures

    def result(self) -> Prelearned | Diverged:
        """Return the winner and the record of all starts."""
        costs = np.mean(self.costs, axis=0)
        if not np.isfinite(costs).any():
            rate = "eta_w" if self.learner.step == "fixed" else "mu"
            return Diverged(
                self.source.name, self.episode, f"prelearning is unstable from every start; use a smaller {rate}"
            )
        chosen = float(self.theta_g[np.argmin(costs)])
        return Prelearned(chosen, self.starts, self.theta_g, costs, self.episode, self.method)

    def _begin_step(self) -> None:
        """Reset all weights and local thresholds, and propose."""
        number, learner = len(self.costs), self.learner
        rng = self.source.generator("proposal", number)
        self.nets.W[:] = 0
        for i in range(STARTS):
            reach, (on, *off) = self.initial.shape[1], self.places
            delta = np.full(reach, self.sigma * rng.standard_normal(), np.float32)
            if learner.search == "per_neuron":
                delta = independent(rng, self.sigma, reach)
            self.nets.theta[2 * i, on] = self.theta_g[i]
            for side in off:
                self.nets.theta[2 * i, side] = self.initial[i, side] + np.float32(self.theta_g[i] - self.starts[i])
            propose(self.nets.W, self.nets.theta, self.nets.running, i, delta, self.step.from_zero)
            self.proposed[i] = self.theta_g[i] + float(delta[on].mean(dtype=np.float64))

    def _decide(self) -> None:
        rng = self.source.generator("acceptance", len(self.costs))
        costs = np.empty(STARTS)
        for i in range(STARTS):
            cost, proposed_cost = self.nets.running[2 * i], self.nets.running[2 * i + 1]
            if accept(cost, proposed_cost, self.beta, rng.random()):
                cost = proposed_cost
                if self.method == "walks":
                    self.theta_g[i] = self.proposed[i]
            costs[i] = cost
        self.costs.append(costs)
        self._begin_step()


def prelearned(learners: Mapping[str, object]) -> dict[str, Learner]:
    """Return the learners that start from a threshold that prelearning is to find."""
    return {name: own for name, own in learners.items() if isinstance(own, Learner) and isinstance(own.start, str)}
