"""Estimators with a reservoir: series in, classes, numbers or features out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kenyon import _checks
from kenyon.estimators._base import Estimator
from kenyon.estimators._choice import (
    AUTO,
    LEVELS,
    MANY,
    MANY_NEURONS,
    NEURONS,
    OVER_TIME_NEURONS,
    RADIUS,
    SPREAD,
    STRETCHES,
    over_time,
    pooling_for,
    whole_is_better,
)
from kenyon.estimators._classifier import ClassifierPart
from kenyon.estimators._encoding import (
    KINDS,
    MEMORY,
    RunningScaling,
    Scaling,
    SeriesEncoder,
    choose_scaling,
    running_scaling,
)
from kenyon.estimators._labelled import check_aligned
from kenyon.estimators._misread import warn_if_misread
from kenyon.estimators._pooling import PERCENTILES, WORDS, check_pooling
from kenyon.estimators._regressor import RegressorPart
from kenyon.estimators._series import Series, alone, check_series
from kenyon.estimators._steps import StepsPart
from kenyon.learning.state import Percentile, sized
from kenyon.readout import CODES, ON_OFF, SIGNED, encoded
from kenyon.reservoir import Reservoir, check_setting
from kenyon.timing import Delays, LogUniform

LEFT_OPEN = ("spectral_radius", "delays", "pooling")  # with leak_rate: what to read is chosen if all of them are
FEATURES = {"V": None, "x": CODES[0], ON_OFF: ON_OFF, SIGNED: SIGNED}  # of the transformer, and their codes


@dataclass(eq=False, repr=False)
class SeriesPart(Estimator):
    """Takes series, and reads a reservoir's states at their ends, or over time."""

    _: KW_ONLY
    n_neurons: int | str = AUTO
    leak_rate: float | LogUniform | ArrayLike | None = None
    spectral_radius: float | str = AUTO
    input_scaling: str = "range"
    n_steps: int = 10
    activation: str = "relu"
    delays: Delays | str | None = AUTO
    pooling: str | int | Sequence[str | int] = AUTO
    pooling_percentiles: Sequence[float] = PERCENTILES

    _chooses: ClassVar[bool] = False  # what to read; otherwise it is the last state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    @property
    def reservoir_(self) -> Reservoir:
        """The reservoir that series run through."""
        return self.encoder_.reservoir

    @property
    def pooling_(self) -> list[str]:
        """What is read of each neuron."""
        return self.encoder_.pooling.names

    @property
    def _at_each_step(self) -> bool:
        """Whether states can be made one step of a series after another."""
        encoder: SeriesEncoder | None = vars(self).get("encoder_")
        if encoder is not None:
            return encoder.pooling.plain and encoder.reservoir.delays is None
        last = isinstance(self.pooling, str) and self.pooling in (AUTO, WORDS[0])
        return last and (self.delays is None or _left(self.delays))

    def _series(self, X: Any, y: Any = None, *, reset: bool) -> Series:
        check_aligned(X, y)
        series = check_series(self, X, reset=reset)
        if reset:
            warn_if_misread(series, X, y)
        return series

    def _alone(self, x: Any) -> Any:
        return alone("x", x)

    def _encoder(self, series: Series, seed: int, whole: bool = True) -> SeriesEncoder:
        kind = _checks.one_of("input_scaling", self.input_scaling, KINDS)
        scaling = choose_scaling(series, kind, must_vary=not hasattr(self, "_kept"))
        return self._scaled_by(scaling, series, seed, whole and self._chooses)

    def _running_encoder(self, series: Series, seed: int) -> SeriesEncoder:
        kind = _checks.one_of("input_scaling", self.input_scaling, KINDS)
        if kind == "range" and getattr(self, "forgetting", 1.0) < 1.0:
            kind = "channel"  # extremes cannot be forgotten little by little
        return self._scaled_by(running_scaling(kind, series.n_channels), series, seed)

    def _scaled_by(
        self, scaling: Scaling | RunningScaling, series: Series, seed: int, chooses: bool = False
    ) -> SeriesEncoder:
        """Return the encoder of these series; `chooses` what to read of them if nobody said."""
        n_steps = _checks.integer("n_steps", self.n_steps, 1)
        given = [self.leak_rate is not None, *(not _left(getattr(self, name)) for name in LEFT_OPEN)]
        length = n_steps if series.static else float(np.median(series.lengths))
        pooling = "last" if _left(self.pooling) else self.pooling
        if chooses and not series.static and not any(given):
            pooling = pooling_for(length, series.n_channels)
        over = _left(self.pooling) and pooling == "activity"
        make = self._over_time if over else self._remembering
        reads = check_pooling(pooling, self.pooling_percentiles)
        if over:
            reads = reads._replace(percentiles=LEVELS, spread=SPREAD, stretches=STRETCHES, even=True)
        encoder = SeriesEncoder(scaling, make(series, length, seed), n_steps, reads, centred=over)
        return encoder.calibrated(series, seed, self._threads())

    def _settled(
        self, encoder: SeriesEncoder, V: NDArray[np.float32], lengths: NDArray[np.intp], targets: NDArray[Any]
    ) -> tuple[SeriesEncoder, NDArray[np.float32]]:
        """Read whole series instead of their stretches where that is better."""
        pooling = encoder.pooling
        if pooling.stretches > 1 and whole_is_better(V, whole := pooling.whole(V, lengths), targets):
            return encoder._replace(pooling=pooling._replace(stretches=1)), whole
        return encoder, V

    def _over_time(self, series: Series, length: float, seed: int) -> Reservoir:
        n_neurons = OVER_TIME_NEURONS if len(series) < MANY else MANY_NEURONS
        if not _left(self.n_neurons):
            n_neurons = check_setting("n_neurons", self.n_neurons)
        activation = check_setting("activation", self.activation)
        return over_time(n_neurons, series.n_channels, length, activation, seed)

    def _remembering(self, series: Series, length: float, seed: int) -> Reservoir:
        """Return a reservoir whose last state remembers the whole series."""
        delays: Any = None if _left(self.delays) else self.delays
        n_inputs = series.n_channels + 1
        gain = 1.0 / float(np.sqrt(n_inputs))
        return Reservoir(
            NEURONS if _left(self.n_neurons) else self.n_neurons,  # type: ignore[arg-type]
            min(1.0, MEMORY / length) if self.leak_rate is None else self.leak_rate,
            RADIUS if _left(self.spectral_radius) else self.spectral_radius,  # type: ignore[arg-type]
            seed,
            n_inputs=n_inputs if delays is None else n_inputs - 1,
            input_weights="gaussian",
            input_gain=gain,
            activation=self.activation,
            delays=delays,
            bias_scale=0.0 if delays is None else gain,
        )


