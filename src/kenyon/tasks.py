"""Tasks: which stimuli make up an item, and which class it has.

Static task: an item is one stimulus. Sequence task: three stimuli in a row; the class depends on one of them together
with the other two. Classes have no structure: both tasks are pure memorisation. An episode shows one item, drawn
uniformly; at every step each channel is multiplied by 1 + noise xi, with xi standard normal: another for each channel,
or one for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kenyon import _checks, _seeding
from kenyon.kernels.inputs import Episodes, trace, work_space
from kenyon.kernels.lanes import Rows32
from kenyon.kernels.noise import random_words
from kenyon.odours import Odours
from kenyon.sequences import MAKERS

NOISE_KINDS = ("per_channel", "common")
POOLS = ("paper", "all")


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
    noise_kind
        "per_channel": at every step, each channel has noise of its own. "common": all channels have the same.
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
        noise_kind: str = "per_channel",
    ) -> None:
        self.odours = _checks.instance("odours", odours, Odours)
        self.n_classes = _checks.integer("n_classes", n_classes, 2)
        self.steps = _checks.integer("steps", steps, 1)
        self.noise = _checks.real("noise", noise, 0.0, 1e6)
        self.noise_kind: str = _checks.one_of("noise_kind", noise_kind, NOISE_KINDS)
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
        shown = {"steps": self.steps, "noise": self.noise, "noise_kind": self.noise_kind}
        return [
            Task(self.odours, self.items[part], self.labels[part], n_classes=self.n_classes, **shown)  # type: ignore[arg-type]
            for part in parts
        ]

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
        trace(episodes, work_space(Rows32, n_channels, n_channels), out)
        return out

    def episodes(self, draw: Draw) -> Episodes:
        """Return drawn episodes as the kernels take them."""
        items = _positions("draw.items", _checks.instance("draw", draw, Draw).items, 1, len(self))
        keys = _checks.whole_numbers("draw.keys", draw.keys, "two words per episode", 2, 2**32).astype(np.uint32)
        if keys.shape != (len(items), 2):
            raise ValueError(f"draw.keys must have shape ({len(items)}, 2), not {keys.shape}")
        common = self.noise_kind == "common"
        starts = np.zeros(len(items), np.intp)
        return Episodes(self.odours.scaled, self.items[items], self.steps, np.float32(self.noise), common, keys, starts)


class StaticTask(Task):
    """A number of random odours, each with a random class; classes are of nearly equal size.

    With the same seed, a larger task contains the stimuli of a smaller one if both draw from the same pool.

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
    noise_kind
        "per_channel": at every step, each channel has noise of its own. "common": all channels have the same.
    pool
        Which stimuli to draw from. "paper": of the published odours, the paper's 140 (`load_odours("paper")`) as long
        as they suffice, otherwise all 176. "all": all of them at every size. Other tables have no such part, and both
        mean all of their stimuli.
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
        noise_kind: str = "per_channel",
        pool: str = "paper",
    ) -> None:
        _checks.instance("odours", odours, Odours)
        n_classes = _checks.integer("n_classes", n_classes, 2)
        n_stimuli = _checks.integer("n_stimuli", n_stimuli, n_classes, max(n_classes, len(odours)))
        if n_stimuli > len(odours):
            raise ValueError(f"n_stimuli and n_classes must be at most {len(odours)}, the number of odours")
        n_pool = _pool(pool, odours, lambda n: n_stimuli <= n)
        rng = _seeding.generator(seed, "task", "static")
        chosen = rng.permutation(n_pool)[:n_stimuli]
        labels = rng.permutation(n_stimuli) % n_classes
        shown = {"steps": steps, "noise": noise, "noise_kind": noise_kind}
        super().__init__(odours, chosen[:, None], labels, n_classes=n_classes, **shown)  # type: ignore[arg-type]
        self.seed, self.pool = _checks.seed(seed), pool


class SequenceTask(Task):
    """Three stimuli in a row; the class depends on one of them together with its context.

    For each base sequence and each of its three positions, `n_classes` stimuli replace the one at that position, each
    giving another class. Each of these perturbations also occurs in `n_classes` - 1 other contexts, of two new stimuli,
    where it has the other classes. So there are 3 n_classes^2 n_bases sequences, in this order:
    `items.reshape(n_bases, 3, n_classes, n_classes, 3)` is indexed by base, position, perturbation, context (0: the
    base's own) and element.

    Parameters
    ----------
    odours, n_classes, seed, noise, noise_kind
        As in `StaticTask`.
    n_bases
        Number of base sequences.
    steps
        Number of steps for which each of the three stimuli is shown; 10 are 0.1 s.
    pool
        As in `StaticTask`: "paper" takes all of the published odours only if 140 are too few for the sequences.
    contexts
        "own": each perturbation has new contexts of its own, so a new context tells the class by itself. "shared": all
        perturbations of a position meet the same contexts, so neither an element nor a context alone tells the class.

    Attributes
    ----------
    positions
        The perturbed position of each sequence: 0, 1 or 2.
    own_context
        Whether the context of each sequence is the base's own.
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
        noise_kind: str = "per_channel",
        pool: str = "paper",
        contexts: str = "own",
    ) -> None:
        _checks.instance("odours", odours, Odours)
        n_bases = _checks.integer("n_bases", n_bases, 1)
        n_classes = _checks.integer("n_classes", n_classes, 2)
        maker = MAKERS[_checks.one_of("contexts", contexts, tuple(MAKERS))]
        n_pool = _pool(pool, odours, lambda n: maker.enough(n, n_bases, n_classes))
        sequences = maker(n_pool, n_bases, n_classes, _seeding.generator(seed, "task", "sequence"))
        for _ in range(n_bases):
            sequences.add_base()
        items, labels = np.array(list(sequences.labels)), np.array(list(sequences.labels.values()))
        shown = {"steps": steps, "noise": noise, "noise_kind": noise_kind}
        super().__init__(odours, items, labels, n_classes=n_classes, **shown)  # type: ignore[arg-type]
        self.seed, self.n_bases, self.pool, self.contexts = _checks.seed(seed), n_bases, pool, contexts
        _, position, _, context = np.indices((n_bases, 3, n_classes, n_classes)).reshape(4, -1)
        self.positions = _positions("positions", position, 1, 3)
        self.own_context: NDArray[np.bool_] = context == 0
        self.own_context.flags.writeable = False


def _pool(pool: str, odours: Odours, enough: Callable[[int], bool]) -> int:
    """Return how many stimuli of the table to draw from, its first ones."""
    _checks.one_of("pool", pool, POOLS)
    return odours.n_paper if pool == "paper" and odours.n_paper and enough(odours.n_paper) else len(odours)


def _positions(name: str, values: ArrayLike, n_dims: int, n: int) -> NDArray[np.intp]:
    found = _checks.whole_numbers(name, values, f"an array of integers with {n_dims} dimension(s)", n_dims, n).copy()
    found.flags.writeable = False
    return found
