import errno
import os

import numpy as np
import pytest
import xarray as xr

import kenyon as kn
from kenyon.experiment.executor import run_experiment
from kenyon.experiment.result_file import decode, encode
from kenyon.experiment.results import _combined, how_to_open
from kenyon.experiment.status import describe_status, read_status
from kenyon.experiment.store import Store, StoreError
from kenyon.experiment.sweep import load_experiment
from kenyon.experiment.trial import run_trial
from tests.experiment.conftest import SMALL
from tests.reliability.hostile import document


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    run_experiment(load_experiment(SMALL), folder, workers=0)
    return folder


@pytest.fixture
def copy(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_results_open_as_one_labelled_dataset(folder, small):
    results = kn.open_results(folder)
    assert dict(results.sizes) == {"learner": 2, "size": 2, "seed": 2, "episode": 10}
    assert results["size"].values.tolist() == [6, 10]
    assert results.learner.values.tolist() == ["GradientWeights", "Normalised"]
    for trial in small.trials:
        with xr.open_dataset(folder / f"{trial.id}.nc", engine="h5netcdf") as alone:
            place = {"size": trial.task.size, "seed": trial.seed}
            for name in results.data_vars:
                np.testing.assert_array_equal(results[name].sel(place), alone[name])
    assert len(results.to_dataframe()) == 2 * 2 * 2 * 10


def test_what_is_kept_for_each_neuron_comes_when_asked_for(folder, small):
    results = kn.open_results(folder, "small", neurons=True)
    assert results.theta.dims == ("learner", "size", "seed", "neuron")
    trial = small.trials[-1]
    with xr.open_dataset(folder / f"{trial.id}.nc", engine="h5netcdf") as alone:
        np.testing.assert_array_equal(results.theta.sel(size=trial.task.size, seed=trial.seed), alone.theta)


def test_measures_by_position_and_over_training_are_stored_and_combined(small):
    trials = small.trials[:2]
    results = [run_trial(trial) for trial in trials]
    results = [result.assign(position_accuracy=(("learner", "position"), np.eye(2, 3))) for result in results]
    found = _combined([decode(encode(result), lambda *_: True) for result in results], trials)
    assert found.position_accuracy.dims[-1] == "position"
    assert found.training_theta_g.dims == ("learner", "size", "seed", "episode")
    for name in ("overlap", "overlap_permuted", "theta_active_mean", "start_relative_specificity", "theta_falls"):
        assert name in found


def test_other_settings_that_differ_are_dimensions_and_those_that_go_together_coordinates(tmp_path):
    settings = {
        **SMALL,
        "task": {"n_stimuli": 6, "steps": [5, 8], "noise": [0.1, 0.2]},
        "reservoir": {"n_neurons": [30, 40], "leak_rate": 0.1},
        "zip": [["task.steps", "task.noise"]],
    }
    run_experiment(load_experiment(settings), tmp_path, workers=0)
    results = kn.open_results(tmp_path, neurons=True)
    assert results.accuracy.dims == ("learner", "size", "noise", "n_neurons", "seed")
    assert results.steps.dims == ("noise",)
    assert results.steps.values.tolist() == [5, 8]
    assert np.isnan(results.theta.sel(n_neurons=30)[..., 30:]).all()
    assert np.isfinite(results.theta.sel(n_neurons=40)).all()


def test_learners_and_episodes_that_only_some_trials_have_are_nan_in_the_others(tmp_path):
    cases = [{"learners": {"Normalised": {}}, "n_episodes": 300}, {"reservoir": {"n_neurons": 30}}]
    settings = {**SMALL, "task": {"n_stimuli": 6, "steps": 8}, "case": cases, "learners": {"GradientWeights": {}}}
    run_experiment(load_experiment(settings), tmp_path, workers=0)
    results = kn.open_results(tmp_path)
    there = results.accuracy.sel(learner="Normalised").notnull()
    assert there.sum() == 2  # seeds
    assert results.training_accuracy.sel(episode=600).notnull().sum() == 2
    assert (results.diverged_at.sel(learner="Normalised").dropna("n_neurons") == -1).all()


def test_experiments_too_different_for_one_table_are_told_apart_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr("kenyon.experiment.results.MAX_EMPTY_CELLS", 0)
    for number in range(6):
        settings = {
            **SMALL, "name": f"e{number}", "seed": number + 5, "n_test": 50 + number, "n_bins": 5 + number,
            "task": {"n_stimuli": 6, "steps": 8 + number, "noise": 0.1 * number},
        }  # fmt: skip
        del settings["seeds"]
        run_experiment(load_experiment(settings), tmp_path, workers=0)
    with pytest.raises(StoreError, match="open one experiment"):
        kn.open_results(tmp_path)
    assert kn.open_results(tmp_path, "e3").seed.values.tolist() == [8]
    with pytest.raises(StoreError, match="no experiment 'e9' .it has: e0, e1"):
        kn.open_results(tmp_path, "e9")


def test_nothing_half_written_is_left_and_the_rest_is_whole(copy, small, monkeypatch):
    before = {path: path.read_bytes() for path in copy.iterdir()}

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="no space left.*free some space.*finished trials are kept"):
        Store(copy).save("0" * 20, b"contents")
    assert {path: path.read_bytes() for path in copy.iterdir()} == before


