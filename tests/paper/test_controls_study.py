"""The study of controls: its settings are chosen as it says, it runs, and its page is what the plan says."""

import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("controls")


@pytest.fixture
def page(study):
    return study.controls_page


def test_the_page_of_controls_is_up_to_date(page):
    found = page.PAGE.read_text(encoding="utf-8")
    results = found.partition(page.RESULTS)[2]
    assert found == page.page(results), "run: make controls"
    assert results


def test_every_learner_of_the_plan_can_be_run_on_every_task(study):
    for task in study.TASKS:
        for rule in study.RULES:
            tuned = {name for one in study.tuning(task, rule, False) for name in one.trials[0].learners}
            settings = {name: row.grid[0] for name, row in study.rows().items() if row.grid}
            reported = list(study.reporting(task, rule, settings, False))
            names = {name for one in reported for name in one.trials[0].learners}
            assert names == {name for name, row in study.rows().items() if rule in row.rules}
            assert len(tuned) == sum(len(row.grid) for row in study.rows().values() if rule in row.rules)
            assert {trial.seed for one in reported for trial in one.trials} == set(study.REPORT.seeds)


def test_seeds_of_tuning_are_not_reported(study):
    assert not set(study.TUNING.seeds) & set(study.REPORT.seeds)


def test_grids_are_a_factor_of_four_apart_where_settings_are_rates(study):
    for row in study.rows().values():
        if row.setting in ("mu", "rate", "aggressiveness"):
            np.testing.assert_allclose(np.diff(np.log2(row.grid)), 2, atol=0.15)


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ({1.0: 0.5, 4.0: 0.9, 16.0: 0.8}, 4.0),
        ({1.0: 0.9, 4.0: 0.9, 16.0: 0.9}, 4.0),
        ({1.0: 0.5, 4.0: np.nan, 16.0: 0.6}, 16.0),
    ],
)
def test_the_best_setting_is_chosen_and_one_that_diverged_never(study, scores, best):
    assert study.choose(scores) == best


def test_the_study_runs_and_goes_on_where_it_stopped(study, page, tmp_path, monkeypatch, capsys):
    wanted = ("normalised steps, x", "ALMA, V", "recursive least squares, x", "Normalised", "Normalised, 2,000 neurons")
    few = {name: row._replace(grid=row.grid[:2]) for name, row in study.rows().items() if name in wanted}
    monkeypatch.setattr(study, "rows", lambda: few)
    monkeypatch.setattr(study, "REPORT", study.REPORT._replace(seeds=(0, 1)))
    (table,) = study.study(tmp_path, ["140 stimuli"], workers=0, quick=True)
    assert set(table.cells) == {(name, rule) for name, row in few.items() for rule in row.rules}
    for (name, _), cell in table.cells.items():
        assert cell.largest.shape == cell.drawn.shape == (2,)
        assert cell.setting in few[name].grid or not few[name].grid
    capsys.readouterr()
    (again,) = study.study(tmp_path, ["140 stimuli"], workers=0, quick=True)
    assert capsys.readouterr().out.count(": 0 trials run") == 2
    lines = page.results([again], few, {"Normalised": 1.25}, ["a machine"]).splitlines()
    assert all(any(line.startswith(f"| {name}") for line in lines) for name in few)
    assert "| Normalised | 1.2 | 800,000 |" in lines


def test_a_row_says_what_diverged_and_what_lies_at_an_end(page, study):
    row = study.rows()["Adam, x"]
    cell = page.Cell(np.array([0.9, np.nan, 0.8]), np.array([0.7, np.nan, 0.6]), row.grid[-1])
    assert page._cell(cell, row) == (".850 ± .635 (1 of 3 diverged)", ".650", "rate 1.6 †")
    assert page._cell(cell._replace(setting=row.grid[1]), row)[2] == "rate 0.025"
    assert page._cell(None, row) == ("", "", "")
    lost = np.full(3, np.nan)
    assert page._cell(page.Cell(lost, lost, row.grid[1]), row)[:2] == ("diverged", "")


def test_every_learner_has_a_cost(study):
    found = study.costs(n_neurons=150, n=150, rounds=1)
    assert set(study.rows()) <= set(found)
    assert all(cost > 0 for cost in found.values())
