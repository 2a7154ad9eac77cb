"""First stages: prelearning once for all trials, a tuned baseline, and matched gains."""

import json

import numpy as np
import pytest

import kenyon as kn
from kenyon.experiment.mistakes import trial_config
from kenyon.experiment.stages import pending, settled
from kenyon.experiment.store import Store

SMALL = {
    "n_episodes": 1500, "n_test": 400, "n_bins": 3,
    "task": {"n_stimuli": [6, 12], "steps": 10}, "reservoir": {"n_neurons": 40, "leak_rate": 0.1},
}  # fmt: skip
PRELEARNING = {
    **SMALL, "name": "once", "seeds": 2, "prelearning": {"seed": 77, "task": {"n_stimuli": 12}},
    "learners": {"Metropolis": {}, "Composed": {}, "walks": {"kind": "Composed", "start": "walked"}},
}  # fmt: skip
TUNING = {
    **SMALL, "name": "tuned", "seeds": 1, "tuning": {"seeds": [50, 51], "batch": [1, 10]},
    "learners": {"GradientWeights": {"eta_w": 0.02}, "Normalised": {}},
}  # fmt: skip


def settings_of_results(folder, name):
    store = Store(folder)
    return [json.loads(store.read(trial).attributes["config"]) for trial in store.experiments()[name]]


def test_prelearning_is_done_once_and_used_by_all_trials(tmp_path):
    experiment = kn.load_experiment(PRELEARNING)
    summary = kn.run_experiment(experiment, tmp_path, workers=0)
    assert (summary.n_trials, summary.n_new, summary.failed) == (4, 5, {})
    (source,) = Store(tmp_path / "first").finished()
    record = json.loads(Store(tmp_path / "first").read(source).attributes["prelearning"])["Composed"]
    for settings in settings_of_results(tmp_path, "once"):
        assert settings["learners"]["Metropolis"]["start"] == settings["learners"]["Composed"]["start"]
        assert settings["learners"]["Composed"]["start"] == record["theta_g"]
        assert settings["learners"]["walks"]["start"] == "walked"  # anew for every run
        assert settings["origins"] == {"prelearning": source}
    results = kn.open_results(tmp_path)
    assert dict(results.sizes) == {"learner": 3, "size": 2, "seed": 2, "episode": 3}
    (found,) = json.loads((tmp_path / "once.found.json").read_text())
    assert found["prelearning"]["costs"] == record["costs"]
    assert found["prelearning"]["theta_g"] == found["prelearning"]["starts"][int(np.argmin(record["costs"]))]


def test_prelearning_is_that_of_the_named_learner_task_and_seed(tmp_path):
    kn.run_experiment(kn.load_experiment(PRELEARNING), tmp_path, workers=0)
    (found,) = json.loads((tmp_path / "once.found.json").read_text())
    task = kn.StaticTask(kn.load_odours(), 12, seed=77, steps=10)
    reservoir = kn.Reservoir(40, 0.1, seed=77)
    expected = kn.train({"Composed": kn.Composed()}, reservoir, task, 1, seed=77, n_test=1).attrs["prelearning"]
    assert found["prelearning"]["theta_g"] == json.loads(expected)["Composed"]["theta_g"]


def test_a_kind_that_is_not_among_the_learners_prelearns_with_the_settings_of_the_preset():
    having = kn.load_experiment({**PRELEARNING, "preset": "sequence", "task": {}, "prelearning": {"seed": 5}})
    lacking = kn.load_experiment({
        "preset": "sequence", "n_test": 7, "prelearning": {"seed": 5}, "reservoir": SMALL["reservoir"],
        "learners": {"start": {"kind": "GradientThresholds", "start": "prelearned"}},
    })  # fmt: skip
    (a,), (b,) = (pending(one.trials[0], lambda source: None) for one in (having, lacking))
    assert a.id == b.id  # so figures share it
    assert b.learners["Composed"].batch == 10


