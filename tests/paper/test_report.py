import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from kenyon.experiment.presets import BATCHES
from kenyon.experiment.reports import duration
from kenyon.learning.prelearning import STARTS, STEPS
from kenyon.paper.claims import CLAIMS
from kenyon.paper.plan import FIGURES, QUICK_SEEDS, STIMULI, Plan, joined, nearest_size
from kenyon.paper.report import ours, write_report
from kenyon.paper.report.findings import finding
from kenyon.paper.report.ours import contests, diverged, halved
from kenyon.paper.report.page import HEAVY, again, effect_words, picture
from kenyon.paper.report.panel import Trained, interpolated, overlap, panel
from kenyon.paper.report.panel_view import curves
from kenyon.paper.report.text import learner_name, number, quantity, spread, symbols
from kenyon.paper.report.words import changes, choices
from kenyon.paper.verdicts import Effect, Verdict
from tests.paper.constructed import PROVENANCE, Constructed, Full, pictures, verdicts

BAD = "<script>alert(1)</script>"
VOID = {"meta", "link", "input", "img", "br", "use", "path", "circle", "rect", "line", "polyline"}


class Reader(HTMLParser):
    """Notes tags, ids and links, and whether every element is closed in its turn."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.headings, self.tags = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.tags.append((tag, named))
        self.ids += [named["id"]] if "id" in named else []
        self.links += [named["href"]] if tag == "a" else []
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def results():
    return Full()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return pictures(tmp_path_factory.mktemp("report") / "figures")


@pytest.fixture(scope="module")
def page(results, folder):
    out = folder.parent / "report.html"
    write_report(results, verdicts(), folder, out, 754.0)
    return out.read_text()


@pytest.fixture(scope="module")
def quick_page(folder):
    out = folder.parent / "quick" / "report.html"
    out.parent.mkdir()
    write_report(Constructed(), [], folder, out, 60.0)
    return out.read_text()


@pytest.fixture(scope="module")
def reader(page):
    return read(page)


def read(page):
    reader = Reader()
    reader.feed(page)
    return reader


def test_page_is_whole_and_alone_in_its_folder(page, folder):
    assert page.rstrip().endswith("</html>")
    assert {path.name for path in folder.parent.iterdir()} - {"quick"} == {"figures", "report.html"}


def test_nothing_is_left_behind_when_writing_fails(results, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("kenyon.paper.report.page.render", lambda *_: "page")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("no room")))
    with pytest.raises(OSError, match="no room"):
        write_report(results, verdicts(), folder, tmp_path / "report.html", 1.0)
    assert not list(tmp_path.iterdir())


def test_every_element_is_closed_and_ids_are_unique(reader):
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))


def test_every_link_leads_somewhere_in_the_page(reader):
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)


def test_headings_come_in_order(reader):
    assert reader.headings[0] == 1
    assert all(after <= before + 1 for before, after in zip(reader.headings, reader.headings[1:], strict=False))


def test_nothing_is_asked_of_the_network(page, reader):
    outside = [value for _, named in reader.tags for name, value in named.items() if name in ("src", "href", "data")]
    assert all(value.startswith(("#", "data:")) for value in outside)
    assert "url(" not in page
    assert "@import" not in page


def test_every_figure_has_a_picture_with_words(reader):
    images = [named for tag, named in reader.tags if tag == "img" and named["alt"]]
    assert [named["alt"].partition(".")[0] for named in images] == [f"Figure {figure}" for figure in FIGURES]


def test_headline_counts_verdicts_and_time(page):
    assert "<strong>10 of 32</strong> claims reproduced" in page
    assert "Done in 13 min: 2 trials with 2 min of computing in all, on A &lt;fast&gt; CPU" in page


def test_quick_run_is_marked_on_top_and_at_every_figure(quick_page):
    assert quick_page.count('class="quick small">Quick run: small sizes, not the paper') == len(FIGURES) + 1
    assert quick_page.index('class="quick"') < quick_page.index("<h1>")


def test_quick_run_shows_what_claims_will_be_judged_by_and_no_verdict(quick_page):
    assert "Too small to judge" in quick_page
    for claim in CLAIMS:
        assert all(symbols(words) in quick_page for words in (claim.statement, claim.rule, claim.bound))
    assert quick_page.count("not judged</td>") == len(CLAIMS)
    assert 'class="verdict' not in quick_page
    assert "claims reproduced" not in quick_page


def test_quick_page_is_whole(quick_page):
    reader = read(quick_page)
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)


def test_full_run_is_not_marked_as_quick(page):
    assert "uick run" not in page


def test_words_from_outside_are_escaped(page):
    assert "<GD" not in page
    assert "Composed &amp; &lt;GD<sub>W</sub>&gt; differ" in page


def test_scripts_from_outside_are_text(results, folder, tmp_path):
    class Hostile(Constructed):
        def __init__(self):
            self.plan, data = results.plan, results.get("S5").copy()
            data["learner"] = [name if name == "Normalised" else BAD + name for name in data.learner.values]
            self.get = lambda *part: data if part == ("S5",) else results.get(*part)

        def provenance(self):
            return [dict.fromkeys(PROVENANCE, BAD) | {"seconds": 1.0}]

    effects = (Effect(BAD, 0.5, 0.4, 0.6, True, BAD), Effect(BAD, 0.5, 0.4, 0.6, False, BAD))
    bad = [Verdict(1, BAD, BAD, "contradicted", effects, ("2", BAD), BAD)]
    write_report(Hostile(), bad, folder, tmp_path / "report.html", 1.0)
    page = (tmp_path / "report.html").read_text()
    assert page.count("<script") == 2  # the panel's data and the page's own
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 15


def test_what_was_found_is_from_the_results(page, results):
    data = results.get("2")
    shown = spread(data.accuracy.sel(learner="Composed", size=nearest_size(data, STIMULI)))
    assert f"<dt>Composed</dt><dd>{shown}</dd>" in page


def test_rankings_begin_with_the_best_at_the_place_they_name(results):
    rankings = finding("S2", results).sentences[:2]
    accuracy = joined(results, "S2").accuracy
    for place, ranking in zip((0, -1), rankings, strict=True):
        at = accuracy.isel(size=place)
        assert ranking.words == f"At {int(at['size'])} resampled odours"
        means = [float(at.sel(learner=name).mean()) for name in at.learner.values]
        ordered = [learner_name(str(at.learner.values[i])) for i in np.argsort(means)[::-1]]
        assert [name for name, _ in ranking.rows] == ordered


def test_by_reward_all_learners_are_ranked(results):
    (ranking, _), accuracy = finding("7", results).sentences, results.get("7", "static").accuracy.isel(size=-1)
    assert {name for name, _ in ranking.rows} == {learner_name(str(name)) for name in accuracy.learner.values}


def test_the_lead_of_composed_is_told_at_the_smallest_and_the_shown_size(results):
    data = results.get("2").accuracy
    lead = data.sel(learner="Composed") - data.sel(learner="GradientWeights")
    sentence = finding("2", results).sentences[1]
    assert f"is {spread(lead.sel(size=20))} at 20 stimuli and {spread(lead.sel(size=140))} at 140." in sentence


def test_tables_of_means_have_a_row_per_learner_and_a_column_per_size(results):
    table, data = finding("2", results).tables[0], results.get("2").accuracy
    assert table.head == ["stimuli", "20", "140"]
    rows = {first: rest for first, *rest in table.rows}
    assert rows["Composed"] == [f"{value:.3f}" for value in data.sel(learner="Composed").mean("seed").values]


def test_what_was_found_first_is_shown_with_all_that_was_tried(results):
    starts, rates = finding("2", results).tables[-2:]
    assert starts.rows == [["0.00", "30.0", ""], ["0.50", "20.0", "chosen"], ["1.00", "diverged", ""]]
    assert rates.head == ["eta_W", "0.0009", "0.0018", "0.0036"]
    assert rates.rows[0] == ["20, batch 1", "0.509", "0.518*", "diverged"]
    assert rates.rows[1] == ["20, batch 10", "0.501", "", ""]


def test_accuracy_on_sequences_is_told_by_position_and_context(results):
    table = next(table for table in finding("4", results).tables if "perturbed" in table.caption)
    assert table.head == ["learner", "first", "middle", "last", "own context", "new context"]
    at = results.get("4").isel(size=-1).sel(learner="Composed")
    row = next(row for row in table.rows if row[0] == "Composed")
    assert row[2] == spread(at.position_accuracy.isel(position=1), 3)
    assert row[5] == spread(at.context_accuracy.isel(context=1), 3)


def test_where_our_learner_is_behind_is_counted_and_listed_but_for_ties(results, monkeypatch):
    monkeypatch.setattr(ours, "TIE", 0.05)
    sentences, tables = ours.summary(results)
    behind = [contest for contest in contests(results) if contest.lead.value <= -ours.TIE]
    assert f"in {len(behind)} its mean is lower" in sentences[0]
    offline = [contest for contest in contests(results, offline=True) if contest.lead.value <= -ours.TIE]
    assert len(tables[0].rows) == len(behind) + len(offline) > 0
    assert 0 < len(behind) < len(tables[1].rows) == len(contests(results))


def test_the_panel_says_how_runs_fail(results):
    shown = panel(results)
    (failure,) = curves(shown)[2].failures
    assert failure[2] == "diverge"
    (failure,) = curves(shown._replace(coding=np.zeros_like(shown.coding)))[2].failures
    assert failure[2] == "fall silent"


def test_panel_counts_what_is_above_the_threshold(results):
    found, data = panel(results), results.get("1", "static")
    V = data.example_state.values.squeeze()
    i = 20
    assert found.theta[i] == pytest.approx(1.0)
    assert found.coding[i] == pytest.approx((V > 1.0).mean(), abs=1e-6)
    assert (np.diff(found.coding) <= 0).all()


def test_overlap_is_between_classes_and_leaves_silence_out():
    codes = np.array([[1, 0], [1, 1], [0, 0], [2, 0]], np.float32)
    assert overlap(codes, np.array([0, 1, 1, 0])) == pytest.approx(1 / np.sqrt(2))
    assert np.isnan(overlap(np.zeros((2, 3), np.float32), np.array([0, 1])))


def test_accuracy_between_stored_thresholds_lies_on_a_line():
    accuracy = np.array([[np.nan, np.nan], [0.6, np.nan], [0.8, 0.8]])
    values, lost = interpolated(np.array([0.0, 0.5, 1.0, 1.5, 2.0]), Trained(np.array([0.0, 1.0, 2.0]), accuracy))
    np.testing.assert_allclose(values, [np.nan, np.nan, 0.6, 0.7, 0.8])
    assert lost.tolist() == [2, 2, 1, 1, 0]


def test_panel_data_is_json_without_nan(page):
    data = json.loads(re.search(r'id="panel-data">(.*?)</script>', page)[1])
    assert data["accuracy"][0] is None
    assert data["lost"][0] == data["runs"] == 2
    assert len(data["theta"]) == len(data["coding"]) == len(data["overlap"]) == len(data["accuracy"])


def test_normalised_is_compared_with_the_best_other(results):
    contest = next(contest for contest in contests(results) if contest.figure == "4")
    accuracy = results.get("4").accuracy.isel(size=0)
    others = accuracy.drop_sel(learner="Normalised").mean("seed")
    assert contest.rival == str(others.learner.values[others.values.argmax()])
    assert contest.lead.value == pytest.approx(float(accuracy.sel(learner="Normalised").mean()) - float(others.max()))


def test_halved_rates_and_divergence_are_told(results):
    assert {change.learner.split()[0] for change in halved(results)} == {"GradientWeights"}
    assert {change.words for change in halved(results) if change.figure == "2"} == {"0.0018 to 0.0009"}
    found = diverged(results)
    assert [change.learner for change in found] == ["threshold start=0", "threshold start=0.2"]
    assert {change.figure for change in found} == {"S4"}
    assert all(change.runs == change.of for change in found)


def test_every_choice_and_change_is_told(page):
    for row in (*choices(), *changes()):
        assert all(symbols(words) in page for words in row)


def test_choices_name_the_numbers_that_the_code_has():
    words = " ".join(choice.ours for choice in choices())
    shown = [f"{STEPS:,} batches", f"batch {BATCHES[0]}, {BATCHES[1]} and {BATCHES[2]}", "200,000 episodes"]
    sizes = {figure: sorted({trial.task.size for trial in Plan().experiment(figure).trials}) for figure in ("2", "4")}
    assert STARTS == 10
    assert {trial.n_episodes for trial in Plan().experiment("4").trials} == {200_000}
    for name in sizes:
        *first, last = map(str, sizes[name])
        shown.append(f"{', '.join(first)} and {last}")
    assert all(number in words for number in shown)


def test_heavy_svg_gives_way_to_png(tmp_path):
    (tmp_path / "figure2.svg").write_bytes(b" " * (HEAVY + 1))
    assert picture(tmp_path, "2").startswith("data:image/svg+xml;")
    (tmp_path / "figure2.png").write_bytes(b"png")
    assert picture(tmp_path, "2") == "data:image/png;base64,cG5n"


def test_missing_picture_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="figure2.png"):
        picture(tmp_path, "2")


@pytest.mark.parametrize(
    ("value", "shown"), [(-0.0001, "0.000"), (-0.5, "−0.500"), (12345.6, "12,346"), (12.34, "12.3"), (np.nan, "–")]
)
def test_quantities_have_digits_that_mean_something(value, shown):
    assert quantity(value) == shown


def test_command_to_run_it_again_is_that_of_the_plan():
    plans = Plan(), Plan(seeds=QUICK_SEEDS, quick=True), Plan(seeds=3)
    commands = ["kenyon reproduce", "kenyon reproduce --quick", "kenyon reproduce --seeds 3"]
    assert [again(plan) for plan in plans] == commands


def test_effect_without_a_value_says_so():
    assert effect_words(Effect("", np.nan, np.nan, np.nan, None)) == "not available"
    assert effect_words(Effect("", 0.5, 0.25, 0.75, True, "accuracy")) == "0.500 [0.250, 0.750] accuracy"


def test_spread_tells_of_runs_without_a_value():
    assert spread([0.5, 0.75, np.nan]) == "0.62 (0.50 to 0.75); 1 of 3 missing"
    assert spread([np.nan]) == "no finite value"
    assert spread([0.5, 0.5]) == "0.50"


def test_symbols_and_names_are_set_as_in_the_paper():
    assert symbols("GD_theta & theta_g, theta") == "GD<sub>θ</sub> &amp; <i>θ</i><sub>g</sub>, θ"
    assert learner_name("GradientThresholds percentile percentile=85") == "GD_theta from percentile 85"
    assert learner_name("threshold start=0.2") == "threshold 0.2"
    assert learner_name("GradientWeights batch=10") == learner_name("GradientWeights 10") == "GD_W batch 10"
    assert number(-0.001) == "0.00"
    assert [duration(seconds) for seconds in (12.4, 754, 7200)] == ["12 s", "13 min", "2.0 h"]
