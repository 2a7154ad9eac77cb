"""The folder of results: one file per trial, named by the hash of its settings, complete or not there at all.

Next to the results are, for each experiment, the list of its trials and the heartbeat of a running sweep, and for each
trial that failed, the reason. The list is replaced when an experiment is run again, so it says what belongs to the
experiment as it is now; results that are on no list are of earlier versions, and are kept.
"""

from __future__ import annotations

import errno
import json
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from kenyon import _checks
from kenyon._files import write_whole
from kenyon.experiment.config import TRIAL_FORMAT, trial_of
from kenyon.experiment.result_file import Stored, decode
from kenyon.experiment.settings import ConfigError
from kenyon.experiment.sweep import Experiment

Result = TypeVar("Result")
SEARCH = " search"  # ends the name of what a search has tried, so that the experiment itself keeps its own list
ABANDONED = 600.0  # seconds after which a temporary file has no writer any more; writing takes a moment


class StoreError(ValueError):
    """A folder of results that cannot be read or written."""


class Store:
    """A folder of results."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = _checks.path("folder", folder)

    def create(self) -> None:
        """Make the folder, check that it can be written, and remove what killed writers left behind."""
        _named(self.folder, lambda: self.folder.mkdir(parents=True, exist_ok=True))
        self.put(".writable", b"")
        _named(self.folder, self._clear)

    def path(self, trial: str) -> Path:
        """Return the file of a trial's result, whether it exists or not."""
        return self.folder / f"{trial}.nc"

    def finished(self) -> list[str]:
        """Return the trials that have a result."""
        if not self.folder.is_dir():
            raise StoreError(f"{self.folder} is not a folder of results")
        return sorted(path.stem for path in _named(self.folder, lambda: list(self.folder.glob("*.nc"))))

    def save(self, trial: str, contents: bytes) -> None:
        """Store a result."""
        self.put(self.path(trial).name, contents)
        self._failure(trial).unlink(missing_ok=True)

    def fail(self, trial: str, reason: str) -> None:
        """Record why a trial failed."""
        self.put(self._failure(trial).name, json.dumps({"error": reason}))

    def failures(self) -> dict[str, str]:
        """Return the trials whose last run failed, and why."""
        files = sorted(self.folder.glob("*.failed.json"))
        return {path.name.partition(".")[0]: _json(path, error=str)["error"] for path in files}

    def register(self, experiment: Experiment) -> None:
        """List an experiment's trials, in place of those it had before."""
        trials = {trial.id: json.loads(trial.canonical()) for trial in experiment.trials}
        contents = {"kenyon_format": TRIAL_FORMAT, "name": experiment.name, "trials": trials}
        self.put(f"{experiment.name}.experiment.json", json.dumps(contents, indent=1))

    def experiments(self) -> dict[str, list[str]]:
        """Return the experiments that were started here, and their trials."""
        files = {path.name.removesuffix(".experiment.json"): path for path in self.folder.glob("*.experiment.json")}
        return {name: list(_json(path, trials=dict)["trials"]) for name, path in sorted(files.items())}

    def current(self) -> list[str]:
        """Return the trials of the experiments as they were last run; all that are finished if none is listed.

        What a search has tried counts only where there is nothing else.
        """
        known = self.experiments()
        run = {name: trials for name, trials in known.items() if not name.endswith(SEARCH)} or known
        return list(dict.fromkeys(trial for trials in run.values() for trial in trials)) if known else self.finished()

    def old(self) -> list[str]:
        """Return the finished trials that are on no list: those of experiments as they were before."""
        known = self.experiments()
        listed = {trial for trials in known.values() for trial in trials}
        return [trial for trial in self.finished() if trial not in listed] if known else []

    def heartbeat(self, experiment: str, **facts: Any) -> None:
        """Record what a running sweep is doing."""
        self.put(f"{experiment}.running.json", json.dumps(facts))

    def last_heartbeat(self, experiment: str) -> dict[str, Any]:
        """Return what a sweep last recorded; empty if it has ended or never ran."""
        return self.get(f"{experiment}.running.json", running=list, time=float)

    def end_heartbeat(self, experiment: str) -> None:
        """Record that a sweep has ended."""
        (self.folder / f"{experiment}.running.json").unlink(missing_ok=True)

    def put(self, name: str, contents: bytes | str) -> None:
        """Write a file into the folder."""
        _named(self.folder, lambda: write_whole(self.folder / name, contents))

    def get(self, name: str, **kinds: type) -> dict[str, Any]:
        """Return the JSON object in a file, requiring values of these types; empty if there is no such file."""
        path = self.folder / name
        return _json(path, **kinds) if path.exists() else {}

    def read(self, trial: str, wanted: Callable[[str, tuple[str, ...]], bool] | None = None) -> Stored:
        """Read a result, all of it or the variables that are `wanted` (see `decode`), refusing a damaged file."""
        path = self.path(trial)
        try:
            stored = decode(path.read_bytes(), wanted or (lambda name, dimensions: True))
            if trial_of(stored.attributes["config"]).id != trial:
                raise ValueError("its name does not match its settings")
        except (OSError, KeyError, RuntimeError, ValueError, TypeError, AttributeError) as error:
            raise StoreError(f"{path}: damaged, or not a Kenyon result ({_short(error)}); move it away") from None
        if stored.id != trial:
            raise StoreError(f"{path}: contains the result of another trial ({stored.id}); move it away")
        return stored

    def check(self, trials: Iterable[str]) -> None:
        """Refuse results that are damaged, without reading their variables."""
        for trial in trials:
            self.read(trial, lambda name, dimensions: False)

    def _clear(self) -> None:
        """Remove unfinished files that are old by the disk's own clock; another sweep may still be writing the rest."""
        now_file = self.folder / ".writable"
        with suppress(FileNotFoundError):  # another sweep started at the same moment and clears too
            now = now_file.stat().st_mtime
            for part in self.folder.glob(".*.part"):
                if now - part.stat().st_mtime > ABANDONED:
                    part.unlink()
        now_file.unlink(missing_ok=True)

    def _failure(self, trial: str) -> Path:
        return self.folder / f"{trial}.failed.json"


def _named(folder: Path, act: Callable[[], Result]) -> Result:
    """Do something with files; an error becomes one line that says what to do."""
    advice = {errno.ENOSPC: "free some space", errno.EDQUOT: "free some of your quota"}
    try:
        return act()
    except OSError as error:
        what = advice.get(error.errno or 0, "choose a folder that you can write to")
        raise StoreError(
            f"{folder} cannot be written: {(error.strerror or str(error)).lower()}; "
            f"{what} and run the same command again: finished trials are kept"
        ) from None


def _json(path: Path, **kinds: type) -> dict[str, Any]:
    """Read a JSON object that must have values of these types; integers pass as floats, NaN and inf do not."""
    try:
        contents = json.loads(path.read_bytes())
        if not isinstance(contents, dict):
            raise ValueError("not a JSON object")
        for name, kind in kinds.items():
            value = contents.get(name)
            if kind is float and isinstance(value, int):
                value = contents[name] = float(value)
            if not isinstance(value, kind) or (isinstance(value, float) and not math.isfinite(value)):
                raise ValueError(f"{name} must be of type {kind.__name__}")
    except (OSError, ValueError, OverflowError, RecursionError) as error:
        raise StoreError(f"{path}: cannot be read ({_short(error)}); move it away") from None
    return contents


def _short(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0] if not isinstance(error, ConfigError) else "unknown settings"
