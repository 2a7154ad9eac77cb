"""Verdicts on made-up results: a world in which every claim holds, and for each claim worlds in which it does not."""

import json

import numpy as np
import pytest
import xarray as xr

from kenyon.paper.claims import CLAIMS, judge
from kenyon.paper.plan import FIGURES, Plan

SEEDS = 6
SIZES = np.array([20, 80, 140])
EPISODES = np.arange(1, 11) * 6000
FOUR = ["GradientWeights", "GradientThresholds", "Metropolis", "Composed"]
NEURONS = 40
rng = np.random.default_rng(0)
JITTER = np.array([-2, -1, -0.5, 0.5, 1, 2]) * 1e-3  # over seeds, so that intervals have a width
OPEN = np.array([-1, 1, -1, 1, -1, 1]) * 0.2  # an effect with no sign


def dataset(learners, sizes, **variables):
    """Return a Dataset over learner, size, seed (and episode or neuron) from functions of learner and size."""
    shapes = {"training_accuracy": ("episode",), "theta": ("neuron",)}
    shapes |= dict.fromkeys(("activity", "start_activity", "specificity", "start_specificity"), ("neuron",))
    shapes |= {"specificity_summed": ("neuron",)}
    data = {}
    for name, value in variables.items():
        values = [
            [[value(learner, size) + JITTER[seed] for seed in range(SEEDS)] for size in sizes] for learner in learners
        ]
        data[name] = (("learner", "size", "seed", *shapes.get(name, ())), np.array(values, float))
    return xr.Dataset(data, {"learner": list(learners), "size": sizes, "seed": range(SEEDS), "episode": EPISODES})


def static():
    level = dict(zip(FOUR, (0.9, 0.95, 0.97, 0.99), strict=True))
    drop = dict(zip(FOUR, (0.3, 0.15, 0.05, 0.01), strict=True))
    mean = dict(zip(FOUR, (0.0, 0.2, 0.9, 1.0), strict=True))
    coding = dict(zip(FOUR, (1.0, 0.7, 0.5, 0.5), strict=True))
    speed = dict(zip(FOUR, (0.5, 0.8, 1.2, 2.0), strict=True))
    return dataset(
        FOUR,
        SIZES,
        accuracy=lambda learner, size: level[learner] - drop[learner] * size / 140,
        argmax_accuracy=lambda learner, size: level[learner] - drop[learner] * size / 140,
        coding_level=lambda learner, size: coding[learner],
        theta_mean=lambda learner, size: mean[learner] + size / 1000,
        theta_sd=lambda learner, size: 0.1 + size / 1000,
        training_accuracy=lambda learner, size: np.minimum(1.0, 0.5 + speed[learner] * EPISODES / 60_000 / 2),
    )


def sequence():
    four = dict(zip(FOUR, (0.7, 0.75, 0.72, 0.9), strict=True))
    mean = dict(zip(FOUR, (0.0, 3.0, 1.0, 1.0), strict=True))
    return dataset(
        [*FOUR, "Composed from 0"],
        np.array([48, 336]),
        accuracy=lambda learner, size: four.get(learner, 0.6),
        theta_mean=lambda learner, size: mean.get(learner, 0.5),
        theta_sd=lambda learner, size: 0.5,
    )


def neurons():
    pattern = rng.random(NEURONS)
    return dataset(
        FOUR,
        np.array([140]),
        specificity=lambda learner, size: (0.1 if learner == "Composed" else 0.01) * (1 + pattern),
        start_specificity=lambda learner, size: 0.05 * (1 + pattern),
        specificity_summed=lambda learner, size: 0.3 * (1 + pattern),
    )


def controls():
    names = ["GradientThresholds high", "Composed high", "Composed"]
    names += ["Metropolis", "Metropolis from 0", "Metropolis per neuron", "Metropolis per neuron from 0"]
    silent = np.arange(NEURONS) < 10
    return dataset(
        names,
        np.array([140]),
        accuracy=lambda learner, size: 0.97,
        start_activity=lambda learner, size: np.where(silent, 0.0, 0.5) - 1.0,  # jitter is taken off below
        activity=lambda learner, size: np.where(silent, 0.3 if learner == "Composed high" else -1.0, 0.5),
        training_accuracy=lambda learner, size: np.full(len(EPISODES), 0.6 if "per neuron" in learner else 0.9),
    ).pipe(lambda data: data.assign(start_activity=(data.start_activity + 1.0).round(1)))


