"""The short form of `make fuzz`, and a file for each defect that it found."""

import numpy as np
import pytest

import kenyon as kn
from kenyon.experiment.config import TRIAL_FORMAT
from kenyon.experiment.result_file import SEAL, seal, unseal
from kenyon.experiment.sweep import load_experiment
from tests.reliability import hostile
from tests.reliability.fuzz import fuzz
from tests.reliability.readers import MISDEEDS, READERS, TABLE, models, results

N = 150


def test_spoilt_files_are_read_rightly_or_refused_by_name(tmp_path):
    jobs = [(name, number) for name in READERS for number in range(N)]
    outcomes, failures = fuzz(jobs, 1, 2, tmp_path, tmp_path / "kept")
    assert not failures
    for name in READERS:
        assert sum(outcomes[name].values()) == N
        assert sum(n for outcome, n in outcomes[name].items() if outcome.startswith("refused")) > N / 4


def test_whatever_a_reader_may_not_do_is_caught(tmp_path):
    jobs = [("misdeeds", number) for number in range(len(MISDEEDS))]
    outcomes, failures = fuzz(jobs, 0, 2, tmp_path, tmp_path / "kept", seconds=1)
    assert outcomes["misdeeds"] == dict.fromkeys((f"failure: {told}" for told in MISDEEDS), 1)
    assert len(failures) == len(list((tmp_path / "kept").iterdir())) == len(MISDEEDS)


@pytest.fixture(scope="module")
def result():
    return results()


@pytest.fixture
def path(tmp_path, result):
    for name, contents in result.beside.items():
        (tmp_path / name).write_bytes(contents)
    return tmp_path / result.name


def test_a_result_without_a_seal_or_with_a_broken_one_is_refused(path, result):
    whole = result.files[0]
    assert whole.count(SEAL) == 1
    path.write_bytes(whole)
    assert kn.open_results(path.parent).accuracy.notnull().all()
    path.write_bytes(unseal(whole))
    with pytest.raises(ValueError, match=f"{path.name}: damaged, .*it has no seal"):
        kn.open_results(path.parent)
    for broken in (whole + b"x", whole[:100] + b"x" + whole[101:], seal(whole)[:-1]):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=f"{path.name}: damaged, .*its contents have changed"):
            kn.open_results(path.parent)


def test_a_result_of_another_format_is_refused_by_its_number(path, result):
    path.write_bytes(hostile.changed(result.files[0], lambda file: file.attrs.__setitem__("kenyon_format", 2)))
    with pytest.raises(ValueError, match=f"{path.name}: damaged, .*format 2, not {TRIAL_FORMAT}"):
        kn.open_results(path.parent)


def moved(file, target):
    """Let the thresholds be kept in another file."""
    del file["theta"]
    file.create_dataset("theta", (2, 20), "f4", external=[(target, 0, 160)])


def huge(file):
    del file["accuracy"]
    file.create_dataset("accuracy", (2**40,), "f8")


def longer(file):
    """Let there be an accuracy more than there are learners."""
    del file["accuracy"]
    file.create_dataset("accuracy", data=np.ones(3))


def linked(file):
    import h5py

    del file["accuracy"]
    file["accuracy"] = h5py.ExternalLink("../bait/pipe", "accuracy")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: moved(file, "/dev/zero"), "theta is not stored in the file itself"),
        (linked, "accuracy is a link"),
        (huge, "accuracy is incomplete"),
        (longer, "accuracy does not fit its dimensions"),
        (lambda file: file.attrs.__setitem__("provenance", "not JSON"), "Expecting value"),
        (lambda file: file.attrs.__setitem__("diverged", "[" * 50_000), "recursion"),
        (lambda file: file.attrs.__setitem__("prelearning", np.arange(3)), "must be str"),
    ],
)
def test_what_no_result_of_ours_has_is_refused(path, result, change, message):
    path.write_bytes(hostile.changed(result.files[0], change))
    with pytest.raises(ValueError, match=f"{path.name}: damaged, .*{message}"):
        kn.open_results(path.parent, neurons=True)


@pytest.mark.parametrize("contents", ["{}", "[]", "[" * 50_000, '{"trials": 3}', '{"name": "../../x", "trials": null}'])
def test_a_spoilt_list_of_trials_is_refused_by_name(path, contents):
    (path.parent / "a.experiment.json").write_text(contents)
    with pytest.raises(ValueError, match=r"a\.experiment\.json: cannot be read"):
        kn.open_results(path.parent, "a")


@pytest.fixture(scope="module")
def model():
    return models().files[0]


