"""What this machine can do: the loads and multiply-adds of the kernels, and nothing else.

A limit does the same multiply-adds on the same rows in the same order as its kernel, from the same level of cache, but
with the weight in a register, in two independent sums, and with nothing written: no noise, no relu, no new state. The
share is the limit's time over the kernel's, with the same number of threads and in the same rounds.

python benchmarks/limit.py
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import workloads
from numba import njit, uintp
from timing import Times, interleave
from workloads import THREADS, Series, Updates, Workload

from kenyon.kernels.lanes import (
    LANES,
    Rows8,
    Rows32,
    aligned,
    fma,
    gather,
    item,
    lanes_like,
    lanes_of,
    load,
    load_at,
    store,
    store_at,
    sum_lanes,
)

PASSES = 1000
N_ROWS = 32, 1000, 20_000  # that fit into the first cache, the second and the last


@njit(nogil=True)
def add_rows(rows, columns, passes):
    """Multiply-add the rows that `columns` names."""
    a = b = lanes_like(rows, np.float32(0))
    weight = np.float32(1e-3)
    for _ in range(passes):
        for k in range(uintp(0), uintp(len(columns) - 1), uintp(2)):
            a = fma(weight, load(rows, uintp(item(columns, k))), a)
            b = fma(weight, load(rows, uintp(item(columns, k + uintp(1)))), b)
    store(rows, uintp(0), a + b)


@njit(nogil=True)
def add_gathered(values, columns, weights, passes):
    """Multiply-add gathered eights."""
    a = b = lanes_like(weights, np.float32(0))
    for _ in range(passes):
        for k in range(uintp(0), uintp(len(columns.values) - 1), uintp(2)):
            a = fma(load(weights, k), gather(values, columns, k), a)
            b = fma(load(weights, k + uintp(1)), gather(values, columns, k + uintp(1)), b)
    store(values, uintp(0), a + b)


@njit(nogil=True)
def read_and_write(W, x, passes):
    """Read every row's product with x, and add x to every row: all that an update of weights is."""
    total = np.float32(0)
    for _ in range(passes):
        for row in range(uintp(len(W))):
            first, y = row * uintp(W.shape[1]), lanes_of(np.float32(0))
            for i in range(uintp(0), uintp(len(x)), uintp(LANES)):
                y = fma(load_at(W, first + i), load_at(x, i), y)
            total += sum_lanes(y)
        for row in range(uintp(len(W))):
            first = row * uintp(W.shape[1])
            for i in range(uintp(0), uintp(len(x)), uintp(LANES)):
                store_at(W, first + i, fma(np.float32(1e-9), load_at(x, i), load_at(W, first + i)))
    return total


def on_all_threads(work: Callable[..., Any], arguments: Callable[[], tuple[Any, ...]]) -> Callable[[], object]:
    """Return a compiled call that does the work once on each thread, each with its own arguments."""
    given = [arguments() for _ in range(THREADS)]
    work(*given[0])

    def run() -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda arguments: work(*arguments), given))

    return run


def of_rows(n_rows: int, columns: Any, passes: int) -> Callable[[], object]:
    def arguments() -> tuple[Any, ...]:
        rows = aligned(n_rows, LANES)
        rows[:] = 1
        return Rows32(rows), columns, passes

    return on_all_threads(add_rows, arguments)


def simulation(work: Workload) -> tuple[Callable[[], object], float]:
    """Return the limit of a workload, and the number of episodes that a call corresponds to."""
    net = work.network
    passes = max(1, 2_000_000 // net.n_neurons)
    run = of_rows(sum(net.both.shape) - net.n_neurons, net.both.indices.astype(np.uint32), passes)
    return run, THREADS * passes * LANES / work.task.n_steps


def alone(work: Series) -> tuple[Callable[[], object], float]:
    """Return the limit of one series on one thread, and the number of steps that a call corresponds to."""
    network, passes = work.reservoir._sorted, 2000
    values = Rows8(aligned(len(network.ends) + 3, 8))
    add_gathered(values, network.columns, network.weights, 1)
    return lambda: add_gathered(values, network.columns, network.weights, passes), passes


def updates(work: Updates) -> tuple[Callable[[], object], float]:
    """Return the limit of updates on one thread, and the number of updates that a call corresponds to."""
    W, x, passes = aligned(work.n_classes, 1056), aligned(1024), max(20, 20_000 // work.n_classes)
    read_and_write(W, x, 1)
    return lambda: read_and_write(W, x, passes), passes


def rates(rounds: int) -> dict[int, float]:
    """Return the billions of multiply-adds per second of all threads together, by the number of rows."""
    rng = np.random.default_rng(0)
    works = {str(n): of_rows(n, rng.integers(n, size=16_000).astype(np.uint32), PASSES) for n in N_ROWS}
    times = interleave(works, rounds)
    return {n: THREADS * PASSES * 16_000 * LANES / times[str(n)].median / 1e9 for n in N_ROWS}


def share(
    ours: Callable[[], object], n: float, limit: tuple[Callable[[], object], float], rounds: int
) -> dict[str, Any]:
    """Time a kernel and its limit in turn; return both per unit, and the share reached, median over rounds."""
    run, worth = limit
    times = interleave({"kernel": ours, "limit": run}, rounds)
    kernel, least = times["kernel"].values / n, times["limit"].values / worth
    return {"kernel": Times(kernel), "limit": Times(least), "share": float(np.median(least / kernel))}


def main() -> None:
    for n, rate in rates(5).items():
        print(f"{n} rows: {rate:.1f} G multiply-adds/s on {THREADS} threads")
    work = workloads.static()
    found = share(lambda: list(work.reservoir.stream(work.task, 2048, threads=THREADS)), 2048, simulation(work), 9)
    print(f"static: {found['kernel'].text()} us per episode, limit {found['limit'].text()}, share {found['share']:.0%}")


if __name__ == "__main__":
    main()
