"""How fast hidden states are made: Kenyon beside SciPy and ReservoirPy, and what else the simulator promises.

All sides simulate the same network on the same stimuli and make their own input noise. Their states without noise are
compared first: a time is worth nothing if the numbers differ. Rounds are interleaved, so that a busy moment of the
machine falls on all sides alike.
"""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from reservoirpy.nodes import Reservoir as ReservoirNode
from scipy import sparse

import kenyon as kn

N_EPISODES, THREADS, ROUNDS = 2048, 2, 7
FEW = 64  # episodes ReservoirPy is timed on, as it runs them one by one
TOLERANCE = 1e-4  # of the largest state

# A system takes a task and a number of episodes and returns their final states, in blocks of (n, n_neurons).
States = Sequence[NDArray[np.floating]]
System = Callable[[kn.Task, int], States]

START = """
import sys, time
times = [float(sys.argv[1]), time.time()]
import kenyon as kn
times.append(time.time())
task, reservoir = kn.StaticTask(kn.load_odours()), kn.Reservoir()
times.append(time.time())
next(reservoir.stream(task, 1))
times.append(time.time())
print(*(after - before for before, after in zip(times, times[1:])))
"""
# The peak is read from the kernel where it can be: a child's ru_maxrss starts at what its parent used.
PEAK = """
def peak():
    try:
        return next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
    except FileNotFoundError:
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
"""
STREAM = """
import sys
import kenyon as kn
task, reservoir = kn.StaticTask(kn.load_odours()), kn.Reservoir()
for batch in reservoir.stream(task, int(sys.argv[1]), threads=2):
    pass
print(peak())
"""
LARGE = """
import time, kenyon as kn
task = kn.StaticTask(kn.load_odours())
next(kn.Reservoir(100).stream(task, 1))
start = time.perf_counter()
reservoir = kn.Reservoir(20_000, connections=10)
built = time.perf_counter()
for batch in reservoir.stream(task, 1024, threads=2):
    pass
print(built - start, (time.perf_counter() - built) / 1024 * 1e6, peak())
"""


def main() -> None:
    task, reservoir = kn.StaticTask(kn.load_odours()), kn.Reservoir()
    systems = {
        "Kenyon": kenyon(reservoir),
        "SciPy CSR, W and W_in": scipy_two_products(reservoir),
        "SciPy CSR, whole batch": scipy_csr(reservoir, N_EPISODES),
        f"SciPy CSR, {THREADS} threads": scipy_csr(reservoir, 256),
        "ReservoirPy": reservoirpy(reservoir),
    }
    print_machine()
    check_agreement(systems)
    demands = compare_systems(systems, task)
    demands += [measure_noise(reservoir, task), measure_start(), measure_memory(), measure_large()]
    print("\nDemands")
    for text, met in demands:
        print(f"  {'met   ' if met else 'MISSED'}  {text}")


# --- the systems


def kenyon(reservoir: kn.Reservoir) -> System:
    def run(task: kn.Task, n: int) -> States:
        return [batch.states for batch in reservoir.stream(task, n, threads=THREADS)]

    return run


def scipy_csr(reservoir: kn.Reservoir, block: int) -> System:
    """[W | W_in] times the states and inputs of `block` episodes at once, in single precision, in place."""
    n_neurons, leak = reservoir.n_neurons, np.float32(reservoir.leak_rate)
    weights = sparse.hstack([reservoir.W, reservoir.W_in], format="csr")

    def run_block(task: kn.Task, clean: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
        rng = np.random.default_rng(seed)
        both = np.zeros((weights.shape[1], clean.shape[1]), np.float32)
        V, s = both[:n_neurons], both[n_neurons:]
        for _ in range(task.n_steps):
            np.multiply(clean, 1 + np.float32(task.noise) * rng.standard_normal(clean.shape, np.float32), out=s)
            drive = weights @ both
            np.maximum(drive, 0, out=drive)
            drive *= leak
            V *= 1 - leak
            V += drive
        return V.T

    def run(task: kn.Task, n: int) -> States:
        blocks = [np.ascontiguousarray(clean_inputs(task, n)[k : k + block].T) for k in range(0, n, block)]
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(lambda k: run_block(task, blocks[k], k), range(len(blocks))))

    return run


