import contextlib
import dataclasses

import numpy as np
import pytest

import kenyon as kn
from kenyon.kernels.search import accept
from tests import naive
from tests.learning.test_updates import episodes, network


@pytest.mark.parametrize("difference", [-1.0, 0.0, 0.05, 0.2, 0.5, 1.0])
def test_acceptance_frequency_is_that_of_metropolis(difference):
    rng = np.random.default_rng(0)
    n, beta = 20_000, 4.0
    rate = np.mean([accept(3.0, 3.0 + difference, beta, u) for u in rng.random(n)])
    expected = min(1.0, np.exp(-beta * difference))
    assert abs(rate - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / n)


def test_costs_that_are_not_finite():
    for bad in (np.inf, np.nan):
        assert not accept(1.0, bad, 4.0, 0.0)  # a diverged proposal is never kept
        assert accept(bad, 1e30, 4.0, 0.999999)  # one that rescues always is
        assert not accept(bad, bad, 4.0, 0.0)


def test_acceptance_frequency_of_the_learner_itself():
    """Constructed costs: nothing is learned and nothing is active, so both networks cost the same and all is kept."""
    learner = kn.Metropolis(start=100.0, period=1, eta_w=0.0)
    V, labels = episodes(np.random.default_rng(0), 300, 5, 2)  # fewer than would be called a silence
    _, info = learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
    assert all(step.accepted and step.cost == step.proposed_cost == 100.0 for step in info.proposals)
    steps = np.diff([step.theta_g for step in info.proposals])
    assert abs(steps.mean()) < 4.5 * 0.05 / np.sqrt(len(steps))
    assert steps.std() == pytest.approx(0.05, rel=0.2)


@pytest.mark.parametrize("average_start", ["first", "zero"])
@pytest.mark.parametrize("batch_cost", ["mean", "sum"])
def test_running_costs_are_averages_of_batch_costs(average_start, batch_cost):
    rng = np.random.default_rng(1)
    V, labels = episodes(rng, 40, 9, 2)
    switches = {"average_start": average_start, "batch_cost": batch_cost}
    learner = kn.Metropolis(start=0.2, batch=4, period=10, eta_w=0.01, **switches)
    _, info = learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
    batches = getattr(info.cost.astype(float).reshape(10, 4), batch_cost)(axis=1)
    e = batches[0] if average_start == "first" else 0.1 * batches[0]
    for cost in batches[1:]:
        e = 0.9 * e + 0.1 * cost
    assert info.proposals[0].cost == pytest.approx(e, rel=1e-5)
    assert info.proposals[0].proposed_cost != info.proposals[0].cost


@pytest.mark.parametrize(
    "learner",
    [
        kn.Metropolis(start=0.2, batch=2, period=10, eta_w=0.01),
        kn.Metropolis(start=0.2, batch=2, period=10, eta_w=0.005, batch_cost="sum", average_start="zero"),
        kn.Composed(start=0.2, period=15, eta_w=0.01, eta_theta=0.002),
        kn.Metropolis(start=0.2, search="per_neuron", period=15, eta_w=0.01, sigma=0.2),
        kn.Composed(start=0.2, rule=kn.QLearning(), period=15, eta_w=0.01, eta_theta=0.002),
        kn.Composed(start=0.2, rule=kn.QLearning(), acting="both", period=15, eta_w=0.01, eta_theta=0.002),
    ],
)
def test_every_decision_equals_the_oracle(learner):
    V, labels = episodes(np.random.default_rng(1), 200, 9, 2)
    source = kn.Source(0, "t")
    _, info = learner.update(learner.begin(V, 2, source), V, labels)
    expected = naive.metropolis(learner, V.astype(np.float64), labels, source, 2)
    np.testing.assert_allclose(np.array(info.proposals), np.array(expected), rtol=1e-4)
    assert len(info.proposals) >= 10
    assert {proposal.accepted for proposal in info.proposals} == {True, False}


