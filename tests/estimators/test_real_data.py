"""On real series, with nothing set but the learner and the size: beside a peer, and the learners beside each other."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import kenyon as kn

N_NEURONS = 500


def digits():
    images, target = load_digits(return_X_y=True)
    parts = train_test_split(images.reshape(-1, 8, 8), target, test_size=0.4, random_state=7, stratify=target)
    return list(parts[0]), parts[2], list(parts[1]), parts[3]


def vowels():
    datasets = pytest.importorskip("aeon.datasets", reason="aeon is in the extra data")
    parts = [datasets.load_japanese_vowels(split=split) for split in ("train", "test")]
    return [part for X, y in parts for part in ([np.asarray(series).T for series in X], y)]


@pytest.fixture(scope="module", params=[digits, vowels], ids=lambda load: load.__name__)
def split(request):
    return request.param()


def score(learner, split):
    X, y, X_test, y_test = split
    return kn.ReservoirClassifier(learner, n_neurons=N_NEURONS, random_state=11).fit(X, y).score(X_test, y_test)


@pytest.fixture(scope="module")
def ridge(split):
    return score("ridge", split)


def peer(split, penalty, **settings):
    """Return the better of ReservoirPy's accuracies on last and on mean states."""
    nodes = pytest.importorskip("reservoirpy.nodes", reason="reservoirpy is in the extra bench")
    X, y, X_test, y_test = split
    reservoir, states, labels = nodes.Reservoir(N_NEURONS, seed=11, **settings), [], np.unique(y)
    for series in [*X, *X_test]:
        if reservoir.initialized:
            reservoir.reset()
        states.append(reservoir.run(series))
    scores = []
    for rows in (np.array([run[-1] for run in states]), np.array([run.mean(axis=0) for run in states])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a singular matrix, as its penalty is 0 by default
            readout = nodes.Ridge(ridge=penalty).fit(rows[: len(X)], (y[:, None] == labels).astype(float))
        scores.append((labels[readout.run(rows[len(X) :]).argmax(axis=1)] == y_test).mean())
    return max(scores)


def test_ridge_equals_the_peer_at_least(split, ridge):
    assert ridge >= peer(split, 0.0)
    assert ridge >= peer(split, 1e-6, sr=0.9, lr=0.1)


def test_the_sparse_learner_comes_close_to_ridge_and_beats_gradient_descent(split, ridge):
    normalised = score("normalised", split)
    assert normalised > ridge - 0.03
    assert normalised > score("gradient_weights", split)
