"""What all estimators that learn have in common: fit, partial_fit, early stopping, measures, saving and pictures."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kenyon import _checks, metrics
from kenyon.estimators import _training
from kenyon.estimators._displays import CodeDisplay, LearningCurveDisplay, ThresholdsDisplay
from kenyon.estimators._series import Series, chunks, naming
from kenyon.estimators._training import States, Told, Training
from kenyon.learning.rules import Regression, Supervised
from kenyon.progress import show_progress

CALIBRATION_SERIES = 1000  # series that units and starts are taken from
TARGET = 10.0  # size of the outputs wanted


def threads(n_jobs: Any) -> int:
    """Return the number of threads that `n_jobs` asks for."""
    if n_jobs is not None and _checks.integer("n_jobs", n_jobs, -_checks.WHOLE) == 0:
        raise ValueError("n_jobs must be a number of threads, -1 for all cores or None, not 0")
    return int(effective_n_jobs(n_jobs))


def random_numbers(random_state: Any) -> np.random.RandomState:
    """Return the generator that `random_state` is, or decides."""
    with naming("random_state"):
        return check_random_state(random_state)


def seed_of(random_state: Any) -> int:
    """Return the seed of a fit."""
    return int(random_numbers(random_state).randint(2**31 - 1))


class Saved(BaseEstimator):
    """An estimator that can be written to a file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this estimator to a file, without pickle; `kenyon.load` reads it.

        Parameters
        ----------
        path
            The file's name; an existing file is replaced at once, or not at all.
        """
        from kenyon.saving import save

        check_is_fitted(self)
        save(path, self)


class LearningEstimator(Saved, ABC):
    """An estimator with a course of learning. Subclasses say what goes in and what is told."""

    _signed = False  # states may be negative, and 0 means nothing special

    @abstractmethod
    def _series(self, X: Any, *, reset: bool) -> Series:
        """Return what was handed in, checked."""

    @abstractmethod
    def _encoder(self, series: Series, seed: int) -> Any:
        """Return what turns series into states."""

    @abstractmethod
    def _score(self, y: NDArray[np.float64], told: Told) -> float:
        """Return how good outputs are."""

    @abstractmethod
    def _held_out(self, told: Told) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the numbers of series to learn from, and of those held out."""

    @property
    @abstractmethod
    def _rule(self) -> Supervised | Regression:
        """What is told."""

    @property
    def _threads(self) -> int:
        return threads(self.n_jobs)

    def _check_parameters(self) -> None:
        for name in ("early_stopping", "warm_start"):
            _checks.flag(name, getattr(self, name))
        if not isinstance(self.verbose, (bool, np.bool_)):
            _checks.integer("verbose", self.verbose, 0)
        threads(self.n_jobs)
        _checks.integer("epochs", self.epochs, 1)
        _checks.integer("patience", self.patience, 1)
        fraction = _checks.real("validation_fraction", self.validation_fraction, 0.0, open_low=True)
        if fraction >= 1:
            raise ValueError(f"validation_fraction must be below 1, not {fraction}")
        _training.pick(self.learner, self._rule)

    def _begin(self, series: Series, n_outputs: int) -> None:
        """Calibrate on these series, and begin to learn."""
        self._seed = seed_of(self.random_state)
        self.encoder_ = self._encoder(series, self._seed)
        rng = np.random.default_rng(self._seed)
        some = np.sort(rng.permutation(len(series))[:CALIBRATION_SERIES])
        V = np.concatenate([self.encoder_.states(series.take(some[part]), self._threads) for part in chunks(len(some))])
        self._training = _training.begin(self.learner, V, n_outputs, self._rule, self._seed, signed=self._signed)
        self._passes, self.learning_curve_ = 0, {"epoch": np.empty(0, int), "training": np.empty(0)}

    def _states(self, series: Series) -> States:
        units, threads = self._training.units, self._threads

        def make(numbers: NDArray[np.intp]) -> NDArray[np.float32]:
            return units.apply(self.encoder_.states(series.take(numbers), threads))

        return States(make, len(series), self.encoder_.width)

    def _learn(self, series: Series, told: Told, weights: NDArray[np.float64] | None, n_outputs: int) -> None:
        """Learn in as many passes as asked for, or until a part held out gets no better."""
        if not (self.warm_start and hasattr(self, "_training")):
            self._begin(series, n_outputs)
        states, seen, held = self._states(series), np.arange(len(series)), None
        course: Training = self._training
        epochs = 1 if course.closed else self.epochs
        if self.early_stopping and not course.closed:
            seen, held = self._held_out(told)
        best, curve, scores = (-np.inf, course), [], []
        own = None if weights is None else weights[seen] / weights[seen].mean()
        repeat = None if course.closed else own
        with show_progress(epochs * len(seen), bool(self.verbose)) as advance:
            for epoch, order in enumerate(_training.orders(len(seen), repeat, epochs, self._seed, self._passes)):
                course, good = self._one_pass(
                    course, states, seen[order], told, _training.cooling(epoch, epochs), own, order
                )
                curve.append(self._progressive(good, told[seen[order]]))
                advance(len(seen))
                if held is not None:
                    scores.append(self._validate(course, states, held, told))
                    best = max(best, (scores[-1], course), key=lambda pair: pair[0])
                    if len(scores) - 1 - int(np.argmax(scores)) >= self.patience:
                        break
        self._finish(course if held is None else best[1], states, seen, told, curve, scores)

    def _one_pass(
        self,
        course: Training,
        states: States,
        numbers: NDArray[np.intp],
        told: Told,
        cooling: float,
        weights: NDArray[np.float64] | None,
        order: NDArray[np.intp],
    ) -> tuple[Training, float]:
        total = 0.0
        for part in chunks(len(numbers)):
            now = numbers[part]
            share = None if weights is None else weights[order[part]]
            course, good = course.learn(states[now], told[now], cooling, share)
            total += good
        return course, total

    def _partial(self, series: Series, told: Told, weights: NDArray[np.float64] | None, n_outputs: int) -> None:
        """Learn once from these series, in their order."""
        if not hasattr(self, "_training"):
            self._begin(series, n_outputs)
        numbers = np.arange(len(series))
        if weights is not None and not self._training.closed:
            numbers = np.sort(next(_training.orders(len(series), weights, 1, self._seed, self._passes)))
        states = self._states(series)
        course, good = self._one_pass(self._training, states, numbers, told, 1.0, weights, numbers)
        self._finish(course, states, np.arange(len(series)), told, [self._progressive(good, told[numbers])], [])

    def _progressive(self, good: float, told: Told) -> float:
        """Return how good the outputs were while learning, each before its own update."""
        if isinstance(self._rule, Regression):
            return 1.0 - good / max(float((told.astype(np.float64) ** 2).sum()), np.finfo(float).tiny)
        return good / max(1, len(told))

    def _validate(self, course: Training, states: States, numbers: NDArray[np.intp], told: Told) -> float:
        readout = course.readout()
        y = [readout_outputs(readout, states[numbers[part]]) for part in chunks(len(numbers))]
        return self._score(np.concatenate(y), told[numbers])

    def _finish(
        self,
        course: Training,
        states: States,
        seen: NDArray[np.intp],
        told: Told,
        curve: list[float],
        scores: list[float],
    ) -> None:
        """Keep what was learned, and measure it on what it was learned from."""
        self._training, self.readout_ = course, course.readout()
        first = self._passes
        self._passes += len(curve)
        self.n_epochs_ = len(curve)
        units = course.units
        size = np.where(units.factor > 0, units.factor, 1).astype(np.float64)
        self.theta_ = self.readout_.theta / size + units.shift * self.readout_.thresholds
        final = self._measure(states, seen, told)
        if course.closed:
            curve = [final]
        old = self.learning_curve_
        self.learning_curve_ = {
            "epoch": np.concatenate([old["epoch"], np.arange(first + 1, self._passes + 1)]),
            "training": np.concatenate([old["training"], curve]),
        }
        if scores:
            self.learning_curve_["validation"] = np.concatenate([old.get("validation", np.full(first, np.nan)), scores])

    def _measure(self, states: States, seen: NDArray[np.intp], told: Told) -> float:
        """Set the coding level and, with classes, the specificity; return the score, all on `seen`."""
        units, readout = self._training.units, self.readout_
        rest = units.apply(np.zeros_like(units.shift)[None])
        n_classes = 0 if isinstance(self._rule, Regression) else len(readout.W)
        active, counts, outputs = 0.0, np.zeros((self.encoder_.width, n_classes)), []
        for part in chunks(len(seen)):
            U = states[seen[part]]
            on = readout.features(U) > 0 if readout.thresholds else rest != U
            active += float(on.sum())
            if n_classes:
                counts += metrics.class_sums(on, told[seen[part]].astype(np.intp), n_classes)
            outputs.append(readout_outputs(readout, U))
        self.coding_level_ = active / (len(seen) * self.encoder_.width)
        if n_classes:
            self.specificity_ = metrics.specificity(counts, len(seen), mean=True)
        return self._score(np.concatenate(outputs), told[seen])

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        """Return y of the readout, in double precision, for series that are checked first."""
        check_is_fitted(self)
        series = self._series(X, reset=False)
        states = self._states(series)
        return np.concatenate(
            [
                readout_outputs(self.readout_, states.make(np.arange(part.start, part.stop)))
                for part in chunks(len(series))
            ]
        )

    def plot_learning_curve(self, *, ax: Any = None) -> LearningCurveDisplay:
        """Draw how good outputs were, pass by pass."""
        return LearningCurveDisplay.from_estimator(self, ax=ax)

    def plot_thresholds(self, *, ax: Any = None) -> ThresholdsDisplay:
        """Draw how thresholds are spread over the neurons."""
        return ThresholdsDisplay.from_estimator(self, ax=ax)

    def plot_code(self, X: Any, y: Any = None, *, ax: Any = None) -> CodeDisplay:
        """Draw which neurons are active for which series."""
        return CodeDisplay.from_estimator(self, X, y, ax=ax)

    def code(self, X: Any) -> NDArray[np.float32]:
        """Return x = relu(V - theta) of each series, what the readout sees, shape (n, n_neurons)."""
        check_is_fitted(self)
        series = self._series(X, reset=False)
        return self.readout_.features(self._states(series)[np.arange(len(series))])


def readout_outputs(readout: Any, U: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return y in double precision, so that it does not depend on how rows are batched."""
    y = readout.features(U).astype(np.float64) @ readout.W.T.astype(np.float64)
    return np.asarray(y if readout.bias is None else y + readout.bias)
