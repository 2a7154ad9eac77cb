"""Effects on thresholds, on which neurons are active, and on how classes differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import xarray as xr

from kenyon.paper.claims.performance import FIGURE, HALF, TASKS, THRESHOLDS, TWICE
from kenyon.paper.claims.samples import Samples, by_size, change, from_each, half_time, name_of, values, woken
from kenyon.paper.plan import CLAIMS, COMPOSED, GD_THETA, GD_W, METROPOLIS, STIMULI, Results, nearest_size
from kenyon.paper.verdicts import Effect, conclude, effect, holm

CODING_LEVELS = {COMPOSED: 0.5, METROPOLIS: 0.5, GD_THETA: 0.7}  # the paper's
ABOUT = 0.1  # half of the difference between them
NONE = 0.1  # share of an effect that counts as none
EVIDENT = 2.0  # standard deviations between seeds
QUICKLY = 1 / 8  # share of training
QUARTILES = 1, 3  # places of the quartiles of V among the starts


def coding_levels(results: Results) -> list[Effect]:
    """Compare shares of active neurons with the paper's, and with one another."""
    data = results.get("2")
    size, unit = nearest_size(data, STIMULI), "share of neurons"
    found = {name: values(data, "coding_level", name, size) for name in CODING_LEVELS}
    figures = [
        effect(f"active fraction of {name_of(name)} (paper: {level})", found[name], above=level - ABOUT,
               below=level + ABOUT, unit=unit)
        for name, level in CODING_LEVELS.items()
    ]  # fmt: skip
    return figures + [
        effect(f"active fraction, GD_theta minus {name}", found[GD_THETA] - found[name], above=0.0, unit=unit)
        for name in (COMPOSED, METROPOLIS)
    ]


def coding_level_note(results: Results) -> str:
    """Return the verdicts on the figures and on the order alone, and how far the figures are from the paper's."""
    effects = coding_levels(results)
    figures, order = (conclude(holm(part)) for part in (effects[:3], effects[3:]))
    pairs = zip(CODING_LEVELS.items(), effects[:3], strict=True)
    distances = [f"{name_of(name)} {found.value - level:+.2f}" for (name, level), found in pairs]
    return f"The figures alone: {figures}. The order alone: {order}. Distance from the figures: {', '.join(distances)}."


def averages(
    label: str, variable: str, pairs: Iterable[tuple[tuple[str, str], tuple[str, str]]], results: Results
) -> list[Effect]:
    """Compare a variable between pairs of (figure, learner), averaged over sizes."""
    found = []
    for pair in pairs:
        first, second = (by_size(results.get(figure), variable, name).mean(axis=0) for figure, name in pair)
        words = label.format(*(name_of(name) for _, name in pair))
        found.append(effect(words, first - second, above=0.0, unit="theta"))
    return found


def rises(label: str, variable: str, learners: Sequence[str], results: Results) -> list[Effect]:
    """Return how a variable of learners changes with the number of stimuli."""
    data = results.get("3")
    changes = {name: change(data, by_size(data, variable, name)) for name in learners}
    return [effect(label.format(name_of(name)), samples, above=0.0, unit="theta") for name, samples in changes.items()]


def no_trend(results: Results) -> list[Effect]:
    """Return how thresholds change with the number of sequences, in units of the spread between seeds."""
    data, found = results.get("5"), []
    learners = {"mean": THRESHOLDS, "sd": (COMPOSED, GD_THETA)}
    for measure, name in ((measure, name) for measure, names in learners.items() for name in names):
        samples = by_size(data, f"theta_{measure}", name)
        spread = np.sqrt(samples.var(axis=1, ddof=1).mean()) if samples.shape[1] > 1 else np.nan
        label = f"change of {measure} theta of {name_of(name)} over all sizes, over its sd between seeds"
        scaled = change(data, samples) / spread if spread > 0 else np.full(samples.shape[1], np.nan)
        found.append(effect(label, scaled, above=-EVIDENT, below=EVIDENT, unit="sd"))
    return found


def classes_apart(results: Results) -> list[Effect]:
    """Compare specificity and overlap after learning with those at theta = 0, at the start, and by chance."""
    found = []
    for task in TASKS:
        data = results.get("6", task)
        data = data.assign(
            specificity=data.specificity.mean("neuron"), start_specificity=data.start_specificity.mean("neuron")
        )
        for measure, sides in (("specificity", {"above": 0.0}), ("overlap", {"below": 0.0})):
            end = values(data, measure, COMPOSED)
            before = {
                "at theta = 0": values(data, measure, GD_W),
                "at the start": values(data, f"start_{measure}", COMPOSED),
                "with labels permuted": values(data, f"{measure}_permuted", COMPOSED),
            }
            label = f"{task} task: {measure} of Composed minus that "
            found += [effect(label + name, end - own, unit=measure, **sides) for name, own in before.items()]
    return found


