"""Odours as the fly's projection neurons report them.

    ORN = max(0, change + spontaneous)
    PN  = 165 ORN^1.5 / ( ORN^1.5 + 12^1.5 + (10.63 sum(ORN) / 190)^1.5 )

The receptor responses are those of Hallem & Carlson (2006, Cell 125:143, tables S1 and S2); the transform is that of
Olsen, Bhandawat & Wilson (2010, Neuron 66:287), its sum over all receptors of one odour.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kenyon import _checks, _seeding

SUBSETS = {"all": slice(0, 176), "odorants": slice(0, 110), "paper": slice(0, 140), "fruits": slice(140, 176)}


@dataclass(frozen=True, eq=False)
class Odours:
    """A table of stimuli.

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

    def __getitem__(self, rows: slice | Sequence[int] | NDArray[np.intp]) -> Odours:
        """Return some of the stimuli, by slice or by a list of positions."""
        try:
            chosen = np.arange(len(self))[rows]
        except (IndexError, TypeError, ValueError):
            chosen = np.empty((0, 0), int)
        if chosen.ndim != 1 or len(chosen) == 0:
            raise ValueError(
                f"rows must be a slice or a list of positions among the {len(self)} odours, such as odours[:20], "
                f"not {_checks.short_repr(rows)}"
            )
        return Odours([self.names[i] for i in chosen], self.rates[chosen], self.channels, self.scale)

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


def _check_names(argument: str, names: tuple[str, ...], n: int, what: str) -> None:
    if len(names) != n:
        raise ValueError(f"{argument} must hold one name per {what}: {n}, not {len(names)}")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"{argument} must all be different; {repeated[0]!r} occurs twice")
