"""Made-up results in which every claim holds, and ways to move the effects of each to its bound and past it."""

import numpy as np
import xarray as xr

from kenyon.paper.plan import Plan

SEEDS = 6
SIZES = np.array([20, 80, 140])
EPISODES = np.arange(1, 11) * 6000
W, THETA, METROPOLIS, COMPOSED = FOUR = ("GradientWeights", "GradientThresholds", "Metropolis", "Composed")
TASKS = ("static", "sequence")
NEURONS = 40
STARTS = [0.0, 0.5, 0.85, 1.2, 1.7]
JITTER = np.array([-2, -1, -0.5, 0.5, 1, 2]) * 1e-3  # over seeds, so that values have a spread
OVER = {"training_accuracy": "episode", "training_theta_local_sd": "episode", "training_theta_g": "episode"}
OVER |= dict.fromkeys(("activity", "start_activity", "specificity", "start_specificity"), "neuron")
OVER |= dict.fromkeys(("specificity_summed", "start_specificity_summed"), "neuron")


def dataset(learners, sizes=(140,), **variables):
    """Return a Dataset over learner, size, seed (and episode or neuron) from numbers by learner, or functions."""
    data = {}
    for name, value in variables.items():
        of = value if callable(value) else lambda learner, size, value=value: value[learner]
        values = [[[of(own, size) + JITTER[seed] for seed in range(SEEDS)] for size in sizes] for own in learners]
        data[name] = (("learner", "size", "seed", *([OVER[name]] if name in OVER else [])), np.array(values, float))
    coordinates = {"learner": list(learners), "size": np.array(sizes), "seed": range(SEEDS), "episode": EPISODES}
    return xr.Dataset(data, coordinates)


def by_learner(*values):
    return dict(zip(FOUR, values, strict=True))


def static():
    level, drop = by_learner(0.9, 0.95, 0.97, 0.99), by_learner(0.3, 0.15, 0.05, 0.01)
    mean, speed = by_learner(0.0, 0.2, 0.9, 1.0), by_learner(0.55, 0.8, 1.2, 2.0)
    return dataset(
        FOUR,
        SIZES,
        accuracy=lambda learner, size: level[learner] - drop[learner] * size / 140,
        argmax_accuracy=lambda learner, size: level[learner] - drop[learner] * size / 140 + 0.005,
        coding_level=by_learner(1.0, 0.7, 0.5, 0.5),
        theta_mean=lambda learner, size: mean[learner] + size / 1000,
        theta_sd=lambda learner, size: 0.1 + size / 1000,
        training_accuracy=lambda learner, size: np.minimum(1.0, 0.5 + speed[learner] * EPISODES / 60_000 / 2),
        theta_falls=by_learner(0.0, 0.9, 0.0, 0.9),
        theta_rises=by_learner(0.0, 0.8, 0.0, 0.8),
    )


def sequence():
    mean = by_learner(0.0, 3.0, 0.9, 1.0)
    return dataset(
        FOUR,
        (48, 336),
        accuracy=by_learner(0.7, 0.75, 0.72, 0.9),
        theta_mean=mean,
        theta_active_mean=mean,
        theta_sd=lambda learner, size: 0.5,
        training_theta_local_sd=lambda learner, size: np.minimum(0.3, EPISODES / 12_000),
        theta_falls=by_learner(0.0, 0.9, 0.0, 0.9),
        theta_rises=by_learner(0.0, 0.8, 0.0, 0.8),
    )


def classes():
    pattern = 1 + np.random.default_rng(0).random(NEURONS)
    return dataset(
        FOUR,
        specificity=lambda learner, size: (0.1 if learner == COMPOSED else 0.01) * pattern,
        start_specificity=lambda learner, size: 0.05 * pattern,
        specificity_summed=lambda learner, size: 0.4 * pattern,
        start_specificity_summed=lambda learner, size: 0.2 * pattern,
        specificity_permuted=by_learner(0.005, 0.005, 0.005, 0.005),
        overlap=by_learner(0.99, 0.9, 0.9, 0.7),
        start_overlap=by_learner(0.99, 0.99, 0.9, 0.9),
        overlap_permuted=by_learner(0.99, 0.9, 0.9, 0.8),
    )


