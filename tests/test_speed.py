"""Guards against speed that rots: ratios of Kenyon's own times within one run, with margins of two or more.

What is fast is measured in benchmarks/; these only notice when a kernel has lost what it was written for.
"""

import time

import numpy as np
import pytest

import kenyon as kn


@pytest.fixture(scope="module")
def reservoir():
    return kn.Reservoir()


def seconds(*works, rounds=7):
    """The least time of each work over interleaved rounds, after one that may compile."""
    times = []
    for _ in range(rounds + 1):
        for work in works:
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
    return np.reshape(times, (-1, len(works)))[1:].min(axis=0)


def streaming(reservoir, task, n):
    return lambda: [None for _ in reservoir.stream(task, n)]


def test_lanes_serve_many_episodes_at_once(reservoir, odours):
    task = kn.StaticTask(odours)
    one, many = seconds(streaming(reservoir, task, 1), streaming(reservoir, task, 256))
    assert many < 256 * one / 4  # measured: / 13


def test_a_series_alone_does_not_pay_for_lanes_it_cannot_fill(reservoir):
    series = np.random.default_rng(0).random((32, 300, 24), np.float32)
    alone, together = seconds(lambda: reservoir.run(series[:1]), lambda: reservoir.run(series))
    assert alone < together / 2  # measured: / 4.3


def test_states_that_fade_away_take_no_longer(reservoir):
    lively = np.random.default_rng(0).random((1, 6000, 24), np.float32)
    silent = lively.copy()
    silent[:, 10:] = 0  # all states would be denormal numbers after 4000 steps
    fading, staying = seconds(lambda: reservoir.run(silent), lambda: reservoir.run(lively), rounds=4)
    assert fading < 2 * staying


def test_noise_is_cheap(reservoir, odours):
    noisy, quiet = (streaming(reservoir, kn.StaticTask(odours, noise=noise), 256) for noise in (0.2, 0.0))
    with_noise, without = seconds(noisy, quiet)
    assert with_noise < 1.5 * without  # measured: 1.06


def test_time_grows_with_episodes_no_faster_than_they_do(reservoir, odours):
    task = kn.StaticTask(odours)
    some, eightfold = seconds(streaming(reservoir, task, 128), streaming(reservoir, task, 1024), rounds=4)
    assert eightfold < 2 * 8 * some


def test_an_update_costs_little_beside_the_simulation_of_its_episode(reservoir, odours):
    task, learner = kn.StaticTask(odours), kn.GradientThresholds()
    (batch,) = reservoir.stream(task, 256)
    state = learner.begin(batch.states, 2, kn.Source(0, "speed"))
    learning, simulating = seconds(
        lambda: learner.update(state, batch.states, batch.labels), streaming(reservoir, task, 256)
    )
    assert learning < simulating / 5  # measured: / 30


def test_classes_are_learned_in_proportion(reservoir, odours):
    (batch,) = reservoir.stream(kn.StaticTask(odours), 256)
    learner = kn.GradientThresholds()

    def learning(n_classes):
        state, labels = learner.begin(batch.states, n_classes, kn.Source(0, "speed")), batch.items % n_classes
        return lambda: learner.update(state, batch.states, labels)

    four, hundred = seconds(learning(4), learning(100))
    assert hundred < 3 * 25 * four
