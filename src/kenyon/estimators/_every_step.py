"""Estimators with an output at every step: a series is followed from state to state, and each step is an example.

The readout sees z = [V, s, 1]: the states, the scaled inputs of the same step, and a constant. Steps are learned in
blocks of fixed size, and what does not fill one waits for more. So neither states, nor what is learned, nor predictions
depend on how a series is cut into calls, and memory does not grow with its length.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from kenyon import _checks
from kenyon.chunks import in_order
from kenyon.estimators import _training
from kenyon.estimators._base import TARGET, Estimator
from kenyon.estimators._displays import ThresholdsDisplay
from kenyon.estimators._encoding import Scaling, check_width, standardisation
from kenyon.estimators._reading import reading_of
from kenyon.estimators._series import Series
from kenyon.estimators._settings import LearnerSettings
from kenyon.estimators._training import Targets, Training
from kenyon.kernels.every_step import LINEAR, ON_OFF, Reading, follow, read
from kenyon.learning.protocol import LearnerProtocol
from kenyon.learning.ridge import Ridge
from kenyon.learning.rules import Regression, Supervised
from kenyon.reservoir import Reservoir
from kenyon.simulation import room_for_one
from kenyon.timing import LogUniform

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLOCK = 1024  # steps that are run, and learned, at a time
CALIBRATION = 500  # steps that units are taken from; in a stream, scales too


class StepEncoder(NamedTuple):
    """Steps to states: scaling and a reservoir."""

    scaling: Scaling
    reservoir: Reservoir

    def check(self) -> None:
        """Refuse parts that do not fit together, as those of a file may not: kernels check nothing."""
        for part in self.scaling:
            check_width(len(part), self.reservoir.n_inputs)
        if self.reservoir.delays is not None:
            raise ValueError("a reservoir with delays cannot be followed step by step")

    @property
    def width(self) -> int:
        """Number of states z."""
        return self.reservoir.n_neurons + self.reservoir.n_inputs + 1

    def steps(self, values: NDArray[Any], V: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
        """Yield z after every step of a series, a block at a time, from states V on, which move on in place."""
        reservoir = self.reservoir
        room = room_for_one(reservoir._networks, reservoir.n_inputs)
        for first in range(0, len(values), BLOCK):
            inputs = self.scaling.apply(values[first : first + BLOCK])
            Z = np.ones((len(inputs), self.width), np.float32)
            reservoir._check_finite(follow(reservoir._sorted, inputs, room, V, Z[:, : reservoir.n_neurons]))
            Z[:, reservoir.n_neurons : -1] = inputs
            yield Z


class Ends(NamedTuple):
    """Where series have got to."""

    V: NDArray[np.float32]  # (n_series, n_neurons)
    seen: NDArray[np.intp]  # (n_series,): steps so far

    def check(self) -> None:
        """Refuse arrays of a damaged file."""
        if self.V.ndim != 2 or self.V.dtype != np.float32 or self.seen.shape != (len(self.V),):
            raise ValueError("inconsistent ends of series")

    def copy(self) -> Ends:
        """Return these ends as arrays of their own."""
        return Ends(self.V.copy(), self.seen.copy())


@dataclass(eq=False, repr=False)
class EveryStep(LearnerSettings, Estimator, ABC):
    """What estimators with an output at every step share. Subclasses decide what comes out."""

    learner: str | LearnerProtocol = "ridge"
    _: KW_ONLY
    n_neurons: int = 500
    leak_rate: float | LogUniform | ArrayLike = 0.5
    spectral_radius: float = 1.0
    input_gain: float = 0.4
    bias_scale: float = 0.2
    activation: str = "tanh"
    washout: int = 100
    epochs: int = 1

    _rule: ClassVar[Supervised | Regression] = Regression(TARGET)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    @property
    def reservoir_(self) -> Reservoir:
        """The reservoir that series run through."""
        return self.encoder_.reservoir

    @property
    def theta_(self) -> NDArray[np.float64]:
        """Thresholds of what is read, in its own units: neurons, inputs and a constant; 0 without thresholds."""
        check_is_fitted(self)
        return self._reading().theta

    @property
    def _neuron_thresholds(self) -> NDArray[np.float64] | None:
        """Thresholds of the neurons, which are plotted; None if there are none."""
        if self._reading().code == LINEAR:
            return None
        sides = self.theta_.reshape(-1, self.encoder_.width)[:, : self.reservoir_.n_neurons]
        return sides[0] if (sides == sides[0]).all() else sides.ravel()

    def plot_thresholds(self, *, ax: Axes | None = None) -> ThresholdsDisplay:
        """Plot the distribution of thresholds over the neurons."""
        return ThresholdsDisplay.from_estimator(self, ax=ax)

    @abstractmethod
    def _learned(self, targets: Targets) -> Targets:
        """Return targets as the learner is told them."""

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """How many outputs the learner has."""

    def _check_parameters(self) -> None:
        self._threads()
        _checks.integer("washout", self.washout, 0)
        _checks.integer("epochs", self.epochs, 1)
        _training.pick(self.learner, self._rule)

    def _make_encoder(self, series: Series, seed: int | None = None) -> None:
        """Scale channels as these series suggest, and make a reservoir, if there is none of this seed yet."""
        scaling = standardisation(series, must_vary=False)
        if seed is not None:
            self._seed, n_inputs = seed, series.n_channels
            gain = _checks.real("input_gain", self.input_gain, 0.0, _checks.LARGE, open_low=True)
            reservoir = Reservoir(
                self.n_neurons,
                self.leak_rate,
                self.spectral_radius,
                seed,
                n_inputs=n_inputs,
                input_weights="gaussian",
                input_gain=gain / n_inputs**0.5,
                activation=self.activation,
                bias_scale=self.bias_scale,
            )
        self.encoder_ = StepEncoder(scaling, reservoir if seed is not None else self.reservoir_)
        self._restart()

    def _restart(self) -> None:
        """Forget what was learned, and where series have got to."""
        self._training: Training | None = None
        self._waiting: tuple[NDArray[np.float32], Targets] | None = None
        self._forget_reading()

    def _forget_reading(self) -> None:
        self.__dict__["_cached"] = None

    def _at_rest(self, n: int) -> Ends:
        return Ends(np.zeros((n, self.reservoir_.n_neurons), np.float32), np.zeros(n, np.intp))

    def _from(self, ends: str, n: int, continued: bool) -> Ends:
        """Return where n series begin: at rest, or where as many others have got to."""
        if not _checks.flag("continued", continued):
            return self._at_rest(n)
        found: Ends | None = getattr(self, ends, None)
        if found is None or len(found.seen) != n:
            before = "none" if found is None else len(found.seen)
            raise ValueError(f"continued=True needs as many series in X as there were before, {before}, not {n}")
        check_width(found.V.shape[1], self.reservoir_.n_neurons)
        return found.copy()

    def _take(self, series: list[NDArray[Any]], targets: list[Targets], ends: Ends, n_steps: int | None) -> None:
        """Learn from series one after another, from where they begin; n_steps is the number of all, if it is known."""
        for k, (values, told) in enumerate(zip(series, targets, strict=True)):
            done = 0
            for Z in self.encoder_.steps(values, ends.V[k]):
                first = min(len(Z), max(0, self.washout - int(ends.seen[k])))
                self._wait(Z[first:], told[done + first : done + len(Z)], n_steps)
                done += len(Z)
                ends.seen[k] += len(Z)
        self._learned_to, self._predicted_to = ends, ends.copy()
        self._forget_reading()

    def _wait(self, Z: NDArray[np.float32], targets: Targets, n_steps: int | None) -> None:
        """Let steps wait until they fill a block, then learn."""
        if self._waiting is not None:
            Z, targets = np.concatenate([self._waiting[0], Z]), np.concatenate([self._waiting[1], targets])
        if self._training is None and len(Z) >= CALIBRATION:
            self._training = self._begin(Z[:CALIBRATION])
        while self._training is not None and len(Z) >= BLOCK:
            self._training = self._after(self._training, Z[:BLOCK], targets[:BLOCK], n_steps)
            Z, targets = Z[BLOCK:], targets[BLOCK:]
        self._waiting = (Z.copy(), targets.copy()) if len(Z) else None

    def _begin(self, Z: NDArray[np.float32]) -> Training:
        learner = _training.two_sided(self.learner) if self.activation == "tanh" else self.learner
        begin = partial(_training.begin, signed=True, alike=(True,), constant=True)
        return begin(learner, Z, self._n_outputs, self._rule, self._seed)

    def _after(self, training: Training, Z: NDArray[np.float32], targets: Targets, n_steps: int | None) -> Training:
        told = self._learned(targets)
        weights: Any = None if isinstance(training.learner, Ridge) else np.ones(len(Z))
        return training.learn(training.units.apply(Z), told, weights, n_steps)[0]

    def _up_to_now(self, n_steps: int | None = None) -> Training:
        """Return what has been learned, the steps that wait included."""
        training = self._training
        if self._waiting is not None:
            training = training or self._begin(self._waiting[0])
            training = self._after(training, *self._waiting, n_steps)
        if training is None:
            raise NotFittedError(f"this {type(self).__name__} has seen no step beyond washout={self.washout} yet")
        return training

    def _learn_all(self, series: list[NDArray[Any]], targets: list[Targets], names: str) -> None:
        """Learn in as many passes as requested, each from rest."""
        lengths = np.array([len(values) for values in series])
        if self.washout >= lengths.min():
            k = int(lengths.argmin())
            which = f"{names}[{k}]" if len(series) > 1 else names
            raise ValueError(
                f"washout must be shorter than every series, not {self.washout}: {which} has {lengths[k]} steps to "
                "learn from"
            )
        closed_form = getattr(_training.pick(self.learner, self._rule), "closed_form", False)
        epochs = 1 if closed_form else self.epochs
        n_steps = epochs * int((lengths - self.washout).sum())
        for _ in range(epochs):
            self._take(series, targets, self._at_rest(len(series)), n_steps)
        self._training, self._waiting = self._up_to_now(n_steps), None

    def _reading(self) -> Reading:
        """Return what was learned, as kernels read it; made once."""
        found: Reading | None = self.__dict__.get("_cached")
        if found is None:
            found = reading_of(self._up_to_now())
            check_width(len(found.theta) // (2 if found.code == ON_OFF else 1), self.encoder_.width)
            check_width(len(found.bias), self._n_outputs)
            self.__dict__["_cached"] = found
        return found

    def _outputs(self, series: list[NDArray[Any]], ends: Ends, reading: Reading) -> list[NDArray[np.float64]]:
        """Return y at every step of series, which move on from `ends`."""

        def job(k: int) -> NDArray[np.float64]:
            y, done = np.empty((len(series[k]), len(reading.bias))), 0
            for Z in self.encoder_.steps(series[k], ends.V[k]):
                read(reading, Z, y[done : done + len(Z)])
                done += len(Z)
            ends.seen[k] += done
            return y

        return list(in_order(job, range(len(series)), self._threads()))
