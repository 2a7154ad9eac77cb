import json

import h5py
import numpy as np
import pytest

import kenyon as kn
from kenyon.experiment.config import TrialConfig
from kenyon.experiment.result_file import encode
from kenyon.experiment.sweep import load_experiment
from kenyon.experiment.trial import execute, run_trial
from tests.experiment.conftest import SMALL


def trial(**settings):
    base = {**SMALL, "task": {"n_stimuli": 10, "steps": 8}, "seeds": 1}
    (config,) = load_experiment({**base, **settings}).trials
    return config


def test_a_trial_is_train_with_its_settings():
    config = trial()
    task = kn.StaticTask(kn.load_odours(), 10, seed=0, steps=8)
    learners = {"GradientWeights": kn.GradientWeights(), "Normalised": kn.Normalised()}
    reservoir = kn.Reservoir(40, 0.1, 0.8)
    expected = kn.train(learners, reservoir, task, 600, n_test=100, n_bins=10)
    result = run_trial(config, threads=2)
    assert result.drop_vars("eta_w").equals(expected)


def test_a_result_says_where_it_comes_from():
    result = run_trial(trial(), commit="abc")
    found = json.loads(result.attrs["provenance"])
    assert found["commit"] == "abc"
    assert found["seconds"] > 0
    assert {"kenyon", "numpy", "numba", "python", "cpu", "began"} <= set(found)
    assert TrialConfig.model_validate_json(result.attrs["config"]) == trial()


def test_a_plain_readout_that_diverges_is_trained_at_half_the_rate_until_it_does_not():
    learners = {"GradientWeights": {"eta_w": 2.0, "batch": 1}, "Normalised": {}, "Learner": {"eta_w": 2.0}}
    result = run_trial(trial(learners=learners))
    assert result.diverged_at.sel(learner=["GradientWeights", "Normalised"]).values.tolist() == [-1, -1]
    rate = float(result.eta_w.sel(learner="GradientWeights"))
    assert rate < 2.0
    assert np.log2(2.0 / rate) % 1 == 0
    again = run_trial(trial(learners={"GradientWeights": {"eta_w": rate, "batch": 1}}))
    assert float(again.accuracy[0]) == float(result.accuracy.sel(learner="GradientWeights"))
    assert result.diverged_at.sel(learner="Learner") >= 0  # others are left as they are
    assert np.isnan(result.accuracy.sel(learner="Learner"))
    assert list(json.loads(result.attrs["diverged"])) == ["Learner"]


def test_company_changes_no_bit_of_a_learner():
    alone = run_trial(trial(learners={"Normalised": {}}))
    beside = run_trial(trial())
    for name in alone.data_vars:
        np.testing.assert_array_equal(alone[name], beside[name].sel(learner=["Normalised"]))


def test_groups_are_learned_in_turn():
    result = run_trial(trial(task={"n_stimuli": 10, "steps": 8, "groups": 2}))
    assert result.group_accuracy.dims == ("learner", "stage", "group")
    assert result.sizes["stage"] == result.sizes["group"] == 2


def test_examples_are_states_of_different_items():
    config = trial(examples=6)
    result = run_trial(config)
    reservoir = kn.Reservoir(40, 0.1, 0.8)
    np.testing.assert_array_equal(result.trace_state[-1], result.example_state[0])
    np.testing.assert_array_equal(reservoir.run(result.trace_input.values[None])[0], result.example_state[0])
    assert len(set(result.example_name.values.tolist())) == 6
    plain = run_trial(trial())
    assert plain.accuracy.identical(result.accuracy)


@pytest.mark.parametrize("preset", ["static-rl", "sequence", "sequence-rl"])
def test_every_preset_runs(preset):
    task = {"n_stimuli": 10} if preset == "static-rl" else {"n_bases": 1}
    settings = {"preset": preset, "n_episodes": 200, "reservoir": {"n_neurons": 40}, "task": task, "n_test": 50}
    (config,) = load_experiment(settings).trials
    result = run_trial(config)
    assert np.isfinite(result.accuracy).all()


def test_a_worker_returns_the_bytes_of_a_result(tmp_path):
    import xarray as xr

    (tmp_path / "a.nc").write_bytes(execute([trial().canonical()], "")[0])
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as found:
        assert found.equals(run_trial(trial()))


def test_a_file_is_to_the_byte_what_h5netcdf_writes_by_itself(monkeypatch):
    result = run_trial(trial())
    quick = encode(result)
    monkeypatch.setattr("kenyon.experiment.remembering.Remembering", h5py.File)
    assert quick == encode(result)
