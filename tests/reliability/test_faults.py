"""Sweeps to which something happens: what is done is kept, nothing half done is left, and all ends in the same bytes.

One small experiment and one undisturbed run of it serve all tests.
"""

import json
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import kenyon as kn
from kenyon.experiment import executor
from kenyon.experiment.executor import ClusterError, run_experiment
from kenyon.experiment.reports import Lines, Report
from kenyon.experiment.status import read_status
from kenyon.experiment.store import Store, StoreError
from kenyon.experiment.sweep import load_experiment
from tests.reliability.hostile import document

N_TRIALS = 6
EXPERIMENT = {
    "name": "longer",
    "seeds": 3,
    "n_episodes": 20_000,  # long enough to be disturbed in the middle
    "n_test": 100,
    "n_bins": 10,
    "task": {"n_stimuli": [6, 10], "steps": 8},
    "reservoir": {"n_neurons": 40, "leak_rate": 0.1},
    "learners": {"GradientWeights": {}, "Normalised": {}},
}
STOPPED = "kenyon: stopped; finished trials are kept, and the same command continues from there"
KENYON = [sys.executable, "-m", "kenyon"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    outcome = run_experiment(load_experiment(EXPERIMENT), folder, workers=0)
    assert (outcome.n_trials, outcome.n_new, outcome.failed) == (N_TRIALS, N_TRIALS, {})
    return folder


def same(a, b):
    """Tell whether two folders open as the same Dataset, to the byte, and hold the same finished files."""
    names = [sorted(path.name for path in folder.iterdir() if path.suffix != ".part") for folder in (a, b)]
    assert names[0] == names[1]
    a, b = kn.open_results(a, neurons=True), kn.open_results(b, neurons=True)
    assert a.identical(b)
    for name in a.variables:
        assert a[name].values.tobytes() == b[name].values.tobytes(), name


def interruptible():
    """Undo that a process which was started in the background ignores interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(tmp_path, *options, preexec_fn=interruptible):
    (tmp_path / "longer.toml").write_bytes(document(EXPERIMENT))
    command = [*KENYON, "run", "longer.toml", "--out", "results", *options]
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=tmp_path, preexec_fn=preexec_fn, **pipes)


def go_on(tmp_path, undisturbed):
    """Go on in this process, and compare; what was done is not done again."""
    folder = tmp_path / "results"
    done = Store(folder).finished()
    kept = {name: (folder / f"{name}.nc").stat().st_mtime_ns for name in done}
    if done:
        assert kn.open_results(folder).accuracy.notnull().any()
    outcome = run_experiment(load_experiment(EXPERIMENT), folder, workers=0)
    assert outcome.n_new == N_TRIALS - len(done)
    assert {name: (folder / f"{name}.nc").stat().st_mtime_ns for name in done} == kept
    same(undisturbed, folder)


def wait_for_results(folder, n, process):
    deadline = time.monotonic() + 120
    while len(list(folder.glob("*.nc"))) < n:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def children(pid):
    import psutil

    return psutil.Process(pid).children(recursive=True)


def test_a_sweep_that_was_killed_goes_on_where_it_was(undisturbed, tmp_path):
    import psutil

    process = start(tmp_path, "--workers", "2")
    folder = tmp_path / "results"
    wait_for_results(folder, 2, process)
    workers = children(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive  # workers do not outlive their parent
    status = read_status(folder)["experiments"]["longer"]
    assert 2 <= status["done"] < N_TRIALS
    assert status["waiting"] + len(status["running"]) == N_TRIALS - status["done"]
    go_on(tmp_path, undisturbed)


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_sweep_that_is_told_to_stop_says_how_to_go_on(undisturbed, tmp_path, name, code):
    for attempt in range(5):  # a sweep may be done before it hears of it
        place = tmp_path / str(attempt)
        place.mkdir()
        process = start(place, "--workers", "1")
        wait_for_results(place / "results", 1, process)
        process.send_signal(getattr(signal, name))
        _, said = process.communicate(timeout=60)
        if process.returncode != 0:
            break
    assert process.returncode == code
    assert said.splitlines()[-1] == STOPPED
    assert "Traceback" not in said
    assert not list((place / "results").glob(".*"))
    go_on(place, undisturbed)


def test_what_a_killed_writer_left_is_cleared_away_by_the_next_run(undisturbed, tmp_path):
    folder = tmp_path / "results"
    shutil.copytree(undisturbed, folder)
    old, new = folder / ".0.part", folder / ".1.part"
    old.write_bytes(b"half"), new.write_bytes(b"another sweep is at it")
    os.utime(old, (0, 0))
    run_experiment(load_experiment(EXPERIMENT), folder, workers=0)
    assert (old.exists(), new.exists()) == (False, True)
    assert kn.open_results(folder).identical(kn.open_results(undisturbed))


class Killer(Report):
    """Kills a worker of this process as soon as the first trial has started, some times over."""

    def __init__(self, times):
        self.times = times
        self.again = 0

    def beat(self, running):
        spawned = multiprocessing.context.SpawnProcess  # not those that joblib left waiting after other tests
        workers = [child for child in multiprocessing.active_children() if isinstance(child, spawned)]
        if self.times and workers:
            self.times -= 1
            workers[0].kill()

    def retried(self, trial):
        self.again += 1


def test_a_trial_whose_worker_dies_is_tried_again(undisturbed, tmp_path, monkeypatch):
    monkeypatch.setattr(executor, "BEAT", 0.05)
    report = Killer(2)
    outcome = run_experiment(load_experiment(EXPERIMENT), tmp_path, workers=2, report=report)
    assert not outcome.failed
    assert report.again >= 1
    same(undisturbed, tmp_path)


def test_a_trial_whose_workers_keep_dying_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(executor, "BEAT", 0.05)
    experiment = load_experiment({**EXPERIMENT, "seeds": 1, "task": {"n_stimuli": 6, "steps": 8}, "n_episodes": 10**7})
    outcome = run_experiment(experiment, tmp_path, workers=1, report=Killer(10))
    (reason,) = outcome.failed.values()
    assert "died 3 times" in reason
    assert Store(tmp_path).failures() == outcome.failed


def no_larger_than(size):
    """Let a process write no file larger than this, which it is told as it would be of a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_file_that_cannot_be_written_whole_is_not_there(undisturbed, tmp_path):
    size = min(path.stat().st_size for path in undisturbed.glob("*.nc"))
    process = start(tmp_path, "--workers", "0", preexec_fn=no_larger_than(size - 1))
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "cannot be written: file too large" in said.splitlines()[-1]
    assert "run the same command again: finished trials are kept" in said.splitlines()[-1]
    assert "Traceback" not in said
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["longer.experiment.json"]
    go_on(tmp_path, undisturbed)


# In a mount namespace of its own: nothing of it outlives the shell, and nothing outside sees it.
DISK = """
set -u
mkdir -p results && mount -t tmpfs -o size=$SIZE tmpfs results || exit 77
run() { "$PYTHON" -m kenyon run longer.toml --out results --workers 0 2> $1.txt; echo $? >> $1.txt; }
run full
ls -A results > left.txt
mount -o remount,size=10m,ro tmpfs results || exit 77
run read-only
"$PYTHON" -m kenyon status results > status.txt || exit 1
mount -o remount,rw tmpfs results || exit 77
run well
cp -r results out
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare to have a disk of its own")
def test_a_full_disk_and_one_that_is_read_only(undisturbed, tmp_path):
    (tmp_path / "longer.toml").write_bytes(document(EXPERIMENT))
    sizes = [path.stat().st_size for path in undisturbed.iterdir()]
    room = {"SIZE": str(max(sizes) + 3 * 32_768), "PYTHON": sys.executable}
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", DISK]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **room}, capture_output=True, text=True, timeout=240
    )
    if done.returncode == 77 or "Operation not permitted" in done.stderr:
        pytest.skip(f"this system lets nobody mount a disk: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    for name, message in (("full", "no space left on device; free some space"), ("read-only", "read-only file system")):
        *said, line, code = (tmp_path / f"{name}.txt").read_text().splitlines()
        assert code == "2"
        assert message in line
        assert "finished trials are kept" in line
        assert "Traceback" not in "".join(said)
    left = (tmp_path / "left.txt").read_text().split()
    assert 0 < sum(name.endswith(".nc") for name in left) < N_TRIALS
    assert not [name for name in left if name.startswith(".")]
    assert "(stopped)" in (tmp_path / "status.txt").read_text()
    same(undisturbed, tmp_path / "out")


@pytest.fixture
def somebody():
    """Be a user to whom not all is permitted, and have a folder that others may look into."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        os.seteuid(user or 65534)
        yield Path(folder)
        os.seteuid(user)
        os.chmod(folder, 0o755)


def test_a_folder_without_permission_is_refused(somebody):
    for folder in (somebody, somebody / "results"):
        with pytest.raises(
            StoreError, match="cannot be written: permission denied; choose a folder that you can write"
        ):
            run_experiment(load_experiment(EXPERIMENT), folder, workers=0)


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
def test_a_cluster_that_loses_a_worker_and_one_that_loses_its_scheduler(undisturbed, tmp_path, cluster):
    from distributed import Client

    address, (scheduler, first, _) = cluster
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)

    class Kill(Report):
        def finished(self, trial, seconds):
            first.kill()

    outcome = run_experiment(load_experiment(EXPERIMENT), tmp_path / "lost", cluster=address, report=Kill())
    assert not outcome.failed
    assert first.wait(10) != 0
    same(undisturbed, tmp_path / "lost")

    process = start(tmp_path, "--cluster", address)
    wait_for_results(tmp_path / "results", 1, process)
    scheduler.kill()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2, said
    assert [line for line in said.splitlines() if "done in" not in line and "done before" not in line] == [
        f"kenyon: the Dask scheduler at {address} was lost; start it again, or another, and run the same command "
        "again: finished trials are kept"
    ]
    go_on(tmp_path, undisturbed)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_does_not_answer_is_named(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(executor, "PATIENCE", 0.5)
    with pytest.raises(ClusterError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        run_experiment(load_experiment(EXPERIMENT), tmp_path, cluster="tcp://127.0.0.1:9")


def test_a_clock_that_jumps_changes_nothing(undisturbed, tmp_path, monkeypatch, capsys):
    year, now, calls = 365 * 86_400.0, time.time, []

    def jumping():
        calls.append(now() + (-10 * year, 0.0, 30 * year)[len(calls) % 3])
        return calls[-1]

    monkeypatch.setattr(time, "time", jumping)
    run_experiment(load_experiment(EXPERIMENT), tmp_path, workers=0, report=Lines())
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 + N_TRIALS
    assert calls
    for line in lines[1:-1]:
        assert line.endswith(" s left"), line
        assert 0 <= int(line.split()[-3]) < 3600
    monkeypatch.undo()
    same(undisturbed, tmp_path)


@pytest.mark.parametrize("ahead", [-1e9, 1e9])
def test_a_note_from_another_time_is_not_taken_for_a_running_sweep(undisturbed, tmp_path, ahead):
    folder = tmp_path / "results"
    shutil.copytree(undisturbed, folder)
    trial = Store(folder).finished()[0]
    Store(folder).path(trial).unlink()
    Store(folder).heartbeat("longer", running=[trial], time=time.time() + ahead, left=1.0)
    assert read_status(folder)["experiments"]["longer"]["sweep"] == "stopped"


def test_two_sweeps_at_once_in_one_folder(undisturbed, tmp_path):
    processes = [start(tmp_path, "--workers", "0") for _ in range(2)]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    same(undisturbed, tmp_path / "results")
