"""Files: the same to the bit after a round trip and in another process; whatever is wrong with one is named."""

import json
import os
import re
import stat
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import kenyon as kn
from kenyon import saving
from tests.estimators.data import sines

SMALL = {"n_neurons": 60, "random_state": 0}
X, Y = sines(60)


def estimators():
    flat = np.stack([series[:15].ravel() for series in X])
    names = np.array(["low", "mid", "high"])[Y]
    settings = {"epochs": 4, **SMALL}
    yield kn.ReservoirClassifier("normalised", **settings).fit(X, names), X
    yield kn.ReservoirClassifier(**SMALL, class_weight={0: 1.0, 1: 2.0, 2: 0.5}).fit(X, Y), X
    yield kn.ReservoirClassifier(kn.Composed(eta_w=1e-3, start=0.1), **settings).fit(X, names.astype(object)), X
    yield kn.ReservoirClassifier(kn.Normalised(rule=kn.QLearning()), **settings).fit(X, Y > 0), X
    yield kn.ReservoirRegressor("normalised", **settings).fit(X, np.sin(Y)), X
    yield kn.ReservoirTransformer("x", **SMALL).fit(X), X
    yield kn.ThresholdReadout(epochs=4, random_state=np.random.RandomState(0)).fit(flat, Y), flat
    yield kn.ThresholdRegressor("ridge").fit(flat, np.stack([Y, -Y], axis=1)), flat


def answer(model, data):
    ask = getattr(model, "predict_proba", None) or getattr(model, "transform", None) or model.predict
    return ask(data)


@pytest.mark.parametrize("number", range(8))
def test_a_round_trip_gives_the_same_to_the_bit(number, tmp_path):
    model, data = list(estimators())[number]
    model.save(tmp_path / "model.kenyon")
    again = kn.load(tmp_path / "model.kenyon")
    assert type(again) is type(model)
    np.testing.assert_array_equal(answer(again, data), answer(model, data))
    if hasattr(model, "classes_"):
        assert again.classes_.dtype == model.classes_.dtype
        np.testing.assert_array_equal(again.predict(data), model.predict(data))
    parameters = {name: value for name, value in model.get_params().items() if name != "random_state"}
    assert {name: again.get_params()[name] for name in parameters} == parameters


def test_another_process_gives_the_same_to_the_bit(tmp_path):
    model = kn.ReservoirClassifier("normalised", epochs=4, **SMALL).fit(X, Y)
    model.save(tmp_path / "model")
    np.save(tmp_path / "series.npy", np.concatenate(X))
    script = (
        "import sys, numpy as np, kenyon as kn; folder = sys.argv[1]; ends = np.cumsum(eval(sys.argv[2]))[:-1];"
        "X = np.split(np.load(folder + '/series.npy'), ends);"
        "np.save(folder + '/out.npy', kn.load(folder + '/model').predict_proba(X))"
    )
    lengths = str([len(series) for series in X])
    subprocess.run([sys.executable, "-c", script, str(tmp_path), lengths], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), model.predict_proba(X))


def test_a_loaded_model_goes_on_learning_as_the_saved_one_would(tmp_path):
    model = kn.ReservoirClassifier("normalised", **SMALL).partial_fit(X[:40], Y[:40], classes=[0, 1, 2])
    model.save(tmp_path / "model")
    again = kn.load(tmp_path / "model")
    for learning in (model, again):
        learning.partial_fit(X[40:], Y[40:])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_readout_is_saved_too(tmp_path):
    model = kn.ReservoirClassifier("normalised", **SMALL).fit(X, Y)
    model.readout_.save(tmp_path / "readout")
    again = kn.load(tmp_path / "readout")
    V = np.random.default_rng(0).random((5, again.n_neurons)).astype(np.float32)
    np.testing.assert_array_equal(again.outputs(V), model.readout_.outputs(V))


@pytest.fixture
def path(tmp_path):
    kn.ReservoirClassifier(**SMALL).fit(X, Y).save(tmp_path / "model.kenyon")
    return tmp_path / "model.kenyon"


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.999])
def test_a_file_cut_short_is_refused_by_name(path, share):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"model\.kenyon is not a complete Kenyon file"):
        kn.load(path)


def test_foreign_files_are_refused_by_name(path):
    path.write_bytes(b"PK\x03\x04 something else entirely, and long enough to be taken for a header")
    with pytest.raises(ValueError, match=r"model\.kenyon is not a complete Kenyon file"):
        kn.load(path)
    save_file({"weights": np.zeros(3)}, path)
    with pytest.raises(ValueError, match=r"model\.kenyon was not written by Kenyon"):
        kn.load(path)


