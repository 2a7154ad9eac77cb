"""Sweeps here and in processes; what can happen to one is in `tests/reliability/test_faults.py`."""

import numpy as np

import kenyon as kn
from kenyon.experiment import executor
from kenyon.experiment.config import TrialConfig
from kenyon.experiment.executor import run_experiment
from kenyon.experiment.result_file import decode
from kenyon.experiment.status import read_status
from kenyon.experiment.sweep import load_experiment
from tests.experiment.conftest import SMALL


def same(a, b):
    """Tell whether two folders open as the same Dataset, to the byte."""
    a, b = kn.open_results(a, neurons=True), kn.open_results(b, neurons=True)
    assert a.identical(b)
    for name in a.variables:
        assert a[name].values.tobytes() == b[name].values.tobytes(), name


def test_processes_give_the_same_as_this_one(tmp_path, small):
    run_experiment(small, tmp_path / "here", workers=0)
    run_experiment(small, tmp_path / "processes", workers=2)
    same(tmp_path / "here", tmp_path / "processes")


def test_a_trial_that_fails_leaves_the_others_alone(tmp_path):
    settings = {**SMALL, "reservoir": {"n_neurons": 5, "connections": [0.01, 3.0]}, "learners": {"Normalised": {}}}
    experiment = load_experiment(settings)
    outcome = run_experiment(experiment, tmp_path, workers=0)
    assert 0 < len(outcome.failed) < len(experiment.trials)
    assert all("without a single loop" in reason for reason in outcome.failed.values())
    status = read_status(tmp_path)["experiments"]["small"]
    assert status["done"] == outcome.n_new
    assert status["failed"] == outcome.failed
    assert kn.open_results(tmp_path).accuracy.notnull().any()


def test_an_extended_experiment_runs_only_what_is_new(tmp_path, small):
    run_experiment(small, tmp_path, workers=0)
    outcome = run_experiment(load_experiment(SMALL, seeds=3), tmp_path, workers=0)
    assert (outcome.n_trials, outcome.n_new) == (6, 2)
    assert kn.open_results(tmp_path).seed.values.tolist() == [0, 1, 2]


def test_the_order_of_trials_does_not_matter(tmp_path, small):
    run_experiment(small, tmp_path / "a", workers=0)
    run_experiment(small._replace(trials=small.trials[::-1]), tmp_path / "b", workers=0)
    same(tmp_path / "a", tmp_path / "b")


def test_results_do_not_depend_on_which_process_made_them():
    """The bytes that a worker returns hold the same numbers each time, whatever the clock says."""
    config = load_experiment(SMALL).trials[0]
    assert TrialConfig.model_validate_json(config.canonical()) == config
    found = [decode(executor.execute(config.canonical(), ""), lambda *_: True).variables for _ in range(2)]
    assert found[0].keys() == found[1].keys() >= {"accuracy", "theta", "training_accuracy"}
    for name, (dimensions, values) in found[0].items():
        assert dimensions == found[1][name][0]
        np.testing.assert_array_equal(values, found[1][name][1])
