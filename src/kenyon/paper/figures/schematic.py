"""The drawn parts of figure 1: boxes, circles and arrows; each axis is in centimetres."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

from kenyon._looks import FAINT, INK, look
from kenyon.paper.style import odour
from kenyon.tasks import Task

FIXED, LEARNED = "0.55", look("Composed").colour
CLASSES = ("#E69F00", "#56B4E9")
PERTURBED, NEW = "#F3D9E6", "0.93"
NEURONS = (  # positions of some, off any grid
    (4.3, 0.8), (4.0, 1.7), (4.2, 2.6), (4.6, 3.5), (6.9, 0.6), (5.6, 1.5), (6.6, 2.6), (6.2, 3.6), (7.4, 1.8)
)  # fmt: skip
BLOCKS = {2: ("last", 4.95), 1: ("middle", 3.35), 0: ("first", 1.75)}  # position perturbed: its name, and its height
CONTEXTS = {"own context": 4.2, "new context": 10.6}  # and where its sequences begin
LEFT, WIDTH, SMALL = 4.2, 3.9, 1.15  # of the base, and widths of its boxes and of those of other sequences


def draw_network(ax: Any) -> None:
    """Draw inputs, reservoir, thresholds and readout, from left to right."""
    _paper(ax, 17, -0.75, 4.2)
    inputs = [(1.3, y) for y in (0.9, 1.7, 2.5, 3.3)]
    gates = [(10.2, y) for y in (0.6, 1.35, 2.1, 2.85, 3.6)]
    outputs = [(14.2, 1.5), (14.2, 2.7)]
    for start, end in zip(inputs * 2, [NEURONS[i] for i in (0, 1, 2, 3, 1, 2, 3, 0)], strict=True):
        _arrow(ax, start, end, FIXED)
    for source, target in ((0, 4), (5, 1), (2, 6), (6, 8), (8, 5), (7, 3), (4, 7), (3, 2)):
        _arrow(ax, NEURONS[source], NEURONS[target], FIXED, bend=0.25)
    for (x, y), gate in zip([NEURONS[i] for i in (4, 5, 8, 6, 7)], gates, strict=True):
        _arrow(ax, (x, y), (gate[0] - 0.22, gate[1]), FIXED)
    for gate in gates:
        _gate(ax, gate)
        for output in outputs:
            _arrow(ax, (gate[0] + 0.3, gate[1]), output, LEARNED, gap=0)
    for place in (*inputs, *NEURONS, *outputs):
        ax.add_patch(Circle(place, 0.19, facecolor="white", edgecolor=INK, linewidth=0.8, zorder=3))
    _words(ax)


def _words(ax: Any) -> None:
    """Label the parts, and say what is learned."""
    for x, y, text, colour in (
        (2.7, 4.0, r"$W_{in}$", FIXED), (5.7, 4.05, r"$\rho\,W$", FIXED), (10.2, 4.15, r"$\theta$", LEARNED),
        (12.3, 3.75, r"$W_{out}$", LEARNED), (14.2, 3.4, "y", INK), (8.6, 3.85, "V", INK), (11.0, 3.95, "x", INK),
    ):  # fmt: skip
        ax.text(x, y, text, color=colour, ha="center", va="center", fontsize=9)
    for x, text, colour in (
        (1.3, "24 input channels", "black"), (5.6, "reservoir of N neurons,\nfixed", "black"),
        (14.4, "readout,\nlearned", "black"),
        (10.2, "thresholds, learned;\nthey do not feed back", LEARNED),
    ):  # fmt: skip
        ax.text(x, 0.15, text, ha="center", va="top", color=colour, linespacing=1.3)
    for y, text in ((2.7, "class 0"), (1.5, "class 1")):
        ax.text(14.6, y, text, va="center")
    ax.text(16.9, 2.1, "choice:\nsoftmax(y)", va="center", ha="right", linespacing=1.3)


def _gate(ax: Any, centre: tuple[float, float]) -> None:
    """Draw a small graph of relu(V - theta)."""
    x, y = centre
    ax.add_patch(
        Rectangle((x - 0.3, y - 0.27), 0.6, 0.54, facecolor="white", edgecolor=LEARNED, linewidth=0.9, zorder=3)
    )
    ax.plot([x - 0.22, x + 0.02, x + 0.22], [y - 0.15, y - 0.15, y + 0.17], color=LEARNED, linewidth=1.3, zorder=4)


def _arrow(
    ax: Any, start: tuple[float, float], end: tuple[float, float], colour: str, bend: float = 0, gap: float = 5
) -> None:
    ax.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=5, color=colour, linewidth=0.7, shrinkA=gap, shrinkB=5.5,
            connectionstyle=f"arc3,rad={bend}", zorder=1,
        )
    )  # fmt: skip


def draw_sequences(ax: Any, task: Task) -> None:
    """Draw all sequences of a base: perturbed at each of its three positions, in their own and in new contexts."""
    _paper(ax, 17, -1.45, 7.5)
    items, labels = _first_base(task)
    base = [items[1, 0, 0, 0], items[0, 0, 0, 1], items[0, 0, 0, 2]]
    letters = _letters([*base, *items[::-1].ravel()])
    _base(ax, [f"{letters[int(item)]}  {_name(task, item)}" for item in base])
    for position, (name, top) in BLOCKS.items():
        ax.text(0.05, top - 0.36, f"{name} element ({'ABC'[position]})\nperturbed", va="center", linespacing=1.3)
        for perturbation, context in ((i, j) for i in range(2) for j in range(2)):
            sequence = [letters[int(item)] for item in items[position, perturbation, context]]
            x, y = list(CONTEXTS.values())[context], top - 0.72 * perturbation
            _sequence(ax, x, y, sequence, position, int(labels[position, perturbation, context]))
    for words, x in CONTEXTS.items():
        ax.text(x, 5.65, words, va="center")
    _count(ax, task, letters)


def _letters(items: list[Any]) -> dict[int, str]:
    """Return a letter for every odour, in the order of their first appearance."""
    return {item: chr(ord("A") + i) for i, item in enumerate(dict.fromkeys(map(int, items)))}


def _base(ax: Any, names: list[str]) -> None:
    ax.text(0.05, 6.8, "base sequence,\nitself not shown", va="center", linespacing=1.3)
    for i, (name, time) in enumerate(zip(names, ("0 – 0.1 s", "0.1 – 0.2 s", "0.2 – 0.3 s"), strict=True)):
        x = LEFT + (WIDTH + 0.15) * i
        _box(ax, (x, 6.5), WIDTH, 0.6, 0.12, facecolor=NEW, edgecolor="0.4", linewidth=0.6)
        ax.text(x + WIDTH / 2, 6.8, name, va="center", ha="center", fontsize=7)
        ax.text(x + WIDTH / 2, 6.28, time, ha="center", va="center", color=FAINT, fontsize=7)


def _sequence(ax: Any, x: float, y: float, letters: list[str], perturbed: int, label: int) -> None:
    """Draw three odours by their letters, the perturbed one in another colour, and their class."""
    for i, letter in enumerate(letters):
        colour, left = PERTURBED if i == perturbed else NEW, x + (SMALL + 0.1) * i
        _box(ax, (left, y - 0.28), SMALL, 0.56, 0.12, facecolor=colour, edgecolor="0.4", linewidth=0.6)
        ax.text(left + SMALL / 2, y, letter, va="center", ha="center", fontweight="bold", fontsize=7)
    left = x + 3 * (SMALL + 0.1) + 0.15
    _box(ax, (left, y - 0.24), 1.3, 0.48, 0.24, facecolor=CLASSES[label % 2], linewidth=0)
    ax.text(left + 0.65, y, f"class {label}", ha="center", va="center", fontsize=7)


def _first_base(task: Task) -> tuple[Any, Any]:
    """Return the sequences of the first base by position, perturbation, context and element, and their classes."""
    k = task.n_classes
    n = 3 * k * k
    return task.items[:n].reshape(3, k, k, 3), task.labels[:n].reshape(3, k, k)


def _name(task: Task, item: Any) -> str:
    return odour(task.odours.names[int(item)])


def _box(ax: Any, corner: tuple[float, float], width: float, height: float, radius: float, **style: Any) -> None:
    ax.add_patch(FancyBboxPatch(corner, width, height, f"round,pad=0,rounding_size={radius}", **style))


def _count(ax: Any, task: Task, letters: dict[int, str]) -> None:
    k = task.n_classes
    n_bases = len(task) // (3 * k * k)
    text = f"3 positions × {k} perturbations × {k} contexts = {3 * k * k} sequences for a base; "
    ax.text(0.05, 0.22, text + f"{n_bases} bases: {len(task)} sequences", va="center")
    names = [f"{letter} {_name(task, item)}".replace(" ", "\u00a0") for item, letter in letters.items()]
    lines = wrap(", ".join(names), 145, break_long_words=False, break_on_hyphens=False)
    ax.text(0.05, -0.2, "\n".join(lines), va="top", color=FAINT, fontsize=6, linespacing=1.35)


def _paper(ax: Any, width: float, bottom: float, height: float) -> None:
    """Make an axis a blank sheet."""
    ax.set_axis_off()
    ax.set(xlim=(0, width), ylim=(bottom, height))
