"""Learning from a user's own data: which learner, in which units, in how many passes.

A learner given by name takes its step sizes from the calibration states. A fixed step is eta_W = 1 / max |x|^2, or
1 / mean |x|^2 with batches: steps are stable below eta |x|^2 = 2. As in the normalised step,
eta_theta = k S2^2 / R^2 eta_W. Readouts with thresholds see each neuron in units of its own standard deviation, so that
a step or a threshold means the same for all; readouts without see V itself, in one unit for all. (Where several numbers
are read of each neuron, that is one unit for each of them; shares of time above a level have each their own.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks, _seeding
from kenyon.estimators._weights import repeats
from kenyon.kernels.drift import Memory
from kenyon.kernels.stream_steps import LARGEST, MEAN
from kenyon.kernels.streams import Following
from kenyon.learning.cooling import TO_THE_END
from kenyon.learning.learners import (
    HALVINGS,
    Composed,
    GradientThresholds,
    GradientWeights,
    Learner,
    Metropolis,
    Normalised,
    changed,
    threshold_share,
)
from kenyon.learning.protocol import Diverged, LearnerProtocol, Source, check_readout, check_update, told_of_length
from kenyon.learning.recursive import RecursiveThresholds
from kenyon.learning.ridge import Ridge
from kenyon.learning.rules import Regression, Supervised
from kenyon.learning.state import Percentile, State, initial_thresholds, sized
from kenyon.readout import SIGNED, Readout

SHARE = 0.005  # of thresholds in a step: k of the normalised one
COOLING = "sqrt"  # over all passes of `fit`
PACE = 100  # episodes after which the steps of a stream, whose end nobody knows, have cooled to 0.7
BY_NAME: dict[str, LearnerProtocol] = {
    "ridge": Ridge(penalty=None),
    "normalised": Normalised(start=Percentile(50.0), cooling=COOLING, k=SHARE),
    "composed": Composed(cooling=COOLING),
    "metropolis": Metropolis(cooling=COOLING),
    "gradient_thresholds": GradientThresholds(cooling=COOLING),
    "gradient_weights": GradientWeights(cooling=COOLING),
    "recursive": RecursiveThresholds(),
}
CACHE = 2**27  # bytes of states kept between passes
COLUMNS = 256  # states whose spread is taken at a time
Targets = NDArray[np.generic]  # classes (n,), or real numbers (n, n_outputs)


class Named(NamedTuple):
    """A learner given by name with some settings changed; its step sizes fit the data, as without."""

    name: str
    settings: dict[str, Any]


class Units(NamedTuple):
    """The units in which a readout sees states: (V - shift) factor."""

    shift: NDArray[np.float32]
    factor: NDArray[np.float32]

    def apply(self, V: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return states in these units."""
        U = V - self.shift
        U *= self.factor
        return U


