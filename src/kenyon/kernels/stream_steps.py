"""A step of learning from one row of a stream, in the units and with the sizes that the stream has come to.

Steps cool with the weight w of the rows seen, as (1 + w / pace)^-1/2; under a forgetting factor w stays bounded, and so
does the step.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kenyon.kernels.learning import Step, learn_all
from kenyon.kernels.running import Moments

POWER = -0.5  # by which steps cool
BY_LARGEST, BY_MEAN = 1, 2  # fixed steps that follow from the data: 1 / max |x|^2, or 1 / mean |x|^2
ROWS, WEIGHT, MEAN, LARGEST, DRIFTED, LEAD, SEEN = range(7)  # places in the counts of a stream
N_COUNTS = SEEN + 4


class Aims(NamedTuple):
    """Real targets: how they are scaled. Kernels change it in place; all is empty where classes are learned."""

    moments: Moments  # of targets that are followed; otherwise of none
    shift: NDArray[np.float64]  # (n_outputs,)
    scale: NDArray[np.float64]  # (n_outputs,)


class Plan(NamedTuple):
    """What follows, and how."""

    follows: bool  # units, thresholds and sizes do
    units: int  # 0: states as they are; PER_STATE, COMMON
    moving: bool  # thresholds start at a percentile
    sized: int  # 0: steps are given; BY_LARGEST, BY_MEAN
    share: float  # k: of thresholds in the step, or 0 if they do not learn
    forgetting: float
    pace: float  # in rows; 0: steps do not cool


@njit
def cooled(plan, counts):
    """Return the factor on the steps."""
    return (1.0 + counts[WEIGHT] / plan.pace) ** POWER if plan.pace > 0 else 1.0


@njit
def _sizes(step, plan, counts):
    """Return step_W and step_theta, or mu and kappa, for the sizes of x seen so far."""
    rate_W, kappa = step.rate_W, plan.share * counts[MEAN] ** 2 / np.float64(step.target) ** 2
    rate_theta = step.rate_theta
    if plan.sized != 0:
        size = counts[LARGEST] if plan.sized == BY_LARGEST else counts[MEAN]
        rate_W = np.float32(1.0 / size) if size > 0 else np.float32(0)
        rate_theta = rate_W * np.float32(kappa)
    elif step.normalised:
        rate_theta = np.float32(kappa)
    return rate_W, rate_theta


@njit
def _with_rates(step, rate_W, rate_theta):
    return Step(
        step.thresholds, step.both, step.signed, step.local, step.normalised, rate_W, rate_theta, step.batch,
        step.summed, step.by_reward, step.following, step.told, step.regression, step.target, step.alpha, step.stride,
        step.beta, step.from_zero,
    )  # fmt: skip


@njit
def scaled(step, nets, aims, told):
    """Return targets as they came, shape (n_outputs,), in their scale, shape (1, rows of W)."""
    targets = np.zeros((1, nets.W.shape[1]), np.float32)
    for j in range(len(told)):
        targets[0, j] = np.float32((told[j] - aims.shift[j]) / aims.scale[j] * np.float64(step.target))
    return targets


@njit(inline="always")  # otherwise it is compiled again with all that it calls
def take_step(plan, step, nets, counts, factor, V, label, targets, uniform, temperature, heat, n_in_batch, out, n, U):
    """Learn from one row of states, shape (n_states,), with steps that are multiplied by `heat`.

    counts, factor  what the stream has shown (`Following.counts`), and units of the states
    n               column of the row in the log `out`
    U               work space, shape (1, n_states)
    others          as in `learn_all`, for one episode
    """
    for i in range(len(V)):
        U[0, i] = V[i] * factor[i]
    now = step
    if plan.follows:
        rate_W, rate_theta = _sizes(step, plan, counts)
        now = _with_rates(step, rate_W, rate_theta)
    factors, unscaled = np.full(1, np.float32(heat)), np.zeros((2, 0), np.float32)
    none, first = (np.zeros((0, 4)), np.zeros((0, 1), np.float32)), np.intp(0)  # a plain 0 is compiled for on its own
    learn_all(now, nets, U, unscaled, label, targets, uniform, temperature, factors, *none, n_in_batch, first, out, n)
