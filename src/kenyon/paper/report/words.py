"""What is said beside each figure, from figures.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class About(NamedTuple):
    """A figure in words."""

    title: str
    shows: str
    says: tuple[str, ...]  # of a figure of ours, what it is for
    ours: bool = False
    rankings: tuple[dict[str, Any], ...] = ()
    tables: tuple[dict[str, Any], ...] = ()


@cache
def about(figure: str) -> About:
    """Return what is said about a figure."""
    words = tomllib.loads((files("kenyon.paper.report") / "figures.toml").read_text(encoding="utf-8"))
    return About(**words[figure])
