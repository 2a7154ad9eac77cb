"""Claims by readings: which verdicts stand in every reading of the paper, and on what the others depend."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from kenyon.experiment.store import Store
from kenyon.paper.claims import CLAIMS
from kenyon.paper.plan import Results
from kenyon.paper.readings import CENTRAL, READINGS, THIN
from kenyon.paper.verdicts import Verdict, Word

FILE = "readings.json"
SIGNS: dict[str, str] = {"reproduced": "+", "contradicted": "×", "inconclusive": "·"}


class Column(NamedTuple):
    """The verdicts of one reading."""

    name: str
    verdicts: dict[int, Word]  # by claim
    decided_by: dict[int, str]  # an effect that decided, with its interval
    diverged: list[str]  # learners that did, where and how often

    @property
    def title(self) -> str:
        """What the reading is called."""
        return READINGS[self.name].title


class Matrix(NamedTuple):
    """Readings that were run, in the order of readings.toml."""

    columns: tuple[Column, ...]
    seeds: int
    quick: bool

    @property
    def claims(self) -> list[int]:
        """The numbers of the claims."""
        return sorted({number for column in self.columns for number in column.verdicts})


class Robustness(NamedTuple):
    """What a claim depends on."""

    number: int
    verdict: Word | None  # in the central reading; None if it was not run
    differs: dict[str, Word]  # verdicts of the readings in which it is another one

    @property
    def robust(self) -> bool:
        """Whether the verdict is the same in all readings that were run."""
        return self.verdict is not None and not self.differs

    def words(self) -> str:
        """Return it in words."""
        if self.verdict is None:
            return "the central reading has not been run"
        if self.robust:
            return f"{self.verdict} in all"
        return f"{self.verdict}; depends on " + ", ".join(f"{name} ({word})" for name, word in self.differs.items())


def hangs_on(matrix: Matrix | None, number: int, verdict: Word) -> str:
    """Return what comes before the verdict on a claim that is contradicted, but not in every reading; "" otherwise.

    If the central reading leaves it open at the sizes and seeds of all readings, it is no wonder that others do.
    """
    if matrix is None or verdict != "contradicted":
        return ""
    words: dict[str, str] = {"reproduced": "reproduced"}
    if any(own.verdicts.get(number) == verdict for own in matrix.columns if own.name == CENTRAL):
        words["inconclusive"] = "left open"
    others = [own for own in matrix.columns if own.name != CENTRAL]
    found = {told: [own.title for own in others if own.verdicts.get(number) == word] for word, told in words.items()}
    parts = [f"{told} with " + ", ".join(f'"{title}"' for title in titles) for told, titles in found.items() if titles]
    return f"hangs on what the paper leaves open: {'; '.join(parts)}" if parts else ""


def column(name: str, results: Results, verdicts: Sequence[Verdict]) -> Column:
    """Return the column of a reading from its verdicts and results."""
    decided = {verdict.number: _decided(verdict) for verdict in verdicts}
    return Column(name, {verdict.number: verdict.verdict for verdict in verdicts}, decided, diverged(results))


def _decided(verdict: Verdict) -> str:
    if not verdict.effects:
        return ""
    first = verdict.effects[0]
    return f"{first.label}: {first.value:.3g} [{first.low:.3g}, {first.high:.3g}]"


def diverged(results: Results) -> list[str]:
    """Return which learners diverged, or fell silent for good, in how many runs of which part."""
    found = []
    for place in THIN.parts:
        figure, _, part = place.partition(" ")
        if figure in ("3", "5", "6"):  # the runs of figures 2 and 4
            continue
        data = results.get(figure, part)
        for name in map(str, data.learner.values):
            runs = data.diverged_at.sel(learner=name)
            if lost := int((runs >= 0).sum()):
                found.append(f"{name}: {lost} of {int(runs.notnull().sum())} runs, {place}")
    return found


def read_matrix(folder: str | Path) -> Matrix | None:
    """Return the matrix of a reproduction; None if no readings were run."""
    known = Store(folder).get(FILE, seeds=int, quick=bool, readings=list)
    if not known:
        return None
    columns = [_column(entry) for entry in known["readings"] if entry["name"] in READINGS]
    return Matrix(tuple(columns), known["seeds"], known["quick"])


def _column(entry: dict[str, Any]) -> Column:
    verdicts = {int(number): word for number, word in entry["verdicts"].items() if word in get_args(Word)}
    decided = {int(number): text for number, text in entry["decided_by"].items()}
    return Column(entry["name"], verdicts, decided, entry["diverged"])


def write_matrix(folder: str | Path, matrix: Matrix) -> None:
    """Write the matrix beside the results of a reproduction."""
    contents = {**matrix._asdict(), "readings": [column._asdict() for column in matrix.columns]}
    del contents["columns"]
    Store(folder).put(FILE, json.dumps(contents, indent=1))


def with_column(matrix: Matrix, new: Column) -> Matrix:
    """Return a matrix with a column added or replaced, in the order of readings.toml."""
    columns = {own.name: own for own in matrix.columns} | {new.name: new}
    return matrix._replace(columns=tuple(columns[name] for name in READINGS if name in columns))


def summary(matrix: Matrix) -> list[Robustness]:
    """Return for every claim whether its verdict is robust, or on which readings it depends."""
    central = next((own.verdicts for own in matrix.columns if own.name == CENTRAL), {})
    rows = []
    for number in matrix.claims:
        words = {own.name: own.verdicts[number] for own in matrix.columns if number in own.verdicts}
        verdict = central.get(number)
        differs = {name: word for name, word in words.items() if word != verdict} if verdict else {}
        rows.append(Robustness(number, verdict, differs))
    return rows


def markdown(matrix: Matrix) -> str:
    """Return the matrix as a table in Markdown, with its key, what claims depend on, and what diverged."""
    statements = {claim.number: claim.statement for claim in CLAIMS}
    key = ", ".join(f"{sign} {word}" for word, sign in SIGNS.items())
    lines = [f"{key}; {matrix.seeds} seeds.{' Quick run: nothing here is a result.' if matrix.quick else ''}", ""]
    lines += [_row(["", "claim", *(own.name for own in matrix.columns), "in short"])]
    lines += ["|" + "---|" * (len(matrix.columns) + 3)]
    for robust in summary(matrix):
        signs = [SIGNS.get(own.verdicts.get(robust.number, ""), "") for own in matrix.columns]
        lines.append(_row([str(robust.number), statements.get(robust.number, ""), *signs, robust.words()]))
    lost = [f"- {own.title}: {'; '.join(own.diverged)}." for own in matrix.columns if own.diverged]
    lines += ["", "Learners that diverged:" if lost else "No learner diverged.", *([""] if lost else []), *lost]
    return "\n".join(lines) + "\n"


def readings_table() -> str:
    """Return all readings as a table in Markdown: what each changes, and what the paper says of it, or not."""
    rows = [[own.name, own.changes, own.why] for own in READINGS.values()]
    return "\n".join(
        [_row(["reading", "what it changes", "what the paper says of it, or not"]), "|---|---|---|", *map(_row, rows)]
    )


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
