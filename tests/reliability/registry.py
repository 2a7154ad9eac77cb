"""Every public callable with what is tried on it: the tests and the check that none is left out read the same table."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

CASES: dict[str, "Case"] = {}


class Case(NamedTuple):
    """One callable."""

    call: Callable[..., Any]  # takes its arguments by name
    valid: Callable[[], dict[str, Any]]  # arguments that are right, made anew
    hostile: dict[str, Any]  # a strategy for each argument that may be wrong
    clothes: dict[str, Any]  # right arrays, by argument, whose numbers may come in other clothes
    see: Callable[[Any], Any]  # of a result, what is compared and must be finite
    check: Callable[[Any], None]  # what else holds for a right result
    nan: bool  # NaN is a right result
    errors: tuple[type[Exception], ...]  # documented ones beside ValueError and TypeError
    words: dict[str, tuple[str, ...]]  # by which an error may name an argument, if not by its own name


def case(name, call, valid=dict, hostile=(), *, clothes=(), see=lambda result: result, check=lambda result: None,
         nan=False, errors=(), words=()):  # fmt: skip
    """Enter a callable; `name` as the walk through the package gives it."""
    assert name not in CASES, f"{name} comes twice"
    CASES[name] = Case(call, valid, dict(hostile), dict(clothes), see, check, nan, errors, dict(words))


def leaves(value):
    """Return all arrays and numbers within a result."""
    if isinstance(value, np.ndarray) or np.isscalar(value):
        return [np.asarray(value)]
    if sparse.issparse(value):
        return [value.data, value.indices, value.indptr]
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    if dataclasses.is_dataclass(value):
        return [leaf for field in dataclasses.fields(value) for leaf in leaves(getattr(value, field.name))]
    if hasattr(value, "data_vars"):
        return [variable.values for variable in value.variables.values()]
    return []


def fingerprint(value):
    """Return what must not change in an argument."""
    if isinstance(value, np.ma.MaskedArray):
        return fingerprint(value.filled(0)), fingerprint(np.ma.getmaskarray(value))
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.strides, repr(value) if value.dtype == object else value.tobytes()
    if isinstance(value, (list, tuple)):
        return [fingerprint(part) for part in value]
    if isinstance(value, dict):
        return {str(name): fingerprint(part) for name, part in value.items()}
    return None
