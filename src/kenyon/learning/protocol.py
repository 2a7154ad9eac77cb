"""What a learner is: a configuration that begins a state, and updates it from hidden states and labels.

Any object with the three methods of `LearnerProtocol` can be trained, beside the learners of this package. A frozen
dataclass does best: its fields are then recorded with the results. It may rely on this:

- `begin` is called first, with the hidden states of some episodes to calibrate on. `train` passes the first 3000 (all
  of them, if there are fewer), which `update` gets again afterwards. Labels are not among what `begin` sees.
- `update` is called with episodes in order. They may be cut into calls anywhere: learning from 1000 episodes in one
  call or in any number of calls should end in the same state. `train` shows every episode once; estimators make several
  passes.
- `readout` may be called at any time from `begin` on, and changes nothing. What it returns also says how the learner
  chooses: with probabilities softmax(y / temperature), or the largest output if the temperature is 0. The accuracy of
  drawn choices depends on the size of the outputs, so a learner whose outputs have none in particular should set 0.
- Everything that changes is in the state. `update` returns a new one and leaves the old one as it was, since callers
  may go on from it again. A learner may be in use in several threads at once.
- Random numbers come from the `source` that `begin` is given, by purpose and by number of the episode or event. Then a
  run can be repeated to the bit, and no learner changes the numbers of another.
- A learner that cannot go on raises `Diverged(source.name, episode, message)`; `train` raises or records it.

These attributes are optional: `rule`, one of `Supervised`, `QLearning` and `Regression` (without it, classes are
expected, and `train` warns where outputs are so small that drawn choices are far less often right than the largest
output); `thresholds`, true if it reads x = relu(V - theta) (estimators then scale every neuron by itself; without it,
all of them by the same factor); `over(n_episodes)`, which returns a learner for a run of so many episodes, counted from
`begin`: whoever trains it says beforehand how long that will be, so that its steps may cool (`partial_fit`, which does
not know, says nothing).

So are these methods, for an agent in an environment, which is told no right class: `act(state, V)`, which returns an
action for each row of V and changes nothing, and `learn(state, V, actions, rewards)`, which returns the new state and
an `Info`, as `update` does. Nothing in this package calls them: they are for loops of your own.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks, _seeding
from kenyon.kernels.noise import random_uniforms
from kenyon.learning.rules import Regression
from kenyon.readout import Readout, completed


class Source(NamedTuple):
    """Random numbers of one learner, from the run's seed and its name: no learner disturbs another."""

    seed: int
    name: str

    def uniforms(self, purpose: str, first: int, n: int, each: int = 2) -> NDArray[np.float64]:
        """Return uniform numbers in [0, 1), two or less for each of the events `first`, `first + 1`, ...: (n, each)."""
        uniforms = np.empty((_checks.integer("n", n, 0), _checks.integer("each", each, 0, 2)))
        random_uniforms(self._key(purpose), _checks.integer("first", first, 0), uniforms)
        return uniforms

    def normals(self, purpose: str, first: int, n: int) -> NDArray[np.float64]:
        """Return a standard normal number for each of the events `first`, `first + 1`, ... (Box & Muller 1958)."""
        u = self.uniforms(purpose, first, n)
        return np.asarray(np.sqrt(-2.0 * np.log1p(-u[:, 0])) * np.cos(2.0 * np.pi * u[:, 1]))

    def generator(self, purpose: str, number: int) -> np.random.Generator:
        """Return a generator for event `number`."""
        low, high = self._key(purpose)
        number = _checks.integer("number", number, 0)
        return np.random.Generator(np.random.Philox(key=[low, high], counter=[0, 0, 0, number]))

    def _key(self, purpose: str) -> NDArray[np.uint32]:
        name, purpose = _checks.instance("name", self.name, str), _checks.instance("purpose", purpose, str)
        return _seeding.key(self.seed, "learner", name, purpose)


class Proposal(NamedTuple):
    """One Metropolis decision."""

    theta_g: float  # the current value
    proposed: float
    cost: float  # running cost of the current network
    proposed_cost: float
    accepted: bool


class Info(NamedTuple):
    """What happened in an update: logged, never needed to go on."""

    cost: NDArray[np.float32]  # (n_episodes,): E before the episode's own update; NaN if it has none
    correct: NDArray[np.float32]  # (n_episodes,): 1 where the choice was right, else 0; NaN if nothing was chosen
    proposals: Sequence[Proposal] = ()  # Metropolis decisions, if there were any


