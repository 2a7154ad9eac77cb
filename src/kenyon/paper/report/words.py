"""What stands beside each figure: its title, what is drawn, and what the paper says, from figures.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class About(NamedTuple):
    """A figure in words."""

    title: str
    shows: str
    says: tuple[str, ...]  # of a figure of ours, what it is for
    ours: bool = False


@cache
def about(figure: str) -> About:
    """Return what is said about a figure, whatever the results are."""
    words = tomllib.loads((files("kenyon.paper.report") / "figures.toml").read_text(encoding="utf-8"))
    return About(**words[figure])
