"""Weights of a user's own: copied, checked, scaled; and weights that cannot be edited."""

from hashlib import sha256
from typing import Any

import numpy as np
from scipy import sparse

from kenyon import _checks
from kenyon.connectivity import spectral_radius

NO_RADIUS = 1e-7  # relative to the largest weight: smaller eigenvalues are rounding errors
PARTS = ("data", "indices", "indptr")  # arrays of a sparse matrix


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


def digest(W: sparse.csr_array, W_in: sparse.csr_array) -> str:
    """Return a hash of weights, which says which network it was."""
    whole = sha256()
    for weights in (W, W_in):
        whole.update(f"{weights.shape}".encode())
        for part, kind in (("indptr", "<i8"), ("indices", "<i8"), ("data", "<f4")):
            whole.update(np.ascontiguousarray(getattr(weights, part), kind).tobytes())
    return whole.hexdigest()


def read_only(weights: sparse.csr_array) -> sparse.csr_array:
    """Return a copy whose arrays cannot be written to, nor be made writeable again, because they are in bytes."""
    copied = sparse.csr_array(weights)
    for part in PARTS:
        array = getattr(copied, part)
        setattr(copied, part, np.ndarray(array.shape, array.dtype, array.tobytes()))
    return copied
