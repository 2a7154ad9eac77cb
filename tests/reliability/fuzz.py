"""Spoilt files for every reader: each must be read rightly or refused by name, at once, and touch nothing else.

    python -m tests.reliability.fuzz [--files 10000] [--reader NAME] [--seed 0] [--json PATH] [--keep DIR]

Files are read in processes of their own, so that one that crashes or hangs is told apart, kept in DIR and passed over.
A file is decided by seed, reader and number; `--first N --files 1` makes one of them again.
"""

import argparse
import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path

from tests.reliability.readers import BENEATH, READERS, Wrong, lay_bait, spoil

SECONDS = 200  # of processor time for one file: building 300 large sequence tasks, to see whether they can be, takes 80
PATIENCE = 600  # seconds without a word, after which a process waits for something that will not come
MEMORY = 4 * 2**30
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
FORBIDDEN = (
    "subprocess.",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "socket.",
    "pickle.",
    "ctypes.dl",
)
ALTERING = (
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.mkdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "os.chown",
)


LIBRARIES = (f"numba{os.sep}core", f"{os.sep}typing.py", f"{os.sep}threadpoolctl.py", "<frozen importlib")


class Caught(BaseException):
    """Something that no reader may do; no `except Exception` lets it pass."""


class Guard:
    """Watches what a reader does; whatever it may not do is prevented, and noted in `found`."""

    def __init__(self) -> None:
        self.folder, self.on = "", False
        self.found: list[str] = []
        sys.addaudithook(self.hear)

    @contextmanager
    def watching(self, folder: Path):
        """Watch, letting alone what is done in this folder."""
        self.folder, self.on = os.path.realpath(folder), True
        yield
        self.on = False

    def hear(self, event: str, arguments: tuple) -> None:
        if self.on and (what := self.judge(event, arguments)) and not _by_libraries():
            self.found.append(what)
            raise Caught(what)

    def judge(self, event: str, arguments: tuple) -> str | None:
        if event.startswith(FORBIDDEN):
            return event
        if event == "compile" and arguments[0] is not None and not _ours(arguments[1]):
            return f"compiles text ({arguments[0]!r:.80})"
        if event == "exec" and not _ours(arguments[0].co_filename):
            return f"executes text ({arguments[0].co_filename})"
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
        if (writes or event in ALTERING) and not self.within(arguments[0]):
            return f"{event} ({arguments[0]!r:.80})"
        return None

    def within(self, path) -> bool:
        return isinstance(path, int) or os.path.realpath(os.fsdecode(path)).startswith(self.folder + os.sep)


def _by_libraries() -> bool:
    """Tell whether a library is at work: Numba's cache, an import, a type hint, or a search for loaded libraries."""
    frame = sys._getframe(2)
    while frame is not None:
        if any(part in frame.f_code.co_filename for part in LIBRARIES):
            return True
        frame = frame.f_back
    return False


def _ours(filename) -> bool:
    """Tell whether code comes from a file of an installed package or of the library, not from a text."""
    name = os.fsdecode(filename) if isinstance(filename, (str, bytes)) else ""
    return name.startswith("<frozen ") or os.path.isabs(name)


class Desk:
    """A reader, the folder that it is given, and the bait beside that folder."""

    def __init__(self, name: str, place: Path) -> None:
        self.reader, self.place = {**READERS, **BENEATH}[name](), place
        self.path = place / "given" / self.reader.name
        self.path.parent.mkdir(parents=True)
        lay_bait(place / "bait")
        for other, contents in self.reader.beside.items():
            (self.path.parent / other).write_bytes(contents)
        for contents in self.reader.files:  # what is read for the first time imports and compiles
            self.path.write_bytes(contents)
            self.outcome(True)
        self.before = self.around()

    def around(self):
        """Return all there is outside of the given folder, with sizes and times."""
        found = [*os.scandir(self.place), *os.scandir(self.place / "bait")]
        return sorted(
            (entry.path, entry.stat().st_size, entry.stat().st_mtime_ns) for entry in found if entry.name != "given"
        )

    def outcome(self, changed: bool) -> str:
        """Read the file and say what came of it."""
        try:
            self.reader.read(self.path, changed)
        except Wrong as error:
            return f"failure: read as something else ({error!s:.80})"
        except ValueError as error:
            if str(self.path.parent) not in str(error) and self.path.name not in str(error):
                return f"failure: {type(error).__name__} that does not name the file ({error!s:.80})"
            return f"refused: {type(error).__name__}"
        except BaseException as error:
            return f"failure: {type(error).__name__} ({error!s:.80})"
        return "loaded"


