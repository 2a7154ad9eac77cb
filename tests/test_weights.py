"""Reservoirs with weights of one's own, and that no reservoir can be edited without a word."""

import copy
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from scipy import sparse

import kenyon as kn
from tests import naive

ODOURS = kn.load_odours()
TASK = kn.StaticTask(ODOURS, 12, seed=0, steps=12)
DRAWN = kn.Reservoir(40, 0.2, 0.9, seed=1)
INPUTS = TASK.inputs(40, seed=3)
OWN = kn.Reservoir.from_weights(W_in=DRAWN.W_in, W=DRAWN.W, leak_rate=0.2)


def states(reservoir):
    return reservoir.run(INPUTS)


def random_weights(n=30, n_inputs=24, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.2) / 4
    return {"W_in": rng.normal(size=(n, n_inputs)), "W": W}


@pytest.mark.parametrize("form", ["lognormal", "fixed_degree", "uniform", "gaussian"])
@pytest.mark.parametrize("connections", [0, 5])
def test_the_weights_of_a_random_reservoir_give_its_states_to_the_bit(form, connections):
    drawn = kn.Reservoir(50, 0.1, 0.9, seed=2, input_weights=form, connections=connections, input_gain=0.7)
    own = kn.Reservoir.from_weights(W_in=drawn.W_in, W=drawn.W, leak_rate=drawn.leak_rate)
    np.testing.assert_array_equal(states(own), states(drawn))
    np.testing.assert_array_equal(own.run(INPUTS[:1]), drawn.run(INPUTS[:1]))
    assert own.spectral_radius == pytest.approx(drawn.spectral_radius, rel=1e-6)


def test_states_equal_the_oracle():
    weights = random_weights()
    own = kn.Reservoir.from_weights(**weights, leak_rate=0.3)
    expected = naive.run(weights["W"], weights["W_in"], 0.3, INPUTS[0])[-1]
    np.testing.assert_allclose(states(own)[0], expected, rtol=1e-4, atol=1e-5)


def forms(matrix):
    """Yield the same whole numbers in every form that weights may come in."""
    dense = matrix.astype(np.float64)
    for kind in (np.int8, np.float16, np.float32, np.longdouble, ">f8"):
        yield matrix.astype(kind)
    yield np.asfortranarray(dense)
    yield matrix.tolist()
    yield pd.DataFrame(dense)
    for kind in (sparse.csr_array, sparse.csr_matrix):
        for name in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
                yield kind(dense).asformat(name)
    yield sparse.csr_array(matrix.astype(np.int64))


def test_weights_may_come_in_any_form():
    rng = np.random.default_rng(0)
    W_in, W = rng.integers(-2, 3, (8, 24)), rng.integers(-1, 2, (8, 8))
    expected = kn.Reservoir.from_weights(W_in=W_in, W=W)
    for into, between in zip(forms(W_in), forms(W), strict=True):
        own = kn.Reservoir.from_weights(W_in=into, W=between)
        assert own.weights_sha256 == expected.weights_sha256
        np.testing.assert_array_equal(states(own), states(expected))


def test_duplicates_are_summed_and_zeros_do_not_count():
    W = sparse.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    own = kn.Reservoir.from_weights(W_in=np.eye(2), W=W)
    np.testing.assert_array_equal(own.W.toarray(), [[0, 3], [0, 0]])
    assert W.nnz == 3
    twice = sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 2))
    assert kn.Reservoir.from_weights(W_in=np.eye(2), W=twice).weights_sha256 == own.weights_sha256
    assert twice.nnz == 2


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array, sparse.coo_array])
def test_weights_are_copied_and_later_edits_of_them_change_nothing(kind):
    W_in, W = (kind(part.astype(np.float32)) for part in random_weights().values())
    before = copy.deepcopy([W_in, W])
    own = kn.Reservoir.from_weights(W_in=W_in, W=W)
    first = states(own)
    for part, old in zip((W_in, W), before, strict=True):
        assert (part != old).sum() == 0
        (part if isinstance(part, np.ndarray) else part.data)[:] = 0
    np.testing.assert_array_equal(states(own), first)


