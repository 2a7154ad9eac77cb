"""Metropolis search for a threshold: two networks learn with different thresholds, and one of them is kept.

    theta_g' = theta_g + sigma_M N(0, 1);    keep theta_g' with probability min{1, exp(-beta (e' - e))}

e and e' are the running averages of the costs, which start at the first cost or at 0; a cost that is not finite counts
as infinite. Of each pair of networks,
the first is the current one and the second the proposed one.
"""

import math

import numpy as np
from numpy.typing import NDArray

from kenyon.kernels.learning import Networks

AVERAGES = {"first": np.nan, "zero": 0.0}  # where running averages start, as `propose` takes it


def accept(cost: float, proposed_cost: float, beta: float, uniform: float) -> bool:
    """Decide, with a uniform number in [0, 1), whether to keep the proposal; never if it has diverged."""
    if not math.isfinite(proposed_cost):
        return False
    if not math.isfinite(cost):
        return True
    return bool(uniform < np.exp(min(0.0, -beta * (proposed_cost - cost))))


def independent(rng: np.random.Generator, sigma: float, n_neurons: int) -> NDArray[np.float32]:
    """Return an independent perturbation for every neuron."""
    return (sigma * rng.standard_normal(n_neurons)).astype(np.float32)


def propose(nets: Networks, pair: int, delta: np.float32 | NDArray[np.float32], average: float) -> None:
    """Make the second network of a pair a copy of the first with thresholds shifted by `delta`: all alike, or each.

    Both averages start anew from `average`: NaN stands for the first cost.
    """
    current, proposed = 2 * pair, 2 * pair + 1
    nets.W[proposed] = nets.W[current]
    reach = delta.size if delta.ndim else nets.theta.shape[1]
    np.add(nets.theta[current, :reach], delta, out=nets.theta[proposed, :reach])
    nets.running[current] = nets.running[proposed] = average


def keep_proposed(nets: Networks, pair: int) -> None:
    """Make the second network of a pair the current one."""
    for part in (nets.W, nets.theta, nets.running):
        part[2 * pair] = part[2 * pair + 1]
