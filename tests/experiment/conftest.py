import pytest

from kenyon.experiment.sweep import load_experiment

SMALL = {
    "name": "small",
    "preset": "static",
    "seeds": 2,
    "n_episodes": 600,
    "n_test": 100,
    "n_bins": 10,
    "task": {"n_stimuli": [6, 10], "steps": 8},
    "reservoir": {"n_neurons": 40, "leak_rate": 0.1},
    "learners": {"GradientWeights": {}, "Normalised": {}},
}


@pytest.fixture
def small():
    return load_experiment(SMALL)
