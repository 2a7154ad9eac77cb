"""What is tried on estimators with an output at every step, and on measures of reservoirs."""

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

import kenyon as kn
from tests.reliability.cases_estimators import LEARNER, SETTINGS, STATE, drawn
from tests.reliability.cases_model import FOLDER, INPUTS, RESERVOIR, RNG
from tests.reliability.registry import case
from tests.reliability.strategies import anything, arrays, counts, reals, words

X = RNG.integers(-8, 9, (12, 2)) / 8
LABELS = np.arange(12) // 2 % 2
NUMBERS = RNG.integers(-8, 9, 12) / 8
SMALL = {"n_neurons": 8, "washout": 2, "random_state": 0}
KINDS = {
    "SequenceRegressor": (kn.SequenceRegressor, NUMBERS),
    "SequenceClassifier": (kn.SequenceClassifier, LABELS),
    "Forecaster": (kn.Forecaster, None),
}
OWN = {name: SETTINGS[name] for name in ("n_neurons", "leak_rate", "spectral_radius", "activation", "n_jobs")} | {
    "learner": LEARNER, "input_gain": reals(), "bias_scale": reals(), "washout": counts(9), "epochs": counts(3),
    "random_state": STATE, "noise": reals(),
}  # fmt: skip
LARGE = ("X", "spectral_radius", "input_gain", "inputs")  # what the error names when states overflow
SEVERAL = [X[:5], X]
FORMS = words([], SEVERAL, [*SEVERAL, None], [X, X[:, :1]], X.tolist(), X[None], dict(enumerate(SEVERAL)), pd.DataFrame(X), X[:, 0], X[:2])  # fmt: skip


def make(name, **settings):
    return KINDS[name][0](**{**SMALL, **settings})


def fitted(name, **settings):
    y = KINDS[name][1]
    return make(name, **settings).fit(X, *([] if y is None else [y]))


def used(model):
    return model.forecast(3) if isinstance(model, kn.Forecaster) else model.predict(X)


def learned(model):
    return [model.encoder_.scaling.shift, model.encoder_.scaling.factor, *model._reading()]


for name, (_, y) in KINDS.items():
    model = fitted(name)
    names = sorted(model.get_params(deep=False))
    case(name, lambda name=name, **settings: fitted(name, **settings), dict, {setting: OWN[setting] for setting in names},
         see=used, errors=(kn.Diverged,),
         words={"n_neurons": ("n_neurons", "neurons"), "random_state": ("random_state", "seed"), "noise": ("noise", "X", "horizon"),
                "spectral_radius": ("spectral_radius", "horizon")})  # fmt: skip
    case(
        f"{name}.save",
        model.save,
        lambda name=name: {"path": FOLDER / name},
        {"path": words(FOLDER)},
        errors=(OSError,),
    )
    case(f"{name}.get_params", model.get_params, hostile={"deep": anything()})
    case(
        f"{name}.set_params",
        lambda name=name, **settings: make(name).set_params(**settings),
        lambda: {"learner__penalty": 0.5},
    )
    if y is None:
        continue
    valid = {"X": X, "y": y}
    given = {"X": FORMS | arrays(X), "y": arrays(y) | words(list("abababababab"), pd.Series(y), [y[:5], y])}
    more = {"continued": anything()}
    named = {"X": (*LARGE, "y", "washout"), "y": ("y", "X", "classes")}
    case(f"{name}.fit", lambda name=name, **given: make(name).fit(**given), valid.copy, given, clothes=valid, see=learned,
         words=named)  # fmt: skip
    known = {"classes": arrays(np.arange(2)) | words(["a", "b"], [0, "a"], [0, np.nan])} if y is LABELS else {}
    case(f"{name}.partial_fit", lambda name=name, **given: fitted(name).partial_fit(**given), valid.copy, given | more | known,
         clothes=valid, see=learned, words=named | {"X": (*LARGE, "y", "features", "continued"), "classes": ("classes", "y")})  # fmt: skip
    for method in sorted({"predict", "predict_proba"} & set(dir(model))):
        case(f"{name}.{method}", lambda name=name, method=method, **given: getattr(fitted(name), method)(**given),
             lambda: {"X": X}, {"X": FORMS | arrays(X)} | more, clothes={"X": X}, see=lambda found: found, words={"X": LARGE})  # fmt: skip
    case(f"{name}.score", lambda name=name, **given: fitted(name).score(**given), valid.copy, given | more, clothes=valid,
         nan=True, words=named)  # fmt: skip

