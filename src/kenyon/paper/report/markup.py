"""Pieces of HTML: text with the paper's symbols, numbers, tables, marks of verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

NAMES = {
    "GradientWeights": "GD_W",
    "GradientThresholds": "GD_theta",
    "RecursiveLeastSquares": "Recursive least squares",
}
SUBSCRIPTS = (
    "GD_W",
    "GD_theta",
    "W_out",
    "W_in",
    "theta_g",
    "theta_i",
    "eta_W",
    "eta_theta",
    "y_true",
    "sigma_M",
    "Sp_i",
    "X_i",
)
GREEK = {"theta": "θ", "eta": "η", "rho": "ρ", "sigma": "σ", "kappa": "κ", "mu": "μ"}
_SYMBOL = re.compile(rf"\b({'|'.join(SUBSCRIPTS)})\b|\b({'|'.join(GREEK)})\b")


class Table(NamedTuple):
    """Numbers behind a figure; the first column names the rows."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


class Ranking(NamedTuple):
    """Readouts and what they reached, best first, under a few words."""

    words: str
    rows: Sequence[tuple[str, str]]


def text(words: str) -> str:
    """Return words as HTML, with the paper's symbols set as such."""
    return _SYMBOL.sub(_symbol, escape(words)).replace("|^2", "|²")


def _symbol(match: re.Match[str]) -> str:
    name = match[0]
    if name in GREEK:
        return GREEK[name]
    stem, _, index = name.partition("_")
    return f"<i>{_greek(stem)}</i><sub>{_greek(index)}</sub>" if stem != "GD" else f"GD<sub>{_greek(index)}</sub>"


def _greek(word: str) -> str:
    return GREEK.get(word, word)


def learner_name(name: str) -> str:
    """Return what a learner is called in the paper, and what was set, in words."""
    kind, _, rest = name.partition(" ")
    rest = re.sub(r"percentile percentile=(\S+)", r"from percentile \1", rest)
    rest = re.sub(r"^start=", "", rest)
    rest = re.sub(r"batch=(\d+)|^(\d+)$", lambda match: f"batch {match[1] or match[2]}", rest)
    return f"{NAMES.get(kind, kind)} {rest}".strip()


def number(value: float, digits: int = 2) -> str:
    """Return a number with a proper minus sign, or a dash where there is none."""
    if not isfinite(value):
        return "–"
    rounded = f"{value:.{digits}f}"
    return (rounded[1:] if float(rounded) == 0 and rounded[0] == "-" else rounded).replace("-", "−")


def share(value: float) -> str:
    """Return a share as a percentage."""
    return f"{100 * value:.0f}%" if isfinite(value) else "–"


def spread(values: ArrayLike, digits: int = 2) -> str:
    """Return the mean of the values there are and their range, such as 0.84 (0.76 to 0.88)."""
    array = np.asarray(values, np.float64).ravel()
    known = array[np.isfinite(array)]
    if not len(known):
        return "none finite"
    mean, low, high = (number(float(one), digits) for one in (known.mean(), known.min(), known.max()))
    shown = mean if low == high else f"{mean} ({low} to {high})"
    return shown if len(known) == len(array) else f"{shown}; {len(array) - len(known)} of {len(array)} without"


def listing(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def duration(seconds: float) -> str:
    """Return a time in the units one would say it in."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def paragraphs(parts: Iterable[str | Ranking]) -> str:
    """Return sentences as paragraphs, and rankings as lists."""
    return "".join(f"<p>{text(one)}</p>" if isinstance(one, str) else _ranking(one) for one in parts)


def _ranking(ranking: Ranking) -> str:
    rows = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in ranking.rows)
    return f'<p>{text(ranking.words)}:</p><dl class="ranking">{rows}</dl>'


def plain(part: str | Ranking) -> str:
    """Return a sentence as it is, and a ranking as a sentence."""
    if isinstance(part, str):
        return part
    return f"{part.words}: {', '.join(f'{name} {value}' for name, value in part.rows)}."


def table_html(table: Table) -> str:
    """Return a table that scrolls inside itself where it is too wide."""
    head = "".join(f'<th scope="col">{text(one)}</th>' for one in table.head)
    rows = "".join(
        f'<tr><th scope="row">{text(first)}</th>{"".join(f"<td>{text(one)}</td>" for one in rest)}</tr>'
        for first, *rest in table.rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{attribute(table.caption)}">'
        f"<table><caption>{text(table.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def details(summary: str, content: str) -> str:
    """Return something to open."""
    return f"<details><summary>{text(summary)}</summary>{content}</details>"


def mark(verdict: str) -> str:
    """Return a verdict in words, with a shape of its own."""
    return (
        f'<span class="verdict {verdict}"><svg aria-hidden="true" viewBox="0 0 16 16"><use href="#{verdict}"/></svg>'
        f"{verdict}</span>"
    )


def attribute(words: Any) -> str:
    """Return words as the value of an attribute."""
    return escape(str(words), quote=True)
