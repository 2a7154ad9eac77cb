"""Learners that are not part of the package: in experiments, in workers, and in stored results."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import kenyon as kn
from kenyon.experiment.config import TrialConfig
from kenyon.experiment.executor import run_experiment
from kenyon.experiment.results import open_results
from kenyon.experiment.settings import ConfigError
from kenyon.experiment.sweep import load_experiment
from kenyon.experiment.trial import execute, run_trial
from tests.experiment.conftest import SMALL
from tests.experiment.perceptron import Perceptron

KIND = "tests.experiment.perceptron:Perceptron"


@pytest.mark.parametrize("name", ["Delta", "Centroids", "Sparse"])
def test_as_little_as_will_do_is_enough(name, tmp_path):
    run_experiment(load({"kind": f"tests.small_learners:{name}"}), tmp_path, workers=0)
    assert open_results(tmp_path).argmax_accuracy.notnull().all()


SHORT = {**SMALL, "n_episodes": 200, "seeds": 1, "task": {"n_stimuli": 6, "steps": 8}}
ROOT = Path(__file__).parents[2]


def load(learner, **settings):
    return load_experiment({**SHORT, **settings, "learners": {"mine": learner, "Normalised": {}}})


def only(experiment):
    (trial,) = experiment.trials
    return trial


@dataclass(frozen=True)
class Bounded(Perceptron):
    def __post_init__(self):
        if self.rate <= 0:
            raise ValueError(f"rate must be above 0, not {self.rate}")


@dataclass(frozen=True)
class Weighted(Perceptron):
    weights: list = field(default_factory=list)


@dataclass(frozen=True)
class Arrays(Perceptron):
    weights: np.ndarray = None


class Ordinary:
    begin = update = readout = None


@dataclass(frozen=True)
class Unfinished:
    rate: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Derived(kn.Normalised):
    """A variant of one of ours."""

    extra: int = 3


def test_an_object_and_its_settings_are_the_same_trial():
    by_object = only(load(Perceptron(rate=0.2)))
    by_name = only(load({"kind": KIND, "rate": 0.2}))
    assert by_object == by_name
    assert by_object.id == by_name.id != only(load(Perceptron(rate=0.3))).id
    assert json.loads(by_object.canonical())["learners"]["mine"] == {
        "kind": KIND, "rate": 0.2, "passes": 1, "start": "zeros",
    }  # fmt: skip
    assert by_object.learners["mine"].build() == Perceptron(rate=0.2)


def test_a_learner_of_the_package_may_be_an_object_too():
    learner = kn.Composed(start=kn.Percentile(70.0), rule=kn.QLearning(5.0, kn.Schedule(2.0, 1.0, 100)))
    trial = only(load(learner, preset="sequence", task={"n_bases": 1}))
    assert trial.learners["mine"].kind == "Composed"
    assert trial.learners["mine"].build() == learner  # as it is: nothing of the preset is put under it


def test_a_learner_derived_from_one_of_ours_keeps_its_rule_and_start():
    learner = Derived(rule=kn.QLearning(5.0), mu=0.1)
    trial = only(load(learner))
    assert trial.learners["mine"].build() == learner
    again = TrialConfig.model_validate_json(trial.canonical())
    assert again.learners["mine"].build() == learner


def test_it_runs_as_in_train():
    trial = only(load(Perceptron(rate=0.2)))
    task = kn.StaticTask(kn.load_odours(), 6, seed=0, steps=8)
    expected = kn.train({"mine": Perceptron(rate=0.2)}, kn.Reservoir(40, 0.1), task, 200, n_test=100, n_bins=10)
    found = run_trial(trial)
    for measure in ("accuracy", "training_accuracy"):
        np.testing.assert_array_equal(found[measure].sel(learner=["mine"]), expected[measure])


def test_its_lists_are_swept_and_two_processes_give_the_same_as_this_one(tmp_path):
    experiment = load({"kind": KIND, "rate": [0.1, 0.2]}, seeds=2)
    assert list(experiment.trials[0].learners) == ["mine rate=0.1", "mine rate=0.2", "Normalised"]
    for workers in (0, 2):
        assert run_experiment(experiment, tmp_path / str(workers), workers=workers).failed == {}
    here, there = open_results(tmp_path / "0", neurons=True), open_results(tmp_path / "2", neurons=True)
    assert here.identical(there)
    assert json.loads(here.attrs["learners"])["mine rate=0.1"]["kind"] == KIND


SCRIPT = """
import kenyon as kn
from tests.experiment import perceptron
from tests.experiment.test_own_learners import SHORT
from dataclasses import dataclass

@dataclass(frozen=True)
class Mine(perceptron.Perceptron):
    more: int = 2

if __name__ == "__main__":
    experiment = kn.load_experiment({**SHORT, "seeds": 2, "learners": {"mine": Mine(rate=0.2)}})
    print(experiment.trials[0].learners["mine"].kind)
    print(kn.run_experiment(experiment, "results", workers=2).failed)
