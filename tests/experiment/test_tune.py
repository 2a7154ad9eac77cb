import pytest

from kenyon.experiment import tune as module
from kenyon.experiment.config import ConfigError
from kenyon.experiment.store import Store
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


def test_a_search_that_was_stopped_ends_as_one_that_was_not(file, tmp_path, monkeypatch):
    whole = tune(file, tmp_path / "a", 4, workers=0)
    run, calls = module.run_experiment, []

    def stop(*args, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run(*args, **options)

    monkeypatch.setattr(module, "run_experiment", stop)
    with pytest.raises(KeyboardInterrupt):
        tune(file, tmp_path / "b", 4, workers=0)
    assert tune(file, tmp_path / "b", 4, workers=0) == whole
    assert Store(tmp_path / "a").finished() == Store(tmp_path / "b").finished()
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
