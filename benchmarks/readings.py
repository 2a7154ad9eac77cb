"""How long `kenyon readings` takes: trials and episodes are counted, the time of each is measured on short runs.

python benchmarks/readings.py            with what it measures here, on a machine that does nothing else
python benchmarks/readings.py 21 13 2    with us per static and per sequence episode, and per update of a network
"""

from __future__ import annotations

import sys
import time

import kenyon as kn
from kenyon.paper.plan import Plan
from kenyon.paper.readings import READINGS, THIN
from kenyon.paper.run_readings import experiment

CORES = 2
GRID = 15 * 1.5  # learners of a tuning trial, rates beyond the first ones included
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


def seconds(trial, simulation: dict[str, float], update: float) -> float:
    """Return the time of a trial on one core, its share of first stages not counted."""
    kind, connections = trial.task.kind, trial.reservoir.connections
    steps = trial.task.steps * (3 if kind == "sequence" else 1) / STEPS[kind]
    dense = DENSE if connections > 50 else 1.0
    networks = sum(2 if getattr(learner, "search", None) else 1 for learner in trial.learners.values())
    walked = [own for own in trial.learners.values() if getattr(own, "start", None) == "walked"]
    anew = max((STARTED * own.batch for own in walked), default=0)
    each = simulation[kind] * steps * dense
    return (trial.n_episodes * (each + networks * update) + anew * (each + WALKS * len(walked) * update)) / 1e6


def tuning(trial, simulation: dict[str, float], update: float) -> float:
    """Return the time of the tuning that a trial of the first seed waits for; those of other seeds share it."""
    if trial.tuning is None or trial.seed:
        return 0.0
    alone = trial.model_copy(update={"learners": {}})
    rounds = 2 * seconds(alone, simulation, update)
    return len(trial.tuning.seeds) * (rounds + trial.n_episodes * GRID * update / 1e6)


def main() -> None:
    """Print the table."""
    static, sequence, update = map(float, sys.argv[1:]) if len(sys.argv) == 4 else measure()
    simulation = {"static": static, "sequence": sequence}
    print(f"us per episode: static {static:.1f}, sequence {sequence:.1f}; per update of a network {update:.2f}")
    known: set[str] = set()
    total, episodes = 0.0, 0
    for name in READINGS:
        trials = [one for one in experiment([Plan(THIN.seeds, False, name)]).trials if one.id not in known]
        known |= {one.id for one in trials}
        n = sum(one.n_episodes for one in trials)
        took = sum(seconds(one, simulation, update) + tuning(one, simulation, update) for one in trials)
        total, episodes = total + took, episodes + n
        print(f"{name:16} {len(trials):4} new trials {n / 1e6:6.1f} million episodes {took / CORES / 60:6.1f} min")
    print(f"{'all':16} {len(known):4} trials     {episodes / 1e6:6.1f} million episodes {total / CORES / 60:6.1f} min")


if __name__ == "__main__":
    main()
