"""Learners being trained on a stream of episodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kenyon.learning.learners import Learner, changed
from kenyon.learning.prelearning import Prelearned
from kenyon.learning.protocol import (
    Diverged,
    Info,
    LearnerProtocol,
    Source,
    check_readout,
    check_update,
    told_of_length,
)
from kenyon.readout import Readout
from kenyon.reservoir import Batch

COURSES = ("training_theta_g", "training_theta_local_mean", "training_theta_local_sd")


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
        self.courses = np.full((len(COURSES), len(edges) - 1), np.nan)  # thresholds at the end of each bin
        self.early: Readout | None = None  # at the end of the first bin, if thresholds learn
        # Only of thresholds that learn: the readout of a closed form is expensive.
        self.follows = getattr(learner, "thresholds", False) and not getattr(learner, "closed_form", False)
        self.proposals = np.zeros(2)  # kept, and made
        self.failure = found if isinstance(found, Diverged) else None
        if isinstance(found, Prelearned) and isinstance(learner, Learner):
            self.learner = changed(learner, start=found.theta_g)
        elif self.failure and not self.record:
            raise self.failure
        self.learner = told_of_length(self.learner, int(edges[-1]))

    def begin(self, V: NDArray[np.float32], n_classes: int) -> None:
        """Calibrate, and keep the readout as it is before anything was learned."""
        if self.failure is None:
            self.state = self.learner.begin(V, n_classes, Source(self.seed, self.name))
            self.shape = n_classes, V.shape[1]
            self.start = self.readout()

    def learn(self, batch: Batch) -> None:
        """Learn from a batch, cut where a bin ends if thresholds are followed, and where the last bin ends.

        Who has diverged no longer learns.
        """
        if (left := int(self.edges[-1]) - self.episode) < len(batch.items):
            batch = batch.part(0, left)
        first = 0
        while first < len(batch.items):
            number = int(np.searchsorted(self.edges, self.episode, side="right")) - 1
            part = batch.part(first, self.edges[number + 1] - self.episode) if self.follows else batch
            self._learn(part)
            first += len(part.items)
            if self.follows and self.episode == self.edges[number + 1] and self.failure is None:
                self._note(number)

    def _note(self, number: int) -> None:
        """Note the thresholds at the end of a bin, theta_g and theta_i apart; and the readout, if it is the first."""
        readout = self.readout()
        if readout is None:
            return
        theta_g = float(getattr(self.state, "theta_g", 0.0))
        local = readout.theta[: readout.n_neurons].astype(np.float64) - theta_g
        self.courses[:, number] = theta_g, local.mean(), local.std()
        if number == 0:
            self.early = readout

    def _learn(self, batch: Batch) -> None:
        """Learn from a batch and count the right choices."""
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
