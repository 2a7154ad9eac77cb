"""The paper's 32 claims, each judged from stored results by a rule that it states.

A learner that diverged counts as guessing. Rules, bounds and their reasons are in claims.toml; they were written down
before the results that they judge were seen.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

from kenyon.paper.claims.effects import EFFECTS, NOTES
from kenyon.paper.plan import Results
from kenyon.paper.verdicts import Effect, Verdict, conclude, holm


class Claim(NamedTuple):
    """A claim of the paper. It is reproduced if all of its effects support it."""

    number: int
    statement: str  # in our words
    place: str  # in the paper
    rule: str
    bound: str  # and its reason
    fair: str  # why the rule is
    figures: tuple[str, ...]  # where to look
    effects: Callable[[Results], list[Effect]]
    note: str = ""

    def judge(self, results: Results) -> Verdict:
        """Return the verdict, with an effect that decided it first."""
        judged = holm(self.effects(results))
        word = conclude(judged)
        decides = {"contradicted": False, "inconclusive": None, "reproduced": True}[word]
        decisive_first = tuple(sorted(judged, key=lambda effect: effect.supports is not decides))
        note = NOTES[self.number](results) if self.number in NOTES else self.note
        return Verdict(self.number, self.statement, self.rule, word, decisive_first, self.figures, note)


def _claims() -> tuple[Claim, ...]:
    rows = tomllib.loads((files("kenyon.paper.claims") / "claims.toml").read_text(encoding="utf-8"))["claim"]
    return tuple(Claim(**row | {"figures": tuple(row["figures"]), "effects": EFFECTS[row["number"]]}) for row in rows)


CLAIMS = _claims()


def judge(results: Results) -> list[Verdict]:
    """Return the verdicts on all claims, in the paper's order."""
    return [claim.judge(results) for claim in CLAIMS]
