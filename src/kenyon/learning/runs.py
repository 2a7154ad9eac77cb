"""Learners under way on a stream of episodes, and what their readouts do on a test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks, metrics
from kenyon.learning.prelearning import Prelearned, start_from
from kenyon.learning.protocol import Diverged, Info, LearnerProtocol, Source
from kenyon.learning.rules import Regression
from kenyon.readout import Readout
from kenyon.reservoir import Batch

EPISODES_PER_CHUNK = 1000  # episodes between two looks at the learners
SCALARS = ("accuracy", "expected_accuracy", "argmax_accuracy", "coding_level", "norm2", "theta_mean", "theta_sd")
PER_NEURON = ("theta", "activity", "specificity", "specificity_summed")
OF_THE_START = (*SCALARS[3:], *PER_NEURON)


class Run:
    """One learner under way."""

    def __init__(
        self,
        name: str,
        learner: LearnerProtocol,
        found: Prelearned | Diverged | None,
        seed: int,
        diverged: str,
        edges: NDArray[np.int_],
    ) -> None:
        self.name, self.learner, self.seed, self.record = name, learner, seed, diverged == "record"
        self.state: Any = None
        self.start: Readout | None = None  # before anything was learned
        self.edges, self.episode = edges, 0
        self.correct = np.zeros(len(edges) - 1)  # right choices in each bin
        self.proposals = np.zeros(2)  # kept, and made
        self.failure = found if isinstance(found, Diverged) else None
        if isinstance(found, Prelearned):
            self.learner = start_from(learner, found)  # type: ignore[arg-type]
        elif self.failure and not self.record:
            raise self.failure

    def begin(self, V: NDArray[np.float32], n_classes: int) -> None:
        """Calibrate, and keep what the readout is before anything was learned."""
        if self.failure is None:
            self.state = self.learner.begin(V, n_classes, Source(self.seed, self.name))
            self.start = self.learner.readout(self.state)

    def learn(self, batch: Batch) -> None:
        """Learn from a batch and count the right choices; a learner that has diverged does nothing any more."""
        info = Info(np.empty(0, np.float32), np.full(len(batch.items), np.nan, np.float32))
        if self.failure is None:
            try:
                self.state, info = self.learner.update(self.state, batch.states, batch.labels)
            except Diverged as failure:
                if not self.record:
                    raise
                self.failure = failure
        episodes = np.arange(self.episode, self.episode + len(batch.items))
        bins = np.searchsorted(self.edges, episodes, side="right") - 1
        self.correct += np.bincount(bins, info.correct, minlength=len(self.correct))
        self.episode += len(batch.items)
        self.proposals += [sum(one.accepted for one in info.proposals), len(info.proposals)]

    def curve(self) -> NDArray[np.float64]:
        """Return the share of right choices in each bin."""
        return np.asarray(self.correct / np.diff(self.edges))

    def readout(self) -> Readout | None:
        """Return what was learned, unless it diverged."""
        return None if self.failure else self.learner.readout(self.state)


class Test:
    """What a readout does on test episodes, summed batch by batch."""

    def __init__(self, readout: Readout | None, n_classes: int, source: Source) -> None:
        self.readout, self.n_classes, self.source, self.n = readout, n_classes, source, 0
        self.sums = np.zeros(5)
        self.shown = np.zeros(n_classes)  # episodes of each class
        self.active: Any = 0.0  # (n_neurons, n_classes): test episodes in which a neuron was active
        self.amount: Any = 0.0  # its summed activity

    def take(self, batch: Batch) -> None:
        """Add a batch."""
        n = len(batch.items)
        if self.readout is not None:
            x = self.readout.features(batch.states)
            uniforms = self.source.uniforms("test", self.n, n)[:, 0]
            bias = 0.0 if self.readout.bias is None else self.readout.bias.astype(np.float32)
            y = (x @ self.readout.W.T + bias) / np.float32(self.readout.temperature)
            found = metrics.accuracies(y, batch.labels, uniforms)
            norm2 = float(np.einsum("ni,ni->n", x, x).mean(dtype=np.float64))
            self.sums += n * np.array([*found, metrics.coding_level(x), norm2])
            self.shown += np.bincount(batch.labels, minlength=self.n_classes)
            self.active = self.active + metrics.class_sums(x > 0, batch.labels, self.n_classes)
            self.amount = self.amount + metrics.class_sums(x, batch.labels, self.n_classes)
        self.n += n

    def measures(self) -> dict[str, Any]:
        """Return all measures by name; NaN for a readout that does not exist."""
        if self.readout is None:
            return dict.fromkeys((*SCALARS, *PER_NEURON), np.nan)
        theta = self.readout.theta.astype(np.float64)
        # As if classes were equally frequent: otherwise neurons that are always active would seem to prefer one.
        share = self.n / self.n_classes / np.maximum(self.shown, 1.0)
        return {
            **dict(zip(SCALARS, [*(self.sums / self.n), theta.mean(), theta.std()], strict=True)),
            "theta": theta,
            "activity": self.active.sum(axis=1) / self.n,
            "specificity": metrics.specificity(self.active * share, self.n),
            "specificity_summed": metrics.specificity(self.amount * share, self.n),
        }


def check_learners(learners: Any) -> Mapping[str, LearnerProtocol]:
    """Return names and learners, if they are such."""
    if not isinstance(learners, Mapping) or not learners or not all(isinstance(name, str) for name in learners):
        raise ValueError(
            "learners must hold at least one learner under its name, such as {'composed': kn.Composed()}, "
            f"not {_checks.short_repr(learners)}"
        )
    for name, one in learners.items():
        if isinstance(one, type) or not all(
            callable(getattr(one, part, None)) for part in ("begin", "update", "readout")
        ):
            raise ValueError(
                f"learners[{name!r}] must be a learner, such as kn.Composed(), not {_checks.short_repr(one)}"
            )
        if isinstance(getattr(one, "rule", None), Regression):
            raise ValueError(
                f"learners[{name!r}] must be told classes, by Supervised() or QLearning(), not Regression()"
            )
    return learners


def take(stream: Iterator[Batch], n: int) -> list[Batch]:
    """Take batches until they hold at least `n` episodes."""
    taken: list[Batch] = []
    while n > 0:
        taken.append(next(stream))
        n -= len(taken[-1].items)
    return taken


def for_all(pool: ThreadPoolExecutor, job: Any, runs: Sequence[Any]) -> None:
    """Do a job for every run; the first error comes out."""
    for result in [pool.submit(job, run) for run in runs]:
        result.result()


@contextmanager
def show_progress(n_episodes: int, wanted: bool | None) -> Iterator[Callable[[int], None]]:
    """Show a bar for `n_episodes`, by default on a terminal; yields what to call with the number of episodes done."""
    if not (sys.stderr.isatty() if wanted is None else _checks.flag("progress", wanted)):
        yield lambda n: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        job = bar.add_task("training", total=n_episodes)
        yield lambda n: bar.advance(job, n)
