import numpy as np
import pytest

import kenyon as kn

TASK = kn.StaticTask(kn.load_odours(), 20, seed=1, steps=20)


def mean_square(reservoir, seed):
    V = next(reservoir.stream(TASK, 500, seed, batch_size=500)).states.astype(np.float64)
    return (V**2).sum(axis=1).mean()


@pytest.mark.parametrize("form", ["fixed_degree", "uniform", "gaussian"])
def test_reservoirs_of_matched_gain_are_equally_active(form):
    reference = kn.Reservoir(60, seed=1, input_gain=0.7)
    gain = kn.matched_gain(kn.Reservoir(60, seed=1, input_weights=form), reference, TASK, n_episodes=500, seed=3)
    matched = kn.Reservoir(60, seed=1, input_weights=form, input_gain=gain)
    assert mean_square(matched, 3) == pytest.approx(mean_square(reference, 3), rel=1e-5)
    assert gain != pytest.approx(0.7, rel=0.01)
    other = kn.Reservoir(60, seed=1, input_weights=form, input_gain=3.0)  # whatever the gain it has
    again = kn.matched_gain(other, reference, TASK, n_episodes=500, seed=3, threads=2)
    assert again == pytest.approx(gain, rel=1e-5)


def test_a_reservoir_matches_itself():
    reservoir = kn.Reservoir(60, seed=1, input_gain=0.3)
    assert kn.matched_gain(reservoir, reservoir, TASK, n_episodes=50) == 0.3


def test_a_silent_reservoir_cannot_be_matched():
    silent = kn.StaticTask(kn.Odours(list("abcd"), np.zeros((4, 24))), 4, steps=3)
    with pytest.raises(ValueError, match="must both become active"):
        kn.matched_gain(kn.Reservoir(20), kn.Reservoir(20), silent, n_episodes=10)


def test_a_reservoir_with_weights_of_its_own_has_no_gain_to_match():
    random = kn.Reservoir(20, seed=1)
    own = kn.Reservoir.from_weights(W_in=random.W_in, W=random.W)
    assert kn.matched_gain(random, own, TASK, n_episodes=20) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="no input_gain"):
        kn.matched_gain(own, random, TASK, n_episodes=20)