class Training(NamedTuple):
    """A learner and how far it has come."""

    learner: LearnerProtocol
    state: Any
    units: Units
    named: bool  # given by name, so that its step sizes may be changed
    seen: int = 0  # episodes so far
    following: Following | None = None  # what a stream has shown, if this is one

    def readout(self) -> Readout:
        """Return what has been learned so far."""
        return check_readout("learner", self.learner.readout(self.state), len(self.units.factor))

    def check(self) -> None:
        """Refuse a stream whose parts do not fit together, as those of a file may not: kernels check nothing."""
        if self.following is None:
            return
        _, starts, moments, on, off, memory = self.following
        n, followed = self.state.n_neurons, starts.shape[1]
        fits = self.units.factor.shape == (n,) and self.units.factor.dtype == np.float32 and followed in (0, n)
        fits = fits and len(moments.mean) == followed and {len(on.heights), len(off.heights)} <= {0, followed}
        fits = fits and self._remembers(memory)
        if not fits or (self.state.sides == 2 and len(on.heights) != len(off.heights)):
            raise ValueError("inconsistent stream")

    @property
    def past(self) -> State:
        """The state of a stream with the weights from before its last drift."""
        assert self.following is not None
        state: State = self.state
        memory = self.following.memory
        return state._replace(nets=state.nets._replace(W=memory.W, theta=memory.theta))

    def _remembers(self, memory: Memory) -> bool:
        """Tell whether a memory is of this network's rows and weights, or of none."""
        if len(memory.told) == 0:
            return True
        n_outputs, shapes = self.state.n_outputs, [part.shape for part in (memory.W, memory.theta)]
        fits = memory.states.shape[1] == self.state.n_neurons and shapes == [part.shape for part in self.state.nets[:2]]
        fits = fits and memory.shares.shape[1] == memory.W.shape[1]
        if isinstance(getattr(self.learner, "rule", None), Regression):
            return fits and memory.told.shape[1] == n_outputs
        return fits and memory.told.shape[1] == 1 and bool(((memory.told >= 0) & (memory.told < n_outputs)).all())

    def settled(self) -> Training:
        """Return a training with the steps that a stream has come to, which learns in passes from now on."""
        learner: Any = self.learner
        if self.following is None or self.following.starts.shape[1] == 0:
            return self._replace(following=None)
        mean, largest = self.following.counts[[MEAN, LARGEST]].tolist()
        if self.named and learner.step == "fixed":
            learner = _sized_by(learner, mean, largest)
        kappa = threshold_share(learner, self.state) * mean**2 / learner.rule.target**2
        return self._replace(learner=learner, state=self.state._replace(kappa=kappa), following=None)

    @property
    def closed_form(self) -> bool:
        """Whether one pass is enough, in which each episode has its weight."""
        return getattr(self.learner, "closed_form", False)

    def learn(
        self,
        V: NDArray[np.float32],
        targets: Targets,
        weights: NDArray[np.float64],
        n_episodes: int | None,
    ) -> tuple[Training, float]:
        """Learn from states in their units; return the new training, and the sum of correct choices or of costs.

        Steps cool as the learner's setting says, over so many episodes in all, if their number is known. A learner
        given by name that diverges takes the same episodes again with half the step. Only learners in closed form take
        `weights`; the others are shown an episode as often as its weight says.
        """
        learner: Any = self.learner
        extra = [weights] if self.closed_form else []
        for _ in range(HALVINGS):
            try:
                returned = self._paced(learner, n_episodes).update(self.state, V, targets, *extra)
                state, info = check_update("learner", returned, len(V))
                result = info.correct if targets.ndim == 1 else info.cost
                seen = self.seen + len(V)
                return self._replace(learner=learner, state=state, seen=seen), float(result.sum(dtype=np.float64))
            except Diverged:
                if not self.named:
                    raise
                learner = learner.slowed(0.5)
        raise Diverged("the learner", 0, f"after {HALVINGS} halvings of its step; use another, such as 'ridge'")

    def _paced(self, learner: Any, n_episodes: int | None) -> Any:
        if n_episodes is not None:
            return told_of_length(learner, n_episodes)
        return endless(learner) if self.named else learner


def endless(learner: Any) -> Any:
    """Return a learner for a stream: one that would cool to the end slows down with the number of episodes instead."""
    ends = getattr(learner, "cooling", None) in TO_THE_END and learner.horizon is None
    return replace(learner, cooling="power", horizon=PACE) if ends else learner


def by_name(learner: str | Named) -> LearnerProtocol:
    """Return the learner that a name stands for."""
    name, settings = learner if isinstance(learner, Named) else (learner, {})
    found: Any = BY_NAME[_checks.one_of("learner", name, tuple(BY_NAME))]
    changed: LearnerProtocol = replace(found, **settings)
    return changed


def pick(learner: Any, rule: Supervised | Regression) -> LearnerProtocol:
    """Return the learner with this name, or the one given, set to learn by this rule."""
    if isinstance(learner, (str, Named)):
        learner = by_name(learner)
    missing = [part for part in ("begin", "update", "readout") if not callable(getattr(learner, part, None))]
    if isinstance(learner, type) or missing:
        names, shown = ", ".join(map(repr, BY_NAME)), _checks.short_repr(learner)
        lacks = f", which lacks {', '.join(missing)}" if missing else ""
        raise ValueError(f"learner must be one of {names}, or a learner such as kn.Normalised(), not {shown}{lacks}")
    if isinstance(learner, Ridge):
        learner = replace(learner, intercept=True)
    has_rule = is_dataclass(learner) and "rule" in {field.name for field in fields(learner)}
    if has_rule and (isinstance(rule, Regression) or isinstance(learner.rule, Regression)):
        learner = replace(learner, rule=rule)
    if isinstance(rule, Regression) and not isinstance(getattr(learner, "rule", None), Regression):
        raise ValueError(
            f"learner must learn numbers in a regressor, but {_checks.short_repr(learner)} expects classes: a learner "
            "of your own that takes targets says so by an attribute, rule = kn.Regression()"
        )
    return learner


def two_sided(learner: Any) -> Any:
    """Return a learner for states on both sides of 0: thresholds on both, if it is given by name and without a code."""
    if not isinstance(learner, (str, Named)):
        return learner
    found: Any = by_name(learner)
    if not found.thresholds or not hasattr(found, "code"):
        return learner
    name, settings = learner if isinstance(learner, Named) else (learner, {})
    return Named(name, {"code": SIGNED, **settings})


