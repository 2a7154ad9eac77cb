import numpy as np
import pytest

import kenyon as kn
from kenyon import _seeding
from tests import naive

TASK = kn.StaticTask(kn.load_odours(), 20, seed=1, steps=20)
RESERVOIR = kn.Reservoir(60, seed=1, leak_rate=0.06)
FIXED = {"eta_w": 4e-3, "eta_theta": 1e-3}


@pytest.mark.parametrize(
    ("learner", "steps"),
    [
        (kn.Metropolis(**FIXED, period=20), 400),
        (kn.Composed(**FIXED, batch=3, period=7), 500),  # over the end of a chunk, and the last step incomplete
        (kn.Metropolis(**FIXED, search="per_neuron", period=30), 300),
        (kn.GradientThresholds(**FIXED, period=25), 200),  # searched as if it had a global search
        (kn.Composed(**FIXED, rule=kn.QLearning(), period=20), 200),
        (kn.Composed(**FIXED, rule=kn.QLearning(), acting="both", period=20), 200),
    ],
    ids=lambda value: type(value).__name__,
)
def test_walks_equal_the_oracle(learner, steps):
    seed, n = 3, steps * learner.batch
    found = kn.prelearn(learner, RESERVOIR, TASK, seed=seed, steps=steps)
    V, labels, _ = next(RESERVOIR.stream(TASK, n, _seeding.derive(seed, "prelearning"), batch_size=n))
    source = kn.Source(seed, "prelearn, in prelearning,")
    chosen, ends, costs = naive.prelearn(learner, V.astype(np.float64), labels, source, 2)
    np.testing.assert_allclose(found.ends, ends, rtol=1e-5)
    np.testing.assert_allclose(found.costs, costs, rtol=1e-4)
    assert found.theta_g == pytest.approx(chosen, rel=1e-5)
    assert found.n_episodes == n
    assert (found.ends != found.starts).sum() > 5
