"""Training: one stream of states, any number of learners side by side, on one task or on several in turn."""

from __future__ import annotations

import json
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks, _seeding
from kenyon._variables import describe
from kenyon.learning.learners import CALIBRATION_EPISODES
from kenyon.learning.prelearning import Prelearned, episodes_needed, prelearn_all, prelearned
from kenyon.learning.protocol import Diverged, LearnerProtocol, Source, check_learners
from kenyon.learning.runs import COURSES, Run
from kenyon.learning.testing import (
    BY_KIND,
    DIRECTIONS,
    OF_THE_START,
    PER_NEURON,
    PERMUTATIONS,
    SCALARS,
    Code,
    Codes,
    Directions,
    Test,
    labellings,
)
from kenyon.progress import show_progress
from kenyon.provenance import environment
from kenyon.readout import ON_OFF, Readout
from kenyon.reservoir import Batch, ReservoirProtocol, check_reservoir, stream_chunks
from kenyon.tasks import Task
from kenyon.timing import Delays, LogUniform

if TYPE_CHECKING:
    import xarray as xr

Tested = TypeVar("Tested")
PARTED = 0.2  # difference in accuracy between the largest output and drawn choices that is worth a warning


def train(
    learners: Mapping[str, LearnerProtocol],
    reservoir: ReservoirProtocol,
    task: Task,
    n_episodes: int = 60_000,
    *,
    seed: int = 0,
    n_bins: int = 60,
    n_test: int = 2000,
    threads: int = 1,
    diverged: str = "raise",
    progress: bool | None = None,
) -> xr.Dataset:
    """Train learners on the same episodes, side by side, and test them on fresh noise.

    Parameters
    ----------
    learners
        Learners by name: those of this package, or any `LearnerProtocol`. A learner's numbers depend on its name and
        the seed, not on the others.
    reservoir, task
        What they learn: a `Reservoir`, or any `ReservoirProtocol`, and a `Task`.
    n_episodes
        Episodes to learn from.
    seed
        Decides episodes, choices and proposals.
    n_bins
        Points of the training curves, at most one per episode.
    n_test
        Test episodes, none of them seen in training.
    threads
        Number of threads, for simulation and learning.
    diverged
        "raise" `Diverged` when a learner's cost is no longer finite, or "record" it: its results are NaN, its message
        is in `attrs`, and the others go on.
    progress
        Show a progress bar; by default, only on a terminal.

    Returns
    -------
    A Dataset over learner, episode (the last of each bin) and neuron
        Every variable has a `long_name`.

        - While learning, in bins: training_accuracy, of choices made before their own update, and the course of
          thresholds.
        - On the test episodes: accuracy, of choices drawn from softmax(y / temperature), so that it depends on the size
          of the outputs y (see `Readout`), expected_accuracy and argmax_accuracy; of a `SequenceTask` also accuracy by
          perturbed position and by context.
        - Of the code: coding_level, theta, activity, specificity and overlap of the classes, as if all classes were
          tested equally often, beside what they are by chance (`_permuted`) and with the thresholds that the learner
          began with (`start_`).
        - acceptance, the share of Metropolis proposals kept; diverged_at, the episode at which a learner diverged,
          or -1.

        `attrs` holds, as JSON, the configuration, what prelearning chose, the messages of learners that diverged, and
        provenance.
    """
    options: dict[str, Any] = {"seed": seed, "n_bins": n_bins, "n_test": n_test, "threads": threads}
    return train_sets([learners], reservoir, task, [n_episodes], **options, diverged=diverged, progress=progress)[0]