def forms():
    data = static()
    return xr.concat([data.copy(deep=True) for _ in range(4)], "input_weights").assign_coords(
        input_weights=["lognormal", "fixed_degree", "uniform", "gaussian"]
    )


def rewards():
    names = ["GradientWeights 1", "GradientWeights 10", "GradientWeights 100", "Composed"]
    level = dict(zip(names, (0.6, 0.7, 0.65, 0.8), strict=True))
    return dataset(names, np.array([20, 140]), accuracy=lambda learner, size: level[learner])


class World:
    """Stands in for stored results."""

    plan = Plan()

    def __init__(self):
        data = static()
        places = sequence()
        self.data = {("2", ""): data, ("3", ""): data, ("4", ""): places, ("5", ""): places}
        self.data |= {("6", part): neurons() for part in ("static", "sequence")}
        self.data |= {("7", part): rewards() for part in ("static", "sequence")}
        self.data |= {("S1", part): controls() for part in ("connected", "unconnected")}
        self.data[("S3", "")] = forms()

    def get(self, figure, part=""):
        return self.data[figure, part]

    def set(self, figure, variable, learner, values, part=""):
        """Give a variable of a learner other values, one per seed or one for all."""
        data = self.get(figure, part)
        chosen = data[variable].sel(learner=learner)
        shape = [1] * chosen.ndim
        shape[chosen.dims.index("seed")] = -1
        shaped = np.broadcast_to(np.reshape(values, shape) if np.size(values) > 1 else values, chosen.shape)
        data[variable].loc[{"learner": learner}] = shaped
        return self

    def slope(self, figure, variable, learner, change):
        """Make a variable change by this much over the range of sizes, one number per seed or one for all."""
        data = self.get(figure)
        share = (data["size"] - data["size"][0]) / (data["size"][-1] - data["size"][0])
        line = 0.7 + share * xr.DataArray(np.broadcast_to(change, SEEDS), dims="seed")
        data[variable].loc[{"learner": learner}] = line.transpose("size", "seed").values
        return self

    def turn(self, signs):
        """Turn the specificity by summed activity upside down for some of the seeds."""
        data = self.get("6", "static")
        data["specificity_summed"] = data.specificity_summed * xr.DataArray(signs, dims="seed")


LEADER = ("accuracy", "Composed")
# For each claim: what contradicts it, and what leaves it open.
AGAINST = {
    1: (lambda w: w.set("2", "accuracy", "GradientThresholds", 0.3),
        lambda w: w.set("2", "accuracy", "GradientThresholds", 0.6 + OPEN)),
    2: (lambda w: w.set("2", *LEADER, 0.85), lambda w: w.set("2", *LEADER, 0.94 + OPEN)),
    3: (lambda w: w.set("2", "training_accuracy", "Metropolis", 0.99),
        lambda w: w.set("2", "training_accuracy", "Metropolis", 0.79 + OPEN)),
    4: (lambda w: w.slope("2", *LEADER, -0.6), lambda w: w.slope("2", *LEADER, -0.257 + OPEN)),
    5: (lambda w: w.set("2", "coding_level", "Composed", 0.3),
         lambda w: w.set("2", "coding_level", "Composed", 0.5 + OPEN)),
    6: (lambda w: w.slope("3", "theta_mean", "Metropolis", -0.1),
        lambda w: w.slope("3", "theta_mean", "Metropolis", OPEN)),
    7: (lambda w: w.set("3", "theta_mean", "Metropolis", 0.1),
        lambda w: w.set("3", "theta_mean", "Metropolis", 0.28 + OPEN)),
    8: (lambda w: w.slope("3", "theta_sd", "Composed", -0.1), lambda w: w.slope("3", "theta_sd", "Composed", OPEN)),
    9: (lambda w: w.slope("2", *LEADER, -0.3), lambda w: w.slope("2", *LEADER, -0.043 + OPEN)),
    10: (lambda w: w.set("4", *LEADER, 0.7), lambda w: w.set("4", *LEADER, 0.75 + OPEN)),
    11: (lambda w: w.set("4", "accuracy", "Metropolis", 0.85),
         lambda w: w.set("4", "accuracy", "Metropolis", 0.75 + OPEN)),
    12: (lambda w: w.set("5", "theta_mean", "GradientThresholds", 0.9),
         lambda w: w.set("5", "theta_mean", "GradientThresholds", 1.0 + OPEN)),
    13: (lambda w: w.set("5", "theta_sd", "Composed", 0.01), lambda w: w.set("5", "theta_sd", "Composed", 0.18 + OPEN)),
    14: (lambda w: w.set("4", "accuracy", "Composed from 0", 0.95),
         lambda w: w.set("4", "accuracy", "Composed from 0", 0.9 + OPEN)),
    15: (lambda w: w.set("6", "start_specificity", "Composed", 0.9, "static"),
         lambda w: w.set("6", "start_specificity", "Composed", 0.15 + OPEN, "static")),
    16: (lambda w: w.set("7", "accuracy", "GradientWeights 1", 0.9, "sequence"),
         lambda w: w.set("7", "accuracy", "GradientWeights 1", 0.8 + OPEN, "sequence")),
    17: (lambda w: w.set("S1", "activity", "GradientThresholds high", 0.5, "connected"),
         lambda w: w.set("S1", "activity", "Composed high", 0.5 * (np.arange(6) > 4), "connected")),
    18: (lambda w: w.set("S3", *LEADER, 0.5), lambda w: w.set("S3", *LEADER, 0.93 + OPEN)),
    19: (lambda w: w.set("2", "argmax_accuracy", "Composed", 0.5),
         lambda w: w.set("2", "argmax_accuracy", "Composed", 0.92 + OPEN)),
    20: (lambda w: w.set("S1", *LEADER, 0.7, "unconnected"), lambda w: w.set("S1", *LEADER, 0.9 + OPEN, "unconnected")),
    21: (lambda w: w.turn(np.full(SEEDS, -1)), lambda w: w.turn(np.sign(OPEN))),
    22: (lambda w: w.slope("5", "theta_mean", "Metropolis", 0.5),
         lambda w: w.slope("5", "theta_mean", "Metropolis", OPEN)),
    23: (lambda w: w.set("S1", "training_accuracy", "Metropolis per neuron", 0.95, "connected"),
         lambda w: w.set("S1", "training_accuracy", "Metropolis per neuron", 0.9 + OPEN, "connected")),
}  # fmt: skip


