"""The part of an estimator that learns classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from kenyon import _checks
from kenyon.estimators import _stream
from kenyon.estimators._base import random_numbers
from kenyon.estimators._labelled import check_aligned
from kenyon.estimators._series import alone, check_given, check_unmasked, naming
from kenyon.estimators._streaming import StreamingEstimator
from kenyon.estimators._training import Targets
from kenyon.estimators._weights import Indices, Numbers, check_weights, gather, in_shows
from kenyon.readout import draw_choices, tempered

HEAVIEST = 1e6  # weight of a class: how often an online learner is shown one of its series


@dataclass(eq=False, repr=False)
class ClassifierPart(ClassifierMixin, StreamingEstimator):
    """Learns one label per series."""

    _: KW_ONLY
    class_weight: dict[Any, float] | str | None = None

    def fit(self, X: ArrayLike | Sequence[ArrayLike], y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labelled series; the order in which they are listed does not matter.

        Parameters
        ----------
        X
            Static rows (n, features), series (n, T, features), or a list, dict or pandas Series of series (T_k,
            features). Column names of DataFrames are remembered and compared.
        y
            A label for each series, of at least two classes. If it has an index, it must be that of X.
        sample_weight
            A weight for each series, by default 1. A weight of 2 is the same as listing the series twice, and one of 0
            the same as leaving it out; fractions count by chance. Weights that average below 1 are taken as shares:
            they are scaled up to an average of 1. Multiplied by `class_weight`.
        """
        self._check_parameters()
        labels = self._labels(y)
        series, labels, weights = self._weighted(self._series(X, y, reset=not self._continues), labels, sample_weight)
        weights = in_shows(weights)
        with naming("y"):
            classes, codes = np.unique(labels, return_inverse=True)
        self._check_classes(classes)
        self.classes_, self._declared = classes, False
        self.__dict__.pop("_kept", None)
        factors = self._factors(classes, labels, codes, weights)
        factors = factors / np.average(factors, weights=weights)  # only their ratios matter
        self._learn(series, codes.astype(np.intp), gather(series, codes, weights), len(classes), factors)
        return self

    def partial_fit(
        self,
        X: ArrayLike | Sequence[ArrayLike],
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn once from some series, in their order; the next call continues from there.

        Parameters
        ----------
        X, y
            As in `fit`; one row or series is enough. Scales, thresholds and sizes of steps follow what has been seen,
            and how series are cut into calls makes no difference. Learners that cannot follow ("ridge", those with a
            search, your own) calibrate on the first call, or on the first 30 series if it has fewer.
        classes
            All labels that may occur in any call, if they are known; others are refused then. By default classes are
            added when they appear.
        sample_weight
            As in `fit`, but never scaled.
        """
        self._check_parameters()
        first = not hasattr(self, "_training")
        labels = self._labels(y)
        if self.class_weight == "balanced":
            raise ValueError('class_weight="balanced" needs all labels at once; with partial_fit use a dict of weights')
        known = self._declared_classes(labels, classes, first)
        series, labels, weights = self._weighted(self._series(X, y, reset=first), labels, sample_weight)
        series, labels, weights = self._rows_so_far(series, labels, weights)
        self._add_classes(known)
        codes = np.searchsorted(known, labels).astype(np.intp)
        n_outputs = len(known) if self._follows else max(2, len(known))
        self._partial(series, codes, weights, n_outputs, self._factors(known, labels, codes, weights))
        return self

    def learn_one(self, x: ArrayLike, y: Any) -> Self:
        """Learn from one row or series, without overhead; the same as `partial_fit` of it alone, to the bit.

        Measures of the neurons and the learning curve are left as they are.

        Parameters
        ----------
        x
            A row (features,); for a reservoir also a series (T, features).
        y
            Its label. One that has not been seen before is a new class.
        """
        live = self._live_now()
        if live is None or self.class_weight is not None or not isinstance(y, Hashable) or y not in live.codes:
            return self.partial_fit(self._alone(x), _single(y))
        self._learn_row(self._tell(y), x)
        return self

    def predict_one(self, x: ArrayLike) -> Any:
        """Return the most likely label of one row or series, without overhead."""
        return self._said(self._outputs_one(x))

    def predict_proba_one(self, x: ArrayLike) -> dict[Any, float]:
        """Return the probabilities of `predict_proba` for one row or series, by label."""
        y = tempered(self._outputs_one(x)[None, : len(self.classes_)], self._temperature())[0]
        return dict(zip(self.classes_.tolist(), softmax(y).tolist(), strict=True))

    def _said(self, outputs: NDArray[np.float64]) -> Any:
        best = int(outputs[: len(self.classes_)].argmax())
        return self.classes_[best : best + 1].tolist()[0]

    def _tell(self, y: Any) -> _stream.Live:
        live = self._live_now()
        assert live is not None
        if not isinstance(y, Hashable) or y not in live.codes:
            labels = self._labels(_single(y))
            self._add_classes(self._declared_classes(labels, None, False))
            self.__dict__["_live"], y = None, labels.tolist()[0]
            live = self._live_now()
            assert live is not None
        live.label[0] = live.codes[y]
        return live

    def _begin_targets(self) -> int:
        self.classes_, self._declared = np.empty(0), False
        return 0

    def _declared_classes(self, labels: NDArray[Any], classes: Any, first: bool) -> NDArray[Any]:
        """Return all classes that are known from now on, refusing labels that were not declared."""
        if classes is not None:
            known = check_classes(classes)
            if len(known) < 2:
                raise ValueError(f"classes contains only one class, {known[0]!r}; at least two are needed")
            if not first and not np.array_equal(known, self.classes_):
                raise ValueError(
                    f"classes {known.tolist()} differ from those of the first call, {self.classes_.tolist()}"
                )
            self._declared = True
        elif first:
            self._declared = False
        old = known if classes is not None else labels[:0] if first or not len(self.classes_) else self.classes_
        with naming("y"):
            found = np.setdiff1d(labels, old)
        if len(found) and getattr(self, "_declared", False):
            raise ValueError(f"y has labels that are not in classes: {found.tolist()}")
        if len(old) and len(found) and _family(old) != _family(found):
            raise ValueError(f"y has labels of another kind, {found.tolist()}, than classes, {old.tolist()}")
        together = np.union1d(old, found) if len(found) else old
        if not {*old.tolist(), *found.tolist()} <= set(together.tolist()):
            raise ValueError(f"y has labels, {found.tolist()}, that no type of NumPy holds beside {old.tolist()}")
        return together

    def _add_classes(self, known: NDArray[Any]) -> None:
        """Let the learner know of classes that appeared."""
        if hasattr(self, "_training") and len(known) > len(self.classes_):
            places = np.searchsorted(known, self.classes_)
            training = _stream.with_classes(self._training, places, len(known))
            if training is None:
                new = np.setdiff1d(known, self.classes_).tolist()
                raise ValueError(
                    f"y has labels that are new, {new}, which this learner cannot add: pass classes, all labels that "
                    "may occur, on the first call"
                )
            self._training = training
        self.classes_ = known

    def predict(self, X: ArrayLike | Sequence[ArrayLike]) -> NDArray[Any]:
        """Return the most likely label of each series."""
        y = self._outputs(X)[:, : len(self.classes_)]
        return np.asarray(self.classes_[y.argmax(axis=1)])

    def predict_proba(self, X: ArrayLike | Sequence[ArrayLike]) -> NDArray[np.float64]:
        """Return softmax(y), the probability with which `decide` picks each class, shape (n, n_classes)."""
        return np.asarray(
            softmax(tempered(self._outputs(X)[:, : len(self.classes_)], self.readout_.temperature), axis=1)
        )

    def decide(
        self, X: ArrayLike | Sequence[ArrayLike], random_state: int | np.random.RandomState | None = None
    ) -> NDArray[Any]:
        """Return a label for each series, drawn with the probabilities of `predict_proba`.

        Parameters
        ----------
        X
            As in `fit`.
        random_state
            Seed of the draws; by default every call draws anew.
        """
        probabilities = self.predict_proba(X)
        uniforms = random_numbers(random_state).uniform(size=len(probabilities))
        return np.asarray(self.classes_[draw_choices(probabilities, uniforms)])

    def score(self, X: ArrayLike | Sequence[ArrayLike], y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of series, or of their weights, whose most likely label is correct."""
        check_aligned(X, y)
        predicted, labels = self.predict(X), self._labels(y)
        weights = None if sample_weight is None else check_weights(sample_weight, len(predicted))
        with naming("y"):
            return float(accuracy_score(labels, predicted, sample_weight=weights))

    def _labels(self, y: Any) -> NDArray[Any]:
        return check_labels(self, y)

    def _check_classes(self, classes: NDArray[Any]) -> None:
        if len(classes) < 2:
            raise ValueError(f"y contains only one class, {classes[0]!r}; at least two are needed")
        if self._continues and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start continues with classes {self.classes_.tolist()}, but y contains {classes.tolist()}"
            )

    def _factors(self, classes: NDArray[Any], labels: NDArray[Any], codes: Indices, weights: Numbers) -> Numbers:
        """Return the weight of the class of each series."""
        present, by_class = np.unique(codes), np.zeros(len(classes))
        with naming("class_weight"):
            by_label = compute_class_weight(self.class_weight, classes=classes[present], y=labels)
        if isinstance(
            self.class_weight, str
        ):  # "balanced": by total weights, which may be other than numbers of series
            by_label = weights.sum() / (len(present) * np.bincount(codes, weights)[present])
        if not ((by_label >= 0) & (by_label <= HEAVIEST)).all() or not by_label.any():
            raise ValueError(f"class_weight must be from 0 to {HEAVIEST:g}, and not all 0, not {by_label.tolist()}")
        by_class[present] = by_label
        return by_class[codes]

    def _score(self, y: Numbers, targets: Targets, weights: Numbers) -> float:
        return float(np.average(y.argmax(axis=1) == targets, weights=weights))


