import json
import time
from contextlib import closing

import pytest

from kenyon.experiment import reports
from kenyon.experiment.reports import JsonLines, Lines, Report, duration, swept
from kenyon.experiment.sweep import load_experiment
from tests.experiment.conftest import SMALL


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_time_left_goes_by_work_not_by_number(clock):
    long, short = load_experiment({**SMALL, "seeds": 1, "task": {"n_stimuli": 6}, "n_episodes": [3000, 1000]}).trials
    report = Report()
    done = load_experiment({**SMALL, "seeds": 5, "task": {"n_stimuli": 6}}).trials
    report.begin("e", [*done, long, short], [long, short])
    assert report.left is None
    clock[0] += 30.0
    report.finished(long, 30.0)
    assert report.left == pytest.approx(10.0)
    report.failed(short, "why")
    assert report.left == pytest.approx(0.0)
    assert (report.n_trials, report.n_new, report.n_failed) == (7, 1, 1)


SWEPT = {**SMALL, "task": {"n_stimuli": [6, 10], "noise": [0.1, 0.25], "steps": 8}}


@pytest.fixture
def trials():
    return load_experiment(SWEPT).trials


def test_lines_say_what_is_swept(clock, capsys, trials):
    report = Lines()
    report.begin("e", trials, trials[3:])
    report.retried(trials[3])
    report.failed(trials[3], "why")
    clock[0] += 12
    report.finished(trials[7], 12.3)
    assert capsys.readouterr().err.splitlines() == [
        "e: 8 trials, 3 done before",
        "task.n_stimuli=6 task.noise=0.25 seed=1: its worker died; trying again",
        "task.n_stimuli=6 task.noise=0.25 seed=1: failed (4 of 8): why",
        "task.n_stimuli=10 task.noise=0.25 seed=1: done in 12 s (5 of 8), 18 s left",
    ]


def test_json_has_what_is_swept(clock, capsys, trials):
    report = JsonLines()
    report.begin("e", trials, trials)
    report.started(trials[-1])
    report.finished(trials[-1], 1.0)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()[1:]]
    assert [event["event"] for event in events] == ["started", "finished"]
    assert all(event["settings"] == {"task.noise": 0.25, "task.n_stimuli": 10, "seed": 1} for event in events)


def test_the_bar_shows_what_is_swept(clock, capsys, trials, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    with closing(reports.Bar()) as bar:
        bar.begin("e", trials, trials[-2:])
        bar.beat([trial.id for trial in trials[-2:]])
        assert bar.bar.tasks[0].fields["rest"] == "task.n_stimuli=10 task.noise=0.25 seed=0 and 1 more running"
        clock[0] += 5
        bar.finished(trials[-1], 5.0)
        bar.beat([])
    assert "7/8" in capsys.readouterr().err


def test_settings_that_follow_from_others_are_not_repeated():
    cases = [{}, {"preset": "sequence", "task": {"n_bases": [1, 2]}}, {"learners": {"Normalised": {"mu": 0.1}}}]
    trials = load_experiment({"seeds": 2, "case": cases, "learners": {"Normalised": {}}}).trials
    assert swept(trials) == ["task.kind", "task.n_bases", "learners.Normalised.mu"]
    assert swept(trials[:2]) == []  # the seed is always shown


@pytest.mark.parametrize(("seconds", "words"), [(3.2, "3 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations_are_words(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize("kind", [Lines, JsonLines, reports.Bar])
def test_something_can_be_said_before_a_sweep_begins(kind, capsys):
    with closing(kind()) as report:
        report.say("first this")
    assert "first this" in "".join(capsys.readouterr())
