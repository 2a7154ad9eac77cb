"""Tests of readouts on fresh episodes: accuracy, codes, thresholds, and how classes differ, beside chance.

Chance is the mean over permutations of the items' labels, at the same thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kenyon import _seeding, metrics
from kenyon.learning.learners import Learner
from kenyon.learning.protocol import Source
from kenyon.learning.rules import Supervised
from kenyon.learning.runs import Run
from kenyon.readout import SIGNED, Readout, tempered, weighted_sums
from kenyon.reservoir import Batch
from kenyon.tasks import Task

ACCURACIES = ("accuracy", "expected_accuracy", "argmax_accuracy")
CODES = (
    *("coding_level", "norm2", "theta_mean", "theta_sd", "theta_active_mean", "theta_active_sd"),
    *("overlap", "overlap_permuted", "specificity_permuted"),
    *("relative_specificity", "relative_specificity_permuted"),
)
SCALARS = (*ACCURACIES, *CODES)
PER_NEURON = ("theta", "activity", "specificity", "specificity_summed")
OF_THE_START = (*CODES, *PER_NEURON)
DIRECTIONS = ("theta_falls", "theta_rises")  # of thresholds, early in learning
BY_KIND = {"position_accuracy": "position", "context_accuracy": "context"}  # and the dimension of each
PERMUTATIONS = 10


class Code:
    """What is measured of the code x of a readout on test episodes, summed batch by batch; the tests that need x.

    Parameters
    ----------
    readout
        Whose code; None if there is none.
    n_classes
        Number of classes.
    labellings
        Classes of a task's items, shape (n, n_items): the right ones, followed by permutations of them.
    """

    def __init__(self, readout: Readout | None, n_classes: int, labellings: NDArray[np.intp]) -> None:
        self.readout, self.n_classes, self.labellings, self.n = readout, n_classes, labellings, 0
        self.tests: list[Test] = []  # of readouts with this code
        self.sums = np.zeros(2)
        self.shown = np.zeros((len(labellings), n_classes))  # episodes of each class
        self.active: Any = 0.0  # (n_labellings, n_neurons, n_classes): test episodes in which a neuron was active
        self.amount: Any = 0.0  # its summed activity

    def take(self, batch: Batch) -> None:
        """Add a batch, and show it to the tests."""
        if self.readout is not None:
            x = self.readout.features(batch.states)
            size = np.abs(x) if self.readout.code == SIGNED else x
            norm2 = np.einsum("ni,ni->n", x, x).sum(dtype=np.float64)
            self.sums += [len(x) * metrics.coding_level(size), norm2]
            self._add_classes(x, size, self.labellings[:, batch.items])
            for test in self.tests:
                test.take(x, batch)
        self.n += len(batch.items)

    def _add_classes(self, x: NDArray[np.float32], size: NDArray[np.float32], labels: NDArray[np.intp]) -> None:
        self.shown += (labels[:, :, None] == np.arange(self.n_classes)).sum(axis=1)
        self.active = self.active + metrics.class_sums(size > 0, labels, self.n_classes)
        self.amount = self.amount + metrics.class_sums(x, labels, self.n_classes)

    def measures(self) -> dict[str, Any]:
        """Return all measures by name; NaN if there is no readout."""
        return self._measured

    @cached_property
    def _measured(self) -> dict[str, Any]:
        if self.readout is None:
            return dict.fromkeys(OF_THE_START, np.nan)
        theta = self.readout.theta.astype(np.float64)
        active = self.active[0].sum(axis=1)
        return {
            **dict(zip(CODES[:2], self.sums / self.n, strict=True)),
            "theta_mean": theta.mean(),
            "theta_sd": theta.std(),
            "theta_active_mean": _mean(theta[active > 0]),
            "theta_active_sd": np.sqrt(_mean((theta[active > 0] - _mean(theta[active > 0])) ** 2)),
            "theta": theta,
            "activity": active / self.n,
            **self._classes(),
        }

    def _classes(self) -> dict[str, Any]:
        """Return the measures of how classes differ, and what they are by chance."""
        # As if classes were equally frequent: otherwise neurons that are always active would seem to prefer a class.
        share = self.n / self.n_classes / np.maximum(self.shown, 1.0)[:, None, :]
        counts, amounts = self.active * share, self.amount * share
        ever = counts[0].sum(axis=1) > 0
        absolute = [metrics.specificity(count, self.n) for count in counts]
        relative = [_mean(metrics.specificity(count[ever], self.n, relative=True)) for count in counts]
        overlaps = [metrics.overlap(amount) for amount in amounts]
        return {
            "specificity": absolute[0],
            "specificity_permuted": _mean(absolute[1:]),
            "specificity_summed": metrics.specificity(amounts[0], self.n),
            "relative_specificity": relative[0],
            "relative_specificity_permuted": _mean(relative[1:]),
            "overlap": overlaps[0],
            "overlap_permuted": _mean(overlaps[1:]),
        }


class Codes:
    """The codes of readouts on a task: those that read V in the same way, at the same thresholds, share one.

    `labellings` are as in `Code`.
    """

    def __init__(self, task: Task, labellings: NDArray[np.intp]) -> None:
        self.task, self.labellings = task, labellings
        self.found: dict[Any, Code] = {}

    def of(self, readout: Readout | None) -> Code:
        """Return the code of a readout."""
        key = _reading(readout)
        if key not in self.found:
            self.found[key] = Code(readout, self.task.n_classes, self.labellings)
        return self.found[key]

    def __iter__(self) -> Iterator[Code]:
        """All codes, each once."""
        return iter(self.found.values())


def _reading(readout: Readout | None) -> Any:
    """Return what decides the code of a readout; a readout of a class of its own may have any code."""
    if readout is None or type(readout) is not Readout:
        return id(readout)
    shift, scale = (None if part is None else part.tobytes() for part in (readout.shift, readout.scale))
    return readout.thresholds, readout.code, readout.theta.tobytes(), shift, scale


class Test:
    """Accuracies of a readout on test episodes, summed batch by batch, and what is measured of its code.

    Parameters
    ----------
    readout
        What to test; None if there is none.
    codes
        The codes of readouts on the task, one of which shows it the episodes.
    source
        Random numbers of the learner.
    """

    def __init__(self, readout: Readout | None, codes: Codes, source: Source) -> None:
        self.readout, self.source, self.n = readout, source, 0
        self.code = codes.of(readout)
        self.code.tests.append(self)
        self.kinds = _kinds(codes.task)
        self.right = {name: np.zeros((2, numbers.max() + 1)) for name, numbers in self.kinds.items()}  # and of how many
        self.sums = np.zeros(len(ACCURACIES))

    def take(self, x: NDArray[np.float32], batch: Batch) -> None:
        """Add a batch, with its code x."""
        assert self.readout is not None  # otherwise there is no code
        uniforms = self.source.uniforms("test", self.n, len(x))[:, 0]
        y = tempered(weighted_sums(x, self.readout.W, self.readout.bias), self.readout.temperature)
        found = metrics.accuracies(y, batch.labels, uniforms)
        self.sums += found.sum(axis=1)
        for name, numbers in self.kinds.items():
            places, right = numbers[batch.items], self.right[name]
            right += [np.bincount(places, weights, right.shape[1]) for weights in (found[0], None)]
        self.n += len(x)

    def measures(self) -> dict[str, Any]:
        """Return all measures by name; NaN if there is no readout."""
        accuracies = self.sums / self.n if self.readout is not None else np.full(len(ACCURACIES), np.nan)
        kinds = {name: right / np.where(n > 0, n, np.nan) for name, (right, n) in self.right.items()}
        return {**dict(zip(ACCURACIES, accuracies, strict=True)), **self.code.measures(), **kinds}


class Directions:
    """Where the gradient would move the thresholds of an early readout, counted batch by batch."""

    def __init__(self, run: Run) -> None:
        learner = run.learner
        moves = isinstance(learner, Learner) and learner.local and isinstance(learner.rule, Supervised)
        self.readout: Readout | None = run.early if moves else None
        self.target: float = learner.rule.target if moves else 0.0  # type: ignore[attr-defined]
        self.counts = np.zeros(4)

    def take(self, batch: Batch) -> None:
        """Add a batch."""
        if self.readout is not None:
            x = self.readout.features(batch.states)
            errors = -weighted_sums(x, self.readout.W, None)
            errors[np.arange(len(x)), batch.labels] += self.target
            self.counts += metrics.theta_directions(x, self.readout.W, errors, batch.labels)

    def shares(self) -> tuple[float, float]:
        """Return the shares of thresholds that fall where they should, and that rise where they should."""
        favour, fall, against, rise = self.counts.tolist()
        return fall / favour if favour else np.nan, rise / against if against else np.nan


def labellings(task: Task, seed: int, permutations: int) -> NDArray[np.intp]:
    """Return the classes of a task's items, followed by permutations of them: what classes would be by chance."""
    rng = _seeding.generator(seed, "test", "permuted labels")
    return np.array([task.labels, *(rng.permutation(task.labels) for _ in range(permutations))])


def _kinds(task: Task) -> dict[str, NDArray[np.intp]]:
    """Return the kinds of items that accuracies are reported for, a number for each item, as far as a task has them."""
    positions, own = (np.asarray(getattr(task, name, ())) for name in ("positions", "own_context"))
    kinds: dict[str, NDArray[Any]] = {"position_accuracy": positions, "context_accuracy": np.where(own, 0, 1)}
    return {name: numbers for name, numbers in kinds.items() if numbers.shape == (len(task),)}


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
