"""What is tried on odours, tasks, reservoirs, readouts and measures."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from scipy import sparse

import kenyon as kn
from kenyon import connectivity
from kenyon.tasks import Draw
from tests.reliability.registry import case
from tests.reliability.strategies import anything, arrays, counts, reals, words

RNG = np.random.default_rng(0)
RATES = RNG.integers(0, 17, (8, 5)) / 8
ODOURS = kn.Odours([f"odour {i}" for i in range(8)], RATES)
TASK = kn.StaticTask(ODOURS, 6, 2, steps=3)
SEQUENCES = kn.SequenceTask(ODOURS, 1, 2, steps=2)
RESERVOIR = kn.Reservoir(10, 0.3, 0.8, n_inputs=5, connections=3.0, input_connections=2.0)
INPUTS = RNG.integers(-8, 9, (4, 3, 5)) / 8
V = RNG.integers(0, 17, (12, 10)) / 8
LABELS = np.arange(12) % 3
ROOM = tempfile.TemporaryDirectory()
FOLDER = Path(ROOM.name)
READOUT = kn.Readout((RNG.integers(-8, 9, (3, 10)) / 8).astype("f4"), (RNG.integers(0, 9, 10) / 8).astype("f4"))
TOO_LARGE = ("spectral_radius", "input_gain", "inputs")  # what the error names when states overflow


@cache
def saved():
    READOUT.save(FOLDER / "readout.safetensors")
    return FOLDER / "readout.safetensors"


def shape_is(*shape):
    def check(result):
        assert result.shape == shape or len(result.shape) == len(shape)
        assert result.dtype == np.float32

    return check


def names_and_rates():
    return {"names": list(ODOURS.names), "rates": RATES, "channels": list("abcde"), "scale": 2.0}


def right_odours(odours):
    assert (odours.scaled >= 0).all()
    assert np.isfinite(odours.scaled).all()
    assert odours.scaled.shape == (len(odours), len(odours.channels))


texts = words([], ["a"], list("abcdefgh"), list("abcdd"), ("a", 1, "c", "d", "e"), "abcdefgh", np.array(list("abcde")))
case("Odours", kn.Odours, names_and_rates,
     {"names": texts, "rates": arrays(RATES), "channels": texts, "scale": reals(), "n_paper": counts(50)},
     clothes={"rates": RATES}, check=right_odours, words={"rates": ("rates", "names", "channels", "scale")})  # fmt: skip


def right_rows(found):
    right_odours(found) if isinstance(found, kn.Odours) else np.testing.assert_equal(found.shape, (5,))


case("Odours.__getitem__", lambda rows: ODOURS[rows], lambda: {"rows": [0, 2]},
     {"rows": words(slice(2), slice(3, 3), [0, 99], [-1], np.ones(8, bool), [[0]], [0, 0], np.arange(3), np.uint8([1]),
                    "odour 3", "odour", ["odour 1", "odour 0"], ("odour 1", 2), np.array(["odour 1"]), ["odour 1"] * 2, 3, 8)},
     clothes={"rows": np.array([0, 2])}, check=right_rows, words={"rows": ("rows", "names")})  # fmt: skip
case("Odours.to_frame", ODOURS.to_frame, see=lambda frame: frame.to_numpy())
case("Odours.plot", lambda **given: plt.close(ODOURS.plot(**given).figure), lambda: {"ax": None}, {"ax": anything()})
case("Odours.resample", ODOURS.resample, lambda: {"n": 4, "seed": 1}, {"n": counts(50), "seed": anything()},
     check=right_odours)  # fmt: skip
case("Odours.from_csv", kn.Odours.from_csv, lambda: {"path": _csv()}, {"path": anything()}, errors=(OSError,))
case("load_odours", kn.load_odours, lambda: {"subset": "fruits"}, {"subset": words("paper", "all")}, check=right_odours)
case("projection_rates", kn.projection_rates, lambda: {"receptor_rates": RATES}, {"receptor_rates": arrays(RATES)},
     clothes={"receptor_rates": RATES})  # fmt: skip


@cache
def _csv():
    path = FOLDER / "odours.csv"
    path.write_text("name,a,b\nx,1,2\ny,3,4\n")
    return path


def task_arguments():
    items, labels = np.array([[0], [3], [5]]), np.array([0, 1, 0])
    return {"odours": ODOURS, "items": items, "labels": labels, "n_classes": 2, "steps": 3, "noise": 0.3}


def right_task(task):
    draw = task.draw(5)
    assert ((draw.labels >= 0) & (draw.labels < task.n_classes)).all()
    if task.n_steps < 1000:
        assert np.isfinite(task.inputs(2)).all()


of_a_task = {"odours": anything(), "n_classes": counts(10), "steps": counts(10), "noise": reals(),
             "noise_kind": words("common", "per_channel")}  # fmt: skip
of_a_drawn_task = {**of_a_task, "seed": anything(), "pool": words("paper", "all")}
case("Task", kn.Task, task_arguments,
     {**of_a_task, "items": arrays(np.array([[0], [3], [5]])), "labels": arrays(np.array([0, 1, 0]))},
     clothes={"items": np.array([[0], [3], [5]]), "labels": np.array([0, 1, 0])},
     see=lambda task: [task.items, task.labels, task.inputs(3)], check=right_task,
     words={"n_classes": ("n_classes", "labels"), "items": ("items", "odours")})  # fmt: skip
case("StaticTask", kn.StaticTask, lambda: {"odours": ODOURS, "n_stimuli": 4, "n_classes": 2, "seed": 0, "noise": 0.1},
     {**of_a_drawn_task, "n_stimuli": counts(50)}, see=lambda task: task.inputs(3), check=right_task,
     words={"n_classes": ("n_classes", "n_stimuli")})  # fmt: skip
case("SequenceTask", kn.SequenceTask, lambda: {"odours": ODOURS, "n_bases": 1, "n_classes": 2, "seed": 0, "noise": 0.1},
     {**of_a_drawn_task, "n_bases": counts(50), "contexts": words("own", "shared")}, see=lambda task: task.inputs(3), check=right_task)  # fmt: skip
of_draw = {"n_episodes": counts(50), "seed": anything(), "first": anything()}
for name, task in {"Task": TASK.split(2)[0], "StaticTask": TASK, "SequenceTask": SEQUENCES}.items():
    case(f"{name}.draw", task.draw, lambda: {"n_episodes": 4, "seed": 1, "first": 2}, of_draw)
    case(f"{name}.inputs", task.inputs, lambda: {"n_episodes": 4, "seed": 1, "first": 2}, of_draw)
    for method in ("show", "episodes"):
        case(f"{name}.{method}", getattr(task, method), lambda task=task: {"draw": task.draw(4)},
             {"draw": words(Draw([99], [0], [[1, 2]]), Draw([0.5], [0], [[1, 2]]), Draw([0, 1], [0, 1], [[1, 2]]),
                            Draw(0, 0, 0), Draw([0], [0], "ab"), TASK.draw, TASK)},
             words={"draw": ("draw", "draw.items", "draw.keys")})  # fmt: skip
    case(f"{name}.split", task.split, lambda: {"n_groups": 2}, {"n_groups": anything()},
         check=lambda parts: [right_task(part) for part in parts])  # fmt: skip
    case(f"{name}.names", task.names, lambda: {"item": 1}, {"item": anything()})


LEAKS = np.arange(1, 11) / 16
case("LogUniform", kn.LogUniform, lambda: {"low": 0.25, "high": 0.5}, {"low": reals(), "high": reals()},
     words={"low": ("low", "high")})  # fmt: skip
case(
    "LogUniform.draw", kn.LogUniform(0.25, 0.5).draw, lambda: {"n": 4, "seed": 1}, {"n": counts(50), "seed": anything()}
)
case("Delays", kn.Delays, lambda: {"taps": 3, "spacings": (1, 2), "centred": True, "balanced": True},
     {"taps": counts(50), "spacings": counts(50) | words((1, 0), [2, 3], (), np.array([1, 2]), (1.5,), ("1",)),
      "centred": anything(), "balanced": anything()},
     words={"centred": ("centred",), "spacings": ("spacings",)})  # fmt: skip
case("Reservoir", kn.Reservoir, lambda: {"n_neurons": 10, "n_inputs": 5, "connections": 3.0},
     {"n_neurons": counts(50), "leak_rate": reals() | arrays(LEAKS) | words(kn.LogUniform(0.1, 2.0)),
      "spectral_radius": reals(), "seed": anything(), "activation": words("relu", "tanh"), "bias_scale": reals(),
      "delays": words(kn.Delays(), kn.Delays(3, (1, 2)), kn.Delays),
      "n_inputs": counts(50), "connections": reals(), "input_connections": reals(), "input_gain": reals(),
      "input_weights": words(*connectivity.INPUT_FORMS)},
     see=lambda reservoir: [reservoir.W, reservoir.W_in],
     words={"n_neurons": ("n_neurons", "neurons"), "seed": ("seed",)})  # fmt: skip
W_IN, W = RNG.integers(-8, 9, (6, 3)) / 8, RNG.integers(-8, 9, (6, 6)) / 8
matrices = [sparse.csr_array(W), sparse.coo_matrix(W), sparse.csc_array(W * np.nan), sparse.csr_array((0, 0)),
            sparse.csr_array(W_IN), sparse.coo_array(np.ones(3)), sparse.csr_array(W * 1j), sparse.dok_array((6, 6))]  # fmt: skip
case("Reservoir.from_weights", kn.Reservoir.from_weights,
     lambda: {"W_in": W_IN, "W": W, "leak_rate": 0.3, "spectral_radius": 0.9},
     {"W_in": arrays(W_IN) | words(*matrices), "W": arrays(W) | words(*matrices), "leak_rate": reals() | arrays(LEAKS[:6]),
      "spectral_radius": reals(), "activation": words("relu", "tanh"), "delays": words(kn.Delays(3), kn.Delays),
      "bias": arrays(LEAKS[:6])},
     clothes={"W_in": W_IN, "W": W, "bias": LEAKS[:6], "leak_rate": LEAKS[:6]}, see=lambda reservoir: [reservoir.W, reservoir.W_in],
     words={"W_in": ("W_in", "W"), "W": ("W", "spectral_radius"), "spectral_radius": ("spectral_radius", "W"),
            "delays": ("delays", "W_in")})  # fmt: skip
case("rewire", kn.rewire, lambda: {"W": W, "seed": 0, "rounds": 2},
     {"W": arrays(W) | words(*matrices), "seed": anything(), "rounds": counts(50)}, clothes={"W": W})  # fmt: skip
case("Reservoir.run", RESERVOIR.run, lambda: {"inputs": INPUTS, "trajectory": False, "threads": 1},
     {"inputs": arrays(INPUTS), "trajectory": anything(), "threads": counts(4)}, clothes={"inputs": INPUTS},
     words={"inputs": TOO_LARGE})  # fmt: skip
case("Reservoir.stream", lambda **arguments: list(RESERVOIR.stream(**arguments)),
     lambda: {"task": TASK, "n_episodes": 5, "seed": 0, "batch_size": 2, "threads": 1},
     {"task": words(kn.StaticTask(kn.load_odours(), 4), kn.StaticTask, SEQUENCES), "n_episodes": counts(50),
      "seed": anything(), "batch_size": counts(50), "threads": counts(4)})  # fmt: skip
case("matched_gain", kn.matched_gain,
     lambda: {"reservoir": RESERVOIR, "reference": RESERVOIR, "task": TASK, "n_episodes": 5, "seed": 0, "threads": 1},
     {"reservoir": words(kn.Reservoir, None), "reference": words(kn.Reservoir, None),
      "task": words(kn.StaticTask(kn.load_odours(), 4), kn.StaticTask, SEQUENCES), "n_episodes": counts(50),
      "seed": anything(), "threads": counts(4)})  # fmt: skip
BATCH = next(RESERVOIR.stream(TASK, 5))
case("Batch", kn.Batch, lambda: {"states": V, "labels": LABELS, "items": LABELS})  # holds what it is given
case("Batch.part", BATCH.part, lambda: {"first": 1, "size": 2}, {"first": anything(), "size": anything()})

of_weights = {"n_neurons": counts(50), "rng": words(np.random, np.random.default_rng, np.random.RandomState(0))}
case("connectivity.recurrent", connectivity.recurrent,
     lambda: {"n_neurons": 10, "connections": 3.0, "radius": 0.8, "rng": np.random.default_rng(0)},
     {**of_weights, "connections": reals(), "radius": reals()},
     words={"n_neurons": ("n_neurons", "neurons")})  # fmt: skip
case("connectivity.mean_connections", connectivity.mean_connections, lambda: {"connections": 3.0, "n_neurons": 10},
     {"connections": reals(), "n_neurons": counts(50)})  # fmt: skip
case("connectivity.mean_inputs", connectivity.mean_inputs,
     lambda: {"input_connections": 3.0, "form": "lognormal", "n_inputs": 10},
     {"input_connections": reals(), "form": words(*connectivity.INPUT_FORMS), "n_inputs": counts(50)},
     words={"form": ("form", "input_weights")})  # fmt: skip
SQUARE = RESERVOIR.W.astype(np.float64)
case("connectivity.spectral_radius", connectivity.spectral_radius, lambda: {"W": SQUARE},
     {"W": words(SQUARE.toarray(), SQUARE[:3], SQUARE * np.nan, SQUARE.astype(complex), SQUARE.tocsc(), SQUARE * 0,
                 sparse.csr_array((0, 0)), SQUARE * 1e300)})  # fmt: skip
case("connectivity.inputs", connectivity.inputs,
     lambda: {"form": "lognormal", "n_neurons": 6, "n_inputs": 5, "input_connections": 2.0, "rng": np.random.default_rng(0)},
     {**of_weights, "form": words(*connectivity.INPUT_FORMS), "n_inputs": counts(50), "input_connections": reals()},
     words={"form": ("form", "input_weights")})  # fmt: skip


def read_by(parts):
    return kn.Readout(**{**READOUT._asdict(), **parts}).outputs(V)


half = np.arange(10) / 8
case("Readout", lambda **parts: read_by(parts), lambda: {"bias": np.zeros(3), "shift": half, "scale": half},
     {"W": arrays(READOUT.W), "theta": arrays(READOUT.theta), "bias": arrays(np.zeros(3)),
      "shift": arrays(half), "scale": arrays(half), "thresholds": anything(), "temperature": reals(), "code": words("on", "on_off")},
     clothes={"W": READOUT.W, "theta": READOUT.theta, "shift": half, "scale": half, "bias": np.zeros(3)},
     words={"W": ("W", "theta", "bias"), "code": ("code", "states")})  # fmt: skip
for method in ("features", "outputs"):
    case(f"Readout.{method}", getattr(READOUT, method), lambda: {"V": V}, {"V": arrays(V)}, clothes={"V": V},
         words={"V": ("states",)})  # fmt: skip
case("Readout.save", READOUT.save, lambda: {"path": FOLDER / "one"},
     {"path": words(FOLDER, FOLDER / "no" / "where", str(FOLDER / "two"), bytes(FOLDER / "three"))}, errors=(OSError,))  # fmt: skip
case("load", kn.load, lambda: {"path": saved()},
     {"path": words(FOLDER, FOLDER / "none", Path(__file__), str(saved()))}, errors=(OSError,), words={"path": ("path", "Kenyon")})  # fmt: skip

AMOUNTS = RNG.integers(0, 9, (6, 3)).astype(float)
case("specificity", kn.specificity, lambda: {"amounts": AMOUNTS, "n_episodes": 12, "relative": False, "mean": False},
     {"amounts": arrays(AMOUNTS), "n_episodes": anything(), "relative": anything(), "mean": anything()},
     clothes={"amounts": AMOUNTS})  # fmt: skip
case("overlap", kn.overlap, lambda: {"amounts": AMOUNTS}, {"amounts": arrays(AMOUNTS)}, clothes={"amounts": AMOUNTS})
CURVE = np.array([0.125, 0.5, 0.75])
case("episodes_to_reach", kn.episodes_to_reach, lambda: {"episode": np.array([1, 2, 3]), "accuracy": CURVE, "level": 0.5},
     {"episode": arrays(np.array([1.0, 2, 3])), "accuracy": arrays(CURVE), "level": reals()},
     clothes={"episode": np.array([1.0, 2, 3]), "accuracy": CURVE}, nan=True)  # fmt: skip
