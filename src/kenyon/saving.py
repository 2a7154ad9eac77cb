"""Models in files: safetensors for arrays, JSON in the header for everything else, and never pickle.

Saving walks through a model: arrays become tensors, and the objects that hold them become JSON with the name of their
class. Loading knows a fixed table of classes, so a file can only describe models, never run anything.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kenyon import _checks
from kenyon._files import write_whole
from kenyon._version import __version__
from kenyon.learning.switches import acting

MODEL_FORMAT = 7  # of the files; the only one that is read
KEY = "kenyon"
MAX_TEXT_BYTES = 2**28  # limit for the names of all classes together
LEARNERS = "Composed GradientThresholds GradientWeights Learner Metropolis Normalised"
CLASSES = {  # that a model is made of, by module
    "estimators": "Forecaster ReservoirClassifier ReservoirRegressor ReservoirTransformer SequenceClassifier "
    "SequenceRegressor ThresholdReadout ThresholdRegressor",
    "estimators._every_step": "Ends StepEncoder",
    "estimators._forecaster": "Pasts",
    "estimators._training": "Named Training Units",
    "estimators._pooling": "Pooling",
    "estimators._encoding": "RowEncoder RunningScaling Scaling SeriesEncoder",
    "kernels.drift": "Memory",
    "kernels.learning": "Networks",
    "kernels.running": "Moments Percentiles",
    "kernels.streams": "Following RandomFeatures",
    "learning.controls": "RLSState RecursiveLeastSquares",
    "learning.learners": LEARNERS,
    "learning.protocol": "Source",
    "learning.recursive": "RecursiveState RecursiveThresholds",
    "learning.ridge": "Ridge RidgeRows RidgeState",
    "learning.rules": "QLearning Regression Schedule Supervised",
    "learning.state": "Percentile State",
    "readout": "Readout",
    "reservoir": "Reservoir",
    "timing": "Delays LogUniform",
}
MODULES = {name: f"kenyon.{module}" for module, names in CLASSES.items() for name in names.split()}
WORK_SPACE = ("_cached", "_live", "_n_choosing", "_room", "_switches", "_temperature")  # made when they are needed
BY_ATTRIBUTES = {*CLASSES["estimators"].split()}  # built without their constructors


def save(path: str | os.PathLike[str], model: Any) -> None:
    """Write a fitted estimator or a readout to a file.

    Parameters
    ----------
    path
        The file's name. An existing file is replaced completely or not at all.
    model
        An estimator or a `Readout`.
    """
    from safetensors.numpy import save as to_bytes

    target = _checks.path("path", path)
    if not _is_known(model):
        raise ValueError(f"model must be an estimator or a Readout, not {_checks.short_repr(model)}")
    tensors: dict[str, NDArray[Any]] = {}
    described = _describe(model, tensors)
    header = {"format": MODEL_FORMAT, "version": __version__, "model": described, "sha256": digest(described, tensors)}
    write_whole(target, to_bytes(tensors, {KEY: json.dumps(header)}))


def load(path: str | os.PathLike[str]) -> Any:
    """Return the estimator or readout that `save` wrote to a file.

    Parameters
    ----------
    path
        The file's name. A file that is damaged, of another kind or of another format is refused.
    """
    from safetensors import SafetensorError, safe_open

    path = _checks.path("path", path)
    try:
        with safe_open(path, framework="numpy") as file:
            described = (file.metadata() or {}).get(KEY)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, ValueError, TypeError) as error:
        raise ValueError(f"{path} is not a complete Kenyon file: {error}") from None
    try:
        header = json.loads(described or "null")
        number, version = header["format"], header["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError(f"{path} was not written by Kenyon, though it is a safetensors file") from None
    if number != MODEL_FORMAT:
        newer = isinstance(number, int) and number > MODEL_FORMAT
        age, advice = ("a newer", "update Kenyon") if newer else ("an older", "fit and save the model again")
        raise ValueError(
            f"{path} was written by {age} version, Kenyon {version} (format {number}); "
            f"this one reads format {MODEL_FORMAT}: {advice}"
        )
    try:
        if header["sha256"] != digest(header["model"], tensors):
            raise ValueError("its contents have changed since it was written")
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
        return None  # its draws are already in the fitted model
    kind = type(value).__name__
    if _is_known(value):
        return {"kind": kind, "of": {name: _describe(part, tensors) for name, part in _parts(value).items()}}
    if type(value) in (list, tuple):
        return {kind: [_describe(item, tensors) for item in value]}
    if all(hasattr(value, name) for name in ("begin", "update", "readout")):
        raise ValueError(
            f"an estimator with a learner of your own ({kind}) cannot be saved, since files describe classes of "
            "Kenyon only: save what it learned instead, with model.readout_.save(path)"
        )
    raise ValueError(f"{kind} cannot be saved: {_checks.short_repr(value)}")


def _class(kind: str) -> Any:
    return getattr(import_module(MODULES[kind]), kind)


def _is_known(value: Any) -> bool:
    """Tell whether a value is of one of `MODULES`, and not of a user's class with the same name."""
    return type(value).__name__ in MODULES and type(value) is _class(type(value).__name__)