def read_all(jobs, seed, place, keep, seconds, pipe):
    """Read spoilt files one after another, and say what came of each: the work of a process."""
    desks = {name: Desk(name, place / name) for name in dict.fromkeys(name for name, _ in jobs)}
    guard = Guard()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for name, number in jobs:
        desk = desks[name]
        contents, changed, how = spoil(desk.reader, seed, number)
        desk.path.write_bytes(contents)
        (place / "current").unlink(missing_ok=True)
        (place / "current").symlink_to(desk.path)
        os.chdir(desk.path.parent)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # whose signal ends a process, whatever it is doing
        with guard.watching(desk.path.parent):
            outcome = desk.outcome(changed)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if guard.found:
            outcome = f"failure: {guard.found.pop()}"
        elif desk.around() != desk.before:
            outcome, desk.before = "failure: wrote elsewhere", desk.around()
        if outcome.startswith("failure"):
            kept(keep, name, seed, number, desk.path)
        pipe.send((name, number, how, outcome))
    pipe.close()


def kept(keep, name, seed, number, path):
    """Keep a file, to be looked at."""
    keep.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, keep / f"{name}-{seed}-{number}-{path.name}")


class Work:
    """A process at work on some of the files."""

    def __init__(self, jobs, seed, top, keep, seconds) -> None:
        self.jobs, self.seconds, self.place = jobs, seconds, Path(tempfile.mkdtemp(dir=top))
        self.pipe, theirs = context.Pipe(duplex=False)
        self.process = context.Process(
            target=read_all, args=(jobs, seed, self.place, keep, seconds, theirs), daemon=True
        )
        self.process.start()
        theirs.close()
        self.done, self.quiet = 0, 0.0

    def hear(self, elapsed: float) -> list[tuple[str, int, str, str]]:
        """Return what was said since; `elapsed` counts for a second at most, for all of us may have been stopped."""
        said = []
        try:
            while self.pipe.poll():
                said.append(self.pipe.recv())
        except EOFError:
            self.process.join()
        self.done, self.quiet = self.done + len(said), 0.0 if said else self.quiet + min(1.0, elapsed)
        return said

    @property
    def silent(self) -> bool:
        return self.quiet > PATIENCE

    def end(self) -> str:
        """Say how the process ended; nothing if as it should."""
        code = self.process.exitcode
        if self.done == len(self.jobs):
            return ""
        if code == -signal.SIGPROF:
            return f"failure: hang, more than {self.seconds} s"
        return f"failure: crash, {signal.Signals(-code).name}" if code and code < 0 else f"failure: ended ({code})"


context = multiprocessing.get_context("spawn")


def fuzz(jobs, seed, processes, top, keep, advance=lambda: None, seconds=SECONDS):
    """Read files, given by reader and number; return how many came out how, and a line for each failure."""
    outcomes, failures = {name: Counter() for name, _ in jobs}, []
    queue = [Work(jobs[i::processes], seed, top, keep, seconds) for i in range(processes) if jobs[i::processes]]

    def note(name, number, how, outcome):
        outcomes[name][outcome.split(" (")[0]] += 1
        if outcome.startswith("failure"):
            failures.append(f"{name} {number} {how}: {outcome}")
        advance()

    while queue:
        start = time.monotonic()
        wait([work.pipe for work in queue] + [work.process.sentinel for work in queue], timeout=1.0)
        for work in list(queue):
            alive = work.process.is_alive()
            for said in work.hear(time.monotonic() - start):
                note(*said)
            if alive and work.silent:
                work.process.kill()
                work.process.join()
                alive = False
            if not alive:
                queue.remove(work)
                if ended := work.end():
                    (name, number), *rest = work.jobs[work.done :]
                    kept(keep, name, seed, number, (work.place / "current").resolve())
                    note(name, number, "", "failure: waits" if work.silent else ended)
                    queue += [Work(rest, seed, top, keep, seconds)] if rest else []
    return outcomes, failures


def main() -> int:
    """Spoil files for all readers, or one, and say what came of it."""
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000, help="how many for each reader")
    parser.add_argument(
        "--reader", choices=[*READERS, "library"], action="append", help="one of them; by default all but library"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, help="where to write outcomes for machines")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="where to keep files that failed")
    chosen = parser.parse_args()
    told, seconds, failures = {}, {}, []
    with tempfile.TemporaryDirectory() as top, Progress(console=Console(stderr=True)) as bar:
        for name in chosen.reader or READERS:
            bar_of_one, start = bar.add_task(name, total=chosen.files), time.monotonic()
            jobs = [(name, number) for number in range(chosen.first, chosen.first + chosen.files)]
            advance = partial(bar.advance, bar_of_one)
            outcomes, failed = fuzz(jobs, chosen.seed, chosen.processes, top, chosen.keep.absolute(), advance)
            told[name], seconds[name] = outcomes[name], round(time.monotonic() - start, 1)
            failures += failed
    shown = Table("outcome", *told)
    for kind in sorted({kind for outcomes in told.values() for kind in outcomes}):
        shown.add_row(kind, *(str(outcomes[kind]) for outcomes in told.values()))
    shown.add_row("seconds", *map(str, seconds.values()))
    Console().print(shown)
    for line in failures[:50]:
        print(line)
    if chosen.json:
        chosen.json.write_text(json.dumps({"outcomes": told, "seconds": seconds, "failures": failures}, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
