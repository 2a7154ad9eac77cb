"""What all learning estimators share: fit, partial_fit, early stopping, measures, saving and plots."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kenyon import _checks, metrics
from kenyon.estimators import _training
from kenyon.estimators._displays import CodeDisplay, LearningCurveDisplay, ThresholdsDisplay
from kenyon.estimators._series import Series, chunks, naming
from kenyon.estimators._training import Examples, States, Targets, Training
from kenyon.learning.protocol import LearnerProtocol
from kenyon.learning.rules import Regression, Supervised
from kenyon.progress import show_progress
from kenyon.readout import Readout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CALIBRATION_SERIES = 1000  # series that units and starts are taken from
TARGET = 10.0  # size of the outputs wanted
Indices = NDArray[np.intp]
Weights = NDArray[np.float64] | None


def random_numbers(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    """Return the random number generator that `random_state` stands for."""
    with naming("random_state"):
        return check_random_state(random_state)


@dataclass(eq=False, repr=False)
class Estimator(BaseEstimator):
    """An estimator that simulates in threads, has a seed and can be saved."""

    _: KW_ONLY
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this estimator to a file, without pickle; `kenyon.load` reads it.

        Parameters
        ----------
        path
            The file's name; an existing file is replaced atomically.
        """
        from kenyon.saving import save

        check_is_fitted(self)
        save(path, self)

    def _threads(self) -> int:
        if self.n_jobs is not None and _checks.integer("n_jobs", self.n_jobs, -_checks.WHOLE) == 0:
            raise ValueError("n_jobs must be a number of threads, -1 for all cores or None, not 0")
        return int(effective_n_jobs(self.n_jobs))

    def _new_seed(self) -> int:
        return int(random_numbers(self.random_state).randint(2**31 - 1))

    def _calibrate(self, series: Series, seed: int) -> NDArray[np.float32]:
        """Return the states of some of the series, which units and thresholds are taken from."""
        some = np.sort(np.random.default_rng(seed).permutation(len(series))[:CALIBRATION_SERIES])
        return self._encode(series.take(some))

    def _encode(self, series: Series) -> NDArray[np.float32]:
        states = [self.encoder_.states(series.take(part), self._threads()) for part in chunks(len(series))]
        return np.concatenate(states)


