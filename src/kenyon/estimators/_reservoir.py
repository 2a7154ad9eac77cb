"""Estimators with a reservoir: series in, classes, numbers or features out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kenyon import _checks
from kenyon.estimators._base import CALIBRATION_SERIES, LearningEstimator, Saved, seed_of, threads
from kenyon.estimators._classifier import ClassifierPart
from kenyon.estimators._encoding import SeriesEncoder, choose_scaling, leak_for
from kenyon.estimators._regressor import RegressorPart
from kenyon.estimators._series import Series, check_series, chunks
from kenyon.learning.learners import Percentile
from kenyon.reservoir import Reservoir


def three_dimensional(tags: Any) -> Any:
    """Say that series are taken as well as rows."""
    tags.input_tags.three_d_array = True
    return tags


def make_encoder(settings: Any, series: Series, seed: int) -> SeriesEncoder:
    """Return scaling and reservoir for these series, by an estimator's settings."""
    n_steps = _checks.integer("n_steps", settings.n_steps, 1)
    kind = _checks.one_of("input_scaling", settings.input_scaling, ("auto", "channel", "overall"))
    scaling = choose_scaling(series, kind)
    n_inputs = len(scaling.shift) + 1
    reservoir = Reservoir(
        settings.n_neurons,
        leak_for(series, n_steps) if settings.leak_rate is None else settings.leak_rate,
        settings.spectral_radius,
        seed,
        n_inputs=n_inputs,
        input_weights="gaussian",
        input_gain=1.0 / float(np.sqrt(n_inputs)),
    )
    return SeriesEncoder(scaling, reservoir, n_steps)


class SeriesPart(LearningEstimator):
    """Takes series, and reads a reservoir's states at their ends."""

    def __sklearn_tags__(self) -> Any:
        return three_dimensional(super().__sklearn_tags__())

    @property
    def reservoir_(self) -> Reservoir:
        """The reservoir that series run through."""
        return self.encoder_.reservoir

    def _series(self, X: Any, *, reset: bool) -> Series:
        return check_series(self, X, reset=reset)

    def _encoder(self, series: Series, seed: int) -> SeriesEncoder:
        return make_encoder(self, series, seed)