def _left(setting: Any) -> bool:
    """Tell whether a setting is left open."""
    return isinstance(setting, str) and setting == AUTO


@dataclass(eq=False, repr=False)
class ReservoirClassifier(StepsPart, SeriesPart, ClassifierPart):
    """Classify series with a reservoir and a readout that learns.

    Parameters
    ----------
    learner
        How the readout learns: "ridge" (in closed form), or online: "normalised" (sparse, with learned thresholds),
        "composed", "metropolis", "gradient_thresholds" or "gradient_weights"; given by name, their step sizes fit the
        data. Also online, but slow: "recursive", least squares with learned thresholds (`RecursiveThresholds`). Or a
        learner with your own settings, such as `kenyon.Normalised(mu=0.2)`, or a learner of your own.
    n_neurons
        Size of the reservoir; by default 1000, or 1800 where `pooling` chooses activity (900 from 4000 series on).
    leak_rate
        Share of a neuron's state that is replaced at every step; by default 3 over the median length of the series. One
        number, an array with one for each neuron, or `LogUniform(low, high)` to draw them from.
    spectral_radius
        Of the recurrent weights, by default 1.5. Since half of the neurons are silent at any time, and the leak follows
        the length of the series, states stay bounded above 1, too.
    input_scaling
        Divide each channel by its "range", from the smallest to the largest value in all but the most extreme hundredth
        of the series, so that units do not matter; by its standard deviation ("channel"); or all of them by the same
        "overall" factor, if they share a unit.
    n_steps
        Steps for which a static row is shown.
    activation
        Of the neurons: "relu" or "tanh". With "tanh", learners with thresholds that are given by name have them on both
        sides of a state (code "signed"), unless their code is set.
    delays
        Let neurons hear the input at several times, as `Delays` says; None, or by default, only at each step itself. A
        neuron with delays has a bias.
    pooling
        What is read of each neuron: "last", its state at the end of a series; "mean", over all steps; a whole number k,
        its states at k equally spaced steps; "activity", the shares of steps on which it is above each of several
        levels; "excess", the sums of what is above them; or a list of several of these. Learned thresholds act on what
        is read: each such number of a neuron is a state to the learner, with a threshold of its own.

        By default `fit` chooses by the length of the series: of short ones the states halfway and at the end, of longer
        ones (20 steps or more, and 4 for each channel) activity, in a reservoir of many time scales with delays: in
        either half of a series, or in all of it if that tells the classes apart better, on series left out in turn. It
        does not where `leak_rate`, `spectral_radius` or `delays` is given, for rows, nor in streams (`partial_fit`,
        `feed`): these are read as by "last".
    pooling_percentiles
        The levels of activity and excess: these percentiles of each neuron's states over the steps of the series.
    epochs
        Passes of online learners over the series. Steps of learners given by name shrink to nothing on the way, as
        `learner__cooling` says.
    early_stopping
        Hold out part of the series, and stop after `patience` passes without improvement on it; the best pass is kept.
    validation_fraction
        The share of series held out.
    patience
        Passes without improvement after which to stop.
    class_weight
        Weights of the classes, as a dict; "balanced", inversely proportional to their frequency; or None, all 1.
    warm_start
        Let `fit` continue from where the last one ended.
    n_jobs
        Threads that simulate; -1 for all cores. Results do not depend on it.
    verbose
        Show progress.
    forgetting
        In a stream (`partial_fit`, `learn_one`), the factor by which the weight of a series falls with every one that
        follows: 0.99 where the data drift all the time, 0.999 where they change once in a while. Scales then follow the
        last 1 / (1 - forgetting) series, steps shrink no further than after as many, and after an abrupt drift most of
        the weights is forgotten. By default 1: nothing is forgotten.
    random_state
        Seed of the reservoir, the order of the series and the choices.

    Attributes
    ----------
    classes_
        The labels.
    theta_
        Thresholds of the neurons, in units of their states; 0 for learners without thresholds.
    coding_level_
        Share of active neurons over the series learned from.
    specificity_
        How well each neuron's activity tells classes apart: the mean over pairs of classes of the difference between
        the shares of series, of all series, in which it was active.
    learning_curve_
        "epoch", "training" (accuracy of choices made while learning, each before its own update; for "ridge" the
        accuracy afterwards) and, with early stopping, "validation".
    n_epochs_
        Number of passes in the last fit.
    readout_
        What was learned, as a `kenyon.Readout` of scaled states.
    reservoir_
        The reservoir.
    pooling_
        What is read of each neuron of it, one name for each number.
    input_kind_
        "series" or "rows": what was fitted to, and is expected later.
    feature_names_in_
        Names of the columns, if X had any, as strings.
    """

    _chooses = True


