"""What estimators need to learn from a stream: partial_fit in any pieces, and single rows without overhead."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from kenyon import _checks, _seeding
from kenyon.estimators import _stream, _training
from kenyon.estimators._base import LearningEstimator
from kenyon.estimators._series import Series, chunks, joined
from kenyon.estimators._training import Examples, Targets
from kenyon.estimators._weights import Indices, Numbers, Sample, Selection, gather
from kenyon.kernels.stream_steps import Aims

CALIBRATION_ROWS = 30  # fewest that scales are taken from in a stream, by learners that cannot follow one


@dataclass(eq=False, repr=False)
class StreamingEstimator(LearningEstimator):
    """An estimator that learns from a stream as well."""

    _: KW_ONLY
    forgetting: float = 1.0

    @abstractmethod
    def _running_encoder(self, series: Any, seed: int) -> Any:
        """Return what turns a stream that begins with these series into states, suited to what it has shown so far."""

    @property
    def _at_each_step(self) -> bool:
        """Whether states can be made one row, or one step of a series, after another."""
        return True

    @property
    def _follows(self) -> bool:
        """Whether a stream is followed from its first row on."""
        return self._can_follow(_training.pick(self._suited, self._rule))

    def _can_follow(self, learner: Any) -> bool:
        """Tell whether a learner can follow a stream, with these states."""
        return self._at_each_step and _stream.streams(learner)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _checks.real("forgetting", self.forgetting, 0.5, 1.0)

    def _begin_stream(self, series: Series, weights: Numbers, n_outputs: int) -> None:
        """Start with empty weights and without a calibration."""
        self._forget(self._new_seed())
        shown = Sample(np.arange(len(series)), weights)
        drawn = Selection(series, shown.draw(_seeding.generator(self._seed, "estimator", "calibration")))
        self.encoder_ = self._running_encoder(drawn, self._seed)
        learner: Any = _training.pick(self._suited, self._rule)
        named = isinstance(self.learner, (str, _training.Named))
        self._training = _stream.begin(learner, named, self.encoder_.width, n_outputs, self._seed)

    def _partial(
        self, series: Series, targets: Targets, weights: Numbers, n_outputs: int, factors: Numbers | None = None
    ) -> None:
        """Learn once from these series, in their order."""
        if not hasattr(self, "_training"):
            if self._follows:
                self._begin_stream(series, weights, n_outputs)
            else:
                self._begin(series, targets, gather(series, targets, weights), n_outputs, whole=False)
        seen = np.arange(len(series))
        data = Examples(self._states(series), targets, *Sample(seen, weights).by_number(len(series), factors))
        order = np.sort(next(self._orders(data, seen, 1)))
        if self._can_follow(self._training.learner):
            progress = self._follow(series, targets, order)
            data = data._replace(states=self._states(series), targets=self._as_learned(targets))
        else:
            data = data._replace(targets=self._as_learned(targets))
            self._training, progress = self._pass(self._training, data, seen[order])
        self._finish(self._training, data, seen, [progress], [])

    def _follow(self, series: Series, targets: Targets, order: Indices) -> float:
        """Learn from series in this order, while scales, thresholds and steps follow them; return their score."""
        self._training, total = _stream.going_on(self._training, self.forgetting), 0.0
        for part in chunks(len(order)):
            now = order[part]
            V = self.encoder_.follow(series.take(now), self._threads(), self.forgetting)
            self._training, result = _stream.learn(
                self._training, V, targets[now], self._aims(), self._signed, self.forgetting
            )
            total += result
        return self._progress(total, self._as_learned(targets)[order])

    def _aims(self) -> Aims:
        """Return how real targets are scaled."""
        return _stream.NO_AIMS

    def _as_learned(self, targets: Targets) -> Targets:
        """Return targets as the learner is told them."""
        return targets

    def _rows_so_far(
        self, series: Series, told: NDArray[Any], weights: Numbers
    ) -> tuple[Series, NDArray[Any], Numbers]:
        """Return these series; of a learner that calibrates on its first ones, after all before, if they were too few.

        It then begins anew.
        """
        kept = self.__dict__.pop("_kept", None)
        if kept is not None:
            before, *parts = kept
            series = joined(Series(before), series)
            told, weights = (np.concatenate(both) for both in zip(parts, (told, weights), strict=True))
            del self._training
        few = len(series) < CALIBRATION_ROWS and (kept is not None or not hasattr(self, "_training"))
        if few and not self._follows:
            self._kept = series.values, told, weights
        return series, told, weights

    @abstractmethod
    def _tell(self, y: Any) -> _stream.Live:
        """Return what one row needs, told its label or target."""

    @abstractmethod
    def _said(self, outputs: NDArray[np.float64]) -> Any:
        """Return the label or number that outputs stand for."""

    @abstractmethod
    def _begin_targets(self) -> int:
        """Begin a stream of which no label or target is known; return the number of outputs."""

    @abstractmethod
    def _alone(self, x: Any) -> Any:
        """Return X that holds one row or series."""

    def _live_now(self) -> _stream.Live | None:
        """Return what one row needs, made once; None before the first, and for learners that cannot follow."""
        live: _stream.Live | None = vars(self).get("_live")
        if live is not None and live.forgetting == self.forgetting:
            return live
        if not hasattr(self, "_training") or not self._can_follow(self._training.learner):
            return None
        self._check_parameters()
        live = _stream.Live(self._training, self.encoder_, self._aims(), self._signed, self.forgetting)
        labels = getattr(self, "classes_", np.empty(0)).tolist()
        live.rank = 2 if getattr(self, "input_kind_", "rows") == "series" else 1
        live.codes = {label: code for code, label in enumerate(labels)}
        self._live = live
        return live

    def _learn_row(self, live: _stream.Live, x: Any) -> None:
        """Learn from one row whose label or targets `live` has been told."""
        self._encode_one(live, x, True)
        self._training = live.learn()
        self.__dict__["_readout"] = None  # made when it is asked for

    def _encode_one(self, live: _stream.Live, x: Any, takes: bool) -> None:
        """Let `live` write the states of one row, or raise the error that `predict` would."""
        values = self._plain(x)
        fits = values.ndim == live.rank and values.shape[-1] == live.row.shape[1] and len(values) > 0
        if not (fits and live.encode(values, takes)):
            self._series(self._alone(x), reset=False)
            raise ValueError(f"x must be a row of {live.row.shape[1]} numbers, not {_checks.short_repr(x)}")

    def _plain(self, x: Any) -> NDArray[Any]:
        """Return numbers as an array of one or two dimensions; all but plain ones are checked as `predict` would."""
        try:
            values = np.array(x) if type(x) in (list, tuple) else x
        except ValueError:
            values = x
        if type(values) is not np.ndarray or values.dtype.kind not in "fiu" or values.ndim not in (1, 2):
            values = self._series(self._alone(x), reset=False).values[0]
        return np.asarray(values, np.float64)

    def _outputs_one(self, x: Any) -> NDArray[np.float64]:
        """Return y of the readout for one row or series."""
        live = self._live_now()
        if live is None:
            if not hasattr(self, "_training"):
                raise NotFittedError(f"this {type(self).__name__} has learned nothing yet: call learn_one or fit first")
            return self._outputs(self._alone(x))[0]
        self._encode_one(live, x, False)
        return live.read()

    def _temperature(self) -> float:
        """Return the temperature of choices."""
        live: _stream.Live | None = vars(self).get("_live")
        if live is None:
            return self.readout_.temperature
        return float(live.learner.rule.temperatures(self._training.state.episode, 1)[0])
