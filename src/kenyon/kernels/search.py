"""Metropolis search for a threshold: two networks learn with different thresholds, and one of them is kept.

    theta_g' = theta_g + sigma_M N(0, 1);    keep theta_g' with probability min{1, exp(-beta (e' - e))}

e and e' are the running averages of the costs, which start at the first cost or at 0; a cost that is not finite counts
as infinite. Of each pair of networks, the first is the current one and the second the proposed one. Arrays are those of
`Networks`.
"""

import numpy as np

from kenyon.kernels.cache import inner, kernel

UNIFORM, COST, PROPOSED_COST, KEPT = range(4)  # columns of `decisions`


@kernel
def accept(cost, proposed_cost, beta, uniform):
    """Decide, with a uniform number in [0, 1), whether to keep the proposal; never if it has diverged."""
    if not np.isfinite(proposed_cost):
        return False
    if not np.isfinite(cost):
        return True
    return uniform < np.exp(min(0.0, -beta * (proposed_cost - cost)))


@kernel
def propose(W, theta, running, pair, shift, from_zero):
    """Make the second network of a pair a copy of the first with its thresholds shifted, all alike or each by its own.

    Both averages start anew, from 0 or from the first cost, for which NaN stands.
    """
    now, new = 2 * pair, 2 * pair + 1
    for j in range(W.shape[1]):
        for i in range(W.shape[2]):
            W[new, j, i] = W[now, j, i]
    for i in range(theta.shape[1] if len(shift) == 1 else len(shift)):
        theta[new, i] = theta[now, i] + shift[0 if len(shift) == 1 else i]
    running[now] = running[new] = 0.0 if from_zero else np.nan


@inner
def _keep_proposed(W, theta, running):
    """Make the second network the current one."""
    for j in range(W.shape[1]):
        for i in range(W.shape[2]):
            W[0, j, i] = W[1, j, i]
    for i in range(theta.shape[1]):
        theta[0, i] = theta[1, i]
    running[0] = running[1]


@kernel
def decide(nets, beta, from_zero, decisions, shifts, k):
    """Take decision k between two networks, and propose what is next.

    decisions   (n, 4): a uniform number for each, followed by what is written: e, e', and 1 if the proposal is kept
    shifts      (n, 1) or (n, n_places): what is added to thresholds after each
    """
    cost, proposed_cost = nets.running[0], nets.running[1]
    kept = accept(cost, proposed_cost, beta, decisions[k, UNIFORM])
    decisions[k, COST], decisions[k, PROPOSED_COST], decisions[k, KEPT] = cost, proposed_cost, kept
    if kept:
        _keep_proposed(nets.W, nets.theta, nets.running)
    propose(nets.W, nets.theta, nets.running, 0, shifts[k], from_zero)
