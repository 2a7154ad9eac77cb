"""Ridge with fewer episodes than features, which keeps the episodes themselves."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import kenyon as kn
from kenyon.learning.growth import with_outputs
from kenyon.learning.ridge import CANDIDATES, left_out


def wide(n=24, width=1500, n_outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, n_outputs + 2))
    V = (1.0 + factors @ rng.normal(size=(n_outputs + 2, width)) + rng.normal(size=(n, width))).astype(np.float32)
    Y = factors[:, :n_outputs] + rng.normal(0, 1.0, (n, n_outputs))
    return V, Y.astype(np.float32), rng.uniform(0.2, 3.0, n)


def learned(learner, V, Y, weights=None, cut=None):
    state = learner.begin(V, Y.shape[1], kn.Source(0, "t"))
    for first in range(0, len(V), cut or len(V)):
        now = slice(first, first + (cut or len(V)))
        state, _ = learner.update(state, V[now], Y[now], None if weights is None else weights[now])
    return learner.readout(state)


def regression(penalty):
    return kn.Ridge(penalty=penalty, intercept=True, rule=kn.Regression())


def expected(penalty, V, Y, weights):
    X = V.astype(np.float64)
    centred = X - np.average(X, axis=0, weights=weights)
    return Ridge(alpha=penalty * (weights @ centred**2).sum()).fit(X, Y, weights)


@pytest.mark.parametrize("penalty", [1e-8, 1e-3, 1.0])
def test_weights_and_intercept_are_those_of_scikit_learn(penalty):
    V, Y, weights = wide()
    readout, other = learned(regression(penalty), V, Y, weights), expected(penalty, V, Y, weights)
    np.testing.assert_allclose(readout.W, other.coef_, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(readout.bias, other.intercept_, rtol=1e-4, atol=1e-5)


def test_how_episodes_are_cut_makes_no_difference_to_the_bit():
    V, Y, weights = wide()
    whole, cut = (learned(regression(None), V, Y, weights, cut) for cut in (None, 5))
    assert np.array_equal(whole.W, cut.W)
    assert np.array_equal(whole.bias, cut.bias)


def test_the_penalty_chosen_is_best_on_episodes_left_out_one_by_one():
    V, Y, weights = wide(n=14)
    total = (weights @ (V - np.average(V, axis=0, weights=weights)) ** 2).sum()

    def error(penalty):
        found = 0.0
        for i in range(len(V)):
            rest = np.arange(len(V)) != i
            model = Ridge(alpha=penalty * total).fit(V[rest].astype(np.float64), Y[rest], weights[rest])
            found += weights[i] * ((model.predict(V[i : i + 1].astype(np.float64)) - Y[i]) ** 2).sum()
        return found

    best = min(CANDIDATES.penalties[12:], key=error)
    assert CANDIDATES.penalties[12] < best < CANDIDATES.penalties[-1]
    np.testing.assert_array_equal(
        learned(regression(None), V, Y, weights).W, learned(regression(best), V, Y, weights).W
    )


def test_whole_weights_are_repetitions_where_the_penalty_is_given():
    V, Y, _ = wide()
    weights = np.arange(len(V)) % 3 + 1.0
    times = weights.astype(int)
    weighted = learned(regression(1e-3), V, Y, weights)
    repeated = learned(regression(1e-3), np.repeat(V, times, axis=0), np.repeat(Y, times, axis=0))
    np.testing.assert_allclose(weighted.W, repeated.W, rtol=1e-4, atol=1e-7)


def test_with_as_many_episodes_as_features_it_goes_on_with_sums():
    V, Y, weights = wide(n=90, width=40)
    learner = regression(1e-2)
    state = learner.begin(V, 2, kn.Source(0, "t"))
    for first in range(0, 90, 30):
        now = slice(first, first + 30)
        state, _ = learner.update(state, V[now], Y[now], weights[now])
        assert bool(state.rows) == (first == 0)
    other = expected(1e-2, V, Y, weights)
    np.testing.assert_allclose(learner.readout(state).W, other.coef_, rtol=1e-4, atol=1e-6)


def test_a_class_that_appears_later_is_learned_as_if_it_had_been_known():
    V, _, _ = wide()
    labels, learner = np.arange(len(V)) % 2, kn.Ridge(penalty=1e-3, intercept=True)
    late, _ = learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, labels)
    late, _ = learner.update(with_outputs(late, np.array([0, 2]), 3), V[:5], np.full(5, 1))
    known, _ = learner.update(learner.begin(V, 3, kn.Source(0, "t")), V, 2 * labels)
    known, _ = learner.update(known, V[:5], np.full(5, 1))
    assert np.array_equal(learner.readout(late).W, learner.readout(known).W)


def test_episodes_without_weight_teach_nothing():
    V, Y, _ = wide()
    readout = learned(regression(None), V, Y, np.zeros(len(V)))
    assert not readout.W.any()
    assert not readout.bias.any()


def test_errors_on_episodes_left_out_are_those_of_learning_without_them():
    V, Y, _ = wide(n=14)
    x, wanted = (values - values.mean(axis=0, dtype=np.float64) for values in (V, Y))
    total = (x**2).sum()

    def errors(penalty):
        kept = (np.arange(14) != i for i in range(14))
        models = [Ridge(alpha=penalty * total).fit(x[rest], wanted[rest]) for rest in kept]
        return [((model.predict(x[[i]])[0] - wanted[i]) ** 2).sum() for i, model in enumerate(models)]

    few = CANDIDATES._replace(penalties=np.array([1e-4, 1e-2, 1.0]))
    best = min(map(errors, few.penalties), key=sum)
    np.testing.assert_allclose(left_out(x, wanted, few), best, rtol=1e-6)


def test_sums_that_do_not_fit_together_are_refused():
    V, Y, _ = wide(n=6, width=9)
    learner = regression(1e-3)
    state, _ = learner.update(learner.begin(V, 2, kn.Source(0, "t")), V, Y)
    state.check()
    (rows,) = state.rows
    spoilt = [{"cross": state.cross[:, :1]}, {"wanted": state.wanted[:1]}, {"x": state.x[:-1]}, {"theta": V[0, :-1]}]
    spoilt += [{"gram": np.zeros((3, 3))}, {"rows": (rows._replace(x=rows.x[:, :-1]),)}]
    for wrong in spoilt:
        with pytest.raises(ValueError, match="inconsistent sums"):
            state._replace(**wrong).check()