def run(learner, V, labels, name="t"):
    state, _ = learner.update(learner.begin(V, 2, kn.Source(0, name)), V, labels)
    return network(state)


def equal(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_the_learners_reduce_to_each_other():
    V, labels = episodes(np.random.default_rng(3), 350, 40, 2)
    rate, both = {"eta_w": 2e-3}, {"eta_w": 2e-3, "eta_theta": 5e-4}
    weights = run(kn.GradientWeights(batch=1, **rate), V, labels)
    thresholds = run(kn.GradientThresholds(**both), V, labels)
    still = {"period": 20, "sigma": 0.0, "start": 0.0}
    assert equal(run(kn.Metropolis(**rate, **still), V, labels), weights)  # V >= 0, theta = 0: x = V
    assert equal(run(kn.Composed(**both, **still), V, labels), thresholds)
    assert equal(run(kn.GradientThresholds(**rate, eta_theta=0.0), V, labels), weights)
    a = kn.Composed(**rate, eta_theta=0.0, period=20, start=0.3)
    b = kn.Metropolis(**rate, period=20, start=0.3)
    assert equal(run(a, V, labels), run(b, V, labels))
    k0 = kn.Normalised(k=0.0, start=0.1)
    assert equal(run(k0, V, labels), run(kn.Learner(step="normalised", start=0.1), V, labels))
    assert not equal(thresholds, weights)


def test_per_neuron_search_perturbs_each_threshold_on_its_own():
    V, _ = episodes(np.random.default_rng(0), 200, 400, 2)
    learner = kn.Metropolis(search="per_neuron", start=0.5, period=100, eta_w=0.0)
    state = learner.begin(V, 2, kn.Source(0, "t"))
    moved = network(state, 1)[1] - network(state)[1]
    assert moved.std() == pytest.approx(0.05, rel=0.15)
    shared = dataclasses.replace(learner, search="global").begin(V, 2, kn.Source(0, "t"))
    assert len(np.unique(network(shared, 1)[1] - network(shared)[1])) == 1


def loud(n=300, size=3.0):
    """Return states at which eta_w = 0.0018 is far from stable: |x|^2 is above 300 size^2."""
    rng = np.random.default_rng(0)
    return (size + rng.random((n, 300))).astype(np.float32), rng.integers(2, size=n)


@pytest.mark.parametrize("learner", [kn.GradientWeights(batch=1), kn.Learner(), kn.Learner(batch=10)])
def test_divergence_is_named_with_its_cause_and_remedy(learner):
    V, labels = loud()
    with pytest.raises(kn.Diverged, match=r"t diverged by episode \d+: eta_w \|x\|\^2 = .*use eta_w below ") as caught:
        learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
    assert 0 < caught.value.episode < 300
    factor = float(str(caught.value).split("eta_w |x|^2 = ")[1].split(",")[0])
    assert 0.0018 * 300 * 9 < factor < 0.0018 * 300 * 16
    limit = float(str(caught.value).split("use eta_w below ")[1].split(",")[0])
    calm = dataclasses.replace(learner, eta_w=limit / 2)
    calm.update(calm.begin(V, 2, kn.Source(0, "t")), V, labels)


def test_the_cause_named_is_the_last_episode_before_the_divergence():
    V, labels = loud()
    learner = kn.Learner()

    def failure():
        with pytest.raises(kn.Diverged) as caught:
            learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
        return caught.value

    first = failure()
    V[first.episode] *= 0.9
    assert failure().args == first.args
    V[first.episode - 1] *= 1.1
    assert failure().message != first.message


def test_thresholds_that_fled_above_all_states_are_named():
    V, labels = loud(1300)
    learner = kn.GradientThresholds()
    with pytest.raises(kn.Diverged, match="no neuron was active for 1000 consecutive episodes.*a lower start"):
        learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
    state, _ = learner.update(learner.begin(V, 2, kn.Source(0, "t")), V[:700], labels[:700])  # counts on
    with pytest.raises(kn.Diverged, match="no neuron was active"):
        learner.update(state, V[700:], labels[700:])


def test_silence_is_counted_across_calls_and_within_them():
    V, labels = loud(2500)
    V[:1200] = 0.0  # long enough, though it ends within the call
    learner = kn.Learner(eta_w=1e-5)
    with pytest.raises(kn.Diverged, match="no neuron was active"):
        learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
    V[999] = 1.0
    state = learner.begin(V, 2, kn.Source(0, "t"))
    for first in range(0, 2500, 500):
        state, _ = learner.update(state, V[first : first + 500], labels[first : first + 500])
    assert state.silent == 0


@pytest.mark.parametrize(("n_silent", "fails"), [(999, False), (1000, True)])
def test_a_silence_of_1000_episodes_is_too_long(n_silent, fails):
    V, labels = loud(1100)
    V[50 : 50 + n_silent] = 0.0
    learner = kn.Learner(eta_w=1e-5)
    with pytest.raises(kn.Diverged, match="no neuron was active") if fails else contextlib.nullcontext():
        learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)


