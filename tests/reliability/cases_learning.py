"""What is tried on rules, learners, controls, training and prelearning."""

import dataclasses

import numpy as np

import kenyon as kn
from tests.reliability.cases_model import LABELS, RESERVOIR, SEQUENCES, TASK, V
from tests.reliability.registry import case
from tests.reliability.strategies import anything, arrays, counts, reals, words

SOURCE = kn.Source(3, "one")
case("Percentile", kn.Percentile, lambda: {"q": 50.0}, {"q": reals()})
case(
    "Percentile.of",
    kn.Percentile(50.0).of,
    lambda: {"V": V},
    {"V": arrays(V)},
    clothes={"V": V},
    words={"V": ("states",)},
)
case("Source", lambda **parts: kn.Source(**parts).uniforms("choice", 0, 3), lambda: {"seed": 0, "name": "one"},
     {"seed": anything(), "name": anything()})  # fmt: skip
EVENTS = {"purpose": anything(), "first": anything(), "n": counts(50)}
case("Source.uniforms", SOURCE.uniforms, lambda: {"purpose": "choice", "first": 2, "n": 3, "each": 1},
     {**EVENTS, "each": counts(2)})  # fmt: skip
case("Source.normals", SOURCE.normals, lambda: {"purpose": "choice", "first": 2, "n": 3}, EVENTS)
case("Source.generator", SOURCE.generator, lambda: {"purpose": "choice", "number": 2},
     {"purpose": anything(), "number": anything()}, see=lambda rng: rng.random(3))  # fmt: skip
case("Diverged", kn.Diverged, lambda: {"name": "one", "episode": 3, "message": "why"})  # holds what it is given
case("Prelearned", kn.Prelearned,
     lambda: {"theta_g": 0.5, "starts": V[0], "ends": V[0], "costs": V[0], "n_episodes": 3, "method": "resets"})  # fmt: skip
case("Info", kn.Info, lambda: {"cost": V[0], "correct": V[0], "proposals": []})
case("Proposal", kn.Proposal,
     lambda: {"theta_g": 0.5, "proposed": 0.6, "cost": 2.0, "proposed_cost": 1.0, "accepted": True})  # fmt: skip

SCHEDULE = kn.Schedule(2.0, 0.5, 10)
case("Schedule", kn.Schedule, lambda: {"start": 2.0, "stop": 0.5, "episodes": 10, "geometric": True},
     {"start": reals(), "stop": reals(), "episodes": anything(), "geometric": anything()},
     check=lambda one: one.at(np.arange(3)))  # fmt: skip
case("Schedule.at", SCHEDULE.at, lambda: {"episode": np.arange(3)}, {"episode": arrays(np.arange(3))},
     clothes={"episode": np.arange(3)})  # fmt: skip
case("Supervised", kn.Supervised, lambda: {"target": 10.0, "temperature": 1.0},
     {"target": reals(), "temperature": words(0.5, SCHEDULE, kn.Schedule)})  # fmt: skip
case("Regression", kn.Regression, lambda: {"size": 10.0}, {"size": reals()})
case("QLearning", kn.QLearning, lambda: {"reward": 10.0, "temperature": 1.0},
     {"reward": reals(), "temperature": words(0.5, SCHEDULE, kn.Schedule)})  # fmt: skip
for name, rule in {
    "Supervised": kn.Supervised(),
    "Regression": kn.Regression(),
    "QLearning": kn.QLearning(temperature=SCHEDULE),
}.items():
    case(
        f"{name}.temperatures", rule.temperatures, lambda: {"first": 3, "n": 4}, {"first": anything(), "n": counts(50)}
    )


def learned(learner, told=LABELS, n=3):
    state, info = learner.update(learner.begin(V, n, SOURCE), V, told)
    return learner.readout(state), info