def rewritten(path, change):
    """Change the header of a file."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["kenyon"])
    change(header)
    save_file(load_file(path), path, {"kenyon": json.dumps(header)})


def test_a_file_of_a_newer_version_is_refused_by_name(path):
    rewritten(path, lambda header: header.update(format=saving.MODEL_FORMAT + 1, version="9.9"))
    with pytest.raises(ValueError, match=r"model\.kenyon was written by a newer version, Kenyon 9\.9 .*update"):
        kn.load(path)


@pytest.mark.parametrize("number", [1, 2, None, "3"])
def test_a_file_of_an_older_format_is_refused_by_name(path, number):
    rewritten(path, lambda header: header.update(format=number))
    with pytest.raises(
        ValueError, match=rf"model\.kenyon was written by an older version, .*format {number}\); .*again"
    ):
        kn.load(path)


def resealed(path, change):
    """Change what a file describes, and its digest accordingly."""

    def both(header):
        change(header["model"])
        header["sha256"] = saving.digest(header["model"], load_file(path))

    rewritten(path, both)


def test_files_of_earlier_versions_with_settings_that_do_nothing_are_read(path):
    model = kn.ReservoirClassifier("normalised", epochs=2, **SMALL).fit(X, Y)
    model.save(path)

    def as_before(described):
        of_training = described["of"]["_training"]["of"]
        of_training["learner"]["of"].update(eta_w=0.0018, eta_theta=0.00018, sigma=0.05, period=100, beta=4.0)
        described["of"]["encoder_"]["of"]["reservoir"]["of"]["input_connections"] = 6.0

    resealed(path, as_before)
    np.testing.assert_array_equal(kn.load(path).predict_proba(X), model.predict_proba(X))


def test_weights_of_ones_own_are_saved_and_checked(path):
    model = kn.ReservoirClassifier(**SMALL).fit(X, Y)
    reservoir = model.reservoir_
    own = kn.Reservoir.from_weights(W_in=reservoir.W_in, W=reservoir.W, leak_rate=reservoir.leak_rate)
    model.encoder_ = model.encoder_._replace(reservoir=own)
    model.save(path)
    again = kn.load(path)
    assert again.reservoir_.weights_sha256 == own.weights_sha256
    assert repr(again.reservoir_) == repr(own)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    of_another = {"weights_sha256": "0" * 64}
    resealed(path, lambda described: described["of"]["encoder_"]["of"]["reservoir"]["of"].update(of_another))
    with pytest.raises(ValueError, match="W and W_in are not those of weights_sha256"):
        kn.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"leak_rate": 2.0}, "leak_rate must be a number"),
        ({"n_neurons": 61}, "W must have shape"),
        ({"n_inputs": 9}, "W_in must have shape"),
        ({"stream": 1}, "a reservoir has no stream"),
    ],
)
def test_a_reservoir_that_does_not_fit_its_weights_is_refused(path, change, message):
    resealed(path, lambda described: described["of"]["encoder_"]["of"]["reservoir"]["of"].update(change))
    with pytest.raises(ValueError, match=rf"model\.kenyon is damaged: ValueError {message}"):
        kn.load(path)


def test_a_file_without_its_digest_is_refused(path):
    rewritten(path, lambda header: header.pop("sha256"))
    with pytest.raises(ValueError, match=r"model\.kenyon is damaged: KeyError 'sha256'"):
        kn.load(path)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_files_have_the_permissions_that_the_umask_leaves(path, umask, mode):
    model = kn.load(path)
    old = os.umask(umask)
    try:
        model.save(path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == mode


class Perceptron(kn.Normalised):
    """A learner of a user's own."""


def test_an_estimator_with_a_learner_of_ones_own_says_what_can_be_saved_instead(tmp_path):
    model = kn.ReservoirClassifier(Perceptron(), epochs=1, **SMALL).fit(X, Y)
    with pytest.raises(ValueError, match=r"learner of your own \(Perceptron\) cannot be saved.*model\.readout_\.save"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    model.readout_.save(tmp_path / "readout")
    np.testing.assert_array_equal(kn.load(tmp_path / "readout").W, model.readout_.W)


def test_a_class_that_only_has_the_name_of_ours_is_not_taken_for_it(tmp_path):
    model = kn.ReservoirClassifier(epochs=1, **SMALL).fit(X, Y)
    model.learner = type("Normalised", (kn.Normalised,), {})()
    with pytest.raises(ValueError, match=r"learner of your own \(Normalised\)"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop("model"),
        lambda header: header["model"].update(kind="Popen"),
        lambda header: header["model"]["of"].update(encoder_={"tensor": "t999"}),
    ],
)
def test_a_damaged_header_is_refused_by_name(path, change):
    rewritten(path, change)
    with pytest.raises(ValueError, match=r"model\.kenyon is damaged"):
        kn.load(path)


def test_a_failed_save_leaves_the_old_file_and_no_other(path, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *names: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        kn.ReservoirClassifier(**SMALL).fit(X, Y).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    readout = kn.Readout(np.ones((2, 3), np.float32), np.zeros(3, np.float32))
    (tmp_path / "file").write_text("")
    for path, reason in (
        (tmp_path / "nowhere" / "model.kenyon", f"the folder {tmp_path / 'nowhere'} does not exist"),
        (tmp_path / "file" / "model.kenyon", "Not a directory"),
        (tmp_path, "Is a directory"),
    ):
        with pytest.raises(OSError, match=re.escape(reason)) as error:
            readout.save(path)
        assert error.value.filename == str(path)
        assert ".part" not in str(error.value)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("folder", ["", ".", "inner"])
def test_a_folder_is_not_replaced_by_a_file(path, monkeypatch, folder):
    monkeypatch.chdir(path.parent)
    (path.parent / "inner").mkdir()
    with pytest.raises(OSError, match=r"directory|busy"):
        kn.load(path).save(folder)
    assert sorted(file.name for file in path.parent.iterdir()) == ["inner", path.name]


def test_what_is_not_fitted_or_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        kn.ReservoirClassifier().save(tmp_path / "model")
    with pytest.raises(FileNotFoundError, match="nothing"):
        kn.load(tmp_path / "nothing")