def train_sets(
    sets: Sequence[Mapping[str, LearnerProtocol]],
    reservoir: ReservoirProtocol,
    task: Task,
    lengths: Sequence[int],
    *,
    seed: int,
    n_bins: int,
    n_test: int,
    threads: int,
    diverged: str,
    progress: bool | None,
) -> list[xr.Dataset]:
    """Train several sets of learners on one stream of states, and return what `train` returns for each of them.

    Each set learns from as many episodes as its number in `lengths` says. Numbers that differ must leave the
    calibration episodes the same.
    """
    task = _checks.instance("task", task, Task)
    plan = _Plan(sets, reservoir, [task], lengths, seed, n_bins, n_test, threads, diverged)

    def test(runs: list[Run], pool: ThreadPoolExecutor) -> tuple[list[Test], list[Code], list[Directions]]:
        codes = Codes(task, labellings(task, plan.seed, PERMUTATIONS))
        tests, starts = _tests(plan, [run.readout() for run in runs], codes), [codes.of(run.start) for run in runs]
        directions = list(map(Directions, runs))
        _show(plan, pool, [*codes, *directions], task, plan.n_test, _seeding.derive(plan.seed, "test"))
        return tests, starts, directions

    runs, ((tests, starts, directions),), found = _learn(plan, [plan.seed], test, progress)
    _warn_of_small_outputs(plan, tests, 4)
    return [
        _trained(plan, number, task, runs[part], tests[part], starts[part], directions[part], found[number])
        for number, part in enumerate(plan.parts)
    ]


def _trained(
    plan: _Plan,
    number: int,
    task: Task,
    runs: list[Run],
    tests: list[Test],
    starts: list[Code],
    directions: list[Directions],
    found: dict[str, Any],
) -> xr.Dataset:
    """Return what was measured of one set of learners."""
    readouts = [*(test.readout for test in tests), *(code.readout for code in starts)]
    n_neurons = next((readout.n_neurons for readout in readouts if readout is not None), 0)
    variables = {
        **{
            name: (("learner", "episode"), np.array([run.courses[i] for run in runs])) for i, name in enumerate(COURSES)
        },
        **_measures("", (*SCALARS, *PER_NEURON, *tests[0].kinds), tests, n_neurons),
        **_measures("start_", OF_THE_START, starts, n_neurons),
        **{name: ("learner", [own.shares()[i] for own in directions]) for i, name in enumerate(DIRECTIONS)},
        "acceptance": ("learner", [kept / made if made else np.nan for kept, made in (run.proposals for run in runs)]),
    }
    config = _config(plan, number, task=_settings(task))
    return _dataset(runs, variables, {"config": config, "prelearning": found})


def train_in_turn(
    learners: Mapping[str, LearnerProtocol],
    reservoir: ReservoirProtocol,
    tasks: Sequence[Task],
    n_episodes: int = 6000,
    *,
    seed: int = 0,
    n_bins: int = 60,
    n_test: int = 2000,
    threads: int = 1,
    diverged: str = "raise",
    progress: bool | None = None,
    calibration: str = "first",
) -> xr.Dataset:
    """Train learners on several tasks, one after another, and test them on all tasks after each.

    Parameters are those of `train`, except:

    Parameters
    ----------
    tasks
        What is learned, in order, such as `task.split(5)`. Prelearning sees only the first.
    n_episodes
        Episodes of each task.
    n_test
        Test episodes of all tasks together, after each stage.
    calibration
        The states that thresholds start from, without their classes: "first", those of the first task; or "all",
        episodes of all tasks, which are not learned from. Thresholds so high that few neurons are active need it:
        those of the first task alone would leave other stimuli without an active neuron.

    Returns
    -------
    A Dataset over learner, episode, stage and group: training_accuracy; group_accuracy, the accuracy of choices on the
    task of a group after the task of a stage was learned; and diverged_at. `attrs` are as in `train`.
    """
    if (
        not isinstance(tasks, (list, tuple))
        or len({_checks.instance("tasks[i]", task, Task).n_classes for task in tasks}) != 1
    ):
        raise ValueError("tasks must be a list of at least one task, all with the same n_classes")
    plan = _Plan([learners], reservoir, tasks, [n_episodes], seed, n_bins, n_test, threads, diverged, calibration)
    config = _config(plan, 0, tasks=[_settings(task) for task in tasks], calibration=calibration)

    def test(runs: list[Run], pool: ThreadPoolExecutor) -> list[list[Test]]:
        readouts, n = [run.readout() for run in runs], plan.n_test // len(tasks)
        seeds = [_seeding.derive(plan.seed, "test", str(group)) for group in range(len(tasks))]
        codes = [Codes(task, labellings(task, plan.seed, 0)) for task in tasks]
        groups = [_tests(plan, readouts, own) for own in codes]
        for own, task, fresh in zip(codes, tasks, seeds, strict=True):
            _show(plan, pool, list(own), task, n, fresh)
        return groups

    seeds = [_seeding.derive(plan.seed, "turn", str(stage)) for stage in range(len(tasks))]
    runs, stages, (found,) = _learn(plan, seeds, test, progress)
    _warn_of_small_outputs(plan, stages[-1][-1], 3)
    accuracies = [[[test.measures()["accuracy"] for test in tests] for tests in groups] for groups in stages]
    variables = {"group_accuracy": (("learner", "stage", "group"), np.moveaxis(np.array(accuracies), 2, 0))}
    return _dataset(runs, variables, {"config": config, "prelearning": found})


