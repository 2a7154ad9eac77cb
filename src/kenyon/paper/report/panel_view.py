"""The panel on the page: a slider, the codes that a script draws, three curves, and pictures for paper."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kenyon.paper.report.panel import HEIGHT, LEFT, PALETTES, SILENT, TOP, WIDTH, Panel, largest, start_index
from kenyon.paper.report.text import number, share

Span = tuple[float, float]
Point = tuple[float, float]
SHARES: Span = (0.0, 1.0)
ACCURACIES: Span = (0.4, 1.0)  # chance is 0.5, and an accuracy may fall below it by chance


class Curve(NamedTuple):
    """A curve against the threshold, in the coordinates of the drawing, and its value where the slider starts."""

    name: str
    title: str
    what: str
    value: str
    span: Span
    rows: list[tuple[str, float]]  # labels of the axis, and their positions
    columns: list[tuple[str, float]]
    lines: list[list[Point]]  # in pieces, if there are gaps
    failures: Sequence[tuple[float, float, str]] = ()  # from, to, and what happens to runs there
    runs: Sequence[Point] = ()


def view(panel: Panel) -> dict[str, Any]:
    """Return what the panel's template shows; the page's script animates it."""
    start = start_index(panel)
    shown = dict.fromkeys([0, start, min(2 * start, len(panel.theta) - 1)])
    return {
        "panel": panel,
        "start": start,
        "start_theta": panel.theta[start],
        "curves": curves(panel),
        "pictures": [_picture(panel, i) for i in shown],
        "plot": {"left": LEFT, "right": LEFT + WIDTH, "top": TOP, "bottom": TOP + HEIGHT},
    }


def curves(panel: Panel) -> list[Curve]:
    """Return the three curves."""
    i, halves = start_index(panel), (0, 0.5, 1)
    between = "mean cosine between codes of different classes"
    overlap = ("overlap", "Overlap of classes", between, number(panel.overlap[i]))
    accuracy = ("accuracy", "Accuracy", "of readouts trained at a fixed threshold", number(panel.accuracy[i]))
    return [
        _curve(panel, ("coding", "Coding level", "share of active neurons", share(panel.coding[i])), SHARES, halves),
        _curve(panel, overlap, SHARES, halves),
        _curve(panel, accuracy, ACCURACIES, (0.5, 0.75, 1))._replace(failures=_failures(panel), runs=_runs(panel)),
    ]


def _curve(panel: Panel, words: tuple[str, str, str, str], span: Span, ticks: Sequence[float]) -> Curve:
    x, y = _x(panel, panel.theta), _y(getattr(panel, words[0]), span)
    along = np.arange(0, panel.theta[-1] + 0.01, 0.5)
    pieces = [piece[np.isfinite(y[piece])] for piece in np.split(np.arange(len(y)), np.flatnonzero(~np.isfinite(y)))]
    return Curve(
        *words,
        span,
        [(f"{tick:g}", place) for tick, place in zip(ticks, _y(np.array(ticks), span), strict=True)],
        [(f"{tick:g}", place) for tick, place in zip(along, _x(panel, along), strict=True)],
        [list(zip(x[piece], y[piece], strict=True)) for piece in pieces if len(piece)],
    )


def _failures(panel: Panel) -> list[tuple[float, float, str]]:
    """Return the ranges of thresholds in which runs fail: too many neurons are active, or none."""
    within = np.flatnonzero(panel.lost > 0)
    ranges = np.split(within, np.flatnonzero(np.diff(within) > 1) + 1) if len(within) else []
    how = ["diverge" if panel.coding[inside].max() >= SILENT else "fall silent" for inside in ranges]
    return [(*_x(panel, panel.theta[inside[[0, -1]]]), word) for inside, word in zip(ranges, how, strict=True)]


def _runs(panel: Panel) -> list[Point]:
    x, y = _x(panel, panel.trained.thresholds), _y(panel.trained.accuracy, ACCURACIES)
    return [(left, height) for left, row in zip(x, y, strict=True) for height in row[np.isfinite(row)]]


def _x(panel: Panel, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    inside: NDArray[np.float64] = theta / panel.theta[-1]
    return LEFT + WIDTH * inside


def _y(values: NDArray[np.float64], span: Span) -> NDArray[np.float64]:
    inside: NDArray[np.float64] = (np.clip(values, *span) - span[0]) / (span[1] - span[0])
    return TOP + HEIGHT * (1 - inside)


def _picture(panel: Panel, i: int) -> dict[str, str]:
    """Return the codes at one threshold as a picture, for paper and for browsers without scripts."""
    from matplotlib.image import imsave

    x = np.maximum(panel.states - panel.theta[i], 0) / largest(panel)
    silent, weak, strong = (np.array(colour, np.float64) for colour in PALETTES["light"])
    colours = np.where(x[..., None] > 0, weak + (strong - weak) * np.sqrt(x.clip(0, 1))[..., None], silent)
    contents = io.BytesIO()
    imsave(contents, colours.round().astype(np.uint8), format="png")
    caption = (
        f"theta_g = {number(panel.theta[i])}: {share(panel.coding[i])} active, overlap {number(panel.overlap[i])}, "
        f"accuracy {number(panel.accuracy[i])}"
    )
    return {"source": f"data:image/png;base64,{base64.b64encode(contents.getvalue()).decode()}", "caption": caption}
