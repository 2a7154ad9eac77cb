"""What is said beside each figure, from figures.toml; and what was chosen and changed, from choices.toml."""

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


class Choice(NamedTuple):
    """What the paper leaves open."""

    what: str
    paper: str  # what it says
    ours: str
    why: str


class Change(NamedTuple):
    """What was changed after results had been seen, before the runs of the report."""

    kind: str
    what: str
    now: str


@cache
def about(figure: str) -> About:
    """Return what is said about a figure."""
    return About(**_read("figures.toml")[figure])


def choices() -> list[Choice]:
    """Return what the paper leaves open, and our choices."""
    return [Choice(**row) for row in _read("choices.toml")["choice"]]


def changes() -> list[Change]:
    """Return what was changed after a look."""
    return [Change(**row) for row in _read("choices.toml")["change"]]


@cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((files("kenyon.paper.report") / name).read_text(encoding="utf-8"))
