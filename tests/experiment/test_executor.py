"""Sweeps here, in processes and on a cluster; killed, stopped, and gone on with."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import kenyon as kn
from kenyon.experiment import executor
from kenyon.experiment.config import TrialConfig
from kenyon.experiment.executor import run_experiment
from kenyon.experiment.progress import Report
from kenyon.experiment.status import read_status
from kenyon.experiment.store import Store
from kenyon.experiment.sweep import load_experiment
from tests.experiment.conftest import SMALL

# Long enough to be killed in the middle.
LONGER = {**SMALL, "name": "longer", "n_episodes": 20_000, "seeds": 4}


def same(a, b):
    """Tell whether two folders open as the same Dataset, to the byte."""
    a, b = kn.open_results(a, neurons=True), kn.open_results(b, neurons=True)
    assert a.identical(b)
    for name in a.variables:
        assert a[name].values.tobytes() == b[name].values.tobytes(), name


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    outcome = run_experiment(load_experiment(LONGER), folder, workers=0)
    assert (outcome.n_trials, outcome.n_new, outcome.failed) == (8, 8, {})
    return folder


def start(tmp_path, *options):
    lines = [f"{name} = {json.dumps(value)}" for name, value in LONGER.items() if not isinstance(value, dict)]
    for table in ("task", "reservoir"):
        lines += [f"[{table}]", *(f"{name} = {json.dumps(value)}" for name, value in LONGER[table].items())]
    lines += ["[learners.GradientWeights]", "[learners.Normalised]"]
    (tmp_path / "longer.toml").write_text("\n".join(lines))
    command = [sys.executable, "-m", "kenyon", "run", "longer.toml", "--out", "results", *options]
    return subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_for_results(folder, n, process):
    deadline = time.monotonic() + 120
    while len(list(folder.glob("*.nc"))) < n:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def children(pid):
    import psutil

    return psutil.Process(pid).children(recursive=True)


def test_processes_give_the_same_as_this_one(uninterrupted, tmp_path):
    run_experiment(load_experiment(LONGER), tmp_path, workers=2)
    same(uninterrupted, tmp_path)


def test_a_sweep_that_was_killed_goes_on_where_it_was(uninterrupted, tmp_path):
    import psutil

    process = start(tmp_path, "--workers", "2")
    folder = tmp_path / "results"
    wait_for_results(folder, 2, process)
    workers = children(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive  # workers do not outlive their parent
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("*.nc")}
    assert 2 <= len(kept) < 8
    status = read_status(folder)["experiments"]["longer"]
    assert status["done"] == len(kept)
    assert status["waiting"] + len(status["running"]) == 8 - len(kept)
    again = start(tmp_path, "--workers", "2")
    _, said = again.communicate(timeout=120)
    assert again.returncode == 0, said
    assert f"{len(kept)} done before" in said
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    same(uninterrupted, folder)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_sweep_that_is_told_to_stop_says_how_to_go_on(tmp_path, name):
    process = start(tmp_path, "--workers", "1", "--seeds", "200")
    wait_for_results(tmp_path / "results", 1, process)
    process.send_signal(getattr(signal, name))
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "kenyon: stopped; what is done is kept, and the same command goes on from there"
    assert "Traceback" not in said
    assert not list((tmp_path / "results").glob("*.part"))


class Killer(Report):
    """Kills a worker of this process as soon as the first trial has started, some times over."""

    def __init__(self, times):
        self.times = times
        self.again = 0

    def beat(self, running):
        workers = multiprocessing.active_children()
        if self.times and workers:
            self.times -= 1
            workers[0].kill()

    def retried(self, trial):
        self.again += 1


def test_a_trial_whose_worker_dies_is_tried_again(uninterrupted, tmp_path, monkeypatch):
    monkeypatch.setattr(executor, "BEAT", 0.05)
    report = Killer(2)
    outcome = run_experiment(load_experiment(LONGER), tmp_path, workers=2, report=report)
    assert not outcome.failed
    assert report.again >= 1
    same(uninterrupted, tmp_path)


def test_a_trial_whose_workers_keep_dying_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(executor, "BEAT", 0.05)
    experiment = load_experiment({**LONGER, "seeds": 1, "task": {"n_stimuli": 6, "steps": 8}, "n_episodes": 10**7})
    outcome = run_experiment(experiment, tmp_path, workers=1, report=Killer(10))
    (reason,) = outcome.failed.values()
    assert "died 3 times" in reason
    assert Store(tmp_path).failures() == outcome.failed


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


@pytest.fixture
def cluster(tmp_path):
    """A Dask scheduler and two workers, each a process of its own."""
    pytest.importorskip("distributed")
    place = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    processes = [subprocess.Popen([*run, "--no-dashboard", "--scheduler-file", str(place)], **quiet)]
    work = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(place), "--no-nanny"]
    work += ["--nthreads", "1", "--no-dashboard"]
    processes += [subprocess.Popen([*work, "--name", str(i)], **quiet) for i in range(2)]
    deadline = time.monotonic() + 60
    while not place.exists() or not place.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield json.loads(place.read_text())["address"], processes
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.filterwarnings("ignore")  # of Dask's own, about ports and what it left open
def test_a_cluster_gives_the_same_though_a_worker_is_lost(uninterrupted, tmp_path, cluster):
    from distributed import Client

    address, (_, first, _) = cluster
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)

    class Kill(Report):
        def finished(self, trial, seconds):
            first.kill()

    outcome = run_experiment(load_experiment(LONGER), tmp_path / "results", cluster=address, report=Kill())
    assert not outcome.failed
    assert first.wait(10) != 0
    same(uninterrupted, tmp_path / "results")


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_does_not_answer_is_named(tmp_path, small, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(executor, "PATIENCE", 0.5)
    with pytest.raises(executor.ClusterError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        run_experiment(small, tmp_path, cluster="tcp://127.0.0.1:9")


def test_results_do_not_depend_on_which_process_made_them():
    """The bytes that a worker returns hold the same numbers each time, whatever the clock says."""
    import h5py

    config = load_experiment(SMALL).trials[0]
    assert TrialConfig.model_validate_json(config.canonical()) == config
    digests = []
    for _ in range(2):
        import io

        with h5py.File(io.BytesIO(executor.execute(config.canonical(), "")), "r") as file:
            digests.append(file.attrs["variables"])
    assert digests[0] == digests[1]
    assert np.size(digests[0])
