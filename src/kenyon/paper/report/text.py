"""What the report is written with: the paper's symbols, names of learners, numbers, rankings and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import ArrayLike

NAMES = {
    "GradientWeights": "GD_W",
    "GradientThresholds": "GD_theta",
    "RecursiveLeastSquares": "Recursive least squares",
    "Centred": "Normalised steps on V centred",
    "Standardised": "Normalised steps on V standardised",
}
SUBSCRIPTS = "GD_W|GD_theta|W_out|W_in|theta_g|theta_i|eta_W|eta_theta|y_true|sigma_M|Sp_i|X_i"
GREEK = {"theta": "θ", "eta": "η", "rho": "ρ", "sigma": "σ", "kappa": "κ", "mu": "μ"}
_SYMBOL = re.compile(rf"\b({SUBSCRIPTS})\b|\b({'|'.join(GREEK)})\b")


class Table(NamedTuple):
    """A table; the first column names the rows."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def n_rows(self) -> int:
        """The number of rows below the head."""
        return len(self.rows)


class Ranking(NamedTuple):
    """Readouts and their results, best first, with an introduction."""

    words: str
    rows: Sequence[tuple[str, str]]


def symbols(words: str) -> Markup:
    """Return words, escaped unless they are markup already, with the paper's symbols typeset."""
    return Markup(_SYMBOL.sub(_symbol, str(escape(words))).replace("|^2", "|²"))


def _symbol(match: re.Match[str]) -> str:
    stem, _, index = match[0].partition("_")
    stem, index = (GREEK.get(word, word) for word in (stem, index))
    if not index:
        return stem
    return f"{stem if stem == 'GD' else f'<i>{stem}</i>'}<sub>{index}</sub>"


def learner_name(name: str) -> str:
    """Return the paper's name of a learner, with its settings in words."""
    kind, _, rest = name.partition(" ")
    rest = re.sub(r"percentile percentile=(\S+)", r"from percentile \1", rest)
    rest = re.sub(r"^start=", "", rest)
    rest = re.sub(r"batch=(\d+)|^(\d+)$", lambda match: f"batch {match[1] or match[2]}", rest)
    return f"{NAMES.get(kind, kind)} {rest}".strip()


def number(value: float, digits: int = 2) -> str:
    """Return a number with a proper minus sign, or a dash if it is not finite."""
    if not isfinite(value):
        return "–"
    rounded = f"{value:.{digits}f}"
    return (rounded[1:] if float(rounded) == 0 and rounded[0] == "-" else rounded).replace("-", "−")


def quantity(value: float) -> str:
    """Return a number of any size with about three significant digits."""
    if abs(value) >= 1000 and isfinite(value):
        return f"{value:,.0f}".replace("-", "−")
    return number(value, 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3)


def share(value: float) -> str:
    """Return a share as a percentage."""
    return f"{100 * value:.0f}%" if isfinite(value) else "–"


def spread(values: ArrayLike, digits: int = 2) -> str:
    """Return the mean and range of the finite values, such as 0.84 (0.76 to 0.88)."""
    array = np.asarray(values, np.float64).ravel()
    known = array[np.isfinite(array)]
    if not len(known):
        return "no finite value"
    mean, low, high = (number(float(value), digits) for value in (known.mean(), known.min(), known.max()))
    shown = mean if low == high else f"{mean} ({low} to {high})"
    return shown if len(known) == len(array) else f"{shown}; {len(array) - len(known)} of {len(array)} missing"


def listing(words: Sequence[str]) -> str:
    """Return words as an enumeration: a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def plain(part: str | Ranking) -> str:
    """Return a sentence unchanged, and a ranking as a sentence."""
    if isinstance(part, str):
        return part
    return f"{part.words}: {', '.join(f'{name} {value}' for name, value in part.rows)}."
