import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import kenyon as kn
from kenyon.kernels.lanes import Rows8, Rows16
from kenyon.kernels.many_episodes import FAR
from tests import naive

ODOURS = kn.load_odours()
STATIC = kn.StaticTask(ODOURS, 20, steps=12)
SEQUENCE = kn.SequenceTask(ODOURS, 1, steps=4)


def close(states, expected):
    """Within 1e-5 of the oracle, relative to the largest state of the series."""
    return np.abs(states - expected).max() <= 1e-5 * np.abs(expected).max()


def gather(reservoir, task, n, **options):
    batches = list(reservoir.stream(task, n, **options))
    return kn.Batch(*(np.concatenate(parts) for parts in zip(*batches, strict=True)))


@pytest.mark.parametrize("form", ["lognormal", "fixed_degree", "uniform", "gaussian"])
@pytest.mark.parametrize("task", [kn.StaticTask(ODOURS, 40, noise=0), kn.SequenceTask(ODOURS, 2, noise=0)])
def test_states_equal_the_oracle(task, form):
    leak, radius = (0.025, 0.8) if task.items.shape[1] == 1 else (0.1, 0.95)
    reservoir = kn.Reservoir(1000, leak, radius, seed=3, input_weights=form)
    batch = gather(reservoir, task, 50, seed=1)
    for state, item, label in zip(*batch[:1], batch.items, batch.labels, strict=True):
        shown = np.repeat(ODOURS.scaled[task.items[item]], task.steps, axis=0)
        assert close(state, naive.run(reservoir.W, reservoir.W_in, leak, shown)[-1])
        assert label == task.labels[item]


def test_rows_asked_for_ahead_change_nothing():
    """A block of so many neurons is too large for the nearer caches; one episode at a time is not."""
    rng = np.random.default_rng(0)
    n, n_neurons = 17, FAR // (2 * 4 * 32) + 8
    W = sparse.random_array((n_neurons, n_neurons), density=2 / n_neurons, format="csr", rng=rng, dtype=np.float32)
    W_in = rng.normal(size=(n_neurons, 2)).astype(np.float32)
    reservoir = kn.Reservoir.from_weights(W=sparse.csr_array(0.5 * W), W_in=W_in, leak_rate=0.3)
    inputs = rng.normal(size=(n, 4, 2)).astype(np.float32)
    states = reservoir.run(inputs)
    for k in (0, n - 1):
        np.testing.assert_array_equal(states[k : k + 1], reservoir.run(inputs[k : k + 1]))


@given(
    n_neurons=st.integers(1, 60),
    n_inputs=st.integers(1, 9),
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=70),
    leak=st.floats(0.01, 1.0),
    seed=st.integers(0, 99),
)
@settings(max_examples=30, deadline=None)
def test_ragged_lists_and_trajectories_equal_the_oracle(n_neurons, n_inputs, lengths, leak, seed):
    reservoir = kn.Reservoir(n_neurons, leak, 0.9, seed, n_inputs=n_inputs, connections=n_neurons)
    rng = np.random.default_rng(seed)
    series = [rng.normal(size=(length, n_inputs)).astype(np.float32) for length in lengths]
    final, whole = reservoir.run(series), reservoir.run(series, trajectory=True)
    for state, trajectory, inputs in zip(final, whole, series, strict=True):
        expected = naive.run(reservoir.W, reservoir.W_in, leak, inputs)
        assert trajectory.shape == expected.shape
        assert close(trajectory, expected)
        np.testing.assert_array_equal(trajectory[-1], state)


@pytest.mark.parametrize("task", [STATIC, SEQUENCE])
def test_noisy_stream_equals_the_run_of_its_own_inputs_to_the_bit(task):
    reservoir = kn.Reservoir(200, seed=1)
    batch = gather(reservoir, task, 300, seed=5)
    np.testing.assert_array_equal(batch.states, reservoir.run(task.inputs(300, seed=5)))
    expected = naive.run(reservoir.W, reservoir.W_in, reservoir.leak_rate, task.inputs(300, seed=5)[299])
    assert close(batch.states[299], expected[-1])


@pytest.mark.parametrize("batch_size", [1, 7, 100, 256, 1000])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_stream_does_not_depend_on_batches_and_threads(batch_size, threads):
    reservoir = kn.Reservoir(64, seed=1)
    expected = gather(reservoir, STATIC, 777, seed=9)
    batches = list(reservoir.stream(STATIC, 777, seed=9, batch_size=batch_size, threads=threads))
    assert [len(batch.items) for batch in batches[:-1]] == [batch_size] * (len(batches) - 1)
    for parts, whole in zip(zip(*batches, strict=True), expected, strict=True):
        np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("n_neurons", [1, 7, 8, 33, 200])
