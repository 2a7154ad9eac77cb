"""Work in chunks: series as episodes, and jobs in threads whose results come in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kenyon.kernels.inputs import Episodes

Job = TypeVar("Job")
Result = TypeVar("Result")


def equal_lengths(series: NDArray[np.float32]) -> Episodes:
    """Return series of equal lengths as the kernels take them."""
    n, n_steps, n_channels = series.shape
    shown = np.arange(n * n_steps, dtype=np.intp).reshape(n, n_steps)
    keys, starts = np.zeros((n, 2), np.uint32), np.zeros(n, np.intp)
    return Episodes(series.reshape(-1, n_channels), shown, 1, np.float32(0), False, keys, starts)


def padded(series: Sequence[NDArray[np.float32]]) -> Episodes:
    """Align series at their ends, with silence before the shorter ones."""
    lengths = np.array([len(values) for values in series])
    n_steps = int(lengths.max())
    silence = np.zeros((1, series[0].shape[1]), np.float32)
    rows = 1 + np.cumsum(lengths) - lengths
    starts = n_steps - lengths
    shown = np.arange(n_steps) - starts[:, None]
    shown = np.where(shown >= 0, shown + rows[:, None], 0)
    keys = np.zeros((len(series), 2), np.uint32)
    return Episodes(np.concatenate([silence, *series]), shown, 1, np.float32(0), False, keys, starts)


def chunks(n: int, size: int) -> Iterator[slice]:
    """Cut 0, 1, ..., n - 1 into slices of this size; the last may be smaller."""
    return (slice(first, min(first + size, n)) for first in range(0, n, size))


def in_order(job: Callable[[Job], Result], jobs: Iterable[Job], threads: int) -> Iterator[Result]:
    """Run jobs in threads and yield their results in order, with at most two results per thread waiting."""
    if threads == 1:
        yield from map(job, jobs)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Any] = deque()
        try:
            for item in jobs:
                waiting.append(pool.submit(job, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def drain(results: Iterator[None]) -> None:
    """Run jobs to their end."""
    deque(results, maxlen=0)
