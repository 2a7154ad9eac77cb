"""Claims 15 to 21, and 23: both tasks, and what else the paper says."""

from __future__ import annotations

import numpy as np
import xarray as xr

from kenyon.paper.claims.samples import COMPOSED, GD_W, Samples, order, values, verdict
from kenyon.paper.plan import STIMULI, Results, nearest_size
from kenyon.paper.verdicts import Verdict, effect


def specificity_rises(results: Results) -> Verdict:
    """Claim 15."""
    effects = []
    for part in ("static", "sequence"):
        data = results.get("6", part).isel(size=-1)
        after = data.specificity.sel(learner=COMPOSED).mean("neuron").values
        before = {
            "theta = 0": data.specificity.sel(learner=GD_W).mean("neuron").values,
            "the prelearned start": data.start_specificity.sel(learner=COMPOSED).mean("neuron").values,
        }
        effects += [
            effect(f"{part} task: mean specificity of Composed minus that at {name}", after - values, above=0.0,
                   unit="specificity")
            for name, values in before.items()
        ]  # fmt: skip
    return verdict(
        15,
        "Specificity of the neurons rises with learning.",
        "Change of the mean of Sp_i over neurons, in both tasks, from theta = 0 and from the prelearned start: all "
        "above 0.",
        effects, ["6"],
        "At theta = 0 nearly all neurons are active in all episodes and so hardly specific: a lenient reference.",
    )  # fmt: skip


def composed_beats_plain_by_reward(results: Results) -> Verdict:
    """Claim 16."""
    effects = []
    for part, what in (("static", "stimuli"), ("sequence", "sequences")):
        data = results.get("7", part)
        for size in data["size"].values[::-1]:
            best = max(_plain(data), key=lambda name: values(data, "accuracy", name, int(size)).mean())
            difference = values(data, "accuracy", COMPOSED, int(size)) - values(data, "accuracy", best, int(size))
            label = f"Composed minus {best.replace(GD_W, 'GD_W with batch')} at {size} {what}"
            effects.append(effect(label, difference, above=0.0, unit="accuracy"))
    return verdict(
        16,
        "Reinforcement learning: Composed beats GD_W on both tasks.",
        "Difference in accuracy from the best of GD_W with batch 1, 10 and 100, at every size: above 0 on both tasks.",
        effects, ["7"],
    )  # fmt: skip


def _plain(data: xr.Dataset) -> list[str]:
    return [str(name) for name in data.learner.values if str(name).startswith(GD_W)]


def gradient_cannot_wake_the_silent(results: Results) -> Verdict:
    """Claim 17."""
    data = results.get("S1", "connected").isel(size=-1)
    effects = [
        effect("share of silent neurons that GD_theta woke", _woken(data, "GradientThresholds high"), below=0.05,
               unit="share of neurons"),
        effect("the same, Composed minus GD_theta",
               _woken(data, "Composed high") - _woken(data, "GradientThresholds high"), above=0.0,
               unit="share of neurons"),
    ]  # fmt: skip
    return verdict(
        17,
        "GD_theta alone cannot wake a silent neuron.",
        "From thresholds of 1.3, of the neurons that no test episode drives above threshold before learning: the share "
        "active in over 1% of test episodes after it is below 0.05 for GD_theta, and larger for Composed from the same "
        "start.",
        effects, ["S1"],
        "The gradient of a silent neuron's threshold is 0; noise may lift a neuron over its threshold now and then.",
    )  # fmt: skip


def _woken(data: xr.Dataset, learner: str) -> Samples:
    start, end = data.start_activity.sel(learner=learner), data.activity.sel(learner=learner)
    silent = (start == 0).where(start.notnull())
    woken = ((end > 0.01) & (silent == 1)).sum("neuron").values
    return np.asarray(woken / np.maximum(silent.sum("neuron").values, 1))


def other_input_weights_leave_the_order(results: Results) -> Verdict:
    """Claim 18."""
    data = results.get("S3")
    size = nearest_size(data, STIMULI)
    forms = [str(form) for form in data.input_weights.values if form != "lognormal"]
    effects = [
        one
        for form in forms
        for one in order(data.sel(input_weights=form), "accuracy", size, f"{form.replace('_', ' ')} weights")
    ]
    return verdict(
        18,
        "Other forms of the input weights leave the order of the four as it is.",
        f"Steps in accuracy GD_W, GD_theta, Metropolis, Composed at {size} stimuli, with input weights of fixed "
        "degree, uniform, and dense Gaussian: all above 0.",
        effects, ["S3"],
    )  # fmt: skip


def argmax_leaves_the_order(results: Results) -> Verdict:
    """Claim 19."""
    data = results.get("2")
    size = nearest_size(data, STIMULI)
    return verdict(
        19,
        "Choosing by argmax instead of softmax leaves the order of the four as it is.",
        f"Steps in argmax accuracy GD_W, GD_theta, Metropolis, Composed at {size} stimuli: all above 0.",
        order(data, "argmax_accuracy", size, "argmax"), ["S3"],
    )  # fmt: skip


def integrators_solve_the_static_task(results: Results) -> Verdict:
    """Claim 20."""
    alone, connected = (results.get("S1", part).isel(size=-1) for part in ("unconnected", "connected"))
    own = alone.accuracy.sel(learner=COMPOSED).fillna(0.5).values
    effects = [
        effect("accuracy of Composed, unconnected neurons", own, above=0.9, unit="accuracy"),
        effect("unconnected minus connected", own - connected.accuracy.sel(learner=COMPOSED).fillna(0.5).values,
               above=-0.05, unit="accuracy"),
    ]  # fmt: skip
    return verdict(
        20,
        "Unconnected integrators (W = 0) can solve the static task too.",
        "Composed on a reservoir without recurrent connections: accuracy above 0.9, and at most 0.05 below that of the "
        "connected one.",
        effects, ["S1"],
    )  # fmt: skip


def summed_activity_gives_the_same_picture(results: Results) -> Verdict:
    """Claim 21."""
    effects = []
    for part in ("static", "sequence"):
        data = results.get("6", part).isel(size=-1).sel(learner=COMPOSED)
        together = xr.corr(data.specificity, data.specificity_summed, "neuron").values
        effects.append(effect(f"{part} task: correlation over neurons", together, above=0.5, unit="correlation"))
    return verdict(
        21,
        "Specificity from summed activity instead of counts gives a comparable picture.",
        "Correlation over neurons between the two, for Composed after learning: above 0.5 in both tasks.",
        effects, ["6"],
    )  # fmt: skip


def one_threshold_is_found_sooner_than_many(results: Results) -> Verdict:
    """Claim 23."""
    data = results.get("S1", "connected").isel(size=-1)
    effects = []
    for end in (" from 0", ""):
        both = [
            data.training_accuracy.sel(learner=f"Metropolis{kind}{end}").fillna(0.5) for kind in ("", " per neuron")
        ]
        area = both[0].mean("episode").values - both[1].mean("episode").values
        where = "from 0" if end else "from the prelearned start"
        label = f"mean of the training curve, global minus per neuron, {where}"
        effects.append(effect(label, area, above=0.0, unit="accuracy"))
    return verdict(
        23,
        "Metropolis on every neuron's threshold separately converges far more slowly than on one global threshold.",
        "Difference between the means of the training curves, from thresholds of 0 and from the prelearned start: both "
        "above 0.",
        effects, ["S1"],
    )  # fmt: skip
