"""Our own learner beside the paper's, where it fails, and what did not run as configured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr

from kenyon.experiment.results import INNER
from kenyon.paper.plan import FIGURES, Results, best, joined
from kenyon.paper.report.finding import Finding
from kenyon.paper.report.text import Table, learner_name, listing, number, spread
from kenyon.paper.verdicts import Effect, effect

OURS = "Normalised"
TIE = 0.001  # smaller differences in accuracy count as none: two choices in a test of 2000
OFFLINE = ("Ridge", "RecursiveLeastSquares")  # least squares over all episodes: not comparable with a cheap online rule
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
    """Runs of a learner in one part of a figure that diverged, or whose rate was changed."""

    figure: str
    learner: str
    runs: int
    of: int
    words: str

    @property
    def row(self) -> list[str]:
        """As a row of a table."""
        return [f"figure {self.figure}", learner_name(self.learner), f"{self.runs} of {self.of}", self.words]


def settings(data: xr.Dataset) -> Iterator[tuple[dict[str, object], xr.Dataset]]:
    """Yield every combination of settings that a Dataset holds, apart from learners and seeds."""
    names = [str(name) for name in data.dims if name not in (*INNER, "seed")]
    for place in np.ndindex(*[data.sizes[name] for name in names]):
        chosen = dict(zip(names, map(int, place), strict=True))
        yield {name: data[name].values[i] for name, i in chosen.items()}, data.isel(chosen)


def contests(results: Results, *, offline: bool = False) -> list[Contest]:
    """Return Normalised against the best other online learner (or offline readout) wherever both were run."""
    found = []
    for figure, part, task, unit in COMPARED:
        for values, data in settings(joined(results, figure) if figure == "S2" else results.get(figure, part)):
            names = [str(name) for name in data.learner.values if not str(name).startswith(OURS)]
            rivals = [name for name in names if name.startswith(OFFLINE) == offline]
            if rivals:
                found.append(_contest(figure, _describe(task, unit, values), data.accuracy, rivals))
    return found


def _contest(figure: str, setting: str, accuracy: xr.DataArray, rivals: list[str]) -> Contest:
    rival = best(accuracy.sel(learner=rivals))
    ours, theirs = accuracy.sel(learner=OURS), accuracy.sel(learner=rival)
    lead = effect(f"{OURS} minus {rival}", (ours - theirs).values, above=0.0, unit="accuracy")
    return Contest(figure, setting, rival, ours, theirs, lead)


def _describe(task: str, unit: str, values: dict[str, object]) -> str:
    words = {"size": "{} " + unit, "n_classes": "{} classes", "n_neurons": "{} neurons", "noise": "noise {}"}
    others = [
        words.get(name, "{} input weights").format(str(value).replace("_", " ")) for name, value in values.items()
    ]
    return ", ".join([task, *others])


def contest_table(caption: str, shown: list[Contest]) -> Table:
    """Return a table of contests, beginning with the worst defeat."""
    rows = [
        [
            f"{contest.setting} (figure {contest.figure})",
            spread(contest.ours, 3),
            f"{learner_name(contest.rival)} {spread(contest.theirs, 3)}",
            f"{number(contest.lead.value, 3)} [{number(contest.lead.low, 3)}, {number(contest.lead.high, 3)}]",
        ]
        for contest in sorted(shown, key=lambda contest: (contest.lead.value, float(contest.ours.mean())))
    ]
    return Table(caption, ["setting", OURS, "best other", "difference, 95% interval"], rows)


def summary(results: Results) -> Finding:
    """Return where Normalised leads and where it fails."""
    online, offline = contests(results), contests(results, offline=True)
    ahead = [contest for contest in online if contest.lead.supports and contest.lead.value >= TIE]
    behind = [contest for contest in online if contest.lead.value <= -TIE]
    dearer = [contest for contest in offline if contest.lead.value <= -TIE]
    worst = min(online, key=lambda contest: float(contest.ours.mean()))
    sentences = [
        f"In {len(ahead)} of {len(online)} settings Normalised is ahead of the best other online learner, with "
        f"the whole interval above 0; in {len(behind)} its mean is lower. Differences below {TIE} count as none.",
        f"Least squares, which costs far more, is ahead of it in {len(dearer)} of {len(offline)} settings.",
        f"It does worst here: {worst.setting}, {spread(worst.ours)} correct ({learner_name(worst.rival)} "
        f"{spread(worst.theirs)}).",
        _forgetting(results),
    ]
    lost = [*behind, *dearer]
    tables = [contest_table("Where Normalised is behind another readout", lost)] if lost else []
    return Finding(sentences, [*tables, contest_table("All settings, online learners", online)])


def _forgetting(results: Results) -> str:
    last = results.get("S5").group_accuracy.squeeze("size").isel(stage=-1).mean("group")
    most = best(last)
    others = "no other keeps more" if most == OURS else f"{learner_name(most)} keeps {spread(last.sel(learner=most))}"
    kept = spread(last.sel(learner=OURS))
    return f"When groups of stimuli are learned in turn (figure S5) it keeps {kept} over all groups; {others}."


def _runs(results: Results) -> Iterator[tuple[str, str, xr.Dataset]]:
    """Yield each learner of each part of each figure with its results: (where, learner, data)."""
    for figure in FIGURES:
        if figure not in ("3", "5", "6"):  # their trials are those of 2 and 4
            for part in results.plan.parts(figure):
                data = results.get(figure, part)
                for name in map(str, data.learner.values):
                    yield f"{figure}, {part}" if part else figure, name, data.sel(learner=name)


def halved(results: Results) -> list[Change]:
    """Return plain readouts whose rate had to be halved, by comparing it with the configured one."""
    changes = []
    for where, name, data in _runs(results):
        configured = json.loads(data.attrs["learners"])[name]
        if configured["kind"] == "GradientWeights" and configured["step"] == "fixed" and "eta_w" in data:
            lower = data.eta_w.values[data.eta_w.values < configured["eta_w"] * 0.99]
            if len(lower):
                words = f"{configured['eta_w']:g} to {listing([f'{rate:g}' for rate in np.unique(lower)])}"
                changes.append(Change(where, name, len(lower), int(data.eta_w.count()), words))
    return changes


def diverged(results: Results) -> list[Change]:
    """Return learners that diverged or fell silent for good, and how often."""
    changes = []
    for where, name, data in _runs(results):
        failed = data.diverged_at.values[data.diverged_at.values >= 0]
        if len(failed):
            words = f"first at episode {int(failed.min()):,}"
            changes.append(Change(where, name, len(failed), int(data.diverged_at.count()), words))
    return changes
