"""The check of the tuned baseline on fresh seeds: what it compares, and that it reads every seed of the whole grid."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

import kenyon as kn
from kenyon.experiment.first_stages import FirstStages
from kenyon.experiment.store import Store

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
GRID = {
    "n_episodes": 400, "n_test": 200, "n_bins": 1, "seeds": 1, "task": {"n_stimuli": 6, "steps": 5},
    "reservoir": {"n_neurons": 30, "leak_rate": 0.1}, "learners": {"GradientWeights": {"eta_w": 0.02}},
    "tuning": {"seeds": [60, 61, 62], "batch": [1, 10]},
}  # fmt: skip


@pytest.fixture
def baseline(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("baseline")


def row(baseline, chosen, other):
    scores = {(1, 0.1): np.array(chosen), (10, 0.1): np.array(other)}
    return baseline.Row("2", 20, (1, 0.1), (10, 0.1), scores)


def test_another_choice_gains_nothing_where_the_chosen_one_is_best(baseline):
    assert row(baseline, [0.9, 0.8, 0.9, 0.8], [0.5, 0.6, 0.5, 0.6]).lead == 0


def test_another_choice_gains_its_whole_lead_where_it_is_better_on_every_seed(baseline):
    assert row(baseline, [0.5, 0.6, 0.5, 0.6], [0.9, 0.8, 0.9, 0.8]).lead == pytest.approx(0.3)


def test_luck_on_one_half_is_no_gain(baseline):
    assert row(baseline, [0.7, 0.7, 0.7, 0.7], [0.9, 0.9, 0.5, 0.5]).lead == pytest.approx(-0.1)


def test_scores_are_those_of_every_batch_rate_and_seed(baseline, tmp_path):
    experiment = kn.load_experiment(GRID)
    kn.run_experiment(experiment, tmp_path, workers=0)
    first = FirstStages(Store(tmp_path))
    found = baseline.scores(experiment.trials[0], first)
    assert {batch for batch, _ in found} == {1, 10}
    (told,) = [entry["tuning"] for entry in _found(tmp_path)]
    for entry in told["table"]:
        own = found[entry["batch"], entry["eta_w"]]
        assert own.shape == (3,)
        if entry["expected_accuracy"] is not None:
            assert own.mean() == pytest.approx(entry["expected_accuracy"])


def _found(folder):
    (path,) = folder.glob("*.found.json")
    return json.loads(path.read_text())
