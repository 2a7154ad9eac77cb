"""How long learning takes: compared with the simulation, for each learner, and for prelearning.

Learners receive the batches of a stream, two learners at a time, as in `kenyon.train`. `run.py` compares updates with
other systems.

python benchmarks/learning.py
"""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray
from timing import Times, interleave, machine, say
from workloads import THREADS

import kenyon as kn

N_EPISODES, BLOCK, BATCH, CALIBRATION = 60_000, 10_000, 1000, 3000
ROUNDS = 5
CALL, SERIES = 20.0, 30.0  # us that a call with one episode, and with one series of 50 steps, may take above the kernel
MOST = 0.2  # of the time of the simulation that all five learners together may take

FIVE = {
    "GradientWeights": kn.GradientWeights(),
    "GradientThresholds": kn.GradientThresholds(),
    "Metropolis": kn.Metropolis(start=1.0),
    "Composed": kn.Composed(start=1.0),
    "Normalised": kn.Normalised(),
}


def main() -> None:
    task, reservoir = kn.StaticTask(kn.load_odours()), kn.Reservoir()
    print(*machine(), sep="\n")
    measure_training(reservoir, task)
    measure_learners(reservoir, task)
    measure_series(reservoir)
    measure_prelearning(reservoir, task)


def measure_training(reservoir: kn.Reservoir, task: kn.Task) -> None:
    """Time all five learners and the simulation."""
    rounds = []
    for k in range(ROUNDS + 1):
        say(f"round {k} of {ROUNDS}: simulate and train on {N_EPISODES} episodes")
        rounds.append(time_round(reservoir, task))
    simulating, learning = np.array(rounds[1:]).T
    print(f"\n{N_EPISODES} episodes, {reservoir.n_neurons} neurons, {len(task)} stimuli, {THREADS} threads", end="")
    print(f"; {ROUNDS} rounds, alternating every {BLOCK} episodes")
    print(f"  simulating them: {Times(simulating).text(1)} s")
    share = float(np.median(learning / simulating))
    print(f"  training all five learners: {Times(learning).text(1)} s, {share:.2f} of it", end="")
    print(f" (goal: at most {MOST:g}, {'met' if share <= MOST else 'missed'})")


def time_round(reservoir: kn.Reservoir, task: kn.Task) -> tuple[float, float]:
    """Return the seconds of simulation and of learning, one block at a time to keep memory small."""
    simulating = learning = 0.0
    states: dict[str, object] = {}
    with ThreadPoolExecutor(THREADS) as pool:
        for block in range(N_EPISODES // BLOCK):
            start = time.perf_counter()
            batches = list(reservoir.stream(task, BLOCK, seed=block, batch_size=BATCH, threads=THREADS))
            simulated = time.perf_counter()
            states = states or begin(FIVE, batches)
            for batch in batches:
                jobs = {name: pool.submit(learner.update, states[name], *batch[:2]) for name, learner in FIVE.items()}
                states = {name: job.result()[0] for name, job in jobs.items()}
            learning += time.perf_counter() - simulated
            simulating += simulated - start
    return simulating, learning


def begin(learners: Mapping[str, kn.Learner], batches: list[kn.Batch]) -> dict[str, object]:
    V = np.concatenate([batch.states for batch in batches[: CALIBRATION // BATCH]])
    return {name: learner.begin(V, 2, kn.Source(0, name)) for name, learner in learners.items()}


def measure_learners(reservoir: kn.Reservoir, task: kn.Task) -> None:
    """Time each learner alone, on one thread, in calls of 1000 episodes and of one."""
    batches = list(reservoir.stream(task, BLOCK, batch_size=BATCH, threads=THREADS))
    states = begin(FIVE, batches)
    given = {BATCH: batches, 1: [batches[0].part(k, 1) for k in range(BATCH)]}

    def work(name: str, size: int) -> None:
        state = states[name]
        for batch in given[size]:
            state, _ = FIVE[name].update(state, batch.states, batch.labels)

    print(f"\nEach learner alone, one thread, us per episode; {ROUNDS} rounds")
    sizes = {BATCH: BLOCK, 1: BATCH}
    works = {f"{name} {size}": partial(work, name, size) for name in FIVE for size in sizes}
    times = interleave(works, ROUNDS)
    for name in FIVE:
        many, one = (Times(times[f"{name} {size}"].values / n) for size, n in sizes.items())
        print(f"  {name:<20} in calls of {BATCH}: {many.text()}, of one: {one.text()}; {above(one, many.values, CALL)}")


def measure_series(reservoir: kn.Reservoir) -> None:
    """Time runs of one series of 50 steps; what a step takes is read off a longer one."""
    inputs = np.random.default_rng(0).random((1, 1050, 24), dtype=np.float32)
    runs = interleave({str(n): lambda n=n: reservoir.run(inputs[:, :n]) for n in (50, 1050)}, ROUNDS)
    one, long = runs["50"], runs["1050"].values
    print(f"\nOne series of 50 steps: {one.text()} us; {above(one, (long - one.values) / 20, SERIES)}")


def above(one: Times, kernel: NDArray[np.float64], most: float) -> str:
    """Say by how much a call takes longer than what its kernel does."""
    more = 1e6 * float(np.median(one.values - kernel))
    return f"{more:.0f} us above the kernel (goal: at most {most:g}, {'met' if more <= most else 'missed'})"


def measure_prelearning(reservoir: kn.Reservoir, task: kn.Task) -> None:
    found = []
    work = {"prelearning": lambda: found.append(kn.prelearn(kn.Composed(), reservoir, task, threads=THREADS))}
    (taken,) = interleave(work, 3).values()
    print(f"\nPrelearning of Composed: {taken.text(1)} s", end="")
    print(f"; {len(found[0].starts)} walks, {found[0].n_episodes} episodes, theta_g = {found[0].theta_g:.2f} chosen")


if __name__ == "__main__":
    main()
