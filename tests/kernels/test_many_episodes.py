"""Many episodes in lanes: the same states as one by one, whatever does not divide evenly."""

import numpy as np
import pytest

import kenyon as kn
from kenyon.kernels.many_episodes import AHEAD
from kenyon.kernels.pooling import Kept

SIZES = [1, 2, 7, 8, 9, 31]


def made(n_neurons):
    return kn.Reservoir(n_neurons, n_inputs=3, connections=min(4, n_neurons), input_connections=2, seed=n_neurons)


@pytest.mark.parametrize("n_neurons", SIZES)
@pytest.mark.parametrize("n_series", [3, 8, 13, 20, 41])
def test_incomplete_pairs_and_squares_change_no_bit(n_neurons, n_series):
    reservoir, series = made(n_neurons), np.random.default_rng(0).random((n_series, 5, 3), dtype=np.float32)
    alone = np.concatenate([reservoir.run(one[None], trajectory=True) for one in series])
    np.testing.assert_array_equal(reservoir.run(series, trajectory=True), alone)
    np.testing.assert_array_equal(reservoir.run(series), alone[:, -1])


@pytest.mark.parametrize("n_neurons", SIZES)
def test_what_is_kept_belongs_to_its_neuron(n_neurons):
    reservoir, series = made(n_neurons), np.random.default_rng(1).random((13, 6, 3), dtype=np.float32)
    levels = np.linspace(0.01, 0.1, n_neurons, dtype=np.float32)[None]
    times = np.full((13, 1), 4)
    kept = reservoir._pooled(series, Kept(True, True, True, levels), times, threads=1)
    V = reservoir.run(series, trajectory=True).astype(np.float64)
    wanted = [V[:, 4], V.sum(axis=1), (levels < V).sum(axis=1), np.maximum(V - levels, 0).sum(axis=1)]
    np.testing.assert_allclose(kept, np.stack(wanted, axis=1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_neurons", SIZES)
def test_pairs_hold_every_connection_once(n_neurons):
    reservoir = made(n_neurons)
    laid = reservoir._network
    dense = np.zeros((len(laid.leaks), laid.columns.max(initial=0) + 1 + n_neurons + 3))
    first = 0
    for pair, end in enumerate(laid.ends.astype(int)):
        for k in range(first, end):
            dense[2 * pair + (k - first) % 2, laid.columns[k]] += laid.weights[k]
        first = end
    heard = len(laid.leaks) + np.arange(3)
    np.testing.assert_array_equal(dense[np.ix_(laid.places, laid.places)], reservoir.W.toarray())
    np.testing.assert_array_equal(dense[np.ix_(laid.places, heard)], reservoir.W_in.toarray())
    assert len(laid.columns) == len(laid.weights) + AHEAD


def test_a_network_without_connections_stays_at_rest():
    bare = kn.Reservoir.from_weights(W=np.zeros((3, 3)), W_in=np.zeros((3, 2)), leak_rate=0.5)
    assert len(bare._network.weights) == 0
    np.testing.assert_array_equal(bare.run(np.ones((4, 2, 2))), np.zeros((4, 3)))
