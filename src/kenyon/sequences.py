"""How the sequences of a `SequenceTask` are drawn: bases, perturbations, and the contexts that they occur in."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray


class SequenceMaker(ABC):
    """Draws the sequences of a `SequenceTask`: no two the same, each of three different stimuli."""

    attempts = 1000  # at sequences that are not there yet

    def __init__(self, n: int, n_bases: int, n_classes: int, rng: np.random.Generator) -> None:
        self.n_odours, self.n_classes, self.rng = n, n_classes, rng
        self.labels: dict[tuple[int, ...], int] = {}  # the class of each sequence
        self.too_few = (
            f"n_bases = {n_bases} with n_classes = {n_classes} needs {3 * n_classes**2 * n_bases} different sequences "
            f"of three odours, too many for {n} odours; use fewer bases, or more odours (`odours.resample`)"
        )
        if not self.enough(n, n_bases, n_classes):
            raise ValueError(self.too_few)

    @classmethod
    def enough(cls, n: int, n_bases: int, n_classes: int) -> bool:
        """Tell whether n odours may suffice."""
        return n >= cls.needed(n_classes) and 3 * n_classes**2 * n_bases <= n * (n - 1) * (n - 2)

    @staticmethod
    @abstractmethod
    def needed(n_classes: int) -> int:
        """Return the number of different odours that one position takes."""

    def add_base(self) -> None:
        """Add all sequences of a new base."""
        base = self.rng.choice(self.n_odours, 3, replace=False)
        for position in range(3):
            self.add_position(base, np.arange(3) == position)

    @abstractmethod
    def add_position(self, base: NDArray[np.intp], here: NDArray[np.bool_]) -> None:
        """Add the sequences of a base in which the element `here` is perturbed."""

    def others(self, taken: list[int]) -> NDArray[np.intp]:
        """Return all odours that are not taken."""
        return np.setdiff1d(np.arange(self.n_odours), taken)


class OwnContexts(SequenceMaker):
    """Each perturbation has its own new contexts."""

    @staticmethod
    def needed(n_classes: int) -> int:
        """Return the number of different odours that one position takes."""
        return max(3 + n_classes, 6)  # a base and its perturbations; a base, a perturbation and a new context

    def add_position(self, base: NDArray[np.intp], here: NDArray[np.bool_]) -> None:
        """Draw perturbations one by one, each with its contexts."""
        used = base.tolist()
        for own_class in self.rng.permutation(self.n_classes).tolist():
            perturbation = self._add(np.where(here, -1, base), used, own_class)[int(here.argmax())]
            used.append(perturbation)
            for other in range(1, self.n_classes):
                label = (own_class + other) % self.n_classes
                self._add(np.where(here, perturbation, -1), [*base, perturbation], label)

    def _add(self, pattern: NDArray[np.intp], taken: list[int], label: int) -> tuple[int, ...]:
        """Add a sequence: `pattern`, with stimuli that are not `taken` wherever it holds -1."""
        others, missing = self.others(taken), pattern < 0
        for _ in range(self.attempts):
            pattern[missing] = self.rng.choice(others, missing.sum(), replace=False)
            sequence = tuple(pattern.tolist())
            if sequence not in self.labels:
                self.labels[sequence] = label
                return sequence
        raise ValueError(self.too_few)


class SharedContexts(SequenceMaker):
    """All perturbations of a position meet the same contexts: a Latin square of perturbations, contexts and classes."""

    @staticmethod
    def needed(n_classes: int) -> int:
        """Return the number of different odours that one position takes."""
        return 5 + n_classes  # a base, its perturbations and a new context

    def add_position(self, base: NDArray[np.intp], here: NDArray[np.bool_]) -> None:
        """Draw perturbations and contexts, and take all pairs of them."""
        classes = self.rng.permutation(self.n_classes)
        for _ in range(self.attempts):
            perturbations = self.rng.choice(self.others(base.tolist()), self.n_classes, replace=False)
            new = self.others([*base, *perturbations])
            pairs = [self.rng.choice(new, 2, replace=False) for _ in range(self.n_classes - 1)]
            sequences = np.empty((self.n_classes, self.n_classes, 3), np.intp)  # perturbation, context, element
            sequences[:, :, here], sequences[:, :, ~here] = perturbations[:, None, None], [base[~here], *pairs]
            labels = (classes[:, None] + np.arange(self.n_classes)) % self.n_classes
            found = dict(zip(map(tuple, sequences.reshape(-1, 3).tolist()), labels.ravel().tolist(), strict=True))
            if len(found) == self.n_classes**2 and not found.keys() & self.labels.keys():
                self.labels.update(found)
                return
        raise ValueError(self.too_few)


MAKERS: dict[str, type[SequenceMaker]] = {"own": OwnContexts, "shared": SharedContexts}
