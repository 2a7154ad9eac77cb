"""Claims 1 to 9: the static task."""

from __future__ import annotations

import numpy as np
import xarray as xr

from kenyon.metrics import episodes_to_reach
from kenyon.paper.claims.samples import (
    COMPOSED,
    FOUR,
    GD_THETA,
    GD_W,
    METROPOLIS,
    Samples,
    by_size,
    change,
    leads,
    name_of,
    values,
    verdict,
)
from kenyon.paper.plan import STIMULI, Results, nearest_size
from kenyon.paper.verdicts import Verdict, effect

LEVEL = 0.8  # accuracy whose first crossing is a time of convergence


def thresholds_beat_the_plain_readout(results: Results) -> Verdict:
    """Claim 1."""
    data = results.get("2")
    size = nearest_size(data, STIMULI)
    plain = values(data, "accuracy", GD_W, size)
    effects = [
        effect(f"{name_of(one)} minus GD_W at {size} stimuli", values(data, "accuracy", one, size) - plain, above=0.0,
               unit="accuracy")
        for one in (COMPOSED, METROPOLIS, GD_THETA)
    ]  # fmt: skip
    return verdict(
        1,
        "GD_theta, Metropolis and Composed each beat GD_W at 140 stimuli after 60,000 episodes.",
        "Difference in accuracy on fresh noise from GD_W, for each of the three: all above 0.",
        effects, ["2"],
    )  # fmt: skip


def composed_is_best_at_every_size(results: Results) -> Verdict:
    """Claim 2."""
    return verdict(
        2,
        "Composed is the best of the four at every number of stimuli.",
        "Lead of Composed over the strongest of the other three, at every size at which not both are above 0.995: "
        "all above 0.",
        leads(results.get("2"), COMPOSED, (GD_W, GD_THETA, METROPOLIS), "stimuli"), ["2"],
    )  # fmt: skip


def composed_converges_fastest(results: Results) -> Verdict:
    """Claim 3."""
    data = results.get("2")
    size = nearest_size(data, STIMULI)
    curves = data.training_accuracy.sel(size=size)
    area = {one: curves.sel(learner=one).fillna(0.5).mean("episode").values for one in FOUR}
    times = {one: _times(curves.sel(learner=one)) for one in FOUR}
    area_effects = [
        effect(f"mean of the training curve, Composed minus {name_of(one)}", area[COMPOSED] - area[one], above=0.0,
               unit="accuracy")
        for one in (METROPOLIS, GD_THETA, GD_W)
    ]  # fmt: skip
    time_effects = [
        effect(f"episodes to reach {LEVEL}, {name_of(one)} minus Composed", times[one] - times[COMPOSED], above=0.0,
               unit="episodes")
        for one in (METROPOLIS, GD_THETA, GD_W)
    ]  # fmt: skip
    return verdict(
        3,
        "Composed converges fastest.",
        f"At {size} stimuli: the mean of the training curve is higher, and {LEVEL} is reached in fewer episodes, than "
        "for each of the others (never reached counts as the whole run).",
        [*area_effects, *time_effects], ["2"],
        "The episodes of prelearning, 10,000 for Metropolis and Composed, are not counted.",
    )  # fmt: skip


def _times(curves: xr.DataArray) -> Samples:
    last = float(curves.episode[-1])
    found = [
        episodes_to_reach(curves.episode.values, curves.isel(seed=i).values, LEVEL) for i in range(curves.seed.size)
    ]
    return np.array([last if np.isnan(one) else one for one in found])


def _growing_lead(results: Results, number: int, other: str) -> Verdict:
    data = results.get("2")
    lead = by_size(data, "accuracy", COMPOSED) - by_size(data, "accuracy", other)
    return verdict(
        number,
        f"Composed minus {name_of(other)} grows with the number of stimuli.",
        f"Slope of the lead of Composed over {name_of(other)} in accuracy against the number of stimuli: above 0.",
        [effect("change of the lead over all sizes", change(data, lead), above=0.0, unit="accuracy")], ["2"],
    )  # fmt: skip


def lead_over_plain_grows(results: Results) -> Verdict:
    """Claim 4."""
    return _growing_lead(results, 4, GD_W)


def coding_levels(results: Results) -> Verdict:
    """Claim 5."""
    data = results.get("2")
    size = nearest_size(data, STIMULI)
    wanted = {COMPOSED: 0.5, METROPOLIS: 0.5, GD_THETA: 0.7}
    effects = [
        effect(f"active fraction of {name_of(one)} at {size} stimuli (paper: {level})",
               values(data, "coding_level", one, size), above=level - 0.1, below=level + 0.1, unit="share of neurons")
        for one, level in wanted.items()
    ]  # fmt: skip
    distances = ", ".join(
        f"{name_of(one)} {values(data, 'coding_level', one, size).mean() - level:+.2f}" for one, level in wanted.items()
    )
    return verdict(
        5,
        "At 140 stimuli about 50% of the neurons are active for Composed and Metropolis, about 70% for GD_theta.",
        "Share of neurons with x > 0 over test episodes: within 0.1 of the paper's figures, all three.",
        effects, ["2"], f"Distance from the paper's figures: {distances}.",
    )  # fmt: skip


def mean_threshold_rises(results: Results) -> Verdict:
    """Claim 6."""
    data = results.get("3")
    effects = [
        effect(f"change of mean theta of {name_of(one)} over all sizes", change(data, by_size(data, "theta_mean", one)),
               above=0.0, unit="theta")
        for one in (COMPOSED, METROPOLIS, GD_THETA)
    ]  # fmt: skip
    return verdict(
        6,
        "Mean theta rises with the number of stimuli for GD_theta, Metropolis and Composed.",
        "Slope of mean theta against the number of stimuli: above 0 for each.",
        effects, ["3"],
    )  # fmt: skip


def search_ends_above_gradient(results: Results) -> Verdict:
    """Claim 7."""
    data = results.get("3")
    low = by_size(data, "theta_mean", GD_THETA).mean(axis=0)
    effects = [
        effect(f"mean theta, {one} minus GD_theta, mean of all sizes",
               by_size(data, "theta_mean", one).mean(axis=0) - low, above=0.0, unit="theta")
        for one in (COMPOSED, METROPOLIS)
    ]  # fmt: skip
    return verdict(
        7,
        "Mean theta of Metropolis and Composed lies above that of GD_theta.",
        "Difference in mean theta from GD_theta, averaged over sizes: above 0 for both.",
        effects, ["3"],
    )  # fmt: skip


def spread_of_thresholds_rises(results: Results) -> Verdict:
    """Claim 8."""
    data = results.get("3")
    effects = [
        effect(f"change of sd of theta of {name_of(one)} over all sizes", change(data, by_size(data, "theta_sd", one)),
               above=0.0, unit="theta")
        for one in (COMPOSED, GD_THETA)
    ]  # fmt: skip
    return verdict(
        8,
        "The standard deviation of theta over neurons rises with the number of stimuli.",
        "Slope of the sd of theta against the number of stimuli, for the two learners with a threshold per neuron: "
        "above 0 for both.",
        effects, ["3"],
    )  # fmt: skip


def lead_over_metropolis_grows(results: Results) -> Verdict:
    """Claim 9."""
    return _growing_lead(results, 9, METROPOLIS)