class LearnerProtocol(Protocol):
    """What a learner must have to be trained, by `train`, in an experiment or in an estimator."""

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> Any:
        """Return the first state, given the states of calibration episodes, shape (n, n_neurons).

        In a regression, `n_classes` is the number of outputs. Random numbers come from `source`.
        """

    def update(self, state: Any, V: NDArray[np.float32], labels: NDArray[Any]) -> tuple[Any, Info]:
        """Learn from episodes in order; return the new state and what happened, leaving `state` as it was.

        `V` holds their states, shape (n, n_neurons); `labels` their classes, shape (n,), or in a regression targets of
        shape (n, n_outputs).
        """

    def readout(self, state: Any) -> Readout:
        """Return what was learned so far; a `temperature` of 0 says that the largest output is chosen."""


class Diverged(ArithmeticError):
    """A learner cannot go on: its cost is no longer finite, say."""

    def __init__(self, name: str, episode: int, message: str) -> None:
        super().__init__(f"{name} diverged by episode {episode}: {message}")
        self.name, self.episode, self.message = name, episode, message


def check_update(name: str, returned: Any, n_episodes: int) -> tuple[Any, Info]:
    """Return the state and the `Info` that an update returned; a plain (cost, correct), or the like, becomes an `Info`.

    `name` is that of the learner in the error.
    """
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        raise ValueError(f"{name}.update must return a state and an Info, not {_checks.short_repr(returned)}")
    state, info = returned
    try:
        if hasattr(info, "cost") and hasattr(info, "correct"):
            cost, correct, proposals = info.cost, info.correct, getattr(info, "proposals", ())
        else:
            cost, correct, proposals = Info(*info)
        cost, correct = (_one_each(part, n_episodes) for part in (cost, correct))
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}.update must return a state and an Info whose `cost` and `correct` have one number for each of the "
            f"{n_episodes} episodes, not {_checks.short_repr(info)}"
        ) from None
    return state, Info(cost, correct, proposals)


def _one_each(value: Any, n: int) -> NDArray[np.float32]:
    """Return n numbers in single precision, given as many or one for all."""
    return np.broadcast_to(_checks.as_kernel_array(np.asarray(value), np.float32), n)


def check_readout(name: str, readout: Any, n_neurons: int, n_outputs: int | None = None, episode: int = 0) -> Readout:
    """Return a learner's readout with all of its parts; a plain (W, theta) becomes a `Readout`.

    `name` is that of the learner in the error. Weights that are not finite raise `Diverged`, by this `episode`.
    """
    try:
        found = completed(readout if isinstance(readout, Readout) else Readout(*readout))
    except (TypeError, ValueError) as error:
        why = f": {error}" if isinstance(readout, tuple) else f", not {_checks.short_repr(readout)}"
        raise ValueError(f"{name}.readout must return a Readout, such as kn.Readout(W, theta){why}") from None
    rows = len(found.W) if n_outputs is None else n_outputs
    if (len(found.W), found.n_neurons) != (rows, n_neurons):
        units = n_neurons * (found.W.shape[1] // found.n_neurons)
        wanted = f"({'n_classes' if n_outputs is None else rows}, {units})"
        raise ValueError(f"{name}.readout must return a Readout whose W has shape {wanted}, not {found.W.shape}")
    if not np.isfinite(found.W).all() or not np.isfinite(0.0 if found.bias is None else found.bias).all():
        raise Diverged(name, episode, "its weights are no longer finite; use smaller steps")
    return found


def told_of_length(learner: Any, n_episodes: int) -> Any:
    """Return a learner that knows how many episodes there will be, if it wants to."""
    return learner.over(n_episodes) if callable(getattr(learner, "over", None)) else learner


def check_learner(name: str, learner: Any) -> LearnerProtocol:
    """Return `learner` if it has what a learner must have."""
    such_as = f"{name} must be a learner, such as kn.Composed()"
    if isinstance(learner, type):
        raise ValueError(f"{such_as}, not a class: {_checks.short_repr(learner)}")
    missing = [part for part in ("begin", "update", "readout") if not callable(getattr(learner, part, None))]
    if missing:
        raise ValueError(f"{such_as}, but {_checks.short_repr(learner)} has no method {', '.join(missing)}")
    return learner  # type: ignore[no-any-return]


def check_learners(learners: Any) -> Mapping[str, LearnerProtocol]:
    """Validate the mapping of names to learners of classes."""
    if not isinstance(learners, Mapping) or not learners or not all(isinstance(name, str) for name in learners):
        raise ValueError(
            "learners must hold at least one learner under its name, such as {'composed': kn.Composed()}, "
            f"not {_checks.short_repr(learners)}"
        )
    for name, learner in learners.items():
        if isinstance(getattr(check_learner(f"learners[{name!r}]", learner), "rule", None), Regression):
            raise ValueError(f"learners[{name!r}] must learn classes, by Supervised() or QLearning(), not Regression()")
    return learners
