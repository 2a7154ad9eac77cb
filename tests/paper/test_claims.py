"""Verdicts on made-up results: a world in which every claim holds, and worlds at the bounds of each and beyond them."""

import json

import numpy as np
import pytest

from kenyon.paper.claims import CLAIMS, judge
from kenyon.paper.claims.samples import best_minus, best_minus_worst, convergence_time, half_time
from kenyon.paper.plan import FIGURES, Plan
from tests.paper.constructed import Constructed
from tests.paper.worlds import COMPOSED, EDGES, EPISODES, METROPOLIS, MORE_EDGES, SEEDS, THETA, W, World

D = 0.01  # distance from a bound
OPEN = np.array([-1, 1, -1, 1, -1, 1]) * D  # of effects on no side of it
ALL_EDGES = {**{str(number): (number, edge) for number, edge in EDGES.items()}, **MORE_EDGES}


def verdict(number, world):
    return CLAIMS[number - 1].judge(world)


def test_in_the_papers_world_every_claim_is_reproduced():
    found = judge(World())
    assert [verdict.number for verdict in found] == list(range(1, 33))
    assert {verdict.number: verdict.verdict for verdict in found if verdict.verdict != "reproduced"} == {}
    assert all(set(verdict.figures) <= set(FIGURES) for verdict in found)
    assert all(verdict.effects and verdict.claim.endswith(".") and verdict.test.endswith(".") for verdict in found)


@pytest.mark.parametrize("name", ALL_EDGES)
@pytest.mark.parametrize(
    ("d", "word"), [(D, "reproduced"), (-D, "contradicted"), (OPEN, "inconclusive"), (0.0, "inconclusive")],
    ids=["inside", "outside", "on both sides", "at the bound"],
)  # fmt: skip
def test_each_claim_is_judged_by_its_bound(name, d, word):
    number, edge = ALL_EDGES[name]
    world = World()
    edge(world, d)
    found = verdict(number, world)
    assert found.verdict == word
    decides = {"reproduced": True, "contradicted": False, "inconclusive": None}[word]
    assert found.effects[0].supports is decides


def test_every_claim_says_where_it_is_by_what_it_is_judged_and_why_that_is_fair():
    assert sorted(EDGES) == [claim.number for claim in CLAIMS]
    for claim in CLAIMS:
        assert all(text.endswith(".") for text in (claim.statement, claim.rule, claim.bound, claim.fair))
        assert claim.place


def test_figures_and_order_of_active_fractions_are_judged_apart():
    world = World().set("2", "coding_level", COMPOSED, 0.3)
    found = verdict(5, world)
    assert found.verdict == "contradicted"
    assert "figures alone: contradicted" in found.note
    assert "order alone: reproduced" in found.note
    assert "Composed -0.20" in found.note


@pytest.mark.parametrize("form", ["fixed_degree", "uniform", "gaussian"])
def test_the_order_must_hold_for_each_form_of_input_weights_but_the_papers(form):
    world = World()
    world.get("S3").accuracy.loc[{"input_weights": form, "learner": COMPOSED}] = 0.5
    assert verdict(18, world).verdict == "contradicted"


def test_argmax_must_keep_the_order_that_was_found_here():
    world = World()
    for variable, step in (("accuracy", 0.1), ("argmax_accuracy", 0.1)):
        world.like("2", variable, METROPOLIS, COMPOSED, step)
    assert verdict(19, world).verdict == "reproduced"


def test_fixed_thresholds_at_which_a_seed_diverged_do_not_count():
    world = World()
    for name in world.get("S4").learner.values:
        world.set("S4", "accuracy", name, 0.05 * (name == "threshold start=0.2") + 0.8)
    assert verdict(26, world).verdict == "contradicted"
    world.set("S4", "accuracy", "threshold start=2", 0.1)
    assert verdict(26, world).verdict == "reproduced"
    world.set("S4", "diverged_at", "threshold start=2", 50.0 * (np.arange(SEEDS) == 3) - 1)
    assert verdict(26, world).verdict == "contradicted"