@pytest.mark.parametrize("connections", [0, 5])
@pytest.mark.parametrize("task", [STATIC, SEQUENCE])
def test_kernels_and_widths_give_the_same_bits(n_neurons, connections, task, monkeypatch):
    reservoir = kn.Reservoir(n_neurons, seed=1, connections=min(connections, n_neurons))
    expected = gather(reservoir, task, 40, seed=2, batch_size=1)  # 32 lanes
    for few, rows in ((0, Rows8), (0, Rows16), (99, None)):  # None: one by one
        monkeypatch.setattr("kenyon.simulation.FEW_EPISODES", few)
        monkeypatch.setattr("kenyon.simulation._rows", lambda n, rows=rows: rows)
        np.testing.assert_array_equal(gather(reservoir, task, 40, seed=2, batch_size=40).states, expected.states)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 16, 17, 31, 32, 33, 65])
def test_states_do_not_depend_on_how_many_are_asked_for(n):
    reservoir = kn.Reservoir(50, seed=1)
    np.testing.assert_array_equal(
        gather(reservoir, STATIC, n, seed=4).states, gather(reservoir, STATIC, 70, seed=4).states[:n]
    )


def test_what_fades_away_ends_at_nothing():
    reservoir = kn.Reservoir(30, leak_rate=0.5, spectral_radius=0.1, seed=1)
    silence = np.zeros((3, 400, 24), np.float32)
    silence[:, 0] = 1
    for states in (reservoir.run(silence[:1], trajectory=True), reservoir.run(silence, trajectory=True)):
        assert states[0, 20].max() > 0
        assert not states[:, -1].any()
        assert states[states > 0].min() > 1e-30  # far above the denormal numbers


def test_run_does_not_depend_on_company_order_or_threads():
    reservoir = kn.Reservoir(100, seed=1)
    x = STATIC.inputs(600, seed=1)
    whole = reservoir.run(x)
    np.testing.assert_array_equal(whole, reservoir.run(x, threads=3))
    np.testing.assert_array_equal(whole[::-1], reservoir.run(x[::-1]))
    np.testing.assert_array_equal(whole[37:38], reservoir.run(x[37:38]))
    np.testing.assert_array_equal(whole, reservoir.run(list(x)))
    np.testing.assert_array_equal(reservoir.run(x[:40], trajectory=True)[:, -1], whole[:40])


def test_seeds_change_noise_and_items():
    reservoir = kn.Reservoir(30)
    a, b = gather(reservoir, STATIC, 64, seed=0), gather(reservoir, STATIC, 64, seed=1)
    assert not np.array_equal(a.items, b.items)
    assert not np.array_equal(a.states, b.states)


def test_layouts_and_dtypes_make_no_difference():
    reservoir = kn.Reservoir(40, n_inputs=3)
    x = np.random.default_rng(0).integers(-3, 4, size=(10, 6, 3))
    expected = reservoir.run(x.astype(np.float32))
    for form in (x, x.astype(np.float64), x.astype(">f4"), np.asfortranarray(x), x.tolist(), np.repeat(x, 2, 0)[::2]):
        np.testing.assert_array_equal(reservoir.run(form), expected)


def test_none_at_all_is_an_answer():
    reservoir = kn.Reservoir(40)
    assert reservoir.run(np.zeros((0, 5, 24))).shape == (0, 40)
    assert reservoir.run([]).shape == (0, 40)
    assert list(reservoir.stream(STATIC, 0)) == []


def test_memory_does_not_grow_with_the_number_of_episodes():
    reservoir = kn.Reservoir(100)
    task = kn.StaticTask(ODOURS, 20, steps=2)

    def peak(n):
        tracemalloc.start()
        for _ in reservoir.stream(task, n, threads=2):
            pass
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return memory

    peak(5_000)
    assert peak(50_000) < peak(5_000) + 1_000_000


def test_a_slow_reader_is_not_run_away_from():
    reservoir = kn.Reservoir(50)
    stream = reservoir.stream(STATIC, 10**12, threads=2)
    assert len(next(stream).items) == 256
    stream.close()


