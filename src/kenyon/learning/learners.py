"""The learners: one core with three switches, under five names.

| name               | readout of | thresholds                                        | step       |
|--------------------|------------|---------------------------------------------------|------------|
| GradientWeights    | V          | none                                              | fixed      |
| GradientThresholds | x          | local: one per neuron, by gradient                | fixed      |
| Metropolis         | x          | global: one for all, by Metropolis                | fixed      |
| Composed           | x          | theta_g + theta_i: global and local together      | fixed      |
| Normalised         | x          | local, from a percentile of each neuron's states  | normalised |
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks
from kenyon.kernels.learning import Step, act, episode_log, learn, networks
from kenyon.kernels.search import propose
from kenyon.learning import cooling, metropolis
from kenyon.learning.failures import check_costs, check_silence
from kenyon.learning.metropolis import NONE_DUE
from kenyon.learning.protocol import Info, Source
from kenyon.learning.rules import QLearning, Regression, Schedule, Supervised
from kenyon.learning.state import ROWS, Percentile, State, fixed_start, unit_thresholds
from kenyon.learning.switches import DEPENDENT, Default, acting, settle
from kenyon.readout import CODES, ON_OFF, SIGNED, Readout, encoded

NO_TARGETS = np.zeros((0, 0), np.float32)  # for the kernel, when labels are classes
HALVINGS = 20  # how often callers halve the steps of a learner that diverges before they give up
WORDS = {  # what these settings may say
    "batch_cost": ("mean", "sum"),
    "average_start": ("first", "zero"),
    "acting": ("current", "both"),
    "scaling": ("centred", "standardised"),
    "cooling": cooling.KINDS,
    "code": CODES,
}
COOLED = 0.08  # k of steps that cool, times the root of the number of units
PER_BLOCK = 64  # choices whose random numbers are made at a time for calls with a few of them
CALIBRATION_EPISODES = 3000  # episodes that percentiles, means and the scale of |x|^2 are taken from


def _number(name: str, value: Any) -> float | int:
    """Return a setting as a plain number, refusing it if it is out of bounds."""
    if name in ("period", "horizon"):
        return _checks.integer(name, value, 1, 2**31 - 1)
    return _checks.real(name, value, 0.0, 2.0 if name == "mu" else _checks.LARGE, open_low=name == "mu")


@dataclass(frozen=True, kw_only=True)
class Learner:
    """A readout that learns online. The five named learners differ only in their defaults.

    Settings that belong to a step, to thresholds or to a search are None in a learner without it, and refused there.

    Parameters
    ----------
    eta_w, eta_theta
        Learning rates of weights and, if `local`, of thresholds, with fixed steps; by default 0.0018 and 0.00018.
    batch
        Episodes per gradient step.
    batch_cost
        With fixed steps, the cost of a batch, whose gradient is followed and which a search compares: "mean", the
        default, or "sum" over its episodes. A normalised step is sized by the batch itself: mean of numerators over
        mean of denominators.
    rule
        What to learn from: `Supervised()`, the right class; `Regression()`, real numbers; or `QLearning()`, the reward
        of the action taken.
    thresholds
        Read x = relu(V - theta); otherwise V itself.
    local
        Learn a threshold per neuron by gradient descent.
    search
        Search for thresholds by Metropolis: "global", one for all neurons; "per_neuron", each perturbed independently;
        or None.
    sigma, period, beta
        The search's step size sigma_M, the number M of batches between decisions, and its inverse temperature; by
        default 0.05, 100 and 4. Prelearning searches too.
    average_start
        Of a search: the running averages of costs start at the "first" cost, as by default, or at "zero".
    acting
        Of a search by reward: "current", the default, only the current network acts, and both learn from what it was
        told; or "both", the proposed one acts too and is told of its own action.
    step
        "fixed", or "normalised": sized so that a step multiplies the error of its episode by 1 - mu.
    mu, k
        Of the normalised step: the share of an error that one step removes, and, if `local`, the share of thresholds
        in it; by default 0.5 and 0.005. Where steps cool, k is 0.08 / sqrt(number of units) by default.
    start
        Initial thresholds: a number, by default 0; `Percentile(q)`; or what `prelearn` finds: "prelearned", by its
        method "resets", or "walked", by its method "walks".
    scaling
        Without thresholds, read V "centred" or "standardised" by the calibration episodes; or None.
    code
        With thresholds, read each neuron once, "on", as the paper does, x = relu(V - theta); or twice, "on_off": also
        x = relu(theta_off - V), with a threshold and weights of its own. Where `start` is a percentile q, theta_off
        starts at percentile 100 - q; where it is a number, with as many states below it as there are above `start`. For
        states on both sides of 0, as those of a tanh reservoir, "signed": x = sign(V) relu(|V| - theta).
    cooling
        Steps of gradients shrink: to nearly 0 at the end of the episodes, as the share that is left ("linear") or its
        square root ("sqrt"); as 1 / sqrt(1 + episode / horizon) if nobody knows how many there will be ("power"); or
        not (None).
    horizon
        Of cooling: the number of episodes in all, which `train` and estimators fill in; for "power", after how many
        the step has fallen to 0.7, by default 10,000.
    """

    eta_w: float | None = None
    eta_theta: float | None = None
    batch: int = 1
    batch_cost: str | None = None
    rule: Supervised | Regression | QLearning = Supervised()  # noqa: RUF009 (frozen, and so safe to share)
    thresholds: bool = True
    local: bool = False
    search: str | None = None
    sigma: float | None = None
    period: int | None = None
    beta: float | None = None
    average_start: str | None = None
    acting: str | None = None
    step: str = "fixed"
    mu: float | None = None
    k: float | None = None
    start: float | str | Percentile | None = None
    scaling: str | None = None
    code: str | None = None
    cooling: str | None = None
    horizon: int | None = None

    def __post_init__(self) -> None:
        self._check_switches()
        settle(self)
        self._check_numbers()

    def _check_switches(self) -> None:
        for name in ("thresholds", "local"):
            _checks.set_fields(self, **{name: _checks.flag(name, getattr(self, name))})
        if not isinstance(self.rule, (Supervised, Regression, QLearning)):
            raise ValueError(
                f"rule must be Supervised(), Regression() or QLearning(), not {_checks.short_repr(self.rule)}"
            )
        _checks.one_of("step", self.step, ("fixed", "normalised"))
        if self.search is not None:
            _checks.one_of("search", self.search, ("global", "per_neuron"))
        for name, allowed in WORDS.items():
            if getattr(self, name) is not None:
                _checks.one_of(name, getattr(self, name), allowed)
        if not self.thresholds and (self.local or self.search):
            raise ValueError("local and search need thresholds=True: leave them out with thresholds=False")

    def _check_numbers(self) -> None:
        _checks.set_fields(self, batch=_checks.integer("batch", self.batch, 1, 2**31 - 1))
        for name in ("eta_w", "eta_theta", "mu", "k", "sigma", "period", "beta", "horizon"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Default):
                _checks.set_fields(self, **{name: _number(name, value)})
        if isinstance(self.start, str):
            _checks.one_of("start", self.start, ("prelearned", "walked"))
        elif self.start is not None and not isinstance(self.start, (Percentile, Default)):
            _checks.set_fields(self, start=fixed_start(self.start, "a Percentile(q) or 'prelearned'"))

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> State:
        """Return the first state: W = 0, thresholds as `start` says. `V` holds the calibration episodes."""
        V, source = _checks.calibration(V), _checks.instance("source", source, Source)
        source.uniforms("choice", 0, 0)  # refuses a seed or a name that is none
        n_classes = _checks.integer("n_classes", n_classes, 1 if isinstance(self.rule, Regression) else 2)
        theta = unit_thresholds(self.start, V, self.code)
        theta_g = float(self.start) if isinstance(self.start, (int, float)) else 0.0
        nets = networks(2 if self.search else 1, max(ROWS, n_classes), theta)
        sides = 2 if self.code == ON_OFF else 1
        state = State(nets, V.shape[1], n_classes, theta_g, theta_g, 0, 0, 0.0, *self._scaling(V), source, sides)
        state = state._replace(kappa=self._kappa(V, state))
        return self._propose(state) if self.search else state

    def update(self, state: State, V: NDArray[np.float32], labels: NDArray[np.generic]) -> tuple[State, Info]:
        """Learn from episodes in order; return the new state and what happened. `state` is left as it was.

        `labels` are classes; under `Regression`, targets of shape (n, n_outputs).
        """
        V, n_choosing = _checks.states(V, self._own(state).n_neurons), self._n_choosing
        labels, targets = self._targets(state, labels, len(V))
        state, info = self._learn(state, V, labels, targets, self.kernel_step(state), n_choosing)
        return state, info if n_choosing else info._replace(correct=np.full(len(V), np.nan, np.float32))

    def act(self, state: State, V: NDArray[np.float32]) -> NDArray[np.intp]:
        """Return an action for each row of `V`, drawn from softmax(y / temperature) as `update` would draw it.

        The random numbers belong to the episodes that come next, so the same state gives the same actions again. All
        rows are read with the weights of this state. Under `Supervised` the actions are the classes chosen.
        """
        if isinstance(self.rule, Regression):
            raise ValueError("rule must be QLearning() or Supervised() for a learner to act, not Regression()")
        V = _checks.single("states", _checks.states(V, self._own(state).n_neurons))
        actions, code = np.empty(len(V), np.intp), (bool(self.thresholds), state.sides == 2, self.code == SIGNED)
        act(*code, tuple(state.nets), V, state.scaling, *self._choices(state, len(V), 1), actions)
        return actions

    def learn(
        self, state: State, V: NDArray[np.float32], actions: NDArray[np.integer], rewards: NDArray[np.number]
    ) -> tuple[State, Info]:
        """Learn from actions taken and rewards received, in order: what `update` does where no right class is known.

        `actions` come from `act` (or from elsewhere), and `rewards` are any real numbers. Return the new state, and an
        `Info` whose `correct` is NaN, as nobody says what was right; `state` is left as it was.

        With `act` before it, this gives the numbers of `update`, as long as no call goes beyond the end of a batch:
        `act` chooses for all of its rows before anything is learned from them.
        """
        if not isinstance(self.rule, QLearning):
            raise ValueError(f"rule must be QLearning() to learn by reward, not {_checks.short_repr(self.rule)}")
        if self.acting == "both":
            raise ValueError("acting must be 'current' to learn by reward: only one network's action was taken")
        V = _checks.states(V, self._own(state).n_neurons)
        actions = _checks.labels(actions, len(V), state.n_outputs, "actions")
        told = _checks.rewards(rewards, len(V)).reshape(-1, 1)
        state, info = self._learn(state, V, actions, told, self.kernel_step(state)._replace(told=True), 0)
        return state, info._replace(correct=np.full(len(V), np.nan, np.float32))

    def _learn(
        self,
        state: State,
        V: NDArray[np.float32],
        labels: NDArray[np.intp],
        targets: NDArray[np.float32],
        step: Step,
        n_choosing: int,
    ) -> tuple[State, Info]:
        """Learn from episodes in order, and decide on proposals between them; arguments as the kernel takes them.

        The kernel stops where something is not well; if no error says what, it goes on.
        """
        nets, seen, n = state.nets.copy(self.batch, len(V)), state.episode, len(V)
        due = metropolis.due(state, self.search, self.sigma or 0.0, self.stride, n) if self.search else NONE_DUE
        cooled, out = cooling.factors(self.cooling, self.horizon, seen, n), episode_log(len(nets.W), n)
        given = labels, targets, *self._choices(state, n, n_choosing), cooled, due.table, due.shifts, seen
        done, well, silent = 0, False, state.silent > 0
        while not well:
            done, well, active = learn(tuple(step), tuple(nets), V, state.scaling, *given, done, tuple(out), 0)
            silent = silent or not active
            if not well:
                self._labels(labels, n, nets.W.shape[1])
                first = max(0, done - 1 - (seen + done - 1) % self.stride) if self.search else 0
                check_costs(self, state._replace(nets=nets, episode=seen + done), V, out.part(first, done))
        proposals, theta_g, proposed = due.proposals(state.theta_g, state.proposed)
        fixed = state.kappa, state.shift, state.scale, state.source, state.sides
        state = State(nets, state.n_neurons, state.n_outputs, theta_g, proposed, seen + n, state.silent, *fixed)
        if silent:
            state = check_silence(self, state, V, out.norm2[0])
        return state, Info(out.cost[0], out.correct[0], proposals)

    def _choices(self, state: State, n: int, n_choosing: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the random numbers of the next n choices, of as many networks, and their temperatures."""
        (number, first), fixed = divmod(state.episode, PER_BLOCK), self._temperature
        if n <= PER_BLOCK - first:
            uniforms = _block(state.source, number, n_choosing)[first : first + n]
        else:
            uniforms = state.source.uniforms("choice", state.episode, n, n_choosing)
        return uniforms, self.rule.temperatures(state.episode, n) if fixed is None else fixed

    @cached_property
    def _temperature(self) -> NDArray[np.float64] | None:
        """That of all choices, unless it has a schedule."""
        changes = isinstance(getattr(self.rule, "temperature", None), Schedule)
        return None if changes else self.rule.temperatures(0, 1)

    def over(self, n_episodes: int) -> Self:
        """Return this learner for a run of so many episodes: its horizon, if it cools to the end and has none."""
        if self.cooling not in cooling.TO_THE_END or self.horizon is not None:
            return self
        return replace(self, horizon=_checks.integer("n_episodes", n_episodes, 1))

    def slowed(self, factor: float) -> Self:
        """Return this learner with all of its step sizes multiplied by `factor`, from 0 to 1."""
        factor = _checks.real("factor", factor, 0.0, 1.0, open_low=True)
        rates = {name: getattr(self, name) for name in ("eta_w", "eta_theta", "mu")}
        return replace(self, **{name: rate * factor for name, rate in rates.items() if rate is not None})

    def readout(self, state: State) -> Readout:
        """Return what was learned so far: the current network, not the proposed one."""
        state = self._own(state)
        W, theta = _units(state)
        temperature = float(self.rule.temperatures(state.episode, 1)[0])
        return Readout(W, theta, self.thresholds, state.shift, state.scale, temperature, code=self.code or CODES[0])

    def _own(self, state: State) -> State:
        """Return the state if this learner can go on from it."""
        if len(_checks.instance("state", state, State).nets.W) != (2 if self.search else 1):
            raise ValueError(f"state must come from a learner {'with' if self.search else 'without'} a search")
        if state.sides != (2 if self.code == ON_OFF else 1):
            raise ValueError(f"state must come from a learner with code={self.code!r}")
        return state

    @cached_property
    def _n_choosing(self) -> int:
        """How many of the networks choose: the current one, the proposed one if both act; none in regression."""
        if isinstance(self.rule, Regression):
            return 0
        return 2 if self.acting == "both" else 1

    @property
    def _pair_by_reward(self) -> bool:
        return self.search is not None and isinstance(self.rule, QLearning)

    def _targets(
        self, state: State, labels: NDArray[np.generic], n: int
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return labels and targets as the kernel takes them."""
        if not isinstance(self.rule, Regression):
            return self._labels(labels, n, None), NO_TARGETS  # the kernel looks whether they are classes
        targets = np.zeros((n, state.nets.W.shape[1]), np.float32)
        targets[:, : state.n_outputs] = _checks.targets(labels, n, state.n_outputs)
        return np.zeros(n, np.intp), targets

    def _labels(self, labels: NDArray[np.generic], n: int, n_classes: int | None) -> NDArray[np.intp]:
        try:
            return _checks.labels(labels, n, n_classes)
        except ValueError as error:
            told = "; from actions and their rewards, learn by `learn`" if isinstance(self.rule, QLearning) else ""
            raise ValueError(f"{error}{told}") from None

    def kernel_step(self, state: State) -> Step:
        """Return the switches and sizes of this learner's steps as the kernel takes them."""
        kappa = self._own(state).kappa
        return _with_kappa(self._switches, kappa) if self._switches.normalised else self._switches

    @cached_property
    def _switches(self) -> Step:
        """That of a learner whose thresholds have no share in a normalised step."""
        normalised = self.step == "normalised"
        return Step(
            bool(self.thresholds),
            self.code == ON_OFF,
            self.code == SIGNED,
            bool(self.local),
            normalised,
            np.float32((self.mu if normalised else self.eta_w) or 0.0),
            np.float32(self.eta_theta or 0.0),
            self.batch,
            self.batch_cost == "sum",
            isinstance(self.rule, QLearning),
            self._pair_by_reward and self.acting == "current",
            False,
            isinstance(self.rule, Regression),
            np.float32(self.rule.target),
            1.0 / (self.period or DEPENDENT["period"].default),  # without a search, nothing reads the average
            self.stride if self.search else 0,
            float(self.beta or 0.0),
            self.average_start == "zero",
        )

    @property
    def stride(self) -> int:
        """Episodes between two decisions of a search."""
        return self.batch * (self.period or 1)

    def _kappa(self, V: NDArray[np.float32], state: State) -> float:
        """Return k S2^2 / R^2: the exchange rate between thresholds and weights."""
        share = threshold_share(self, state)
        if share == 0.0:
            return 0.0
        theta, sizes = _units(state)[1], np.empty(len(V))
        for first in range(0, len(V), 64):  # whose features fit into a cache
            some = slice(first, first + 64)
            sizes[some] = (encoded(V[some], theta, self.code or CODES[0]).astype(np.float64) ** 2).sum(axis=1)
        S2 = float(sizes.mean())
        kappa = share * S2**2 / self.rule.target**2
        return min(kappa, float(np.finfo(np.float32).max))  # states this large make learning diverge, which is reported

    def _scaling(self, V: NDArray[np.float32]) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]:
        if self.scaling is None:
            return None, None
        shift = V.mean(axis=0, dtype=np.float64).astype(np.float32)
        if self.scaling == "centred":
            return shift, None
        sd = V.std(axis=0, dtype=np.float64)
        return shift, np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > np.finfo(np.float32).tiny).astype(np.float32)

    def _propose(self, state: State) -> State:
        """Make the first proposal of a search."""
        shift, (move,) = metropolis.shifts(state, self.search or "global", self.sigma or 0.0, 0, 1)
        propose(state.nets.W, state.nets.theta, state.nets.running, 0, shift[0], self._switches.from_zero)
        return state._replace(proposed=state.theta_g + move)