def test_weights_are_scaled_to_a_spectral_radius_only_if_asked():
    weights = random_weights()
    as_they_are, scaled = (kn.Reservoir.from_weights(**weights, spectral_radius=rho) for rho in (None, 0.5))
    largest = np.abs(np.linalg.eigvals(weights["W"])).max()
    assert as_they_are.spectral_radius == pytest.approx(largest, rel=1e-6)
    np.testing.assert_array_equal(as_they_are.W.toarray(), weights["W"].astype(np.float32))
    assert scaled.spectral_radius == 0.5
    np.testing.assert_allclose(scaled.W.toarray(), weights["W"] * 0.5 / largest, rtol=1e-6)
    np.testing.assert_array_equal(scaled.W_in.toarray(), as_they_are.W_in.toarray())
    assert kn.Reservoir.from_weights(**weights, spectral_radius=0).W.nnz == 0


def test_no_recurrent_weights_are_unconnected_neurons():
    W_in = random_weights()["W_in"]
    alone = kn.Reservoir.from_weights(W_in=W_in, leak_rate=0.3)
    np.testing.assert_array_equal(
        states(alone), states(kn.Reservoir.from_weights(W_in=W_in, W=np.zeros((30, 30)), leak_rate=0.3))
    )
    assert alone.spectral_radius == 0


def test_the_spectral_radius_is_computed_only_when_asked_for(monkeypatch):
    monkeypatch.setattr("kenyon.connectivity.spectral_radius", None)
    own = kn.Reservoir.from_weights(**random_weights())
    assert "own weights" in repr(own)
    states(own)
    with pytest.raises(TypeError):
        own.spectral_radius  # noqa: B018


def test_settings_of_random_weights_are_none():
    assert [
        getattr(OWN, name) for name in ("seed", "connections", "input_weights", "input_connections", "input_gain")
    ] == [None] * 5
    assert DRAWN.weights_sha256 is None