@dataclass(frozen=True)
class _Plan:
    """Arguments of `train_sets` and `train_in_turn`, checked."""

    sets: Sequence[Mapping[str, LearnerProtocol]]
    reservoir: ReservoirProtocol
    tasks: Sequence[Task]
    lengths: Sequence[int]  # episodes of each task, for each set
    seed: int
    n_bins: int
    n_test: int
    threads: int
    diverged: str
    calibration: str = "first"  # which tasks' states thresholds start from

    def __post_init__(self) -> None:
        for learners in self.sets:
            check_learners(learners)
        check_reservoir(self.reservoir)
        _checks.one_of("diverged", self.diverged, ("raise", "record"))
        _checks.one_of("calibration", self.calibration, ("first", "all"))
        _checks.set_fields(self, seed=_checks.seed(self.seed))
        _checks.set_fields(self, lengths=[_checks.integer("n_episodes", n, 1) for n in self.lengths])
        if len(set(self.lengths)) > 1 and min(self.lengths) < CALIBRATION_EPISODES:
            raise ValueError(f"lengths must be equal, or at least {CALIBRATION_EPISODES}, not {self.lengths}")
        for name, least in (("n_bins", 1), ("n_test", len(self.tasks)), ("threads", 1)):
            _checks.set_fields(self, **{name: _checks.integer(name, getattr(self, name), least)})

    @property
    def n_episodes(self) -> int:
        """Episodes of each task, for the set that has the most."""
        return max(self.lengths)

    @property
    def learners(self) -> list[tuple[str, LearnerProtocol]]:
        """All learners with their names, set after set."""
        return [named for learners in self.sets for named in learners.items()]

    @property
    def parts(self) -> list[slice]:
        """The place of each set among all learners."""
        ends = np.cumsum([len(learners) for learners in self.sets]).tolist()
        return [slice(first, end) for first, end in zip([0, *ends], ends, strict=False)]

    def edges(self, number: int) -> NDArray[np.int_]:
        """Edges of the bins of the training curves of a set, in episodes."""
        total = self.lengths[number] * len(self.tasks)
        return np.linspace(0, total, min(self.n_bins, total) + 1).round().astype(int)

    def stream(self, task: Task, n_episodes: int, seed: int) -> Iterator[Batch]:
        return stream_chunks(self.reservoir, task, n_episodes, seed, self.threads)