class ReservoirClassifier(ClassifierPart, SeriesPart):
    """Classify series by a reservoir and a readout that learns.

    Parameters
    ----------
    learner
        How the readout learns: "ridge" (in closed form, from sums that stream), or online "normalised" (sparse, with
        learned thresholds), "composed", "metropolis", "gradient_thresholds" or "gradient_weights"; by name their
        sizes fit the data. Or a learner with settings of your own, such as `kenyon.Normalised(mu=0.2)`.
    n_neurons
        Size of the reservoir.
    leak_rate
        Share of a neuron's state that is replaced at every step; by default 3 over the median length of the series.
    spectral_radius
        Of the recurrent weights. As half of the neurons are silent at a time, and as the leak follows the length of the
        series, states stay bounded above 1, too.
    input_scaling
        Divide each "channel" by its own standard deviation, or all by the "overall" one. "auto" is the latter, unless
        deviations differ more than a thousandfold. Channels in different units want "channel".
    n_steps
        Steps for which a static row is shown.
    epochs
        Passes of online learners over the series. In the second half of them steps shrink to nothing.
    early_stopping
        Hold a part of the series out, and stop when `patience` passes brought no gain on it; the best pass is kept.
    validation_fraction
        The part held out.
    patience
        Passes without a gain after which to stop.
    class_weight
        Weights of the classes, as a dict; "balanced", as the inverse of their numbers; or None, all 1.
    warm_start
        Let `fit` go on from where the last one ended.
    n_jobs
        Threads that simulate; -1 for all cores. Results do not depend on it.
    verbose
        Show progress.
    random_state
        Decides reservoir, order of the series and choices.

    Attributes
    ----------
    classes_
        The labels.
    theta_
        Thresholds of the neurons, in units of their states; 0 for learners without.
    coding_level_
        Share of active neurons over the series learned from.
    specificity_
        How far each neuron's activity tells classes apart: mean over pairs of classes of the difference between the
        shares of series, of all series, in which it was active.
    learning_curve_
        "epoch", "training" (accuracy of choices made while learning, each before its own update; for "ridge" the
        accuracy afterwards) and, with early stopping, "validation".
    n_epochs_
        Passes of the last fit.
    readout_
        What was learned, as a `kenyon.Readout` of states in units of `theta_`'s neurons.
    reservoir_
        The reservoir.
    """

    def __init__(
        self,
        learner: Any = "ridge",
        *,
        n_neurons: int = 1000,
        leak_rate: float | None = None,
        spectral_radius: float = 1.5,
        input_scaling: str = "auto",
        n_steps: int = 10,
        epochs: int = 40,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.n_neurons = n_neurons
        self.leak_rate = leak_rate
        self.spectral_radius = spectral_radius
        self.input_scaling = input_scaling
        self.n_steps = n_steps
        self.epochs = epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state


class ReservoirRegressor(RegressorPart, SeriesPart):
    """Predict one number or several from series, by a reservoir and a readout that learns.

    Parameters
    ----------
    learner, n_neurons, leak_rate, spectral_radius, input_scaling, n_steps
        As in `ReservoirClassifier`.
    epochs, early_stopping, validation_fraction, patience, warm_start, n_jobs, verbose, random_state
        Likewise.

    Attributes
    ----------
    theta_, coding_level_, n_epochs_, readout_, reservoir_
        As in `ReservoirClassifier`.
    learning_curve_
        As there, with coefficients of determination in the place of accuracies.
    target_shift_, target_scale_
        Mean and standard deviation of the targets, which the readout is told in their units.
    """

    def __init__(
        self,
        learner: Any = "ridge",
        *,
        n_neurons: int = 1000,
        leak_rate: float | None = None,
        spectral_radius: float = 1.5,
        input_scaling: str = "auto",
        n_steps: int = 10,
        epochs: int = 40,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 5,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.n_neurons = n_neurons
        self.leak_rate = leak_rate
        self.spectral_radius = spectral_radius
        self.input_scaling = input_scaling
        self.n_steps = n_steps
        self.epochs = epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state


class ReservoirTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Saved):
    """Turn series into a reservoir's states, as features for any other estimator.

    Parameters
    ----------
    features
        "V", the states at the end of the series, or "x" = relu(V - theta), a sparse code.
    percentile
        Of each neuron's states over the fitted series: its threshold, for "x".
    n_neurons, leak_rate, spectral_radius, input_scaling, n_steps, n_jobs, random_state
        As in `ReservoirClassifier`.

    Attributes
    ----------
    theta_
        The thresholds; 0 for "V".
    reservoir_
        The reservoir.
    """

    def __init__(
        self,
        features: str = "V",
        *,
        percentile: float = 50.0,
        n_neurons: int = 1000,
        leak_rate: float | None = None,
        spectral_radius: float = 1.5,
        input_scaling: str = "auto",
        n_steps: int = 10,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.features = features
        self.percentile = percentile
        self.n_neurons = n_neurons
        self.leak_rate = leak_rate
        self.spectral_radius = spectral_radius
        self.input_scaling = input_scaling
        self.n_steps = n_steps
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = three_dimensional(super().__sklearn_tags__())
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def reservoir_(self) -> Reservoir:
        """The reservoir that series run through."""
        return self.encoder_.reservoir

    @property
    def _n_features_out(self) -> int:
        return self.encoder_.width

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose scaling, leak and thresholds from the series.

        Parameters
        ----------
        X
            Static rows (n, features), series (n, T, features), or a list of series (T_k, features).
        y
            Not used.
        """
        _checks.one_of("features", self.features, ("V", "x"))
        q = _checks.real("percentile", self.percentile, 0.0, 100.0)
        threads(self.n_jobs)
        series = check_series(self, X, reset=True)
        seed = seed_of(self.random_state)
        self.encoder_ = make_encoder(self, series, seed)
        self.theta_ = np.zeros(self.encoder_.width, np.float32)
        if self.features == "x":
            some = np.sort(np.random.default_rng(seed).permutation(len(series))[:CALIBRATION_SERIES])
            self.theta_ = Percentile(q).of(self._states(series.take(some)))
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the features of each series, shape (n, n_neurons)."""
        check_is_fitted(self)
        V = self._states(check_series(self, X, reset=False))
        return V if self.features == "V" else np.maximum(V - self.theta_, np.float32(0))

    def _states(self, series: Series) -> NDArray[np.float32]:
        n_threads = threads(self.n_jobs)
        return np.concatenate([self.encoder_.states(series.take(part), n_threads) for part in chunks(len(series))])
