"""The paper's 23 claims, each judged from stored results by a rule that it states.

A learner that diverged counts as guessing. Sizes at which the learners compared are all above 0.995 cannot tell which
is better, and are left out. Slopes are those of a straight line over sizes, given as the change from the smallest to
the largest.
"""

from __future__ import annotations

from collections.abc import Callable

from kenyon.paper.claims import both, sequence, static
from kenyon.paper.plan import Results
from kenyon.paper.verdicts import Verdict

CLAIMS: tuple[Callable[[Results], Verdict], ...] = (
    static.thresholds_beat_the_plain_readout,
    static.composed_is_best_at_every_size,
    static.composed_converges_fastest,
    static.lead_over_plain_grows,
    static.coding_levels,
    static.mean_threshold_rises,
    static.search_ends_above_gradient,
    static.spread_of_thresholds_rises,
    static.lead_over_metropolis_grows,
    sequence.composed_is_best_on_sequences,
    sequence.metropolis_hardly_helps_on_sequences,
    sequence.gradient_has_the_highest_thresholds_on_sequences,
    sequence.spread_exceeds_that_of_the_static_task,
    sequence.the_start_decides,
    both.specificity_rises,
    both.composed_beats_plain_by_reward,
    both.gradient_cannot_wake_the_silent,
    both.other_input_weights_leave_the_order,
    both.argmax_leaves_the_order,
    both.integrators_solve_the_static_task,
    both.summed_activity_gives_the_same_picture,
    sequence.thresholds_show_no_trend_on_sequences,
    both.one_threshold_is_found_sooner_than_many,
)


def judge(results: Results) -> list[Verdict]:
    """Return the verdicts on all claims, in the paper's order."""
    return [claim(results) for claim in CLAIMS]
