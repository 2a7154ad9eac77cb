"""What the learners are for: results at the paper's size, over a few seeds. About a minute in all."""

import numpy as np
import pytest

import kenyon as kn

SEEDS = [0, 1, 2]
ODOURS = kn.load_odours()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_paper_s_learners_come_in_the_paper_s_order(seed):
    learners = {
        "gd_w": kn.GradientWeights(),
        "gd_theta": kn.GradientThresholds(),
        "metropolis": kn.Metropolis(),
        "composed": kn.Composed(),
    }
    task, reservoir = kn.StaticTask(ODOURS, 140, seed=seed), kn.Reservoir(seed=seed)
    result = kn.train(learners, reservoir, task, 60_000, seed=seed, threads=2)
    assert (np.diff(result.accuracy) > 0).all(), result.accuracy.values


@pytest.mark.parametrize("seed", SEEDS)
def test_normalised_memorises_all_odours_within_20_000_episodes(seed):
    task, reservoir = kn.StaticTask(ODOURS, 176, seed=seed), kn.Reservoir(seed=seed)
    learners = {"normalised": kn.Normalised(), "composed": kn.Composed()}
    result = kn.train(learners, reservoir, task, 20_000, seed=seed, n_bins=20, threads=2)
    assert result.accuracy[0] > 0.99
    assert result.training_accuracy[0, -1] > 0.99
    later = result.training_accuracy.sel(episode=slice(2001, None))
    assert (later[0] > later[1]).all()


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_normalised_memorises_336_sequences_within_100_000_episodes(seed):
    task = kn.SequenceTask(ODOURS, 28, seed=seed)
    reservoir = kn.Reservoir(leak_rate=0.1, spectral_radius=0.95, seed=seed)
    result = kn.train({"normalised": kn.Normalised()}, reservoir, task, 100_000, seed=seed, n_bins=20, threads=2)
    assert len(task) == 336
    assert result.accuracy[0] > 0.98
    assert result.training_accuracy[0, -1] > 0.98


def by_reward(batches, eta_w, **composed):
    """Return the baseline with some batch sizes, Composed and Normalised, all by reward."""
    rule = kn.QLearning()
    return {
        **{f"gd_w {n}": kn.GradientWeights(rule=rule, batch=n, eta_w=eta_w) for n in batches},
        "composed": kn.Composed(rule=rule, **composed),
        "normalised": kn.Normalised(rule=rule),
    }


# Composed starts about where prelearning, left out for its time, would let it start.


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_by_reward_composed_beats_the_best_baseline_and_normalised_beats_composed_on_odours(seed):
    task, reservoir = kn.StaticTask(ODOURS, 140, seed=seed), kn.Reservoir(seed=seed)
    learners = by_reward((1, 10, 100), 0.0018, start=1.0)
    result = kn.train(learners, reservoir, task, 60_000, seed=seed, threads=2, diverged="record")
    baseline, (composed, normalised) = np.nanmax(result.accuracy[:3]), result.accuracy.values[3:]
    assert baseline < composed < normalised


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_by_reward_composed_beats_the_papers_baseline_and_normalised_beats_composed_on_sequences(seed):
    """The baseline with batch 100: tuned, it comes so close that many seeds are needed (claim 16)."""
    task = kn.SequenceTask(ODOURS, 28, seed=seed)
    reservoir = kn.Reservoir(leak_rate=0.1, spectral_radius=0.95, seed=seed)
    learners = by_reward((100,), 0.00045, batch=10, start=1.9)
    result = kn.train(learners, reservoir, task, 100_000, seed=seed, threads=2)
    baseline, composed, normalised = result.expected_accuracy.values
    assert baseline + 0.02 < composed < normalised - 0.3