@pytest.mark.parametrize("cut", [0, 1, 100, 5000, -1])
def test_a_truncated_result_is_refused_by_name(copy, small, cut):
    path = copy / f"{small.trials[1].id}.nc"
    path.write_bytes(path.read_bytes()[:cut])
    for use in (lambda: kn.open_results(copy), lambda: run_experiment(small, copy, workers=0)):
        with pytest.raises(StoreError, match=f"{path.name}: damaged, or not a Kenyon result"):
            use()


def test_a_changed_number_is_noticed(copy, small):
    import h5py

    path = copy / f"{small.trials[0].id}.nc"
    with h5py.File(path, "r+") as file:
        file["accuracy"][0] = 1.0
    with pytest.raises(StoreError, match="damaged, .*(changed|no seal)"):
        kn.open_results(copy)


def test_foreign_and_misnamed_files_are_refused_by_name(copy, small):
    foreign = copy / "weather.nc"
    xr.Dataset({"rain": ("day", [1.0, 2.0])}).to_netcdf(foreign, engine="h5netcdf")
    with pytest.raises(StoreError, match="weather.nc: damaged, or not a Kenyon result"):
        kn.open_results(copy, everything=True)
    assert kn.open_results(copy, "small").sizes["seed"] == 2  # it belongs to no experiment, and does not matter
    foreign.unlink()
    path = copy / f"{small.trials[0].id}.nc"
    path.rename(copy / ("0" * 20 + ".nc"))
    with pytest.raises(StoreError, match="0000.nc: "):
        kn.open_results(copy, everything=True)


def test_folders_that_cannot_be_are_refused(tmp_path, small):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written: .*choose a folder"):
        run_experiment(small, tmp_path / "file" / "results", workers=0)
    with pytest.raises(StoreError, match="not a folder of results"):
        kn.open_results(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="contains no finished trial"):
        kn.open_results(tmp_path)


# --- experiments that were changed and run again


BASE = {**SMALL, "n_episodes": 100, "task": {"n_stimuli": 6, "steps": 8}, "learners": {"Normalised": {"mu": 0.5}}}


def changed(**settings):
    return load_experiment({**BASE, **settings})


@pytest.fixture
def run(tmp_path):
    def run(experiment):
        return run_experiment(experiment, tmp_path, workers=0)

    run(changed())
    return run


def ids(experiment):
    return [trial.id for trial in experiment.trials]


@pytest.mark.parametrize(
    "change",
    [
        {"learners": {"Normalised": {"mu": 0.3}}},
        {"task": {"n_stimuli": 8, "steps": 8}},
        {"n_episodes": 200},
        {"seed": [7, 8], "seeds": None},
    ],
)
def test_none_of_the_old_trials_is_opened_after_a_change(run, tmp_path, change):
    settings = {key: value for key, value in {**BASE, **change}.items() if value is not None}
    run(load_experiment(settings))
    run_experiment(load_experiment(settings), tmp_path / "alone", workers=0)
    with pytest.warns(UserWarning, match="also has 2 older results.*everything=True"):
        results = kn.open_results(tmp_path)
    assert results.identical(kn.open_results(tmp_path / "alone"))
    assert results.identical(kn.open_results(tmp_path, "small"))  # by name there is nothing to warn of
    assert len(Store(tmp_path).old()) == 2
    assert describe_status(read_status(tmp_path)).splitlines()[1:] == [
        "  small: 2 of 2 done, 0 running, 0 failed, 0 waiting (ended)",
        f"{tmp_path} also has 2 older results, from before an experiment was changed: "
        f"kn.open_results({str(tmp_path)!r}, everything=True)",
    ]


