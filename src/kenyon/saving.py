"""Models in files: safetensors for arrays, JSON in the header for all else, and never pickle.

A value is walked: arrays become tensors, and what holds them is described by plain JSON with the name of its kind.
Reading knows a fixed table of kinds, so that a file can only ever describe models, not run anything.
"""

from __future__ import annotations

import json
import os
import tempfile
from hashlib import sha256
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kenyon import _checks

FORMAT = 2  # of the files; a file of a higher number was written by a newer version; the first had no digest
KEY = "kenyon"
MADE = ("_network", "_sorted")  # of a reservoir, from its weights
MAX_TEXT_BYTES = 2**28  # bytes of the names of all classes, at most
HOME = {
    "kenyon.estimators": (
        "ReservoirClassifier",
        "ReservoirRegressor",
        "ReservoirTransformer",
        "ThresholdReadout",
        "ThresholdRegressor",
    ),
    "kenyon.estimators._training": ("Training", "Units"),
    "kenyon.estimators._encoding": ("RowEncoder", "Scaling", "SeriesEncoder"),
    "kenyon.learning.controls": ("RLSState", "RecursiveLeastSquares"),
    "kenyon.kernels.learning": ("Networks",),
    "kenyon.learning.learners": (
        "Composed",
        "GradientThresholds",
        "GradientWeights",
        "Learner",
        "Metropolis",
        "Normalised",
        "Percentile",
        "State",
    ),
    "kenyon.learning.protocol": ("Source",),
    "kenyon.learning.ridge": ("Ridge", "RidgeState"),
    "kenyon.learning.rules": ("QLearning", "Regression", "Schedule", "Supervised"),
    "kenyon.readout": ("Readout",),
    "kenyon.reservoir": ("Reservoir",),
}
KINDS = {name: module for module, names in HOME.items() for name in names}
BY_ATTRIBUTES = {*HOME["kenyon.estimators"], *HOME["kenyon.reservoir"]}  # built without their constructors


