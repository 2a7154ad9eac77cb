"""Where results are kept: one netCDF file per trial, named by the hash of its settings, whole or not there at all.

Beside the results lie, per experiment, the list of its trials, and what a running sweep last said of itself; and for
each trial that failed, the reason.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks
from kenyon.experiment.config import FORMAT, ConfigError, TrialConfig
from kenyon.experiment.sweep import Experiment
from kenyon.experiment.trial import digest, unsealed

Result = TypeVar("Result")
ABANDONED = 600.0  # seconds after which nobody is still writing a file; it takes a moment
ATTRIBUTES = ("kenyon_format", "id", "config", "prelearning", "diverged", "variables", "provenance")  # of every result
TABLES = ("prelearning", "diverged", "variables", "provenance")  # those that are JSON
REFERENCE = 16  # bytes that stand for a text, which lies elsewhere in the file


class StoreError(ValueError):
    """A folder of results that cannot be read or written."""


class Stored(NamedTuple):
    """A result as it lies in its file: attributes, and variables with their dimensions."""

    id: str
    attributes: dict[str, Any]
    variables: dict[str, tuple[tuple[str, ...], NDArray[Any]]]


class Store:
    """A folder of results."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = _checks.path("folder", folder)

    def create(self) -> None:
        """Make the folder, make sure that it can be written, and clear away what a killed writer left there."""
        _named(self.folder, lambda: self.folder.mkdir(parents=True, exist_ok=True))
        self._write(".writable", b"")
        _named(self.folder, self._clear)

    def path(self, trial: str) -> Path:
        """Return where the result of a trial is, or will be."""
        return self.folder / f"{trial}.nc"

    def finished(self) -> list[str]:
        """Return the trials that have a result."""
        if not self.folder.is_dir():
            raise StoreError(f"{self.folder} is not a folder of results")
        return sorted(path.stem for path in _named(self.folder, lambda: list(self.folder.glob("*.nc"))))

    def save(self, trial: str, contents: bytes) -> None:
        """Keep a result."""
        self._write(f"{trial}.nc", contents)
        self._failure(trial).unlink(missing_ok=True)

    def fail(self, trial: str, reason: str) -> None:
        """Note why a trial failed."""
        self._write(self._failure(trial).name, json.dumps({"error": reason}).encode())

    def failures(self) -> dict[str, str]:
        """Return the trials that failed when last tried, and why."""
        files = sorted(self.folder.glob("*.failed.json"))
        return {path.name.partition(".")[0]: _json(path, error=str)["error"] for path in files}

    def register(self, experiment: Experiment) -> None:
        """List an experiment's trials."""
        trials = {trial.id: json.loads(trial.canonical()) for trial in experiment.trials}
        contents = {"kenyon_format": FORMAT, "name": experiment.name, "trials": trials}
        self._write(f"{experiment.name}.experiment.json", json.dumps(contents, indent=1).encode())

    def experiments(self) -> dict[str, list[str]]:
        """Return the experiments that were begun here, and their trials."""
        files = sorted(self.folder.glob("*.experiment.json"))
        return {path.name.removesuffix(".experiment.json"): list(_json(path, trials=dict)["trials"]) for path in files}

    def heartbeat(self, experiment: str, **signs: Any) -> None:
        """Say what a running sweep is doing."""
        self._write(f"{experiment}.running.json", json.dumps(signs).encode())

    def last_heartbeat(self, experiment: str) -> dict[str, Any]:
        """Return what a sweep last said it was doing; nothing if none ever ran, or it ended."""
        return self.get(f"{experiment}.running.json", running=list, time=float)

    def end_heartbeat(self, experiment: str) -> None:
        """Say that a sweep has ended."""
        (self.folder / f"{experiment}.running.json").unlink(missing_ok=True)

    def put(self, name: str, contents: str) -> None:
        """Keep a text of one's own beside the results."""
        self._write(name, contents.encode())

    def get(self, name: str, **kinds: type) -> dict[str, Any]:
        """Return the JSON table that was kept under a name, with values of these kinds; nothing if there is none."""
        path = self.folder / name
        return _json(path, **kinds) if path.exists() else {}

    def read(self, trial: str, wanted: Callable[[str, tuple[str, ...]], bool] | None = None) -> Stored:
        """Read a result, refusing a file that is damaged or is not one.

        Parameters
        ----------
        trial
            Whose result.
        wanted
            Tells from name and dimensions which variables to read; left out, all.
        """
        path = self.path(trial)
        try:
            stored = _read(path, wanted or (lambda name, dimensions: True))
        except (OSError, KeyError, RuntimeError, ValueError, TypeError, AttributeError) as error:
            raise StoreError(f"{path}: damaged, or not a result of Kenyon ({_short(error)}); move it away") from None
        if stored.id != trial:
            raise StoreError(f"{path}: holds the result of another trial ({stored.id}); move it away")
        return stored

    def check(self, trials: Iterable[str]) -> None:
        """Refuse results that are damaged, by their headers."""
        for trial in trials:
            self.read(trial, lambda name, dimensions: False)

    def _clear(self) -> None:
        """Remove files that were never finished, unless another sweep may still be at them, by the disk's own clock."""
        sign = self.folder / ".writable"
        with suppress(FileNotFoundError):  # another sweep has begun at the same moment, and clears too
            now = sign.stat().st_mtime
            for part in self.folder.glob(".*.part"):
                if now - part.stat().st_mtime > ABANDONED:
                    part.unlink()
        sign.unlink(missing_ok=True)

    def _failure(self, trial: str) -> Path:
        return self.folder / f"{trial}.failed.json"

    def _write(self, name: str, contents: bytes) -> None:
        """Write a file whole: under another name first, which nobody looks at, and renamed when it is on the disk."""
        path, part = self.folder / name, self.folder / f".{uuid.uuid4().hex}.part"

        def write() -> None:
            try:
                with open(part, "xb") as file:
                    file.write(contents)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(part, path)
            except BaseException:
                part.unlink(missing_ok=True)
                raise

        _named(self.folder, write)


