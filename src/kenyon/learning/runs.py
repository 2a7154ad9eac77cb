"""Learners being trained on a stream of episodes, and tests of their readouts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kenyon import metrics
from kenyon.learning.prelearning import Prelearned
from kenyon.learning.protocol import Diverged, Info, LearnerProtocol, Source, check_readout, check_update
from kenyon.readout import Readout, tempered, weighted_sums
from kenyon.reservoir import Batch

SCALARS = ("accuracy", "expected_accuracy", "argmax_accuracy", "coding_level", "norm2", "theta_mean", "theta_sd")
PER_NEURON = ("theta", "activity", "specificity", "specificity_summed")
OF_THE_START = (*SCALARS[3:], *PER_NEURON)


class Run:
    """One learner being trained."""

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
        self.shape = (0, 0)  # of its weights
        self.edges, self.episode = edges, 0
        self.correct = np.zeros(len(edges) - 1)  # right choices in each bin
        self.proposals = np.zeros(2)  # kept, and made
        self.failure = found if isinstance(found, Diverged) else None
        if isinstance(found, Prelearned):
            self.learner = replace(learner, start=found.theta_g)  # type: ignore[type-var]
        elif self.failure and not self.record:
            raise self.failure

    def begin(self, V: NDArray[np.float32], n_classes: int) -> None:
        """Calibrate, and keep the readout as it is before anything was learned."""
        if self.failure is None:
            self.state = self.learner.begin(V, n_classes, Source(self.seed, self.name))
            self.shape = n_classes, V.shape[1]
            self.start = self.readout()

    def learn(self, batch: Batch) -> None:
        """Learn from a batch and count the right choices; a learner that has diverged no longer learns."""
        info = Info(np.empty(0, np.float32), np.full(len(batch.items), np.nan, np.float32))
        if self.failure is None:
            try:
                returned = self.learner.update(self.state, batch.states, batch.labels)
                self.state, info = check_update(f"learners[{self.name!r}]", returned, len(batch.items))
            except Diverged as failure:
                if not self.record:
                    raise
                self.failure = failure
        episodes = np.arange(self.episode, self.episode + len(batch.items))
        bins = np.searchsorted(self.edges, episodes, side="right") - 1
        self.correct += np.bincount(bins, info.correct, minlength=len(self.correct))
        self.episode += len(batch.items)
        self.proposals += [sum(proposal.accepted for proposal in info.proposals), len(info.proposals)]

    def readout(self) -> Readout | None:
        """Return what was learned; None if the learner diverged."""
        if self.failure:
            return None
        n_classes, n_neurons = self.shape
        name, found = f"learners[{self.name!r}]", self.learner.readout(self.state)
        try:
            return check_readout(name, found, n_neurons, n_classes, self.episode)
        except Diverged as failure:
            if not self.record:
                raise
            self.failure = failure
            return None


class Test:
    """Measures of a readout on test episodes, summed batch by batch."""

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
            y = tempered(weighted_sums(x, self.readout.W, self.readout.bias), self.readout.temperature)
            found = metrics.accuracies(y, batch.labels, uniforms)
            norm2 = float(np.einsum("ni,ni->n", x, x).mean(dtype=np.float64))
            self.sums += n * np.array([*found, metrics.coding_level(x), norm2])
            self.shown += np.bincount(batch.labels, minlength=self.n_classes)
            self.active = self.active + metrics.class_sums(x > 0, batch.labels, self.n_classes)
            self.amount = self.amount + metrics.class_sums(x, batch.labels, self.n_classes)
        self.n += n

    def measures(self) -> dict[str, Any]:
        """Return all measures by name; NaN if there is no readout."""
        if self.readout is None:
            return dict.fromkeys((*SCALARS, *PER_NEURON), np.nan)
        theta = self.readout.theta.astype(np.float64)
        # As if classes were equally frequent: otherwise neurons that are always active would seem to prefer a class.
        share = self.n / self.n_classes / np.maximum(self.shown, 1.0)
        return {
            **dict(zip(SCALARS, [*(self.sums / self.n), theta.mean(), theta.std()], strict=True)),
            "theta": theta,
            "activity": self.active.sum(axis=1) / self.n,
            "specificity": metrics.specificity(self.active * share, self.n),
            "specificity_summed": metrics.specificity(self.amount * share, self.n),
        }