def controls():
    names = [f"{THETA} high", f"{COMPOSED} high", COMPOSED, METROPOLIS, f"{THETA} prelearned"]
    names += ["Metropolis from 0", "Metropolis per neuron from 0"]
    silent = np.arange(NEURONS) < 10
    return dataset(
        names,
        accuracy=lambda learner, size: 0.97 if learner == COMPOSED else 0.93,
        start_activity=lambda learner, size: np.where(silent, 0.0, 0.5),
        activity=lambda learner, size: np.where(silent, 0.3 if learner == f"{COMPOSED} high" else 0.0, 0.5),
        training_accuracy=lambda learner, size: ramp(60_000 if "per neuron" in learner else 12_000),
    ).pipe(lambda data: data.assign(start_activity=data.start_activity.round(1)))


def ramp(crossing):
    """Return a training curve that reaches 0.75 after this many episodes."""
    return 0.5 + 0.25 * EPISODES / crossing


def from_starts(size):
    names = [f"{kind} from start={start:g}" for kind in (COMPOSED, "Normalised") for start in STARTS]
    start = dict(zip(names, STARTS * 2, strict=True))
    return dataset(
        [*names, f"{THETA} prelearned", "Ridge above", "Ridge below"],
        (size,),
        accuracy=lambda learner, size: {"Ridge above": 0.9, "Ridge below": 0.8}.get(learner, 0.85),
        start_norm2=lambda learner, size: 1000 * np.exp(-3 * start.get(learner, 0.0)),
        start_theta_mean=lambda learner, size: start.get(learner, 0.0),
        training_theta_g=lambda learner, size: np.full(len(EPISODES), 0.9 * start.get(learner, 0.0) + 0.1),
        start_relative_specificity_permuted=lambda learner, size: 0.1 * start.get(learner, 0.0),
    )


class World:
    """Stands in for stored results, in which every claim holds."""

    plan = Plan()

    def __init__(self):
        stimuli, sequences = static(), sequence()
        self.data = {("2", ""): stimuli, ("3", ""): stimuli, ("4", ""): sequences, ("5", ""): sequences}
        for task in TASKS:
            self.data["6", task] = classes()
            self.data["7", task] = dataset([W, COMPOSED], (20, 140), accuracy={W: 0.7, COMPOSED: 0.8})
            self.data["claims", task] = from_starts(140 if task == "static" else 336)
        self.set("claims", "accuracy", f"{COMPOSED} from start=1.7", 0.45, "sequence")
        self.data |= {("S1", part): controls() for part in ("connected", "unconnected")}
        forms = ("fixed_degree", "uniform", "gaussian")
        self.data["S3", ""] = xr.concat([static() for _ in forms], "input_weights").assign_coords(
            input_weights=list(forms)
        )
        fixed = {f"threshold start={start:g}": 0.5 + start / 5 for start in (0.2, 1.0, 2.0)}
        self.data["S4", ""] = dataset(fixed, accuracy=fixed, diverged_at=lambda learner, size: -1.0).expand_dims(
            input_gain=[0.5, 1.0]
        ).copy(deep=True)  # fmt: skip
        shifts = {f"Relearned shift={shift:g}": 0.9 - abs(shift - 0.4) / 4 for shift in (-0.4, 0.0, 0.4, 0.6)}
        self.data["claims", "shifted"] = dataset(shifts, accuracy=shifts)
        rates = {0.1: 0.9, 0.4: 0.8, 1.0: 0.6}
        parts = [dataset([COMPOSED], accuracy={COMPOSED: level}) for level in rates.values()]
        self.data["claims", "leaks"] = xr.concat(parts, "leak_rate").assign_coords(leak_rate=list(rates))

    def get(self, figure, part=""):
        return self.data[figure, part]

    def of(self, figure, variable, learner, part=""):
        return self.get(figure, part)[variable].sel(learner=learner)

    def set(self, figure, variable, learner, values, part=""):
        """Give a variable of a learner other values, one per seed or one for all."""
        data = self.get(figure, part)
        chosen = data[variable].sel(learner=learner)
        if isinstance(values, np.ndarray):
            values = xr.DataArray(values, dims="seed")
        data[variable].loc[{"learner": learner}] = (0 * chosen + values).transpose(*chosen.dims).values
        return self

    def like(self, figure, variable, learner, other, difference, part=""):
        """Let a learner differ by this much from another one, by one number per seed or one for all."""
        return self.set(figure, variable, learner, self.of(figure, variable, other, part) + per_seed(difference), part)

    def slope(self, figure, variable, learner, change, around=0.7):
        """Make a variable change by this much over the range of sizes, one number per seed or one for all."""
        size = self.get(figure)["size"]
        share = (size - size[0]) / (size[-1] - size[0])
        return self.set(figure, variable, learner, around + share * per_seed(change))


