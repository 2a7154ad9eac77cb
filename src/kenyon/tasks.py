"""Tasks: which stimuli make up an item, and which class it has.

Static task: an item is one stimulus. Sequence task: three stimuli in a row; the class depends on one of them together
with the other two. Classes have no structure: both tasks are pure memorisation. An episode shows one item, drawn
uniformly; at every step each channel is multiplied by 1 + noise xi, with xi standard normal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kenyon import _checks, _seeding
from kenyon.kernels.inputs import Episodes, trace, work_space
from kenyon.kernels.lanes import Rows32
from kenyon.kernels.noise import random_words
from kenyon.odours import Odours


class Draw(NamedTuple):
    """Episodes of a task."""

    items: NDArray[np.intp]  # (n,): the item that each shows
    labels: NDArray[np.intp]  # (n,): the class of that item
    keys: NDArray[np.uint32]  # (n, 2): the key of its noise


class Task:
    """Items to be told apart: the base of `StaticTask` and `SequenceTask`, and of your own tasks.

    Parameters
    ----------
    odours
        The table of stimuli.
    items
        Positions in that table, shape (n_items, n_elements): an item's stimuli in the order in which they are shown.
    labels
        The class of each item: 0, 1, ..., n_classes - 1.
    n_classes
        Number of classes, at least 2.
    steps
        Number of steps for which each stimulus is shown.
    noise
        Standard deviation of the multiplicative input noise.
    """

    def __init__(
        self,
        odours: Odours,
        items: NDArray[np.intp],
        labels: NDArray[np.intp],
        *,
        n_classes: int,
        steps: int,
        noise: float,
    ) -> None:
        self.odours = _checks.instance("odours", odours, Odours)
        self.n_classes = _checks.integer("n_classes", n_classes, 2)
        self.steps = _checks.integer("steps", steps, 1)
        self.noise = _checks.real("noise", noise, 0.0, 1e6)
        self.items = _positions("items", items, 2, len(odours))
        self.labels = _positions("labels", labels, 1, self.n_classes)
        if len(self.items) != len(self.labels) or self.items.size == 0:
            raise ValueError(
                "items and labels must be non-empty and of equal length, "
                f"not of shapes {self.items.shape} and {self.labels.shape}"
            )

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self)} items of {self.items.shape[1]} element(s), "
            f"{self.n_classes} classes, {self.n_steps} steps, noise {self.noise:g}>"
        )

    @property
    def n_steps(self) -> int:
        """Length of an episode in steps."""
        return int(self.items.shape[1]) * self.steps

    def names(self, item: int) -> tuple[str, ...]:
        """Names of the stimuli that make up an item, in the order in which they are shown."""
        chosen = _checks.integer("item", item, 0, len(self) - 1)
        return tuple(self.odours.names[i] for i in self.items[chosen])

    def split(self, n_groups: int) -> list[Task]:
        """Divide the items into groups of nearly equal size, a task each, to be learned one after another."""
        n_groups = _checks.integer("n_groups", n_groups, 1, len(self))
        parts = np.array_split(np.arange(len(self)), n_groups)
        same = {"n_classes": self.n_classes, "steps": self.steps, "noise": self.noise}
        return [Task(self.odours, self.items[part], self.labels[part], **same) for part in parts]  # type: ignore[arg-type]

    def draw(self, n_episodes: int, seed: int = 0, *, first: int = 0) -> Draw:
        """Draw episodes `first`, `first + 1`, ...; episode k of a seed is always the same."""
        n_episodes = _checks.integer("n_episodes", n_episodes, 0)
        first = _checks.integer("first", first, 0)
        choices, keys = np.empty((2, n_episodes, 2), np.uint32)
        random_words(_seeding.key(seed, "episodes", "item"), first, choices)
        random_words(_seeding.key(seed, "episodes", "noise"), first, keys)
        items = (choices[:, 0] * np.uint64(len(self)) >> np.uint64(32)).astype(np.intp)
        return Draw(items, self.labels[items], keys)

    def inputs(self, n_episodes: int, seed: int = 0, *, first: int = 0) -> NDArray[np.float32]:
        """Return what the input channels receive, noise included, shape (n_episodes, n_steps, n_channels).

        `reservoir.run` of these gives the same states as `reservoir.stream` with the same seed, to the bit.
        """
        return self.show(self.draw(n_episodes, seed, first=first))

    def show(self, draw: Draw) -> NDArray[np.float32]:
        """Return what the input channels receive in drawn episodes, shape (n_episodes, n_steps, n_channels)."""
        episodes = self.episodes(draw)
        n_channels = len(self.odours.channels)
        out = np.empty((len(episodes.shown), self.n_steps, n_channels), np.float32)
        trace(episodes, work_space(Rows32, 0, n_channels), out)
        return out

    def episodes(self, draw: Draw) -> Episodes:
        """Return drawn episodes as the kernels take them."""
        items = _positions("draw.items", _checks.instance("draw", draw, Draw).items, 1, len(self))
        keys = _checks.whole_numbers("draw.keys", draw.keys, "two words per episode", 2, 2**32).astype(np.uint32)
        if keys.shape != (len(items), 2):
            raise ValueError(f"draw.keys must have shape ({len(items)}, 2), not {keys.shape}")
        return Episodes(self.odours.scaled, self.items[items], self.steps, np.float32(self.noise), keys)


class StaticTask(Task):
    """A number of random odours, each with a random class; classes are of nearly equal size.

    With the same seed, a larger task contains the stimuli of a smaller one.

    Parameters
    ----------
    odours
        The table that stimuli are drawn from.
    n_stimuli
        Number of odours to memorise.
    n_classes
        Number of classes.
    seed
        Decides which stimuli and which classes.
    steps
        Number of steps for which the stimulus is shown; 50 are 0.5 s.
    noise
        Standard deviation of the multiplicative input noise.
    """

    def __init__(
        self,
        odours: Odours,
        n_stimuli: int = 140,
        n_classes: int = 2,
        seed: int = 0,
        *,
        steps: int = 50,
        noise: float = 0.3,
    ) -> None:
        _checks.instance("odours", odours, Odours)
        n_classes = _checks.integer("n_classes", n_classes, 2)
        n_stimuli = _checks.integer("n_stimuli", n_stimuli, n_classes, max(n_classes, len(odours)))
        if n_stimuli > len(odours):
            raise ValueError(f"n_stimuli and n_classes must be at most {len(odours)}, the number of odours")
        rng = _seeding.generator(seed, "task", "static")
        chosen = rng.permutation(len(odours))[:n_stimuli]
        labels = rng.permutation(n_stimuli) % n_classes
        super().__init__(odours, chosen[:, None], labels, n_classes=n_classes, steps=steps, noise=noise)
        self.seed = _checks.seed(seed)


class SequenceTask(Task):
    """Three stimuli in a row; the class depends on one of them together with its context.

    For each base sequence and each of its three positions, `n_classes` stimuli replace the one at that position, each
    giving another class. Each of these perturbations also occurs in `n_classes` - 1 other contexts, of two new stimuli,
    where it has the other classes. So there are 3 n_classes^2 n_bases sequences, in this order:
    `items.reshape(n_bases, 3, n_classes, n_classes, 3)` is indexed by base, position, perturbation, context (0: the
    base's own) and element.

    Parameters
    ----------
    odours, n_classes, seed, noise
        As in `StaticTask`.
    n_bases
        Number of base sequences.
    steps
        Number of steps for which each of the three stimuli is shown; 10 are 0.1 s.
    """

    def __init__(
        self,
        odours: Odours,
        n_bases: int = 8,
        n_classes: int = 2,
        seed: int = 0,
        *,
        steps: int = 10,
        noise: float = 0.2,
    ) -> None:
        _checks.instance("odours", odours, Odours)
        n_bases = _checks.integer("n_bases", n_bases, 1)
        n_classes = _checks.integer("n_classes", n_classes, 2)
        maker = _SequenceMaker(len(odours), n_bases, n_classes, _seeding.generator(seed, "task", "sequence"))
        for _ in range(n_bases):
            maker.add_base()
        items, labels = np.array(list(maker.labels)), np.array(list(maker.labels.values()))
        super().__init__(odours, items, labels, n_classes=n_classes, steps=steps, noise=noise)
        self.seed, self.n_bases = _checks.seed(seed), n_bases


class _SequenceMaker:
    """Draws the sequences of a `SequenceTask`: no two the same, each of three different stimuli."""

    attempts = 1000

    def __init__(self, n: int, n_bases: int, n_classes: int, rng: np.random.Generator) -> None:
        self.n_odours, self.n_classes, self.rng = n, n_classes, rng
        self.labels: dict[tuple[int, ...], int] = {}  # the class of each sequence
        wanted = 3 * n_classes**2 * n_bases
        needed = max(3 + n_classes, 6)  # a base and its perturbations; a base, a perturbation and a new context
        self.too_few = (
            f"n_bases = {n_bases} with n_classes = {n_classes} needs {wanted} different sequences of three odours, too "
            f"many for {n} odours; use fewer bases, or more odours (`odours.resample`)"
        )
        if n < needed or wanted > n * (n - 1) * (n - 2):
            raise ValueError(self.too_few)

    def add_base(self) -> None:
        base = self.rng.choice(self.n_odours, 3, replace=False)
        for position in range(3):
            here, used = np.arange(3) == position, base.tolist()
            for own_class in self.rng.permutation(self.n_classes).tolist():
                perturbation = self._add(np.where(here, -1, base), used, own_class)[position]
                used.append(perturbation)
                for other in range(1, self.n_classes):
                    label = (own_class + other) % self.n_classes
                    self._add(np.where(here, perturbation, -1), [*base, perturbation], label)

    def _add(self, pattern: NDArray[np.intp], taken: list[int], label: int) -> tuple[int, ...]:
        """Add a sequence: `pattern`, with stimuli that are not `taken` wherever it holds -1."""
        others, missing = np.setdiff1d(np.arange(self.n_odours), taken), pattern < 0
        for _ in range(self.attempts):
            pattern[missing] = self.rng.choice(others, missing.sum(), replace=False)
            sequence = tuple(pattern.tolist())
            if sequence not in self.labels:
                self.labels[sequence] = label
                return sequence
        raise ValueError(self.too_few)


def _positions(name: str, values: ArrayLike, n_dims: int, n: int) -> NDArray[np.intp]:
    found = _checks.whole_numbers(name, values, f"an array of integers with {n_dims} dimension(s)", n_dims, n).copy()
    found.flags.writeable = False
    return found
