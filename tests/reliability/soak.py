"""The long run: ten million episodes, in which memory must stay flat and float32 must not drift from float64.

Run as `python -m tests.reliability.soak`, or `make soak`. Every learner trains on one stream through `kenyon.train`, as
a user's would, next to an oracle: the same rule in float64, on the same states. Random choices are shared: the oracle
takes the actions that the learner took and keeps the proposals that it kept, and how often it would have chosen
differently is counted. At a hundred checkpoints the two are compared on the same 500 states:

    step     distance of the outputs after 1000 episodes from the same state: the effect of rounding as time goes on
    apart    distance of the outputs after all episodes so far
    cost     difference between the mean costs of all episodes so far, as a share of the oracle's
    choices  share of the actions, or of Metropolis decisions, in which the oracle would have chosen differently

A distance is the largest |y - y'| over states and classes, divided by the target output of the right class. Where
thresholds are learned, x > 0 decides which of them move, so a single rounding can separate two networks for good, even
two in float64: of two that started 1e-6 apart, by reward and with the normalised step, outputs differed by 0.16 after
three million episodes and costs by 0.2%; between float32 and float64 it was 0.19 and 0.2%. So `step` must agree, and,
loosely, the costs. Recursive least squares is itself in float64, and is compared with the normal equations of all
episodes so far.
"""

import json
import sys
import time
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import psutil
import typer
from numba import njit
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import kenyon as kn
from kenyon.kernels.search import accept
from kenyon.learning.protocol import Info
from kenyon.readout import standardise

EPISODES = 10_000_000
CHECKPOINTS = 100
WARM_UP = 10  # checkpoints before memory counts
MEMORY = 20.0  # MB by which the process may grow from then on


class Network(NamedTuple):
    """A readout in float64, and the sums of its running batch. Changed in place."""

    W: np.ndarray  # (n_classes, n_neurons)
    grad_W: np.ndarray
    theta: np.ndarray
    grad_theta: np.ndarray
    size: np.ndarray  # sums over the batch of E and of the step's denominator; the running average of E


@njit(nogil=True, fastmath={"reassoc", "contract"})
def follow(net, rule, V, labels, actions, filled):
    """Learn from episodes, one after the other; return y and E of each, before its own update.

    `rule` is (thresholds, local, normalised, rate_W, rate_theta, batch, by_reward, target, alpha).
    """
    thresholds, local, normalised, rate_W, rate_theta, batch, by_reward, target, alpha = rule
    n_classes, n_neurons = net.W.shape
    outputs, costs = np.empty((len(V), n_classes)), np.zeros(len(V))
    x = np.empty(n_neurons)
    for n in range(len(V)):
        for i in range(n_neurons):
            x[i] = max(0.0, V[n, i] - net.theta[i]) if thresholds else V[n, i]
        norm2 = 0.0
        for i in range(n_neurons):
            norm2 += x[i] * x[i]
        net.size[1] += norm2
        for j in range(n_classes):
            y = 0.0
            for i in range(n_neurons):
                y += net.W[j, i] * x[i]
            outputs[n, j] = y
            if by_reward and j != actions[n]:
                continue
            e = (target if j == labels[n] else 0.0) - y
            costs[n] += e * e
            active = 0.0
            for i in range(n_neurons):
                net.grad_W[j, i] += e * x[i]
                if local and x[i] > 0:
                    net.grad_theta[i] -= e * net.W[j, i]
                    active += net.W[j, i] ** 2
            if normalised:
                net.size[1] += rate_theta * active
        net.size[0] += costs[n]
        filled += 1
        if filled == batch:
            step_W, step_theta = rate_W / batch, rate_theta / batch
            if normalised:
                step_W = rate_W / net.size[1] if net.size[1] > 0 else 0.0
                step_theta = rate_theta * step_W
            for i in range(n_neurons):
                net.theta[i] += step_theta * net.grad_theta[i]
                net.grad_theta[i] = 0.0
                for j in range(n_classes):
                    net.W[j, i] += step_W * net.grad_W[j, i]
                    net.grad_W[j, i] = 0.0
            cost = net.size[0] / batch
            net.size[2] = cost if np.isnan(net.size[2]) else (1 - alpha) * net.size[2] + alpha * cost
            net.size[0] = net.size[1] = 0.0
            filled = 0
    return outputs, costs


