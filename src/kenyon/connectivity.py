"""Random connections: W between the neurons, W_in from the inputs to them. Sparse throughout.

W: each entry is nonzero with the same probability, then uniform in (-1, 1), and W is scaled to a spectral radius. W_in
("lognormal"): neuron i has weight X_i, lognormal with mean 1 and variance 0.5, and round(c / X_i) distinct inputs, with
c such that neurons have the desired number of inputs on average: the more connections, the weaker each.
"""

from contextlib import suppress
from functools import reduce
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs
from threadpoolctl import threadpool_limits

from kenyon import _checks

CONNECTIONS, INPUT_CONNECTIONS = 10.0, 6.0  # per neuron, unless they are given or there are too few
WEIGHT_VARIANCE = 0.5  # of the lognormal input weights, whose mean is 1
INPUT_FORMS = ("lognormal", "fixed_degree", "uniform", "gaussian")
POWER = 8  # of W whose eigenvalues are sought
REMEMBERED = 256  # spectral radii
_known: dict[bytes, float] = {}  # spectral radius by the digest of the matrix


def mean_connections(connections: float | None, n_neurons: int) -> float:
    """Return the mean number of recurrent connections to a neuron: as given, or by default 10, at most one to each."""
    n_neurons = _checks.integer("n_neurons", n_neurons, 1, 2**31)
    if connections is None:
        return min(CONNECTIONS, float(n_neurons))
    mean = _checks.real("connections", connections, 0.0)
    if mean > n_neurons:
        raise ValueError(f"connections must be at most n_neurons={n_neurons}, not {_checks.short_repr(connections)}")
    return mean


def mean_inputs(input_connections: float | None, form: str, n_inputs: int) -> float | None:
    """Return the mean number of inputs to a neuron: as given, or by default 6, at most half of them.

    With more than half, neurons would hardly differ. The gaussian form has no such number: None.
    """
    _checks.one_of("form", form, INPUT_FORMS)
    n_inputs, shown = _checks.integer("n_inputs", n_inputs, 1, 2**31), _checks.short_repr(input_connections)
    if input_connections is None:
        mean = min(INPUT_CONNECTIONS, _half(n_inputs))
        return None if form == "gaussian" else float(round(mean)) if form == "fixed_degree" else mean
    if form == "gaussian":
        raise ValueError(
            f"input_connections = {shown} would do nothing: input_weights='gaussian' connects all inputs to all neurons"
        )
    mean = _checks.real("input_connections", input_connections, 1.0)
    if mean > n_inputs:
        raise ValueError(f"input_connections must be at most n_inputs={n_inputs}, not {shown}")
    if form == "fixed_degree" and not mean.is_integer():
        raise ValueError(f"input_connections must be a whole number with input_weights='fixed_degree', not {shown}")
    return mean


def _half(n_inputs: int) -> float:
    return max(1.0, n_inputs / 2)


def recurrent(n_neurons: int, connections: float, radius: float, rng: np.random.Generator) -> sparse.csr_array:
    """Return rho W: `connections` entries per row on average, scaled to spectral radius `radius`."""
    n_neurons = _checks.integer("n_neurons", n_neurons, 1, 2**31)
    connections = mean_connections(connections, n_neurons)
    radius = _checks.real("radius", radius, 0.0, _checks.LARGE)
    _checks.instance("rng", rng, np.random.Generator)
    degrees = rng.binomial(n_neurons, connections / n_neurons, size=n_neurons)
    W = _rows([rng.choice(n_neurons, k, replace=False, shuffle=False) for k in degrees], n_neurons)
    W.data = rng.uniform(-1.0, 1.0, W.nnz)
    if radius == 0 or connections == 0:
        W = sparse.csr_array((n_neurons, n_neurons))
    else:
        largest = spectral_radius(W)
        if largest < 1e-9:
            raise ValueError(
                f"connections = {connections:g} left {n_neurons} neurons without a single loop, so W cannot be scaled; "
                "use more connections, more neurons or another seed, or connections=0 for unconnected neurons"
            )
        W.data *= radius / largest
    return W.astype(np.float32)


def spectral_radius(W: sparse.csr_array) -> float:
    """Return the largest modulus of an eigenvalue, always the same for the same matrix.

    Ten leading eigenvalues are computed, not one: asked for one, ARPACK returns a smaller one for one matrix in six.
    The tolerance is far below the ten digits that are kept, so that they do not depend on SciPy's version. BLAS is
    limited to one thread, because its sums depend on the number of threads. What was computed is remembered: the trials
    of a sweep have few networks.

    Those of W^8 are sought, since their moduli lie further apart, and products with W cost less than ARPACK's own
    steps: it takes a third to half of the time.
    """
    W = _checks.instance("W", W, sparse.csr_array)
    if W.ndim != 2 or W.shape[0] != W.shape[1] or 0 in W.shape or W.dtype.kind != "f" or not np.isfinite(W.data).all():
        raise ValueError(f"W must be square and hold finite real numbers, not {_checks.short_repr(W)}")
    parts = (part.tobytes() for part in (W.data, W.indices, W.indptr))
    key = sha256(b"".join((W.dtype.str.encode(), *parts))).digest()
    if key not in _known:
        if len(_known) >= REMEMBERED:
            _known.clear()
        _known[key] = _largest_modulus(W)
    return _known[key]


