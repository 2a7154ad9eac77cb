"""The page: everything the report has, put into one HTML file that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from kenyon import __version__
from kenyon._files import write_whole
from kenyon.paper.plan import FIGURES, Plan, Results
from kenyon.paper.report import claims_table, ours, panel, panel_view, provenance, words
from kenyon.paper.report.findings import found
from kenyon.paper.report.markup import Ranking, attribute, details, paragraphs, plain, table_html, text
from kenyon.paper.verdicts import Verdict

QUICK = "Quick run: small sizes, not the paper's."
HEAVY = 1_500_000  # bytes of an SVG above which the PNG is shown
SHOWN_FEW = 12  # rows of a table that is open from the start


def write_report(
    results: Results,
    verdicts: Sequence[Verdict],
    figures: Path,
    out: Path,
    seconds: float,
    *,
    command: str = "",
) -> None:
    """Write the report, whole or not at all.

    Parameters
    ----------
    results
        Of all figures.
    verdicts
        On all claims, in their order.
    figures
        Folder with the pictures: figure1.svg and so on; figure1.png is taken where the SVG is large or missing.
    out
        The HTML file.
    seconds
        How long it took to get here.
    command
        What to type to run it again; left out, `kenyon reproduce` with what the plan asks for.
    """
    write_whole(out, render(results, verdicts, figures, seconds, command))


def render(results: Results, verdicts: Sequence[Verdict], figures: Path, seconds: float, command: str) -> str:
    """Return the page."""
    origins = results.provenance()
    shown = panel.panel(results)
    quick = results.plan.quick
    return Template(_part("template.html")).substitute(
        title=("Quick run: " if quick else "") + "Learning sparsity in reservoir computing: a reproduction",
        version=__version__,
        quick=f'<p class="quick" role="note">{QUICK} Nothing on this page is a result.</p>' if quick else "",
        style=_part("style.css"),
        script=_part("page.js"),
        headline=claims_table.headline(verdicts, provenance.time_words(origins, seconds)),
        figure_links="".join(
            f'<li><a href="#figure-{figure}">{figure} {text(words.FIGURES[figure].title)}</a></li>'
            for figure in FIGURES
        ),
        claims=_claims(verdicts),
        panel=mark_quick(quick) + panel_view.panel_html(shown),
        panel_data=panel.data_json(shown),
        figures="".join(_figure(figure, results, verdicts, figures) for figure in FIGURES),
        ours=_ours(results),
        choices=_choices(results),
        provenance=provenance.provenance_html(results, origins, seconds, command or again(results.plan)),
        cite=provenance.cite_html(),
    )


def _part(name: str) -> str:
    return (files("kenyon.paper.report") / name).read_text(encoding="utf-8")


def again(plan: Plan) -> str:
    """Return the command that runs a plan."""
    seeds = f" --seeds {plan.seeds}" if plan != Plan.of(None, plan.quick) else ""
    return f"kenyon reproduce{' --quick' if plan.quick else ''}{seeds}"


def mark_quick(quick: bool) -> str:
    """Return the mark of a quick run, if it is one."""
    return f'<p class="quick small">{QUICK}</p>' if quick else ""


def _claims(verdicts: Sequence[Verdict]) -> str:
    introduction = (
        "What the paper says is told in our words. An effect is the mean over seeds of a paired difference: all "
        "learners of a seed see the same network, task and episodes. A claim is reproduced if the whole 95% bootstrap "
        "interval of each of its effects lies on the claimed side, contradicted if one lies wholly on the other side, "
        "and inconclusive otherwise. Nothing was tuned for a claim, and none is left out."
    )
    return paragraphs([introduction]) + claims_table.claims_table(verdicts)


def _figure(figure: str, results: Results, verdicts: Sequence[Verdict], folder: Path) -> str:
    about, what = words.FIGURES[figure], found(figure, results)
    small = sum(len(table.rows) for table in what.tables)
    tables = "".join(table_html(table) for table in what.tables)
    says = "What it is for" if about.says[0].startswith("Ours") else "The paper says"
    return (
        f'<article class="figure" id="figure-{figure}" aria-labelledby="figure-{figure}-title">'
        f'<h3 id="figure-{figure}-title"><span class="label">Figure {figure}</span> {text(about.title)}</h3>'
        f"{mark_quick(results.plan.quick)}"
        f'<div class="beside"><figure><div class="scroll card" tabindex="0" role="region" aria-label="Figure {figure}">'
        f'<img src="{picture(folder, figure)}" alt="{attribute(alternative(figure, about, what.sentences))}"></div>'
        f"<figcaption>{text(about.shows)}</figcaption></figure>"
        f'<div class="words"><h4>{says}</h4>{paragraphs(about.says)}<h4>We found</h4>{paragraphs(what.sentences)}'
        f"</div>{claims_table.related(verdicts, figure)}</div>"
        f"{details(f'Numbers of figure {figure} ({small} rows)', tables) if tables else ''}</article>"
    )


def alternative(figure: str, about: words.About, sentences: Sequence[str | Ranking]) -> str:
    """Return what is said of a picture to those who do not see it; the numbers follow in the text beside."""
    return f"Figure {figure}. {about.shows} {plain(sentences[0])}"


def picture(folder: Path, figure: str) -> str:
    """Return a picture as a data URI: the SVG, or the PNG where that is too large or not there."""
    svg, png = (folder / f"figure{figure}.{ending}" for ending in ("svg", "png"))
    if svg.exists() and (svg.stat().st_size <= HEAVY or not png.exists()):
        return f"data:image/svg+xml;base64,{base64.b64encode(svg.read_bytes()).decode()}"
    return f"data:image/png;base64,{base64.b64encode(png.read_bytes()).decode()}"


def _ours(results: Results) -> str:
    sentences, tables = ours.summary(results)
    introduction = (
        "Normalised is not the paper's. It stands beside the paper's learners everywhere, on the same episodes; where "
        "it fails is said here, from the same results."
    )
    return paragraphs([introduction, *sentences]) + "".join(
        table_html(one) if len(one.rows) <= SHOWN_FEW else details(f"{one.caption} ({len(one.rows)})", table_html(one))
        for one in tables
    )


def _choices(results: Results) -> str:
    rows = "".join(
        f"<div><dt>{text(name)}</dt><dd><p>{text(choice)}</p><p class='note'>{text(why)}</p></dd></div>"
        for name, choice, why in words.CHOICES
    )
    controls = "".join(f"<p>{text(one)}</p>" for figure in ("S1", "S2") for one in words.FIGURES[figure].says)
    return (
        f'<dl class="choices">{rows}</dl><h3>Controls and what they mean</h3>{controls}'
        '<p>Their numbers are at <a href="#figure-S1">figure S1</a> and <a href="#figure-S2">figure S2</a>.</p>'
        f"<h3>Rates that had to be halved</h3>{_changes(ours.halved(results), 'halved')}"
        f"<h3>Learners that diverged</h3>{_changes(ours.diverged(results), 'diverged')}"
    )


def _changes(changes: list[ours.Change], kind: str) -> str:
    explained = {
        "halved": "A plain readout (GD_W) that diverges is trained again at half its rate until it does not.",
        "diverged": "Of other learners a run that diverged, or fell silent for good, is kept as such: in a claim "
        "it counts as guessing.",
    }[kind]
    if not changes:
        return paragraphs([f"{explained} There was none."])
    runs, last = sum(one.runs for one in changes), {"halved": "rate", "diverged": "when"}[kind]
    table = ours.change_table(f"Runs that {'had their rate halved' if kind == 'halved' else 'diverged'}", last, changes)
    return paragraphs([explained]) + details(f"{runs} runs {kind}, of {len(changes)} learners", table_html(table))
