"""The drawn parts of figure 1: boxes, circles and arrows; each axis is in centimetres."""

from __future__ import annotations

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
LETTERS = {(0, 0): "APC", (0, 1): "DPE", (1, 0): "AQC", (1, 1): "FQG"}  # of sequences, by perturbation and context
LEFT, STRIDE = 2.25, 3.85  # of the odours of a sequence


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
    """Draw the sequences that perturb the middle of a base, by the names of their odours, and count the rest."""
    _paper(ax, 17, -0.1, 6.6)
    items, labels = _first_base(task)
    base = [items[1, 0, 0, 0], items[0, 0, 0, 1], items[0, 0, 0, 2]]
    ax.text(0.05, 6.1, "base", va="center")
    _row(ax, 6.1, [_name(task, i) for i in base], "ABC", [NEW] * 3)
    for ((perturbation, context), letters), y in zip(LETTERS.items(), (4.7, 3.75, 2.4, 1.45), strict=True):
        names = [_name(task, i) for i in items[1, perturbation, context]]
        _row(ax, y, names, letters, [NEW, PERTURBED, NEW])
        ax.text(0.05, y, "own context" if context == 0 else "new context", va="center")
        label = int(labels[1, perturbation, context])
        _box(ax, (13.95, y - 0.26), 1.35, 0.52, 0.25, facecolor=CLASSES[label % 2], linewidth=0)
        ax.text(13.95 + 0.675, y, f"class {label}", ha="center", va="center", fontsize=7)
    _count(ax, task)


def _first_base(task: Task) -> tuple[Any, Any]:
    """Return the sequences of the first base by position, perturbation, context and element, and their classes."""
    k = task.n_classes
    n = 3 * k * k
    return task.items[:n].reshape(3, k, k, 3), task.labels[:n].reshape(3, k, k)


def _name(task: Task, item: Any) -> str:
    return odour(task.odours.names[int(item)])


def _row(ax: Any, y: float, names: list[str], letters: str, colours: list[str]) -> None:
    """Draw three odours in a row, each with its letter."""
    for i, (name, letter, colour) in enumerate(zip(names, letters, colours, strict=True)):
        x = LEFT + STRIDE * i
        _box(ax, (x, y - 0.36), STRIDE - 0.2, 0.72, 0.12, facecolor=colour, edgecolor="0.4", linewidth=0.6)
        ax.text(x + 0.24, y, letter, va="center", ha="center", fontweight="bold")
        ax.text(x + 0.48, y, name, va="center", fontsize=6.8)


def _box(ax: Any, corner: tuple[float, float], width: float, height: float, radius: float, **style: Any) -> None:
    ax.add_patch(FancyBboxPatch(corner, width, height, f"round,pad=0,rounding_size={radius}", **style))


def _count(ax: Any, task: Task) -> None:
    k = task.n_classes
    n_bases = len(task) // (3 * k * k)
    for i, text in enumerate(("0 – 0.1 s", "0.1 – 0.2 s", "0.2 – 0.3 s")):
        ax.text(LEFT + STRIDE * (i + 0.475), 0.82, text, ha="center", va="center", color=FAINT, fontsize=7)
    ax.text(13.95, 6.1, "itself not shown", va="center", color=FAINT, fontsize=7)
    swap = "P and Q replace B, each with a class of its own; in a new context each has the other class:"
    ax.text(0.05, 5.42, swap, va="center")
    text = f"The same for A and C: 3 positions × {k} perturbations × {k} contexts = {3 * k * k} sequences for a base; "
    ax.text(0.05, 0.12, text + f"{n_bases} bases: {len(task)} sequences", va="center")


def _paper(ax: Any, width: float, bottom: float, height: float) -> None:
    """Make an axis a blank sheet."""
    ax.set_axis_off()
    ax.set(xlim=(0, width), ylim=(bottom, height))
