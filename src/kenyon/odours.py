"""Odours as the fly's projection neurons report them.

    ORN = max(0, change + spontaneous)
    PN  = 165 ORN^1.5 / ( ORN^1.5 + 12^1.5 + (10.63 sum(ORN) / 190)^1.5 )

The receptor responses are those of Hallem & Carlson (2006, Cell 125:143, tables S1 and S2); the transform is that of
Olsen, Bhandawat & Wilson (2010, Neuron 66:287), its sum over all receptors of one odour.
"""

from __future__ import annotations

import csv
import difflib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kenyon import _checks, _seeding
from kenyon._looks import MAP, axes, plain

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LINE_INCHES, BAR_INCHES, MOST_INCHES = 0.095, 4.0, 25.0  # of a heat map: a name, its colour bar, and its height
SUBSETS = {"all": slice(0, 176), "odorants": slice(0, 110), "paper": slice(0, 140), "fruits": slice(140, 176)}


@dataclass(frozen=True, eq=False)
class Odours:
    """A table of stimuli.

    `odours["ethyl acetate"]` is the row of its rates; `odours[["ethyl acetate", "1-hexanol"]]` and `odours[:20]` are
    smaller tables. `"ethyl acetate" in odours` tells whether there is such a name, and iteration goes over the names.

    Parameters
    ----------
    names
        One name per stimulus, all different.
    rates
        Firing rates, shape (n_stimuli, n_channels), none negative.
    channels
        One name per channel; numbered if left out.
    scale
        The rate that becomes 1 in `scaled`; by default the largest in the table. A subset keeps its table's scale, so
        an odour gives the same input whichever subset it comes from.
    n_paper
        How many of the stimuli, its first ones, are the paper's, which tasks prefer; 0 in a table that has no such
        part, as in any part of a table and any resampled one.
    """

    names: Sequence[str]
    rates: NDArray[np.float64]
    channels: Sequence[str] = ()
    scale: float = 0.0
    n_paper: int = 0

    def __post_init__(self) -> None:
        rates = np.array(_checks.numbers("rates", self.rates, "(n_stimuli, n_channels)", 2), dtype=np.float64)
        if 0 in rates.shape:
            raise ValueError(f"rates must hold at least one stimulus and one channel, not {rates.shape}")
        bad = np.argwhere(~(np.isfinite(rates) & (rates >= 0)))
        if len(bad):
            raise ValueError(f"rates must be finite and not negative; rates{bad[0].tolist()} is {rates[tuple(bad[0])]}")
        rates.flags.writeable = False
        names = _checks.texts("names", self.names)
        channels = _checks.texts("channels", self.channels) or tuple(f"channel {i}" for i in range(rates.shape[1]))
        _check_names("names", names, rates.shape[0], "stimulus")
        _check_names("channels", channels, rates.shape[1], "channel")
        scale = _checks.real("scale", self.scale, 0.0) or float(rates.max()) or 1.0
        if rates.max() > _checks.LARGE * scale:
            raise ValueError(f"scale must be at least {rates.max() / _checks.LARGE:g} for these rates, not {scale:g}")
        n_paper = _checks.integer("n_paper", self.n_paper, 0, len(names))
        _checks.set_fields(self, names=names, rates=rates, channels=channels, scale=scale, n_paper=n_paper)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Odours: {len(self)} stimuli, {len(self.channels)} channels>"

    @property
    def scaled(self) -> NDArray[np.float32]:
        """What a reservoir is shown: rates divided by `scale`."""
        return (self.rates / self.scale).astype(np.float32)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    @overload
    def __getitem__(self, rows: str | int) -> NDArray[np.float64]: ...

    @overload
    def __getitem__(self, rows: slice | Sequence[int] | list[str] | tuple[str, ...] | NDArray[Any]) -> Odours: ...

    def __getitem__(self, rows: Any) -> NDArray[np.float64] | Odours:
        """Return the rates of one stimulus, given its name or position; or some of the stimuli as a table.

        Several are given as a list of names or of positions, or as a slice of positions.
        """
        asked = list(rows) if isinstance(rows, tuple) else rows
        if isinstance(asked, str):
            asked = self._position(asked)
        elif isinstance(asked, (list, np.ndarray)) and len(np.shape(asked)) == 1 and _all_texts(asked):
            asked = [self._position(name) for name in asked]
        try:
            chosen = np.arange(len(self))[asked]
        except (IndexError, TypeError, ValueError):
            chosen = np.empty((0, 0), int)
        if chosen.ndim == 0:
            return np.asarray(self.rates[int(chosen)])
        if chosen.ndim != 1 or len(chosen) == 0:
            raise ValueError(
                f"rows must be names or positions among the {len(self)} odours, such as odours[{self.names[0]!r}], "
                f"odours[[0, 1]] or odours[:20], not {_checks.short_repr(rows)}"
            )
        return Odours([self.names[i] for i in chosen], self.rates[chosen], self.channels, self.scale)

    def _position(self, name: str) -> int:
        if name in self.names:
            return self.names.index(name)
        close = difflib.get_close_matches(name, self.names)
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ", which is none of the names"
        raise ValueError(f"rows must name odours, not {_checks.short_repr(name)}{hint}")

    def to_frame(self) -> pd.DataFrame:
        """Return the rates as a pandas DataFrame, a row per stimulus and a column per channel."""
        import pandas as pd

        index, columns = pd.Index(self.names, name="odour"), pd.Index(self.channels, name="channel")
        return pd.DataFrame(self.rates.copy(), index, columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rates as a heat map, on these axes or on new ones that are tall enough for the names.

        On axes that are not, only every second name is written, or every third, and so on.
        """
        rows, columns = self.rates.shape
        ax = axes(ax, figsize=(2.5 + 0.2 * max(columns, 15), 1.2 + min(max(0.12 * rows, 2.0), MOST_INCHES)))
        image = ax.imshow(self.rates, cmap=MAP, vmin=0, vmax=self.scale, aspect="auto", interpolation="nearest")
        box = ax.get_window_extent()
        bar = min(1.0, BAR_INCHES * ax.figure.dpi / max(box.height, 1))
        ax.figure.colorbar(image, ax=ax, label="firing rate (spikes/s)", shrink=bar, anchor=(0.0, 1.0))
        for n, names, inches, ticks, turned in (
            (rows, self.names, box.height / ax.figure.dpi, ax.set_yticks, 0),
            (columns, self.channels, box.width / ax.figure.dpi, ax.set_xticks, 90),
        ):
            every = max(1, math.ceil(LINE_INCHES * n / max(inches, LINE_INCHES)))
            ticks(range(0, n, every), list(map(plain, names[::every])), fontsize=6, rotation=turned)
        ax.set(xlabel="channel", ylabel="odour")
        return ax

    def resample(self, n: int, seed: int = 0) -> Odours:
        """Make `n` new odours, each channel drawn independently from its own values over this table's odours."""
        n = _checks.integer("n", n, 1)
        rng = _seeding.generator(seed, "odours", "resample")
        rows = rng.integers(len(self), size=(n, len(self.channels)))
        rates = np.take_along_axis(self.rates, rows, axis=0)
        return Odours([f"resampled {i}" for i in range(n)], rates, self.channels, self.scale)

    @classmethod
    def from_csv(cls, path: str | Path) -> Odours:
        """Read a table from a file: a header, then a row per stimulus with its name and a rate per channel.

        Rates are used as they are. For receptor responses, apply `projection_rates` to them first.
        """
        path = _checks.path("path", path)
        try:
            with open(path, newline="", encoding="utf-8-sig") as file:
                rows = [row for row in csv.reader(file) if row]
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{path}: not a table of comma-separated values in UTF-8: {error}") from None
        if len(rows) < 2 or len(rows[0]) < 2:
            raise ValueError(f"{path}: expected a header with the names of channels, and a row per stimulus")
        header = rows[0]
        for row in rows[1:]:
            if len(row) != len(header):
                raise ValueError(f"{path}: row {row[0]!r} has {len(row)} cells, but the header has {len(header)}")
        rates = [[_cell(path, row[0], *pair) for pair in zip(header[1:], row[1:], strict=True)] for row in rows[1:]]
        try:
            return cls([row[0] for row in rows[1:]], np.array(rates), header[1:])
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def load_odours(subset: str = "all") -> Odours:
    """Load the published odours of Hallem & Carlson (2006) as projection-neuron rates.

    Parameters
    ----------
    subset
        "all": 176 stimuli. "odorants": the 110 single odorants at one dilution. "paper": these, and ten of them at
        three more dilutions, 140 in all. "fruits": nine fruit extracts at four dilutions.
    """
    chosen = SUBSETS[_checks.one_of("subset", subset, tuple(SUBSETS))]
    with (files("kenyon") / "data" / "hallem_carlson_2006.csv").open(encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    *stimuli, spontaneous = rows
    change = np.array([row[3:] for row in stimuli], dtype=np.float64)
    names = [_name(kind, odour, int(dilution)) for kind, odour, dilution, *_ in stimuli]
    receptors = np.maximum(0.0, change + np.array(spontaneous[3:], dtype=np.float64))
    odours = Odours(names, projection_rates(receptors), header[3:], n_paper=SUBSETS["paper"].stop)
    return odours if subset == "all" else odours[chosen]


def projection_rates(receptor_rates: ArrayLike) -> NDArray[np.float64]:
    """Return the rates of projection neurons, given those of receptor neurons, shape (n_stimuli, n_receptors)."""
    orn = _checks.numbers("receptor_rates", receptor_rates, "(n_stimuli, n_receptors)", 2).astype(np.float64)
    bad = np.argwhere(~((orn >= 0) & (orn <= _checks.LARGE)))
    if len(bad):
        raise ValueError(
            f"receptor_rates must be finite, not negative and at most {_checks.LARGE:g}; "
            f"receptor_rates{bad[0].tolist()} is {orn[tuple(bad[0])]}"
        )
    lateral = 10.63 * orn.sum(axis=1, keepdims=True) / 190
    rates: NDArray[np.float64] = 165 * orn**1.5 / (orn**1.5 + 12**1.5 + lateral**1.5)
    return rates


def _name(kind: str, odour: str, log10_dilution: int) -> str:
    usual = -2 if kind == "odorant" else 0
    return odour if log10_dilution == usual else f"{odour} 1e{log10_dilution}"


def _cell(path: str | Path, stimulus: str, channel: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{path}: {channel!r} of {stimulus!r} must be a number of at least 0, not {text!r}")
    return value


def _all_texts(values: Any) -> bool:
    return len(values) > 0 and all(isinstance(value, str) for value in values)


def _check_names(argument: str, names: tuple[str, ...], n: int, what: str) -> None:
    if len(names) != n:
        raise ValueError(f"{argument} must hold one name per {what}: {n}, not {len(names)}")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"{argument} must all be different; {repeated[0]!r} occurs twice")
