"""Effects on accuracy and on the speed of learning; the largest size comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import xarray as xr

from kenyon.paper.claims.samples import (
    GUESS,
    LEVEL,
    Samples,
    best_minus,
    best_minus_worst,
    by_size,
    change,
    convergence_time,
    curve_mean,
    from_each,
    name_of,
    values,
)
from kenyon.paper.plan import (
    CLAIMS,
    COMPOSED,
    GD_THETA,
    GD_W,
    METROPOLIS,
    STIMULI,
    Results,
    nearest_size,
)
from kenyon.paper.verdicts import Effect, effect

Pairs = Iterable[tuple[str, str]]  # of learners, the first minus the second
THRESHOLDS = (COMPOSED, METROPOLIS, GD_THETA)
OTHERS = (METROPOLIS, GD_THETA, GD_W)  # than Composed
RANKS = ((COMPOSED, METROPOLIS), (COMPOSED, GD_THETA), (METROPOLIS, GD_W), (GD_THETA, GD_W))  # best, and worst
TASKS = {"static": "stimuli", "sequence": "sequences"}
FIGURE = {"static": "2", "sequence": "4"}  # with the training curves of a task
CEILING = 0.995
HALF, HARDLY = 0.5, 0.25  # shares of an effect that another is held against
TWICE = 1.0  # in units of log2


def differences(data: xr.Dataset, size: int, pairs: Pairs, label: str, variable: str = "accuracy") -> list[Effect]:
    """Compare pairs of learners at a size: the difference is above 0."""
    return [
        effect(
            label.format(name_of(first), name_of(second), size=size),
            values(data, variable, first, size) - values(data, variable, second, size),
            above=0.0,
            unit="accuracy",
        )
        for first, second in pairs
    ]


def gain(results: Results, task: str, learner: str = COMPOSED) -> Samples:
    """Return what a learner gains on GD_W: at the size nearest to the paper's, or the largest number of sequences."""
    data = results.get(FIGURE[task])
    size = nearest_size(data, STIMULI) if task == "static" else int(data["size"][-1])
    return values(data, "accuracy", learner, size) - values(data, "accuracy", GD_W, size)


def _at_140(results: Results) -> xr.Dataset:
    data = results.get("2")
    return data.sel(size=nearest_size(data, STIMULI))


def better_and_faster(results: Results) -> list[Effect]:
    """Compare learners with thresholds with GD_W, in accuracy and in the time to reach a level."""
    data = results.get("2")
    pairs = [(name, GD_W) for name in THRESHOLDS]
    return differences(data, nearest_size(data, STIMULI), pairs, "{} minus {} at {size} stimuli") + [
        _times(_at_140(results), GD_W, name) for name in THRESHOLDS
    ]


def convergence(results: Results) -> list[Effect]:
    """Compare the means of training curves, and the times to reach a level, of Composed and the others."""
    data = _at_140(results)
    curves = [
        effect(
            f"mean of the training curve, Composed minus {name_of(name)}",
            curve_mean(data, COMPOSED) - curve_mean(data, name),
            above=0.0,
            unit="accuracy",
        )
        for name in OTHERS
    ]
    return curves + [_times(data, name, COMPOSED) for name in OTHERS]


def _times(data: xr.Dataset, slow: str, fast: str) -> Effect:
    label = f"episodes to reach {LEVEL}, {name_of(slow)} minus {name_of(fast)}"
    return effect(label, convergence_time(data, slow) - convergence_time(data, fast), above=0.0, unit="episodes")


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


def growing_leads(others: Sequence[str], results: Results) -> list[Effect]:
    """Return how the leads of Composed over other learners change with the number of stimuli."""
    data, found = results.get("2"), []
    for name in others:
        lead = by_size(data, "accuracy", COMPOSED) - by_size(data, "accuracy", name)
        label = f"change of the lead over {name_of(name)} over all sizes"
        found.append(effect(label, change(data, lead), above=0.0, unit="accuracy"))
    return found


