"""The paper's 23 claims, each judged from stored results by a rule that it states.

A learner that diverged counts as guessing. Sizes at which the learners compared are all above 0.995 cannot tell which
is better, and are left out. Slopes are those of a straight line over sizes, given as the change from the smallest to
the largest.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

from kenyon.paper.claims.effects import EFFECTS, NOTES
from kenyon.paper.plan import STIMULI, Results, nearest_size
from kenyon.paper.verdicts import Effect, Verdict, conclude, holm


class Claim(NamedTuple):
    """A claim of the paper. It is reproduced if all of its effects support it."""

    number: int
    statement: str
    rule: str
    figures: tuple[str, ...]  # where to look
    effects: Callable[[Results], list[Effect]]
    note: str = ""
    size_of: str = "2"  # the figure whose size, the nearest to the paper's, {size} stands for in the rule

    def judge(self, results: Results) -> Verdict:
        """Return the verdict, with an effect that decided it first."""
        judged = holm(self.effects(results))
        word = conclude(judged)
        decides = {"contradicted": False, "inconclusive": None, "reproduced": True}[word]
        decisive_first = tuple(sorted(judged, key=lambda effect: effect.supports is not decides))
        rule = self.rule.format(size=nearest_size(results.get(self.size_of), STIMULI))
        note = NOTES[self.number](results) if self.number in NOTES else self.note
        return Verdict(self.number, self.statement, rule, word, decisive_first, self.figures, note)


def _claims() -> tuple[Claim, ...]:
    rows = tomllib.loads((files("kenyon.paper.claims") / "claims.toml").read_text(encoding="utf-8"))["claim"]
    return tuple(Claim(**row | {"figures": tuple(row["figures"]), "effects": EFFECTS[row["number"]]}) for row in rows)


CLAIMS = _claims()


def judge(results: Results) -> list[Verdict]:
    """Return the verdicts on all claims, in the paper's order."""
    return [claim.judge(results) for claim in CLAIMS]
