"""The panel on the page: a slider, the codes that a script draws, three curves, and pictures for paper."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kenyon.paper.report.markup import number, share, text
from kenyon.paper.report.panel import HEIGHT, LEFT, PALETTES, SILENT, TOP, WIDTH, Panel, largest, start_index

Span = tuple[float, float]
SHARES: Span = (0.0, 1.0)
ACCURACIES: Span = (0.4, 1.0)  # chance is 0.5, and one may fall below it by chance


def panel_html(panel: Panel) -> str:
    """Return the panel; what moves in it is moved by the script of the page."""
    i, n = start_index(panel), len(panel.states)
    introduction = text(
        "What the readout sees is x = relu(V - theta_g). Move the threshold, by mouse or arrow keys, and see the codes "
        f"of {n} odours thin out. At first it stands where prelearning put it, at {number(panel.start)}."
    )
    caption = text(
        f"Rows: {n} odours, above the gap those of one class, below it those of the other. Columns: "
        f"{panel.states.shape[1]} of {panel.n_neurons} neurons, the most active first. The stronger the colour, the "
        "more active; the ground is silence."
    )
    return (
        f'<p>{introduction}</p><div class="panel"><div class="control">'
        f'<label for="theta">Threshold {text("theta_g")} = '
        f'<output id="theta-value" for="theta">{panel.theta[i]:.2f}</output></label>'
        f'<input id="theta" type="range" min="0" max="{len(panel.theta) - 1}" step="1" value="{i}" '
        f'aria-valuetext="{panel.theta[i]:.2f}" aria-describedby="code-caption"></div>'
        f'<figure class="code"><canvas id="code" role="img" aria-labelledby="code-caption"></canvas>'
        f'<div class="static">{static_pictures(panel)}</div>'
        f'<figcaption id="code-caption">{caption}</figcaption></figure>'
        f'<dl class="numbers" aria-live="polite">{_numbers(panel, i)}</dl></div>'
        f'<p class="fine">{_fine_print(panel)}</p>'
    )


def _numbers(panel: Panel, i: int) -> str:
    names = {
        "coding": ("Coding level", "share of active neurons", share(panel.coding[i])),
        "overlap": ("Overlap of classes", "mean cosine between codes of different classes", number(panel.overlap[i])),
        "accuracy": ("Accuracy", "of readouts trained at a fixed threshold", number(panel.accuracy[i])),
    }
    drawn = curves(panel)
    return "".join(
        f'<div><dt>{title} <small>{what}</small></dt><dd><span id="{name}-value">{value}</span></dd>'
        f"<dd>{drawn[name]}</dd></div>"
        for name, (title, what, value) in names.items()
    )


def _fine_print(panel: Panel) -> str:
    stored = ", ".join(f"{one:g}" for one in panel.trained.thresholds)
    return text(
        "Coding level and overlap are over all neurons; odours without any active neuron are left out of the overlap. "
        f"Accuracy comes from figure S4 at an input gain of 1: dots are single runs at thresholds of {stored}, the "
        "line joins their means, and values between them are read off that line, not trained. Where runs diverge or "
        "fall silent it says so, and the line is that of the rest."
    )


def curves(panel: Panel) -> dict[str, str]:
    """Return the three curves as SVG, each with a marker for the script to move."""
    return {
        "coding": _curve(panel, "coding", panel.coding, SHARES, (0, 0.5, 1)),
        "overlap": _curve(panel, "overlap", panel.overlap, SHARES, (0, 0.5, 1)),
        "accuracy": _curve(panel, "accuracy", panel.accuracy, ACCURACIES, (0.5, 0.75, 1), _lost(panel) + _dots(panel)),
    }


def _curve(
    panel: Panel, name: str, values: NDArray[np.float64], span: Span, ticks: Sequence[float], beneath: str = ""
) -> str:
    rows = "".join(
        f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{at:g}</text>'
        f'<line class="grid" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
        for at, y in zip(ticks, _y(np.array(ticks), span), strict=True)
    )
    along = np.arange(0, panel.theta[-1] + 0.01, 0.5)
    columns = "".join(
        f'<text x="{x:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{at:g}</text>'
        for at, x in zip(along, _x(panel, along), strict=True)
    )
    lines = "".join(f'<polyline points="{one}"/>' for one in _stretches(_x(panel, panel.theta), _y(values, span)))
    return (
        f'<svg id="curve-{name}" viewBox="0 0 320 {TOP + HEIGHT + 22}" data-low="{span[0]}" data-high="{span[1]}" '
        f'aria-hidden="true">{rows}{columns}{beneath}{lines}<g class="marker"><line y1="{TOP}" y2="{TOP + HEIGHT}"/>'
        f'<circle r="4.5"/></g></svg>'
    )


def _lost(panel: Panel) -> str:
    """Return the ranges of thresholds in which runs fail: too many neurons are active, or none."""
    within = np.flatnonzero(panel.lost > 0)
    ranges = np.split(within, np.flatnonzero(np.diff(within) > 1) + 1) if len(within) else []
    return "".join(
        f'<rect class="lost" x="{left:.1f}" y="{TOP}" width="{max(right - left, 2):.1f}" height="{HEIGHT}"/>'
        f'<text class="lost-label" x="{min(left + 4, LEFT + WIDTH - 80):.1f}" y="{TOP + HEIGHT - 5}">runs {how}</text>'
        for (left, right), how in ((_x(panel, panel.theta[one[[0, -1]]]), _how(panel, one)) for one in ranges)
    )


def _how(panel: Panel, positions: NDArray[np.int_]) -> str:
    return "diverge" if panel.coding[positions].max() >= SILENT else "fall silent"


def _dots(panel: Panel) -> str:
    return "".join(
        f'<circle class="run" r="2" cx="{x:.1f}" cy="{y:.1f}"/>'
        for x, row in zip(_x(panel, panel.trained.thresholds), _y(panel.trained.accuracy, ACCURACIES), strict=True)
        for y in row[np.isfinite(row)]
    )


def _stretches(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[str]:
    """Return the stretches of a curve between its gaps, as points."""
    breaks = np.flatnonzero(~np.isfinite(y))
    pieces: Sequence[NDArray[np.int_]] = np.split(np.arange(len(y)), breaks)
    kept = [piece[np.isfinite(y[piece])] for piece in pieces]
    return [" ".join(f"{x[i]:.1f},{y[i]:.1f}" for i in piece) for piece in kept if len(piece)]


def _x(panel: Panel, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    inside: NDArray[np.float64] = theta / panel.theta[-1]
    return LEFT + WIDTH * inside


def _y(values: NDArray[np.float64], span: Span) -> NDArray[np.float64]:
    inside: NDArray[np.float64] = (np.clip(values, *span) - span[0]) / (span[1] - span[0])
    return TOP + HEIGHT * (1 - inside)


def static_pictures(panel: Panel) -> str:
    """Return the codes at three thresholds as pictures, for paper and for browsers without scripts."""
    shown = dict.fromkeys([0, start_index(panel), min(2 * start_index(panel), len(panel.theta) - 1)])
    return "".join(_picture(panel, i) for i in shown)


def _picture(panel: Panel, i: int) -> str:
    from matplotlib.image import imsave

    x = np.maximum(panel.states - panel.theta[i], 0) / largest(panel)
    silent, weak, strong = (np.array(one, np.float64) for one in PALETTES["light"])
    colours = np.where(x[..., None] > 0, weak + (strong - weak) * np.sqrt(x.clip(0, 1))[..., None], silent)
    contents = io.BytesIO()
    imsave(contents, colours.round().astype(np.uint8), format="png")
    source = base64.b64encode(contents.getvalue()).decode()
    caption = text(
        f"theta_g = {number(panel.theta[i])}: {share(panel.coding[i])} active, overlap {number(panel.overlap[i])}, "
        f"accuracy {number(panel.accuracy[i])}"
    )
    return f'<figure><img alt="" src="data:image/png;base64,{source}"><figcaption>{caption}</figcaption></figure>'
