"""How the effects behind each claim are made from results; the largest size comes first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import xarray as xr

from kenyon.paper.claims.samples import LEVEL, by_size, change, convergence_time, curve_mean, name_of, values, woken
from kenyon.paper.plan import COMPOSED, GD_THETA, GD_W, METROPOLIS, STIMULI, Results, nearest_size, plain_readouts
from kenyon.paper.verdicts import Effect, effect

Pairs = Iterable[tuple[str, str]]  # of learners, the first minus the second
SEARCHING = (COMPOSED, METROPOLIS)
THRESHOLDS = (*SEARCHING, GD_THETA)
OTHERS = (METROPOLIS, GD_THETA, GD_W)  # than Composed
STEPS = tuple(pairwise((COMPOSED, *OTHERS)))[::-1]
TASKS = {"static": "stimuli", "sequence": "sequences"}
CEILING = 0.995
CODING_LEVELS = {COMPOSED: 0.5, METROPOLIS: 0.5, GD_THETA: 0.7}  # the paper's


def differences(
    data: xr.Dataset, size: int, pairs: Pairs, label: str, *, variable: str = "accuracy", below: float | None = None
) -> list[Effect]:
    """Compare pairs of learners at a size: the difference is above 0, or below a bound if there is one."""
    return [
        effect(
            label.format(name_of(first), name_of(second), size=size),
            values(data, variable, first, size) - values(data, variable, second, size),
            above=0.0 if below is None else None,
            below=below,
            unit="accuracy",
        )
        for first, second in pairs
    ]


def compared(figure: str, pairs: Pairs, label: str, results: Results, **how: Any) -> list[Effect]:
    """Compare pairs of learners: at the size nearest to the paper's in the static task, at every size otherwise."""
    data = results.get(figure)
    sizes = [nearest_size(data, STIMULI)] if figure == "2" else map(int, data["size"].values[::-1])
    return [found for size in sizes for found in differences(data, size, pairs, label, **how)]


def for_other_inputs(results: Results) -> list[Effect]:
    """Compare the paper's learners for each form of the input weights that is not the paper's."""
    data, found = results.get("S3"), []
    for form in map(str, data.input_weights.values):
        if form != "lognormal":
            label = f"{{}} minus {{}}, {form.replace('_', ' ')} weights"
            found += differences(data.sel(input_weights=form), nearest_size(data, STIMULI), STEPS, label)
    return found


def leads(figure: str, results: Results) -> list[Effect]:
    """Compare Composed with the strongest of the others, at each size at which not both are at the ceiling."""
    data, found = results.get(figure), []
    label = f"{{}} minus {{}} at {{size}} {'stimuli' if figure == '2' else 'sequences'}"
    for size in map(int, data["size"].values[::-1]):
        means = {name: values(data, "accuracy", name, size).mean() for name in (COMPOSED, *OTHERS)}
        rival = max(OTHERS[::-1], key=lambda name: means[name])
        if min(means[COMPOSED], means[rival]) <= CEILING:
            found += differences(data, size, [(COMPOSED, rival)], label)
    return found


def growing_lead(other: str, results: Results) -> list[Effect]:
    """Return how the lead of Composed over another learner changes with the number of stimuli."""
    data = results.get("2")
    lead = by_size(data, "accuracy", COMPOSED) - by_size(data, "accuracy", other)
    return [effect("change of the lead over all sizes", change(data, lead), above=0.0, unit="accuracy")]


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
    """Return how thresholds change with the number of sequences, relative to their mean."""
    data, found = results.get("5"), []
    learners = {"mean": THRESHOLDS, "sd": (COMPOSED, GD_THETA)}
    for measure, name in ((measure, name) for measure, names in learners.items() for name in names):
        samples = by_size(data, f"theta_{measure}", name)
        label = f"change of {measure} theta of {name_of(name)} over all sizes, of its mean"
        relative = change(data, samples) / samples.mean(axis=0)
        found.append(effect(label, relative, above=-0.1, below=0.1, unit="share"))
    return found


def convergence(results: Results) -> list[Effect]:
    """Compare the means of training curves, and the times to reach a level, of Composed and the others."""
    data = results.get("2")
    data = data.sel(size=nearest_size(data, STIMULI))
    found = []
    for name in OTHERS:
        label = f"mean of the training curve, Composed minus {name_of(name)}"
        lead = curve_mean(data, COMPOSED) - curve_mean(data, name)
        found.append(effect(label, lead, above=0.0, unit="accuracy"))
    for name in OTHERS:
        label = f"episodes to reach {LEVEL}, {name_of(name)} minus Composed"
        lead = convergence_time(data, name) - convergence_time(data, COMPOSED)
        found.append(effect(label, lead, above=0.0, unit="episodes"))
    return found


def coding_levels(results: Results) -> list[Effect]:
    """Compare shares of active neurons with the paper's."""
    data, found = results.get("2"), []
    size = nearest_size(data, STIMULI)
    for name, level in CODING_LEVELS.items():
        label = f"active fraction of {name_of(name)} at {size} stimuli (paper: {level})"
        samples = values(data, "coding_level", name, size)
        found.append(effect(label, samples, above=level - 0.1, below=level + 0.1, unit="share of neurons"))
    return found