def test_in_the_papers_world_every_claim_is_reproduced():
    found = judge(World())
    assert [verdict.number for verdict in found] == list(range(1, 24))
    assert {verdict.number: verdict.verdict for verdict in found if verdict.verdict != "reproduced"} == {}
    assert all(set(verdict.figures) <= set(FIGURES) for verdict in found)
    assert all(verdict.effects and verdict.claim.endswith(".") and verdict.test.endswith(".") for verdict in found)


@pytest.mark.parametrize("number", AGAINST)
def test_each_claim_can_be_contradicted(number):
    world = World()
    AGAINST[number][0](world)
    assert CLAIMS[number - 1].judge(world).verdict == "contradicted"


@pytest.mark.parametrize(("learner", "level"), [("Composed", 0.5), ("Metropolis", 0.5), ("GradientThresholds", 0.7)])
@pytest.mark.parametrize("distance", [-0.11, 0.11])
def test_coding_levels_are_contradicted_from_both_sides(learner, level, distance):
    world = World().set("2", "coding_level", learner, level + distance)
    verdict = CLAIMS[4].judge(world)
    assert verdict.verdict == "contradicted"
    assert verdict.effects[0].value == pytest.approx(level + distance)
    assert f"{distance:+.2f}" in verdict.note


MEANS, SPREADS = ("Composed", "Metropolis", "GradientThresholds"), ("Composed", "GradientThresholds")
TRENDS = [*(("theta_mean", name) for name in MEANS), *(("theta_sd", name) for name in SPREADS)]


@pytest.mark.parametrize(("variable", "learner"), TRENDS)
@pytest.mark.parametrize("change", [-0.11, 0.11])
def test_trends_are_contradicted_from_both_sides(variable, learner, change):
    middle = (1 - change / 2) / 0.7  # so that the mean over sizes is 1, and the change relative to it is this one
    world = World().slope("5", variable, learner, change / middle)
    data = world.get("5")
    data[variable].loc[{"learner": learner}] *= middle
    verdict = CLAIMS[21].judge(world)
    assert verdict.verdict == "contradicted"
    assert verdict.effects[0].value == pytest.approx(change)


@pytest.mark.parametrize("number", AGAINST)
def test_each_claim_can_be_left_open(number):
    world = World()
    AGAINST[number][1](world)
    assert CLAIMS[number - 1].judge(world).verdict == "inconclusive"


