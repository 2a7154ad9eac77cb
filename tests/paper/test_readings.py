"""Readings change what they say and nothing else; the matrix says what their verdicts are."""

import json
import runpy
from pathlib import Path

import pytest

from kenyon import cli
from kenyon.experiment.config import TrialConfig
from kenyon.experiment.executor import Stopped
from kenyon.experiment.reports import Report
from kenyon.paper.figures.readings import save_matrix
from kenyon.paper.matrix import Column, Matrix, hangs_on, markdown, read_matrix, summary, with_column, write_matrix
from kenyon.paper.plan import Plan
from kenyon.paper.readings import CENTRAL, READINGS, THIN, reading
from kenyon.paper.report import matrix as section
from kenyon.paper.report.page import render
from kenyon.paper.run_readings import FIGURES, run_readings
from tests.paper.constructed import Constructed, pictures, verdicts
from tests.paper.test_reproduce import sizes, tiny

DOCS = Path(__file__).parents[2] / "docs"
ORDER = list(range(1, 33))
CHANGED = {  # by reading: the last names of the settings that may change
    "central": set(),
    "summed": {"batch_cost"},
    "5 ms": {"steps", "leak_rate"},
    "target 1": {"target", "reward", "temperature"},
    "target 20": {"target", "reward"},
    "no prelearning": {"start", "prelearning", "sigma", "period", "beta", "average_start"},
    "walks": {"start", "prelearning"},
    "common noise": {"noise_kind"},
    "shared contexts": {"contexts"},
    "176 stimuli": {"pool"},
    "gain 0.5": {"input_gain", "start", "shift"},
    "gain 2": {"input_gain", "start", "shift"},
    "unmatched": {"input_gain"},
    "averages from 0": {"average_start"},
    "both act": {"acting"},
    "dense W": {"connections"},
    "GD_W untuned": {"eta_w", "tuning"},  # its batch is 100 unless it is tuned
}


def trials(name):
    """Return the trials of a reading by figure, part and place, with one seed."""
    own = Plan(1, False, name)
    parts = {(figure, label): part for figure in FIGURES for label, part in own.parts(figure).items()}
    return {(*place, i): trial for place, part in parts.items() for i, trial in enumerate(part)}