def check_labels(estimator: Any, y: Any) -> NDArray[Any]:
    """Return y as labels, shape (n,), none missing."""
    check_given(estimator, y)
    with naming("y"):
        labels = column_or_1d(y, warn=True)
    for i, label in enumerate(labels if labels.dtype.kind in "fO" else ()):
        if label is None or label != label:
            raise ValueError(f"y[{i}] is a missing label ({label}); remove the series")
    with np.errstate(over="ignore"):  # infinities are refused below
        sizes = np.abs(labels.astype(np.float64)) if labels.dtype.kind == "f" else np.zeros(0)
    if not (sizes <= 2.0**53).all():
        raise ValueError(f"y must hold labels; numbers must be whole and up to 2^53, not {labels[sizes.argmax()]}")
    with naming("y"):
        check_classification_targets(labels)
    return np.asarray(labels)


def check_classes(classes: ArrayLike) -> NDArray[Any]:
    """Return all labels that may occur, sorted."""
    check_unmasked("classes", classes)
    with naming("classes"):
        known = np.unique(column_or_1d(classes))
    if len(known) == 0 or (known.dtype.kind in "fc" and np.isnan(known).any()):
        raise ValueError(f"classes must hold all labels that may occur, none missing, not {known.tolist()}")
    return known


def _family(labels: NDArray[Any]) -> str:
    """Return what labels are: text, numbers, or another kind of NumPy's."""
    kind = labels.dtype.kind
    return "text" if kind in "US" else "numbers" if kind in "biuf" else kind


def _single(y: Any) -> NDArray[Any]:
    """Return one label as an array."""
    labels = alone("y", y)
    if labels.ndim != 1:
        raise ValueError(f"y must be a single label, not {_checks.short_repr(y)}")
    return labels