def test_a_search_has_ten_decisions_to_end_a_silence():
    V, labels = episodes(np.random.default_rng(0), 1200, 20, 2)
    learner = kn.Composed(start=50.0, period=100)
    state, _ = learner.update(learner.begin(V, 2, kn.Source(0, "t")), V[:999], labels[:999])
    with pytest.raises(kn.Diverged, match="no neuron was active for 1000 consecutive episodes"):
        learner.update(state, V[999:], labels[999:])


def test_a_pair_that_diverged_is_named_and_a_proposal_that_diverges_is_not_kept():
    V, labels = loud()
    learner = kn.Metropolis(start=0.0)
    with pytest.raises(kn.Diverged):
        learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
    calm = kn.Metropolis(start=3.9, period=100)
    state = calm.begin(V, 2, kn.Source(0, "t"))
    state.nets.theta[1] = 0.0  # a proposal far below
    new, info = calm.update(state, V[:100], labels[:100])
    assert not info.proposals[0].accepted
    assert info.proposals[0].proposed_cost == np.inf
    assert np.isfinite(new.nets.W).all()


def test_a_proposal_that_rescues_a_diverged_network_is_kept():
    V, labels = loud()
    learner = kn.Metropolis(start=0.0, period=100)
    state = learner.begin(V, 2, kn.Source(0, "t"))
    state.nets.theta[1] = 3.9
    new, info = learner.update(state, V[:100], labels[:100])
    assert info.proposals[0].accepted
    assert info.proposals[0].cost == np.inf
    assert np.isfinite(new.nets.W).all()
    assert network(new)[1].mean() == pytest.approx(3.9, abs=0.1)


def test_a_start_of_averages_without_a_search_is_refused():
    with pytest.raises(ValueError, match="average_start = 'zero' would do nothing here"):
        kn.GradientThresholds(average_start="zero")


def test_a_search_goes_on_after_a_proposal_that_diverged_however_episodes_are_cut():
    V, labels = loud()
    learner = kn.Metropolis(start=3.9, period=100)
    begun = learner.begin(V, 2, kn.Source(0, "t"))
    begun.nets.theta[1] = 0.0
    whole, info = learner.update(begun, V, labels)
    state, proposals = begun, []
    for first in (0, 70, 100, 230):
        last = {0: 70, 70: 100, 100: 230, 230: 300}[first]
        state, some = learner.update(state, V[first:last], labels[first:last])
        proposals += some.proposals
    assert [proposal.proposed_cost == np.inf for proposal in proposals] == [True, False, False]
    assert proposals == info.proposals
    assert equal(network(state), network(whole))
    assert (state.theta_g, state.proposed) == (whole.theta_g, whole.proposed)
