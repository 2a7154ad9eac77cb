"""Weights of a user's own: copied, checked, scaled, rewired; and weights that cannot be edited."""

from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kenyon import _checks, _seeding
from kenyon.connectivity import spectral_radius

NO_RADIUS = 1e-7  # relative to the largest weight: smaller eigenvalues are rounding errors
PARTS = ("data", "indices", "indptr")  # arrays of a sparse matrix


def own_vector(name: str, given: Any, n: int) -> NDArray[np.float32]:
    """Return a copy of a user's numbers, one for each of n neurons."""
    found = _checks.single(name, _checks.numbers(name, given, f"({n},)", 1))
    if len(found) != n:
        raise ValueError(f"{name} must have shape ({n},), one for each neuron, not {found.shape}")
    return frozen(found)


def own_weights(W_in: Any, W: Any = None) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return copies of a user's W_in and W, dense or sparse, as sparse arrays of float64; no W is an empty one."""
    into = _own("W_in", W_in, "(n_neurons, n_inputs)")
    n, n_inputs = into.shape
    if n == 0 or n_inputs == 0:
        raise ValueError(f"W_in must have shape (n_neurons, n_inputs), at least (1, 1), not {into.shape}")
    if W is None:
        return into, sparse.csr_array((n, n))
    between = _own("W", W, "(n_neurons, n_neurons)")
    if between.shape != (n, n):
        hint = "; transpose W_in?" if between.shape == (n_inputs, n_inputs) else ""
        raise ValueError(
            f"W must have shape {(n, n)}, since W_in with its shape {(n, n_inputs)} has a row for each of {n} neurons, "
            f"not {between.shape}{hint}"
        )
    return into, between


def _own(name: str, given: Any, shape: str) -> sparse.csr_array:
    if not sparse.issparse(given):
        return checked(name, sparse.csr_array(_checks.numbers(name, given, shape, 2).astype(np.float64)))
    if given.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, not {given.dtype} ({shape} expected)")
    if given.ndim != 2:
        raise ValueError(f"{name} must have shape {shape}, not {given.shape}")
    copied = given.astype(np.float64)
    try:
        getattr(copied, "check_format", lambda: None)()  # SciPy would follow indices out of range
        weights = sparse.csr_array(copied)
    except ValueError as error:
        raise ValueError(f"{name} is not a valid sparse matrix: {error}") from None
    weights.sum_duplicates()
    return checked(name, weights)


def checked(name: str, weights: sparse.csr_array) -> sparse.csr_array:
    """Return weights if they are finite, in single precision too."""
    _checks.instance(name, weights, sparse.csr_array)
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(weights.data.astype(np.float32)))
    if len(bad):
        row, column = int(np.searchsorted(weights.indptr, bad[0], "right")) - 1, int(weights.indices[bad[0]])
        raise ValueError(
            f"{name} must be finite and within float32; {name}[{row}, {column}] is {weights.data[bad[0]]:g}"
        )
    return weights


def single(weights: sparse.csr_array) -> sparse.csr_array:
    """Return weights in single precision, without zeros: dense and sparse forms of a network become the same."""
    weights = checked("weights", weights).astype(np.float32)
    weights.eliminate_zeros()
    return weights


def scaled(W: sparse.csr_array, radius: float) -> sparse.csr_array:
    """Return W scaled to a spectral radius."""
    radius, largest = _checks.real("radius", radius, 0.0, _checks.LARGE), spectral_radius(W)
    if radius > 0 and largest <= NO_RADIUS * np.abs(W.data).max(initial=0.0):
        raise ValueError(
            f"W cannot be scaled to spectral_radius={radius:g}: all of its eigenvalues are 0, as without loops "
            "of connections; leave spectral_radius out to take the weights as they are"
        )
    return checked("W", W * (radius / (largest or 1.0)))


def rewire(W: Any, *, seed: int = 0, rounds: int = 10) -> sparse.csr_array:
    """Return a null model of W or W_in: other connections, but each neuron has as many inputs and outputs as before.

    Pairs of rows deal out anew what only one of them is connected to (the curveball algorithm). A row keeps its
    weights, whatever they connect it to. If no neuron of a square matrix is connected to itself, none will be.

    Parameters
    ----------
    W
        Weights: an array, a DataFrame or a SciPy sparse matrix; those that are not 0 are connections.
    seed
        Determines the new connections.
    rounds
        How often each row is paired with another, drawn anew each time.
    """
    rng, rounds = _seeding.generator(_checks.seed(seed), "network", "rewire"), _checks.integer("rounds", rounds, 0)
    weights = _own("W", W, "(n_neurons, n_columns)")
    weights.eliminate_zeros()
    n, n_columns = weights.shape
    loopless = n == n_columns and not weights.diagonal().any()
    rows = np.split(weights.indices, weights.indptr[1:-1]) if n else []  # views, so that trades change the matrix
    for _ in range(rounds if n > 1 else 0):
        for i, j in enumerate((np.arange(n) + rng.integers(1, n, n)) % n):
            _trade(rows[i], rows[j], [i, j] if loopless else [], rng)
    weights.has_sorted_indices = False
    weights.sort_indices()
    return weights


def _trade(a: NDArray[np.integer], b: NDArray[np.integer], kept: list[int], rng: np.random.Generator) -> None:
    """Deal the columns that only one of two rows has out to both anew, in place, but for those `kept`."""
    own_a, own_b = (np.flatnonzero(~np.isin(x, np.append(y, kept))) for x, y in ((a, b), (b, a)))
    dealt = rng.permutation(np.append(a[own_a], b[own_b]))
    a[own_a], b[own_b] = dealt[: len(own_a)], dealt[len(own_a) :]


def digest(W: sparse.csr_array, W_in: sparse.csr_array, *vectors: Any) -> str:
    """Return a hash of weights, which says which network it was; `vectors` of numbers per neuron are part of it."""
    whole = sha256()
    for weights in (W, W_in):
        whole.update(f"{weights.shape}".encode())
        for part, kind in (("indptr", "<i8"), ("indices", "<i8"), ("data", "<f4")):
            whole.update(np.ascontiguousarray(getattr(weights, part), kind).tobytes())
    for vector in vectors:
        whole.update(np.ascontiguousarray(vector, "<f4").tobytes())
    return whole.hexdigest()


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that cannot be written to, nor be made writeable again, because it is in bytes."""
    return np.ndarray(array.shape, array.dtype, array.tobytes())


def read_only(weights: sparse.csr_array) -> sparse.csr_array:
    """Return a copy whose arrays are frozen."""
    copied = sparse.csr_array(weights)
    for part in PARTS:
        setattr(copied, part, frozen(getattr(copied, part)))
    return copied
