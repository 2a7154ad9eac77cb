import json

import numpy as np
import pytest

import kenyon as kn
from kenyon import _seeding
from tests import naive

TASK = kn.StaticTask(kn.load_odours(), 20, seed=1, steps=20)
RESERVOIR = kn.Reservoir(60, seed=1, leak_rate=0.06)
WEIGHTS = {"eta_w": 4e-3}
FIXED = {**WEIGHTS, "eta_theta": 1e-3}


@pytest.mark.parametrize(
    ("learner", "steps"),
    [
        (kn.Metropolis(**WEIGHTS, period=20), 400),
        (kn.Composed(**FIXED, batch=3, period=7), 500),  # over the end of a chunk, and the last step incomplete
        (kn.Metropolis(**WEIGHTS, search="per_neuron", period=30), 300),
        (kn.GradientThresholds(**FIXED, start="prelearned", period=25), 200),  # searched as if it had a global search
        (kn.Composed(**FIXED, rule=kn.QLearning(), period=20), 200),
        (kn.Composed(**FIXED, rule=kn.QLearning(), acting="both", period=20), 200),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("method", ["resets", "walks"])
def test_prelearning_equals_the_oracle(learner, steps, method):
    seed, n = 3, steps * learner.batch
    found = kn.prelearn(learner, RESERVOIR, TASK, seed=seed, steps=steps, method=method)
    V, labels, _ = next(RESERVOIR.stream(TASK, n, _seeding.derive(seed, "prelearning"), batch_size=n))
    source = kn.Source(seed, "prelearn, in prelearning,")
    chosen, ends, costs = naive.prelearn(learner, V.astype(np.float64), labels, source, 2, method)
    np.testing.assert_allclose(found.ends, ends, rtol=1e-5)
    np.testing.assert_allclose(found.costs, costs, rtol=1e-4)
    assert found.theta_g == pytest.approx(chosen, rel=1e-5)
    assert found.n_episodes == n
    assert found.method == method
    assert (found.ends != found.starts).sum() > 5 if method == "walks" else (found.ends == found.starts).all()


def test_the_papers_prelearning_measures_how_well_steps_go_from_nothing():
    learner = kn.Composed(**FIXED, period=25, sigma=0.0)  # proposals that change nothing: the start itself is measured
    found = kn.prelearn(learner, RESERVOIR, TASK, seed=3, steps=500)
    V, labels, _ = next(RESERVOIR.stream(TASK, 500, _seeding.derive(3, "prelearning"), batch_size=500))
    for start, cost in zip(found.starts, found.costs, strict=True):
        fresh = kn.Composed(**FIXED, period=25, sigma=0.0, start=float(start))
        parts = [slice(first, first + 25) for first in range(0, 500, 25)]
        runs = [fresh.update(fresh.begin(V, 2, kn.Source(0, "t")), V[part], labels[part])[1] for part in parts]
        assert cost == pytest.approx(np.mean([info.proposals[0].cost for info in runs]), rel=1e-5)
    assert found.starts[0] == 0.0
    np.testing.assert_allclose(found.starts[1:], np.quantile(V.astype(float), np.linspace(0, 0.95, 10)[1:]), rtol=1e-6)
    assert found.theta_g == found.starts[np.argmin(found.costs)]


def test_train_prelearns_by_the_method_that_a_start_names():
    learners = {"paper": kn.Metropolis(**WEIGHTS), "walks": kn.Metropolis(**WEIGHTS, start="walked")}
    record = json.loads(kn.train(learners, RESERVOIR, TASK, 500, n_bins=5, n_test=100, seed=2).attrs["prelearning"])
    for name, method in (("paper", "resets"), ("walks", "walks")):
        assert record[name]["method"] == method
        assert len(record[name]["costs"]) == 10
    assert record["paper"]["theta_g"] in record["paper"]["starts"]
    assert record["walks"]["theta_g"] not in record["walks"]["starts"]
