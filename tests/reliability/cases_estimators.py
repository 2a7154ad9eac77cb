"""What is tried on estimators and displays."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.exceptions import NotFittedError

import kenyon as kn
from tests.reliability.cases_model import FOLDER, RNG
from tests.reliability.registry import case
from tests.reliability.strategies import anything, arrays, counts, reals, words

SERIES = RNG.integers(-8, 9, (8, 3, 2)) / 8
ROWS = RNG.integers(-8, 9, (8, 4)) / 8
RAGGED = [series[: 1 + i % 3] for i, series in enumerate(SERIES)]
CLASSES = np.arange(8) % 2
NUMBERS = RNG.integers(-8, 9, 8) / 8
SMALL = {"n_neurons": 8, "random_state": 0}
KINDS = {
    "ReservoirClassifier": (SMALL, SERIES, CLASSES),
    "ReservoirRegressor": (SMALL, SERIES, NUMBERS),
    "ReservoirTransformer": (SMALL, SERIES, None),
    "ThresholdReadout": ({"epochs": 2, "random_state": 0}, ROWS, CLASSES),
    "ThresholdRegressor": ({"epochs": 2, "random_state": 0}, ROWS, NUMBERS),
}
LEARNER = words("ridge", "normalised", "composed", "metropolis", "gradient_thresholds", "gradient_weights", kn.Ridge(),
                kn.Ridge(start=kn.Percentile(50)),                 kn.Normalised(rule=kn.QLearning()), kn.Normalised, kn.RecursiveLeastSquares(), kn.GradientWeights())  # fmt: skip
WEIGHT = words("balanced", {0: 1.0, 1: 2.0}, {0: 1.0}, {0: 0.0, 1: 0.0}, {0: -1, 1: 1}, {0: np.nan, 1: 1}, {0: "a", 1: 1},
               {0: 1e300, 1: 1}, {2: 1.0}, [1, 2])  # fmt: skip
STATE = words(0, 2**32, np.random.RandomState(0), np.random.default_rng(0), np.random)
SETTINGS = {
    "learner": LEARNER, "n_neurons": counts(30), "leak_rate": reals(), "spectral_radius": reals(), "n_steps": counts(10),
    "input_scaling": words("range", "channel", "overall"), "epochs": counts(3), "early_stopping": anything(),
    "validation_fraction": reals(), "patience": anything(), "class_weight": WEIGHT, "warm_start": anything(),
    "n_jobs": counts(2), "verbose": counts(0), "random_state": STATE, "both_signs": anything(), "features": words("V", "x"),
    "percentile": reals(), "activation": words("relu", "tanh"), "delays": words(kn.Delays(3), kn.Delays, 3),
    "pooling": words("last", "mean", 2, ["mean", "activity"], ("excess", 3), [], ["last", "last"], [["mean"]], {"mean"}),
    "pooling_percentiles": words((50,), [10, 90], (), (101,), ("a",), 50, np.array([5.0])),
    "forgetting": reals(), "random_features": counts(10),
}  # fmt: skip
LARGE = ("X", "spectral_radius", "inputs")  # what the error names when states overflow


def make(name, **settings):
    return getattr(kn, name)(**{**KINDS[name][0], **settings})


def fitted(name, **settings):
    _, X, y = KINDS[name]
    return make(name, **settings).fit(X, y)


def streamed(name):
    _, X, y = KINDS[name]
    return make(name, learner="normalised").partial_fit(X, y)


def fed(name):
    return streamed(name).feed(SERIES[0, 0], "a")


def used(name, X):
    """What a fitted estimator gives; the transformer transforms."""
    return lambda model: model.transform(X) if name == "ReservoirTransformer" else model.predict(X)


def drawn(make_picture):
    def draw(**given):
        try:
            return make_picture(**given)
        finally:
            plt.close("all")

    return draw


def fit_of(model):
    """What was learned, of an estimator."""
    return [
        model.encoder_.scaling.shift,
        model.encoder_.scaling.factor,
        model.theta_,
        getattr(model, "readout_", None),
        getattr(model, "target_scale_", None),
    ]


for name, (_, X, y) in KINDS.items():
    model = fitted(name)
    names = sorted(model.get_params(deep=False))
    assert not set(names) - set(SETTINGS), set(names) - set(SETTINGS)
    see = used(name, X)
    case(name, lambda name=name, **settings: fitted(name, **settings), lambda: {},
         {setting: SETTINGS[setting] for setting in names}, see=see, errors=(kn.Diverged,),
         words={"n_neurons": ("n_neurons", "neurons"), "random_state": ("random_state", "seed")})  # fmt: skip
    almost = words([], SERIES.tolist(), RAGGED, [*RAGGED, None], [*RAGGED, SERIES[0, :, :1]], np.array([*RAGGED, None], object),
                   [series[:, 0] for series in RAGGED], SERIES[:, :, 0], dict(enumerate(RAGGED)), dict(enumerate(SERIES)), pd.Series(RAGGED),
                   pd.DataFrame(ROWS), [pd.DataFrame(series) for series in RAGGED], pd.Series(ROWS[:, 0], dtype=object), RAGGED[1], RAGGED[2].T, np.array([*RAGGED], object), RAGGED[:1] * 8)  # fmt: skip
    given = {
        "X": almost | arrays(X),
        "y": anything() if y is None else arrays(y) | words(list("abababab"), y == y[0], pd.Series(y)[::-1]),
    }
    valid = {"X": X} if y is None else {"X": X, "y": y}
    weight = {} if y is None else {"sample_weight": arrays(np.ones(8)) | words(np.arange(8), CLASSES, np.full(8, 1e-9))}
    named = {"X": LARGE, "y": ("y", "X"), "sample_weight": ("sample_weight", "y", "X")}
    case(f"{name}.fit", lambda name=name, **given: make(name).fit(**given), valid.copy, given | weight,
         clothes=valid | {name: np.arange(8) for name in weight}, see=fit_of, errors=(kn.Diverged,), words=named)  # fmt: skip
    for method in sorted({"predict", "predict_proba", "decide", "code", "transform"} & set(dir(model))):
        case(f"{name}.{method}", getattr(model, method), lambda X=X, method=method: {"X": X} | ({"random_state": 0} if method == "decide" else {}),
             {"X": given["X"]} | ({"random_state": STATE} if method == "decide" else {}), clothes={"X": X}, words={"X": LARGE})  # fmt: skip
    case(f"{name}.save", model.save, lambda name=name: {"path": FOLDER / name},
         {"path": words(FOLDER, FOLDER / "no" / "where", bytes(FOLDER / "three"))}, errors=(OSError,))  # fmt: skip
    if y is None:
        continue
    case(f"{name}.score", model.score, valid.copy, given | weight, clothes=valid,
         words={"X": (*LARGE, "y"), "sample_weight": ("sample_weight", "y")})  # fmt: skip
    more = {"classes": [0, 1]} if hasattr(model, "classes_") else {}
    case(f"{name}.partial_fit", lambda name=name, **given: make(name).partial_fit(**given),
         lambda valid=valid, more=more: {**valid, **more},
         given | weight | ({"classes": arrays(np.arange(2)) | words(["a", "b"], [0, "a"], [0, np.nan])} if more else {}),
         clothes=valid | {key: np.array(value) for key, value in more.items()}, see=fit_of, errors=(kn.Diverged,),
         words=named | {"classes": ("classes", "y")})  # fmt: skip
    one = {
        "x": arrays(X[0]) | words(X, X[0].tolist(), None, {"a": 1.0}, 3.0, [[]]),
        "y": anything() | words("a", [0], None, np.nan, 7),
    }
    case(f"{name}.learn_one", lambda name=name, **given: streamed(name).learn_one(**given), lambda X=X, y=y: {"x": X[0], "y": y[0].item()},
         one, see=fit_of, errors=(kn.Diverged,), words={"x": (*LARGE, "x"), "y": ("y", "X")})  # fmt: skip
    for method in sorted({"predict_one", "predict_proba_one"} & set(dir(model))):
        case(f"{name}.{method}", lambda name=name, method=method, **given: getattr(streamed(name), method)(**given),
             lambda X=X: {"x": X[0]}, {"x": one["x"]}, words={"x": (*LARGE, "x")})  # fmt: skip
    if hasattr(model, "feed"):
        keys = {"key": anything() | words("a", ("a", 1), [1], {}, None)}
        case(f"{name}.feed", lambda name=name, **given: streamed(name).feed(**given), lambda X=X: {"x": X[0, 0], "key": "a"},
             {"x": arrays(X[0, 0]) | words(X, None, 3.0), **keys}, see=fit_of, words={"x": (*LARGE, "x")})  # fmt: skip
        case(
            f"{name}.predict_now", lambda name=name, **given: fed(name).predict_now(**given), lambda: {"key": "a"}, keys
        )
        case(f"{name}.learn_now", lambda name=name, **given: fed(name).learn_now(**given), lambda y=y: {"y": y[0].item(), "key": "a"},
             {"y": one["y"], **keys}, see=fit_of, errors=(kn.Diverged,))  # fmt: skip
        case(f"{name}.end", lambda name=name, **given: fed(name).end(**given), lambda: {"key": "a"}, keys, see=fit_of)
    case(f"{name}.rank_neurons", model.rank_neurons, see=lambda table: [table.to_numpy(), table.index.to_numpy()])
    case(f"{name}.get_params", model.get_params, hostile={"deep": anything()})
    case(
        f"{name}.set_params",
        lambda name=name, **settings: make(name).set_params(**settings),
        lambda: {"learner__start": 0.5},
    )

    sparse_model = fitted(name, learner="normalised")
    for method in ("plot_learning_curve", "plot_thresholds"):
        case(f"{name}.{method}", drawn(getattr(sparse_model, method)), lambda: {"ax": None}, {"ax": anything()})
    case(f"{name}.plot_code", drawn(sparse_model.plot_code), lambda X=X: {"X": X, "ax": None},
         {"X": given["X"], "ax": anything(), "y": given["y"]}, words={"X": LARGE})  # fmt: skip

TABLE = pd.DataFrame(
    {"fly": list("bbbaac"), "t": [2, 0, 1, 0, 1, 0], "a": CLASSES[:6] / 8, "b": NUMBERS[:6], "kind": list("xxxyyx")}
)
COLUMNS = ("fly", "t", "a", "b", "kind", "c", ["a"], [], ["a", "a"], ["a", "t"], np.array(["a", "b"]), pd.Index(["b"]))
case("series_from_frame", kn.series_from_frame,
     lambda: {"frame": TABLE, "id": "fly", "time": "t", "channels": ["a", "b"], "label": "kind"},
     {"frame": words(TABLE[:0], TABLE[["a", "fly"]], TABLE.mask(TABLE == 1), TABLE.set_index("fly"), TABLE.astype(str), TABLE.astype(object),
                     TABLE.t, TABLE.to_numpy(), pd.concat([TABLE, TABLE]), TABLE.assign(kind=range(6)), TABLE.assign(t=[[]] * 6)),
      **{name: words(*COLUMNS) for name in ("id", "time", "channels", "label")}},
     see=lambda result: [x.to_numpy() for x in (result[0] if isinstance(result, tuple) else result)],
     words={"frame": ("frame", "id", "time", "channels", "label"), "id": ("id", "label", "time")})  # fmt: skip

MODEL = fitted("ThresholdReadout")
for X, model in ((ROWS, MODEL), (SERIES, fitted("ReservoirClassifier"))):
    case(f"permutation_importance{' of series' if X is SERIES else ''}", kn.permutation_importance,
         lambda X=X, model=model: {"model": model, "X": X, "y": CLASSES, "random_state": 0},
         {"model": words(MODEL, kn.ThresholdReadout(), kn.ThresholdReadout), "X": arrays(X) | words(RAGGED),
          "y": arrays(CLASSES), "n_repeats": counts(3), "n_jobs": counts(2), "random_state": STATE,
          "scoring": words("accuracy", "r2", ["r2"], {"a": "r2"}, lambda model, X, y: 0.5)},
         clothes={"X": X, "y": CLASSES}, words={"X": (*LARGE, "y"), "model": ("model", "scoring", "X", "estimator"), "y": ("y", "X")})  # fmt: skip
ESTIMATOR = words(
    kn.ThresholdReadout(), kn.ThresholdReadout, fitted("ReservoirTransformer"), fitted("ReservoirClassifier")
)
CURVE = np.array([0.125, 0.5, 0.75])
CODE = np.abs(ROWS)
DISPLAYS = {
    "LearningCurveDisplay": (
        lambda: {"epoch": np.arange(3.0), "training": CURVE, "validation": CURVE, "score_name": "accuracy"},
        {
            "epoch": arrays(np.arange(3.0)),
            "training": arrays(CURVE),
            "validation": arrays(CURVE),
            "score_name": anything(),
        },
    ),
    "ThresholdsDisplay": (
        lambda: {"theta": CURVE, "coding_level": 0.5},
        {"theta": arrays(CURVE), "coding_level": reals()},
    ),
    "CodeDisplay": (
        lambda: {"code": CODE, "labels": CLASSES},
        {"code": arrays(CODE), "labels": arrays(CLASSES) | words(list("abababab"))},
    ),
}
for name, (valid, hostile) in DISPLAYS.items():
    kind = getattr(kn, name)
    more = {"X": ROWS} if name == "CodeDisplay" else {}
    case(name, drawn(lambda kind=kind, **parts: kind(**parts).plot()), valid, hostile,
         words={"epoch": ("epoch", "training"), "code": ("code", "labels")})  # fmt: skip
    case(f"{name}.plot", drawn(kind(**valid()).plot), lambda: {"ax": None}, {"ax": anything()})
    case(f"{name}.from_estimator", drawn(kind.from_estimator),
         lambda more=more: {"estimator": MODEL, "ax": None, **more},
         {"estimator": ESTIMATOR, "ax": anything()} | ({"X": arrays(ROWS), "y": arrays(CLASSES)} if more else {}),
         errors=(NotFittedError,), words={"estimator": ("estimator", "fitted", "learner", "features")})  # fmt: skip