def _learn(
    plan: _Plan, seeds: Sequence[int], test: Callable[[list[Run], ThreadPoolExecutor], Tested], progress: bool | None
) -> tuple[list[Run], list[Tested], list[dict[str, Any]]]:
    """Learn the tasks one after another, each from the stream of its seed, and test after each.

    Returns the learners, the results of `test` after each task, and a record of prelearning for each set of learners.
    """
    waiting = [prelearned(learners) for learners in plan.sets]
    n_episodes = plan.n_episodes * len(plan.tasks) + sum(map(episodes_needed, waiting))
    tested: list[Tested] = []
    with show_progress(n_episodes, progress) as advance, ThreadPoolExecutor(plan.threads) as pool:
        options: dict[str, Any] = {"seed": plan.seed, "threads": plan.threads, "advance": advance}
        found = [prelearn_all(learners, plan.reservoir, plan.tasks[0], **options) for learners in waiting]
        runs = [
            Run(name, learner, found[number].get(name), plan.seed, plan.diverged, plan.edges(number))
            for number, learners in enumerate(plan.sets)
            for name, learner in learners.items()
        ]
        for task, seed in zip(plan.tasks, seeds, strict=True):
            stream = plan.stream(task, plan.n_episodes, seed)
            if not tested and plan.calibration == "all":
                _for_all(pool, Run.begin, runs, _states_of_all(plan), task.n_classes)
            elif not tested:
                stream = _calibrate(runs, pool, stream, min(CALIBRATION_EPISODES, plan.n_episodes), task.n_classes)
            for batch in stream:
                _for_all(pool, Run.learn, runs, batch)
                advance(len(batch.items))
            tested.append(test(runs, pool))
    return runs, tested, [_record(starts) for starts in found]