class Oracle:
    """A learner in float64 that starts from the state of another and follows its choices.

    By reward it has two classes; with a search, it takes whole periods between decisions.
    """

    def __init__(self, learner, state):
        self.learner, self.state = learner, state
        normalised, self.by_reward = learner.step == "normalised", isinstance(learner.rule, kn.QLearning)
        rates = (learner.mu, state.kappa) if normalised else (learner.eta_w, learner.eta_theta or 0.0)
        switches = learner.thresholds, learner.local, normalised
        self.rule = (
            *switches,
            *rates,
            learner.batch,
            self.by_reward,
            learner.rule.target,
            1.0 / (learner.period or 100),
        )
        rows, columns, nets = slice(state.n_outputs), slice(state.n_neurons), state.nets
        self.pair = [
            Network(
                *(part[m, rows, columns].astype(np.float64) for part in (nets.W, nets.grad_W)),
                *(part[m, columns].astype(np.float64) for part in (nets.theta, nets.grad_theta)),
                np.append(nets.size[m], nets.running[m]),
            )
            for m in range(len(nets.W))
        ]
        self.episode, self.cost, self.otherwise, self.choices = state.episode, 0.0, 0, 0

    def seen(self, V):
        """Return states as the learner sees them."""
        return standardise(V.astype(np.float64), self.state.shift, self.state.scale)

    def take(self, V, labels, info):
        """Learn from the same episodes; `info` says what the learner chose."""
        stride = self.learner.batch * self.learner.period if self.learner.search else len(V)
        V = self.seen(V)
        for number, first in enumerate(range(0, len(V), stride)):
            part = slice(first, first + stride)
            self._learn(V[part], labels[part], info.correct[part] > 0)
            if self.learner.search:
                self._decide(info.proposals[number])

    def _learn(self, V, labels, correct):
        actions = np.where(correct, labels, 1 - labels) if self.by_reward else labels
        filled = self.episode % self.learner.batch
        (y, costs), *_ = [follow(net, self.rule, V, labels, actions, filled) for net in self.pair]
        self.cost += costs.sum()
        if self.by_reward:
            uniforms = self.state.source.uniforms("choice", self.episode, len(V))[:, 0]
            first = 1 / (1 + np.exp((y[:, 1] - y[:, 0]) / self.learner.rule.temperature))
            self.otherwise += int(((uniforms >= first) != actions).sum())
            self.choices += len(V)
        self.episode += len(V)

    def _decide(self, made):
        """Keep what the learner kept, and propose what it proposes next."""
        number = self.episode // (self.learner.batch * self.learner.period)
        uniform = self.state.source.uniforms("acceptance", number, 1)[0, 0]
        current, proposed = self.pair
        self.otherwise += accept(current.size[2], proposed.size[2], self.learner.beta, uniform) != made.accepted
        self.choices += 1
        if made.accepted:
            current.W[:], current.theta[:] = proposed.W, proposed.theta
        delta = np.float32(self.learner.sigma * self.state.source.normals("proposal", number, 1)[0])
        proposed.W[:], proposed.theta[:] = current.W, current.theta + delta
        current.size[2] = proposed.size[2] = np.nan

    def outputs(self, V):
        """Return y of the current network."""
        W, theta, V = self.pair[0].W, self.pair[0].theta, self.seen(V)
        return (np.maximum(V - theta, 0.0) if self.learner.thresholds else V) @ W.T


