"""The matrix of claims by readings, as a picture."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from kenyon._looks import BLUE, GREY, INK, ORANGE, WARNING
from kenyon.paper import style
from kenyon.paper.figures import write
from kenyon.paper.matrix import Matrix, summary

NAME = "R"  # of the figure
LOOKS = {"reproduced": (BLUE, "o"), "contradicted": (ORANGE, "X"), "inconclusive": (GREY, "_")}
CELL = 0.52  # centimetres


def draw_matrix(matrix: Matrix) -> Figure:
    """Draw claims down and readings across; a frame marks verdicts other than that of the central reading."""
    claims, columns = matrix.claims, matrix.columns
    with style.context():
        height = CELL * len(claims) + 5.5
        figure = Figure((style.WIDTH * style.CM, height * style.CM), layout="constrained")
        axes = figure.subplots()
        for word, (colour, marker) in LOOKS.items():
            places = [
                (x, y)
                for x, own in enumerate(columns)
                for y, number in enumerate(claims)
                if own.verdicts.get(number) == word
            ]
            xs, ys = zip(*places, strict=True) if places else ((), ())
            axes.scatter(xs, ys, s=34, c=colour, marker=marker, linewidths=1.6 if marker == "_" else 0.4, label=word)
        names = [own.name for own in columns]
        differing = [(names.index(name), y) for y, row in enumerate(summary(matrix)) for name in row.differs]
        for x, y in differing:
            axes.add_patch(_frame(x, y))
        axes.set_xticks(range(len(columns)), [own.title for own in columns], rotation=55, ha="left", fontsize=7)
        axes.set_yticks(range(len(claims)), [f"claim {number}" for number in claims], fontsize=7)
        axes.xaxis.tick_top()
        axes.set_xlim(-0.6, len(columns) - 0.4)
        axes.set_ylim(len(claims) - 0.4, -0.6)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.legend(loc="outside lower center", ncols=3, fontsize=7, title="framed: not as in the central reading",
                      title_fontsize=7)  # fmt: skip
        if matrix.quick:
            figure.suptitle(style.QUICK, color=WARNING, fontsize=8, fontweight="bold")
    return figure


def _frame(x: float, y: float) -> Rectangle:
    return Rectangle((x - 0.45, y - 0.45), 0.9, 0.9, fill=False, edgecolor=INK, linewidth=0.7)


def save_matrix(matrix: Matrix, folder: str | Path) -> list[Path]:
    """Draw the matrix and write it as figureR.svg, .pdf and .png."""
    return write(draw_matrix(matrix), NAME, folder)