def _states_of_all(plan: _Plan) -> NDArray[np.float32]:
    """Return states of all tasks, equally many of each, from episodes of their own."""
    n = -(-CALIBRATION_EPISODES // len(plan.tasks))
    seeds = [_seeding.derive(plan.seed, "calibration", str(stage)) for stage in range(len(plan.tasks))]
    streams = [plan.stream(task, n, seed) for task, seed in zip(plan.tasks, seeds, strict=True)]
    return np.concatenate([batch.states for stream in streams for batch in stream])


def _calibrate(
    runs: list[Run], pool: ThreadPoolExecutor, stream: Iterator[Batch], n: int, n_classes: int
) -> Iterator[Batch]:
    """Begin all runs with the first `n` episodes of a stream, or a few more; then yield every batch, keeping none."""
    head: deque[Batch] = deque()
    while n > 0:
        head.append(next(stream))
        n -= len(head[-1].items)
    _for_all(pool, Run.begin, runs, np.concatenate([batch.states for batch in head]), n_classes)
    while head:
        yield head.popleft()
    yield from stream


def _tests(plan: _Plan, readouts: list[Readout | None], codes: Codes) -> list[Test]:
    """Return tests of readouts, one of each learner."""
    pairs = zip(plan.learners, readouts, strict=True)
    return [Test(readout, codes, Source(plan.seed, name)) for (name, _), readout in pairs]


def _show(
    plan: _Plan, pool: ThreadPoolExecutor, parts: Sequence[Code | Directions], task: Task, n: int, seed: int
) -> None:
    """Show fresh episodes of a task to all parts of a test."""
    for batch in plan.stream(task, n, seed):
        _for_all(pool, lambda part, batch=batch: part.take(batch), parts)


def _warn_of_small_outputs(plan: _Plan, tests: list[Test], depth: int) -> None:
    """Warn of learners that seem to take the largest output: no rule says that they draw, no temperature was set.

    The warning points to the caller that is `depth` calls above it.
    """
    for (name, learner), test in zip(plan.learners, tests, strict=True):
        if test.readout is None or test.readout.temperature != 1.0 or hasattr(learner, "rule"):
            continue
        drawn, largest = (test.measures()[part] for part in ("accuracy", "argmax_accuracy"))
        if largest > drawn + PARTED:
            warnings.warn(
                f"learners[{name!r}] is right in {largest:.2f} of the test episodes if its largest output is taken, "
                f"but its accuracy is {drawn:.2f}: that is of choices drawn from softmax(y), and its outputs y are "
                "small. If it takes the largest output, give its Readout temperature=0; if not, a temperature that "
                "suits the size of its outputs",
                stacklevel=depth,
            )


def _for_all(pool: ThreadPoolExecutor, method: Callable[..., None], objects: Sequence[Any], *args: Any) -> None:
    """Call a method of every object in the pool's threads, and raise the first error."""
    for result in [pool.submit(method, thing, *args) for thing in objects]:
        result.result()


def _dataset(runs: list[Run], variables: dict[str, Any], record: dict[str, Any]) -> xr.Dataset:
    """Return the variables with all that `train` and `train_in_turn` have in common."""
    import xarray as xr

    edges = runs[0].edges
    variables = {
        "training_accuracy": (("learner", "episode"), np.array([run.correct / np.diff(edges) for run in runs])),
        **variables,
        "diverged_at": ("learner", [run.failure.episode if run.failure else -1 for run in runs]),
    }
    failures = {run.name: str(run.failure) for run in runs if run.failure}
    attributes = {**record, "provenance": environment(), "diverged": failures}
    texts = {name: json.dumps(value, default=_checks.short_repr) for name, value in attributes.items()}
    return describe(xr.Dataset(variables, {"learner": [run.name for run in runs], "episode": edges[1:]}, texts))


def _measures(prefix: str, names: tuple[str, ...], tests: Sequence[Test | Code], n_neurons: int) -> dict[str, Any]:
    """Return measures of all learners as variables; those per neuron in single precision, as thresholds are.

    Of units that are active below a threshold, if a learner has any, they are variables of their own.
    """
    measures = [test.measures() for test in tests]
    off = any(test.readout is not None and test.readout.code == ON_OFF for test in tests)
    variables: dict[str, Any] = {}
    for name in names:
        values = [own[name] for own in measures]
        if name not in PER_NEURON:
            variables[prefix + name] = ("learner", BY_KIND[name]) if name in BY_KIND else ("learner",), np.array(values)
            continue
        for end, side in [("", 0), ("_off", 1)][: 1 + off]:
            sides = np.array([_side(value, side, n_neurons) for value in values], np.float32)
            variables[prefix + name + end] = ("learner", "neuron"), sides
    return variables


def _side(values: Any, side: int, n_neurons: int) -> NDArray[np.float64]:
    """Return a measure of the units of one side; NaN where there are none."""
    if np.ndim(values) == 0:
        return np.full(n_neurons, values)
    found = np.full(2 * n_neurons, np.nan)
    found[: len(values)] = values
    return found[side * n_neurons : (side + 1) * n_neurons]


def _config(plan: _Plan, number: int, **shown: Any) -> dict[str, Any]:
    return {
        "learners": {name: _settings(learner) for name, learner in plan.sets[number].items()},
        "reservoir": _settings(plan.reservoir),
        **shown,
        "n_episodes": plan.lengths[number],
        "n_test": plan.n_test,
        "seed": plan.seed,
    }


def _settings(thing: Any) -> dict[str, Any]:
    """Return the kind of a thing and its settings: the fields of a dataclass, or else its plain attributes."""
    fields = asdict(thing) if is_dataclass(thing) and not isinstance(thing, type) else getattr(thing, "__dict__", {})
    fields = {
        name: asdict(value) if isinstance(value, (Delays, LogUniform)) else value for name, value in fields.items()
    }
    plain = (int, float, str, dict, type(None))
    return {
        "kind": type(thing).__name__,
        **{name: value for name, value in fields.items() if isinstance(value, plain) and not name.startswith("_")},
    }


def _record(found: Mapping[str, Prelearned | Diverged]) -> dict[str, Any]:
    """Return what prelearning found for those learners for which it found something."""
    return {name: _plain(result) for name, result in found.items() if isinstance(result, Prelearned)}


def _plain(found: Prelearned) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in found._asdict().items()}