def summed_specificity(results: Results) -> list[Effect]:
    """Compare the change of specificity by summed activity with that by counts."""
    found = []
    for task in TASKS:
        data = results.get("6", task).isel(size=-1).sel(learner=COMPOSED)
        with np.errstate(divide="ignore", invalid="ignore"):
            counts, summed = (
                np.log(data[name].mean("neuron").values / data[f"start_{name}"].mean("neuron").values)
                for name in ("specificity", "specificity_summed")
            )
        sign = np.sign(counts.mean())
        label = f"{task} task: change by summed activity, {{}} that by counts (ln)"
        less, more = sign * (summed - HALF * counts), sign * ((1 + HALF) * counts - summed)
        found.append(effect(label.format("minus half of"), less, above=0.0, unit="specificity"))
        found.append(effect(label.format("short of one and a half times"), more, above=0.0, unit="specificity"))
    return found


def silent_neurons(results: Results) -> list[Effect]:
    """Compare the shares of silent neurons that learning wakes."""
    data = results.get("S1", "connected").isel(size=-1)
    gradient, composed = woken(data, f"{GD_THETA} high"), woken(data, f"{COMPOSED} high")
    label = "share of silent neurons woken, GD_theta minus a tenth of Composed"
    return [effect(label, gradient - NONE * composed, below=0.0, unit="share of neurons")]


def woken_note(results: Results) -> str:
    """Return the shares of silent neurons that were woken."""
    data = results.get("S1", "connected").isel(size=-1)
    shares = [f"{name_of(name)} {woken(data, f'{name} high').mean():.3f}" for name in (GD_THETA, COMPOSED)]
    return f"Share of silent neurons woken: {', '.join(shares)}."


def effective_rates(results: Results) -> list[Effect]:
    """Compare |x|^2 between theta_g at the quartiles of V."""
    found = []
    for task in TASKS:
        norms = from_each(results.get(CLAIMS, task), "start_norm2", "Composed from")
        low, high = (norms[place] for place in QUARTILES)
        label = f"{task} task: log2 of |x|^2 at the lower over the upper quartile"
        with np.errstate(divide="ignore", invalid="ignore"):
            found.append(effect(label, np.log2(low / high), above=TWICE, unit="doublings"))
    return found


def courses(results: Results) -> list[Effect]:
    """Return how soon theta_i are spread out, and how much of a difference between starts theta_g keeps."""
    data, runs = results.get("4").isel(size=-1), results.get(CLAIMS, "sequence")
    soon = half_time(data, "training_theta_local_sd", COMPOSED)
    label = "share of training until the sd of theta_i is at half of its last value"
    return [
        effect(label, soon, below=QUICKLY, unit="share"),
        effect("slope of theta_g at the end against the start", _kept(runs), above=HALF, unit="share"),
    ]


def _kept(data: xr.Dataset) -> Samples:
    """Return the slope of theta_g at the end of training against theta_g at the start, over starts that ended well."""
    last = data.assign(theta_g=data.training_theta_g.isel(episode=-1))
    start, end = (from_each(last, name, "Composed from") for name in ("start_theta_mean", "theta_g"))
    start = np.where(np.isnan(end), np.nan, start)
    away = np.nan_to_num(start - np.nansum(start, axis=0) / np.maximum(1, (~np.isnan(start)).sum(axis=0)))
    square = (away**2).sum(axis=0)
    return np.asarray((away * np.nan_to_num(end)).sum(axis=0) / np.where(square > 0, square, np.nan))


def relative_by_chance(results: Results) -> list[Effect]:
    """Return how relative specificity changes with the threshold where labels mean nothing."""
    found = []
    for task in TASKS:
        steps = pairwise(from_each(results.get(CLAIMS, task), "start_relative_specificity_permuted", "Composed from"))
        for number, (lower, higher) in enumerate(steps, 1):
            label = f"{task} task: relative specificity, labels permuted, start {number + 1} minus start {number}"
            found.append(effect(label, higher - lower, above=0.0, unit="specificity"))
    return found


def directions(results: Results) -> list[Effect]:
    """Return how often thresholds move as the weights of their neurons suggest, early in learning."""
    found = []
    for task, figure in FIGURE.items():
        data = results.get(figure)
        size = nearest_size(data, STIMULI) if task == "static" else int(data["size"][-1])
        for name, words in (("theta_falls", "falls for the class favoured"), ("theta_rises", "rises for the other")):
            label = f"{task} task: share of thresholds of GD_theta that {words}"
            found.append(effect(label, values(data, name, GD_THETA, size), above=0.5, unit="share"))
    return found