"""


def environment(*folders):
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, folders), str(ROOT / "src"), str(ROOT)])}


def test_workers_find_a_class_of_the_script_itself(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["__main__:Mine", "{}"]
    assert open_results(tmp_path / "results").accuracy.notnull().all()


def test_a_file_names_a_class_in_a_module_beside_it(tmp_path):
    (tmp_path / "mine.py").write_text(Path(ROOT / "tests" / "experiment" / "perceptron.py").read_text())
    (tmp_path / "e.toml").write_text(
        "n_episodes = 100\nn_test = 50\nreservoir.n_neurons = 30\ntask.n_stimuli = 6\n"
        '[learners.P]\nkind = "mine:Perceptron"\n'
    )
    command = "from kenyon.cli import main; main(['run', 'e.toml', '--workers', '1'])"  # as the installed command does
    path = [sys.executable, "-P", "-c", command]
    done = subprocess.run(path, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert open_results(tmp_path / "results" / "e").accuracy.notnull().all()


def test_reading_a_result_imports_nothing_that_it_names(tmp_path, monkeypatch):
    module = tmp_path / "kenyon_bait.py"
    module.write_text(Path(ROOT / "tests" / "experiment" / "perceptron.py").read_text())
    monkeypatch.syspath_prepend(tmp_path)
    run_experiment(load({"kind": "kenyon_bait:Perceptron"}), tmp_path / "results", workers=0)
    assert sys.modules.pop("kenyon_bait")
    module.write_text("raise SystemExit('imported')")
    results = open_results(tmp_path / "results")
    assert json.loads(results.attrs["learners"])["mine"]["kind"] == "kenyon_bait:Perceptron"
    stored = kn.experiment.store.Store(tmp_path / "results")
    config = TrialConfig.model_validate_json(stored.read(stored.finished()[0]).attributes["config"])
    assert "kenyon_bait" not in sys.modules
    with pytest.raises(SystemExit, match="imported"):
        config.learners["mine"].build()


def local():
    @dataclass(frozen=True)
    class Hidden(Perceptron):
        pass

    return Hidden()


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        ({"kind": KIND, "rat": 0.1}, r"^learners\.mine\.rat is not known; did you mean rate\?$"),
        ({"kind": KIND, "rate": "x"}, r"^learners\.mine\.rate: input should be a valid number, not 'x'$"),
        ({"kind": KIND, "rate": {"a": 1}}, r"^learners\.mine\.rate: input should be a valid number, not {'a': 1}$"),
        ({"kind": "nowhere_at_all:X"}, "^learners.mine: nowhere_at_all:X cannot be imported here .ModuleNotFoundError"),
        ({"kind": "tests.experiment.perceptron:Q"}, "cannot be imported here .AttributeError"),
        ({"kind": "a:b:c"}, "cannot be imported"),
        ({"kind": ":"}, "cannot be imported"),
        ({"kind": "os:path"}, "os:path must be a dataclass with the methods begin, update, readout"),
        ({"kind": f"{__name__}:Unfinished"}, "must be a dataclass with the methods begin, update, readout"),
        ({"kind": f"{__name__}:Ordinary"}, "must be a dataclass"),
        ({"kind": f"{__name__}:Bounded", "rate": -1.0}, r"^learners\.mine\.rate must be above 0, not -1.0"),
        ({"kind": f"{__name__}:Weighted"}, "has settings that are not plain: weights must be"),
        ({"kind": f"{__name__}:Arrays"}, "has settings that are not plain: "),
        (Weighted(weights=[1]), "^learners.mine: weights must be a finite number, a text, True, False or None"),
        (Perceptron(rate=float("inf")), "^learners.mine: rate must be a finite number"),
        (Perceptron(rate="x"), "learners.mine.rate: input should be a valid number"),
        (Ordinary(), "^learners.mine: <.*> is neither a table of settings nor a learner"),
        (Perceptron, "^learners.mine: <class .* is neither a table"),
        (5, "^learners.mine: 5 is neither a table"),
        (local(), "^learners.mine: .*local.*Hidden cannot be imported"),
        (kn.Normalised(rule=kn.Regression()), "^learners.mine: rule must be"),
    ],
)
def test_what_cannot_be_a_learner_of_an_experiment_is_refused_in_one_line(learner, message):
    with pytest.raises(ConfigError, match=message) as error:
        load(learner)
    assert "\n" not in str(error.value)


def test_a_class_that_was_defined_again_is_told_apart_from_the_one_before(monkeypatch):
    old = Perceptron()
    new = dataclass(frozen=True)(type("Perceptron", (Perceptron,), {"__module__": Perceptron.__module__}))
    monkeypatch.setattr(sys.modules[Perceptron.__module__], "Perceptron", new)
    assert only(load(new(rate=0.3))).learners["mine"].build() == new(rate=0.3)
    with pytest.raises(ConfigError, match=f"{KIND} is another class by now"):
        load(old)


@dataclass(frozen=True)
class Counting(Perceptron):
    count: int = field(default=0, init=False)


def test_fields_that_the_constructor_does_not_take_are_not_settings():
    trial = only(load(Counting(rate=0.3)))
    assert "count" not in json.loads(trial.canonical())["learners"]["mine"]
    assert trial.learners["mine"].build() == Counting(rate=0.3)


def test_a_worker_that_cannot_import_the_class_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "kenyon_only_here", sys.modules[Perceptron.__module__])
    experiment = load(Perceptron())
    settings = json.loads(only(experiment).canonical())
    settings["learners"]["mine"]["kind"] = "kenyon_only_here:Perceptron"
    trial = TrialConfig.model_validate_json(json.dumps(settings))
    outcome = run_experiment(experiment._replace(trials=(trial,)), tmp_path, workers=1)
    (reason,) = outcome.failed.values()
    assert "kenyon_only_here:Perceptron cannot be imported here (ModuleNotFoundError" in reason
    monkeypatch.delitem(sys.modules, "kenyon_only_here")
    with pytest.raises(ConfigError, match="cannot be imported here"):
        execute([trial.canonical()], "")
