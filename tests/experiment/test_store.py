import errno
import os

import numpy as np
import pytest
import xarray as xr

import kenyon as kn
from kenyon.experiment.executor import run_experiment
from kenyon.experiment.result_file import decode, encode
from kenyon.experiment.results import _combined
from kenyon.experiment.store import Store, StoreError
from kenyon.experiment.sweep import load_experiment
from kenyon.experiment.trial import run_trial
from tests.experiment.conftest import SMALL


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
        kn.open_results(copy)
    assert kn.open_results(copy, "small").sizes["seed"] == 2  # by name, it does not matter
    foreign.unlink()
    path = copy / f"{small.trials[0].id}.nc"
    path.rename(copy / ("0" * 20 + ".nc"))
    with pytest.raises(StoreError, match="0000.nc: "):
        kn.open_results(copy)


def test_folders_that_cannot_be_are_refused(tmp_path, small):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written: .*choose a folder"):
        run_experiment(small, tmp_path / "file" / "results", workers=0)
    with pytest.raises(StoreError, match="not a folder of results"):
        kn.open_results(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="contains no finished trial"):
        kn.open_results(tmp_path)