def per_seed(values):
    return xr.DataArray(np.broadcast_to(values, SEEDS), dims="seed")


def _lead(world, other, d):
    """Let the lead of Composed over another learner grow by d over the range of sizes."""
    size = world.get("2")["size"]
    share = (size - size[0]) / (size[-1] - size[0])
    world.set("2", "accuracy", other, world.of("2", "accuracy", COMPOSED) - 0.1 - share * per_seed(d))


def _wake(world, d):
    """Let GD_theta wake one of ten silent neurons, a tenth of what Composed wakes; more if d < 0, none if d > 0."""
    n = per_seed(1 - np.sign(d))
    neuron = xr.DataArray(np.arange(NEURONS), dims="neuron")
    world.set(
        "S1", "activity", f"{THETA} high", xr.where(neuron < 10, xr.where(neuron < n, 0.3, 0.0), 0.5), "connected"
    )


def _summed(world, share, d, task="sequence"):
    """Let specificity by summed activity change by this share of its change by counts, and d."""
    counts = [world.of("6", name, COMPOSED, task).mean("neuron") for name in ("specificity", "start_specificity")]
    ratio = np.exp(share * np.log(counts[0] / counts[1]) + per_seed(d)).squeeze("size", drop=True)
    start = world.of("6", "start_specificity_summed", COMPOSED, task).mean("neuron").squeeze("size", drop=True)
    world.set("6", "specificity_summed", COMPOSED, ratio * start, task)


def _crossing(world, d):
    times = per_seed(12_000 * 2.0 ** (1 + np.asarray(d)))
    curve = 0.5 + 0.25 * xr.DataArray(EPISODES, dims="episode") / times
    world.set("S1", "training_accuracy", "Metropolis per neuron from 0", curve, "connected")
    world.set("S1", "training_accuracy", "Metropolis from 0", xr.DataArray(ramp(12_000), dims="episode"), "connected")


def _quick(world, d):
    """Let the sd of theta_i reach half of its last value at 1/8 - d of training."""
    end = per_seed(2 * 60_000 * (1 / 8 - np.asarray(d)))
    world.set("4", "training_theta_local_sd", COMPOSED, np.minimum(1.0, xr.DataArray(EPISODES, dims="episode") / end))


def _keep(world, d):
    """Let theta_g keep a share of 1/2 + d of every difference between starts."""
    for start in STARTS:
        share = start * (0.5 + per_seed(d))
        world.set("claims", "training_theta_g", f"{COMPOSED} from start={start:g}", share, "sequence")