class NormalEquations:
    """The solution that recursive least squares keeps up to date, from the sums over all episodes."""

    otherwise = choices = 0
    cost = np.nan

    def __init__(self, learner, state):
        self.target, self.classes = learner.rule.target, np.arange(len(state.W))[:, None]
        self.gram, self.cross = np.linalg.inv(state.P), np.zeros_like(state.W)

    def take(self, V, labels, info):
        """Add episodes to the sums."""
        V = V.astype(np.float64)
        self.gram += V.T @ V
        self.cross += self.target * (labels == self.classes) @ V

    def outputs(self, V):
        """Return y of the solution."""
        return V @ np.linalg.solve(self.gram, self.cross.T)


class Found(NamedTuple):
    """Figures at a checkpoint; see the module."""

    step: float
    apart: float
    cost: float
    choices: float


class Beside:
    """A learner together with its oracle, to be trained as a learner."""

    def __init__(self, learner, probe, every):
        self.learner, self.probe, self.every = learner, probe, every
        self.closed = isinstance(learner, kn.RecursiveLeastSquares)
        self.cost, self.found = 0.0, []

    def begin(self, V, n_classes, source):
        """Begin both."""
        state = self.learner.begin(V, n_classes, source)
        self.oracle = NormalEquations(self.learner, state) if self.closed else Oracle(self.learner, state)
        return state

    def update(self, state, V, labels):
        """Let both learn, and compare them at checkpoints."""
        new, info = self.learner.update(state, V, labels)
        self.oracle.take(V, labels, info)
        self.cost += float(info.cost.sum(dtype=np.float64))
        if new.episode // self.every > state.episode // self.every:
            step = np.nan if self.closed else self._step(state, new, V, labels, info)
            share = self.oracle.otherwise / max(1, self.oracle.choices)
            self.found.append(Found(step, self._distance(new, self.oracle), self.cost / self.oracle.cost - 1, share))
        return new, info

    def readout(self, state):
        """Return the learner's readout."""
        return self.learner.readout(state)

    def _step(self, state, new, V, labels, info):
        near = Oracle(self.learner, state)
        near.take(V, labels, info)
        return self._distance(new, near)

    def _distance(self, state, oracle):
        return float(
            np.abs(self.readout(state).outputs(self.probe) - oracle.outputs(self.probe)).max()
            / self.learner.rule.target
        )


class Watch:
    """Poses as a learner, learns nothing, and records the memory of the process."""

    def __init__(self, n_episodes, console):
        self.n_episodes, self.console = n_episodes, console
        self.peaks = np.zeros(CHECKPOINTS)  # MB
        self.began = time.perf_counter()

    def begin(self, V, n_classes, source):
        """Return the number of episodes seen, and weights of 0."""
        return 0, np.zeros((n_classes, V.shape[1]), np.float32)

    def update(self, state, V, labels):
        """Note the memory, and print it at checkpoints."""
        seen, W = state
        place, seen = seen * CHECKPOINTS // self.n_episodes, seen + len(V)
        self.peaks[place] = max(self.peaks[place], psutil.Process().memory_info().rss / 1e6)
        if seen * CHECKPOINTS // self.n_episodes > place:
            seconds = time.perf_counter() - self.began
            self.console.print(f"{seconds:7.0f} s  {seen:>12,} episodes  {self.peaks[place]:6.1f} MB")
        nothing = np.full(len(V), np.nan, np.float32)
        return (seen, W), Info(nothing, nothing, [])

    def readout(self, state):
        """Return a readout with all weights 0."""
        return kn.Readout(state[1], np.zeros(state[1].shape[1], np.float32))


class Figures(NamedTuple):
    """Figures of a run, or their bounds: `step` by the medians of both halves, all others by their maximum."""

    step: float
    growth: float  # of `step`, from the first half of the run to the second
    apart: float
    cost: float
    choices: float

    @classmethod
    def of(cls, found: list[Found]) -> "Figures":
        """Summarise the checkpoints of a learner."""
        early, late = (float(np.median(half[:, 0])) for half in np.array_split(np.array(found), 2))
        largest = np.abs(found).max(axis=0).tolist()
        return cls(max(early, late), late / max(early, 1e-9), *largest[1:])

    def beyond(self, bounds: "Figures") -> list[str]:
        """Return the names of figures outside their bounds; NaN means no bound."""
        pairs = zip(self._fields, self, bounds, strict=True)
        return [name for name, value, bound in pairs if not (np.isnan(bound) or value <= bound)]


