"""What `controls.py` runs: tasks, controls, their grids, seeds and episodes, written down before it was run."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import kenyon as kn

Settings = dict[str, Any]
RULES = {"told": "supervised", "by reward": "q-learning"}
SCORE = "argmax_accuracy"
STEPS, X = (0.02, 0.08, 0.3, 1.2), {"start": {"percentile": 85.0}}
READINGS: dict[str, Settings] = {
    "V": {}, "V centred": {"scaling": "centred"}, "V standardised": {"scaling": "standardised"}, "x": X
}  # fmt: skip
TASKS: dict[str, Settings] = {
    "140 stimuli": {"preset": "static", "task": {"n_stimuli": 140}, "n_episodes": 60_000},
    "176 stimuli": {"preset": "static", "task": {"n_stimuli": 176}, "n_episodes": 60_000},
    "336 sequences": {"preset": "sequence", "task": {"n_bases": 28}, "n_episodes": 100_000},
    "1,000 odours": {"preset": "static", "task": {"n_stimuli": 1000, "resample": 1000}, "n_episodes": 100_000},
}
QUICK: Settings = {"reservoir": {"n_neurons": 150}, "n_episodes": 300, "n_test": 50}


class Stage(NamedTuple):
    """The seeds of a stage, the episodes of its tests, and which part of a task's episodes learners have."""

    seeds: tuple[int, ...]
    n_test: int
    part: int = 1  # 1 / part of them


class Family(NamedTuple):
    """A control in all of its readings, and the settings that it is tried with."""

    name: str
    text: str
    settings: Settings
    setting: str  # that is chosen,
    grid: tuple[float, ...]  # from these
    readings: tuple[str, ...] = ("V", "V standardised", "x")
    rules: tuple[str, ...] = tuple(RULES)
    group: str = "online"


class Row(NamedTuple):
    """A learner of the tables: a control as one reading has it, or one of ours, which is not tuned."""

    settings: Settings
    setting: str = ""
    grid: tuple[float, ...] = ()
    rules: tuple[str, ...] = tuple(RULES)
    group: str = "online"


TUNING, REPORT = Stage((1000,), 2000, part=4), Stage((0, 1, 2), 2000)


def own(kind: str, **settings: Any) -> Settings:
    return {"kind": f"kenyon.paper.{kind}", **settings}


FAMILIES = (
    Family(
        "normalised steps",
        "The error of an episode is multiplied by 1 − μ (Nagumo & Noda 1967); as `Normalised`, but thresholds stay.",
        {"kind": "Learner", "step": "normalised", "batch": 1}, "mu", STEPS, tuple(READINGS),
    ),
    Family(
        "whitened, 10 components",
        "The same on standardised V whose 10 leading principal components, over the first 3,000 episodes, are scaled "
        "down to the variance of the next.",
        own("whitened:Whitened", components=10), "mu", STEPS, ("V",),
    ),
    Family(
        "whitened, 100 components", "The same with 100 components.",
        own("whitened:Whitened", components=100), "mu", STEPS, ("V",),
    ),
    Family(
        "AdaGrad",
        "Gradients over the root of the sum of their squares, for each weight (Duchi, Hazan & Singer 2011).",
        own("controls:AdaptiveSteps", method="adagrad"), "rate", (0.1, 0.4, 1.6, 6.4, 25.6),
    ),
    Family(
        "RMSprop", "Gradients over the root of a running mean of their squares (Tieleman & Hinton 2012).",
        own("controls:AdaptiveSteps", method="rmsprop"), "rate", (0.0064, 0.025, 0.1, 0.4, 1.6),
    ),
    Family(
        "Adam", "As RMSprop, with a running mean of gradients; both corrected for their start (Kingma & Ba 2015).",
        own("controls:AdaptiveSteps", method="adam"), "rate", (0.0064, 0.025, 0.1, 0.4, 1.6),
    ),
    Family(
        "passive-aggressive",
        "PA-I, the smallest change that repairs an episode, up to a limit (Crammer et al. 2006): hinge loss between "
        "the right and the best wrong class; by reward, their regression on the row of the action taken.",
        own("controls:PassiveAggressive"), "aggressiveness", (0.025, 0.1, 0.4, 1.6, 6.4),
    ),
    Family(
        "ALMA",
        "Approximates the largest margin, p = 2 (Gentile 2001), with B = 1 / alpha and C = √2 as in River, LIBOL and "
        "JSAT. It needs a right class, so there is none by reward.",
        own("controls:ALMA"), "alpha", (0.5, 0.8, 0.95, 1.0), rules=("told",),
    ),
    Family(
        "recursive least squares",
        "Ridge regression kept up to date, O(N²) an episode, and so on 10,000 episodes only; by reward, one for each "
        "action.",
        {"kind": "RecursiveLeastSquares"}, "penalty", (1e-6, 1e-4, 1e-2), ("V", "x"), group="least squares",
    ),
)  # fmt: skip
OURS: dict[str, Row] = {
    "Composed": Row({"kind": "Composed"}),
    "Normalised": Row({"kind": "Normalised"}),
    "Normalised, 2,000 neurons": Row({"kind": "Normalised"}, rules=("told",), group="twice"),
    "Normalised, cooling": Row({"kind": "Normalised", "cooling": "sqrt"}),
    "Normalised, on and off": Row({"kind": "Normalised", "code": "on_off"}),
    "Normalised, cooling, on and off": Row({"kind": "Normalised", "cooling": "sqrt", "code": "on_off"}),
    "normalised steps, x, cooling": Row(
        {"kind": "Learner", "step": "normalised", "batch": 1, "mu": 0.5, "cooling": "sqrt", **X}
    ),
}
GROUPS: dict[str, Settings] = {  # what trials of their own have otherwise
    "online": {},
    "least squares": {"n_episodes": 10_000},  # O(N^2) an episode
    "twice": {"reservoir": {"n_neurons": 2000}},
}


def rows() -> dict[str, Row]:
    """Return all rows of the tables; ours as far as this version has their settings."""
    found = {
        f"{family.name}, {reading}" if len(family.readings) > 1 else family.name: Row(
            _read(family.settings, reading), family.setting, family.grid, family.rules, family.group
        )
        for family in FAMILIES
        for reading in family.readings
    }
    known = {"kind", *(field.name for field in dataclasses.fields(kn.Learner))}
    return {**found, **{name: row for name, row in OURS.items() if known >= row.settings.keys()}}


def _read(settings: Settings, reading: str) -> Settings:
    """Return the settings of a control that reads V in this way."""
    plain = {"thresholds": False} if settings["kind"] == "Learner" and reading != "x" else {}
    return {**settings, **plain, **READINGS[reading]}
