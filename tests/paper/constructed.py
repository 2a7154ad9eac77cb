"""Results of a quick plan that nobody simulated: numbers of the right shapes, from a generator."""

from functools import cache

import numpy as np

from kenyon.experiment.result_file import Stored
from kenyon.experiment.results import _combined
from kenyon.experiment.stages import SCORE
from kenyon.learning.runs import COURSES
from kenyon.learning.testing import DIRECTIONS, OF_THE_START, PER_NEURON, SCALARS
from kenyon.paper.plan import FIGURES, Plan
from kenyon.paper.verdicts import Effect, Verdict

PLAN = Plan(seeds=2, quick=True)
DOT = '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="320"><circle id="a" cx="{}" cy="90" r="50"/></svg>'
PROVENANCE = {
    "kenyon": "0.1.0", "python": "3.11.7", "numpy": "2", "scipy": "1", "numba": "0", "xarray": "2026",
    "system": "Linux", "cpu": "A <fast> CPU", "commit": "abc", "began": "2026-01-01T00:00:00+00:00", "seconds": 2.0,
}  # fmt: skip


class Constructed:
    """Stands in for `kenyon.paper.plan.Results`, without files."""

    def __init__(self, plan=PLAN):
        self.plan = plan
        self.get = cache(self._get)

    def _get(self, figure, part=""):
        trials = self.plan.parts(figure)[part]
        return _combined([_stored(trial) for trial in trials], trials)

    def found(self, figure, part=""):
        starts = {"theta_g": 0.5, "starts": [0.0, 0.5, 1.0], "costs": [30.0, 20.0, np.inf]}
        table = [
            {"batch": batch, "eta_w": rate, SCORE: None if rate > 0.003 else 0.5 + 10 * rate / batch}
            for batch, rate in [(1, 0.0009), (1, 0.0018), (1, 0.0036), (10, 0.0009)]
        ]
        tuned = {"best": {"batch": 1, "eta_w": 0.0018}, "table": table}
        sizes = sorted({trial.task.size for trial in self.plan.parts(figure)[part]})
        return {size: {"prelearning": starts, "tuning": tuned} for size in sizes}

    def provenance(self):
        return [PROVENANCE, {**PROVENANCE, "commit": "def", "seconds": 100.0}]


class Full(Constructed):
    """The same numbers, as if they were of full size, so that there are verdicts on them."""

    def __init__(self):
        self.get, self.plan = Constructed().get, PLAN._replace(quick=False)


def _stored(trial):
    rng = np.random.default_rng(int(trial.id, 16))
    learners, n = list(trial.learners), trial.reservoir.n_neurons
    if trial.task.groups > 1:
        variables = {"group_accuracy": (("learner", "stage", "group"), rng.uniform(0.5, 1, (len(learners), 5, 5)))}
    else:
        variables = _measures(learners, n, rng)
    if trial.task.kind == "sequence":
        for name, kind, n_kinds in (("position_accuracy", "position", 3), ("context_accuracy", "context", 2)):
            variables[name] = (("learner", kind), rng.uniform(0.5, 1, (len(learners), n_kinds)))
    variables |= {
        "training_accuracy": (("learner", "episode"), rng.uniform(0.5, 1, (len(learners), 3))),
        "diverged_at": (("learner",), np.array([_diverged_at(name) for name in learners])),
        "eta_w": (
            ("learner",),
            np.array([(getattr(learner, "eta_w", None) or np.nan) / 2 for learner in trial.learners.values()]),
        ),
        "learner": (("learner",), np.array(learners)),
        "episode": (("episode",), np.array([100, 200, trial.n_episodes])),
    }
    return Stored(trial.id, {}, variables | (_examples(trial, rng) if trial.examples else {}))


def _measures(learners, n, rng):
    lost = np.array([_diverged_at(name) >= 0 for name in learners])
    scalars = (*SCALARS, *DIRECTIONS, *(f"start_{name}" for name in OF_THE_START if name not in PER_NEURON))
    neurons = (*PER_NEURON, *(f"start_{name}" for name in OF_THE_START if name in PER_NEURON))
    return {
        **{name: (("learner",), np.where(lost, np.nan, rng.uniform(0.5, 1, len(learners)))) for name in scalars},
        **{name: (("learner", "episode"), rng.random((len(learners), 3))) for name in COURSES},
        **{name: (("learner", "neuron"), rng.random((len(learners), n), np.float32)) for name in neurons},
    }


def _diverged_at(learner):
    return 50 if learner in ("threshold start=0", "threshold start=0.2") else -1


def _examples(trial, rng):
    n, steps, width = trial.examples, 5, trial.reservoir.n_neurons
    return {
        "example_state": (("example", "neuron"), rng.gamma(2.0, 0.5, (n, width)).astype(np.float32)),
        "example_label": (("example",), np.arange(n) % 2),
        "example_name": (("example",), np.array([f"odour {i}" for i in range(n)])),
        "trace_input": (("step", "channel"), rng.random((steps, 24), np.float32)),
        "trace_state": (("step", "neuron"), rng.random((steps, width), np.float32)),
    }


def verdicts():
    """Return a verdict on each of 32 claims that nobody made."""
    words = ("reproduced", "contradicted", "inconclusive")
    return [
        Verdict(
            i,
            f"Composed & <GD_W> differ, number {i}",
            "mean of theta over seeds",
            words[i % 3],
            (
                Effect("Composed minus GD_W", 0.342, 0.3, 0.4, True, "accuracy"),
                Effect("without a value", float("nan"), float("nan"), float("nan"), None),
            ),
            (FIGURES[i % len(FIGURES)],),
            "a note" if i == 5 else "",
        )
        for i in range(1, 33)
    ]


def pictures(folder):
    """Draw a picture for every figure."""
    folder.mkdir()
    for figure in FIGURES:
        (folder / f"figure{figure}.svg").write_text(DOT.format(100 + ord(figure[-1])))
    return folder