def differences(one, other, path=()):
    """Return the paths at which two settings differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        assert set(one) == set(other)
        return [found for name in one for found in differences(one[name], other[name], (*path, name))]
    return [] if one == other else [path]


@pytest.fixture(scope="module")
def central():
    return trials(CENTRAL)


def test_there_is_a_test_for_every_reading():
    assert set(CHANGED) == set(READINGS)


@pytest.mark.parametrize("name", list(READINGS))
def test_a_reading_changes_what_it_says_and_nothing_else(name, central):
    own = trials(name)
    assert set(own) == set(central)
    seen = set()
    for place, trial in own.items():
        pair = (central[place].model_dump(mode="json"), trial.model_dump(mode="json"))
        changed = differences(*pair)
        seen |= {path[-1] for path in changed}
        assert (trial.id == central[place].id) is (not changed)
    assert seen == CHANGED[name]


def test_numbers_are_those_of_the_reading(central):
    half = trials("5 ms")
    for place, trial in central.items():
        assert half[place].task.steps == 2 * trial.task.steps
        assert half[place].reservoir.leak_rate == trial.reservoir.leak_rate / 2
    dense = {trial.reservoir.connections for trial in trials("dense W").values()}
    assert dense == {0.0, 100.0}
    for trial in trials("GD_W untuned").values():
        plain = [own for own in trial.learners.values() if own.kind == "GradientWeights"]
        assert all((own.batch, own.eta_w) == (100, 0.0018) for own in plain)
        assert trial.halve_diverged


def test_no_learner_waits_for_prelearning_without_it():
    for name, start in (("no prelearning", 0.0), ("walks", "walked")):
        composed = [own for trial in trials(name).values() for key, own in trial.learners.items() if key == "Composed"]
        assert {own.start for own in composed} == {start}


def test_all_readings_are_thin(central):
    for trial in central.values():
        assert trial.task.size in THIN.sizes[trial.task.kind]
        assert trial.n_episodes <= (150_000 if trial.task.kind == "sequence" else 120_000)
    sizes = {trial.task.size for trial in central.values()}
    assert sizes == {20, 80, 140, 48, 336}
    assert {trial.seed for trial in Plan(THIN.seeds, False, CENTRAL).experiment("2").trials} == set(range(5))


def test_the_plan_of_the_figures_is_not_thinned():
    assert {trial.task.size for trial in Plan(1).experiment("2").trials} == {20, 50, 80, 110, 140, 176}


def test_an_unknown_reading_is_refused_with_a_suggestion():
    with pytest.raises(ValueError, match=r"no reading 'sumed'.*summed"):
        reading("sumed")


def small(trial):
    """Return a trial of a few neurons and episodes, without tuning."""
    settings = tiny(trial).model_dump(mode="json")
    settings.update(n_episodes=200, n_test=50, n_bins=5, tuning=None)
    return TrialConfig.model_validate_json(json.dumps(settings))


class Interrupting(Report):
    """Ends a run after some trials."""

    def __init__(self, after):
        super().__init__()
        self.after = after

    def finished(self, trial, seconds):
        super().finished(trial, seconds)
        self.after -= 1
        if not self.after:
            raise Stopped(143)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readings")
    with sizes(small):
        with pytest.raises(Stopped):
            run_readings(folder, only=[CENTRAL], quick=True, workers=0, report=Interrupting(3))
        kept = times(folder)
        assert len(kept) == 3
        run_readings(folder, only=[CENTRAL], quick=True, workers=0)
        assert kept.items() <= times(folder).items()  # a stopped run goes on
        yield folder


def times(folder):
    return {path.name: path.stat().st_mtime_ns for path in (folder / "results").glob("*.nc")}


def test_a_reading_runs_only_what_it_changes(folder, capsys):
    before = times(folder)
    with pytest.raises(SystemExit) as left:
        cli.main(["readings", "--quick", "--only", "both act", "--out", str(folder), "--workers", "0"])
    assert left.value.code == 0
    after = times(folder)
    assert before.items() <= after.items()
    assert 0 < len(after) - len(before) <= 8  # figure 7, two sizes of two tasks, two seeds
    assert "| central | both act |" in capsys.readouterr().out
    matrix = read_matrix(folder)
    assert [column.name for column in matrix.columns] == [CENTRAL, "both act"]
    assert all(sorted(column.verdicts) == ORDER for column in matrix.columns)
    assert matrix.quick
    untouched = set(ORDER) - {16}
    one, other = (column.verdicts for column in matrix.columns)
    assert {number: one[number] for number in untouched} == {number: other[number] for number in untouched}
    assert (folder / "figures" / "figureR.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--only", "sumed"], "there is no reading 'sumed'"), (["--seeds", "0"], "seeds")],
)
def test_mistakes_are_one_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        cli.main(["readings", *arguments])
    assert left.value.code == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert message in err


def made_up(**verdicts):
    words = {"r": "reproduced", "c": "contradicted", "i": "inconclusive"}
    names = {"central": "central", "summed": "summed", "dense": "dense W"}
    columns = [
        Column(names[name], {i: words[letter] for i, letter in enumerate(letters, 1)}, {}, [])
        for name, letters in verdicts.items()
    ]
    return Matrix(tuple(columns), 5, False)


def test_a_claim_is_robust_or_depends_on_named_readings():
    rows = summary(made_up(central="rri", summed="rci", dense="rii"))
    assert [row.robust for row in rows] == [True, False, True]
    assert rows[1].differs == {"summed": "contradicted", "dense W": "inconclusive"}
    assert rows[0].words() == "reproduced in all"
    assert rows[1].words() == "reproduced; depends on summed (contradicted), dense W (inconclusive)"


def test_a_contradiction_that_hangs_on_a_reading_says_so_first():
    matrix = made_up(central="cccri", summed="crici", dense="cciic")
    told = [hangs_on(matrix, number, "contradicted") for number in range(1, 6)]
    assert told[0] == ""  # in every reading
    assert told[1] == 'hangs on what the paper leaves open: reproduced with "Batch cost summed"'
    assert told[2].endswith('left open with "Batch cost summed", "W ten times as dense"')
    assert told[4] == ""  # open already at fewer seeds
    assert hangs_on(matrix, 2, "inconclusive") == hangs_on(None, 2, "contradicted") == ""


def test_nothing_is_robust_without_the_central_reading():
    (row,) = summary(made_up(summed="r"))
    assert not row.robust
    assert "has not been run" in row.words()


def test_the_table_has_a_row_for_each_claim_and_says_what_diverged():
    matrix = made_up(central="rc", summed="ri")
    text = markdown(matrix)
    assert "| + | + | reproduced in all |" in text
    assert "| × | · | contradicted; depends on summed (inconclusive) |" in text
    assert "No learner diverged." in text
    lost = matrix.columns[1]._replace(diverged=["Composed: 2 of 5 runs, 2"])
    assert "- Batch cost summed: Composed: 2 of 5 runs, 2." in markdown(with_column(matrix, lost))


def test_columns_keep_the_order_of_readings_and_survive_a_file(tmp_path):
    later, first = made_up(dense="r").columns[0], made_up(central="c").columns[0]
    matrix = with_column(with_column(Matrix((), 5, False), later), first)
    assert [column.name for column in matrix.columns] == ["central", "dense W"]
    write_matrix(tmp_path, matrix)
    assert read_matrix(tmp_path) == matrix


def test_the_picture_marks_every_verdict_by_shape_and_frames_what_differs(tmp_path):
    files = save_matrix(made_up(central="rci", summed="rrr"), tmp_path)
    assert {file.suffix for file in files} == {".svg", ".pdf", ".png"}
    again = save_matrix(made_up(central="rci", summed="rrr"), tmp_path / "again")
    assert [file.read_bytes() for file in files] == [file.read_bytes() for file in again]


def test_the_report_tells_robust_claims_from_others_and_says_if_there_are_none(tmp_path):
    assert section.view(tmp_path)["matrix"] is None
    write_matrix(tmp_path, made_up(central="rc", summed="rr"))
    found = section.view(tmp_path)
    assert [row.number for row in found["robust"]] == [1]
    assert [row.number for row in found["dependent"]] == [2]


def test_the_page_shows_the_matrix_or_how_to_get_it(tmp_path):
    figures = pictures(tmp_path / "figures")
    assert "Readings have not been run" in render(Constructed(), verdicts(), figures, 1.0)
    matrix = made_up(central="rc", summed="rr")
    write_matrix(tmp_path, with_column(matrix, matrix.columns[1]._replace(diverged=["Composed: 1 of 5 runs, 2"])))
    save_matrix(matrix, figures)
    words = {1: "reproduced", 2: "contradicted"}
    told = [own._replace(verdict=words.get(own.number, "inconclusive")) for own in verdicts()]
    page = render(Constructed(), told, figures, 1.0)
    assert "1 of 2 claims are robust over 2 of 17 readings" in page
    assert "depends on summed (reproduced)" in page
    assert "Composed: 1 of 5 runs" in page
    assert "Of those contradicted, 1 hangs on what the paper leaves open" in page
    assert "reproduced with &#34;Batch cost summed&#34;" in page


def test_the_page_of_readings_is_up_to_date():
    script = runpy.run_path(str(DOCS / "readings.py"))
    found = (DOCS / "readings.md").read_text(encoding="utf-8")
    matrix = found.partition(script["MATRIX"])[2]
    assert found == script["page"](matrix), "run: python docs/readings.py"
    assert matrix
