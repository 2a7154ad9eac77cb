"""What a sweep reports while it runs: a bar on a terminal, a line per trial otherwise, JSON for machines."""

# ruff: noqa: D401 (methods that are called at events say when)

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from kenyon.experiment.config import TrialConfig
from kenyon.experiment.sweep import leaves, spelt_out

LONGEST = 100  # characters about a trial, before its seed
FIRST = ("task.kind", "task.n_stimuli", "task.n_bases")  # what trials are told apart by before anything else


class Report:
    """Called at every event of a sweep. This one counts, and leaves it to subclasses to `tell`."""

    n_trials = n_done = n_new = n_failed = 0

    def begin(self, name: str, trials: Sequence[TrialConfig], todo: Sequence[TrialConfig]) -> None:
        """Called first, with all trials and those of them that are to be run."""
        n_done = len(trials) - len(todo)
        self.n_trials, self.n_done, self.n_new, self.n_failed = len(trials), n_done, 0, 0
        self.swept = swept(trials)
        self.start, self.work, self.work_done = time.monotonic(), sum(trial.work for trial in todo), 0.0
        self.tell("begin", experiment=name, trials=self.n_trials, done=n_done)

    def started(self, trial: TrialConfig) -> None:
        """Called when a trial is given to a worker."""
        self.tell("started", trial)

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

    def settings(self, trial: TrialConfig) -> dict[str, Any]:
        """Return what tells a trial from the others: its settings that are swept, and its seed."""
        flat = _flat(trial)
        return {name: flat[name] for name in [*self.swept, "seed"] if name in flat}

    def describe(self, trial: TrialConfig) -> str:
        """Return what tells a trial from the others in words."""
        *parts, seed = (spelt_out([item]) for item in self.settings(trial).items())
        text = " ".join(parts)
        return f"{text[:LONGEST]}{'...' if len(text) > LONGEST else ''} {seed}".strip()

    def _line(self, event: str, trial: TrialConfig | None, facts: dict[str, Any]) -> str | None:
        """Return an event in words; None if it is not worth a line."""
        count, left = f"{self.n_done + self.n_new + self.n_failed} of {self.n_trials}", facts.get("left")
        match event, trial:
            case "begin", _:
                plural = "" if facts["trials"] == 1 else "s"
                return f"{facts['experiment']}: {facts['trials']} trial{plural}, {facts['done']} done before"
            case "doing", _:
                return str(facts["what"])
            case "finished", TrialConfig():
                rest = f", {duration(left)} left" if left else ""
                took = f"{facts['seconds']:.1f} s" if facts["seconds"] < 10 else duration(facts["seconds"])
                return f"{self.describe(trial)}: done in {took} ({count}){rest}"
            case "failed", TrialConfig():
                return f"{self.describe(trial)}: failed ({count}): {facts['error']}"
            case "retried", TrialConfig():
                return f"{self.describe(trial)}: its worker died; trying again"
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
        about = {"trial": trial.id, "settings": self.settings(trial)} if trial else {}
        print(json.dumps({"event": event, **about, **facts}), flush=True)


class Bar(Report):
    """A bar on a terminal: trials done, running and failed, and the time left."""

    def __init__(self) -> None:
        from rich.console import Console

        self.console = Console(stderr=True)

    def begin(self, name: str, trials: Sequence[TrialConfig], todo: Sequence[TrialConfig]) -> None:
        """Draw the bar."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
        columns += [TextColumn("{task.fields[rest]}"), TimeElapsedColumn()]
        self.bar = Progress(*columns, console=self.console)
        self.bar.start()
        self.job = self.bar.add_task(name, total=len(trials), completed=len(trials) - len(todo), rest="")
        self.trials = {trial.id: trial for trial in todo}
        super().begin(name, trials, todo)

    def beat(self, running: list[str]) -> None:
        """Show what is going on beside the bar."""
        more = f" and {len(running) - 1} more" if len(running) > 1 else ""
        parts = [f"{self.describe(self.trials[trial])}{more} running" for trial in running[:1]]
        parts += [f"{self.n_failed} failed"] if self.n_failed else []
        parts += [f"{duration(self.left)} left"] if self.left else []
        self.bar.update(self.job, rest=", ".join(parts))

    def tell(self, event: str, trial: TrialConfig | None = None, **facts: Any) -> None:
        """Advance, and print a line above the bar for anything out of the ordinary."""
        if event in ("finished", "failed"):
            self.bar.advance(self.job)
        if event in ("failed", "retried", "doing") and (line := self._line(event, trial, facts)):
            self.console.print(line, style="red" if event == "failed" else "", highlight=False, markup=False)

    def close(self) -> None:
        """Leave the bar on the screen."""
        if hasattr(self, "bar"):
            self.bar.update(self.job, rest="")
            self.bar.stop()


def swept(trials: Sequence[TrialConfig]) -> list[str]:
    """Return the settings that tell trials apart, besides the seed; none that follows from those before it."""
    flats = [_flat(trial) for trial in trials]
    kept: list[str] = []
    groups: list[Any] = [()] * len(flats)
    for name in dict.fromkeys([*FIRST, *(name for flat in flats for name in flat if name != "seed")]):
        finer = [(group, repr(flat.get(name))) for group, flat in zip(groups, flats, strict=True)]
        numbers = {group: number for number, group in enumerate(dict.fromkeys(finer))}
        if len(numbers) > len(set(groups)):
            kept.append(name)
            groups = [numbers[group] for group in finer]
    return kept


def _flat(trial: TrialConfig) -> dict[str, Any]:
    """Return all settings by their places in an experiment file."""
    return {".".join(place): value for place, value in leaves(trial.model_dump(mode="json"))}


def duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours, as people would say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