def test_a_large_reservoir_is_never_dense():
    tracemalloc.start()
    reservoir = kn.Reservoir(6000, connections=10)
    states = reservoir.run(STATIC.inputs(2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(states).all()
    assert peak < 72e6  # half of what a dense matrix of float32 would take


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kn.Reservoir(0), "n_neurons .*not 0"),
        (lambda: kn.Reservoir(10.5), "n_neurons .*not 10.5"),
        (lambda: kn.Reservoir(10, leak_rate=0), r"leak_rate must be a number in \(0, 1\], not 0"),
        (lambda: kn.Reservoir(10, leak_rate=1.01), r"leak_rate must be a number in \(0, 1\], not 1.01"),
        (lambda: kn.Reservoir(10, leak_rate="fast"), "leak_rate .*not 'fast'"),
        (lambda: kn.Reservoir(10, spectral_radius=-1), r"spectral_radius must be a number in \[0, inf\), not -1"),
        (lambda: kn.Reservoir(10, spectral_radius=np.inf), "spectral_radius .*not inf"),
        (lambda: kn.Reservoir(10, seed=1.0), "seed must be an integer of at least 0, not 1.0"),
        (lambda: kn.Reservoir(10, input_weights="normal"), "input_weights must be one of 'lognormal'.*not 'normal'"),
        (lambda: kn.Reservoir(10, n_inputs=0), "n_inputs .*not 0"),
        (lambda: kn.Reservoir(10, connections=-1), "connections .*not -1"),
        (lambda: kn.Reservoir(10, connections=10.5), "connections must be at most n_neurons=10, not 10.5"),
        (lambda: kn.Reservoir(10, input_connections=25), "input_connections must be at most n_inputs=24, not 25"),
        (
            lambda: kn.Reservoir(10, input_weights="fixed_degree", input_connections=6.5),
            "input_connections must be a whole number with input_weights='fixed_degree', not 6.5",
        ),
        (
            lambda: kn.Reservoir(10, input_weights="gaussian", input_connections=6.0),
            "input_connections = 6.0 would do nothing: input_weights='gaussian' connects all inputs",
        ),
    ],
)
def test_bad_arguments_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.zeros((2, 5, 7)), r"inputs must be 24 channels wide \(n_inputs\), not 7"),
        (np.zeros((5, 24)), r"inputs must have shape \(n, T, 24\), not \(5, 24\)"),
        (np.zeros((2, 0, 24)), "inputs must have at least one step"),
        (np.full((2, 5, 24), np.nan), r"inputs must be finite.*inputs\[0, 0, 0\] is nan"),
        (np.full((2, 5, 24), 1e39), "inputs must be finite and within float32"),
        (np.full((2, 5, 24), "a"), "inputs must hold real numbers"),
        ([np.zeros((5, 24)), np.zeros((5, 23))], r"inputs\[1\] must be 24 channels wide"),
        ([np.zeros((5, 24)), np.zeros((0, 24))], r"inputs\[1\] must have at least one step"),
        ([np.zeros(24)], r"inputs\[0\] must have shape \(T, 24\), not \(24,\)"),
        ([[[1.0] * 24, [2.0]]], r"inputs\[0\] .*rows differ in length"),
        ([np.full((5, 24), np.inf)], r"inputs\[0\] must be finite"),
    ],
)
def test_bad_inputs_are_refused_by_name(inputs, message):
    with pytest.raises(ValueError, match=message):
        kn.Reservoir(10).run(inputs)


def test_bad_stream_arguments_are_refused_at_once():
    reservoir = kn.Reservoir(10)
    for options, message in [
        ({"n_episodes": -1}, "n_episodes"),
        ({"n_episodes": 5, "seed": 0.5}, "seed"),
        ({"n_episodes": 5, "batch_size": 0}, "batch_size"),
        ({"n_episodes": 5, "threads": 0}, "threads"),
    ]:
        with pytest.raises(ValueError, match=message):
            reservoir.stream(STATIC, **options)
    with pytest.raises(ValueError, match="24 channels, but reservoir has n_inputs=3"):
        kn.Reservoir(10, n_inputs=3).stream(STATIC, 5)


def test_states_that_overflow_are_an_error_not_a_number():
    wild = kn.Reservoir(50, leak_rate=1.0, spectral_radius=1e6)
    with pytest.raises(ValueError, match="states exceed float32 with spectral_radius=1e\\+06"):
        wild.run(STATIC.inputs(4, seed=0))