def test_a_flipped_bit_in_a_model_is_noticed(tmp_path, model):
    path = tmp_path / "model"
    path.write_bytes(model[:-1] + bytes([model[-1] ^ 1]))
    with pytest.raises(ValueError, match=r"model is damaged: .*changed since it was written"):
        kn.load(path)


def columns(table, arrays):
    """Let a neuron listen to one that is not there."""
    reservoir = table["of"]["encoder_"]["of"]["reservoir"]["of"]
    arrays[reservoir["W"]["sparse"]["indices"]["tensor"]][0] = 10**6


def ends(table, arrays):
    """Let the last row end before it begins, which SciPy's own check does not see."""
    indptr = table["of"]["encoder_"]["of"]["reservoir"]["of"]["W"]["sparse"]["indptr"]["tensor"]
    arrays[indptr] = arrays[indptr].astype(np.int64)
    arrays[indptr][-1] = np.iinfo(np.int64).min


def rows(table, arrays):
    """Let a network that learns be smaller than its neurons."""
    nets = table["of"]["_training"]["of"]["state"]["of"]["nets"]["of"]
    arrays[nets["W"]["tensor"]] = np.zeros((1, 3, 1), np.float32)


def names(table, arrays):
    table["of"]["classes_"] = {"texts": ["a"], "dtype": "<U500000000"}


@pytest.mark.parametrize("change", [columns, ends, rows, names])
def test_a_model_that_would_lead_a_kernel_astray_is_refused(tmp_path, model, change):
    table, arrays = hostile.opened(model)
    change(table, arrays)
    (tmp_path / "model").write_bytes(hostile.resigned(table, arrays))
    with pytest.raises(ValueError, match="model is damaged: "):
        kn.load(tmp_path / "model")


def test_a_tensor_of_too_many_dimensions_is_refused_by_name(tmp_path, model):
    header, data = hostile.parted(model)
    scalars = (facts for name, facts in header.items() if name != "__metadata__" and np.prod(facts["shape"]) == 1)
    next(scalars)["shape"] = [1] * 200
    (tmp_path / "model").write_bytes(hostile.joined(header, data))
    with pytest.raises(ValueError, match="model is not a complete Kenyon file"):
        kn.load(tmp_path / "model")


def test_a_model_that_is_described_too_deeply_is_refused(tmp_path, model):
    from safetensors.numpy import save

    text = '{"format": 3, "version": "0", "model": ' + '{"list": [' * 5000
    (tmp_path / "model").write_bytes(save({"t0": np.zeros(1)}, {"kenyon": text}))
    with pytest.raises(ValueError, match="model was not written by Kenyon"):
        kn.load(tmp_path / "model")


LISTS = list(range(1, 400))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "../../x"', "name must be a text that can name a file"),
        ("name = 3", "name must be a text"),
        ('extends = "file.toml"', "extends leads back to"),
        ('extends = "/dev/zero"', "extends must name an experiment file"),
        (f"seed = {'9' * 5000}", "cannot be read"),
        ("seed = " + "[" * 2000 + "]" * 2000, "cannot be read"),
        ("seeds = 10000000000", "seeds must be at most"),
        (f"seed = {LISTS}\nn_test = {LISTS}", "above 100000"),
        (f"learners.Normalised = {{mu = {LISTS}, k = {LISTS}}}", "above 100000"),
        (f"seed = {LISTS}\n" + "[[case]]\n" * 100, "above 100000"),
        ("task.resample = 1000000000", "less than or equal to 100000"),
        ("task = {kind = 'sequence', n_bases = 100000, resample = 10000}", "above 100000"),
        ("task.noise = inf", "finite"),
        ('task.odours = "' + "x" * 5000 + '"', "must be one of"),
        ("learners.Composed = {eta_w = [{a = 1.0}]}", r"eta_w: input should be a valid number, not {'a': 1.0}"),
        ("preset = []", "preset must be one of"),
        ("tune = 3", "tune must be a table"),
    ],
)
def test_an_experiment_that_asks_for_what_cannot_be_is_refused_by_name(tmp_path, text, message):
    path = tmp_path / "file.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"file\.toml: .*{message}"):
        load_experiment(path)


@pytest.mark.parametrize("contents", [TABLE.encode("utf-16"), b"odour,a\nx," + b"9" * 200_000])
def test_a_table_in_another_coding_or_with_a_huge_cell_is_refused_by_name(tmp_path, contents):
    path = tmp_path / "mine.csv"
    path.write_bytes(contents)
    with pytest.raises(ValueError, match=r"mine\.csv: not a table of comma-separated values in UTF-8"):
        kn.Odours.from_csv(path)
