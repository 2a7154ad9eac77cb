"""At the ends of single precision, and where there is next to nothing: the oracle's numbers, or a named error.

What other modules hold to already: NaN, inf and numbers beyond float32 among inputs, states, labels and settings are
refused by name (test_reservoir, learning/test_controls, estimators/test_errors); one neuron and numbers of neurons that
fill no whole lanes equal the oracle (test_reservoir, learning/test_updates); one class is refused by estimators
(estimators/test_errors); a wild spectral radius is refused (test_reservoir).
"""

import re

import numpy as np
import pytest
from scipy.special import softmax

import kenyon as kn
from kenyon.kernels.learning import choose
from kenyon.learning.learners import changed
from kenyon.readout import draw_choices
from tests import naive
from tests.learning.test_updates import LEARNERS, begun, episodes, network

ODOURS = kn.load_odours()
EVERY = pytest.mark.parametrize(
    "learner", LEARNERS, ids=lambda learner: f"{type(learner).__name__}-{learner.step}-{learner.search}"
)


def attempt(work, error, message):
    """Return what comes of it, or None where it is refused with this message."""
    try:
        return work()
    except error as refusal:
        if not re.search(message, str(refusal)):
            raise
        return None


def learned(learner, V, labels):
    return learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)


# --- simulation


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("leak", [0.5, 0.3])
def test_states_that_fade_away_are_right_until_they_count_as_nothing(leak, n):
    reservoir = kn.Reservoir(40, leak, seed=1, n_inputs=3, connections=0)
    pulse = np.zeros((n, 400, 3), np.float32)
    pulse[:, 0] = 1.0
    states = reservoir.run(pulse, trajectory=True)
    expected = naive.run(reservoir.W, reservoir.W_in, np.float64(np.float32(leak)), pulse[0])
    steps = np.arange(1, 401)[:, None]  # each step rounds once
    wrong = np.abs(states[-1] - expected) > steps * 2.0**-23 * expected
    assert not wrong[expected > 1.0001e-30].any()
    assert not states[-1][expected < 0.9999e-30].any()
    assert (states[-1][expected > 0] == 0).any()


@pytest.mark.parametrize("settings", [{"connections": 0}, {"spectral_radius": 0}])
def test_neurons_without_connections_are_integrators(settings):
    reservoir = kn.Reservoir(33, 0.2, seed=2, n_inputs=4, **settings)
    assert reservoir.W.nnz == 0
    inputs = np.random.default_rng(0).normal(size=(5, 9, 4)).astype(np.float32)
    for state, series in zip(reservoir.run(inputs), inputs, strict=True):
        expected = naive.run(reservoir.W, reservoir.W_in, 0.2, series)[-1]
        np.testing.assert_allclose(state, expected, rtol=1e-5, atol=1e-6)


def test_nothing_in_nothing_out():
    assert not kn.Reservoir(33, n_inputs=4).run(np.zeros((3, 50, 4))).any()


def test_a_neuron_that_nothing_reaches_stays_at_rest_and_learns_nothing():
    reservoir = kn.Reservoir(64, 0.3, seed=3, n_inputs=8, connections=0, input_connections=2)
    inputs = np.zeros((200, 5, 8), np.float32)
    inputs[:, :, 0] = np.random.default_rng(0).uniform(0.5, 1.0, (200, 1))
    reached = reservoir.W_in.toarray()[:, 0] != 0
    V = reservoir.run(inputs)
    assert 0 < reached.sum() < 64
    assert V[:, reached].all()
    assert not V[:, ~reached].any()
    labels = np.arange(200) % 2
    for learner in LEARNERS:
        learner = changed(learner, sigma=0.0) if learner.search else learner
        state, _ = learned(learner, V, labels)
        assert not network(state)[0][:, ~reached].any()
        assert len(np.unique(network(state)[1][~reached])) == 1


