"""The learners for River (https://riverml.xyz): rows that come one by one, as dicts of features.

A feature that is missing, None or NaN counts as its mean so far; one that appears in mid-stream is read from then on.
Nothing needs to be scaled beforehand. River comes with `pip install kenyon[stream]`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from river import base

from kenyon import _checks
from kenyon.estimators import ThresholdReadout
from kenyon.estimators import ThresholdRegressor as RowRegressor
from kenyon.estimators._growth import with_features
from kenyon.estimators._stream import Live, streams
from kenyon.estimators._training import pick
from kenyon.kernels.streams import LARGEST_VALUE

__all__ = ["ThresholdClassifier", "ThresholdRegressor"]
RANDOM_FEATURES = 300
MISSING = float("nan")


class _Rows:
    """What both share: dicts become rows of a model."""

    _kind: ClassVar[Any]  # of the model

    def __init__(self, learner: Any, random_features: int, forgetting: float, seed: int | None) -> None:
        self.learner, self.random_features, self.forgetting, self.seed = learner, random_features, forgetting, seed
        self._names: dict[Hashable, int] = {}  # the place of each feature in a row
        self._model: Any = None

    def _begin(self) -> None:
        if self.seed is not None:
            _checks.integer("seed", self.seed, 0, 2**32 - 1)
        model = self._kind(
            self.learner, random_features=self.random_features, forgetting=self.forgetting, random_state=self.seed
        )
        if not streams(pick(self.learner, model._rule)):
            raise ValueError(
                f"learner must follow a stream from its first row on, as 'normalised' does, not "
                f"{_checks.short_repr(self.learner)}"
            )
        self._model = model

    def _row(self, x: Mapping[Hashable, Any]) -> NDArray[np.float64]:
        """Return the values of known features in their order, NaN for those that are missing."""
        get = x.get
        try:
            return np.array([get(name, MISSING) for name in self._names], np.float64)
        except (TypeError, ValueError):
            for name in self._names:
                _check_value(name, get(name, MISSING))
            raise

    def _live(self) -> Live:
        live = self._model._live_now()
        live.gaps = True
        found: Live = live
        return found

    def _taken(self, x: Mapping[Hashable, Any]) -> NDArray[np.float64]:
        """Return a row to learn from, in which new features have their places; empty if none has ever had a value."""
        if self._model is None:
            self._begin()
        if x.keys() - self._names.keys():
            self._add(x)
        return self._row(x)

    def _learn(self, row: NDArray[np.float64], y: Any) -> None:
        if not hasattr(self._model, "_training"):
            self._model.learn_one(row, y)
            return
        self._live()
        live: Live = self._model._tell(y)
        live.gaps = True
        self._model._learn_row(live, row)

    def _add(self, x: Mapping[Hashable, Any]) -> None:
        """Give new features that have a value a place, in an order that does not depend on that of the dict."""
        found = sorted(x.keys() - self._names.keys(), key=repr)
        new = [name for name in found if _check_value(name, x[name])]
        for name in new:
            self._names[name] = len(self._names)
        model = self._model
        if new and hasattr(model, "_training"):
            model.encoder_, model._training = with_features(model.encoder_, model._training, len(new))
            model.n_features_in_ = len(self._names)
            model.__dict__.update(_live=None, _readout=None)

    def _outputs(self, x: Mapping[Hashable, Any]) -> NDArray[np.float64] | None:
        """Return the outputs for a row; None as long as nothing has been learned."""
        if self._model is None or not hasattr(self._model, "_training"):
            return None
        live = self._live()
        self._model._encode_one(live, self._row(x), False)
        return live.read()


class ThresholdClassifier(_Rows, base.Classifier):
    """Classify rows as they come, with a readout that learns thresholds.

    Rows are standardised by their running means and deviations, and read beside random features of them.

    Parameters
    ----------
    learner
        "normalised"; or one with your own settings, such as `kenyon.Normalised(mu=0.2, start=kenyon.Percentile(50))`.
    random_features
        How many random features to read beside those given: relu of a random sum of three features and a constant.
    forgetting
        The factor by which the weight of a row falls with every one that follows: 0.99 where the data drift all the
        time, 0.999 where they change once in a while. By default 1: nothing is forgotten.
    seed
        Of the random features; None for another one each time.
    """

    _kind = ThresholdReadout

    def __init__(
        self,
        learner: Any = "normalised",
        random_features: int = RANDOM_FEATURES,
        forgetting: float = 1.0,
        seed: int | None = 0,
    ) -> None:
        super().__init__(learner, random_features, forgetting, seed)
        self._codes: dict[Any, int] = {}  # of the labels, in the order in which they appeared

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Mapping[Hashable, Any], y: Any) -> None:
        """Learn from one row; a label that has not been seen before is a new class."""
        if y is None or y != y:
            raise ValueError(f"y must be a label, not {y}")
        row = self._taken(x)
        if len(row):
            self._learn(row, self._codes.setdefault(y, len(self._codes)))

    def predict_proba_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label seen so far; none before the first."""
        outputs = self._outputs(x)
        if outputs is None:
            return {}
        raised = np.exp(outputs - outputs.max())
        return dict(zip(self._codes, (raised / raised.sum()).tolist(), strict=True))

    def predict_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> Any:
        """Return the most likely label; None before the first row."""
        outputs = self._outputs(x)
        return None if outputs is None else list(self._codes)[int(outputs.argmax())]


class ThresholdRegressor(_Rows, base.Regressor):
    """Predict a number from rows as they come; parameters are those of `ThresholdClassifier`."""

    _kind = RowRegressor

    def __init__(
        self,
        learner: Any = "normalised",
        random_features: int = RANDOM_FEATURES,
        forgetting: float = 1.0,
        seed: int | None = 0,
    ) -> None:
        super().__init__(learner, random_features, forgetting, seed)

    def learn_one(self, x: Mapping[Hashable, Any], y: float) -> None:
        """Learn from one row."""
        y = _checks.real("y", y, -LARGEST_VALUE, LARGEST_VALUE)
        row = self._taken(x)
        if len(row):
            self._learn(row, y)

    def predict_one(self, x: Mapping[Hashable, Any]) -> float:
        """Return the predicted number; 0 before the first row."""
        outputs = self._outputs(x)
        return 0.0 if outputs is None else float(self._model._said(outputs))


def _check_value(name: Hashable, value: Any) -> bool:
    """Tell whether a feature has a value, refusing what is not a number."""
    is_number = isinstance(value, (Real, np.bool_))
    if value is None or (is_number and value != value):
        return False
    plain = value.item() if isinstance(value, np.generic) else value  # NumPy's would overflow in the comparison
    if not is_number or not -LARGEST_VALUE <= plain <= LARGEST_VALUE:
        allowed = f"a number within ±{LARGEST_VALUE:g}"
        raise ValueError(f"x[{name!r}] must be {allowed}, not {_checks.short_repr(value)}: encode words beforehand")
    return True