def _largest_modulus(W: sparse.csr_array) -> float:
    n = W.shape[0]
    if not _has_loops(W):
        return 0.0
    if n > 200:
        with suppress(ArpackError), threadpool_limits(1, "blas"):
            return _rounded(_leading_moduli(W))
    if n > 5000:
        raise ValueError(f"the spectral radius of {n} neurons did not converge; use more connections or another seed")
    with threadpool_limits(1, "blas"):
        return _rounded(np.abs(np.linalg.eigvals(W.toarray())))


def _leading_moduli(W: sparse.csr_array) -> NDArray[np.float64]:
    start = np.random.default_rng(0).standard_normal(W.shape[0])
    unit = 2.0 ** np.rint(np.log2(np.abs(W.data).max()))  # a power of 2, so that nothing is rounded
    shrunk = W / unit
    powered = LinearOperator(W.shape, lambda v: reduce(lambda v, _: shrunk @ v, range(POWER), v), dtype=W.dtype)
    found = eigs(powered, k=10, ncv=120, v0=start, tol=1e-11, maxiter=200, return_eigenvectors=False)
    return np.asarray(unit * np.abs(found) ** (1 / POWER))


def _has_loops(W: sparse.csr_array) -> bool:
    """Tell whether any neuron reaches itself: otherwise all eigenvalues are 0, though solvers may not find them so."""
    edges = sparse.csr_array((W.data != 0, W.indices.astype(np.int32), W.indptr.astype(np.int32)), shape=W.shape)
    edges.eliminate_zeros()
    parts = connected_components(edges, directed=True, connection="strong", return_labels=False)
    return bool(parts < W.shape[0] or edges.diagonal().any())


def _rounded(moduli: NDArray[np.float64]) -> float:
    """Return the largest modulus to ten digits: the rest differs between processors, and so would W."""
    return float(f"{moduli.max():.10g}")


def inputs(
    form: str, n_neurons: int, n_inputs: int, input_connections: float | None, rng: np.random.Generator
) -> sparse.csr_array:
    """Return W_in in one of `INPUT_FORMS`.

    lognormal: as above. fixed_degree: the same number of inputs for all neurons, weights X_i c / `input_connections`,
    which leaves the mean sum of a neuron's weights as it was; above half of the inputs, weights as at half of them.
    uniform: numbers of inputs as in the lognormal form, each weight uniform in (0, 2). gaussian: all inputs to all
    neurons, weights standard normal.

    The forms differ in how strongly they drive the network. On the static task with the default reservoir, the mean
    of |V|^2 over five seeds is 1050 (lognormal), 1430 (fixed_degree), 3180 (uniform) and 1000 (gaussian). `input_gain`
    of a reservoir changes it.
    """
    _checks.one_of("form", form, INPUT_FORMS)
    n_neurons = _checks.integer("n_neurons", n_neurons, 1, 2**31)
    n_inputs = _checks.integer("n_inputs", n_inputs, 1, 2**31)
    mean = mean_inputs(input_connections, form, n_inputs)
    _checks.instance("rng", rng, np.random.Generator)
    if mean is None:
        return sparse.csr_array(rng.standard_normal((n_neurons, n_inputs)).astype(np.float32))
    sigma2 = np.log1p(WEIGHT_VARIANCE)
    X = rng.lognormal(-sigma2 / 2, np.sqrt(sigma2), n_neurons)
    if form == "fixed_degree":
        # Above half of the inputs, c would grow out of proportion, because degrees are limited.
        typical = min(INPUT_CONNECTIONS if input_connections is None else mean, _half(n_inputs))
        degrees = np.full(n_neurons, int(mean))
        X = X * _solve_degrees(X, typical, n_inputs) / typical
    else:
        degrees = _degrees(_solve_degrees(X, mean, n_inputs), X, n_inputs)
    W_in = _rows([rng.choice(n_inputs, k, replace=False, shuffle=False) for k in degrees], n_inputs)
    W_in.data = rng.uniform(0.0, 2.0, W_in.nnz) if form == "uniform" else np.repeat(X, degrees)
    return W_in.astype(np.float32)


def _degrees(c: float, X: NDArray[np.float64], n_inputs: int) -> NDArray[np.int64]:
    return np.clip(np.rint(c / X), 1, n_inputs).astype(np.int64)


def _solve_degrees(X: NDArray[np.float64], mean_degree: float, n_inputs: int) -> float:
    """Find c by bisection: the mean degree grows with it."""
    low, high = 0.0, float(n_inputs * X.max())
    for _ in range(60):
        middle = (low + high) / 2
        if _degrees(middle, X, n_inputs).mean() < mean_degree:
            low = middle
        else:
            high = middle
    return high


def _rows(columns: list[NDArray[np.int64]], width: int) -> sparse.csr_array:
    """Return a sparse matrix with ones in these columns of each row."""
    ends = np.concatenate([[0], np.cumsum([len(row) for row in columns])])
    flat = np.concatenate([np.sort(row) for row in columns])
    return sparse.csr_array((np.ones(len(flat)), flat, ends), shape=(len(columns), width))
