import re

import pytest

import kenyon as kn
from kenyon.experiment import tune as module
from kenyon.experiment.executor import run_experiment
from kenyon.experiment.reports import Lines
from kenyon.experiment.settings import ConfigError
from kenyon.experiment.status import read_status
from kenyon.experiment.store import Store
from kenyon.experiment.sweep import load_experiment
from kenyon.experiment.tune import tune

pytest.importorskip("optuna")
FILE = """
name = "search"
seeds = 2
n_episodes = 300
n_test = 50
[task]
n_stimuli = 6
steps = 8
[reservoir]
n_neurons = 30
[learners.Normalised]
[tune]
learner = "Normalised"
[tune.search]
"learners.Normalised.mu" = {low = 0.01, high = 1.9, log = true}
"reservoir.leak_rate" = [0.05, 0.1]
"task.steps" = {low = 2, high = 9}
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "search.toml").write_text(FILE)
    return tmp_path / "search.toml"


def test_a_search_keeps_its_trials_with_the_others(file, tmp_path):
    best = tune(file, tmp_path / "a", 4, workers=0)
    assert best.n_trials == 4
    assert 0.5 <= best.score <= 1.0
    assert set(best.settings) == {"learners.Normalised.mu", "reservoir.leak_rate", "task.steps"}
    assert len(Store(tmp_path / "a").finished()) == 4 * 2
    assert "learners.Normalised.mu = " in best.describe()
    results = kn.open_results(tmp_path / "a")
    assert len(results.learner) == 4  # one name, but another mu each time
    assert results.accuracy.notnull().sum() == 4 * 2
    assert results.accuracy.mean("seed").max() == pytest.approx(best.score)


def test_a_search_leaves_the_experiment_itself_alone(file, tmp_path):
    experiment = load_experiment(file)
    run_experiment(experiment, tmp_path / "a", workers=0)
    before = kn.open_results(tmp_path / "a")
    tune(file, tmp_path / "a", 2, workers=0)
    assert kn.open_results(tmp_path / "a").identical(before)
    assert kn.open_results(tmp_path / "a", "search search").accuracy.notnull().sum() == 2 * 2
    assert read_status(tmp_path / "a")["experiments"]["search search"]["done"] == 4
    assert Store(tmp_path / "a").old() == []


def test_scores_of_a_file_before_it_was_changed_do_not_count(file, tmp_path):
    tune(file, tmp_path / "a", 3, workers=0)
    file.write_text(FILE.replace("n_episodes = 300", "n_episodes = 200"))
    changed = tune(file, tmp_path / "a", 2, workers=0)
    assert changed == tune(file, tmp_path / "b", 2, workers=0)
    assert len(Store(tmp_path / "a").old()) == 3 * 2
    file.write_text(FILE)
    tune(file, tmp_path / "a", 3, workers=0)  # and back: nothing is left to do
    with pytest.warns(UserWarning, match="4 older"):
        assert kn.open_results(tmp_path / "a").episode.values[-1] == 300


def test_what_is_tried_is_told(file, tmp_path, capsys):
    tune(file, tmp_path / "a", 1, workers=0, report=Lines())
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"1 of 1: learners\.Normalised\.mu=[\d.]+ reservoir\.leak_rate=[\d.]+ task\.steps=\d", first)
    assert second == "search search: 2 trials, 0 done before"


def test_a_search_that_was_stopped_ends_as_one_that_was_not(file, tmp_path, monkeypatch):
    whole = tune(file, tmp_path / "a", 4, workers=0)
    run, calls = module.run_trials, []

    def stop(*args, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run(*args, **options)

    monkeypatch.setattr(module, "run_trials", stop)
    with pytest.raises(KeyboardInterrupt):
        tune(file, tmp_path / "b", 4, workers=0)
    assert tune(file, tmp_path / "b", 4, workers=0) == whole
    assert Store(tmp_path / "a").finished() == Store(tmp_path / "b").finished()
    lists = [(tmp_path / name / "search search.experiment.json").read_bytes() for name in "ab"]
    assert lists[0] == lists[1]
    assert tune(file, tmp_path / "b", 4, workers=0) == whole  # nothing is left to do


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('learner = "Normalised"', 'learner = "Other"', "no measure 'accuracy' for a learner 'Other'"),
        ('learner = "Normalised"', 'learnr = "Normalised"', "tune.learnr is not known; did you mean learner"),
        ('learner = "Normalised"', "", "tune.learner must name"),
        ("[0.05, 0.1]", "0.05", "reservoir.leak_rate must be a list of choices or"),
        ("high = 9", "high = 1", "task.steps must be"),
        ("reservoir.leak_rate", "reservoir.leak", "reservoir.leak is not known"),
    ],
)
def test_searches_that_make_no_sense_are_refused(file, tmp_path, old, new, message):
    file.write_text(FILE.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message):
        tune(file, tmp_path / "a", 1, workers=0)