def begin(
    learner: Any,
    V: NDArray[np.float32],
    n_outputs: int,
    rule: Supervised | Regression,
    seed: int,
    *,
    signed: bool,
    alike: tuple[bool, ...],
    constant: bool = False,
) -> Training:
    """Begin to learn with calibration states V; for `signed` states 0 does not mean rest.

    States are several things of different size, each of all neurons; for each, `alike` tells whether it has one unit in
    all neurons. If one of the states is `constant`, nobody needs an intercept.
    """
    chosen, named = pick(learner, rule), isinstance(learner, (str, Named))
    if constant and isinstance(chosen, Ridge):
        chosen = replace(chosen, intercept=False)
    units = _units(chosen, V, signed, alike)
    U = units.apply(V)
    if isinstance(chosen, Learner) and isinstance(chosen.start, str):
        chosen = changed(chosen, start=float(np.percentile(sized(U, chosen.code).astype(np.float64), 50.0)))
    if isinstance(chosen, Learner) and named and chosen.step == "fixed":
        chosen = _sized(chosen, U)
    return Training(chosen, chosen.begin(U, n_outputs, Source(seed, "estimator")), units, named)


def _units(learner: LearnerProtocol, V: NDArray[np.float32], signed: bool, alike: tuple[bool, ...]) -> Units:
    few = [V[:, first : first + COLUMNS] for first in range(0, V.shape[1], COLUMNS)]  # copies in double stay in caches
    mean, sd = (np.concatenate([of(part, axis=0, dtype=np.float64) for part in few]) for of in (np.mean, np.std))
    rms, shift = np.sqrt(mean**2 + sd**2), np.zeros_like(mean)
    own = np.where(sd > 1e-5 * rms, sd, rms)  # rms for a neuron that never varied
    factor = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0)
    if not getattr(learner, "thresholds", False):
        intercept, n_parts = getattr(learner, "intercept", False), len(alike)
        overall = np.sqrt(((sd if intercept else rms) ** 2).reshape(n_parts, -1).mean(axis=1))
        common = np.divide(1.0, overall, out=np.ones(n_parts), where=overall > 0)
        factor = np.where(np.repeat(alike, len(sd) // n_parts), np.repeat(common, len(sd) // n_parts), factor)
        shift = mean if intercept and not signed else shift
    return Units(shift.astype(np.float32), factor.astype(np.float32))


def _sized(learner: Learner, U: NDArray[np.float32]) -> Learner:
    """Return the learner with steps that are stable on these states."""
    size = sized(U, learner.code)
    x = np.maximum(size - initial_thresholds(learner.start, size), 0) if learner.thresholds else U
    norm2 = (x.astype(np.float64) ** 2).sum(axis=1)
    return _sized_by(learner, float(norm2.mean()), float(norm2.max()))


def _sized_by(learner: Learner, mean: float, largest: float) -> Learner:
    """Return the learner with steps for |x|^2 of this mean and this largest value."""
    size = largest if learner.batch == 1 else mean
    eta = 1.0 / size if size > 1.0 / _checks.LARGE else 1.0  # any will do where no state is above 0
    return changed(learner, eta_w=eta, eta_theta=eta * SHARE * mean**2 / learner.rule.target**2)


class States:
    """States by number, made on demand; those made first are kept, as many as the budget allows."""

    def __init__(self, make: Callable[[NDArray[np.intp]], NDArray[np.float32]], n: int, width: int) -> None:
        self.make = make
        self.slot = np.full(n, -1, np.intp)
        self.kept = np.empty((min(n, max(1, CACHE // (4 * width))), width), np.float32)
        self.used = 0

    def __getitem__(self, wanted: NDArray[np.intp]) -> NDArray[np.float32]:
        slots = self.slot[wanted]
        V, new = self.kept[slots], slots < 0
        if new.any():
            numbers = wanted[new]
            V[new] = made = self.make(numbers)
            self.keep(numbers, made)
        return V

    def keep(self, numbers: NDArray[np.intp], made: NDArray[np.float32]) -> None:
        """Keep states that were made, as long as there is room."""
        n = min(len(numbers), len(self.kept) - self.used)
        self.kept[self.used : self.used + n] = made[:n]
        self.slot[numbers[:n]] = np.arange(self.used, self.used + n)
        self.used += n


class Examples(NamedTuple):
    """What is learned from."""

    states: States
    targets: Targets
    counts: NDArray[np.float64]  # as how many series each counts
    weights: NDArray[np.float64]  # the same while learning, where its class may have a weight


def orders(n: int, weights: NDArray[np.float64] | None, epochs: int, seed: int, first: int) -> Iterator[Any]:
    """Yield the order of each pass, numbered from `first` on: every episode once, shuffled.

    With weights each episode appears as often as its weight says, the fractional part by chance.
    """
    for epoch in range(first, first + epochs):
        rng = _seeding.generator(seed, "estimator", "order", str(epoch))
        shown = np.arange(n)
        if weights is not None:
            shown = np.repeat(shown, repeats(weights, rng))
        yield rng.permutation(shown)
