"""The file of one result: netCDF, followed by a seal, which is the SHA-256 of everything before it.

The HDF5 library does not look behind its own data, so any netCDF program still opens the file. We check the seal before
the library sees a byte, because it can hang on damaged files. A valid seal does not make a file ours: links, external
storage and filters, which no result has, are refused.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from kenyon.experiment.config import TRIAL_FORMAT

SEAL = b"\nkenyon sha256 "  # separates the netCDF data from their digest
ATTRIBUTES = ("kenyon_format", "id", "config", "prelearning", "diverged", "provenance")  # of every result
TABLES = ("prelearning", "diverged", "provenance")  # those that hold JSON
DIMENSIONS = "variables"  # an attribute of the file: the dimensions of each variable, as JSON
REFERENCE = 16  # bytes that stand for a string, which is stored elsewhere in the file


class Stored(NamedTuple):
    """A result as read from its file: attributes, and variables with their dimensions."""

    id: str
    attributes: dict[str, Any]
    variables: dict[str, tuple[tuple[str, ...], NDArray[Any]]]


def encode(result: xr.Dataset) -> bytes:
    """Return the contents of a result's file.

    xarray could write it, but its locks look for a scheduler when running on a Dask worker.
    """
    import h5netcdf
    import h5py

    from kenyon.experiment.remembering import Remembering

    contents = io.BytesIO()
    with Remembering(contents, "w", track_order=True) as opened, h5netcdf.File(opened, "w") as file:
        file.dimensions = {str(name): size for name, size in result.sizes.items()}
        for name, variable in result.variables.items():
            dimensions, values = tuple(map(str, variable.dims)), variable.values
            if values.dtype.kind in "OTU":
                stored = file.create_variable(str(name), dimensions, h5py.string_dtype())
                stored[...] = values.astype(object)
            else:
                stored = file.create_variable(str(name), dimensions, data=values)
            stored.attrs.update(variable.attrs)
        listed = json.dumps({str(name): variable.dims for name, variable in result.variables.items()})
        file.attrs.update({**result.attrs, DIMENSIONS: listed})
    return seal(contents.getvalue())


def decode(contents: bytes, wanted: Callable[[str, tuple[str, ...]], bool]) -> Stored:
    """Read a result's file, refusing anything that `encode` would not have written.

    `wanted` tells by the name and dimensions of a variable whether to read it.
    """
    import h5py

    with h5py.File(io.BytesIO(unseal(contents)), "r") as file:
        attributes = {name: _plain(file.attrs[name]) for name in ATTRIBUTES}
        if attributes["kenyon_format"] != TRIAL_FORMAT:
            raise ValueError(f"format {attributes['kenyon_format']}, not {TRIAL_FORMAT}")
        for name in TABLES:
            json.loads(attributes[name])
        variables: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {}
        sizes: dict[str, int] = {}
        for name, listed in json.loads(_plain(file.attrs[DIMENSIONS])).items():
            dimensions = tuple(map(str, listed))
            if wanted(name, dimensions):
                values = _values(file, name)
                shape = tuple(sizes.setdefault(*pair) for pair in zip(dimensions, values.shape, strict=True))
                if values.shape != shape:
                    raise ValueError(f"{name} does not fit its dimensions")
                variables[name] = (dimensions, values)
    return Stored(str(attributes["id"]), attributes, variables)


def seal(contents: bytes) -> bytes:
    """Return the contents followed by their digest."""
    return contents + SEAL + sha256(contents).hexdigest().encode()


def unseal(contents: bytes) -> bytes:
    """Return sealed contents without the seal, refusing them if they have changed or were never sealed."""
    inner, mark, expected = contents.rpartition(SEAL)
    if not mark:
        raise ValueError("it has no seal")
    if sha256(inner).hexdigest().encode() != expected:
        raise ValueError("its contents have changed since it was written")
    return inner


def _values(file: Any, name: str) -> NDArray[Any]:
    """Read a variable that is one plain array within the file.

    Through h5py's low-level calls, since the high-level ones take ten times as long; type and shape are asked for once.
    """
    import h5py

    link = file.id.links.get_info(name.encode()).type
    if "/" in name or link != h5py.h5l.TYPE_HARD:
        raise ValueError(f"{name} is a link")
    variable = h5py.h5d.open(file.id, name.encode())
    layout, size = variable.get_create_plist(), variable.get_storage_size()
    if layout.get_layout() != h5py.h5d.CONTIGUOUS or layout.get_external_count() or size > file.id.get_filesize():
        raise ValueError(f"{name} is not stored in the file itself")
    dtype, shape = variable.dtype, variable.shape
    text = dtype.kind == "O"
    if size != math.prod(shape) * (REFERENCE if text else dtype.itemsize):
        raise ValueError(f"{name} is incomplete")
    if text:
        return np.asarray(file[name].asstr()[()])
    values = np.empty(shape, dtype)
    variable.read(h5py.h5s.ALL, h5py.h5s.ALL, values)
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if isinstance(value, np.generic) else value
