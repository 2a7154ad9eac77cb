"""Claims 10 to 14, and 22: the sequence task."""

from __future__ import annotations

from kenyon.paper.claims.samples import (
    COMPOSED,
    GD_THETA,
    GD_W,
    METROPOLIS,
    by_size,
    change,
    leads,
    name_of,
    values,
    verdict,
)
from kenyon.paper.plan import Results
from kenyon.paper.verdicts import Verdict, effect


def composed_is_best_on_sequences(results: Results) -> Verdict:
    """Claim 10."""
    return verdict(
        10,
        "Sequences: Composed is the best of the four.",
        "Lead of Composed over the strongest of the other three, at every number of sequences: all above 0.",
        leads(results.get("4"), COMPOSED, (GD_W, GD_THETA, METROPOLIS), "sequences"), ["4"],
    )  # fmt: skip


def metropolis_hardly_helps_on_sequences(results: Results) -> Verdict:
    """Claim 11."""
    data = results.get("4")
    effects = [
        effect(f"Metropolis minus GD_W at {size} sequences",
               values(data, "accuracy", METROPOLIS, int(size)) - values(data, "accuracy", GD_W, int(size)),
               below=0.05, unit="accuracy")
        for size in data["size"].values[::-1]
    ]  # fmt: skip
    return verdict(
        11,
        "Sequences: Metropolis hardly improves on GD_W.",
        "Difference in accuracy between Metropolis and GD_W: below 0.05 at every number of sequences.",
        effects, ["4"], "GD_W has its own learning rate here, a quarter of the paper's, at which it is stable.",
    )  # fmt: skip


def gradient_has_the_highest_thresholds_on_sequences(results: Results) -> Verdict:
    """Claim 12."""
    data = results.get("5")
    own = by_size(data, "theta_mean", GD_THETA).mean(axis=0)
    effects = [
        effect(f"mean theta, GD_theta minus {one}, mean of all sizes",
               own - by_size(data, "theta_mean", one).mean(axis=0), above=0.0, unit="theta")
        for one in (COMPOSED, METROPOLIS)
    ]  # fmt: skip
    return verdict(
        12,
        "Sequences: GD_theta has the highest mean theta.",
        "Difference in mean theta from Composed and from Metropolis, averaged over sizes: above 0 for both.",
        effects, ["5"],
    )  # fmt: skip


def spread_exceeds_that_of_the_static_task(results: Results) -> Verdict:
    """Claim 13."""
    static, sequence = results.get("3"), results.get("5")
    effects = [
        effect(f"sd of theta of {name_of(one)}, sequence minus static task, mean of all sizes",
               by_size(sequence, "theta_sd", one).mean(axis=0) - by_size(static, "theta_sd", one).mean(axis=0),
               above=0.0, unit="theta")
        for one in (COMPOSED, GD_THETA)
    ]  # fmt: skip
    return verdict(
        13,
        "Sequences: the standard deviation of theta exceeds that in the static task.",
        "Difference in sd of theta between the tasks, averaged over sizes, for the two learners with a threshold per "
        "neuron: above 0 for both.",
        effects, ["3", "5"],
    )  # fmt: skip


def the_start_decides(results: Results) -> Verdict:
    """Claim 14."""
    data = results.get("4")
    effects = [
        effect(f"Composed from the prelearned start minus from 0, {size} sequences",
               values(data, "accuracy", COMPOSED, int(size)) - values(data, "accuracy", "Composed from 0", int(size)),
               above=0.0, unit="accuracy")
        for size in data["size"].values[::-1]
    ]  # fmt: skip
    return verdict(
        14,
        "Sequences: the start of theta_g decides; without prelearning Composed is worse.",
        "Difference in accuracy between Composed from its prelearned start and from theta_g = 0: above 0 at every "
        "number of sequences.",
        effects, ["4"],
    )  # fmt: skip


def thresholds_show_no_trend_on_sequences(results: Results) -> Verdict:
    """Claim 22."""
    data = results.get("5")
    pairs = [(COMPOSED, "theta_mean"), (METROPOLIS, "theta_mean"), (GD_THETA, "theta_mean")]
    effects = []
    for learner, variable in [*pairs, (COMPOSED, "theta_sd"), (GD_THETA, "theta_sd")]:
        found = by_size(data, variable, learner)
        label = f"change of {variable.replace('theta_', '')} theta of {name_of(learner)} over all sizes, of its mean"
        effects.append(effect(label, change(data, found) / found.mean(axis=0), above=-0.1, below=0.1, unit="share"))
    return verdict(
        22,
        "Sequences: mean and standard deviation of theta show no evident trend with the number of sequences.",
        "Change by a straight line from the smallest to the largest number of sequences: within 10% of the value, for "
        "all learners with thresholds.",
        effects, ["5"],
    )  # fmt: skip
