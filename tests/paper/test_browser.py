"""The report in a real browser: what is seen, what moves, and that nothing is asked of the network."""

import re

import pytest

from kenyon.paper.plan import FIGURES
from kenyon.paper.report import write_report
from tests.paper import chromium
from tests.paper.constructed import Constructed, Full, pictures, verdicts

pytestmark = pytest.mark.skipif(chromium.PROGRAM is None, reason="no Chromium (Debian: apt-get install chromium)")

DRAWING = "document.getElementById('code').toDataURL()"
NUMBERS = "['theta', 'coding', 'overlap', 'accuracy'].map((id) => document.getElementById(id + '-value').textContent)"
CONTRAST = """
(() => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b]
    .map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const colour = parse(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
  };
  const texts = [...document.querySelectorAll("body *")].filter((element) => element.checkVisibility()
    && [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
  return texts.map((element) => {
    const style = getComputedStyle(element);
    const ink = element instanceof SVGElement ? style.fill : style.color;
    const [low, high] = [light(parse(ink)), light(ground(element))].sort((a, b) => a - b);
    return [(high + 0.05) / (low + 0.05), element.outerHTML.slice(0, 80)];
  }).sort((a, b) => a[0] - b[0])[0];
})()
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    out = folder / "report.html"
    write_report(Full(), verdicts(), pictures(folder / "figures"), out, 12.0)
    return out


@pytest.fixture(scope="module")
def quick_report(report):
    out = report.with_name("quick.html")
    write_report(Constructed(), [], report.parent / "figures", out, 12.0)
    return out


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with chromium.browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def page(tab, report):
    tab.media()
    tab.size(1280)
    tab.open(report.as_uri())
    return tab


def test_no_errors_and_nothing_from_the_network(page, report):
    page.run("new Promise((resolve) => setTimeout(resolve, 200))")
    asked = [event["request"]["url"] for event in page.of("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()]
    assert page.of("Log.entryAdded") == []
    assert page.of("Runtime.exceptionThrown") == []
    assert page.of("Runtime.consoleAPICalled") == []


def test_every_figure_is_seen(page):
    size = "image.getBoundingClientRect()"
    drawn = f"image.naturalWidth > 0 && {size}.width > 200 && {size}.height > 50"
    seen = page.run(f"[...document.querySelectorAll('article img')].map((image) => {drawn})")
    assert seen == [True] * len(FIGURES)


def test_slider_moves_numbers_and_drawing(page):
    before = page.run(NUMBERS), page.run(DRAWING), page.run("document.querySelector('.marker').outerHTML")
    page.run("{const s = document.getElementById('theta'); s.value = 40; s.dispatchEvent(new Event('input'));}")
    after = page.run(NUMBERS), page.run(DRAWING), page.run("document.querySelector('.marker').outerHTML")
    assert all(old != new for old, new in zip(before[0], after[0], strict=True))
    assert before[1] != after[1]
    assert before[2] != after[2]
    assert after[0][0] == "2.00"


def test_slider_moves_by_arrow_key(page):
    page.run("document.getElementById('theta').focus()")
    before = float(page.run(NUMBERS)[0]), page.run(DRAWING)
    page.press("ArrowRight", 39)
    assert float(page.run(NUMBERS)[0]) == pytest.approx(before[0] + 0.05)
    assert page.run(DRAWING) != before[1]
    assert page.run("document.getElementById('theta').ariaValueText") == page.run(NUMBERS)[0]


def test_slider_says_where_runs_diverge(page):
    page.run("document.getElementById('theta').focus()")
    page.press("Home", 36)
    assert page.run(NUMBERS)[3] == "2 of 2 runs diverge"


def test_filter_shows_one_verdict_by_keyboard(page):
    page.run("document.querySelector('#filter input').focus()")
    page.press("ArrowRight", 39)
    shown = page.run(
        "[...document.querySelectorAll('#claims-table tbody tr')].filter((r) => r.checkVisibility()).length"
    )
    assert shown == 10
    assert page.run("document.getElementById('filter-status').textContent") == "10 of 32 claims shown"


def test_link_to_a_filtered_claim_shows_it(page):
    page.run("document.querySelector('#filter input[value=reproduced]').click()")
    assert not page.run("document.getElementById('claim-1').checkVisibility()")
    page.run("document.querySelector('.related a[href=\"#claim-1\"]').click()")
    page.run("new Promise((resolve) => setTimeout(resolve, 100))")
    assert page.run("document.getElementById('claim-1').checkVisibility()")


@pytest.mark.parametrize("width", [320, 380, 768, 1280])
def test_page_does_not_scroll_sideways(page, width):
    page.size(width)
    page.run("for (const element of document.querySelectorAll('details')) element.open = true")
    assert page.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(page, scheme):
    page.media(prefers_color_scheme=scheme)
    page.run("for (const element of document.querySelectorAll('details')) element.open = true")
    ratio, where = page.run(CONTRAST)
    assert ratio >= 4.5, where


def test_dark_is_dark_and_drawn_anew(page):
    light = page.run("getComputedStyle(document.body).backgroundColor"), page.run(DRAWING)
    page.media(prefers_color_scheme="dark")
    for _ in range(100):
        page.run("new Promise((resolve) => setTimeout(resolve, 100))")
        if light[1] != page.run(DRAWING):
            break
    assert light[0] != page.run("getComputedStyle(document.body).backgroundColor")
    assert light[1] != page.run(DRAWING)


def test_paper_has_pictures_in_place_of_the_panel(page, tmp_path):
    page.media("print")
    assert not page.run("document.getElementById('theta').checkVisibility()")
    assert not page.run("document.getElementById('code').checkVisibility()")
    assert page.run("[...document.querySelectorAll('.static img')].every((element) => element.checkVisibility())")
    page.pdf(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_page_without_its_script_has_pictures_and_all_claims(page, report, tmp_path):
    copy = tmp_path / "report.html"
    copy.write_text(re.sub(r"<script>.*?</script>", "", report.read_text(), flags=re.S))
    page.open(copy.as_uri())
    shown = "(element) => element.checkVisibility()"
    assert page.run(f"[...document.querySelectorAll('.static img, #claims-table tr')].every({shown})")
    assert not page.run(f"[...document.querySelectorAll('#theta, #filter, #code')].some({shown})")


def test_quick_run_has_rules_in_place_of_verdicts_and_a_panel_that_moves(page, quick_report):
    page.open(quick_report.as_uri())
    assert page.of("Runtime.exceptionThrown") == []
    assert page.run("document.querySelectorAll('#claims-table tbody tr').length") == 32
    assert page.run("document.querySelectorAll('.verdict, #filter').length") == 0
    before = page.run(DRAWING)
    page.run("{const s = document.getElementById('theta'); s.value = 40; s.dispatchEvent(new Event('input'));}")
    assert page.run(DRAWING) != before
    page.size(320)
    assert page.run("document.documentElement.scrollWidth") <= 320


def test_every_control_has_a_name(page):
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    named = {"slider", "radio", "link", "image", "region", "navigation", "heading", "table"}
    of_interest = [node for node in nodes if not node["ignored"] and node["role"]["value"] in named]
    nameless = [node["role"]["value"] for node in of_interest if not node.get("name", {}).get("value")]
    assert nameless == []
    assert {node["role"]["value"] for node in of_interest} >= named - {"table"}
