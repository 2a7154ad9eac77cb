"""Sweeps here and in processes; what can happen to one is in `tests/reliability/test_faults.py`."""

import numpy as np

import kenyon as kn
from kenyon.experiment import executor
from kenyon.experiment.config import TrialConfig
from kenyon.experiment.executor import Crew, run_experiment, run_trials
from kenyon.experiment.reports import Report
from kenyon.experiment.result_file import decode
from kenyon.experiment.status import read_status
from kenyon.experiment.store import Store
from kenyon.experiment.sweep import load_experiment
from kenyon.experiment.trial import run_together, run_trial, stream_of
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


def test_trials_in_this_process_report_how_long_they_took(tmp_path, small):
    seconds = []

    class Timed(Report):
        def finished(self, trial, took):
            super().finished(trial, took)
            seconds.append(took)

    run_experiment(small, tmp_path, workers=0, report=Timed())
    assert len(seconds) == 4
    assert min(seconds) > 1e-3


def test_an_extended_experiment_runs_only_what_is_new(tmp_path, small):
    run_experiment(small, tmp_path, workers=0)
    outcome = run_experiment(load_experiment(SMALL, seeds=3), tmp_path, workers=0)
    assert (outcome.n_trials, outcome.n_new) == (6, 2)
    assert kn.open_results(tmp_path).seed.values.tolist() == [0, 1, 2]


def test_the_order_of_trials_does_not_matter(tmp_path, small):
    run_experiment(small, tmp_path / "a", workers=0)
    run_experiment(small._replace(trials=small.trials[::-1]), tmp_path / "b", workers=0)
    same(tmp_path / "a", tmp_path / "b")


SHARED = {  # the same stimuli: told classes, and by reward; the plain readout diverges at first
    **SMALL,
    "name": "shared",
    "case": [
        {
            "label": "told",
            "learners": {"GradientWeights": {"batch": 1, "eta_w": 1.0}, "Composed": {"start": "prelearned"}},
        },
        {"label": "reward", "preset": "static-rl", "learners": {"GradientWeights": {}, "Normalised": {}}},
    ],
}
del SHARED["learners"], SHARED["preset"]
SHARED["case"][0]["preset"] = "static"


def test_trials_with_one_stream_run_together_and_give_what_they_give_alone():
    told, reward = load_experiment({**SHARED, "seeds": 1, "task": {"n_stimuli": 6, "steps": 8}}).trials
    together = run_together([told, reward])
    for trial, found in zip([told, reward], together, strict=True):
        alone = run_trial(trial)
        assert found.identical(alone.assign_attrs(provenance=found.attrs["provenance"]))
    eta_w = together[0].eta_w.sel(learner="GradientWeights")
    assert 0 < eta_w < 1  # it was trained again at half its rate
    assert together[1].eta_w.sel(learner="GradientWeights") == reward.learners["GradientWeights"].eta_w


def test_jobs_hold_trials_with_one_stream_and_no_worker_is_left_without():
    trials = load_experiment({**SHARED, "seeds": 10}).trials
    for n_at_once in (1, 2, 3, 5, 20):
        shared = executor.jobs(trials, n_at_once)
        assert sorted(trial.id for job in shared for trial in job) == sorted(trial.id for trial in trials)
        assert all(len({(trial.seed, trial.task.n_stimuli) for trial in job}) == 1 for job in shared)
        assert len(shared) == (40 if n_at_once == 20 else 20)
    few = executor.jobs(trials[:4], 2)
    assert [len(job) for job in few] == [1] * 4


def test_the_longest_jobs_come_first():
    trials = load_experiment({**SHARED, "n_episodes": [100, 900, 300]}).trials
    work = [sum(trial.work for trial in job) for job in executor.jobs(trials, 2)]
    assert work == sorted(work, reverse=True)
    assert work[0] > work[-1]


def test_trials_of_other_lengths_run_together_and_give_what_they_give_alone():
    settings = {**SHARED, "seeds": 1, "task": {"n_stimuli": 6, "steps": 8}, "n_bins": 7, "n_episodes": [3000, 4300]}
    trials = load_experiment(settings).trials
    assert [len(job) for job in executor.jobs(trials * 8, 1)] == [8] * 4  # one stream
    for trial, found in zip(trials, run_together(trials), strict=True):
        assert found.identical(run_trial(trial).assign_attrs(provenance=found.attrs["provenance"]))
    short = load_experiment({**settings, "n_episodes": [2999, 3000]}).trials  # which calibrate on other episodes
    assert len({stream_of(trial) for trial in short}) == 2


def test_sweeps_give_the_same_whether_trials_run_together(tmp_path, monkeypatch):
    experiment = load_experiment(SHARED, seeds=1)
    monkeypatch.setattr(executor, "JOBS_EACH", 1)
    run_experiment(experiment, tmp_path / "together", workers=0)
    monkeypatch.setattr(executor, "JOBS_EACH", 100)
    run_experiment(experiment, tmp_path / "alone", workers=0)
    same(tmp_path / "together", tmp_path / "alone")


def test_a_trial_that_fails_does_not_take_along_those_that_run_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(executor, "JOBS_EACH", 1)
    settings = {**SMALL, "seeds": 1, "task": {"n_stimuli": 6, "steps": 8}}
    bad = {"kind": "tests.experiment.perceptron:Broken"}
    experiment = load_experiment({**settings, "learners": {}, "case": [
        {"label": "good", "learners": {"Normalised": {}}}, {"label": "bad", "learners": {"bad": bad}},
    ]})  # fmt: skip
    outcome = run_experiment(experiment, tmp_path, workers=0)
    assert (outcome.n_new, len(outcome.failed)) == (1, 1)
    assert kn.open_results(tmp_path).accuracy.notnull().any()


def test_results_do_not_depend_on_which_process_made_them():
    """The bytes that a worker returns hold the same numbers each time, whatever the clock says."""
    config = load_experiment(SMALL).trials[0]
    assert TrialConfig.model_validate_json(config.canonical()) == config
    found = [decode(executor.execute([config.canonical()], "")[0], lambda *_: True).variables for _ in range(2)]
    assert found[0].keys() == found[1].keys() >= {"accuracy", "theta", "training_accuracy"}
    for name, (dimensions, values) in found[0].items():
        assert dimensions == found[1][name][0]
        np.testing.assert_array_equal(values, found[1][name][1])


def test_a_worker_that_dies_between_two_sweeps_is_replaced(tmp_path):
    first, second = (load_experiment({**SMALL, "name": name, "n_episodes": n}) for name, n in (("a", 600), ("b", 700)))
    store = Store(tmp_path)
    with Crew(1, None) as crew:
        assert not run_trials(first, store, crew, Report()).failed
        (process,) = crew.pool._processes.values()
        process.kill()
        process.join()
        assert not run_trials(second, store, crew, Report()).failed
    assert {trial.id for trial in (*first.trials, *second.trials)} == set(store.finished())