def test_a_sweep_with_first_stages_resumes_to_the_same_bytes(tmp_path):
    experiment = kn.load_experiment(PRELEARNING)
    kn.run_experiment(experiment, tmp_path / "whole", workers=0)
    first = pending(experiment.trials[0], lambda trial: None)
    kn.run_experiment(
        kn.load_experiment(PRELEARNING)._replace(trials=tuple(first)), tmp_path / "cut" / "first", workers=0
    )
    again = kn.run_experiment(experiment, tmp_path / "cut", workers=0)
    assert again.n_new == 4
    assert kn.run_experiment(experiment, tmp_path / "cut", workers=0).n_new == 0
    whole, cut = Store(tmp_path / "whole"), Store(tmp_path / "cut")
    assert whole.finished() == cut.finished()
    for trial in whole.finished():
        a, b = whole.read(trial).variables, cut.read(trial).variables
        assert all(a[name][1].tobytes() == b[name][1].tobytes() for name in a if a[name][1].dtype.kind != "O")
    text = "once.found.json"
    assert (tmp_path / "whole" / text).read_bytes() == (tmp_path / "cut" / text).read_bytes()


def tuning_tables(folder, name="tuned"):
    return [found["tuning"] for found in json.loads((folder / f"{name}.found.json").read_text())]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned")
    kn.run_experiment(kn.load_experiment(TUNING), folder, workers=0)
    return folder


def test_a_tuned_readout_is_the_best_of_its_grid_and_the_ends_are_worse(tuned):
    tables = tuning_tables(tuned)
    assert len(tables) == 2  # one for each size
    for table in tables:
        scores = {(row["batch"], row["eta_w"]): row["expected_accuracy"] for row in table["table"]}
        best = scores[table["best"]["batch"], table["best"]["eta_w"]]
        assert best == max(score for score in scores.values() if score is not None)
        for batch in (1, 10):
            rates = sorted(rate for size, rate in scores if size == batch)
            np.testing.assert_allclose(np.diff(np.log2(rates)), 1.0)  # a factor of 2 apart
            column = [-np.inf if scores[batch, rate] is None else scores[batch, rate] for rate in rates]
            assert max(column[0], column[-1]) < max(column)
        assert any(score is None for score in scores.values())  # the largest rates diverge, and count as worst


def test_the_table_of_tuning_is_the_mean_over_tuning_seeds(tuned):
    (small, _) = tuning_tables(tuned)
    row = next(row for row in small["table"] if row["batch"] == 10 and row["expected_accuracy"] is not None)
    accuracies = []
    for seed in (50, 51):
        settings = {**SMALL, "seed": seed, "learners": {}, "task": {"kind": "static", "n_stimuli": 6, "steps": 10}}
        base = int(np.log2(row["eta_w"] / 0.02).round())
        settings["learners"] = {f"10 {base}": {"kind": "GradientWeights", "batch": 10, "eta_w": row["eta_w"]}}
        accuracies.append(float(kn.run_trial(trial_config(settings)).expected_accuracy[0]))
    assert row["expected_accuracy"] == pytest.approx(np.mean(accuracies))


def test_rates_end_where_nothing_can_be_learned(tmp_path):
    blank = tmp_path / "blank.csv"
    blank.write_text("name,a,b\n" + "".join(f"odour {i},0,0\n" for i in range(12)))
    settings = {**TUNING, "task": {"n_stimuli": 6, "steps": 3, "odours": str(blank)}, "n_episodes": 100, "n_test": 50}
    kn.run_experiment(kn.load_experiment(settings), tmp_path, workers=0)
    (table,) = tuning_tables(tmp_path)
    assert {row["expected_accuracy"] for row in table["table"]} == {0.5}
    assert table["best"] == {"batch": 1, "eta_w": pytest.approx(0.02)}  # the middle of equals