def _parts(value: Any) -> dict[str, Any]:
    if type(value).__name__ == "Reservoir":
        return dict(value.__getstate__())
    parts = dict(value._asdict() if hasattr(value, "_asdict") else vars(value))
    return {name: part for name, part in parts.items() if name not in WORK_SPACE}


def _describe_array(value: NDArray[Any], tensors: dict[str, NDArray[Any]]) -> Any:
    if value.dtype.kind in "US":
        return {"texts": value.tolist(), "dtype": value.dtype.str}
    if value.dtype.kind == "O":
        return {"objects": [_describe(item, tensors) for item in value.tolist()]}
    if value.dtype.kind not in "biuf":
        raise ValueError(f"an array of {value.dtype} cannot be saved")
    name = f"t{len(tensors)}"
    tensors[name] = np.ascontiguousarray(value).reshape(value.shape)
    return {"tensor": name}


def _dtype(name: str, kinds: str, n: int) -> Any:
    """Return the NumPy type of this name, refusing types that no model has and strings that would fill the memory."""
    dtype = np.dtype(name)
    if dtype.kind not in kinds or n * dtype.itemsize > MAX_TEXT_BYTES:
        raise ValueError(f"no model contains {n} values of type {name}")
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
        values = [_build(item, tensors) for item in described["objects"]]
        array = np.empty(len(values), object)
        array[:] = values
        return array
    if "sparse" in described:
        data, indices, indptr = (_build(described["sparse"][name], tensors) for name in ("data", "indices", "indptr"))
        return _sparse(data, indices, indptr, tuple(described["shape"]))
    if "dict" in described:
        return {_build(key, tensors): _build(item, tensors) for key, item in described["dict"]}
    if "list" in described:
        return [_build(item, tensors) for item in described["list"]]
    if "tuple" in described:
        return tuple(_build(item, tensors) for item in described["tuple"])
    return _made(described["kind"], {name: _build(part, tensors) for name, part in described["of"].items()})


def _made(kind: str, parts: dict[str, Any]) -> Any:
    """Return an object of one of `MODULES`. What kernels work on is checked, because they check nothing."""
    made = _class(kind)
    if kind in BY_ATTRIBUTES:
        model = made.__new__(made)
        vars(model).update(parts)
        return model
    if kind == "Reservoir":
        model = made.__new__(made)
        model.__setstate__(parts)
        return model
    if kind in LEARNERS.split():
        parts = acting(parts)  # files of earlier versions have settings that do nothing
    model = made(**parts)
    if hasattr(model, "check"):
        model.check()
    return model


def _sparse(data: Any, indices: Any, indptr: Any, shape: tuple[int, ...]) -> Any:
    """Return a sparse matrix, refusing indices out of range, which SciPy would follow."""
    rows, columns = shape
    flat = all(array.ndim == 1 and array.dtype.kind in "iu" for array in (indices, indptr)) and data.ndim == 1
    if not flat or len(indptr) != rows + 1 or not len(data) == len(indices) == indptr[-1]:
        raise ValueError("inconsistent sparse matrix")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any() or (indices < 0).any() or (indices >= columns).any():
        raise ValueError("a sparse matrix has indices out of range")
    return sparse.csr_array((data, indices, indptr), shape=shape)