def _with_correlation(world, correlation):
    """Make specificity by summed activity correlate this much with that by counts, for every seed."""
    data = world.get("6", "sequence")
    counted = data.specificity - data.specificity.mean("neuron")
    noise = xr.DataArray(rng.normal(size=NEURONS), dims="neuron") - 0 * counted
    noise = noise - noise.mean("neuron")
    noise = noise - counted * (noise * counted).sum("neuron") / (counted**2).sum("neuron")
    scaled = [part / np.sqrt((part**2).sum("neuron")) for part in (counted, noise)]
    data["specificity_summed"] = correlation * scaled[0] + np.sqrt(1 - correlation**2) * scaled[1]


def _wake(world, learner, n):
    """Let n of the ten silent neurons be active after learning."""
    active = np.where(np.arange(NEURONS) < 10, np.where(np.arange(NEURONS) < n, 0.02, 0.005), 0.5)
    world.get("S1", "connected").activity.loc[{"learner": learner}] = active


# For each bound other than 0: what holds just inside of it, and what just outside.
BOUNDS = {
    "5 low": (5, lambda w, inside: w.set("2", "coding_level", "Metropolis", 0.41 if inside else 0.39)),
    "5 high": (5, lambda w, inside: w.set("2", "coding_level", "GradientThresholds", 0.79 if inside else 0.81)),
    "11": (11, lambda w, inside: w.set("4", "accuracy", "Metropolis", 0.74 if inside else 0.76)),
    "17": (17, lambda w, inside: _wake(w, "GradientThresholds high", 0 if inside else 1)),
    "20 level": (20, lambda w, inside: [w.set("S1", *LEADER, 0.91 if inside else 0.89, part) for part in PARTS]),
    "20 difference": (20, lambda w, inside: w.set("S1", *LEADER, 0.93 if inside else 0.91, "unconnected")),
    "21": (21, lambda w, inside: _with_correlation(w, 0.51 if inside else 0.49)),
    "22 low": (22, lambda w, inside: w.slope("5", "theta_mean", "Composed", -0.06 if inside else -0.07)),
    "22 high": (22, lambda w, inside: w.slope("5", "theta_sd", "Composed", 0.07 if inside else 0.08)),
}  # fmt: skip
PARTS = ("connected", "unconnected")


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("inside", [True, False])
def test_bounds_are_where_the_rules_say(name, inside):
    number, change = BOUNDS[name]
    world = World()
    change(world, inside)
    assert CLAIMS[number - 1].judge(world).verdict == ("reproduced" if inside else "contradicted")


def test_the_share_of_neurons_woken_is_of_the_silent_ones():
    world = World()
    _wake(world, "Composed high", 4)
    effects = {effect.label: effect.value for effect in CLAIMS[16].judge(world).effects}
    assert effects == {
        "share of silent neurons that GD_theta woke": 0.0,
        "the same, Composed minus GD_theta": pytest.approx(0.4),
    }


@pytest.mark.parametrize(
    ("form", "verdict"),
    [("lognormal", "reproduced"), ("fixed_degree", "contradicted"), ("uniform", "contradicted"),
     ("gaussian", "contradicted")],
)  # fmt: skip
def test_the_order_must_hold_for_each_form_of_input_weights_but_the_papers(form, verdict):
    world = World()
    world.get("S3").accuracy.loc[{"input_weights": form, "learner": "Composed"}] = 0.5
    assert CLAIMS[17].judge(world).verdict == verdict


def test_by_reward_the_best_batch_is_compared():
    effects = CLAIMS[15].judge(World()).effects
    assert {effect.label.partition(" at ")[0] for effect in effects} == {"Composed minus GD_W with batch 10"}
    assert [effect.value for effect in effects] == pytest.approx([0.1] * 4)


def test_an_effect_that_decided_comes_first():
    world = World()
    AGAINST[2][0](world)
    world.get("2").accuracy.loc[{"learner": "Composed", "size": 140}] = 0.999
    verdict = CLAIMS[1].judge(world)
    assert [effect.supports for effect in verdict.effects] == [False, False, True]


def test_a_learner_that_diverged_counts_as_guessing():
    world = World().set("2", "accuracy", "Composed", np.nan)
    verdict = CLAIMS[0].judge(world)
    assert verdict.verdict == "contradicted"
    assert abs(verdict.effects[0].value - (0.5 - 0.6)) < 0.01


def test_sizes_at_the_ceiling_cannot_tell():
    world = World().set("2", "accuracy", "Composed", 0.999).set("2", "accuracy", "Metropolis", 0.9995)
    assert CLAIMS[1].judge(world).verdict == "inconclusive"
    assert CLAIMS[1].judge(world).effects == ()


def test_verdicts_are_plain_enough_for_json():
    found = json.loads(json.dumps([verdict._asdict() for verdict in judge(World())]))
    assert len(found) == 23
