"""Reservoirs with leaks of their own, tanh, a bias and delays."""

import copy
import json
import pickle

import numpy as np
import pytest
from scipy import sparse

import kenyon as kn
from kenyon.experiment.sweep import load_experiment
from kenyon.kernels.lanes import Rows8, Rows16, Rows32, load, store
from kenyon.kernels.neurons import _squashed
from tests import naive

RNG = np.random.default_rng(0)
SERIES = [RNG.normal(size=(length, 3)).astype(np.float32) for length in (1, 2, 5, 9, 14, 14, 23, 40, 41)]
LEAKS = np.linspace(0.05, 1.0, 30)
FORMS = {
    "leaks": {"leak_rate": LEAKS},
    "drawn leaks": {"leak_rate": kn.LogUniform(0.03, 1.0)},
    "tanh": {"activation": "tanh", "leak_rate": 0.3},
    "bias": {"bias_scale": 0.5, "leak_rate": 0.3},
    "centred": {"delays": kn.Delays(5, (1, 3)), "leak_rate": 0.3},
    "causal": {"delays": kn.Delays(4, (2, 1, 7), centred=False, balanced=False), "leak_rate": 0.3},
    "all": {"delays": kn.Delays(9, (1, 2, 4)), "leak_rate": LEAKS, "activation": "tanh", "bias_scale": 0.5},
}  # fmt: skip


def made(form, **more):
    return kn.Reservoir(30, **{"spectral_radius": 0.9, "seed": 2, "n_inputs": 3, **FORMS[form], **more})


def expected(reservoir, series):
    bias = 0.0 if reservoir.bias is None else reservoir.bias
    parts = reservoir.activation, bias, reservoir.delays
    return naive.run(reservoir.W, reservoir.W_in, reservoir.leak_rate, series, *parts)


@pytest.mark.parametrize("weights", ["gaussian", "lognormal"])
@pytest.mark.parametrize("form", FORMS)
def test_states_equal_the_oracle(form, weights):
    reservoir = made(form, input_weights=weights)
    whole, alone = reservoir.run(SERIES, trajectory=True), reservoir.run(SERIES[-2:-1], trajectory=True)[0]
    for series, states in zip([*SERIES, SERIES[-2]], [*whole, alone], strict=True):
        oracle = expected(reservoir, series)
        assert np.abs(states - oracle).max() <= 1e-5 * max(1.0, np.abs(oracle).max())


@pytest.mark.parametrize("form", FORMS)
def test_kernels_widths_company_and_threads_give_the_same_bits(form, monkeypatch):
    reservoir = made(form)
    final, whole = reservoir.run(SERIES), reservoir.run(SERIES, trajectory=True)
    for i, series in enumerate(SERIES):
        np.testing.assert_array_equal(reservoir.run([series])[0], final[i])
        np.testing.assert_array_equal(reservoir.run(series[None], trajectory=True)[0], whole[i])
    np.testing.assert_array_equal(reservoir.run(SERIES[::-1], threads=3)[::-1], final)
    for few, rows in ((0, Rows8), (0, Rows16), (0, Rows32), (99, None)):
        monkeypatch.setattr("kenyon.simulation.FEW_EPISODES", few)
        monkeypatch.setattr("kenyon.simulation._rows", lambda n, rows=rows: rows)
        np.testing.assert_array_equal(reservoir.run(SERIES), final)


@pytest.mark.parametrize("form", ["centred", "causal", "all"])
def test_streams_with_noise_equal_the_run_of_their_own_inputs(form):
    task = kn.StaticTask(kn.load_odours(), 8, steps=12)
    reservoir = made(form, n_inputs=24)
    for n in (1, 40):
        states = np.concatenate([batch.states for batch in reservoir.stream(task, n, seed=5)])
        np.testing.assert_array_equal(states, reservoir.run(task.inputs(n, seed=5)))


@pytest.mark.parametrize("form", FORMS)
def test_the_weights_of_a_reservoir_give_its_states_to_the_bit(form):
    drawn = made(form)
    own = kn.Reservoir.from_weights(
        W_in=drawn.W_in, W=drawn.W.toarray(), leak_rate=drawn.leak_rate, activation=drawn.activation,
        delays=drawn.delays, bias=drawn.bias,
    )  # fmt: skip
    np.testing.assert_array_equal(own.run(SERIES), drawn.run(SERIES))
    assert own.n_inputs == drawn.n_inputs == 3