@lru_cache
def _block(source: Source, number: int, each: int) -> NDArray[np.float64]:
    """Return the random numbers of the choices in a block of episodes, which is kept for the next call."""
    return source.uniforms("choice", number * PER_BLOCK, PER_BLOCK, each)


@lru_cache
def _with_kappa(step: Step, kappa: float) -> Step:
    return step._replace(rate_theta=np.float32(kappa))


def threshold_share(learner: Learner, state: State) -> float:
    """Return the share k of thresholds in a normalised step; 0 where they do not learn by it.

    With n active units a step moves a threshold by about mu k sqrt(n) times the size of x. So if nobody gives a k, it
    falls as 1 / sqrt(n) where steps cool, and thresholds move equally fast in networks of all sizes.
    """
    if not learner.local or learner.step != "normalised":
        return 0.0
    return float(COOLED / np.sqrt(state.n_neurons * state.sides)) if learner.k is None else learner.k


def _units(state: State) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return weights and thresholds of the current network's units, those of both sides one after the other."""
    W = np.concatenate([state.nets.W[0, : state.n_outputs, side] for side in state.places], axis=1)
    on, *off = (state.nets.theta[0, side] for side in state.places)
    return W, np.concatenate([on, *(-side for side in off)])


Kind = TypeVar("Kind", bound=Learner)


