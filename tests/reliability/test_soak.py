"""A short form of the long run, and its oracle compared with the slow one."""

import numpy as np
import pytest
from rich.console import Console

import kenyon as kn
from kenyon.learning.learners import changed
from tests import naive
from tests.learning.test_updates import begun, episodes
from tests.reliability import soak

EPISODES = 50_000


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize(
    "learner",
    [kn.GradientWeights, kn.GradientThresholds, kn.Normalised],
)
@pytest.mark.parametrize("rule", [kn.Supervised(), kn.QLearning(temperature=3.0)], ids=["supervised", "reward"])
def test_the_oracle_of_the_long_run_is_the_slow_one(learner, rule, batch):
    learner, rng = changed(learner(rule=rule, batch=batch), eta_w=1e-3, eta_theta=1e-3), np.random.default_rng(0)
    V, labels = episodes(rng, 10 * batch, 20, 2)
    state = begun(learner, V, 2, rng)
    oracle = soak.Oracle(learner, state)
    W, theta = (part.copy() for part in (oracle.pair[0].W, oracle.pair[0].theta))
    _, info = learner.update(state, V, labels)
    oracle.take(V, labels, info)
    uniforms = state.source.uniforms("choice", 0, len(V))[:, 0]
    for first in range(0, len(V), batch):
        part = slice(first, first + batch)
        told = W, theta, V[part].astype(np.float64), labels[part]
        if isinstance(rule, kn.QLearning):
            W, theta, *_ = naive.reward_step(*told, uniforms[part], learner, state.kappa)
        else:
            W, theta, _ = naive.gradient_step(*told, learner, state.kappa)
    np.testing.assert_allclose(oracle.pair[0].W, W, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(oracle.pair[0].theta, theta, rtol=1e-9, atol=1e-12)
    assert oracle.otherwise == 0


@pytest.fixture(scope="module")
def short():
    """A run of all learners, with recursive least squares for a tenth of it."""
    quiet = Console(quiet=True)
    growth, found = soak.soak(soak.LEARNERS, EPISODES, 2, quiet)
    slow_growth, slow = soak.soak(soak.SLOW, EPISODES // 10, 2, quiet)
    return max(growth, slow_growth), {**found, **slow}


def test_memory_stays_flat(short):
    assert short[0] < soak.MEMORY


@pytest.mark.parametrize("name", [*soak.LEARNERS, *soak.SLOW])
def test_single_precision_stays_with_double(short, name):
    _, bounds = {**soak.LEARNERS, **soak.SLOW}[name]
    # in so short a run weights still grow, and rounding errors with them
    assert not short[1][name].beyond(bounds._replace(growth=np.nan))


def test_a_drift_would_be_seen():
    """Bounds must be ones that can be broken: rounding weights to half precision breaks them."""

    class Coarse(kn.GradientWeights):
        def update(self, state, V, labels):
            new, info = super().update(state, V, labels)
            new.nets.W[:] = new.nets.W.astype(np.float16)
            return new, info

    bounds = soak.LEARNERS["GradientWeights"][1]
    _, found = soak.soak({"coarse": (Coarse(), bounds)}, EPISODES // 5, 1, Console(quiet=True))
    assert "step" in found["coarse"].beyond(bounds)