def scipy_two_products(reservoir: kn.Reservoir) -> System:
    """Apply the equation as it is written to the whole batch."""
    leak = np.float32(reservoir.leak_rate)

    def run(task: kn.Task, n: int) -> States:
        rng, clean = np.random.default_rng(0), np.ascontiguousarray(clean_inputs(task, n).T)
        V = np.zeros((reservoir.n_neurons, n), np.float32)
        for _ in range(task.n_steps):
            s = clean * (1 + np.float32(task.noise) * rng.standard_normal(clean.shape, np.float32))
            V = (1 - leak) * V + leak * np.maximum(reservoir.W_in @ s + reservoir.W @ V, 0)
        return [V.T]

    return run


def reservoirpy(reservoir: kn.Reservoir) -> System:
    """Run episodes from rest, one after another, in double precision: its quickest form; two workers are slower."""
    W, Win = reservoir.W.astype(np.float64), reservoir.W_in.toarray().astype(np.float64)
    rng = np.random.default_rng(0)

    def run(task: kn.Task, n: int) -> States:
        node = ReservoirNode(W=W, Win=Win, lr=reservoir.leak_rate, activation="relu", bias=0.0)
        node.initialize(np.zeros((1, reservoir.n_inputs)))
        final = []
        for clean in clean_inputs(task, n):
            node.reset()
            noise = rng.standard_normal((task.n_steps, len(clean)))
            final.append(node.run(clean * (1 + task.noise * noise))[-1:])
        return final

    return run


def clean_inputs(task: kn.Task, n: int) -> NDArray[np.float32]:
    """Return the stimulus of each of the first n episodes, without noise."""
    return task.odours.scaled[task.items[task.draw(n).items, 0]]


# --- what is measured


def check_agreement(systems: dict[str, System], n: int = 300) -> None:
    """Stop unless all systems give the same noise-free states."""
    quiet = kn.StaticTask(kn.load_odours(), noise=0.0)
    states = {name: np.concatenate(system(quiet, n)) for name, system in systems.items()}
    ours = states["Kenyon"]
    print(f"\nFinal states of {n} episodes without noise, greatest difference from Kenyon's / greatest state")
    for name, theirs in states.items():
        difference = np.abs(theirs - ours).max() / ours.max()
        print(f"  {name:<26}{difference:10.1e}")
        if not (theirs.shape == ours.shape and difference < TOLERANCE):
            sys.exit(f"{name} simulates something else; its time would mean nothing")


def compare_systems(systems: dict[str, System], task: kn.Task) -> list[tuple[str, bool]]:
    sizes = {name: FEW if name == "ReservoirPy" else N_EPISODES for name in systems}
    times = interleave({name: lambda s=system, n=sizes[name]: s(task, n) for name, system in systems.items()})
    times = {name: taken / sizes[name] * 1e6 for name, taken in times.items()}
    ratio = {name: np.median(taken) / np.median(times["Kenyon"]) for name, taken in times.items()}
    print(f"\n1000 neurons, {task.n_steps} steps, 24 noisy channels, {N_EPISODES} episodes; {ROUNDS} rounds")
    print(f"  {'us per episode':<26}{'median':>10}{'min..max':>18}{'to Kenyon':>12}")
    for name, taken in times.items():
        spread = f"{taken.min():.1f}..{taken.max():.1f}"
        print(f"  {name:<26}{np.median(taken):>10.1f}{spread:>18}{ratio[name]:>11.1f}x")
    print("  SciPy: the equation as written; [W | W_in] in one product and in place, on the whole batch and in blocks")
    print(f"  of 256 episodes on two threads. Kenyon has {THREADS} threads, the other SciPys one. ReservoirPy runs")
    print(f"  episodes one by one on one, the quickest way it has, and is timed on {FEW} of them.")
    return [
        (f"{ratio[name]:.2f} times as fast as {name}; at least {least} wanted", bool(ratio[name] >= least))
        for name, least in (("SciPy CSR, whole batch", 10), ("ReservoirPy", 50))
    ]