def changed(learner: Kind, **changes: Any) -> Kind:
    """Return a learner with other settings, and without those of its own that would then do nothing."""
    own = {field.name: getattr(learner, field.name) for field in fields(learner) if field.init}
    return type(learner)(**acting({**own, **changes}))


@dataclass(frozen=True, kw_only=True)
class GradientWeights(Learner):
    """GD_W: gradient descent on the weights of a plain readout of V. Parameters as in `Learner`."""

    batch: int = 100
    thresholds: bool = False


@dataclass(frozen=True, kw_only=True)
class GradientThresholds(Learner):
    """GD_theta: gradient descent on weights and on a threshold per neuron. Parameters as in `Learner`."""

    local: bool = True


@dataclass(frozen=True, kw_only=True)
class Metropolis(Learner):
    """Gradient descent on the weights, Metropolis search for one common threshold. Parameters as in `Learner`."""

    search: str | None = "global"
    start: float | str | Percentile | None = "prelearned"


@dataclass(frozen=True, kw_only=True)
class Composed(Learner):
    """Both: theta_g by Metropolis and theta_i by gradient descent. Parameters as in `Learner`."""

    local: bool = True
    search: str | None = "global"
    start: float | str | Percentile | None = "prelearned"


@dataclass(frozen=True, kw_only=True)
class Normalised(Learner):
    """Our own: normalised steps; thresholds start at a percentile and learn by gradient. Parameters as in `Learner`."""

    local: bool = True
    step: str = "normalised"
    start: float | str | Percentile | None = Percentile(85.0)  # noqa: RUF009 (frozen, and so safe to share)