def save(path: str | os.PathLike[str], model: Any) -> None:
    """Write a fitted estimator or a readout to a file.

    Parameters
    ----------
    path
        The file's name. It is written under another name first, so that an existing file is replaced whole or not.
    model
        An estimator or a `Readout`.
    """
    from safetensors.numpy import save as to_bytes

    from kenyon import __version__

    target = _checks.path("path", path)
    if type(model).__name__ not in KINDS:
        raise ValueError(f"model must be an estimator or a Readout, not {_checks.short_repr(model)}")
    tensors: dict[str, NDArray[Any]] = {}
    described = _describe(model, tensors)
    header = {"format": FORMAT, "version": __version__, "model": described, "sha256": digest(described, tensors)}
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(to_bytes(tensors, {KEY: json.dumps(header)}))
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def load(path: str | os.PathLike[str]) -> Any:
    """Return the estimator or readout that `save` wrote to a file.

    Parameters
    ----------
    path
        The file's name. A file that is cut short, of another kind, or written by a newer version is refused.
    """
    from safetensors import SafetensorError, safe_open

    path = _checks.path("path", path)
    try:
        with safe_open(path, framework="numpy") as file:
            described = (file.metadata() or {}).get(KEY)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, ValueError, TypeError) as error:
        raise ValueError(f"{path} is not a whole file of Kenyon's: {error}") from None
    try:
        header = json.loads(described or "null")
        number, version = header["format"], header["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError(f"{path} was not written by Kenyon, though it is a safetensors file") from None
    if not isinstance(number, int) or number > FORMAT:
        raise ValueError(
            f"{path} was written by a newer version, Kenyon {version} (format {number}); "
            f"this one reads formats up to {FORMAT}: update it"
        )
    try:
        if number > 1 and header["sha256"] != digest(header["model"], tensors):
            raise ValueError("its contents are not what was written")
        return _build(header["model"], tensors)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {type(error).__name__} {error}") from None


def digest(described: Any, tensors: dict[str, NDArray[Any]]) -> str:
    """Return a hash of a model's description and its tensors."""
    whole = sha256(json.dumps(described).encode())
    for name in sorted(tensors):
        whole.update(f"{name} {tensors[name].dtype.str} {tensors[name].shape}".encode())
        whole.update(np.ascontiguousarray(tensors[name]).tobytes())
    return whole.hexdigest()


def _describe(value: Any, tensors: dict[str, NDArray[Any]]) -> Any:
    """Return plain JSON for a value, and put its arrays into `tensors`."""
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return {"scalar": value.dtype.str, "of": value.item()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        return _describe_array(value, tensors)
    if sparse.issparse(value):
        parts = {name: _describe(getattr(value, name), tensors) for name in ("data", "indices", "indptr")}
        return {"sparse": parts, "shape": list(value.shape)}
    if isinstance(value, dict):
        return {"dict": [[_describe(k, tensors), _describe(v, tensors)] for k, v in value.items()]}
    if isinstance(value, np.random.RandomState):
        return None  # what it decided is in the fitted model
    kind = type(value).__name__
    if kind in KINDS:
        return {"kind": kind, "of": {name: _describe(one, tensors) for name, one in _parts(value).items()}}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [_describe(one, tensors) for one in value]}
    raise ValueError(f"{kind} cannot be saved: {value!r}")


def _parts(value: Any) -> dict[str, Any]:
    parts = value._asdict() if hasattr(value, "_asdict") else vars(value)
    return {name: one for name, one in parts.items() if name not in MADE}


def _describe_array(value: NDArray[Any], tensors: dict[str, NDArray[Any]]) -> Any:
    if value.dtype.kind in "US":
        return {"texts": value.tolist(), "dtype": value.dtype.str}
    if value.dtype.kind == "O":
        return {"objects": [_describe(one, tensors) for one in value.tolist()]}
    if value.dtype.kind not in "biuf":
        raise ValueError(f"an array of {value.dtype} cannot be saved")
    name = f"t{len(tensors)}"
    tensors[name] = np.ascontiguousarray(value).reshape(value.shape)
    return {"tensor": name}


def _dtype(name: str, kinds: str, n: int) -> Any:
    """Return the NumPy type of this name, refusing what no model has, and `n` texts that would fill memory."""
    dtype = np.dtype(name)
    if dtype.kind not in kinds or n * dtype.itemsize > MAX_TEXT_BYTES:
        raise ValueError(f"{name} is no type of a model's")
    return dtype


def _build(described: Any, tensors: dict[str, NDArray[Any]]) -> Any:
    """Return the value that was described."""
    if not isinstance(described, dict):
        return described
    if "tensor" in described:
        return tensors[described["tensor"]].copy()
    if "scalar" in described:
        return _dtype(described["scalar"], "biuf", 1).type(described["of"])
    if "texts" in described:
        return np.array(described["texts"], _dtype(described["dtype"], "US", len(described["texts"])))
    if "objects" in described:
        values = [_build(one, tensors) for one in described["objects"]]
        array = np.empty(len(values), object)
        array[:] = values
        return array
    if "sparse" in described:
        data, indices, indptr = (_build(described["sparse"][name], tensors) for name in ("data", "indices", "indptr"))
        return _sparse(data, indices, indptr, tuple(described["shape"]))
    if "dict" in described:
        return {_build(key, tensors): _build(one, tensors) for key, one in described["dict"]}
    if "list" in described:
        return [_build(one, tensors) for one in described["list"]]
    if "tuple" in described:
        return tuple(_build(one, tensors) for one in described["tuple"])
    kind = getattr(import_module(KINDS[described["kind"]]), described["kind"])
    parts = {name: _build(one, tensors) for name, one in described["of"].items()}
    if described["kind"] in BY_ATTRIBUTES:
        model = kind.__new__(kind)
        vars(model).update(parts)
    else:
        model = kind(**parts)
    return _checked(model)


def _sparse(data: Any, indices: Any, indptr: Any, shape: tuple[int, ...]) -> Any:
    """Return a sparse matrix, refusing places outside of it, which SciPy would follow."""
    rows, columns = shape
    whole = all(one.ndim == 1 and one.dtype.kind in "iu" for one in (indices, indptr)) and data.ndim == 1
    if not whole or len(indptr) != rows + 1 or not len(data) == len(indices) == indptr[-1]:
        raise ValueError("the parts of a sparse matrix do not fit together")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any() or (indices < 0).any() or (indices >= columns).any():
        raise ValueError("a sparse matrix has places outside of it")
    return sparse.csr_array((data, indices, indptr), shape=shape)


def _checked(model: Any) -> Any:
    """Return what was built, refusing arrays out of which a kernel, which checks nothing, would read or write."""
    from kenyon.learning.learners import State
    from kenyon.reservoir import Reservoir

    if isinstance(model, Reservoir):
        model._join()
    if isinstance(model, State):
        model.check()
    return model
