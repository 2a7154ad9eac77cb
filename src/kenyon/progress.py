"""A progress bar for training, on a terminal or on request."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kenyon import _checks


@contextmanager
def show_progress(n_episodes: int, wanted: bool | None) -> Iterator[Callable[[int], None]]:
    """Show a bar for `n_episodes`, by default only on a terminal; yield a function that advances it by n episodes."""
    if not (sys.stderr.isatty() if wanted is None else _checks.flag("progress", wanted)):
        yield lambda n: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        job = bar.add_task("training", total=n_episodes)
        yield lambda n: bar.advance(job, n)