def _named(folder: Path, act: Callable[[], Result]) -> Result:
    """Do something with files; an error becomes one line that says what to do."""
    advice = {errno.ENOSPC: "free some space", errno.EDQUOT: "free some of your quota"}
    try:
        return act()
    except OSError as error:
        what = advice.get(error.errno or 0, "choose a folder that you can write to")
        raise StoreError(
            f"{folder} cannot be written: {(error.strerror or str(error)).lower()}; "
            f"{what} and run the same command again: what is done is kept"
        ) from None


def _read(path: Path, wanted: Callable[[str, tuple[str, ...]], bool]) -> Stored:
    import h5py

    with h5py.File(io.BytesIO(unsealed(path.read_bytes())), "r") as file:
        attributes = {name: _plain(file.attrs[name]) for name in ATTRIBUTES}
        if attributes["kenyon_format"] != FORMAT:
            raise ValueError(f"format {attributes['kenyon_format']}, not {FORMAT}")
        if TrialConfig.model_validate_json(attributes["config"]).id != path.stem:
            raise ValueError("its name is not that of its settings")
        tables = {name: json.loads(attributes[name]) for name in TABLES}
        variables: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {}
        sizes: dict[str, int] = {}
        for name, (dimensions, expected) in tables["variables"].items():
            if wanted(name, tuple(dimensions)):
                values = _values(file, name)
                shape = tuple(sizes.setdefault(*pair) for pair in zip(dimensions, values.shape, strict=True))
                if digest(values) != expected or values.shape != shape:
                    raise ValueError(f"{name} is not what was written")
                variables[name] = (tuple(dimensions), values)
    return Stored(str(attributes["id"]), attributes, variables)


def _values(file: Any, name: str) -> NDArray[Any]:
    """Read a variable; by the library's own calls, for the friendlier ones take ten times as long.

    What is not in the file itself, one plain array as it was written, is not followed.
    """
    import h5py

    link = file.id.links.get_info(name.encode()).type
    if "/" in name or link != h5py.h5l.TYPE_HARD:
        raise ValueError(f"{name} is a link")
    variable = h5py.h5d.open(file.id, name.encode())
    made, size = variable.get_create_plist(), variable.get_storage_size()
    if made.get_layout() != h5py.h5d.CONTIGUOUS or made.get_external_count() or size > file.id.get_filesize():
        raise ValueError(f"{name} is not in the file itself")
    text = variable.dtype.kind == "O"
    if size != math.prod(variable.shape) * (REFERENCE if text else variable.dtype.itemsize):
        raise ValueError(f"{name} is not whole")
    if text:
        return np.asarray(file[name].asstr()[()])
    values = np.empty(variable.shape, variable.dtype)
    variable.read(h5py.h5s.ALL, h5py.h5s.ALL, values)
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if isinstance(value, np.generic) else value


def _json(path: Path, **kinds: type) -> dict[str, Any]:
    """Read a table, refusing one that lacks a value of one of these kinds; finite numbers will do for floats."""
    try:
        contents = json.loads(path.read_bytes())
        if not isinstance(contents, dict):
            raise ValueError("not a table")
        for name, kind in kinds.items():
            value = contents.get(name)
            if kind is float and isinstance(value, int):
                value = contents[name] = float(value)
            if not isinstance(value, kind) or (isinstance(value, float) and not math.isfinite(value)):
                raise ValueError(f"its {name} is not one")
    except (OSError, ValueError, OverflowError, RecursionError) as error:
        raise StoreError(f"{path}: cannot be read ({_short(error)}); move it away") from None
    return contents


def _short(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0] if not isinstance(error, ConfigError) else "its settings are not known"