def coding_level_note(results: Results) -> str:
    """Return how far the shares of active neurons are from the paper's."""
    pairs = zip(CODING_LEVELS.items(), coding_levels(results), strict=True)
    distances = [f"{name_of(name)} {found.value - level:+.2f}" for (name, level), found in pairs]
    return f"Distance from the paper's figures: {', '.join(distances)}."


def specificity(results: Results) -> list[Effect]:
    """Compare the specificity of neurons after learning with that at theta = 0 and at the prelearned start."""
    found = []
    for part in TASKS:
        data = results.get("6", part).isel(size=-1)[["specificity", "start_specificity"]].mean("neuron")
        end, start = (data[name].sel(learner=COMPOSED).values for name in data)
        before = {"theta = 0": data.specificity.sel(learner=GD_W).values, "the prelearned start": start}
        label = f"{part} task: mean specificity of Composed minus that at "
        found += [effect(label + name, end - own, above=0.0, unit="specificity") for name, own in before.items()]
    return found


def summed_specificity(results: Results) -> list[Effect]:
    """Correlate specificity from counts with that from summed activity."""
    found = []
    for part in TASKS:
        data = results.get("6", part).isel(size=-1).sel(learner=COMPOSED)
        together = xr.corr(data.specificity, data.specificity_summed, "neuron").values
        found.append(effect(f"{part} task: correlation over neurons", together, above=0.5, unit="correlation"))
    return found


def reward(results: Results) -> list[Effect]:
    """Compare Composed with the best batch of the plain readout, at every size of both tasks."""
    found = []
    for part, what in TASKS.items():
        data = results.get("7", part)
        for size in map(int, data["size"].values[::-1]):
            best = max(plain_readouts(data), key=lambda name: values(data, "accuracy", name, size).mean())
            label = f"Composed minus {best.replace(GD_W, 'GD_W with batch')} at {size} {what}"
            found += differences(data, size, [(COMPOSED, best)], label)
    return found


def silent_neurons(results: Results) -> list[Effect]:
    """Return the share of silent neurons that learning wakes."""
    data = results.get("S1", "connected").isel(size=-1)
    gradient, composed = woken(data, "GradientThresholds high"), woken(data, "Composed high")
    unit = "share of neurons"
    return [
        effect("share of silent neurons that GD_theta woke", gradient, below=0.05, unit=unit),
        effect("the same, Composed minus GD_theta", composed - gradient, above=0.0, unit=unit),
    ]


def unconnected(results: Results) -> list[Effect]:
    """Return the accuracy of Composed on unconnected neurons, and compare it with that on connected ones."""
    parts = (results.get("S1", part) for part in ("unconnected", "connected"))
    own, connected = (by_size(data, "accuracy", COMPOSED)[-1] for data in parts)
    return [
        effect("accuracy of Composed, unconnected neurons", own, above=0.9, unit="accuracy"),
        effect("unconnected minus connected", own - connected, above=-0.05, unit="accuracy"),
    ]


def one_threshold_or_many(results: Results) -> list[Effect]:
    """Compare the training curves of Metropolis with one threshold and with one per neuron."""
    data, found = results.get("S1", "connected").isel(size=-1), []
    for end, where in ((" from 0", "from 0"), ("", "from the prelearned start")):
        lead = curve_mean(data, f"Metropolis{end}") - curve_mean(data, f"Metropolis per neuron{end}")
        label = f"mean of the training curve, global minus per neuron, {where}"
        found.append(effect(label, lead, above=0.0, unit="accuracy"))
    return found


MEAN_THETA = "mean theta, {} minus {}, mean of all sizes"
SD_THETA = "sd of theta of {}, sequence minus static task, mean of all sizes"
FROM_PRELEARNED = "Composed from the prelearned start minus from 0, {size} sequences"
EFFECTS: Mapping[int, Callable[[Results], list[Effect]]] = {
    1: partial(compared, "2", [(name, GD_W) for name in THRESHOLDS], "{} minus {} at {size} stimuli"),
    2: partial(leads, "2"),
    3: convergence,
    4: partial(growing_lead, GD_W),
    5: coding_levels,
    6: partial(rises, "change of mean theta of {} over all sizes", "theta_mean", THRESHOLDS),
    7: partial(averages, MEAN_THETA, "theta_mean", [(("3", name), ("3", GD_THETA)) for name in SEARCHING]),
    8: partial(rises, "change of sd of theta of {} over all sizes", "theta_sd", (COMPOSED, GD_THETA)),
    9: partial(growing_lead, METROPOLIS),
    10: partial(leads, "4"),
    11: partial(compared, "4", [(METROPOLIS, GD_W)], "{} minus {} at {size} sequences", below=0.05),
    12: partial(averages, MEAN_THETA, "theta_mean", [(("5", GD_THETA), ("5", name)) for name in SEARCHING]),
    13: partial(averages, SD_THETA, "theta_sd", [(("5", name), ("3", name)) for name in (COMPOSED, GD_THETA)]),
    14: partial(compared, "4", [(COMPOSED, "Composed from 0")], FROM_PRELEARNED),
    15: specificity,
    16: reward,
    17: silent_neurons,
    18: for_other_inputs,
    19: partial(compared, "2", STEPS, "{} minus {}, argmax", variable="argmax_accuracy"),
    20: unconnected,
    21: summed_specificity,
    22: no_trend,
    23: one_threshold_or_many,
}
NOTES: Mapping[int, Callable[[Results], str]] = {5: coding_level_note}  # that depend on the results
