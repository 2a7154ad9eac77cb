"""How fast learning is: beside the simulation whose states it reads, and beside NumPy.

Learners are given the batches of a stream, two of them at a time, as `kenyon.train` does it. The NumPy learner is
compared with Kenyon's first: a time is worth nothing if the numbers differ. Rounds are interleaved, so that a busy
moment of the machine falls on all sides alike.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray
from simulation import interleave, print_machine

import kenyon as kn

N_EPISODES, BLOCK, BATCH, CALIBRATION = 60_000, 10_000, 1000, 3000
THREADS, ROUNDS = 2, 7
TOLERANCE = 1e-3  # of the largest weight or threshold

FIVE = {
    "GradientWeights": kn.GradientWeights(),
    "GradientThresholds": kn.GradientThresholds(),
    "Metropolis": kn.Metropolis(start=1.0),
    "Composed": kn.Composed(start=1.0),
    "Normalised": kn.Normalised(),
}
Batches = Sequence[tuple[NDArray[np.float32], NDArray[np.intp]]]  # states and labels
Learned = tuple[NDArray[np.float32], NDArray[np.float32]]  # W and theta


def main() -> None:
    task, reservoir = kn.StaticTask(kn.load_odours()), kn.Reservoir()
    print_machine()
    demands = [measure_training(reservoir, task)]
    measure_learners(reservoir, task)
    demands += measure_update(reservoir, task)
    measure_prelearning(reservoir, task)
    print("\nDemands")
    for text, met in demands:
        print(f"  {'met   ' if met else 'MISSED'}  {text}")


# --- all five learners beside the simulation


def measure_training(reservoir: kn.Reservoir, task: kn.Task) -> tuple[str, bool]:
    rounds = []
    for k in range(ROUNDS + 1):
        print(f"round {k} of {ROUNDS}: simulate and train on {N_EPISODES} episodes", file=sys.stderr)
        rounds.append(time_round(reservoir, task))
    simulating, learning = np.array(rounds[1:]).T
    share = learning / simulating
    print(f"\n{N_EPISODES} episodes, {reservoir.n_neurons} neurons, {len(task)} stimuli, {THREADS} threads", end="")
    print(f"; {ROUNDS} rounds, alternating every {BLOCK} episodes")
    print(f"  {'':<32}{'median':>10}{'min..max':>18}")
    rows = ("simulating them, s", simulating), ("training all five learners, s", learning), ("share", share)
    for name, values in rows:
        print(f"  {name:<32}{np.median(values):>10.2f}{f'{values.min():.2f}..{values.max():.2f}':>18}")
    middle = float(np.median(share))
    return f"training five learners takes {middle:.2f} of simulating; at most 0.5 wanted", middle <= 0.5


def time_round(reservoir: kn.Reservoir, task: kn.Task) -> tuple[float, float]:
    """Return the seconds of simulating and of learning, a block at a time, so that memory stays small."""
    simulating = learning = 0.0
    states: dict[str, object] = {}
    with ThreadPoolExecutor(THREADS) as pool:
        for block in range(N_EPISODES // BLOCK):
            start = time.perf_counter()
            batches = list(reservoir.stream(task, BLOCK, seed=block, batch_size=BATCH, threads=THREADS))
            simulated = time.perf_counter()
            states = states or begin(FIVE, batches)
            for batch in batches:
                jobs = {name: pool.submit(one.update, states[name], *batch[:2]) for name, one in FIVE.items()}
                states = {name: job.result()[0] for name, job in jobs.items()}
            learning += time.perf_counter() - simulated
            simulating += simulated - start
    return simulating, learning


def begin(learners: Mapping[str, kn.Learner], batches: list[kn.Batch]) -> dict[str, object]:
    V = np.concatenate([batch.states for batch in batches[: CALIBRATION // BATCH]])
    return {name: one.begin(V, 2, kn.Source(0, name)) for name, one in learners.items()}


def measure_learners(reservoir: kn.Reservoir, task: kn.Task) -> None:
    """Time each learner alone, on one thread."""
    batches = list(reservoir.stream(task, BLOCK, batch_size=BATCH, threads=THREADS))
    states = begin(FIVE, batches)

    def work(name: str) -> None:
        state = states[name]
        for batch in batches:
            state, _ = FIVE[name].update(state, batch.states, batch.labels)

    times = interleave({name: partial(work, name) for name in FIVE}, ROUNDS)
    print(f"\nEach learner alone, one thread, {BLOCK} episodes; {ROUNDS} rounds")
    print_times({name: taken / BLOCK * 1e6 for name, taken in times.items()})


# --- one update beside NumPy


def measure_update(reservoir: kn.Reservoir, task: kn.Task) -> list[tuple[str, bool]]:
    """Time updates of GradientThresholds at batch 1: calls of 1000 episodes, and a call for each episode."""
    (batch,) = reservoir.stream(task, BATCH, batch_size=BATCH, threads=THREADS)
    V, ratios = batch.states, {}
    for n_classes in (2, 10):
        labels = np.arange(len(V)) * 7 % n_classes
        check_agreement([(V[:200], labels[:200])], n_classes)
        many, single = [(V, labels)] * 10, [(V[k : k + 1], labels[k : k + 1]) for k in range(len(V))]
        works = {
            "Kenyon": partial(kenyon, many, n_classes),
            "NumPy": partial(numpy, many, n_classes),
            "Kenyon, a call per episode": partial(kenyon, single, n_classes),
        }
        n_episodes = {name: len(single if "call" in name else many * BATCH) for name in works}
        times = {name: taken / n_episodes[name] * 1e6 for name, taken in interleave(works, ROUNDS).items()}
        print(f"\nOne GradientThresholds update, batch 1, {n_classes} classes, one thread; {ROUNDS} rounds")
        print_times(times)
        ratios[n_classes] = float(np.median(times["NumPy"] / times["Kenyon"]))
        print(f"  NumPy takes {ratios[n_classes]:.1f} times as long, median over rounds, and draws no choices.")
    return [(f"an update is {ratios[2]:.1f} times as fast as NumPy's; at least 20 wanted", ratios[2] >= 20)]


def kenyon(batches: Batches, n_classes: int) -> Learned:
    learner = kn.GradientThresholds()
    state = learner.begin(batches[0][0], n_classes, kn.Source(0, "benchmark"))
    for V, labels in batches:
        state, _ = learner.update(state, V, labels)
    readout = learner.readout(state)
    return readout.W, readout.theta


def numpy(batches: Batches, n_classes: int) -> Learned:
    """Do the same in single precision and in place; the quickest of four ways that were tried."""
    eta_w, eta_theta = np.float32(0.0018), np.float32(0.00018)
    theta = np.zeros(batches[0][0].shape[1], np.float32)
    W = np.zeros((n_classes, len(theta)), np.float32)
    x, pull, dW = np.empty_like(theta), np.empty_like(theta), np.empty_like(W)
    active = np.empty(len(theta), np.bool_)
    targets = np.float32(10) * np.eye(n_classes, dtype=np.float32)
    for V, labels in batches:
        for v, target in zip(V, targets[labels], strict=True):
            np.subtract(v, theta, out=x)
            np.greater(x, 0, out=active)
            np.multiply(x, active, out=x)
            e = target - W @ x
            np.matmul(eta_theta * e, W, out=pull)
            pull *= active
            e *= eta_w
            np.multiply(e[:, None], x, out=dW)
            W += dW
            theta -= pull
    return W, theta


def check_agreement(batches: Batches, n_classes: int) -> None:
    """Stop unless both learn the same weights and thresholds."""
    pairs = zip(kenyon(batches, n_classes), numpy(batches, n_classes), strict=True)
    difference = max(float(np.abs(ours - theirs).max() / np.abs(ours).max()) for ours, theirs in pairs)
    print(f"\nW and theta after {len(batches[0][0])} episodes, {n_classes} classes: NumPy's differ ", end="")
    print(f"by {difference:.0e} of the greatest value at most")
    if not difference < TOLERANCE:
        sys.exit("NumPy learns something else; its time would mean nothing")


# --- prelearning


def measure_prelearning(reservoir: kn.Reservoir, task: kn.Task) -> None:
    found = []
    work = {"prelearning": lambda: found.append(kn.prelearn(kn.Composed(), reservoir, task, threads=THREADS))}
    (taken,) = interleave(work, 3).values()
    print(
        f"\nPrelearning of Composed: {np.median(taken):.2f} s, median of 3 ({taken.min():.2f}..{taken.max():.2f})",
        end="",
    )
    print(f"; {len(found[0].starts)} walks, {found[0].n_episodes} episodes, theta_g = {found[0].theta_g:.2f} chosen")


def print_times(times: Mapping[str, NDArray[np.float64]]) -> None:
    print(f"  {'us per episode':<32}{'median':>10}{'min..max':>18}")
    for name, taken in times.items():
        print(f"  {name:<32}{np.median(taken):>10.2f}{f'{taken.min():.2f}..{taken.max():.2f}':>18}")


if __name__ == "__main__":
    main()