ALIKE = Figures(1e-5, 4.0, 1e-4, 1e-5, 1e-3)  # no threshold follows a gradient
PARTED = Figures(1e-5, 4.0, 1.0, 0.05, 0.05)
CLOSED = Figures(np.nan, np.nan, 1e-3, np.nan, 0.0)
LEARNERS = {
    "GradientWeights": (kn.GradientWeights(), ALIKE),
    "GradientWeights, standardised": (kn.GradientWeights(scaling="standardised", eta_w=1e-4), ALIKE),
    "GradientThresholds": (kn.GradientThresholds(), PARTED),
    "Metropolis": (kn.Metropolis(start=0.3), ALIKE),
    "Composed": (kn.Composed(start=0.3), PARTED),
    "Normalised": (kn.Normalised(), PARTED),
    "GradientThresholds, by reward": (kn.GradientThresholds(rule=kn.QLearning()), PARTED),
    "Normalised, by reward": (kn.Normalised(rule=kn.QLearning()), PARTED),
}
SLOW = {"RecursiveLeastSquares": (kn.RecursiveLeastSquares(), CLOSED)}  # O(N^2) an episode: a tenth of the run


def soak(learners, n_episodes, threads, console):
    """Train, and return by how many MB the process grew, and the figures of every learner."""
    task = kn.StaticTask(kn.load_odours(), 40, seed=1, steps=20)
    reservoir = kn.Reservoir(150, 0.06, seed=1)
    probe = next(reservoir.stream(task, 500, seed=99, batch_size=500)).states
    pairs = {name: Beside(learner, probe, n_episodes // CHECKPOINTS) for name, (learner, _) in learners.items()}
    watch = Watch(n_episodes, console)
    with threadpool_limits(1, "blas"):
        kn.train({**pairs, "watch": watch}, reservoir, task, n_episodes, seed=3, threads=threads)
    growth = float(watch.peaks[WARM_UP:].max() - watch.peaks[:WARM_UP].max())
    return growth, {name: Figures.of(pair.found) for name, pair in pairs.items()}


def show(found, console):
    """Print figures next to their bounds."""
    table = Table("learner", *(f"{name} (bound)" for name in Figures._fields))
    for name, (_, bounds) in {**LEARNERS, **SLOW}.items():
        table.add_row(name, *(f"{a:.1e} ({b:.0e})" for a, b in zip(found[name], bounds, strict=True)))
    console.print(table)


def main(
    episodes: Annotated[int, typer.Option(help="How many; recursive least squares takes a tenth of them.")] = EPISODES,
    threads: Annotated[int, typer.Option(help="Threads to train in.")] = 2,
    out: Annotated[Path | None, typer.Option("--json", help="A file for the figures.")] = None,
) -> None:
    """Run all learners and their oracles for long; exit with 1 if memory grows or numbers drift."""
    console, began = Console(width=140), time.perf_counter()
    growth, found = soak(LEARNERS, episodes, threads, console)
    slow_growth, slow = soak(SLOW, episodes // 10, threads, console)
    found, growth = {**found, **slow}, max(growth, slow_growth)
    show(found, console)
    console.print(f"the process grew by {growth:.1f} MB (bound {MEMORY:g})")
    if out:
        learners = {name: {k: v for k, v in figures._asdict().items() if v == v} for name, figures in found.items()}
        seconds = round(time.perf_counter() - began)
        out.write_text(
            json.dumps({"episodes": episodes, "seconds": seconds, "growth_mb": growth, "learners": learners}, indent=1)
        )
    broken = [f"{name}: {key}" for name, (_, b) in {**LEARNERS, **SLOW}.items() for key in found[name].beyond(b)]
    broken += ["memory"] if growth > MEMORY else []
    if broken:
        sys.exit(f"beyond their bounds: {'; '.join(broken)}")


if __name__ == "__main__":
    typer.run(main)
