import time
from contextlib import closing

import pytest

from kenyon.experiment import reports
from kenyon.experiment.reports import Lines, Report, duration
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
    report.begin("e", 5, [long, short])
    assert report.left is None
    clock[0] += 30.0
    report.finished(long, 30.0)
    assert report.left == pytest.approx(10.0)
    report.failed(short, "why")
    assert report.left == pytest.approx(0.0)
    assert (report.n_trials, report.n_new, report.n_failed) == (7, 1, 1)


def test_lines_say_what_a_log_should(clock, capsys):
    (trial,) = load_experiment({**SMALL, "seeds": 1, "task": {"n_stimuli": 6}}).trials
    report = Lines()
    report.begin("e", 1, [trial])
    report.retried(trial)
    report.failed(trial, "why")
    first, second, third = capsys.readouterr().err.splitlines()
    assert first == "e: 2 trials, 1 done before"
    assert second.endswith("its worker died; trying again")
    assert third.startswith("2/2 static 6, seed 0")
    assert third.endswith("failed: why")


def test_a_bar_can_be_drawn(clock, capsys):
    (trial,) = load_experiment({**SMALL, "seeds": 1, "task": {"n_stimuli": 6}}).trials
    with closing(reports.Bar()) as bar:
        bar.begin("e", 1, [trial])
        bar.beat([trial.id])
        clock[0] += 5
        bar.finished(trial, 5.0)
    assert "2/2" in capsys.readouterr().err


@pytest.mark.parametrize(("seconds", "words"), [(3.2, "3 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations_are_words(seconds, words):
    assert duration(seconds) == words