def test_weights_that_cannot_be_used_are_refused_by_name():
    ring, eye = np.roll(np.eye(3), 1, axis=0), np.ones((3, 2))
    bad_index = sparse.csr_array((3, 3))
    bad_index.data, bad_index.indices, bad_index.indptr = np.ones(1), np.array([7]), np.array([0, 1, 1, 1])
    for weights, message in [
        ({"W_in": eye, "W": np.eye(4)}, r"W must have shape \(3, 3\), since W_in .* 3 neurons, not \(4, 4\)$"),
        ({"W_in": eye, "W": np.eye(2)}, r"W must have shape \(3, 3\), .*not \(2, 2\); transpose W_in\?"),
        ({"W_in": eye, "W": np.ones((3, 2))}, r"W must have shape \(3, 3\)"),
        ({"W_in": np.ones(3)}, r"W_in must have shape \(n_neurons, n_inputs\), not \(3,\)"),
        ({"W_in": np.ones((3, 0))}, r"W_in must have shape .* at least \(1, 1\), not \(3, 0\)"),
        ({"W_in": sparse.coo_array(np.ones(3))}, r"W_in must have shape \(n_neurons, n_inputs\), not \(3,\)"),
        ({"W_in": eye * 1j}, "W_in must hold real numbers, not complex128"),
        ({"W_in": sparse.csr_array(eye * 1j)}, "W_in must hold real numbers, not complex128"),
        ({"W_in": [["a"]]}, "W_in must hold real numbers"),
        ({"W_in": np.where(ring[:, :2], np.nan, 1.0)}, r"W_in must be finite and within float32; W_in\[1, 0\] is nan"),
        ({"W_in": eye, "W": sparse.coo_array(ring * 1e39)}, r"W must be finite .*; W\[0, 2\] is 1e\+39"),
        ({"W_in": eye, "W": bad_index}, "W is not a valid sparse matrix"),
        ({"W_in": eye, "W": np.triu(np.ones((3, 3)), 1), "spectral_radius": 0.9}, "W cannot be scaled .* loops"),
        ({"W_in": eye, "spectral_radius": 0.9}, "W cannot be scaled to spectral_radius=0.9"),
        ({"W_in": np.ones((2, 2)), "W": [[1, -1], [1, -1]], "spectral_radius": 0.9}, "all of its eigenvalues are 0"),
        ({"W_in": eye, "W": ring, "leak_rate": 0}, r"leak_rate must be a number in \(0, 1\], not 0"),
        ({"W_in": eye, "W": ring, "spectral_radius": -1}, "spectral_radius must be a number"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            kn.Reservoir.from_weights(**weights)


SETTINGS = (
    "W",
    "W_in",
    "leak_rate",
    "spectral_radius",
    "n_neurons",
    "n_inputs",
    "connections",
    "input_gain",
    "seed",
    "new",
)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("reservoir", [DRAWN, OWN], ids=["drawn", "own"])
def test_nothing_of_a_reservoir_can_be_set(reservoir, name):
    with pytest.raises(AttributeError, match=rf"{name} cannot be set: .*Reservoir\.from_weights\(W_in=\.\.\., W="):
        setattr(reservoir, name, 0.5)
    with pytest.raises(AttributeError, match=f"{name} cannot be deleted"):
        delattr(reservoir, name)


class Listening(kn.Reservoir):
    """A reservoir of a user's own, with something to remember."""


def test_a_subclass_may_add_attributes_but_not_change_ours():
    own = Listening.from_weights(W_in=DRAWN.W_in, W=DRAWN.W, leak_rate=0.2)
    own.heard, own._times = ["something"], 1
    again = pickle.loads(pickle.dumps(own))
    assert (type(again), again.heard, again._times) == (Listening, ["something"], 1)
    np.testing.assert_array_equal(states(again), states(DRAWN))
    del own.heard
    for name in ("W_in", "leak_rate", "spectral_radius", "run"):
        with pytest.raises(AttributeError, match=f"{name} cannot be set"):
            setattr(own, name, 0.5)


def _item(weights):
    weights[0, int(weights.indices[0])] = 0.0


def _in_place(weights):
    weights *= 0.0


@pytest.mark.parametrize("name", ["W", "W_in"])
@pytest.mark.parametrize(
    "edit",
    [
        *(
            lambda weights, part=part: getattr(weights, part).__setitem__(0, 0)
            for part in ("data", "indices", "indptr")
        ),
        lambda weights: setattr(weights.data.flags, "writeable", True),
        _item,
        _in_place,
    ],
)
def test_weights_cannot_be_edited(name, edit):
    with pytest.raises(ValueError, match="read-only|cannot set WRITEABLE"):
        edit(getattr(DRAWN, name))


@pytest.mark.parametrize("name", ["W", "W_in"])
@pytest.mark.parametrize(
    "edit",
    [
        lambda weights: setattr(weights, "data", np.zeros_like(weights.data)),
        lambda weights: setattr(weights, "indices", weights.indices[::-1]),
        lambda weights: weights.setdiag(np.ones(3)),
    ],
)
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_weights_that_were_replaced_within_their_matrix_are_noticed(name, edit):
    reservoir = kn.Reservoir(40, seed=1)
    edit(getattr(reservoir, name))
    for use in (states, lambda one: next(one.stream(TASK, 5)), copy.deepcopy, pickle.dumps):
        with pytest.raises(ValueError, match=rf"{name} was edited, .*Reservoir\.from_weights"):
            use(reservoir)


def test_reading_weights_does_not_count_as_editing_them():
    reservoir = kn.Reservoir(40, seed=1)
    for weights in (reservoir.W, reservoir.W_in):
        _ = (
            weights.toarray(),
            weights.T @ np.ones(40),
            weights * 2,
            weights.tocsc(),
            weights.astype(float),
            abs(weights),
        )
        weights.sort_indices()
        weights.sum_duplicates()
        weights.check_format()
    states(reservoir)


@pytest.mark.parametrize("reservoir", [DRAWN, OWN], ids=["drawn", "own"])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_the_same_and_as_safe(reservoir, again):
    copied = again(reservoir)
    np.testing.assert_array_equal(states(copied), states(reservoir))
    assert repr(copied) == repr(reservoir)
    assert copied.weights_sha256 == reservoir.weights_sha256
    with pytest.raises(ValueError, match="read-only"):
        copied.W.data[0] = 1


def test_other_processes_get_the_same_states():
    (found,) = Parallel(n_jobs=2, max_nbytes=100)([delayed(states)(OWN)])  # weights are passed on as files
    np.testing.assert_array_equal(found, states(OWN))


def test_training_follows_the_weights_and_records_which():
    learners = {"normalised": kn.Normalised(), "metropolis": kn.Metropolis(eta_w=1e-4, start=0.1)}
    settings = {"n_episodes": 600, "n_test": 200}
    drawn, own = (kn.train(learners, reservoir, TASK, **settings) for reservoir in (DRAWN, OWN))
    assert own.equals(drawn)
    recorded = json.loads(own.attrs["config"])["reservoir"]
    assert recorded == {
        "kind": "Reservoir", "n_neurons": 40, "n_inputs": 24, "leak_rate": 0.2, "spectral_radius": None,
        "weights_sha256": OWN.weights_sha256,
    }  # fmt: skip
    assert OWN.weights_sha256 != kn.Reservoir.from_weights(W_in=DRAWN.W_in, W=2 * DRAWN.W).weights_sha256
    assert "weights_sha256" not in json.loads(drawn.attrs["config"])["reservoir"]
    turns = [kn.train_in_turn(learners, one, TASK.split(2), **settings) for one in (DRAWN, OWN)]
    assert turns[0].equals(turns[1])
    starts = [kn.prelearn(kn.Metropolis(eta_w=1e-4), one, TASK, steps=200).theta_g for one in (DRAWN, OWN)]
    assert starts[0] == starts[1]


def test_without_input_weights_learning_stays_at_chance():
    task = kn.StaticTask(ODOURS, 40, seed=0)
    reservoir = kn.Reservoir(300, seed=0)
    deaf = kn.Reservoir.from_weights(W_in=np.zeros((300, 24)), W=reservoir.W, leak_rate=reservoir.leak_rate)
    learners = {"normalised": kn.Normalised(), "ridge": kn.Ridge()}
    result = kn.train(learners, deaf, task, 900, n_test=2000)
    assert (np.abs(result.accuracy - 0.5) < 4.5 * np.sqrt(0.25 / 2000)).all()
    assert (kn.train(learners, reservoir, task, 900).argmax_accuracy > 0.9).all()
    with pytest.raises(kn.Diverged, match="all states are 0; check the inputs and W_in"):
        kn.train(learners, deaf, task, 1000)


def degrees(W):
    present = np.asarray(W) != 0
    return present.sum(axis=0).tolist(), present.sum(axis=1).tolist()


@pytest.mark.parametrize("shape", [(40, 40), (30, 12), (1, 5), (5, 1)])
def test_rewiring_keeps_degrees_and_the_weights_of_each_row(shape):
    rng = np.random.default_rng(0)
    W = rng.normal(size=shape) * (rng.random(shape) < rng.random(shape[1]))
    before = W.copy()
    null = kn.rewire(W, seed=1)
    np.testing.assert_array_equal(W, before)
    assert degrees(null.toarray()) == degrees(W)
    for old, new in zip(W, null.toarray(), strict=True):
        assert sorted(old[old != 0]) == sorted(new[new != 0])
    assert (null != kn.rewire(sparse.coo_array(W), seed=1)).nnz == 0
    if min(shape) > 1:
        assert (null != kn.rewire(W, seed=2)).nnz > 0


def test_rewiring_makes_no_loops_where_there_were_none_and_loses_blocks():
    rng = np.random.default_rng(0)
    block = np.kron(np.eye(2), np.ones((20, 20))) * (rng.random((40, 40)) < 0.4)
    np.fill_diagonal(block, 0)
    null = kn.rewire(block, seed=0).toarray()
    assert not null.diagonal().any()
    assert degrees(null) == degrees(block)
    within = null[:20, :20].sum() + null[20:, 20:].sum()
    assert within / null.sum() == pytest.approx(0.5, abs=0.1)
    np.testing.assert_array_equal(kn.rewire(block, rounds=0).toarray(), block)


def test_rewiring_refuses_what_is_no_matrix():
    for W in (np.ones(3), "W", [[np.nan]], sparse.coo_array(np.ones(3)), np.ones((2, 2)) * 1j):
        with pytest.raises(ValueError, match="W"):
            kn.rewire(W)