@pytest.mark.parametrize("leak", [1.0, 0.3, LEAKS])
def test_weights_of_reservoirpy_give_its_states(leak):
    """Its update, as documented: r = (1 - lr) r + lr tanh(W r + Win u + bias), without noise."""
    rng = np.random.default_rng(1)
    W = sparse.random_array((30, 30), density=0.1, rng=rng, data_sampler=rng.standard_normal)
    Win, bias = rng.choice([-1.0, 1.0], (30, 3)) * (rng.random((30, 3)) < 0.5), rng.choice([-1.0, 1.0], (30, 1))
    own = kn.Reservoir.from_weights(W_in=Win, W=W, bias=bias.ravel(), leak_rate=leak, activation="tanh")
    states, r = [], np.zeros((30, 1))
    lr = np.reshape(leak, (-1, 1))
    for u in SERIES[-1]:
        r = (1 - lr) * r + lr * np.tanh(W @ r + Win @ u[:, None].astype(float) + bias)
        states.append(r.ravel())
    np.testing.assert_allclose(own.run([SERIES[-1]], trajectory=True)[0], states, atol=1e-5)
    np.testing.assert_allclose(own.run([SERIES[-1]] * 9, trajectory=True)[4], states, atol=1e-5)


def test_tanh_is_within_a_millionth_everywhere_odd_and_never_beyond_1():
    from kenyon.kernels.cache import kernel

    @kernel
    def squash(rows):
        for row in range(len(rows.values)):
            store(rows, np.uint64(row), _squashed(load(rows, np.uint64(row))))

    x = np.concatenate([np.linspace(-15, 15, 400_000), 10.0 ** np.linspace(-40, 38, 80_000)]).astype(np.float32)
    found = []
    for sign in (1, -1):
        rows = Rows32((sign * x).reshape(-1, 32).copy())
        squash(rows)
        found.append(sign * rows.values.ravel())
    np.testing.assert_array_equal(*found)
    true = np.tanh(x.astype(np.float64))
    assert np.abs(found[0] - true).max() < 1e-6
    assert (np.abs(found[0] - true) <= 1e-6 * np.abs(true)).all()
    assert np.abs(found[0]).max() <= 1


def test_what_fades_away_on_either_side_ends_at_nothing():
    reservoir = kn.Reservoir(30, 0.5, 0.1, n_inputs=3, input_weights="gaussian", activation="tanh")
    silence = np.zeros((3, 400, 3), np.float32)
    silence[:, 0] = 1
    for states in (reservoir.run(silence[:1], trajectory=True), reservoir.run(silence, trajectory=True)):
        assert states[0, 5].min() < 0 < states[0, 5].max()
        assert not states[:, -1].any()
        assert np.abs(states[states != 0]).min() > 1e-30