@pytest.mark.parametrize("size", [1e37, 1e38, 3e38])
@pytest.mark.parametrize("seed", range(8))
def test_inputs_too_large_are_an_error_or_give_what_the_oracle_gives(size, seed):
    reservoir = kn.Reservoir(1, 0.5, seed=seed, n_inputs=4, connections=0)
    inputs = np.full((2, 3, 4), size, np.float32)
    expected = naive.run(reservoir.W, reservoir.W_in, 0.5, inputs[0])[-1]
    states = attempt(lambda: reservoir.run(inputs), ValueError, "states exceed float32")
    largest = float(np.finfo(np.float32).max)
    assert (states is None) == (size * float(reservoir.W_in.sum()) > largest)
    if states is not None:
        np.testing.assert_allclose(states, [expected, expected], rtol=1e-5)


@pytest.mark.parametrize("n", [1, 3])
def test_sums_that_overflow_on_their_way_are_an_error_and_not_nothing(n):
    inputs, overflown = np.full((n, 1, 24), 3e38, np.float32), 0
    for seed in range(150):
        reservoir = kn.Reservoir(1, 1.0, seed=seed, connections=0, input_weights="gaussian")
        partial = np.cumsum(reservoir.W_in.data.astype(np.float64)) * 3e38
        states = attempt(lambda: reservoir.run(inputs), ValueError, "states exceed float32")  # noqa: B023
        if states is None:
            assert np.abs(partial).max() > 3.3e38
        else:
            np.testing.assert_allclose(states, max(partial[-1], 0.0), rtol=1e-5, atol=1e33)
        overflown += states is None and abs(partial[-1]) < 3e38
    assert overflown > 5


def test_a_stream_that_overflows_is_an_error_in_every_thread():
    reservoir = kn.Reservoir(50, 1.0, 1e9, seed=1, input_gain=1e25)
    for threads in (1, 2):
        with pytest.raises(ValueError, match="states exceed float32"):
            list(reservoir.stream(kn.StaticTask(ODOURS, 10, steps=4), 100, threads=threads))


# --- choices