def test_the_sweep_of_time_constants_is_told():
    assert verdict(20, World()).note == "Accuracy against a: 0.970 at 0.025, 0.900 at 0.1, 0.800 at 0.4, 0.600 at 1."


def test_a_learner_that_diverged_counts_as_guessing():
    world = World().set("2", "accuracy", COMPOSED, np.nan)
    found = verdict(1, world)
    assert found.verdict == "contradicted"
    assert abs(found.effects[0].value - (0.5 - 0.6)) < 0.01


def test_sizes_at_the_ceiling_cannot_tell():
    world = World().set("2", "accuracy", COMPOSED, 0.999).set("2", "accuracy", METROPOLIS, 0.9995)
    assert verdict(2, world).verdict == "inconclusive"
    assert verdict(2, world).effects == ()


def test_several_chances_to_be_contradicted_are_corrected_for():
    """An effect whose own p-value is between 0.05 / 6 and 0.05 contradicts a claim of one effect, not one of six."""
    world = World().like("2", "accuracy", THETA, W, -0.0125 + 0.011 * np.array([-1, 1, -1, 1, 0, 0]))
    found = verdict(1, world)
    assert found.verdict == "inconclusive"
    assert 0.05 / 6 < found.effects[0].p_against < 0.05


def test_verdicts_are_plain_enough_for_json():
    assert len(json.loads(json.dumps([verdict._asdict() for verdict in judge(World())]))) == 32


def test_choosing_the_best_by_the_other_seeds_makes_nothing_of_noise():
    rng = np.random.default_rng(0)
    spans = [best_minus_worst(rng.normal(size=(5, 10))).mean() for _ in range(400)]
    assert np.mean(spans) < 0.05
    assert np.mean([np.ptp(rng.normal(size=(5, 10)), axis=0).mean() for _ in range(400)]) > 2
    levels = np.array([0.0, 3.0, 1.0])[:, None] + 0.1 * rng.normal(size=(3, 10))
    np.testing.assert_allclose(best_minus_worst(levels), levels[1] - levels[0])
    np.testing.assert_allclose(best_minus(levels, 1), levels[2] - levels[1])
    np.testing.assert_allclose(best_minus(levels, 0), levels[1] - levels[0])


def test_times_are_read_off_between_bins():
    world = World()
    data = world.get("2").sel(size=140)
    data.training_accuracy.loc[{"learner": COMPOSED}] = np.tile(0.5 + 0.5 * EPISODES / 48_000, (SEEDS, 1))
    np.testing.assert_allclose(convergence_time(data, COMPOSED), 24_000)
    data.training_accuracy.loc[{"learner": COMPOSED}] = 0.9
    np.testing.assert_allclose(convergence_time(data, COMPOSED), 6000 * 0.25 / 0.4)
    data.training_accuracy.loc[{"learner": COMPOSED}] = 0.6
    np.testing.assert_allclose(convergence_time(data, COMPOSED), EPISODES[-1])
    course = data.assign(course=data.training_accuracy * 0 + np.sqrt(data.episode / EPISODES[-1]))
    np.testing.assert_allclose(half_time(course, "course", COMPOSED), 0.25, atol=0.02)


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_results_of_any_kind_can_be_judged(seeds):
    """Numbers from a generator, and results in which all are 0 or missing, as those of tiny networks may be."""
    results = Constructed(Plan(seeds=seeds, quick=True))
    assert len(judge(results)) == 32
    for value in (0.0, np.nan):
        get = results.get
        results.get = lambda *key, get=get, value=value: get(*key).map(
            lambda array: array * 0 + value if array.dtype.kind == "f" else array
        )
        assert {found.verdict for found in judge(results)} <= {"contradicted", "inconclusive"}