def _span(world, kind, task, span):
    """Let the worst start of a learner be worse than all others by this much."""
    for start in STARTS:
        world.set("claims", "accuracy", f"{kind} from start={start:g}", 0.9 - per_seed(span) * (start == 1.7), task)


def _gain(world, task):
    figure, size = ("2", 140) if task == "static" else ("4", 336)
    found = world.of(figure, "accuracy", COMPOSED) - world.of(figure, "accuracy", W)
    return float(found.sel(size=size).mean())


def _middle(world, d):
    middle = (world.of("2", "accuracy", COMPOSED) + world.of("2", "accuracy", W)).sel(size=140).values / 2
    world.set("S1", "accuracy", COMPOSED, middle + np.asarray(d), "unconnected")


def _fast(world, d):
    slow = world.of("S1", "accuracy", COMPOSED, "unconnected").values.ravel()
    world.get("claims", "leaks").accuracy.loc[{"leak_rate": 1.0}] = np.broadcast_to(slow - np.asarray(d), (1, 1, SEEDS))


def _form(world, d):
    data = world.get("S3")
    lead = data.accuracy.sel(learner=METROPOLIS, input_weights="uniform") + per_seed(d)
    data.accuracy.loc[{"learner": COMPOSED, "input_weights": "uniform"}] = lead.transpose("size", "seed").values


def _fixed(world, d):
    span = 0.25 * _gain(world, "static") + np.asarray(d)
    for start, level in ((0.2, 0.8 - span), (1.0, 0.79), (2.0, 0.8)):
        world.set("S4", "accuracy", f"threshold start={start:g}", np.broadcast_to(level, SEEDS))


def _sequence_sd(world, d):
    other = world.of("3", "theta_sd", COMPOSED).mean("size")
    world.set("5", "theta_sd", COMPOSED, other + per_seed(d))


def _trend(world, variable, learner, d, sign=1):
    """Let thresholds change by 2 - d standard deviations between seeds."""
    spread = JITTER.std(ddof=1)
    world.slope("5", variable, learner, sign * (2 - np.asarray(d)) * spread, around=0.7 + per_seed(JITTER))


def _rates(world, d):
    for start, norm2 in ((0.5, 200 * 2.0 ** per_seed(d)), (1.2, 100)):
        world.set("claims", "start_norm2", f"{COMPOSED} from start={start}", norm2, "sequence")


def _below(world, d):
    above = world.of("claims", "accuracy", "Ridge above", "sequence")
    world.set("claims", "accuracy", "Ridge below", 0.25 + 0.5 * above + per_seed(d), "sequence")