SETTINGS = {
    **{name: reals() for name in ("eta_w", "eta_theta", "sigma", "beta", "k", "mu")},
    **{name: counts(2**31) for name in ("batch", "period", "horizon")},
    **{name: anything() for name in ("thresholds", "local")},
    "rule": words(kn.Supervised(), kn.QLearning(), kn.Supervised, "supervised"),
    "search": words("global", "per_neuron", None),
    "step": words("fixed", "normalised"),
    "batch_cost": words("mean", "sum"),
    "average_start": words("first", "zero"),
    "acting": words("current", "both"),
    "start": words(0.5, kn.Percentile(50), kn.Percentile, 1e25, "walked"),
    "scaling": words("centred", "standardised", None),
    "code": words("on", "on_off", None),
    "cooling": words("linear", "sqrt", "power", None),
}
LEARNERS = {
    "Learner": kn.Learner(),
    "GradientWeights": kn.GradientWeights(batch=2),
    "GradientThresholds": kn.GradientThresholds(),
    "Metropolis": kn.Metropolis(start=0.5, batch=2, period=2),
    "Composed": kn.Composed(start=0.5, rule=kn.QLearning(), batch=2, period=2),
    "Normalised": kn.Normalised(code="on_off", cooling="power"),
    "Ridge": kn.Ridge(start=kn.Percentile(20.0)),
    "RecursiveLeastSquares": kn.RecursiveLeastSquares(),
    "RecursiveThresholds": kn.RecursiveThresholds(),
}
SWITCHES = ("thresholds", "local", "search", "start", "step", "scaling", "code", "cooling", "horizon")
TOLD_STATES = ("states", "weights")
REWARDS = V[:, 0] - V[:, 1]
for name, learner in LEARNERS.items():
    kind, plain, settings = type(learner), name in ("Ridge", "RecursiveLeastSquares", "RecursiveThresholds"), SETTINGS
    if plain:
        settings = {"penalty": reals(), "rule": SETTINGS["rule"]}
        settings |= {"start": words(0.5, None, kn.Percentile(50))}
    if name == "RecursiveThresholds":
        settings |= {"reach": reals(), "start": words(0.5, kn.Percentile(50))}
    if name == "Ridge":
        settings |= {"intercept": anything(), "code": words("on", "on_off", None)}
    case(name, lambda kind=kind, **settings: learned(kind(**settings)),
         lambda name=name: {} if name not in ("Metropolis", "Composed") else {"start": 0.5},
         settings, see=lambda found: found[0], errors=(kn.Diverged,),
         words={name: (name, *SWITCHES) for name in ("thresholds", "local", "search", "scaling", "step", "start", "code", "cooling", "horizon")}
         | {"rule": ("rule", "targets")})  # fmt: skip
    case(f"{name}.begin", learner.begin, lambda: {"V": V, "n_classes": 3, "source": SOURCE},
         {"V": arrays(V), "n_classes": counts(50), "source": words(("a", 1), (0, "a"))}, clothes={"V": V}, nan=True,
         words={"V": TOLD_STATES})  # fmt: skip
    state = learner.update(learner.begin(V, 3, SOURCE), V, LABELS)[0]
    case(f"{name}.update", learner.update, lambda state=state: {"state": state, "V": V, "labels": LABELS},
         {"state": words(LEARNERS["Learner"].begin(V, 3, SOURCE), LEARNERS["Metropolis"].begin(V, 2, SOURCE)),
          "V": arrays(V), "labels": arrays(LABELS), **({"weights": arrays(np.ones(len(V)))} if name == "Ridge" else {})},
         clothes={"V": V, "labels": LABELS}, nan=True,
         errors=(kn.Diverged,), words={"V": (*TOLD_STATES, "labels"), "labels": ("labels", "states"),
                                       "state": ("state", "labels")})  # fmt: skip
    case(f"{name}.readout", learner.readout, lambda state=state: {"state": state},
         {"state": words(LEARNERS["Learner"].begin(V, 3, SOURCE), LEARNERS["Metropolis"].begin(V, 2, SOURCE))})  # fmt: skip

    if not plain:
        acting = dataclasses.replace(learner, rule=kn.QLearning())
        begun = acting.learn(acting.begin(V, 3, SOURCE), V, LABELS, REWARDS)[0]
        states = words(LEARNERS["Learner"].begin(V, 3, SOURCE), LEARNERS["Metropolis"].begin(V, 2, SOURCE))
        case(f"{name}.act", acting.act, lambda begun=begun: {"state": begun, "V": V}, {"state": states, "V": arrays(V)},
             clothes={"V": V}, words={"V": TOLD_STATES, "state": ("state", "states")})  # fmt: skip
        case(f"{name}.learn", acting.learn,
             lambda begun=begun: {"state": begun, "V": V, "actions": LABELS, "rewards": REWARDS},
             {"state": states, "V": arrays(V), "actions": arrays(LABELS), "rewards": arrays(REWARDS)},
             clothes={"V": V, "actions": LABELS, "rewards": REWARDS}, nan=True, errors=(kn.Diverged,),
             words={"V": (*TOLD_STATES, "actions"), "state": ("state", "actions")})  # fmt: skip
        case(f"{name}.slowed", learner.slowed, lambda: {"factor": 0.5}, {"factor": reals()},
             words={"factor": ("factor", "mu")})  # fmt: skip
        case(f"{name}.over", learner.over, lambda: {"n_episodes": 9}, {"n_episodes": counts(2**31)})
        case(f"{name}.kernel_step", learner.kernel_step, lambda state=state: {"state": state},
             {"state": words(LEARNERS["Learner"].begin(V, 3, SOURCE), LEARNERS["Metropolis"].begin(V, 2, SOURCE))})  # fmt: skip