@dataclass(eq=False, repr=False)
class ReservoirRegressor(StepsPart, SeriesPart, RegressorPart):
    """Predict one number or several from series, with a reservoir and a readout that learns.

    Parameters are those of `ReservoirClassifier`, without `class_weight`; by default the last state is read. So are the
    attributes `theta_`, `coding_level_`, `n_epochs_`, `readout_` and `reservoir_`.

    Attributes
    ----------
    learning_curve_
        As in `ReservoirClassifier`, with coefficients of determination instead of accuracies.
    target_shift_, target_scale_
        Mean and standard deviation of the targets; the readout learns targets in these units.
    """


@dataclass(eq=False, repr=False)
class ReservoirTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SeriesPart):
    """Turn series into a reservoir's states, as features for any other estimator.

    All other parameters are those of `ReservoirClassifier`; by default the last state is read.

    Parameters
    ----------
    features
        "V", the states at the end of the series, or what else `pooling` reads; "x" = relu(V - theta), a sparse code;
        "on_off", x followed by relu(theta_off - V), which tells low states apart too; or "signed",
        sign(V) relu(|V| - theta), for tanh.
    percentile
        Each threshold is this percentile q of the neuron's states over the fitted series (of their sizes |V| for
        "signed"); theta_off is at 100 - q.

    Attributes
    ----------
    theta_
        The thresholds; 0 for "V"; those of both sides, one after the other, for "on_off".
    reservoir_
        The reservoir.
    """

    features: str = "V"
    _: KW_ONLY
    percentile: float = 50.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.encoder_.width * (2 if self.features == ON_OFF else 1)

    def fit(self, X: ArrayLike | Sequence[ArrayLike], y: object = None) -> Self:
        """Choose scaling, leak and thresholds from the series.

        Parameters
        ----------
        X
            As in `ReservoirClassifier.fit`.
        y
            Ignored.
        """
        _checks.one_of("features", self.features, tuple(FEATURES))
        q = _checks.real("percentile", self.percentile, 0.0, 100.0)
        self._threads()
        series = self._series(X, reset=True)
        seed = self._new_seed()
        self.encoder_ = self._encoder(series, seed)
        self.theta_ = np.zeros(self.encoder_.width, np.float32)
        if self.features != "V":
            V = sized(self._encode(series.take(self._some(len(series), seed))), self.features)
            sides = [q, 100.0 - q] if self.features == ON_OFF else [q]
            self.theta_ = np.concatenate([Percentile(side).of(V) for side in sides])
        return self

    def transform(self, X: ArrayLike | Sequence[ArrayLike]) -> NDArray[np.float32]:
        """Return the features of each series, shape (n, n_neurons); (n, 2 n_neurons) for "on_off".

        As many times that if `pooling` reads several numbers of each neuron, which are then one after another, each of
        all neurons.
        """
        check_is_fitted(self)
        V = self._encode(self._series(X, reset=False))
        code = FEATURES[self.features]
        return V if code is None else encoded(V, self.theta_, code)
