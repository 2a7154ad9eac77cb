"""What a sweep tells while it runs: a bar on a terminal, a line per trial otherwise, JSON for machines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from kenyon.experiment.config import TrialConfig


class Report:
    """Hears of every event of a sweep. This one counts and says nothing; those below it also tell."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def begin(self, name: str, n_done: int, todo: Sequence[TrialConfig]) -> None:
        """Take note of how many trials have a result already, and which are to be run."""
        self.name, self.n_trials, self.n_done = name, n_done + len(todo), n_done
        self.n_new, self.n_failed, self.start = 0, 0, time.monotonic()
        self.work_left, self.work_done = sum(trial.work for trial in todo), 0.0

    def started(self, trial: TrialConfig) -> None:
        """Hear of a trial that was handed to a worker."""

    def finished(self, trial: TrialConfig, seconds: float) -> None:
        """Hear of a result."""
        self.n_new += 1
        self._ended(trial)

    def failed(self, trial: TrialConfig, reason: str) -> None:
        """Hear of a trial that failed."""
        self.n_failed += 1
        self._ended(trial)

    def retried(self, trial: TrialConfig) -> None:
        """Hear of a trial whose worker died."""

    def beat(self, running: list[str]) -> None:
        """Hear what is running."""

    def say(self, line: str) -> None:
        """Hear of something else that takes time."""

    def close(self) -> None:
        """Hear of the end."""

    @property
    def left(self) -> float | None:
        """Seconds left, by the pace so far; None until there is one."""
        pace = (time.monotonic() - self.start) / self.work_done if self.work_done else None
        return None if pace is None else pace * self.work_left

    def _ended(self, trial: TrialConfig) -> None:
        self.work_done += trial.work
        self.work_left -= trial.work


class Lines(Report):
    """A line per trial."""

    def begin(self, name: str, n_done: int, todo: Sequence[TrialConfig]) -> None:
        """Say how much there is to do."""
        super().begin(name, n_done, todo)
        self.say(f"{name}: {self.n_trials} trials, {n_done} done before")

    def finished(self, trial: TrialConfig, seconds: float) -> None:
        """Say which trial is done, and how long the rest will take."""
        super().finished(trial, seconds)
        self.say(f"{self._count()} {describe(trial)}: done in {seconds:.1f} s{self._rest()}")

    def failed(self, trial: TrialConfig, reason: str) -> None:
        """Say which trial failed, and why."""
        super().failed(trial, reason)
        self.say(f"{self._count()} {describe(trial)}: failed: {reason}")

    def retried(self, trial: TrialConfig) -> None:
        """Say which trial is tried again."""
        self.say(f"{describe(trial)}: its worker died; trying again")

    def _count(self) -> str:
        return f"{self.n_done + self.n_new + self.n_failed}/{self.n_trials}"

    def _rest(self) -> str:
        return f", {duration(self.left)} left" if self.left else ""

    def say(self, line: str) -> None:
        """Say it."""
        print(line, file=sys.stderr, flush=True)


class JsonLines(Report):
    """A JSON object per event, on the standard output."""

    def begin(self, name: str, n_done: int, todo: Sequence[TrialConfig]) -> None:
        """Say how much there is to do."""
        super().begin(name, n_done, todo)
        self._say("begin", experiment=name, trials=self.n_trials, done=n_done)

    def started(self, trial: TrialConfig) -> None:
        """Say which trial has started."""
        self._say("started", trial=trial.id, size=trial.task.size, seed=trial.seed)

    def finished(self, trial: TrialConfig, seconds: float) -> None:
        """Say which trial is done."""
        super().finished(trial, seconds)
        self._say("finished", trial=trial.id, seconds=round(seconds, 3), left=self.left)

    def failed(self, trial: TrialConfig, reason: str) -> None:
        """Say which trial failed, and why."""
        super().failed(trial, reason)
        self._say("failed", trial=trial.id, error=reason)

    def retried(self, trial: TrialConfig) -> None:
        """Say which trial is tried again."""
        self._say("retried", trial=trial.id)

    def say(self, line: str) -> None:
        """Say what is being done."""
        self._say("doing", what=line)

    def _say(self, event: str, **facts: Any) -> None:
        print(json.dumps({"event": event, **facts}), flush=True)


class Bar(Report):
    """A bar on a terminal: trials done, running and failed, and the time left."""

    def begin(self, name: str, n_done: int, todo: Sequence[TrialConfig]) -> None:
        """Draw the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        super().begin(name, n_done, todo)
        columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
        columns += [TextColumn("{task.fields[rest]}"), TimeElapsedColumn()]
        self.bar = Progress(*columns, console=Console(stderr=True))
        self.bar.start()
        self.job = self.bar.add_task(name, total=self.n_trials, completed=n_done, rest="")

    def finished(self, trial: TrialConfig, seconds: float) -> None:
        """Move on."""
        super().finished(trial, seconds)
        self.bar.advance(self.job)

    def failed(self, trial: TrialConfig, reason: str) -> None:
        """Move on, and leave a line above the bar."""
        super().failed(trial, reason)
        self.bar.console.print(f"[red]failed[/] {describe(trial)}: {reason}", highlight=False)
        self.bar.advance(self.job)

    def retried(self, trial: TrialConfig) -> None:
        """Leave a line above the bar."""
        self.bar.console.print(f"{describe(trial)}: its worker died; trying again", highlight=False)

    def beat(self, running: list[str]) -> None:
        """Say what is going on."""
        parts = [f"{len(running)} running"]
        parts += [f"{self.n_failed} failed"] if self.n_failed else []
        parts += [f"{duration(self.left)} left"] if self.left else []
        self.bar.update(self.job, rest=", ".join(parts))

    def say(self, line: str) -> None:
        """Leave a line."""
        self.bar.console.print(line, highlight=False)

    def close(self) -> None:
        """Leave the bar as it is."""
        if hasattr(self, "bar"):
            self.bar.update(self.job, rest="")
            self.bar.stop()


def describe(trial: TrialConfig) -> str:
    """Return a few words on a trial."""
    return f"{trial.task.kind} {trial.task.size}, seed {trial.seed} ({trial.id[:8]})"


def duration(seconds: float | None) -> str:
    """Return a time in words."""
    if seconds is None:
        return "unknown time"
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s"
    return f"{whole / 60:.0f} min" if whole < 5400 else f"{whole / 3600:.1f} h"
