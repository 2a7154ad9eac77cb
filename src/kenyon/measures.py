"""What a reservoir can do, whatever is learned from it: memory, products of inputs, stability, and telling apart.

Capacities follow Dambre, Verstraeten, Schrauwen & Massar (2012): inputs u(t) are independent and uniform in (-1, 1).
The capacity for a target is the share of its variance that the best linear readout of the states explains; over all
targets that are orthogonal to each other it adds up to at most the number of neurons.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.stats import chi2
from threadpoolctl import threadpool_limits

from kenyon import _checks, _seeding
from kenyon.reservoir import Reservoir

WASHOUT = 200  # steps that are run first, so that the network forgets its rest
CHANCE = 1e-4  # a capacity that chance alone exceeds so rarely is taken for real
Numbers = NDArray[np.float64]


class InformationCapacity(NamedTuple):
    """Shares of variance explained: of inputs, and of their products in pairs."""

    linear: Numbers  # (max_delay + 1,): of u(t - k)
    quadratic: (
        Numbers  # (max_delay + 1, max_delay + 1): of u(t - j) u(t - k) for j < k, of (3 u(t - k)^2 - 1) / 2 for j = k
    )


def information_capacity(
    reservoir: Reservoir, max_delay: int = 30, *, n_steps: int = 10_000, seed: int = 0
) -> InformationCapacity:
    """Return how much of its inputs, and of their products, a network holds in its states.

    The linear part says how far back single inputs can be read out: `linear[k]` is 1 if u(t - k) can be told exactly,
    and 0 if it is forgotten. The quadratic part says the same of products of two inputs, which only a nonlinear network
    computes. The sum of both, and of parts of higher degree, is at most the number of neurons: memory is traded for
    nonlinearity.

    Parameters
    ----------
    reservoir
        The network. All of its input channels receive the same u(t).
    max_delay
        The longest delay; the number of products grows with its square.
    n_steps
        Steps measured. Capacities that chance alone would give, with this number of steps, count as 0.
    seed
        Of the inputs.
    """
    max_delay = _checks.integer("max_delay", max_delay, 0)
    u, Q = _driven(reservoir, max_delay, n_steps, seed)
    n = len(Q)
    delayed = np.stack([u[WASHOUT + max_delay - k :][:n] for k in range(max_delay + 1)])
    linear = _explained(Q, delayed)
    quadratic = np.zeros((max_delay + 1, max_delay + 1))
    for j in range(max_delay + 1):
        products = delayed[j] * delayed[j:]
        products[0] = (3 * products[0] - 1) / 2
        quadratic[j, j:] = _explained(Q, products)
    return InformationCapacity(linear, quadratic)


def memory_capacity(reservoir: Reservoir, max_delay: int = 100, *, n_steps: int = 10_000, seed: int = 0) -> Numbers:
    """Return for each delay the share of the input's variance that can be read out after so many steps.

    The sum is the memory capacity (Jaeger 2002), here with the present input, delay 0: the number of past inputs that a
    linear readout can tell, at most the number of neurons.

    Parameters
    ----------
    reservoir, n_steps, seed
        As in `information_capacity`.
    max_delay
        The longest delay.
    """
    max_delay = _checks.integer("max_delay", max_delay, 0)
    u, Q = _driven(reservoir, max_delay, n_steps, seed)
    return _explained(Q, np.stack([u[WASHOUT + max_delay - k :][: len(Q)] for k in range(max_delay + 1)]))


def _driven(reservoir: Any, max_delay: int, n_steps: Any, seed: Any) -> tuple[Numbers, Numbers]:
    """Return random inputs, and an orthonormal basis of the centred states from when all delays are known."""
    reservoir = _checks.instance("reservoir", reservoir, Reservoir)
    n = _checks.integer("n_steps", n_steps, 2 * (reservoir.n_neurons + 1), 2**31 - 1)
    rng = _seeding.generator(_checks.seed(seed), "measures", "inputs")
    u = rng.uniform(-1.0, 1.0, WASHOUT + max_delay + n)
    inputs = np.repeat(u.astype(np.float32)[:, None], reservoir.n_inputs, axis=1)
    V = reservoir.run(inputs[None], trajectory=True)[0][-n:].astype(np.float64)
    V -= V.mean(axis=0)
    sizes = np.sqrt((V**2).sum(axis=0))
    V = V[:, sizes > 0] / sizes[sizes > 0]
    with threadpool_limits(1, "blas"):  # sums depend on the number of threads
        d, U = linalg.eigh(V.T @ V)
        kept = (
            d > d[-1:].sum() * len(d) * np.finfo(np.float32).eps
        )  # other directions are rounding errors of the states
        return u, (V @ U[:, kept]) / np.sqrt(d[kept])


def _explained(Q: Numbers, targets: Numbers) -> Numbers:
    """Return the shares of variance of targets, shape (k, n), in the space of the states; 0 where it may be chance."""
    n, rank = Q.shape
    centred = targets - targets.mean(axis=1, keepdims=True)
    share = ((centred @ Q) ** 2).sum(axis=1) / (centred**2).sum(axis=1)
    return np.where(share > chi2.ppf(1 - CHANCE, rank) / n, share, 0.0)


def lyapunov_exponent(reservoir: Reservoir, inputs: ArrayLike, *, seed: int = 0) -> float:
    """Return the largest Lyapunov exponent of a network that is driven by a series, per step.

    It is the mean rate at which a small difference between two states grows, ln |d(t+1)| / |d(t)|, while both hear the
    same input. Below 0, states depend on the input alone, and a start from elsewhere is forgotten (the echo state
    property); above 0 the network is chaotic, and its states cannot be relied on. Memory is longest just below 0.

    Parameters
    ----------
    reservoir
        The network, without delays or with them.
    inputs
        The series, shape (T, n_inputs), as the network hears it. The first 200 steps only prepare.
    seed
        Of the first difference.
    """
    reservoir = _checks.instance("reservoir", reservoir, Reservoir)
    series = _checks.single("inputs", _checks.numbers("inputs", inputs, f"(T, {reservoir.n_inputs})", 2))
    if len(series) <= WASHOUT:
        raise ValueError(f"inputs must have more than {WASHOUT} steps, which only prepare, not {len(series)}")
    V = reservoir.run(series[None], trajectory=True)[0].astype(np.float64)
    a, W = np.asarray(reservoir.leak_rate, np.float64), reservoir.W.astype(np.float64)
    delta = _seeding.generator(_checks.seed(seed), "measures", "difference").standard_normal(reservoir.n_neurons)
    total = 0.0
    for t in range(1, len(V)):
        fired = (V[t] - (1 - a) * V[t - 1]) / a  # f of the drive, from which its slope follows
        slope = np.maximum(1 - fired**2, 0.0) if reservoir.activation == "tanh" else fired > 1e-7
        delta = (1 - a) * delta + a * slope * (W @ delta)
        size = float(np.sqrt(delta @ delta))
        if size == 0:
            return -np.inf
        delta /= size
        total += np.log(size) if t >= WASHOUT else 0.0
    return total / (len(V) - WASHOUT)


def kernel_rank(reservoir: Reservoir, series: ArrayLike | list[ArrayLike]) -> int:
    """Return the rank of the states that different series lead to: how many a linear readout could tell apart freely.

    Of n series at least n neurons are needed for rank n, which lets a readout assign any numbers to them (Legenstein &
    Maass 2007). It is taken in single precision: directions below rounding errors do not count.

    Parameters
    ----------
    reservoir
        The network.
    series
        An array (n, T, n_inputs), or a list of arrays (T_k, n_inputs).
    """
    reservoir = _checks.instance("reservoir", reservoir, Reservoir)
    return _rank(_ends("series", reservoir, series))


def generalisation_rank(
    reservoir: Reservoir, series: ArrayLike, *, noise: float = 0.1, n_copies: int = 100, seed: int = 0
) -> int:
    """Return the rank of the states that noisy copies of one series lead to: what noise alone makes of a network.

    Low is good: directions in which noise moves the states cannot be used to tell series apart. A network is useful
    where its `kernel_rank` for as many different series is much larger.

    Parameters
    ----------
    reservoir
        The network.
    series
        The series, shape (T, n_inputs).
    noise
        Standard deviation of what is added to every number of the series.
    n_copies
        How many copies.
    seed
        Of the noise.
    """
    reservoir = _checks.instance("reservoir", reservoir, Reservoir)
    noise = _checks.real("noise", noise, 0.0, _checks.LARGE)
    n_copies = _checks.integer("n_copies", n_copies, 1, 2**20)
    clean = _checks.single("series", _checks.numbers("series", series, f"(T, {reservoir.n_inputs})", 2))
    xi = _seeding.generator(_checks.seed(seed), "measures", "noise").standard_normal((n_copies, *clean.shape))
    return _rank(_ends("series", reservoir, (clean + noise * xi).astype(np.float32)))


def separation(reservoir: Reservoir, series: ArrayLike, others: ArrayLike) -> Numbers:
    """Return how much further apart the states are than the series that led to them, for each pair.

    It is |V - V'| / |s - s'|, with V the final states and |s - s'| over all steps and channels. Differences in the last
    steps separate more than earlier ones, which a network forgets.

    Parameters
    ----------
    reservoir
        The network.
    series, others
        Arrays (n, T, n_inputs): each series is compared with the other of the same number, which must differ.
    """
    reservoir = _checks.instance("reservoir", reservoir, Reservoir)
    s, t = (_checks.numbers(name, x, "(n, T, n_inputs)", 3) for name, x in (("series", series), ("others", others)))
    if s.shape != t.shape:
        raise ValueError(f"others must have the shape of series, {s.shape}, not {t.shape}")
    V, U = _ends("series", reservoir, s), _ends("others", reservoir, t)
    apart = np.sqrt(((s.astype(np.float64) - t.astype(np.float64)) ** 2).sum(axis=(1, 2)))
    if not (apart > 0).all():
        raise ValueError(f"others must differ from series, but number {int(apart.argmin())} does not")
    return np.asarray(np.sqrt(((V - U) ** 2).sum(axis=1)) / apart)


def _ends(name: str, reservoir: Reservoir, series: Any) -> Numbers:
    """Return the final states of series."""
    try:
        return reservoir.run(series).astype(np.float64)
    except ValueError as error:
        raise ValueError(str(error).replace("inputs", name, 1)) from None


def _rank(V: Numbers) -> int:
    sizes = linalg.svdvals(V)
    return int((sizes > sizes[0] * max(V.shape) * np.finfo(np.float32).eps).sum()) if sizes[0] > 0 else 0
