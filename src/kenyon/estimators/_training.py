"""A course of learning on a user's own data: which learner, in which units, in how many passes.

By name, a learner takes its sizes from the calibration states: a fixed step eta_W = 1 / max |x|^2, or with batches
1 / mean |x|^2, which is stable, for steps are so below eta |x|^2 = 2; and eta_theta = k S2^2 / R^2 eta_W, as the
normalised step has it. Readouts with thresholds see each neuron in units of its own standard deviation, so that one
step, or one threshold, means the same to all; readouts without see V itself, in one unit for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks, _seeding
from kenyon.estimators._closed_form import ClosedForm
from kenyon.learning.controls import Ridge
from kenyon.learning.learners import (
    HALVINGS,
    Composed,
    GradientThresholds,
    GradientWeights,
    Learner,
    Metropolis,
    Normalised,
    Percentile,
)
from kenyon.learning.protocol import Diverged, Source
from kenyon.learning.rules import Regression, Supervised
from kenyon.readout import Readout

BY_NAME: dict[str, Learner | ClosedForm] = {
    "ridge": ClosedForm(),
    "normalised": Normalised(start=Percentile(50.0)),
    "composed": Composed(),
    "metropolis": Metropolis(),
    "gradient_thresholds": GradientThresholds(),
    "gradient_weights": GradientWeights(),
}
CACHE = 2**24  # bytes of states that are kept between passes
Told = NDArray[np.generic]  # labels (n,), or targets (n, n_outputs)


class Units(NamedTuple):
    """The units in which a readout sees states: (V - shift) factor."""

    shift: NDArray[np.float32]
    factor: NDArray[np.float32]

    def apply(self, V: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return states in these units."""
        return np.asarray((V - self.shift) * self.factor)


class Training(NamedTuple):
    """A learner under way."""

    learner: Learner | ClosedForm
    state: Any
    units: Units
    named: bool  # its sizes are ours to change

    def readout(self) -> Readout:
        """Return what was learned so far."""
        return self.learner.readout(self.state)

    @property
    def closed(self) -> bool:
        """Tell whether one pass says it all."""
        return isinstance(self.learner, ClosedForm)

    def learn(
        self, V: NDArray[np.float32], told: Told, cooling: float = 1.0, weights: NDArray[np.float64] | None = None
    ) -> tuple[Training, float]:
        """Learn from states in their units; return what came of it, and the sum of right choices, or of costs.

        A named learner that diverges takes the same episodes again with half the step. `weights` are for those that
        solve; to others, episodes are shown as often as their weight says.
        """
        learner: Any = self.learner
        if isinstance(learner, ClosedForm):
            return self._replace(state=learner.update(self.state, V, told, weights)[0]), np.nan
        for _ in range(HALVINGS):
            try:
                state, info = learner.slowed(cooling).update(self.state, V, told)
                good = info.cost if isinstance(learner.rule, Regression) else info.correct
                return self._replace(learner=learner, state=state), float(good.sum(dtype=np.float64))
            except Diverged:
                if not self.named:
                    raise
                learner = learner.slowed(0.5)
        raise Diverged("the learner", 0, f"after {HALVINGS} halvings of its step; use another, such as 'ridge'")


def pick(learner: Any, rule: Supervised | Regression) -> Learner | ClosedForm:
    """Return the learner of this name, or the one given, told by this rule."""
    if isinstance(learner, str):
        return replace(BY_NAME[_checks.one_of("learner", learner, tuple(BY_NAME))], rule=rule)
    if isinstance(learner, Ridge):
        return ClosedForm(penalty=learner.penalty, rule=rule)
    if not isinstance(learner, Learner):
        names = ", ".join(map(repr, BY_NAME))
        raise ValueError(f"learner must be one of {names}, or a kenyon learner or Ridge(), not {learner!r}")
    if isinstance(rule, Regression) or isinstance(learner.rule, Regression):
        return replace(learner, rule=rule)
    return learner


