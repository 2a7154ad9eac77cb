"""What a sweep reports while it runs: a bar on a terminal, a line per trial otherwise, JSON for machines."""

# ruff: noqa: D401 (methods that are called at events say when)

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from kenyon.experiment.config import TrialConfig


class Report:
    """Called at every event of a sweep. This one counts, and leaves it to subclasses to `tell`."""

    def begin(self, name: str, n_done: int, todo: Sequence[TrialConfig]) -> None:
        """Called first, with the number of trials that already have a result and those that are to be run."""
        self.n_trials, self.n_done, self.n_new, self.n_failed = n_done + len(todo), n_done, 0, 0
        self.start, self.work, self.work_done = time.monotonic(), sum(trial.work for trial in todo), 0.0
        self.tell("begin", experiment=name, trials=self.n_trials, done=n_done)

    def started(self, trial: TrialConfig) -> None:
        """Called when a trial is given to a worker."""
        self.tell("started", trial, size=trial.task.size, seed=trial.seed)

    def finished(self, trial: TrialConfig, seconds: float) -> None:
        """Called when a trial finishes."""
        self.n_new += 1
        self.work_done += trial.work
        self.tell("finished", trial, seconds=round(seconds, 3), left=self.left)

    def failed(self, trial: TrialConfig, reason: str) -> None:
        """Called when a trial fails."""
        self.n_failed += 1
        self.work_done += trial.work
        self.tell("failed", trial, error=reason)

    def retried(self, trial: TrialConfig) -> None:
        """Called when a trial is put back because its worker died."""
        self.tell("retried", trial)

    def beat(self, running: list[str]) -> None:
        """Called every second or so with the trials that are running."""

    def say(self, line: str) -> None:
        """Called before other work that takes time."""
        self.tell("doing", what=line)

    def close(self) -> None:
        """Called at the end."""

    def tell(self, event: str, trial: TrialConfig | None = None, **facts: Any) -> None:
        """Called by the methods above, to be shown or not."""

    @property
    def left(self) -> float | None:
        """Seconds left, judging by the pace so far; None until there is one."""
        left = self.work - self.work_done
        return (time.monotonic() - self.start) / self.work_done * left if self.work_done else None

    def _line(self, event: str, trial: TrialConfig | None, facts: dict[str, Any]) -> str | None:
        """Return an event in words; None if it is not worth a line."""
        count, left = f"{self.n_done + self.n_new + self.n_failed}/{self.n_trials}", facts.get("left")
        match event, trial:
            case "begin", _:
                return f"{facts['experiment']}: {facts['trials']} trials, {facts['done']} done before"
            case "doing", _:
                return str(facts["what"])
            case "finished", TrialConfig():
                rest = f", {duration(left)} left" if left else ""
                return f"{count} {describe(trial)}: done in {facts['seconds']:.1f} s{rest}"
            case "failed", TrialConfig():
                return f"{count} {describe(trial)}: failed: {facts['error']}"
            case "retried", TrialConfig():
                return f"{describe(trial)}: its worker died; trying again"
        return None


class Lines(Report):
    """A line per trial, on the standard error."""

    def tell(self, event: str, trial: TrialConfig | None = None, **facts: Any) -> None:
        """Print a line."""
        if line := self._line(event, trial, facts):
            print(line, file=sys.stderr, flush=True)


class JsonLines(Report):
    """A JSON object per event, on the standard output."""

    def tell(self, event: str, trial: TrialConfig | None = None, **facts: Any) -> None:
        """Print an object."""
        print(json.dumps({"event": event, **({"trial": trial.id} if trial else {}), **facts}), flush=True)


class Bar(Report):
    """A bar on a terminal: trials done, running and failed, and the time left."""

    def begin(self, name: str, n_done: int, todo: Sequence[TrialConfig]) -> None:
        """Draw the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
        columns += [TextColumn("{task.fields[rest]}"), TimeElapsedColumn()]
        self.bar = Progress(*columns, console=Console(stderr=True))
        self.bar.start()
        self.job = self.bar.add_task(name, total=n_done + len(todo), completed=n_done, rest="")
        super().begin(name, n_done, todo)

    def beat(self, running: list[str]) -> None:
        """Show what is going on beside the bar."""
        parts = [f"{len(running)} running"]
        parts += [f"{self.n_failed} failed"] if self.n_failed else []
        parts += [f"{duration(self.left)} left"] if self.left else []
        self.bar.update(self.job, rest=", ".join(parts))

    def tell(self, event: str, trial: TrialConfig | None = None, **facts: Any) -> None:
        """Advance, and print a line above the bar for anything out of the ordinary."""
        if event in ("finished", "failed"):
            self.bar.advance(self.job)
        if event in ("failed", "retried", "doing") and (line := self._line(event, trial, facts)):
            self.bar.console.print(line, style="red" if event == "failed" else "", highlight=False, markup=False)

    def close(self) -> None:
        """Leave the bar on the screen."""
        if hasattr(self, "bar"):
            self.bar.update(self.job, rest="")
            self.bar.stop()


def describe(trial: TrialConfig) -> str:
    """Return a few words on a trial."""
    return f"{trial.task.kind} {trial.task.size}, seed {trial.seed} ({trial.id[:8]})"


def duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours, as people would say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
