"""Which effects each claim is judged by, and the notes that depend on results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from kenyon.paper.claims import codes, performance
from kenyon.paper.claims.performance import OTHERS, THRESHOLDS
from kenyon.paper.plan import COMPOSED, GD_THETA, METROPOLIS, Results
from kenyon.paper.verdicts import Effect

SEARCHING, PER_NEURON = (COMPOSED, METROPOLIS), (COMPOSED, GD_THETA)
MEAN_THETA = "mean theta, {} minus {}, mean of all sizes"
ACTIVE_THETA = "mean theta of ever active neurons, {} minus {}, mean of all sizes"
SD_THETA = "sd of theta of {}, sequence minus static task, mean of all sizes"
EFFECTS: Mapping[int, Callable[[Results], list[Effect]]] = {
    1: performance.better_and_faster,
    2: partial(performance.leads, "2"),
    3: performance.convergence,
    4: partial(performance.growing_leads, OTHERS),
    5: codes.coding_levels,
    6: partial(codes.rises, "change of mean theta of {} over all sizes", "theta_mean", THRESHOLDS),
    7: partial(codes.averages, MEAN_THETA, "theta_mean", [(("3", name), ("3", GD_THETA)) for name in SEARCHING]),
    8: partial(codes.rises, "change of sd of theta of {} over all sizes", "theta_sd", PER_NEURON),
    9: partial(performance.growing_leads, [METROPOLIS]),
    10: partial(performance.leads, "4"),
    11: performance.small_gain,
    12: partial(
        codes.averages, ACTIVE_THETA, "theta_active_mean", [(("5", GD_THETA), ("5", name)) for name in SEARCHING]
    ),
    13: partial(codes.averages, SD_THETA, "theta_sd", [(("5", name), ("3", name)) for name in PER_NEURON]),
    14: performance.starts,
    15: codes.classes_apart,
    16: performance.reward,
    17: codes.silent_neurons,
    18: performance.for_other_inputs,
    19: performance.argmax,
    20: performance.unconnected,
    21: codes.summed_specificity,
    22: codes.no_trend,
    23: performance.one_threshold_or_many,
    24: performance.mixture,
    25: performance.shifted,
    26: performance.fixed_thresholds,
    27: codes.effective_rates,
    28: codes.courses,
    29: performance.adaptive_step,
    30: codes.relative_by_chance,
    31: codes.directions,
    32: performance.low_activities,
}
NOTES: Mapping[int, Callable[[Results], str]] = {
    5: codes.coding_level_note,
    17: codes.woken_note,
    20: performance.leak_note,
}