def begin(
    learner: Any, V: NDArray[np.float32], n_outputs: int, rule: Supervised | Regression, seed: int, *, signed: bool
) -> Training:
    """Begin a course from calibration states V; `signed` ones have no state of rest to keep."""
    chosen = pick(learner, rule)
    units = _units(chosen, V, signed)
    U = units.apply(V)
    if isinstance(chosen, Learner) and chosen.start == "prelearned":
        chosen = replace(chosen, start=float(np.percentile(U.astype(np.float64), 50.0)))
    if isinstance(learner, str) and isinstance(chosen, Learner) and chosen.step == "fixed":
        chosen = _sized(chosen, U)
    source = Source(seed, "estimator")
    return Training(chosen, chosen.begin(U, n_outputs, source), units, isinstance(learner, str))


def _units(learner: Learner | ClosedForm, V: NDArray[np.float32], signed: bool) -> Units:
    mean, sd = V.mean(axis=0, dtype=np.float64), V.std(axis=0, dtype=np.float64)
    rms = np.sqrt(mean**2 + sd**2)
    closed = isinstance(learner, ClosedForm)
    if isinstance(learner, ClosedForm) or not learner.thresholds:
        size = np.sqrt((sd**2).mean() if closed else (rms**2).mean())
        factor = np.full(len(sd), 1.0 / size if size > 0 else 1.0)
    else:
        size = np.where(sd > 1e-5 * rms, sd, rms)  # of a neuron that never varied
        factor = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    shift = mean if closed and not signed else np.zeros_like(mean)
    return Units(shift.astype(np.float32), factor.astype(np.float32))


def _sized(learner: Learner, U: NDArray[np.float32]) -> Learner:
    """Return the learner with steps that are stable on these states."""
    theta: Any = learner.start
    if isinstance(theta, Percentile):
        theta = theta.of(U)
    x = np.maximum(U - np.float32(theta), 0) if learner.thresholds else U
    norm2 = (x.astype(np.float64) ** 2).sum(axis=1)
    eta = 1.0 / max(float(norm2.max() if learner.batch == 1 else norm2.mean()), float(np.finfo(np.float32).tiny))
    kappa = learner.k * float(norm2.mean()) ** 2 / learner.rule.target**2
    return replace(learner, eta_w=eta, eta_theta=eta * kappa)


class States:
    """States by number, made when asked for; as many as the budget allows are kept, the first that come."""

    def __init__(self, make: Callable[[NDArray[np.intp]], NDArray[np.float32]], n: int, width: int) -> None:
        self.make, self.n = make, n
        self.room = max(1, CACHE // (4 * width))
        self.slot = np.full(n, -1, np.intp)
        self.kept = np.empty((min(n, self.room), width), np.float32)
        self.used = 0

    def __getitem__(self, wanted: NDArray[np.intp]) -> NDArray[np.float32]:
        slots = self.slot[wanted]
        if (slots >= 0).all():
            return self.kept[slots]
        V = np.empty((len(wanted), self.kept.shape[1]), np.float32)
        known = slots >= 0
        V[known] = self.kept[slots[known]]
        V[~known] = self._keep(wanted[~known])
        return V

    def _keep(self, numbers: NDArray[np.intp]) -> NDArray[np.float32]:
        V = self.make(numbers)
        n = min(len(numbers), len(self.kept) - self.used)
        self.kept[self.used : self.used + n] = V[:n]
        self.slot[numbers[:n]] = np.arange(self.used, self.used + n)
        self.used += n
        return V


def orders(n: int, weights: NDArray[np.float64] | None, epochs: int, seed: int, first: int) -> Iterator[Any]:
    """Yield the order of each pass, numbered from `first` on: all of them once, shuffled.

    With weights (of mean 1) each is shown as often as its weight says, the fraction by chance.
    """
    for epoch in range(first, first + epochs):
        rng = _seeding.generator(seed, "estimator", "order", str(epoch))
        shown = np.arange(n)
        if weights is not None:
            shown = np.repeat(shown, np.floor(weights + rng.random(n)).astype(np.intp))
        yield rng.permutation(shown)


def cooling(epoch: int, epochs: int) -> float:
    """Return the factor on the steps of a pass: 1 in the first half, then down to 0, so that the last weigh no more."""
    return min(1.0, 2.0 * (1.0 - epoch / epochs))
