"""Every reader of files: valid files for it, ways to spoil them, and what must hold when one is read."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import h5py
import numpy as np

import kenyon as kn
from kenyon.experiment.config import TRIAL_FORMAT
from kenyon.experiment.executor import run_experiment
from kenyon.experiment.export import table
from kenyon.experiment.status import describe_status, read_status
from kenyon.experiment.store import Store, StoreError
from kenyon.experiment.sweep import load_experiment
from kenyon.experiment.tune import load_study
from kenyon.paper.reproduce import _read_clock
from tests.estimators.data import sines
from tests.reliability import hostile
from tests.reliability.mutators import BYTES, pick

TINY = {
    "name": "tiny", "seeds": 2, "n_episodes": 200, "n_test": 20, "n_bins": 4, "task": {"n_stimuli": 6, "steps": 4},
    "reservoir": {"n_neurons": 20, "connections": 5.0}, "learners": {"GradientWeights": {}, "Normalised": {}},
}  # fmt: skip
TABLE = 'odour,a,b,c\none,1,2.5,0\ntwo,0,4,1e1\n"three, four",7,7,7\nfive,3,2,1\nsix,1,1,2\nseven,0,0,9\n'
FILES = {
    "tune.toml": 'n_test = 9\n[tune]\nlearner = "Normalised"\n[tune.search]\n"reservoir.leak_rate" = [0.1, 0.2]\n',
    "cases.toml": "seeds = 2\nzip = [['task.noise', 'task.steps']]\n[task]\nnoise = [0.1, 0.2]\nsteps = [5, 8]\n"
    "[[case]]\nlabel = 'a'\nn_test = 50\n[[case]]\nlabel = 'b'\nlearners.Composed = {eta_w = [0.1, 0.2]}\n",
    "base.toml": 'preset = "sequence"\n[task]\nn_bases = 2\n[learners.x]\nkind = "Learner"\nrule = "q-learning"\n',
    "own.toml": 'extends = "../bait/other.toml"\nname = "own"\n[task]\nodours = "../bait/table.csv"\nn_stimuli = 4\n',
}  # fmt: skip
X, Y = sines(12)
STEPS = np.concatenate([series[:, :2] for series in X[:3]])


class Wrong(AssertionError):
    """A file that was read as something else than what was written."""


class Reader(NamedTuple):
    """Something that reads files."""

    name: str  # of the file, in its folder
    files: list[bytes]  # valid ones, those that belong under that name first
    beside: dict[str, bytes]  # what else lies in the folder
    mutators: tuple[Callable[..., bytes], ...]  # besides those of bytes
    read: Callable[[Path, bool], Any]  # given the file, and whether it may rightly differ; raises `Wrong`


def lay_bait(folder: Path) -> None:
    """Make a folder that files point at, and that nobody may write to."""
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "secret").write_text(TABLE)
    (folder / "table.csv").write_text(TABLE)
    (folder / "other.nc").write_bytes(next(iter(_results().values())))
    (folder / "other.toml").write_text("n_episodes = 300\n")
    (folder / "loop.toml").write_text('extends = "../bait/loop.toml"\n')


def _results(cache: dict[str, bytes] = {}) -> dict[str, bytes]:  # noqa: B006 (made once)
    """Return results by their trials."""
    import tempfile

    if not cache:
        same = patch("kenyon.experiment.trial._timing", lambda *_: {"seconds": 1.0})  # whenever they are made
        with tempfile.TemporaryDirectory() as folder, same:
            run_experiment(load_experiment(TINY), folder, workers=0)
            cache.update({path.stem: path.read_bytes() for path in sorted(Path(folder).glob("*.nc"))})
    return cache


def results() -> Reader:
    """Results in netCDF: read alone, together, as a table."""
    (trial, own), (other, theirs) = _results().items()
    truth = _read_alone(trial, own)
    listed = json.dumps({"kenyon_format": TRIAL_FORMAT, "name": "tiny", "trials": {trial: {}, other: {}}}).encode()

    def read(path: Path, changed: bool) -> None:
        store = Store(path.parent)
        stored = store.read(trial)
        for name, (dimensions, values) in truth.variables.items():
            now = stored.variables.get(name)
            if not changed and (now is None or now[0] != dimensions or not _same(now[1], values)):
                raise Wrong(name)
        json.loads(stored.attributes["provenance"])
        kn.open_results(path.parent, "tiny", neurons=True)
        table(path.parent)
        describe_status(read_status(path.parent))

    mutators = (
        hostile.attributes, hostile.described, hostile.variables, hostile.links, hostile.storage, hostile.foreign,
    )  # fmt: skip
    return Reader(f"{trial}.nc", [own, theirs], {f"{other}.nc": theirs, "tiny.experiment.json": listed}, mutators, read)


def library() -> Reader:
    """The same with damage under a valid seal: what the HDF5 library itself does with damaged files."""
    return results()._replace(mutators=(hostile.resealed,))


def _read_alone(trial: str, contents: bytes) -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{trial}.nc").write_bytes(contents)
        return Store(folder).read(trial)


def _same(a: Any, b: Any) -> bool:
    return np.asarray(a).dtype == np.asarray(b).dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def models() -> Reader:
    """Estimators and readouts in safetensors: loaded, used, and gone on with."""
    import tempfile

    flat, small = np.stack([series[:5].ravel() for series in X]), {"n_neurons": 20, "random_state": 0, "epochs": 2}
    steps = {**small, "washout": 5}
    made = [
        kn.ReservoirClassifier("normalised", **small).fit(X, np.array(["low", "mid", "high"])[Y]),
        kn.ReservoirRegressor("composed", **small).fit(X, np.sin(Y)),
        kn.ThresholdReadout("ridge", random_state=0).fit(flat, Y),
        kn.ThresholdReadout(random_features=5, random_state=0).partial_fit(flat, Y),
        kn.ReservoirRegressor("normalised", **small).partial_fit(X, np.sin(Y)),
        kn.SequenceRegressor("recursive", **steps).fit(STEPS, STEPS[:, 0]),
        kn.SequenceClassifier("normalised", **steps).partial_fit(STEPS, STEPS[:, 0] > 0),
        kn.Forecaster(**steps).fit(STEPS),
    ]
    files, width = [], made[0].readout_.n_neurons
    with tempfile.TemporaryDirectory() as folder:
        for model in [*made, made[0].readout_]:
            model.save(Path(folder) / "model")
            files.append((Path(folder) / "model").read_bytes())

    def use(model: Any) -> Any:
        if isinstance(model, kn.Readout):
            return model.outputs(np.ones((2, width), np.float32))
        if isinstance(model, kn.Forecaster):
            return model.forecast(5), model.forecast(3, STEPS[:9])
        if isinstance(model, (kn.SequenceRegressor, kn.SequenceClassifier)):
            told = STEPS[:, 0] if isinstance(model, kn.SequenceRegressor) else STEPS[:, 0] > 0
            answer = model.predict(STEPS[:5], continued=True)
            model.partial_fit(STEPS, told, continued=True)
            return answer, model.predict(STEPS[:5])
        data = flat if isinstance(model, kn.ThresholdReadout) else X
        answer = model.predict(data[:3])
        told = model.classes_[Y % len(model.classes_)] if hasattr(model, "classes_") else np.sin(Y)
        model.partial_fit(data, told)
        return answer, model.predict(data[:3])

    truths = [use(model) for model in [*made, made[0].readout_]]

    def read(path: Path, changed: bool) -> None:
        model = kn.load(path)
        try:
            answer = use(model)
        except Exception:  # of a model that was made up; a process that dies is another matter
            if not changed:
                raise Wrong("the model cannot be used") from None
            return
        if not changed and not any(_alike(answer, truth) for truth in truths):
            raise Wrong("the model answers otherwise")

    return Reader("model.kenyon", files, {}, (hostile.header, hostile.description, hostile.tensors), read)


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return isinstance(b, tuple) and all(map(_alike, a, b))
    return not isinstance(b, tuple) and np.array_equal(a, b)


def experiments() -> Reader:
    """Experiments in TOML: read, expanded, listed in a folder of results."""
    files = [hostile.document(TINY), *(text.encode() for text in FILES.values())]

    def read(path: Path, changed: bool) -> None:
        experiment = load_experiment(path)
        for trial in experiment.trials:
            again = type(trial).model_validate_json(trial.canonical())
            if again != trial or again.id != trial.id:
                raise Wrong(trial.canonical())
        store = Store(path.parent / "results")
        store.create()
        store.register(experiment)
        if store.experiments()[experiment.name] != [trial.id for trial in experiment.trials]:
            raise Wrong("the list of trials")
        (store.folder / f"{experiment.name}.experiment.json").unlink()
        if experiment.tune:
            load_study(path)

    return Reader("file.toml", files, {}, (hostile.settings, hostile.settings, hostile.explosions, hostile.names), read)


def odours() -> Reader:
    """Tables of odours in CSV."""

    def read(path: Path, changed: bool) -> None:
        found = kn.Odours.from_csv(path)
        sound = np.isfinite(found.rates).all() and (found.rates >= 0).all() and np.isfinite(found.scaled).all()
        if not sound or found.rates.shape != (len(set(found.names)), len(set(found.channels))):
            raise Wrong(repr(found))

    more = "odour,x\r\n" + "".join(f"o{i},{i}\r\n" for i in range(50))
    return Reader("table.csv", [TABLE.encode(), more.encode()], {}, (hostile.cells, hostile.tables), read)


def notes() -> Reader:
    """What lies beside results in JSON: the list of an experiment's trials, a running sweep's notes, failures."""
    (trial, own), (other, theirs) = _results().items()
    listed = {"kenyon_format": TRIAL_FORMAT, "name": "tiny", "trials": {trial: {}, other: {}}}
    clock = {"seeds": 5, "quick": False, "seconds": 3.5}
    files = [listed, {"running": [trial], "time": 1e9, "left": 3.5}, {"error": "why"}, clock]
    beside = {f"{trial}.nc": own, f"{other}.nc": theirs, "sound.experiment.json": json.dumps(listed).encode()}
    names = ("tiny.experiment.json", "sound.running.json", f"{'0' * 20}.failed.json", "run.json")

    def read_as(name: str, path: Path) -> None:
        path.rename(path.parent / name)
        try:
            found = read_status(path.parent)
            describe_status(found)
            if name in names[:1]:
                kn.open_results(path.parent, "tiny")
            _read_clock(path.parent)
        finally:
            (path.parent / name).rename(path)

    def read(path: Path, changed: bool) -> None:
        refused = []
        for name in names:
            try:
                with patch("kenyon.experiment.status.STOPPED_AFTER", 1e12):  # every sweep counts as running
                    read_as(name, path)
            except StoreError as error:
                refused.append(error)
        if len(refused) == len(names):
            raise refused[0]

    return Reader(
        "note.json", [json.dumps(facts).encode() for facts in files], beside, (hostile.facts, hostile.depths), read
    )


MISDEEDS = {  # by what is to be said of them
    "hang, more than 1 s": lambda bait: [None for _ in iter(int, 1)],
    "crash, SIGSEGV": lambda bait: os.kill(os.getpid(), signal.SIGSEGV),
    "compiles text": lambda bait: eval("1"),
    "subprocess.Popen": lambda bait: subprocess.run(["true"]),
    "open": lambda bait: (bait / "x").write_text(""),
    "wrote elsewhere": lambda bait: h5py.File(bait / "x", "w").close(),
    "read as something else": lambda bait: _raise(Wrong("other numbers")),
    "ValueError that does not name the file": lambda bait: int("x"),
    "KeyError": lambda bait: {}["x"],
    "MemoryError": lambda bait: bytearray(2**40),
}


def _raise(error: BaseException) -> None:
    raise error


def misdeeds() -> Reader:
    """What no reader may do, one after another: to see that it is caught."""
    acts = list(MISDEEDS.values())

    def read(path: Path, changed: bool) -> None:
        number = int(path.read_bytes()[:1] or b"0")
        if changed:
            acts[number](path.parent.parent / "bait")

    return Reader("number", [], {}, (), read)


READERS = {reader.__name__: reader for reader in (results, models, experiments, odours, notes)}
BENEATH = {"library": library, "misdeeds": misdeeds}


def spoil(reader: Reader, seed: int, number: int) -> tuple[bytes, bool, str]:
    """Return spoilt file number `number`, whether it may rightly be read as something else, and how it was made."""
    if not reader.files:
        return str(number).encode(), True, "misdeed"
    rng = np.random.default_rng([seed, number])
    while reader.mutators and rng.random() < 0.5:
        mutator = pick(rng, reader.mutators)
        with suppress(OSError, ValueError, TypeError, RuntimeError):  # the library refuses to write some of them
            return mutator(rng, reader.files), True, mutator.__name__
    mutator = pick(rng, BYTES)
    undigested = not reader.name.endswith((".nc", ".kenyon"))
    return mutator(rng, reader.files), undigested, mutator.__name__
