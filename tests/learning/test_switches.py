"""Settings that act only together with others: refused where they would do nothing, filled in where they act."""

import copy
import dataclasses
import json
import pickle

import pytest

import kenyon as kn
from kenyon.learning.learners import changed
from kenyon.learning.switches import DEPENDENT

KINDS = (kn.Learner, kn.GradientWeights, kn.GradientThresholds, kn.Metropolis, kn.Composed, kn.Normalised)
VALUES = {
    "eta_w": (0.0018, 1.0), "eta_theta": (0.00018,), "mu": (0.5, 1.9), "k": (0.005,), "sigma": (0.05,),
    "period": (100,),
    "beta": (4.0,), "start": (0.0, kn.Percentile(50.0)), "scaling": ("centred",), "batch_cost": ("mean", "sum"),
    "average_start": ("first", "zero"), "acting": ("current",), "code": ("on", "on_off"), "horizon": (10,),
}  # fmt: skip


def acts(kind, name):
    """Whether a setting does anything in a learner of this kind, as its docstring says."""
    local, search = kind in (kn.GradientThresholds, kn.Composed, kn.Normalised), kind in (kn.Metropolis, kn.Composed)
    fixed, thresholds = kind is not kn.Normalised, kind is not kn.GradientWeights
    return {
        "eta_w": fixed, "eta_theta": fixed and local, "mu": not fixed, "k": local and not fixed, "sigma": search,
        "period": search, "beta": search, "start": thresholds, "scaling": not thresholds, "batch_cost": fixed,
        "average_start": search, "acting": False, "code": thresholds, "horizon": False,
    }[name]  # fmt: skip


def test_the_table_is_complete():
    assert VALUES.keys() == DEPENDENT.keys()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", VALUES)
def test_a_setting_acts_or_is_refused_even_if_it_equals_the_default(kind, name):
    for value in VALUES[name]:
        if acts(kind, name):
            assert getattr(kind(**{name: value}), name) == value
        else:
            with pytest.raises(ValueError, match=rf"^{name} = .* would do nothing here: {name} belongs to "):
                kind(**{name: value})
    if not acts(kind, name):
        assert getattr(kind(), name) is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: kn.Normalised(eta_w=1.0),
            "eta_w = 1.0 .*: eta_w belongs to step='fixed'; with a normalised step use mu",
        ),
        (lambda: kn.GradientWeights(mu=1.9), "mu belongs to step='normalised'; with a fixed step use eta_w"),
        (lambda: kn.GradientThresholds(beta=4.0), "beta belongs to a search .*search='global'.*start='prelearned'"),
        (lambda: kn.Normalised(local=False, k=0.1), r"k belongs to learned thresholds \(local=True\) with step='norm"),
        (
            lambda: kn.Metropolis(eta_theta=0.1),
            r"eta_theta belongs to learned thresholds \(local=True\) with step='fix",
        ),
        (lambda: kn.Normalised(thresholds=False, local=False), "start belongs to thresholds=True; .*, start=None"),
        (lambda: kn.Learner(thresholds=False, search="global"), "local and search need thresholds=True"),
    ],
)
def test_the_error_says_what_the_setting_belongs_to(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_defaults_read_as_their_numbers():
    composed, normalised = kn.Composed(), kn.Normalised()
    assert (composed.eta_w, composed.eta_theta, composed.sigma, composed.period, composed.beta) == (
        0.0018, 0.00018, 0.05, 100, 4.0,
    )  # fmt: skip
    assert (normalised.mu, normalised.k, normalised.start) == (0.5, 0.005, kn.Percentile(85.0))
    assert kn.Composed(sigma=0.05, period=100) == composed
    assert hash(kn.Composed(sigma=0.05)) == hash(composed)
    assert kn.Metropolis(start=None).start == "prelearned"  # None: as if it were not given
    assert kn.Learner(step="normalised", thresholds=False).mu == 0.5


def test_prelearning_is_a_search():
    learner = kn.GradientThresholds(start="prelearned", period=25)
    assert (learner.period, learner.sigma, learner.beta) == (25, 0.05, 4.0)
    task, reservoir = kn.StaticTask(kn.load_odours(), 6, steps=3), kn.Reservoir(20, seed=0)
    result = kn.train({"a": learner}, reservoir, task, 50, n_test=20)  # goes on without it
    assert json.loads(result.attrs["config"])["learners"]["a"]["period"] == 25


def test_replace_switches_off_what_nobody_set():
    plain = dataclasses.replace(kn.Composed(), search=None, start=0.0)
    assert dataclasses.asdict(plain) == dataclasses.asdict(kn.GradientThresholds())
    for again in (copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))):
        assert dataclasses.replace(again(kn.Normalised()), step="fixed").eta_w == 0.0018
    assert dataclasses.replace(kn.Learner(), thresholds=False).start is None
    with pytest.raises(ValueError, match="sigma belongs to a search"):
        dataclasses.replace(kn.Composed(sigma=0.1), search=None, start=0.0)
    assert changed(kn.Composed(sigma=0.1), search=None, start=0.0) == plain


def test_slowing_down_touches_only_steps_that_there_are():
    slow = kn.Normalised(mu=0.4).slowed(0.5)
    assert (slow.mu, slow.k, slow.eta_w, slow.eta_theta) == (0.2, 0.005, None, None)
    slow = kn.GradientWeights(eta_w=0.4).slowed(0.5)
    assert (slow.eta_w, slow.eta_theta, slow.mu) == (0.2, None, None)


def test_results_record_only_settings_that_act():
    task, reservoir = kn.StaticTask(kn.load_odours(), 6, steps=3), kn.Reservoir(20, seed=0)
    result = kn.train({"a": kn.Normalised()}, reservoir, task, 50, n_test=20)
    recorded = json.loads(result.attrs["config"])["learners"]["a"]
    assert {name for name in VALUES if recorded.get(name) is not None} == {"mu", "k", "start", "code"}