def measure_noise(reservoir: kn.Reservoir, task: kn.Task, n: int = 512) -> tuple[str, bool]:
    """Compare neighbours in time, on one thread, because the difference is smaller than the machine's moods."""
    tasks = {"noise": task, "no noise": kn.StaticTask(task.odours, noise=0.0)}
    times = interleave({name: lambda t=shown: list(reservoir.stream(t, n)) for name, shown in tasks.items()}, 25)
    share = float(1 - np.median(times["no noise"] / times["noise"]))
    print(f"\nNoise: {share:.0%} of a step, median of 25 pairs of runs with and without it, on one thread")
    return f"noise takes {share:.0%} of a step; less than 30% wanted", share < 0.3


def measure_start() -> tuple[str, bool]:
    """Time fresh processes with kernels cached: the first, uncounted, compiles them where they are not."""
    runs = np.array([child("start", START, repr(time.time())) for _ in range(6)])[1:]
    total = float(np.median(runs.sum(axis=1)))
    python, imports, build, episode = np.median(runs, axis=0)
    print(f"\nA fresh process, kernels cached: {total:.2f} s to the first episode, median of {len(runs)}")
    print(f"  Python {python:.2f}, import {imports:.2f}, task and network {build:.2f}, first episode {episode:.2f}")
    return f"{total:.2f} s from process start to the first episode; less than 1 s wanted", total < 1


def measure_memory() -> tuple[str, bool]:
    few, many = (child(f"{n} episodes", PEAK + STREAM, str(n))[0] for n in (60_000, 600_000))
    print(f"\nPeak memory of streaming: {few:.0f} MB for 60,000 episodes, {many:.0f} MB for 600,000")
    return f"ten times the episodes, {many - few:+.0f} MB; within 50 MB wanted", abs(many - few) < 50


def measure_large() -> tuple[str, bool]:
    build, per_episode, peak = child("20000 neurons", PEAK + LARGE)
    print(f"\n20,000 neurons, 10 connections each: built in {build:.1f} s, {per_episode:.0f} us per episode", end="")
    print(f", peak {peak:.0f} MB (a dense W would take {20_000**2 * 4 / 2**20:.0f} MB)")
    return f"20,000 neurons built in {build:.1f} s; less than 10 s wanted", build < 10


# --- tools


def interleave(works: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, NDArray[np.float64]]:
    """Return the seconds each work took in each round, after one that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for k in range(rounds + 1):
        print(f"round {k} of {rounds}: {', '.join(works)}", file=sys.stderr)
        for name, work in works.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    return {name: np.array(taken[1:]) for name, taken in times.items()}


def child(what: str, code: str, *arguments: str) -> list[float]:
    """Run code in a Python of its own and return the numbers it prints."""
    print(f"in a process of its own: {what}", file=sys.stderr)
    done = subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def print_machine() -> None:
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")]
    names = ("numpy", "scipy", "numba", "reservoirpy", "kenyon")
    print(f"{models[0] if models else platform.processor()}, {os.cpu_count()} cores, {platform.system()}")
    if os.getloadavg()[0] > 0.3:
        print(f"(busy: load {os.getloadavg()[0]:.1f} before the start, which slows two threads more than one)")
    print(f"Python {platform.python_version()}, {', '.join(f'{name} {version(name)}' for name in names)}")


if __name__ == "__main__":
    main()