KNOWN = RNG.integers(-8, 9, (15, 1)) / 8
case("Forecaster.fit", lambda **given: make("Forecaster").fit(**given), lambda: {"X": X, "exogenous": KNOWN[:12]},
     {"X": FORMS | arrays(X), "y": anything(), "exogenous": arrays(KNOWN[:12]) | words(None, [KNOWN[:12]], 3)},
     clothes={"X": X, "exogenous": KNOWN[:12]}, see=learned, words={"X": (*LARGE, "washout", "exogenous"), "exogenous": ("exogenous", "X")})  # fmt: skip
KNOWING = make("Forecaster").fit(X, exogenous=KNOWN[:12])
case("Forecaster.forecast", KNOWING.forecast, lambda: {"horizon": 3, "history": X, "exogenous": KNOWN},
     {"horizon": counts(3), "history": FORMS | arrays(X), "exogenous": arrays(KNOWN) | words(None, [KNOWN], KNOWN[:3])},
     clothes={"history": X, "exogenous": KNOWN},
     words={"horizon": ("horizon", "exogenous"), "history": ("history", "exogenous", "X", "inputs", "horizon"), "exogenous": ("exogenous", "X", "horizon")})  # fmt: skip

RUN = RNG.integers(-8, 9, (6, 2)) / 8
case("ForecastDisplay", drawn(lambda **parts: kn.ForecastDisplay(**parts).plot()), lambda: {"forecast": RUN, "truth": RUN},
     {"forecast": arrays(RUN), "truth": arrays(RUN)}, words={"forecast": ("forecast", "truth"), "truth": ("truth", "forecast")})  # fmt: skip
case("ForecastDisplay.plot", drawn(kn.ForecastDisplay(forecast=RUN).plot), lambda: {"ax": None}, {"ax": anything()})
AHEAD = fitted("Forecaster")
PLOTTED = {"horizon": counts(3), "truth": arrays(X[:3]), "history": FORMS | arrays(X), "exogenous": words(None, KNOWN), "ax": anything()}  # fmt: skip
NAMED = {"horizon": ("horizon", "truth"), "history": ("history", "X", "inputs", "horizon"), "truth": ("truth", "forecast")}  # fmt: skip
case("ForecastDisplay.from_estimator", drawn(kn.ForecastDisplay.from_estimator),
     lambda: {"estimator": AHEAD, "horizon": 3, "truth": X[:3], "ax": None},
     {"estimator": words(kn.Forecaster(), kn.Forecaster, fitted("SequenceRegressor"))} | PLOTTED,
     errors=(NotFittedError,), words=NAMED | {"estimator": ("estimator", "fitted")})  # fmt: skip
case(
    "Forecaster.plot_forecast", drawn(AHEAD.plot_forecast), lambda: {"horizon": 3, "truth": X[:3]}, PLOTTED, words=NAMED
)
for name in KINDS:
    model = fitted(name, learner="normalised")
    case(f"{name}.plot_thresholds", drawn(model.plot_thresholds), lambda: {"ax": None}, {"ax": anything()})

ONE = RNG.integers(-8, 9, (210, 5)) / 8
for name in ("memory_capacity", "information_capacity"):
    case(name, getattr(kn, name), lambda: {"reservoir": RESERVOIR, "max_delay": 3, "n_steps": 50, "seed": 0},
         {"reservoir": words(RESERVOIR, None, 3), "max_delay": counts(9), "n_steps": counts(60), "seed": counts(9)})  # fmt: skip
case("lyapunov_exponent", kn.lyapunov_exponent, lambda: {"reservoir": RESERVOIR, "inputs": ONE, "seed": 0},
     {"reservoir": words(RESERVOIR, None), "inputs": arrays(ONE), "seed": counts(9)}, clothes={"inputs": ONE}, nan=True)  # fmt: skip
case("kernel_rank", kn.kernel_rank, lambda: {"reservoir": RESERVOIR, "series": INPUTS},
     {"reservoir": words(RESERVOIR, None), "series": arrays(INPUTS)}, clothes={"series": INPUTS})  # fmt: skip
case("generalisation_rank", kn.generalisation_rank,
     lambda: {"reservoir": RESERVOIR, "series": INPUTS[0], "noise": 0.1, "n_copies": 5, "seed": 0},
     {"reservoir": words(RESERVOIR, None), "series": arrays(INPUTS[0]), "noise": reals(), "n_copies": counts(9), "seed": counts(9)},
     clothes={"series": INPUTS[0]}, words={"noise": ("noise", "series")})  # fmt: skip
case("separation", kn.separation, lambda: {"reservoir": RESERVOIR, "series": INPUTS, "others": INPUTS + 1},
     {"reservoir": words(RESERVOIR, None), "series": arrays(INPUTS), "others": arrays(INPUTS)},
     clothes={"series": INPUTS, "others": INPUTS + 1}, words={"series": ("series", "others")})  # fmt: skip