def test_tuned_batch_and_rate_are_used_by_trials_of_that_size(tuned):
    bests = [table["best"] for table in tuning_tables(tuned)]
    for settings, best in zip(settings_of_results(tuned, "tuned"), bests, strict=True):
        assert {name: settings["learners"]["GradientWeights"][name] for name in best} == best
        assert settings["seed"] == 0
        assert set(settings["origins"]["tuning"].split()) <= set(Store(tuned / "first").finished())
        assert settings["tuning"] is None


def test_a_matched_gain_is_computed_and_recorded(tmp_path):
    settings = {
        **SMALL, "name": "matched", "task": {"n_stimuli": 6, "steps": 10}, "learners": {"Normalised": {}},
        "reservoir": {**SMALL["reservoir"], "input_weights": ["lognormal", "gaussian"], "input_gain": "matched"},
    }  # fmt: skip
    kn.run_experiment(kn.load_experiment(settings), tmp_path, workers=0)
    results = kn.open_results(tmp_path)
    gains = results.matched_gain.sel(size=6, seed=0)
    assert float(gains.sel(input_weights="lognormal")) == 1.0
    task = kn.StaticTask(kn.load_odours(), 6, seed=0, steps=10)
    made = [
        kn.Reservoir(40, 0.1, seed=0, input_weights=form, input_gain=float(gains.sel(input_weights=form)))
        for form in ("gaussian", "lognormal")
    ]
    a, b = ((next(one.stream(task, 2000, batch_size=2000)).states ** 2).sum(axis=1).mean() for one in made)
    assert a == pytest.approx(b, rel=0.02)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({**TUNING, "tuning": {"seeds": []}}, "^tuning.seeds must have at least one$"),
        ({**TUNING, "tuning": {}}, "tuning.seeds is missing"),
        ({**TUNING, "tuning": {"seeds": [1], "learner": "Normalised"}}, "must name a learner of kind GradientWeights"),
        (
            {**TUNING, "tuning": {"seeds": [1], "learner": "x"}},
            "tuning.learner must be one of GradientWeights",
        ),
        ({**PRELEARNING, "prelearning": {}}, "prelearning.seed is missing"),
        ({**PRELEARNING, "prelearning": {"seed": 1, "learner": "GD"}}, "prelearning.learner must be one of Metropolis"),
        ({**PRELEARNING, "prelearning": {"seed": 1, "learner": "Ridge"}}, "must name a learner with thresholds"),
        ({**PRELEARNING, "prelearning": {"seed": 1, "task": {"n": 3}}}, "task.n is not known"),
        (
            {**PRELEARNING, "prelearning": {"seed": 1, "task": {"n_stimuli": 999}}},
            "n_stimuli must be an integer",
        ),
        ({**SMALL, "reservoir": {"input_gain": "high"}}, "input_gain"),
    ],
)
def test_first_stages_that_cannot_be_are_refused_on_loading(settings, message):
    with pytest.raises(ValueError, match=message):
        kn.load_experiment(settings)


def test_an_open_trial_does_not_run_by_itself():
    trial = kn.load_experiment(PRELEARNING).trials[0]
    with pytest.raises(ValueError, match="first stage"):
        kn.run_trial(trial)
    with pytest.raises(ValueError, match="has not been run"):
        settled(trial, lambda source: None)


def test_a_learner_whose_prelearning_diverged_is_recorded_as_diverged(tmp_path):
    settings = {**PRELEARNING, "seeds": 1, "learners": {"Metropolis": {"eta_w": 1e9}, "Normalised": {}}}
    settings["prelearning"] = {"seed": 77, "learner": "Metropolis"}
    assert not kn.run_experiment(kn.load_experiment(settings), tmp_path, workers=0).failed
    for found in json.loads((tmp_path / "once.found.json").read_text()):  # one for each size: none was named
        assert "unstable from every start" in found["prelearning"]["failed"]
    accuracy = kn.open_results(tmp_path).accuracy
    assert accuracy.sel(learner="Metropolis").isnull().all()
    assert accuracy.sel(learner="Normalised").notnull().all()