def small_gain(results: Results) -> list[Effect]:
    """Compare the gain of Metropolis on GD_W on sequences with a share of that in the static task."""
    data, static = results.get("4"), gain(results, "static", METROPOLIS)
    return [
        effect(
            f"Metropolis minus GD_W at {size} sequences, minus {HARDLY} of the same at 140 stimuli",
            values(data, "accuracy", METROPOLIS, size) - values(data, "accuracy", GD_W, size) - HARDLY * static,
            below=0.0,
            unit="accuracy",
        )
        for size in map(int, data["size"].values[::-1])
    ]


def starts(results: Results) -> list[Effect]:
    """Compare what the start of theta_g makes of Composed in both tasks."""
    spans = {
        task: best_minus_worst(from_each(results.get(CLAIMS, task), "accuracy", "Composed from")) for task in TASKS
    }
    sequence, static = (spans[task] - HALF * gain(results, task) for task in ("sequence", "static"))
    label = "{} task: best minus worst start, minus half of the gain on GD_W"
    return [
        effect(label.format("sequence"), sequence, above=0.0, unit="accuracy"),
        effect(label.format("static"), static, below=0.0, unit="accuracy"),
        effect("the same, sequence minus static", spans["sequence"] - spans["static"], above=0.0, unit="accuracy"),
    ]


def adaptive_step(results: Results) -> list[Effect]:
    """Compare what the start makes of Normalised, on sequences, with what it makes of Composed."""
    data = results.get(CLAIMS, "sequence")
    ours, theirs = (best_minus_worst(from_each(data, "accuracy", f"{kind} from")) for kind in ("Normalised", COMPOSED))
    label = "best minus worst start, Normalised minus half of Composed"
    return [effect(label, ours - HALF * theirs, below=0.0, unit="accuracy")]


def reward(results: Results) -> list[Effect]:
    """Compare Composed with the plain readout, at every size of both tasks."""
    found = []
    for part, what in TASKS.items():
        data = results.get("7", part)
        for size in map(int, data["size"].values[::-1]):
            found += differences(data, size, [(COMPOSED, GD_W)], f"Composed minus GD_W at {size} {what}")
    return found


def for_other_inputs(results: Results) -> list[Effect]:
    """Compare the best and the worst with the others for each form of the input weights that is not the paper's."""
    data, found = results.get("S3"), []
    for form in map(str, data.input_weights.values):
        label = f"{{}} minus {{}}, {form.replace('_', ' ')} weights"
        found += differences(data.sel(input_weights=form), nearest_size(data, STIMULI), RANKS, label)
    return found


def argmax(results: Results) -> list[Effect]:
    """Compare argmax with sampled accuracy, and argmax accuracies in the order of the sampled ones."""
    data, learners = results.get("2"), (COMPOSED, *OTHERS)
    size = nearest_size(data, STIMULI)
    sampled = {name: values(data, "accuracy", name, size) for name in learners}
    order = sorted(learners, key=lambda name: -sampled[name].mean())
    easier = [
        effect(
            f"argmax minus sampled accuracy of {name_of(name)}",
            values(data, "argmax_accuracy", name, size) - sampled[name],
            above=0.0,
            unit="accuracy",
        )
        for name in learners
    ]
    return easier + differences(data, size, pairwise(order), "{} minus {}, argmax", "argmax_accuracy")


def unconnected(results: Results) -> list[Effect]:
    """Return how well unconnected neurons do with the longest time constant, and whether they need it."""
    slow = values(results.get("S1", "unconnected"), "accuracy", COMPOSED)
    at = results.get("2")
    size = nearest_size(at, STIMULI)
    middle = (values(at, "accuracy", COMPOSED, size) + values(at, "accuracy", GD_W, size)) / 2
    fast = _leak(results, -1)
    return [
        effect(
            "unconnected, a = 0.025, minus the midpoint of GD_W and Composed", slow - middle, above=0.0, unit="accuracy"
        ),
        effect("unconnected, a = 0.025 minus a = 1", slow - fast, above=0.0, unit="accuracy"),
    ]