# For every claim: how to place one of its effects d to the claimed side of its bound; d is one number, or one per seed.
EDGES = {
    1: lambda w, d: w.like("2", "accuracy", THETA, W, d),
    2: lambda w, d: w.like("2", "accuracy", COMPOSED, METROPOLIS, d),
    3: lambda w, d: w.like("2", "training_accuracy", METROPOLIS, COMPOSED, -np.asarray(d)),
    4: lambda w, d: _lead(w, W, d),
    5: lambda w, d: w.set("2", "coding_level", COMPOSED, per_seed(0.4 + np.asarray(d))),
    6: lambda w, d: w.slope("3", "theta_mean", METROPOLIS, d),
    7: lambda w, d: w.like("3", "theta_mean", METROPOLIS, THETA, d),
    8: lambda w, d: w.slope("3", "theta_sd", COMPOSED, d),
    9: lambda w, d: _lead(w, METROPOLIS, d),
    10: lambda w, d: w.like("4", "accuracy", COMPOSED, THETA, d),
    11: lambda w, d: w.like("4", "accuracy", METROPOLIS, W, 0.25 * (0.92 - 0.6) - np.asarray(d)),
    12: lambda w, d: w.like("5", "theta_active_mean", THETA, COMPOSED, d),
    13: _sequence_sd,
    14: lambda w, d: _span(w, COMPOSED, "sequence", 0.5 * _gain(w, "sequence") + np.asarray(d)),
    15: lambda w, d: _reference("overlap", "start", "static")(w, d),
    16: lambda w, d: w.like("7", "accuracy", W, COMPOSED, -np.asarray(d), "sequence"),
    17: _wake,
    18: _form,
    19: lambda w, d: w.set("2", "argmax_accuracy", W, w.of("2", "accuracy", W) + per_seed(d)),
    20: _middle,
    21: lambda w, d: _summed(w, 0.5, d),
    22: lambda w, d: _trend(w, "theta_mean", METROPOLIS, d),
    23: _crossing,
    24: lambda w, d: w.like("S1", "accuracy", f"{THETA} prelearned", COMPOSED, -np.asarray(d), "connected"),
    25: lambda w, d: w.like("claims", "accuracy", "Relearned shift=0.4", "Relearned shift=0", d, "shifted").set(
        "claims", "accuracy", "Relearned shift=0.6", 0.5, "shifted"),
    26: _fixed,
    27: _rates,
    28: _quick,
    29: lambda w, d: _span(w, "Normalised", "sequence", 0.2 - np.asarray(d)),
    30: lambda w, d: w.like("claims", "start_relative_specificity_permuted", f"{COMPOSED} from start=0.85",
                            f"{COMPOSED} from start=0.5", d, "static"),
    31: lambda w, d: w.set("4", "theta_rises", THETA, per_seed(0.5 + np.asarray(d))),
    32: _below,
}  # fmt: skip


def _reference(measure, reference, task):
    """Return an edge of claim 15: one measure beside one of its references, in one task."""
    sign = 1 if measure == "overlap" else -1

    def edge(world, d):
        end = world.of("6", measure, COMPOSED, task)
        end = end.mean("neuron") if measure == "specificity" else end
        name, learner = {"zero": (measure, W), "start": (f"start_{measure}", COMPOSED)}.get(
            reference, (f"{measure}_permuted", COMPOSED)
        )
        world.set("6", name, learner, end + sign * per_seed(d), task)

    return edge


# Other effects of claims whose effects have bounds of their own.
MORE_EDGES = {
    "1, time": (1, lambda w, d: w.like("2", "training_accuracy", THETA, W, d)),
    "4, GD_theta": (4, lambda w, d: _lead(w, THETA, d)),
    "5, above": (5, lambda w, d: w.set("2", "coding_level", METROPOLIS, per_seed(0.6 - np.asarray(d)))),
    "5, GD_theta below": (5, lambda w, d: w.set("2", "coding_level", THETA, per_seed(0.6 + np.asarray(d)))),
    "5, GD_theta above": (5, lambda w, d: w.set("2", "coding_level", THETA, per_seed(0.8 - np.asarray(d)))),
    "14, static": (14, lambda w, d: _span(w, COMPOSED, "static", 0.5 * _gain(w, "static") - np.asarray(d))),
    "16, static": (16, lambda w, d: w.like("7", "accuracy", W, COMPOSED, -np.asarray(d), "static")),
    "19, order": (19, lambda w, d: w.like("2", "argmax_accuracy", METROPOLIS, COMPOSED, -np.asarray(d))),
    "20, time constant": (20, _fast),
    "21, above": (21, lambda w, d: _summed(w, 1.5, -np.asarray(d))),
    "22, falling": (22, lambda w, d: _trend(w, "theta_sd", COMPOSED, d, -1)),
    "24, Metropolis": (24, lambda w, d: w.like("4", "accuracy", METROPOLIS, COMPOSED, -np.asarray(d))),
    "28, theta_g": (28, _keep),
    **{
        f"15, {measure}, {reference}, {task}": (15, _reference(measure, reference, task))
        for measure in ("specificity", "overlap") for reference in ("zero", "start", "permuted") for task in TASKS
    },
}  # fmt: skip
