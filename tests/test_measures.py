"""Measures of a reservoir, against cases that are known exactly."""

import numpy as np
import pytest

import kenyon as kn


def delay_line(n, gain=1e-3):
    """A chain of neurons, linear for so small an input: neuron k holds the input of k steps ago."""
    W_in = np.zeros((n, 1))
    W_in[0] = gain
    return kn.Reservoir.from_weights(W_in=W_in, W=np.eye(n, k=-1), leak_rate=1.0, activation="tanh")


def test_a_delay_line_remembers_as_many_inputs_as_it_has_neurons():
    found = kn.memory_capacity(delay_line(7), 12, n_steps=2000)
    np.testing.assert_allclose(found[:7], 1.0, atol=1e-5)
    assert (found[7:] == 0).all()


def test_a_linear_network_has_no_quadratic_capacity_and_linear_capacity_is_memory():
    found = kn.information_capacity(delay_line(5), 8, n_steps=2000, seed=3)
    assert (found.quadratic == 0).all()
    np.testing.assert_array_equal(found.linear, kn.memory_capacity(delay_line(5), 8, n_steps=2000, seed=3))
    assert found.linear.sum() == pytest.approx(5, abs=1e-4)


def test_two_rectifiers_hold_the_input_and_what_its_size_tells_of_its_square():
    both = kn.Reservoir.from_weights(W_in=[[1.0], [-1.0]], leak_rate=1.0)  # relu(u) and relu(-u): u, and |u|
    found = kn.information_capacity(both, 3, n_steps=20_000)
    assert found.linear[0] == pytest.approx(1.0, abs=1e-5)
    assert found.quadratic[0, 0] == pytest.approx(45 / 48, abs=0.01)  # corr(|u|, u^2)^2 for uniform u
    assert found.linear[1:].sum() + found.quadratic.sum() - found.quadratic[0, 0] == 0


def test_capacities_of_a_random_network_add_up_to_at_most_its_neurons():
    reservoir = kn.Reservoir(
        20, 0.7, 0.9, n_inputs=1, input_weights="gaussian", activation="tanh", bias_scale=0.5, seed=1
    )
    found = kn.information_capacity(reservoir, 15, n_steps=5000)
    assert 3 < found.linear.sum() < 20
    assert 0.5 < found.quadratic.sum() < 20 - found.linear.sum()
    assert (np.tril(found.quadratic, -1) == 0).all()


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_the_lyapunov_exponent_of_a_linear_network_is_the_log_of_its_spectral_radius(activation):
    rng = np.random.default_rng(0)
    W = np.abs(rng.normal(size=(12, 12)))  # positive: relu is linear where everything is above 0
    linear = {"W_in": np.full((12, 1), 1e-6), "W": W, "leak_rate": 1.0, "activation": activation}
    inputs = rng.uniform(0.5, 1.0, (600, 1))
    for radius in (0.5, 0.9):
        reservoir = kn.Reservoir.from_weights(**linear, spectral_radius=radius)
        assert kn.lyapunov_exponent(reservoir, inputs) == pytest.approx(np.log(radius), abs=1e-3)
    leaky = kn.Reservoir.from_weights(**{**linear, "leak_rate": 0.25}, spectral_radius=0.6)
    assert kn.lyapunov_exponent(leaky, inputs) == pytest.approx(np.log(0.75 + 0.25 * 0.6), abs=1e-3)


def test_the_lyapunov_exponent_is_the_rate_at_which_two_starts_come_together_or_part():
    options = {"n_inputs": 1, "input_weights": "gaussian", "activation": "tanh", "input_gain": 0.3, "seed": 0}
    inputs = np.random.default_rng(0).normal(size=(500, 1)).astype(np.float32)
    calm, wild = kn.Reservoir(60, 1.0, 0.8, **options), kn.Reservoir(60, 1.0, 2.5, **options)
    assert kn.lyapunov_exponent(calm, inputs) < 0 < kn.lyapunov_exponent(wild, inputs)
    early = np.concatenate([np.ones((1, 1), np.float32), inputs[:60]])  # a start from elsewhere
    apart = calm.run(early[None], trajectory=True)[0][1:] - calm.run(inputs[None, :60], trajectory=True)[0]
    sizes = np.linalg.norm(apart.astype(np.float64), axis=1)
    rate = np.log(sizes[25] / sizes[5]) / 20
    assert rate == pytest.approx(kn.lyapunov_exponent(calm, inputs), abs=0.1)


def test_a_network_that_forgets_at_once_has_no_exponent():
    nothing = kn.Reservoir.from_weights(W_in=np.ones((3, 1)), leak_rate=1.0)
    assert kn.lyapunov_exponent(nothing, np.ones((300, 1))) == -np.inf


def test_ranks_are_those_of_what_the_states_hold():
    rng = np.random.default_rng(0)
    series = rng.uniform(-1, 1, (30, 10, 1))
    assert kn.kernel_rank(delay_line(6), series) == 6  # six inputs are all that it holds
    assert kn.kernel_rank(delay_line(6), series[:4]) == 4
    assert kn.kernel_rank(delay_line(6), [values[:2] for values in series]) == 2
    assert kn.kernel_rank(delay_line(6), np.zeros((5, 3, 1))) == 0
    assert kn.generalisation_rank(delay_line(6), series[0], n_copies=30) == 6
    assert kn.generalisation_rank(delay_line(6), series[0], noise=0.0) == 1


def test_separation_is_the_gain_of_a_linear_network_without_memory():
    reservoir = kn.Reservoir.from_weights(W_in=1e-3 * np.eye(2), leak_rate=1.0, activation="tanh")
    series = np.random.default_rng(0).uniform(-1, 1, (5, 4, 2))
    others = series.copy()
    others[:, -1] += 0.3
    np.testing.assert_allclose(kn.separation(reservoir, series, others), 1e-3, rtol=1e-3)
    others[:, 0] += 0.4  # forgotten, but there
    np.testing.assert_allclose(kn.separation(reservoir, series, others), 1e-3 * 0.3 / 0.5, rtol=1e-3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: kn.memory_capacity(3), "reservoir"),
        (lambda: kn.memory_capacity(delay_line(7), -1), "max_delay"),
        (lambda: kn.memory_capacity(delay_line(7), n_steps=10), "n_steps must be an integer from 16"),
        (lambda: kn.lyapunov_exponent(delay_line(7), np.ones((200, 1))), "inputs must have more than 200 steps"),
        (lambda: kn.lyapunov_exponent(delay_line(7), np.ones((300, 2))), "inputs"),
        (lambda: kn.kernel_rank(delay_line(7), np.ones((3, 5, 2))), "series"),
        (lambda: kn.generalisation_rank(delay_line(7), np.ones((5, 1)), noise=-1), "noise"),
        (lambda: kn.separation(delay_line(7), np.ones((1, 5, 1)), np.ones((2, 5, 1))), "others must have the shape"),
        (lambda: kn.separation(delay_line(7), np.ones((1, 5, 1)), np.ones((1, 5, 1))), "others must differ"),
    ],
)
def test_what_cannot_be_measured_is_refused_by_name(call, words):
    with pytest.raises(ValueError, match=words):
        call()
