"""The claims: the headline, the table with its filter, and the marks that figures carry."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import get_args

from kenyon.paper.report.markup import attribute, mark, number, text
from kenyon.paper.verdicts import Effect, Verdict, Word

WORDS: tuple[Word, ...] = get_args(Word)
_BEARING = {True: "for the claim", False: "against it", None: "leaves it open"}


def count(verdicts: Sequence[Verdict], word: str) -> int:
    """Return the number of claims with a verdict."""
    return sum(one.verdict == word for one in verdicts)


def quantity(value: float) -> str:
    """Return a number of any size with about three digits that mean something."""
    if not isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace("-", "−")
    return number(value, 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3)


def effect_words(effect: Effect) -> str:
    """Return an effect with its interval."""
    if not isfinite(effect.value):
        return "not available"
    unit = f" {effect.unit}" if effect.unit else ""
    return f"{quantity(effect.value)} [{quantity(effect.low)}, {quantity(effect.high)}]{unit}"


def headline(verdicts: Sequence[Verdict], time: str) -> str:
    """Return how many claims were reproduced, and a mark for each that leads to it."""
    counts = "".join(f'<li><span class="count">{count(verdicts, word)}</span> {mark(word)}</li>' for word in WORDS)
    marks = "".join(
        f'<li><a class="verdict {one.verdict}" href="#claim-{one.number}" '
        f'aria-label="Claim {one.number}: {one.verdict}" title="{attribute(f"{one.number}. {one.claim}")}">'
        f'<svg aria-hidden="true" viewBox="0 0 16 16"><use href="#{one.verdict}"/></svg><span>{one.number}</span>'
        "</a></li>"
        for one in verdicts
    )
    return (
        f'<p class="headline"><strong>{count(verdicts, "reproduced")} of {len(verdicts)}</strong> claims reproduced</p>'
        f'<ul class="counts">{counts}</ul><p class="time">{text(time)}</p>'
        f'<ol class="marks" aria-label="Claims">{marks}</ol>'
    )


def claims_table(verdicts: Sequence[Verdict]) -> str:
    """Return the claims, with a filter by verdict."""
    head = ("No.", "The paper says", "What was tested", "Effect, 95% interval", "Verdict", "Figure")
    columns = "".join(f'<th role="columnheader" scope="col">{one}</th>' for one in head)
    rows = "".join(_row(one) for one in verdicts)
    return (
        f"{_filter(verdicts)}"
        '<table id="claims-table" role="table"><caption class="hidden">Claims and what became of them</caption>'
        f'<thead role="rowgroup"><tr role="row">{columns}</tr></thead><tbody role="rowgroup">{rows}</tbody></table>'
    )


def _filter(verdicts: Sequence[Verdict]) -> str:
    choices = [("all", len(verdicts)), *((word, count(verdicts, word)) for word in WORDS)]
    buttons = "".join(
        f'<label><input type="radio" name="verdict" value="{word}"{" checked" if word == "all" else ""}>'
        f"<span>{word} <b>{n}</b></span></label>"
        for word, n in choices
    )
    return (
        f'<fieldset id="filter"><legend>Show</legend>{buttons}</fieldset>'
        '<p id="filter-told" class="hidden" role="status"></p>'
    )


def _row(one: Verdict) -> str:
    note = f'<p class="note">{text(one.note)}</p>' if one.note else ""
    cells = (
        ("The paper says", f"<p>{text(one.claim)}</p>{note}"),
        ("What was tested", f"<p>{text(one.test)}</p>"),
        ("Effect, 95% interval", _effects(one)),
        ("Verdict", mark(one.verdict)),
        ("Figure", ", ".join(f'<a href="#figure-{figure}">{figure}</a>' for figure in one.figures) or "–"),
    )
    rest = "".join(f'<td role="cell" data-label="{label}">{content}</td>' for label, content in cells)
    return (
        f'<tr role="row" id="claim-{one.number}" data-verdict="{one.verdict}">'
        f'<th role="rowheader" scope="row">{one.number}</th>{rest}</tr>'
    )


def _effects(one: Verdict) -> str:
    """Return the headline effect, the one that decided where that is another, and all of them to open."""
    if not one.effects:
        return "<p>–</p>"
    shown = dict.fromkeys([one.effects[0], deciding(one)])
    first = "".join(
        f'<p class="effect">{text(effect_words(each))}</p><p class="what">{text(each.label)}'
        f"{f': {_BEARING[each.supports]}' if len(shown) > 1 else ''}</p>"
        for each in shown
    )
    items = "".join(
        f'<li><span class="what">{text(each.label)}</span> <span class="effect">{text(effect_words(each))}</span> '
        f'<span class="bearing">{_BEARING[each.supports]}</span></li>'
        for each in one.effects
    )
    noun = "effect" if len(one.effects) == 1 else "effects"
    return f"{first}<details><summary>{len(one.effects)} {noun}</summary><ul class='effects'>{items}</ul></details>"


def deciding(one: Verdict) -> Effect:
    """Return the first effect that bears on the claim as the verdict says, or else the headline."""
    wanted = {"reproduced": True, "contradicted": False, "inconclusive": None}[one.verdict]
    return next((each for each in one.effects if each.supports is wanted), one.effects[0])


def related(verdicts: Sequence[Verdict], figure: str) -> str:
    """Return the claims that a figure bears on."""
    items = "".join(
        f'<li>{mark(one.verdict)} <a href="#claim-{one.number}">Claim {one.number}</a>: {text(one.claim)}</li>'
        for one in verdicts
        if figure in one.figures
    )
    return f'<div><h4>Claims</h4><ul class="related">{items}</ul></div>' if items else ""
