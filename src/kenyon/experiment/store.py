"""Where results are kept: one netCDF file per trial, named by the hash of its settings, whole or not there at all.

Beside the results lie, per experiment, the list of its trials, and what a running sweep last said of itself; and for
each trial that failed, the reason.
"""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks
from kenyon.experiment.config import FORMAT, ConfigError, TrialConfig
from kenyon.experiment.sweep import Experiment
from kenyon.experiment.trial import digest

Result = TypeVar("Result")
ATTRIBUTES = ("kenyon_format", "id", "config", "prelearning", "diverged", "variables", "provenance")  # of every result


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
        """Make the folder, and make sure that it can be written."""
        _named(self.folder, lambda: self.folder.mkdir(parents=True, exist_ok=True))
        self._write(".writable", b"")
        _named(self.folder, (self.folder / ".writable").unlink)

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
        return {path.name.partition(".")[0]: str(_json(path)["error"]) for path in files}

    def enter(self, experiment: Experiment) -> None:
        """List an experiment's trials."""
        trials = {trial.id: json.loads(trial.canonical()) for trial in experiment.trials}
        contents = {"kenyon_format": FORMAT, "name": experiment.name, "trials": trials}
        self._write(f"{experiment.name}.experiment.json", json.dumps(contents, indent=1).encode())

    def experiments(self) -> dict[str, list[str]]:
        """Return the experiments that were begun here, and their trials."""
        found = [_json(path) for path in sorted(self.folder.glob("*.experiment.json"))]
        return {str(one["name"]): list(one["trials"]) for one in found}

    def note(self, experiment: str, **signs: Any) -> None:
        """Say what a running sweep is doing."""
        self._write(f"{experiment}.running.json", json.dumps(signs).encode())

    def notes(self, experiment: str) -> dict[str, Any]:
        """Return what a sweep last said it was doing; nothing if none ever ran, or it ended."""
        path = self.folder / f"{experiment}.running.json"
        return _json(path) if path.exists() else {}

    def forget_note(self, experiment: str) -> None:
        """Say that a sweep has ended."""
        (self.folder / f"{experiment}.running.json").unlink(missing_ok=True)

    def put(self, name: str, contents: str) -> None:
        """Keep a text of one's own beside the results."""
        self._write(name, contents.encode())

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

    with h5py.File(path, "r") as file:
        attributes = {name: _plain(file.attrs[name]) for name in ATTRIBUTES}
        if attributes["kenyon_format"] != FORMAT:
            raise ValueError(f"format {attributes['kenyon_format']}, not {FORMAT}")
        if TrialConfig.model_validate_json(attributes["config"]).id != path.stem:
            raise ValueError("its name is not that of its settings")
        variables = {}
        for name, (dimensions, expected) in json.loads(attributes["variables"]).items():
            if wanted(name, tuple(dimensions)):
                values = _values(file, name)
                if digest(values) != expected or values.ndim != len(dimensions):
                    raise ValueError(f"{name} is not what was written")
                variables[name] = (tuple(dimensions), values)
    return Stored(str(attributes["id"]), attributes, variables)


def _values(file: Any, name: str) -> NDArray[Any]:
    """Read a variable; by the library's own calls, for the friendlier ones take ten times as long."""
    import h5py

    variable = h5py.h5d.open(file.id, name.encode())
    if variable.dtype.kind == "O":
        return np.asarray(file[name].asstr()[()])
    values = np.empty(variable.shape, variable.dtype)
    variable.read(h5py.h5s.ALL, h5py.h5s.ALL, values)
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if isinstance(value, np.generic) else value


def _json(path: Path) -> dict[str, Any]:
    try:
        contents = json.loads(path.read_bytes())
        if not isinstance(contents, dict):
            raise ValueError("not a table")
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read ({_short(error)}); move it away") from None
    return contents


def _short(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0] if not isinstance(error, ConfigError) else "its settings are not known"
