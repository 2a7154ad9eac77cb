"""The progress of the experiments in a folder."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

from kenyon.experiment.reports import duration
from kenyon.experiment.results import note_on_old
from kenyon.experiment.store import Store

STOPPED_AFTER = 30.0  # seconds without a heartbeat after which a sweep counts as stopped


def read_status(folder: str | Path) -> dict[str, Any]:
    """Return, for each experiment, its trials that are done, running, failed and waiting."""
    store = Store(folder)
    finished, failures = set(store.finished()), store.failures()
    experiments = {
        name: _of_experiment(store.last_heartbeat(name), trials, finished, failures)
        for name, trials in store.experiments().items()
    }
    old = len(store.old())
    return {"folder": str(folder), "results": len(finished), "old": old, "experiments": experiments}


def _of_experiment(
    heartbeat: dict[str, Any], trials: list[str], finished: set[str], failures: dict[str, str]
) -> dict[str, Any]:
    alive = bool(heartbeat) and abs(time.time() - heartbeat["time"]) < STOPPED_AFTER  # the clock may have been set
    running = [trial for trial in trials if trial in heartbeat["running"] and trial not in finished] if alive else []
    failed = {trial: failures[trial] for trial in trials if trial in failures and trial not in finished}
    done = [trial for trial in trials if trial in finished]
    left = heartbeat.get("left") if alive else None
    waiting = len(trials) - len(done) - len(running) - len(set(failed) - set(running))
    return {
        "trials": len(trials),
        "done": len(done),
        "running": running,
        "failed": failed,
        "waiting": waiting,
        "sweep": "running" if alive else "stopped" if waiting else "ended",
        "left": left if isinstance(left, float) and 0 <= left < math.inf else None,
    }


def describe_status(status: dict[str, Any]) -> str:
    """Return the status in words, a line per experiment and one per failure."""
    lines = [f"{status['folder']}: {status['results']} results"]
    for name, found in status["experiments"].items():
        rest = f", {duration(found['left'])} left" if found["left"] else ""
        lines.append(
            f"  {name}: {found['done']} of {found['trials']} done, {len(found['running'])} running, "
            f"{len(found['failed'])} failed, {found['waiting']} waiting ({found['sweep']}{rest})"
        )
        lines += [f"    {trial[:8]} failed: {reason}" for trial, reason in found["failed"].items()]
    lines += [note] if (note := note_on_old(status["folder"], status["old"])) else []
    return "\n".join(lines)