TARGETS = V[:, :2]
REGRESSION = kn.Normalised(rule=kn.Regression())
case("Normalised.update, by Regression", lambda **told: learned(REGRESSION, n=2, **told), lambda: {"told": TARGETS},
     {"told": arrays(TARGETS)}, clothes={"told": TARGETS}, nan=True, errors=(kn.Diverged,),
     words={"told": ("targets",)})  # fmt: skip


def of_training():
    return {
        "learners": {"one": kn.Normalised()}, "reservoir": RESERVOIR, "n_episodes": 6, "seed": 0, "n_bins": 2,
        "n_test": 4, "threads": 1, "diverged": "raise", "progress": False,
    }  # fmt: skip


hostile_training = {
    "learners": words({"a": kn.Ridge(penalty=0.0)}, {"a": kn.Composed}, {1: kn.Normalised()}, [kn.Normalised()], {"a": 1},
                      {"a": kn.Normalised(rule=kn.Regression())}, {"a": kn.GradientWeights(eta_w=1e9)}),
    "reservoir": words(kn.Reservoir, kn.Reservoir(5, n_inputs=3, connections=2.0)),
    "n_episodes": counts(50), "seed": anything(), "n_bins": counts(50), "n_test": counts(50), "threads": counts(3),
    "diverged": words("raise", "record"), "progress": anything(),
}  # fmt: skip


def right_training(result):
    curve = result.training_accuracy.values
    assert (np.isnan(curve) | ((curve >= 0) & (curve <= 1))).all()


words_of_training = {"reservoir": ("reservoir", "n_inputs"), "learners": ("learners", "eta_w")}
case("train", kn.train, lambda: {**of_training(), "task": TASK}, {**hostile_training, "task": words(SEQUENCES, kn.Task)},
     nan=True, errors=(kn.Diverged,), check=right_training, words=words_of_training)  # fmt: skip
case("train_in_turn", kn.train_in_turn, lambda: {**of_training(), "tasks": TASK.split(2), "calibration": "first"},
     {**hostile_training, "calibration": words("all", "last"),
      "tasks": words([], [TASK], (SEQUENCES, TASK), [TASK, kn.StaticTask(TASK.odours, 4, 3)], [1])},
     nan=True, errors=(kn.Diverged,), check=right_training, words=words_of_training)  # fmt: skip
case("prelearn", kn.prelearn,
     lambda: {"learner": kn.Composed(period=3), "reservoir": RESERVOIR, "task": TASK, "seed": 0, "steps": 6, "threads": 1,
              "method": "walks"},
     {"learner": words(kn.Normalised(start="prelearned", period=2), kn.GradientWeights(), kn.Ridge(), kn.Normalised(rule=kn.Regression())),
      "reservoir": hostile_training["reservoir"], "task": words(SEQUENCES, kn.Task), "seed": anything(),
      "steps": counts(30), "threads": counts(3), "method": words("resets", "walks")}, errors=(kn.Diverged,), words=words_of_training)  # fmt: skip
