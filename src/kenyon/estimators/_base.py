"""What all learning estimators share: fit, early stopping, measures, saving and plots."""

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

from kenyon import _checks, _seeding
from kenyon.estimators import _training
from kenyon.estimators._displays import CodeDisplay, LearningCurveDisplay, ThresholdsDisplay
from kenyon.estimators._neurons import measure, rank, readout_outputs
from kenyon.estimators._series import Series, chunks, naming
from kenyon.estimators._settings import LearnerSettings
from kenyon.estimators._training import Examples, States, Targets, Training
from kenyon.estimators._weights import Indices, Numbers, Sample, Selection, check_shows, weighted
from kenyon.learning.protocol import LearnerProtocol
from kenyon.learning.rules import Regression, Supervised
from kenyon.progress import show_progress
from kenyon.readout import Readout
from kenyon.saving import WORK_SPACE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

CALIBRATION_SERIES = 1000  # series that units and starts are taken from
TARGET = 10.0  # size of the outputs wanted
Known = tuple[Indices, NDArray[np.float32]]  # numbers of series, and their states


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

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles are made of: not the work space of single rows."""
        return {name: part for name, part in super().__getstate__().items() if name not in WORK_SPACE}

    def _threads(self) -> int:
        if self.n_jobs is not None and _checks.integer("n_jobs", self.n_jobs, -_checks.WHOLE) == 0:
            raise ValueError("n_jobs must be a number of threads, -1 for all cores or None, not 0")
        return int(effective_n_jobs(self.n_jobs))

    def _new_seed(self) -> int:
        return int(random_numbers(self.random_state).randint(2**31 - 1))

    def _some(self, n: int, seed: int) -> Indices:
        """Return the numbers of some of n series, which units and thresholds are taken from."""
        return np.sort(np.random.default_rng(seed).permutation(n)[:CALIBRATION_SERIES])

    def _encode(self, series: Series) -> NDArray[np.float32]:
        states = [self.encoder_.states(series.take(part), self._threads()) for part in chunks(len(series))]
        return states[0] if len(states) == 1 else np.concatenate(states)


@dataclass(eq=False, repr=False)
class LearningEstimator(LearnerSettings, Estimator, ABC):
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
    def _encoder(self, series: Any, seed: int, whole: bool = True) -> Any:
        """Return what turns series into states, suited to these: the `whole` of them, or a beginning."""

    @abstractmethod
    def _score(self, y: Numbers, targets: Targets, weights: Numbers) -> float:
        """Return the score of outputs."""

    @property
    def readout_(self) -> Readout:
        """What was learned, as a `kenyon.Readout` of scaled states."""
        found: Readout | None = self.__dict__.get("_readout")
        if found is None:
            self.__dict__["_readout"] = found = self._training.readout()
        return found

    @property
    def theta_(self) -> Numbers:
        """Thresholds of the neurons, in units of their states; 0 for learners without thresholds."""
        readout, units = self.readout_, self._training.units
        size = np.where(units.factor > 0, units.factor, 1).astype(np.float64)
        sides = readout.theta.reshape(-1, readout.n_neurons)
        return np.asarray((sides / size + units.shift * readout.thresholds).ravel())

    @property
    def _neuron_thresholds(self) -> Numbers | None:
        """Thresholds that are plotted; None if there are none."""
        return self.theta_ if self.readout_.thresholds else None

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

    @property
    def _suited(self) -> Any:
        """The learner as it was set; given by name, with thresholds on both sides of states that are on both."""
        return _training.two_sided(self.learner) if getattr(self, "activation", None) == "tanh" else self.learner

    def _weighted(
        self, series: Series, targets: NDArray[Any], sample_weight: Any
    ) -> tuple[Series, NDArray[Any], Numbers]:
        """Return series and targets that have a weight, and the weights."""
        series, targets, weights = weighted(series, targets, sample_weight)
        if not getattr(_training.pick(self.learner, self._rule), "closed_form", False):
            check_shows(weights)
        return series, targets, weights

    def _begin(self, series: Series, targets: Targets, sample: Sample, n_outputs: int, whole: bool = True) -> Known:
        """Calibrate on these series, each as often as its weight says, and start with empty weights.

        Return the numbers of those that were simulated, and their states.
        """
        self._forget(self._new_seed())
        drawn = Selection(series, sample.draw(_seeding.generator(self._seed, "estimator", "calibration")))
        self.encoder_ = self._encoder(drawn, self._seed, whole)
        some = self._some(len(drawn), self._seed)
        V = self._encode(drawn.take(some))
        self.encoder_, V = self._settled(self.encoder_, V, drawn.take(some).lengths, targets[drawn.numbers[some]])
        options = {"signed": self._signed, "alike": self.encoder_.alike}
        self._training = _training.begin(self._suited, V, n_outputs, self._rule, self._seed, **options)
        return drawn.numbers[some], V

    def _settled(
        self, encoder: Any, V: NDArray[np.float32], lengths: NDArray[np.intp], targets: Targets
    ) -> tuple[Any, NDArray[np.float32]]:
        """Return the encoder, and the states of calibration series, in view of which it may be changed."""
        return encoder, V

    def _forget(self, seed: int) -> None:
        """Begin with nothing."""
        for name in (*WORK_SPACE, "_fed"):
            self.__dict__.pop(name, None)
        self._seed, self._passes = seed, 0
        self.learning_curve_ = {"epoch": np.empty(0, int), "training": np.empty(0)}

    def _states(self, series: Series, known: Known | None = None) -> States:
        units, threads = self._training.units, self._threads()

        def make(numbers: Indices) -> NDArray[np.float32]:
            return units.apply(self.encoder_.states(series.take(numbers), threads))

        states = States(make, len(series), self.encoder_.width)
        if known is not None:
            states.keep(known[0], units.apply(known[1]))
        return states

    def _held_out(self, targets: Targets, among: Indices) -> tuple[Indices, Indices]:
        """Return the numbers of the series to learn from, and of those held out: at least one of each class."""
        n, regression = len(among), isinstance(self._rule, Regression)
        least = 1 if regression else len(self.classes_)
        size = max(least, round(self.validation_fraction * n))
        if size > n - least:
            raise ValueError(f"early_stopping holds out {size} of {n} series, but at least {least} must be left")
        if not regression and np.unique(targets[among], return_counts=True)[1].min() < 2:
            raise ValueError(
                "early_stopping needs two different series of each class, one to learn and one to hold out"
            )
        split = (ShuffleSplit if regression else StratifiedShuffleSplit)(1, test_size=size, random_state=self._seed)
        seen, held = next(split.split(np.zeros(n), targets[among]))
        return among[np.sort(seen)], among[np.sort(held)]

    def _learn(
        self, series: Series, targets: Targets, sample: Sample, n_outputs: int, factors: Numbers | None = None
    ) -> None:
        """Learn in as many passes as requested, or until the score on a held-out part stops improving.

        While learning, the weight of each series is multiplied by its factor.
        """
        known = None if self._continues else self._begin(series, targets, sample, n_outputs)
        self._training = self._training.settled()
        training, seen, held = self._training, sample.numbers, None
        epochs = 1 if training.closed_form else self.epochs
        if self.early_stopping and not training.closed_form:
            seen, held = self._held_out(targets, seen)
        data = Examples(self._states(series, known), targets, *sample.by_number(len(series), factors))
        n_episodes = training.seen + epochs * round(float(data.weights[seen].sum()))
        best, curve, scores = training, [], []
        with show_progress(epochs * len(seen), bool(self.verbose)) as advance:
            for epoch, order in enumerate(self._orders(data, seen, epochs)):
                training, progress = self._pass(training, data, seen[order], n_episodes)
                curve.append(progress)
                advance(len(seen))
                if held is not None:
                    scores.append(self._validate(training, data, held))
                if held is None or int(np.argmax(scores)) == epoch:
                    best = training
                elif epoch - int(np.argmax(scores)) >= self.patience:
                    break
        self._finish(best, data, seen, curve, scores)

    def _orders(self, data: Examples, seen: Indices, epochs: int) -> Iterator[Indices]:
        """Yield the order of each pass; learners in closed form take weights, others see series more or less often."""
        plain = self._training.closed_form or (data.weights[seen] == 1).all()
        return _training.orders(len(seen), None if plain else data.weights[seen], epochs, self._seed, self._passes)

    def _pass(
        self,
        training: Training,
        data: Examples,
        numbers: Indices,
        n_episodes: int | None = None,
    ) -> tuple[Training, float]:
        """Learn from the series with these numbers; return their score too, each before its own update.

        `n_episodes` is the number of all that will be learned from, as far as it is known.
        """
        total = 0.0
        for part in chunks(len(numbers)):
            now = numbers[part]
            told = data.states[now], data.targets[now], data.weights[now]
            training, result = training.learn(*told, n_episodes)
            total += result
        return training, self._progress(total, data.targets[numbers])

    def _progress(self, total: float, targets: Targets) -> float:
        """Return the score that belongs to a sum of correct choices or of costs."""
        if isinstance(self._rule, Regression):
            square = float((targets.astype(np.float64) ** 2).sum())
            return 1.0 - total / max(square, np.finfo(float).tiny)
        return total / max(1, len(targets))

    def _validate(self, training: Training, data: Examples, numbers: Indices) -> float:
        readout = training.readout()
        y = [readout_outputs(readout, data.states[numbers[part]]) for part in chunks(len(numbers))]
        return self._score(np.concatenate(y), data.targets[numbers], data.counts[numbers])

    def _finish(
        self, training: Training, data: Examples, seen: Indices, curve: list[float], scores: list[float]
    ) -> None:
        """Keep what was learned, and measure it on the series it was learned from."""
        self._training = training
        self.__dict__.update(_readout=training.readout(), _live=None)
        first = self._passes
        self._passes += len(curve)
        self.n_epochs_ = len(curve)
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
        """Keep what the neurons do on the series `seen`; return the score on these."""
        n_classes = 0 if isinstance(self._rule, Regression) else len(self.readout_.W)
        found = measure(self.readout_, self._training.units, data, seen, n_classes)
        self._activity, self._spread, self.coding_level_ = found.activity, found.spread, float(found.activity.mean())
        if found.specificity is not None:
            self.specificity_ = found.specificity
        return self._score(found.outputs, data.targets[seen], data.counts[seen])

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        """Return y of the readout for new series, in double precision."""
        check_is_fitted(self)
        series = self._series(X, reset=False)
        make, numbers = self._states(series).make, np.arange(len(series))
        return np.concatenate([readout_outputs(self.readout_, make(numbers[part])) for part in chunks(len(series))])

    def rank_neurons(self) -> DataFrame:
        """Return a table of the neurons, those that matter most to the outputs first.

        It has a row for each neuron, under its number, and these columns, all of them measured on the series of the
        last fit, which count by their weights:

        - `weight`: its effect on the outputs, which is the standard deviation of its activity x times the norm of its
          output weights. For classes, the mean over classes is taken off the weights first, since it changes no choice;
          for numbers, 1 is a standard deviation of the target.
        - `specificity`: how well its activity tells classes apart, as in `specificity_` (classifiers only).
        - `threshold`: its threshold, as in `theta_`.
        - `activity`: the share of series in which it is active; the mean over neurons is `coding_level_`.
        - `side`: with `learner__code="on_off"`, which has two rows for each neuron: "on" for its unit above a
          threshold, "off" for the one below another.
        - `pooling`: where several numbers are read of each neuron, which have a row each: which of them.
        """
        check_is_fitted(self)
        size = TARGET if isinstance(self._rule, Regression) else 1.0
        specificity = getattr(self, "specificity_", None)
        names = getattr(getattr(self.encoder_, "pooling", None), "names", [""])
        measured = self.theta_, self._activity, self._spread, specificity
        return rank(self.readout_.W / size, *measured, self.readout_.n_neurons, names)

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
        """Return x = relu(V - theta) of each series, which is what the readout sees, shape (n, n_units)."""
        check_is_fitted(self)
        series = self._series(X, reset=False)
        return self.readout_.features(self._states(series)[np.arange(len(series))])
