"""Learning one task after another: what is kept of the first when the last has been learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks, _seeding
from kenyon.learning.learners import CALIBRATION_EPISODES
from kenyon.learning.prelearning import episodes_needed, prelearn_all, prelearned
from kenyon.learning.protocol import LearnerProtocol, Source
from kenyon.learning.runs import EPISODES_PER_CHUNK, Run, Test, check_learners, for_all, show_progress, take
from kenyon.reservoir import Reservoir
from kenyon.tasks import Task

if TYPE_CHECKING:
    import xarray as xr


def train_in_turn(
    learners: Mapping[str, LearnerProtocol],
    reservoir: Reservoir,
    tasks: Sequence[Task],
    n_episodes: int = 6000,
    *,
    seed: int = 0,
    n_bins: int = 60,
    n_test: int = 2000,
    threads: int = 1,
    diverged: str = "raise",
    progress: bool | None = None,
) -> xr.Dataset:
    """Train learners on several tasks, one after another, and test them on all tasks after each.

    Parameters are those of `train`, but for these:

    Parameters
    ----------
    tasks
        What is learned, in order, such as `task.split(5)`. Prelearning and calibration see the first only.
    n_episodes
        Episodes of each task.
    n_test
        Test episodes of all tasks together, after each.

    Returns
    -------
    A Dataset over learner, episode, stage and group: training_accuracy; and group_accuracy, that of choices on the
    task of a group after the task of a stage was learned.
    """
    import xarray as xr

    n_episodes = _checks.integer("n_episodes", n_episodes, 1)
    n_bins = _checks.integer("n_bins", n_bins, 1)
    _checks.one_of("diverged", diverged, ("raise", "record"))
    seed, threads = _checks.seed(seed), _checks.integer("threads", threads, 1)
    learners, reservoir = check_learners(learners), _checks.instance("reservoir", reservoir, Reservoir)
    if (
        not isinstance(tasks, (list, tuple))
        or len({_checks.instance("tasks[i]", one, Task).n_classes for one in tasks}) != 1
    ):
        raise ValueError("tasks must be a list of at least one, all with the same n_classes")
    n_test = _checks.integer("n_test", n_test, len(tasks))
    total = n_episodes * len(tasks)
    edges = np.linspace(0, total, min(n_bins, total) + 1).round().astype(int)
    waiting = prelearned(learners)
    after: list[NDArray[np.float64]] = []
    with show_progress(total + episodes_needed(waiting), progress) as advance, ThreadPoolExecutor(threads) as pool:
        found = prelearn_all(waiting, reservoir, tasks[0], seed=seed, threads=threads, advance=advance)
        runs = [Run(name, one, found.get(name), seed, diverged, edges) for name, one in learners.items()]
        for stage, task in enumerate(tasks):
            stream = reservoir.stream(
                task,
                n_episodes,
                _seeding.derive(seed, "turn", str(stage)),
                batch_size=EPISODES_PER_CHUNK,
                threads=threads,
            )
            if stage == 0:
                head = take(stream, min(CALIBRATION_EPISODES, n_episodes))
                V = np.concatenate([batch.states for batch in head])
                for_all(pool, lambda run, V=V: run.begin(V, tasks[0].n_classes), runs)
            for batch in [*head, *stream] if stage == 0 else stream:
                for_all(pool, lambda run, batch=batch: run.learn(batch), runs)
                advance(len(batch.items))
            after.append(_accuracies(runs, reservoir, tasks, n_test // len(tasks), seed, threads))
    variables = {
        "training_accuracy": (("learner", "episode"), np.array([run.curve() for run in runs])),
        "group_accuracy": (("stage", "group", "learner"), np.array(after)),
        "diverged_at": ("learner", [run.failure.episode if run.failure else -1 for run in runs]),
    }
    coordinates = {"learner": list(learners), "episode": edges[1:]}
    return xr.Dataset(variables, coordinates).transpose("learner", ...)


def _accuracies(
    runs: Sequence[Run], reservoir: Reservoir, tasks: Sequence[Task], n_test: int, seed: int, threads: int
) -> NDArray[np.float64]:
    """Return the accuracy of all learners on fresh episodes of every task, shape (n_tasks, n_learners)."""
    result = np.empty((len(tasks), len(runs)))
    for group, task in enumerate(tasks):
        tests = [Test(run.readout(), task.n_classes, Source(seed, run.name)) for run in runs]
        fresh = _seeding.derive(seed, "test", str(group))
        for batch in reservoir.stream(task, n_test, fresh, batch_size=EPISODES_PER_CHUNK, threads=threads):
            for test in tests:
                test.take(batch)
        result[group] = [test.measures()["accuracy"] for test in tests]
    return result