@pytest.mark.parametrize("temperature", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize(
    "y",
    [
        [1e30, 1e30, -1e30],
        [3e38, -3e38, 0.0],  # their difference is beyond float32
        [-3e38, -3e38, -3e38],
        [1e-40, 0.0, -1e-40],
        [88.0, 89.0, 710.0],
    ],
)
def test_choices_are_those_of_softmax_however_large_the_outputs(y, temperature):
    y32, rng = np.array(y, np.float32), np.random.default_rng(0)
    with np.errstate(over="ignore"):  # to zero, which is right
        z = y32.astype(np.float64) / temperature
        p = np.exp(z - z.max())
    expected = p / p.sum()
    np.testing.assert_allclose(softmax(z[None], axis=1)[0], expected, rtol=1e-12, atol=1e-300)
    uniforms = rng.random(2000)
    chosen = np.array([choose(y32, temperature, u, np.empty(3)) for u in uniforms])
    # as many of each as numbers fall into its share
    shares = np.searchsorted(np.cumsum(expected)[:-1], uniforms, side="right")
    np.testing.assert_array_equal(chosen, shares)
    np.testing.assert_array_equal(draw_choices(np.repeat(expected[None], 2000, axis=0), uniforms), shares)


def test_outputs_that_are_no_numbers_choose_nothing():
    assert choose(np.array([0.0, np.nan, 1.0], np.float32), 1.0, 0.5, np.empty(3)) == -1


# --- learning


@EVERY
@pytest.mark.parametrize("n_classes", [2, 1000])
def test_many_classes_are_learned_as_the_oracle_does(learner, n_classes):
    learner = changed(learner, batch=3, eta_w=0.01, eta_theta=0.004, period=1000)
    rng = np.random.default_rng(4)
    V, labels = episodes(rng, 3, 45, n_classes)
    state = begun(learner, V, n_classes, rng)
    new, info = learner.update(state, V, labels)
    W, theta = (part.astype(np.float64) for part in network(state))
    W, theta, costs = naive.gradient_step(W, theta, V.astype(np.float64), labels, learner, state.kappa)
    np.testing.assert_allclose(network(new)[0], W, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(network(new)[1], theta, rtol=2e-4, atol=1e-4)
    np.testing.assert_allclose(info.cost, costs, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: kn.StaticTask(ODOURS, 10, n_classes=1),
        lambda: kn.SequenceTask(ODOURS, 1, n_classes=1),
        lambda: kn.Task(ODOURS, np.zeros((1, 1), int), np.zeros(1, int), n_classes=1, steps=1, noise=0.0),
        *(
            lambda learner=learner: learner.begin(np.ones((3, 4), np.float32), 1, kn.Source(0, "t"))
            for learner in LEARNERS
        ),
    ],
)
def test_one_class_is_no_task(make):
    with pytest.raises(ValueError, match="n_classes must be an integer of at least 2, not 1"):
        make()


@EVERY
def test_two_classes_of_which_only_one_is_ever_shown_are_learned(learner):
    learner = changed(learner, eta_w=1e-3, batch=1)
    V, _ = episodes(np.random.default_rng(0), 900, 40, 2)
    labels = np.ones(900, int)
    state, info = learned(learner, V, labels)
    assert (learner.readout(state).outputs(V).argmax(axis=1) == 1).mean() > 0.9
    assert not learner.readout(state).W[0].any()  # 0 was wanted of the other class, and 0 it gave
    assert info.correct[-100:].mean() > 0.9


@EVERY
def test_states_of_nothing_teach_nothing(learner):
    V, labels = np.zeros((500, 40), np.float32), np.arange(500) % 2
    learner = changed(learner, sigma=0.0, batch=1)
    state, info = learned(learner, V, labels)
    assert not learner.readout(state).W.any()
    assert (info.cost == 100.0).all()
    np.testing.assert_allclose(info.correct.mean(), 0.5, atol=0.15)
    with pytest.raises(kn.Diverged, match="no neuron was active"):
        learner.update(state, np.zeros((10_000, 40), np.float32), np.zeros(10_000, int))


@pytest.mark.parametrize("start", [1e24, -1e24, 1e30, -1e30, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("kind", [kn.GradientThresholds, kn.Metropolis, kn.Composed])
def test_thresholds_beyond_all_states_are_refused_or_named(kind, start):
    V, labels = episodes(np.random.default_rng(0), 12_000, 20, 2)
    with pytest.raises((ValueError, kn.Diverged), match=r"start must be|no neuron was active|eta_w \|x\|\^2"):
        learned(kind(start=start), V, labels)


@EVERY
@pytest.mark.parametrize("factor", [1e-42, 1e-30, 1e-20, 1e-10, 1e10, 1e18, 1e30])
def test_states_of_any_size_are_learned_from_or_diverge_by_name(learner, factor):
    """Never a NaN: squares of such states are beyond float32, above or below."""
    V, labels = episodes(np.random.default_rng(0), 300, 40, 2)
    V *= np.float32(factor)
    found = attempt(lambda: learned(learner, V, labels), kn.Diverged, "use a smaller|use eta_w below|smaller eta_w")
    if found is not None:
        readout = learner.readout(found[0])
        assert np.isfinite(readout.W).all()
        assert np.isfinite(readout.theta).all()
        assert np.isfinite(found[1].cost).all()
    assert found is not None or not 1e-10 <= factor <= 1.0


@pytest.mark.parametrize("n_neurons", [1, 31, 33])
def test_few_neurons_go_all_the_way(n_neurons):
    reservoir = kn.Reservoir(n_neurons, seed=1, connections=0)
    learners = {"normalised": kn.Normalised(), "composed": kn.Composed(start=0.1), "ridge": kn.Ridge()}
    result = kn.train(learners, reservoir, kn.StaticTask(ODOURS, 6, steps=10), 600, n_test=100)
    for name in ("accuracy", "expected_accuracy", "theta", "specificity"):
        assert np.isfinite(result[name]).all()