def _leak(results: Results, i: int) -> Samples:
    return values(results.get(CLAIMS, "leaks").isel(leak_rate=i), "accuracy", COMPOSED)


def leak_note(results: Results) -> str:
    """Return the accuracies of the whole sweep of time constants."""
    rates = results.get(CLAIMS, "leaks").leak_rate.values
    slow = values(results.get("S1", "unconnected"), "accuracy", COMPOSED).mean()
    rest = [f"{_leak(results, i).mean():.3f} at {rate:g}" for i, rate in enumerate(rates)]
    return f"Accuracy against a: {slow:.3f} at 0.025, {', '.join(rest)}."


def one_threshold_or_many(results: Results) -> list[Effect]:
    """Compare the time that Metropolis takes with one threshold and with one per neuron."""
    data = results.get("S1", "connected").isel(size=-1)
    many, one = (convergence_time(data, f"Metropolis{kind} from 0") for kind in (" per neuron", ""))
    label = f"log2 of the ratio of episodes to reach {LEVEL}, per neuron over global"
    return [effect(label, np.log2(many / one), above=TWICE, unit="doublings")]


def mixture(results: Results) -> list[Effect]:
    """Compare Composed with its two parts alone, from the same start."""
    static, alone = results.get("S1", "connected"), results.get(CLAIMS, "sequence")
    sequence, size = results.get("4"), int(alone["size"][-1])
    prelearned = f"{GD_THETA} prelearned"
    pairs = [
        ("static", METROPOLIS, values(static, "accuracy", COMPOSED) - values(static, "accuracy", METROPOLIS)),
        ("static", prelearned, values(static, "accuracy", COMPOSED) - values(static, "accuracy", prelearned)),
        (
            "sequence",
            METROPOLIS,
            values(sequence, "accuracy", COMPOSED, size) - values(sequence, "accuracy", METROPOLIS, size),
        ),
        ("sequence", prelearned, values(sequence, "accuracy", COMPOSED, size) - values(alone, "accuracy", prelearned)),
    ]
    return [
        effect(f"{task} task: Composed minus {name.replace(GD_THETA, 'GD_theta,')}", lead, above=0.0, unit="accuracy")
        for task, name, lead in pairs
    ]


def shifted(results: Results) -> list[Effect]:
    """Compare GD_theta's thresholds, shifted by the best amount, with those that it found; W learned anew in both."""
    data = results.get(CLAIMS, "shifted")
    base = [str(name) for name in data.learner.values].index("Relearned shift=0")
    found = best_minus(from_each(data, "accuracy", "Relearned"), base)
    return [effect("best shift of GD_theta's thresholds minus none", found, above=0.0, unit="accuracy")]


def fixed_thresholds(results: Results) -> list[Effect]:
    """Compare the best and the worst fixed threshold with what thresholds gain."""
    data = results.get("S4")
    data = data.sel(input_gain=1.0) if "input_gain" in data.dims else data  # readings have one gain only
    stable = (data.diverged_at < 0).all([name for name in data.diverged_at.dims if name != "learner"])
    accuracies = from_each(data.sel(learner=stable.values), "accuracy", "threshold")
    label = f"best minus worst fixed threshold, minus {HARDLY} of the gain of Composed on GD_W"
    span = best_minus_worst(accuracies) if len(accuracies) > 1 else np.full(data.seed.size, np.nan)
    return [effect(label, span - HARDLY * gain(results, "static"), above=0.0, unit="accuracy")]


def low_activities(results: Results) -> list[Effect]:
    """Compare what a readout of activities below a threshold knows with one of those above it."""
    data = results.get(CLAIMS, "sequence")
    below, above = (values(data, "accuracy", f"Ridge {part}") - GUESS for part in ("below", "above"))
    return [
        effect(
            "above guessing, below theta minus half of above theta", below - HALF * above, above=0.0, unit="accuracy"
        )
    ]
