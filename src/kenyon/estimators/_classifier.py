"""The part of an estimator that is told classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from kenyon.estimators._base import TARGET, LearningEstimator, random_numbers
from kenyon.estimators._series import check_as_many, check_unmasked, check_weights, naming
from kenyon.estimators._training import Told
from kenyon.learning.rules import Supervised
from kenyon.readout import draw_choices

HEAVIEST = 1e6  # weight of a class: how often an online learner is shown one of its series


class ClassifierPart(ClassifierMixin, LearningEstimator):
    """LearnerProtocol one label per series."""

    @property
    def _rule(self) -> Supervised:
        return Supervised(TARGET)

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from labelled series.

        Parameters
        ----------
        X
            Static rows (n, features), series (n, T, features), or a list of series (T_k, features).
        y
            A label for each, of at least two classes, each seen twice or more.
        """
        self._check_parameters()
        labels = self._labels(y)
        series = self._series(X, reset=not (self.warm_start and hasattr(self, "_training")))
        check_as_many(series, labels)
        with naming("y"):
            classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        self._check_classes(classes, counts)
        self.classes_ = classes
        self._learn(series, codes.astype(np.intp), self._weights(classes, labels, codes), len(classes))
        return self

    def partial_fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn once from some series, in their order, and go on from there at the next call.

        Parameters
        ----------
        X, y
            As in `fit`. The first batch decides the scaling of the input, thresholds and step sizes, and should be
            like those to come.
        classes
            All labels that will ever come; needed at the first call.
        """
        self._check_parameters()
        first = not hasattr(self, "_training")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit: all labels that will ever come")
        labels = self._labels(y)
        known = self.classes_ if classes is None else self._known(classes)
        if not first and not np.array_equal(known, self.classes_):
            raise ValueError(f"classes {known.tolist()} differ from those of the first call, {self.classes_.tolist()}")
        if len(known) < 2:
            raise ValueError(f"classes holds one class only, {known[0]!r}; at least two are needed")
        with naming("y"):
            unknown = np.setdiff1d(labels, known)
        if len(unknown):
            raise ValueError(f"y has labels that are not in classes: {unknown.tolist()}")
        if self.class_weight == "balanced":
            raise ValueError('class_weight="balanced" needs all labels at once; give partial_fit a dict of weights')
        series = self._series(X, reset=first)
        check_as_many(series, labels)
        codes = np.searchsorted(known, labels).astype(np.intp)
        self.classes_ = known
        self._partial(series, codes, self._weights(known, labels, codes, whole=False), len(known))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest label of each series."""
        y = self._outputs(X)
        return np.asarray(self.classes_[y.argmax(axis=1)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return softmax(y), the probability with which `decide` takes each class, shape (n, n_classes)."""
        return np.asarray(softmax(np.asarray(self._outputs(X) / self.readout_.temperature, np.float64), axis=1))

    def decide(self, X: Any, random_state: Any = None) -> NDArray[Any]:
        """Return a label for each series, drawn with the probabilities of `predict_proba`.

        Parameters
        ----------
        X
            As in `fit`.
        random_state
            Decides what is drawn; by default another draw at every call.
        """
        probabilities = self.predict_proba(X)
        uniforms = random_numbers(random_state).uniform(size=len(probabilities))
        return np.asarray(self.classes_[draw_choices(probabilities, uniforms)])

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of series whose likeliest label is the right one."""
        found, labels, weights = self.predict(X), self._labels(y), check_weights(sample_weight)
        with naming("y"):
            return float(accuracy_score(labels, found, sample_weight=weights))

    def _labels(self, y: Any) -> NDArray[Any]:
        if y is None:
            name = type(self).__name__
            raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None")
        check_unmasked("y", y)
        with naming("y"):
            labels = column_or_1d(y, warn=True)
        for i, label in enumerate(labels if labels.dtype.kind in "fO" else ()):
            if label is None or label != label:
                raise ValueError(f"y[{i}] is a missing label ({label}); leave the series out")
        with np.errstate(over="ignore"):  # what becomes infinite is refused
            sizes = np.abs(labels.astype(np.float64)) if labels.dtype.kind == "f" else np.zeros(0)
        if not (sizes <= 2.0**53).all():
            raise ValueError(f"y must hold labels, and numbers among them be whole, not {labels[sizes.argmax()]}")
        with naming("y"):
            check_classification_targets(labels)
        return np.asarray(labels)

    def _known(self, classes: ArrayLike) -> NDArray[Any]:
        check_unmasked("classes", classes)
        with naming("classes"):
            known = np.unique(column_or_1d(classes))
        if len(known) == 0 or (known.dtype.kind in "fc" and np.isnan(known).any()):
            raise ValueError(f"classes must be all labels that will ever come, none missing, not {known.tolist()}")
        return known

    def _check_classes(self, classes: NDArray[Any], counts: NDArray[np.intp]) -> None:
        if len(classes) < 2:
            raise ValueError(f"y holds one class only, {classes[0]!r}; at least two are needed")
        if counts.min() < 2:
            label = classes[counts.argmin()]
            raise ValueError(
                f"y holds the label {label!r} once only; fit needs each label at least twice, so that it can be both "
                "learned and checked. Leave it out, or use partial_fit, which takes what comes"
            )
        if self.warm_start and hasattr(self, "_training") and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start goes on with classes {self.classes_.tolist()}, but y holds {classes.tolist()}"
            )

    def _weights(
        self, classes: NDArray[Any], labels: NDArray[Any], codes: NDArray[np.intp], whole: bool = True
    ) -> NDArray[np.float64] | None:
        if self.class_weight is None:
            return None
        present = classes if whole else np.unique(labels)
        by_class = np.zeros(len(classes))
        with naming("class_weight"):
            found = compute_class_weight(self.class_weight, classes=present, y=labels)
        if not ((found >= 0) & (found <= HEAVIEST)).all() or not found.any():
            raise ValueError(f"class_weight must be from 0 to {HEAVIEST:g}, and not all 0, not {found.tolist()}")
        by_class[np.searchsorted(classes, present)] = found
        return by_class[codes]

    def _held_out(self, told: Told) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        n, n_classes = len(told), len(self.classes_)
        size = max(n_classes, round(self.validation_fraction * n))
        if size > n - n_classes:
            raise ValueError(f"early_stopping holds out at least one series of each class; {n} series are too few")
        split = StratifiedShuffleSplit(1, test_size=size, random_state=self._seed)
        seen, held = next(split.split(np.zeros(n), told))
        return np.sort(seen), np.sort(held)

    def _score(self, y: NDArray[np.float64], told: Told) -> float:
        return float((y.argmax(axis=1) == told).mean())
