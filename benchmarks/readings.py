"""How long `kenyon readings` takes: trials and episodes are counted, the time of each is measured on short runs.

python benchmarks/readings.py            with what it measures here, on a machine that does nothing else
python benchmarks/readings.py 21 13 2    with us per static and per sequence episode, and per update of a network
"""

from __future__ import annotations

import sys
import time

import kenyon as kn
from kenyon.experiment.trial import stream_of
from kenyon.paper.plan import Plan
from kenyon.paper.readings import READINGS, THIN
from kenyon.paper.run_readings import experiment

CORES = 2
GRID, ROUNDS = 18 * 1.3, 1.7  # learners of a tuning trial, rates beyond the first ones included; simulations
WALKS = 20  # networks of prelearning
DENSE = 5.2  # times the simulation, with ten times the connections
STEPS = {"static": 50, "sequence": 30}
STARTED = 10_000  # batches of prelearning


def measure() -> tuple[float, float, float]:
    """Return us per static and per sequence episode without learning, and per update of a network."""
    odours, n = kn.load_odours(), 20_000
    tasks = [(kn.Reservoir(), kn.StaticTask(odours, 140))]
    tasks.append((kn.Reservoir(leak_rate=0.1, spectral_radius=0.95), kn.SequenceTask(odours, 28)))

    def timed(n_learners: int, reservoir: kn.Reservoir, task: kn.Task) -> float:
        learners = {str(i): kn.GradientWeights(batch=10, eta_w=1e-4) for i in range(n_learners)}
        kn.train(learners, reservoir, task, 1000, n_test=10)
        start = time.process_time()
        kn.train(learners, reservoir, task, n, n_test=10)
        return (time.process_time() - start) / n * 1e6

    one, nine = timed(1, *tasks[0]), timed(9, *tasks[0])
    update = (nine - one) / 8
    return one - update, timed(1, *tasks[1]) - update, update


def simulating(trial, simulation: dict[str, float]) -> float:
    """Return the time of a trial's simulation on one core."""
    kind = trial.task.kind
    steps = trial.task.steps * (3 if kind == "sequence" else 1) / STEPS[kind]
    dense = DENSE if trial.reservoir.connections > 50 else 1.0
    return (trial.n_episodes + anew(trial)) * simulation[kind] * steps * dense / 1e6


def learning(trial, update: float) -> float:
    """Return the time of its learners."""
    networks = sum(2 if getattr(learner, "search", None) else 1 for learner in trial.learners.values())
    return (trial.n_episodes * networks + anew(trial) * WALKS) * update / 1e6


def anew(trial) -> int:
    """Return how many episodes a trial prelearns from by itself."""
    walked = [own for own in trial.learners.values() if getattr(own, "start", None) == "walked"]
    return max((STARTED * own.batch for own in walked), default=0)


def stream(trial) -> str:
    """Return what a trial shares its simulation by."""
    return stream_of(trial.model_copy(update={"prelearning": None, "tuning": None}))


def main() -> None:
    """Print the table."""
    static, sequence, update = map(float, sys.argv[1:]) if len(sys.argv) == 4 else measure()
    simulation = {"static": static, "sequence": sequence}
    print(f"us per episode: static {static:.1f}, sequence {sequence:.1f}; per update of a network {update:.2f}")
    known: set[str] = set()
    simulated: set[str] = set()
    total, episodes = 0.0, 0
    for name in READINGS:
        trials = [one for one in experiment([Plan(THIN.seeds, False, name)]).trials if one.id not in known]
        known |= {one.id for one in trials}
        streams = {stream(one): one for one in trials if stream(one) not in simulated}
        simulated |= set(streams)
        tuned = {stream(one): one for one in trials if one.tuning and not one.seed}
        took = sum(simulating(one, simulation) for one in streams.values()) + sum(
            learning(one, update) for one in trials
        )
        took += sum(
            simulating(one, simulation) * ROUNDS + one.n_episodes * GRID * update / 1e6 for one in tuned.values()
        )
        n = sum(one.n_episodes for one in streams.values())
        total, episodes = total + took, episodes + n
        print(f"{name:16} {len(trials):4} new trials {n / 1e6:6.1f} million episodes {took / CORES / 60:6.1f} min")
    print(f"{'all':16} {len(known):4} trials     {episodes / 1e6:6.1f} million episodes {total / CORES / 60:6.1f} min")


if __name__ == "__main__":
    main()