def test_drawn_leaks_are_log_uniform_and_the_seeds_own():
    rates = kn.Reservoir(3000, kn.LogUniform(0.01, 1.0), connections=2).leak_rate
    logs = np.log10(rates)
    assert rates.min() >= 0.01
    assert rates.max() <= 1.0
    np.testing.assert_allclose(np.histogram(logs, 4, (-2, 0))[0] / 3000, 0.25, atol=0.04)
    a, b, c = (kn.Reservoir(30, kn.LogUniform(0.01, 1.0), seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.leak_rate, b.leak_rate)
    np.testing.assert_array_equal(a.leak_rate, kn.LogUniform(0.01, 1.0).draw(30, seed=1))
    assert not np.array_equal(a.leak_rate, c.leak_rate)
    np.testing.assert_array_equal(a.W_in.toarray(), kn.Reservoir(30, 0.1, seed=1).W_in.toarray())
    with pytest.raises(ValueError, match="read-only"):
        a.leak_rate[0] = 1


def test_one_leak_for_each_equals_one_for_all():
    one, each = (kn.Reservoir(30, leak, n_inputs=3, seed=1) for leak in (0.2, np.full(30, 0.2)))
    np.testing.assert_array_equal(one.run(SERIES), each.run(SERIES))


def test_balanced_taps_do_not_hear_a_level():
    reservoir = kn.Reservoir(40, 1.0, 0.0, n_inputs=2, delays=kn.Delays(9, (1, 2)), input_weights="gaussian")
    assert np.abs(reservoir.W_in.toarray().reshape(40, 2, 9).sum(axis=2)).max() < 1e-5
    states = reservoir.run(np.ones((3, 60, 2), np.float32), trajectory=True)
    assert np.abs(states[:, 20:40]).max() < 1e-5  # away from the ends
    assert np.abs(states[:, 0]).max() > 0.1
    plain = kn.Reservoir(40, 1.0, 0.0, n_inputs=2, input_weights="gaussian")
    norms = np.sqrt((reservoir.W_in.toarray().reshape(40, 2, 9) ** 2).sum(axis=2))
    np.testing.assert_allclose(norms, np.abs(plain.W_in.toarray()), rtol=1e-5)


def test_causal_delays_hear_the_past_only():
    reservoir = made("causal")
    a = SERIES[-1].copy()
    b = a.copy()
    b[20:] = 0
    np.testing.assert_array_equal(
        reservoir.run([a], trajectory=True)[0][:20], reservoir.run([b], trajectory=True)[0][:20]
    )
    ahead = made("centred")
    assert not np.array_equal(ahead.run([a], trajectory=True)[0][19], ahead.run([b], trajectory=True)[0][19])


def test_input_weights_of_zero_with_delays_are_silent():
    own = kn.Reservoir.from_weights(W_in=np.zeros((4, 6)), delays=kn.Delays(3))
    assert not own.run(SERIES[-1][None, :, :2]).any()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_are_the_same(form, again):
    reservoir = made(form)
    copied = again(reservoir)
    np.testing.assert_array_equal(copied.run(SERIES), reservoir.run(SERIES))
    assert repr(copied) == repr(reservoir)


def test_results_record_what_is_unusual_and_nothing_else():
    task, learners = kn.StaticTask(kn.load_odours(), 8, steps=8), {"ridge": kn.Ridge()}
    plain, other = (
        json.loads(kn.train(learners, reservoir, task, 200, n_test=50).attrs["config"])["reservoir"]
        for reservoir in (kn.Reservoir(30), made("all", n_inputs=24, leak_rate=kn.LogUniform(0.1, 1.0)))
    )
    assert not {"activation", "delays", "bias_scale", "leak_range"} & plain.keys()
    assert (other["activation"], other["bias_scale"]) == ("tanh", 0.5)
    assert other["leak_range"] == {"low": 0.1, "high": 1.0}
    assert other["delays"] == {"taps": 9, "spacings": [1, 2, 4], "centred": True, "balanced": True}


def only(**reservoir):
    settings = {"task": {"n_stimuli": 4}, "reservoir": {"n_neurons": 20, **reservoir}, "learners": {"Ridge": {}}}
    (trial,) = load_experiment(settings).trials
    return trial


def test_experiments_set_it_all_and_trials_without_it_keep_their_names():
    task = kn.StaticTask(kn.load_odours(), 4)
    table = {"activation": "tanh", "bias_scale": 0.5, "leak_rate": {"low": 0.1, "high": 1.0},
             "delays": {"taps": 3, "spacings": [[1, 2]]}}  # fmt: skip
    trial = only(**table)
    built = trial.reservoir.build(task, 3)
    given = {"activation": "tanh", "bias_scale": 0.5, "delays": kn.Delays(3, (1, 2))}
    wanted = kn.Reservoir(20, kn.LogUniform(0.1, 1.0), seed=3, **given)
    x = task.inputs(4)
    np.testing.assert_array_equal(built.run(x), wanted.run(x))
    assert only().id == only(activation="relu", bias_scale=0.0, delays=None).id
    assert len({only().id, trial.id, only(activation="tanh").id, only(delays={"taps": 3}).id}) == 4
    for wrong in ({"activation": "sine"}, {"delays": {"taps": 4}}, {"leak_rate": {"low": 0.1, "high": 2.0}}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            only(**wrong)


def test_mistakes_are_refused_by_name():
    for wrong, message in [
        ({"leak_rate": np.ones(29)}, r"leak_rate must have shape \(30,\), one for each neuron, not \(29,\)"),
        ({"leak_rate": np.zeros(30)}, "leak_rate must be above 0 and at most 1 for all neurons"),
        ({"leak_rate": kn.LogUniform(0.5, 2.0)}, r"leak_rate.high must be a number in \[0, 1\], not 2.0"),
        ({"activation": "sigmoid"}, "activation must be one of 'relu', 'tanh', not 'sigmoid'"),
        ({"delays": 9}, "delays must be a Delays, not 9"),
        ({"delays": kn.Delays(3, tuple(range(1, 32)))}, "spacings must be at most as many as there are neurons, 30"),
        ({"bias_scale": -1}, "bias_scale must be a number"),
    ]:
        with pytest.raises(ValueError, match=message):
            made("leaks", **wrong)
    for wrong, message in [
        ({"taps": 4}, "taps must be an odd number with centred=True, not 4"),
        ({"taps": 1}, "taps must be an integer from 2"),
        ({"spacings": 0}, "spacings must be an integer from 1"),
        ({"spacings": ()}, "spacings must be a number of steps, or several, not none"),
        ({"taps": 99, "spacings": 10**5}, "must reach over at most 1048576 steps"),
        ({"centred": 1}, "centred must be True or False"),
    ]:
        with pytest.raises(ValueError, match=message):
            kn.Delays(**wrong)
    with pytest.raises(ValueError, match="W_in must have 3 columns for each input, one per tap, not 4 in all"):
        kn.Reservoir.from_weights(W_in=np.ones((2, 4)), delays=kn.Delays(3))
    with pytest.raises(ValueError, match="bias must have shape"):
        kn.Reservoir.from_weights(W_in=np.ones((2, 4)), bias=np.ones(3))
    with pytest.raises(ValueError, match="leak_rate must be a number or an array here"):
        kn.Reservoir.from_weights(W_in=np.ones((2, 4)), leak_rate=kn.LogUniform(0.1, 1.0))
    with pytest.raises(ValueError, match=r"low must be a number in \(0"):
        kn.LogUniform(0.0, 1.0)
    with pytest.raises(ValueError, match="high must be a number in"):
        kn.LogUniform(0.5, 0.1)