@dataclass(eq=False, repr=False)
class LearningEstimator(Estimator, ABC):
    """An estimator that learns. Subclasses decide what goes in and what comes out."""

    learner: str | LearnerProtocol = "ridge"
    _: KW_ONLY
    epochs: int = 40
    early_stopping: bool = False
    validation_fraction: float = 0.1
    patience: int = 5
    warm_start: bool = False
    verbose: int | bool = 0

    _rule: ClassVar[Supervised | Regression] = Supervised(TARGET)  # what it learns from; regressors have another
    _signed = False  # whether states may be negative, and 0 has no special meaning

    @abstractmethod
    def _series(self, X: Any, y: Any = None, *, reset: bool) -> Series:
        """Return the validated input; y, if given, must have the same index."""

    @abstractmethod
    def _encoder(self, series: Series, seed: int) -> Any:
        """Return what turns series into states."""

    @abstractmethod
    def _score(self, y: NDArray[np.float64], targets: Targets) -> float:
        """Return the score of outputs."""

    @property
    def _continues(self) -> bool:
        return self.warm_start and hasattr(self, "_training")

    def _check_parameters(self) -> None:
        for name in ("early_stopping", "warm_start"):
            _checks.flag(name, getattr(self, name))
        if not isinstance(self.verbose, (bool, np.bool_)):
            _checks.integer("verbose", self.verbose, 0)
        self._threads()
        _checks.integer("epochs", self.epochs, 1)
        _checks.integer("patience", self.patience, 1)
        fraction = _checks.real("validation_fraction", self.validation_fraction, 0.0, open_low=True)
        if fraction >= 1:
            raise ValueError(f"validation_fraction must be below 1, not {fraction}")
        _training.pick(self.learner, self._rule)

    def _begin(self, series: Series, n_outputs: int) -> None:
        """Calibrate on these series, and start with empty weights."""
        self._seed = self._new_seed()
        self.encoder_ = self._encoder(series, self._seed)
        V = self._calibrate(series, self._seed)
        self._training = _training.begin(self.learner, V, n_outputs, self._rule, self._seed, signed=self._signed)
        self._passes, self.learning_curve_ = 0, {"epoch": np.empty(0, int), "training": np.empty(0)}

    def _states(self, series: Series) -> States:
        units, threads = self._training.units, self._threads()

        def make(numbers: Indices) -> NDArray[np.float32]:
            return units.apply(self.encoder_.states(series.take(numbers), threads))

        return States(make, len(series), self.encoder_.width)

    def _held_out(self, targets: Targets) -> tuple[Indices, Indices]:
        """Return the indices of the series to learn from, and of those held out: at least one of each class."""
        n, regression = len(targets), isinstance(self._rule, Regression)
        least = 1 if regression else len(self.classes_)
        size = max(least, round(self.validation_fraction * n))
        if size > n - least:
            raise ValueError(f"early_stopping holds out {size} of {n} series, but at least {least} must be left")
        split = (ShuffleSplit if regression else StratifiedShuffleSplit)(1, test_size=size, random_state=self._seed)
        seen, held = next(split.split(np.zeros(n), targets))
        return np.sort(seen), np.sort(held)

    def _learn(self, series: Series, targets: Targets, weights: Weights, n_outputs: int) -> None:
        """Learn in as many passes as requested, or until the score on a held-out part stops improving."""
        if not self._continues:
            self._begin(series, n_outputs)
        training, seen, held = self._training, np.arange(len(series)), None
        epochs = 1 if training.closed_form else self.epochs
        if self.early_stopping and not training.closed_form:
            seen, held = self._held_out(targets)
        data = Examples(self._states(series), targets, None if weights is None else weights / weights[seen].mean())
        best, curve, scores = training, [], []
        with show_progress(epochs * len(seen), bool(self.verbose)) as advance:
            for epoch, order in enumerate(self._orders(data, seen, epochs)):
                cooling = min(1.0, 2.0 * (1.0 - epoch / epochs))  # smaller steps in the second half
                training, progress = self._pass(training, data, seen[order], cooling)
                curve.append(progress)
                advance(len(seen))
                if held is not None:
                    scores.append(self._validate(training, data, held))
                if held is None or int(np.argmax(scores)) == epoch:
                    best = training
                elif epoch - int(np.argmax(scores)) >= self.patience:
                    break
        self._finish(best, data, seen, curve, scores)

    def _partial(self, series: Series, targets: Targets, weights: Weights, n_outputs: int) -> None:
        """Learn once from these series, in their order."""
        if not hasattr(self, "_training"):
            self._begin(series, n_outputs)
        data, seen = Examples(self._states(series), targets, weights), np.arange(len(series))
        training, progress = self._pass(self._training, data, np.sort(next(self._orders(data, seen, 1))))
        self._finish(training, data, seen, [progress], [])

    def _orders(self, data: Examples, seen: Indices, epochs: int) -> Iterator[Indices]:
        """Yield the order of each pass; learners in closed form take weights, others see series more or less often."""
        repeats = None if data.weights is None or self._training.closed_form else data.weights[seen]
        return _training.orders(len(seen), repeats, epochs, self._seed, self._passes)

    def _pass(
        self, training: Training, data: Examples, numbers: Indices, cooling: float = 1.0
    ) -> tuple[Training, float]:
        """Learn from the series with these numbers; return their score too, each before its own update."""
        total = 0.0
        for part in chunks(len(numbers)):
            now = numbers[part]
            weights = None if data.weights is None else data.weights[now]
            training, result = training.learn(data.states[now], data.targets[now], cooling, weights)
            total += result
        if isinstance(self._rule, Regression):
            square = float((data.targets[numbers].astype(np.float64) ** 2).sum())
            return training, 1.0 - total / max(square, np.finfo(float).tiny)
        return training, total / max(1, len(numbers))

    def _validate(self, training: Training, data: Examples, numbers: Indices) -> float:
        readout = training.readout()
        y = [readout_outputs(readout, data.states[numbers[part]]) for part in chunks(len(numbers))]
        return self._score(np.concatenate(y), data.targets[numbers])

    def _finish(
        self, training: Training, data: Examples, seen: Indices, curve: list[float], scores: list[float]
    ) -> None:
        """Keep what was learned, and measure it on the series it was learned from."""
        self._training, self.readout_ = training, training.readout()
        first = self._passes
        self._passes += len(curve)
        self.n_epochs_ = len(curve)
        units = training.units
        size = np.where(units.factor > 0, units.factor, 1).astype(np.float64)
        self.theta_ = self.readout_.theta / size + units.shift * self.readout_.thresholds
        final = self._measure(data, seen)
        if np.isnan(curve[-1]):  # the learner makes no choices while it learns
            curve[-1] = final
        old = self.learning_curve_
        self.learning_curve_ = {
            "epoch": np.concatenate([old["epoch"], np.arange(first + 1, self._passes + 1)]),
            "training": np.concatenate([old["training"], curve]),
        }
        if scores:
            self.learning_curve_["validation"] = np.concatenate([old.get("validation", np.full(first, np.nan)), scores])

    def _measure(self, data: Examples, seen: Indices) -> float:
        """Set the coding level and, with classes, the specificity; return the score. All of it on `seen`."""
        units, readout = self._training.units, self.readout_
        rest = units.apply(np.zeros_like(units.shift)[None])
        n_classes = 0 if isinstance(self._rule, Regression) else len(readout.W)
        active, counts, outputs = 0.0, np.zeros((self.encoder_.width, n_classes)), []
        for part in chunks(len(seen)):
            U = data.states[seen[part]]
            on = readout.features(U) > 0 if readout.thresholds else rest != U
            active += float(on.sum())
            if n_classes:
                counts += metrics.class_sums(on, data.targets[seen[part]].astype(np.intp), n_classes)
            outputs.append(readout_outputs(readout, U))
        self.coding_level_ = active / (len(seen) * self.encoder_.width)
        if n_classes:
            self.specificity_ = metrics.specificity(counts, len(seen), mean=True)
        return self._score(np.concatenate(outputs), data.targets[seen])

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        """Return y of the readout for new series, in double precision."""
        check_is_fitted(self)
        series = self._series(X, reset=False)
        make, numbers = self._states(series).make, np.arange(len(series))
        return np.concatenate([readout_outputs(self.readout_, make(numbers[part])) for part in chunks(len(series))])

    def plot_learning_curve(self, *, ax: Axes | None = None) -> LearningCurveDisplay:
        """Plot the score of each pass."""
        return LearningCurveDisplay.from_estimator(self, ax=ax)

    def plot_thresholds(self, *, ax: Axes | None = None) -> ThresholdsDisplay:
        """Plot the distribution of thresholds over the neurons."""
        return ThresholdsDisplay.from_estimator(self, ax=ax)

    def plot_code(
        self, X: ArrayLike | Sequence[ArrayLike], y: ArrayLike | None = None, *, ax: Axes | None = None
    ) -> CodeDisplay:
        """Plot which neurons are active for which series."""
        return CodeDisplay.from_estimator(self, X, y, ax=ax)

    def code(self, X: ArrayLike | Sequence[ArrayLike]) -> NDArray[np.float32]:
        """Return x = relu(V - theta) of each series, which is what the readout sees, shape (n, n_neurons)."""
        check_is_fitted(self)
        series = self._series(X, reset=False)
        return self.readout_.features(self._states(series)[np.arange(len(series))])


def readout_outputs(readout: Readout, U: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return y in double precision, so that it does not depend on how rows are batched."""
    y = readout.features(U).astype(np.float64) @ readout.W.T.astype(np.float64)
    return np.asarray(y if readout.bias is None else y + readout.bias)
