"""The page: the whole report in one self-contained HTML file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, get_args

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kenyon._files import write_whole
from kenyon._version import __version__
from kenyon.paper.claims import CLAIMS
from kenyon.paper.matrix import hangs_on
from kenyon.paper.plan import FIGURES, Plan, Results
from kenyon.paper.report import matrix, origins, ours, panel, panel_view
from kenyon.paper.report.finding import Finding
from kenyon.paper.report.findings import finding
from kenyon.paper.report.text import number, plain, quantity, symbols
from kenyon.paper.report.words import About, about, changes, choices
from kenyon.paper.verdicts import Effect, Verdict, Word

MATRIX = "R"  # the figure of claims by readings
HEAVY = 1_500_000  # bytes of an SVG above which the PNG is shown


class Shown(NamedTuple):
    """A figure as the page shows it."""

    name: str
    about: About
    finding: Finding
    picture: str
    verdicts: list[Verdict]  # on claims about it

    @property
    def alternative(self) -> str:
        """Description for readers who cannot see the picture; the numbers follow in the text beside it."""
        return f"Figure {self.name}. {self.about.shows} {plain(self.finding.sentences[0])}"


def write_report(results: Results, verdicts: Sequence[Verdict], figures: Path, out: Path, seconds: float) -> None:
    """Write the report from results and verdicts, with the pictures in the folder `figures`, and the time it took.

    Without verdicts, as after a quick run, it says what each claim will be judged by.
    """
    write_whole(out, render(results, verdicts, figures, seconds))


def render(results: Results, verdicts: Sequence[Verdict], figures: Path, seconds: float) -> str:
    """Return the page."""
    made, codes = results.provenance(), panel.panel(results)
    words = [verdict.verdict for verdict in verdicts]
    return _environment().get_template("page.html").render(
        version=__version__,
        quick=results.plan.quick,
        time=origins.time_words(made, seconds),
        verdicts=verdicts,
        rules=[] if verdicts else CLAIMS,
        counts={word: words.count(word) for word in get_args(Word)},
        panel_data=panel.script_data(codes),
        figures=[_shown(figure, results, verdicts, figures) for figure in FIGURES],
        ours=ours.summary(results),
        choices=choices(),
        changes=changes(),
        halved=ours.halved(results),
        diverged=ours.diverged(results),
        facts=origins.facts(results.plan, made, seconds),
        sizes=origins.sizes(results.plan),
        steps=origins.steps(made, again(results.plan)),
        **panel_view.view(codes),
        **readings_view(figures, verdicts),
    )  # fmt: skip


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("kenyon.paper.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    environment.globals["asset"] = _asset
    filters: dict[str, Any] = {"symbols": symbols, "number": number, "tenths": lambda value: f"{value:.1f}"}
    environment.filters.update(filters, effect_words=effect_words)
    return environment


def _asset(name: str) -> Markup:
    """Return our own style sheet or script, which goes into the page unescaped."""
    return Markup((files("kenyon.paper.report") / "templates" / name).read_text(encoding="utf-8"))


def _shown(figure: str, results: Results, verdicts: Sequence[Verdict], folder: Path) -> Shown:
    related = [verdict for verdict in verdicts if figure in verdict.figures]
    return Shown(figure, about(figure), finding(figure, results), picture(folder, figure), related)


def readings_view(figures: Path, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return what is known of readings: which contradictions hang on one, and what their section shows."""
    found = matrix.view(figures.parent)
    told = {verdict.number: hangs_on(found["matrix"], verdict.number, verdict.verdict) for verdict in verdicts}
    hanging = {number: words for number, words in told.items() if words}
    return {**found, "hanging": hanging, "matrix_picture": picture(figures, MATRIX) if found["matrix"] else ""}


def again(plan: Plan) -> str:
    """Return the command that runs a plan."""
    seeds = f" --seeds {plan.seeds}" if plan != Plan.of(None, plan.quick) else ""
    return f"kenyon reproduce{' --quick' if plan.quick else ''}{seeds}"


def picture(folder: Path, figure: str) -> str:
    """Return a picture as a data URI: the SVG, or the PNG where the SVG is too large or missing."""
    svg, png = (folder / f"figure{figure}.{kind}" for kind in ("svg", "png"))
    if svg.exists() and (svg.stat().st_size <= HEAVY or not png.exists()):
        return f"data:image/svg+xml;base64,{base64.b64encode(svg.read_bytes()).decode()}"
    return f"data:image/png;base64,{base64.b64encode(png.read_bytes()).decode()}"


def effect_words(effect: Effect) -> str:
    """Return an effect with its interval."""
    if not isfinite(effect.value):
        return "not available"
    unit = f" {effect.unit}" if effect.unit else ""
    if not isfinite(effect.low):
        return f"{quantity(effect.value)}{unit} (one seed, no interval)"
    return f"{quantity(effect.value)} [{quantity(effect.low)}, {quantity(effect.high)}]{unit}"