def test_everything_has_old_and_new_side_by_side(run, tmp_path):
    run(changed(learners={"Normalised": {"mu": 0.3}, "Ridge": {}}))
    results = kn.open_results(tmp_path, everything=True)
    assert sorted(results.learner.values) == ["Normalised mu=0.3", "Normalised mu=0.5", "Ridge"]
    assert results.accuracy.notnull().all()
    run(changed())
    with pytest.warns(UserWarning, match="2 older"):
        old = kn.open_results(tmp_path)
    side = results.accuracy.sel(learner="Normalised mu=0.5", drop=True)
    np.testing.assert_array_equal(side, old.accuracy.sel(learner="Normalised"))
    with pytest.raises(ValueError, match="experiment must be left out with everything=True, not 'small'"):
        kn.open_results(tmp_path, "small", everything=True)


def test_more_seeds_and_back(run, tmp_path):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    run(changed(seeds=4))
    assert kn.open_results(tmp_path).seed.values.tolist() == [0, 1, 2, 3]
    assert Store(tmp_path).old() == []
    assert run(changed()).n_new == 0
    with pytest.warns(UserWarning, match="2 older"):
        assert kn.open_results(tmp_path).seed.values.tolist() == [0, 1]
    now = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {name: now[name] for name in before} == before  # the list included


def test_an_experiment_opens_by_name_by_file_and_as_it_was_loaded(run, tmp_path):
    run(changed(name="other", task={"n_stimuli": 9, "steps": 8}))
    assert kn.open_results(tmp_path)["size"].values.tolist() == [6, 9]
    file = tmp_path / "file.toml"
    file.write_bytes(document({**BASE, "name": "small"}))
    for experiment in ("small", file, str(file), changed()):
        assert kn.open_results(tmp_path, experiment)["size"].values.tolist() == [6]
    file.write_bytes(document({**BASE, "seeds": 1}))  # changed, but not run: what it is now
    assert kn.open_results(tmp_path, file).seed.values.tolist() == [0]
    with pytest.raises(StoreError, match="no finished trial of small; run it first"):
        kn.open_results(tmp_path, changed(n_test=55))
    with pytest.raises(ValueError, match="no.toml: cannot be read"):
        kn.open_results(tmp_path, "no.toml")


def test_a_renamed_file_shares_its_trials_until_it_is_changed(run, tmp_path):
    assert run(changed(name="renamed")).n_new == 0
    assert kn.open_results(tmp_path).identical(kn.open_results(tmp_path, "renamed"))
    run(changed(name="renamed", n_episodes=200))
    assert kn.open_results(tmp_path, "renamed").episode.values[-1] == 200
    assert Store(tmp_path).old() == []  # the old ones still belong to the experiment of the old name
    assert how_to_open(Store(tmp_path), "renamed") == f"kn.open_results({str(tmp_path)!r}, 'renamed')"


def test_a_folder_without_lists_opens_with_all_that_it_has(run, tmp_path):
    before = kn.open_results(tmp_path)
    (tmp_path / "small.experiment.json").unlink()
    assert kn.open_results(tmp_path).identical(before)


def test_a_change_of_which_nothing_is_finished_is_told(run, tmp_path):
    Store(tmp_path).register(changed(n_episodes=200))  # as after kill -9, before the first trial was done
    with pytest.raises(StoreError, match="no finished trial of an experiment as it was last run; .* 2 older results"):
        kn.open_results(tmp_path)


def test_a_changed_table_of_odours_is_told_apart(tmp_path):
    table = tmp_path / "mine.csv"
    task = {"n_stimuli": 6, "steps": 8, "odours": str(table)}
    for last in (1, 20):
        table.write_text("name,a,b\n" + "".join(f"o{i},{i},{i * i}\n" for i in range(8)) + f"z,{last},3\n")
        run_experiment(changed(task=task), tmp_path / "results", workers=0)
    results = kn.open_results(tmp_path / "results", everything=True)
    assert results.accuracy.dims == ("learner", "size", "odours_sha256", "seed")
    assert results.accuracy.notnull().all()
