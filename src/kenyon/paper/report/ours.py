"""Our own learner beside the paper's, where it fails, and what did not run as configured: all from the results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr

from kenyon.paper.plan import FIGURES, Results
from kenyon.paper.report.markup import Table, learner_name, listing, number, spread
from kenyon.paper.verdicts import Effect, effect

OURS = "Normalised"
TIE = 0.001  # differences in accuracy that are taken for none: two choices of a test of 2000
OFFLINE = ("Ridge", "RecursiveLeastSquares")  # least squares over all episodes: no contest for a cheap online rule
COMPARED = (  # figure, part, task, unit of its size
    ("2", "", "static", "stimuli"),
    ("4", "", "sequence", "sequences"),
    ("7", "static", "static, by reward", "stimuli"),
    ("7", "sequence", "sequence, by reward", "sequences"),
    ("S1", "unconnected", "static, unconnected", "stimuli"),
    ("S2", "", "static", "resampled odours"),
    ("S3", "", "static", "stimuli"),
    ("S6", "classes", "static", "stimuli"),
    ("S6", "neurons", "static", "stimuli"),
    ("S6", "noise", "static", "stimuli"),
    ("S6", "long", "static, long", "resampled odours"),
)


class Contest(NamedTuple):
    """Normalised against the best of the others in one setting, paired over seeds."""

    figure: str
    setting: str
    rival: str
    ours: xr.DataArray
    theirs: xr.DataArray
    lead: Effect


class Change(NamedTuple):
    """Runs of a learner in one part of a figure that diverged, or that ran at another rate than configured."""

    figure: str
    learner: str
    runs: int
    of: int
    words: str


def settings(data: xr.Dataset) -> Iterator[tuple[dict[str, object], xr.Dataset]]:
    """Yield every combination of settings that a Dataset holds, apart from learners and seeds."""
    inner = ("learner", "seed", "episode", "neuron", "stage", "group", "example", "step", "channel")
    names = [str(name) for name in data.dims if name not in inner]
    for place in np.ndindex(*[data.sizes[name] for name in names]):
        chosen = dict(zip(names, map(int, place), strict=True))
        yield {name: data[name].values[i] for name, i in chosen.items()}, data.isel(chosen)


def contests(results: Results, *, offline: bool = False) -> list[Contest]:
    """Return Normalised against the best other online learner (or offline readout) wherever both were run."""
    fought = []
    for figure, part, task, unit in COMPARED:
        for values, one in settings(results.get(figure, part)):
            rivals = [str(n) for n in one.learner.values if n != OURS and str(n).startswith(OFFLINE) == offline]
            if rivals:
                fought.append(_contest(figure, _describe(task, unit, values), one.accuracy, rivals))
    return fought


def _contest(figure: str, setting: str, accuracy: xr.DataArray, rivals: list[str]) -> Contest:
    means = accuracy.sel(learner=rivals).mean("seed", skipna=True).fillna(0.0)
    rival = rivals[int(means.values.argmax())]
    ours, theirs = accuracy.sel(learner=OURS), accuracy.sel(learner=rival)
    lead = effect(f"{OURS} minus {rival}", (ours - theirs).values, above=0.0, unit="accuracy")
    return Contest(figure, setting, rival, ours, theirs, lead)


def _describe(task: str, unit: str, values: dict[str, object]) -> str:
    words = {"size": "{} " + unit, "n_classes": "{} classes", "n_neurons": "{} neurons", "noise": "noise {}"}
    others = [
        words.get(name, "{} input weights").format(str(value).replace("_", " ")) for name, value in values.items()
    ]
    return ", ".join([task, *others])


def contest_table(caption: str, fought: list[Contest]) -> Table:
    """Return a table of contests, those it loses by most first."""
    ordered = sorted(fought, key=lambda one: (one.lead.value, float(one.ours.mean())))
    rows = [
        [
            f"{one.setting} (figure {one.figure})",
            spread(one.ours, 3),
            f"{learner_name(one.rival)} {spread(one.theirs, 3)}",
            f"{number(one.lead.value, 3)} [{number(one.lead.low, 3)}, {number(one.lead.high, 3)}]",
        ]
        for one in ordered
    ]
    return Table(caption, ["setting", OURS, "best other", "difference, 95% interval"], rows)


def summary(results: Results) -> tuple[list[str], list[Table]]:
    """Return where Normalised leads and where it fails."""
    online, offline = contests(results), contests(results, offline=True)
    ahead = [one for one in online if one.lead.supports and one.lead.value >= TIE]
    behind = [one for one in online if one.lead.value <= -TIE]
    dearer = [one for one in offline if one.lead.value <= -TIE]
    worst = min(online, key=lambda one: float(one.ours.mean()))
    sentences = [
        f"In {len(ahead)} of {len(online)} settings Normalised is ahead of the best of all other online learners, with "
        f"the whole interval above 0; in {len(behind)} its mean is below. Differences under {TIE} count as none.",
        f"Least squares, which costs far more, is ahead of it in {len(dearer)} of {len(offline)} settings.",
        f"It does worst at: {worst.setting}, {spread(worst.ours)} correct ({learner_name(worst.rival)} "
        f"{spread(worst.theirs)}).",
        _forgetting(results),
    ]
    lost = [*behind, *dearer]
    tables = [contest_table("Where Normalised is behind another readout", lost)] if lost else []
    return sentences, [*tables, contest_table("All settings, online learners", online)]


def _forgetting(results: Results) -> str:
    last = results.get("S5").group_accuracy.squeeze("size").isel(stage=-1).mean("group")
    means = last.mean("seed", skipna=True).fillna(0.0)
    best = str(last.learner.values[int(means.values.argmax())])
    kept = f"Learning groups of stimuli in turn (figure S5) it keeps {spread(last.sel(learner=OURS))} over all groups"
    return (
        f"{kept}; no other keeps more."
        if best == OURS
        else f"{kept}; {learner_name(best)} keeps {spread(last.sel(learner=best))}."
    )


def _parts(results: Results) -> Iterator[tuple[str, str, xr.Dataset]]:
    for figure in FIGURES:
        if figure not in ("3", "5", "6"):  # their trials are those of 2 and 4
            for part in results.plan.parts(figure):
                yield figure, part, results.get(figure, part)


def halved(results: Results) -> list[Change]:
    """Return plain readouts whose rate had to be halved, by comparing it with the one configured."""
    changes = []
    for figure, part, data in _parts(results):
        configured = json.loads(data.attrs["learners"])
        for name in map(str, data.learner.values):
            if configured[name]["kind"] != "GradientWeights" or "eta_w" not in data:
                continue
            rates = data.eta_w.sel(learner=name).values.ravel()
            rates = rates[np.isfinite(rates)]
            lower = sorted({float(one) for one in rates if one < configured[name]["eta_w"] * 0.99})
            if lower:
                words = f"{configured[name]['eta_w']:g} to {listing([f'{one:g}' for one in lower])}"
                runs = int((rates < configured[name]["eta_w"] * 0.99).sum())
                changes.append(Change(_label(figure, part), name, runs, len(rates), words))
    return changes


def diverged(results: Results) -> list[Change]:
    """Return learners that diverged or fell silent for good, and how often."""
    changes = []
    for figure, part, data in _parts(results):
        for name in map(str, data.learner.values):
            at = data.diverged_at.sel(learner=name).values.ravel()
            at = at[np.isfinite(at)]
            if (at >= 0).any():
                first = f"first at episode {int(at[at >= 0].min()):,}"
                changes.append(Change(_label(figure, part), name, int((at >= 0).sum()), len(at), first))
    return changes


def _label(figure: str, part: str) -> str:
    return f"{figure}, {part}" if part else figure


def change_table(caption: str, last: str, changes: list[Change]) -> Table:
    """Return a table of runs that did not go as configured."""
    rows = [
        [f"figure {one.figure}", learner_name(one.learner), f"{one.runs} of {one.of}", one.words] for one in changes
    ]
    return Table(caption, ["where", "learner", "runs", last], rows)
