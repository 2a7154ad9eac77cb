import numpy as np
import pytest
from scipy import sparse, stats

import kenyon as kn
from kenyon import connectivity
from kenyon.connectivity import spectral_radius


def degrees(matrix):
    return np.diff(matrix.indptr)


@pytest.mark.parametrize("n", [3, 30, 101, 300, 1000])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_spectral_radius_is_exact(n, seed):
    W = kn.Reservoir(n, spectral_radius=0.95, seed=seed).W
    assert W.dtype == np.float32
    largest = np.abs(np.linalg.eigvals(W.toarray().astype(np.float64))).max()
    assert largest == pytest.approx(0.95, rel=2e-6)


@pytest.mark.parametrize("seed", [22, 23, 24])  # ARPACK's answer for 23 is 1e-8 off at a tolerance of 1e-7
def test_the_ten_digits_kept_of_the_spectral_radius_are_right(seed):
    rng = np.random.default_rng(seed)
    W = rng.uniform(-1.0, 1.0, (300, 300)) * (rng.random((300, 300)) < 1 / 30)
    assert spectral_radius(sparse.csr_array(W)) == pytest.approx(np.abs(np.linalg.eigvals(W)).max(), rel=6e-10)


def test_eigensolver_copes_with_crowded_spectra():
    ring = sparse.csr_array(np.roll(np.eye(400), 1, axis=0))  # all eigenvalues on the unit circle
    assert spectral_radius(ring) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("strength", [1.0, 1e4])  # of one half's connections to the other, which make no loop
@pytest.mark.parametrize("size", [1.0, 1e-60, 1e60])  # the eighth power of the latter is no number
def test_the_ten_digits_are_right_however_large_or_lopsided_the_matrix(strength, size):
    rng = np.random.default_rng(0)
    W = rng.uniform(-1.0, 1.0, (300, 300)) * (rng.random((300, 300)) < 0.05)
    W[:150, 150:] *= strength
    W[150:, :150] = 0.0
    largest = np.abs(np.linalg.eigvals(W)).max()
    assert spectral_radius(sparse.csr_array(size * W)) == pytest.approx(size * largest, rel=6e-10)


def test_remembered_spectral_radii_are_those_of_the_same_matrix(monkeypatch):
    monkeypatch.setattr(connectivity, "REMEMBERED", 2)
    made = [sparse.csr_array(np.diag([size, 1.0])) for size in (2.0, 3.0, 4.0)]
    shifted = sparse.csr_array(np.array([[0.0, 2.0], [1.0, 0.0]]))  # the numbers of the first, in other places
    for _ in range(2):
        assert [spectral_radius(W) for W in made] == [2.0, 3.0, 4.0]
        assert spectral_radius(shifted) == pytest.approx(2**0.5)
        assert len(connectivity._known) <= 2
    made[0].data[:] = 5.0
    assert spectral_radius(made[0]) == 5.0


def test_recurrent_entries_are_independent_and_uniform():
    W = kn.Reservoir(1000, seed=4).W
    expected = 1000 * 1000 * 0.01
    assert abs(W.nnz - expected) < 4.5 * np.sqrt(expected)
    counts = degrees(W)
    assert counts.var() == pytest.approx(9.9, rel=0.25)  # binomial, not a fixed number each
    assert stats.kstest(W.data / np.abs(W.data).max(), stats.uniform(-1, 2).cdf).pvalue > 1e-4
    assert W.has_canonical_format


def test_lognormal_input_weights_are_inverse_to_the_number_of_inputs():
    W_in = kn.Reservoir(4000, seed=5).W_in
    counts = degrees(W_in)
    assert counts.min() >= 1
    assert counts.max() <= 24
    assert counts.mean() == pytest.approx(6, abs=0.01)
    weights = W_in.data[W_in.indptr[:-1]]
    np.testing.assert_array_equal(W_in.data, np.repeat(weights, counts))  # one weight per neuron
    assert abs(weights.mean() - 1) < 4.5 * np.sqrt(0.5 / 4000)
    assert weights.var() == pytest.approx(0.5, rel=0.2)
    sigma = np.sqrt(np.log(1.5))
    assert stats.kstest(np.log(weights), stats.norm(-(sigma**2) / 2, sigma).cdf).pvalue > 1e-4
    inside = (counts > 1) & (counts < 24)
    c = np.median((counts * weights)[inside])
    np.testing.assert_array_less(np.abs(counts - c / weights)[inside], 0.75)


def test_other_input_forms_are_what_they_say():
    fixed = kn.Reservoir(500, input_weights="fixed_degree").W_in
    assert set(degrees(fixed)) == {6}
    uniform = kn.Reservoir(2000, input_weights="uniform").W_in
    assert degrees(uniform).mean() == pytest.approx(6, abs=0.01)
    assert stats.kstest(uniform.data, stats.uniform(0, 2).cdf).pvalue > 1e-4
    gaussian = kn.Reservoir(500, input_weights="gaussian").W_in
    assert gaussian.nnz == 500 * 24
    assert stats.kstest(gaussian.data, "norm").pvalue > 1e-4


def test_input_forms_drive_the_network_as_strongly_as_their_docstring_says(odours):
    figures = {"lognormal": 1050, "fixed_degree": 1430, "uniform": 3180, "gaussian": 1000}
    drives = {form: [] for form in figures}
    for seed in range(2):
        for form in figures:
            reservoir, task = kn.Reservoir(seed=seed, input_weights=form), kn.StaticTask(odours, seed=seed)
            V = next(reservoir.stream(task, 400, seed, batch_size=400)).states
            drives[form].append((V.astype(np.float64) ** 2).sum(axis=1).mean())
        assert drives["lognormal"][-1] < drives["fixed_degree"][-1] < drives["uniform"][-1]
        assert drives["gaussian"][-1] < drives["fixed_degree"][-1]
    for form, drive in figures.items():
        assert np.mean(drives[form]) == pytest.approx(drive, rel=0.15)
        assert f"{drive} ({form})" in connectivity.inputs.__doc__


@pytest.mark.parametrize("form", ["lognormal", "uniform", "fixed_degree"])
@pytest.mark.parametrize("wanted", [1, 7, 12, 13, 20, 24])
def test_the_number_of_inputs_is_the_one_asked_for(form, wanted):
    reservoir = kn.Reservoir(500, input_weights=form, input_connections=wanted)
    assert reservoir.input_connections == wanted
    assert degrees(reservoir.W_in).mean() == pytest.approx(wanted, abs=1 / 500)
    if form == "fixed_degree":
        assert set(degrees(reservoir.W_in)) == {wanted}


def test_a_fractional_mean_number_of_inputs_is_kept_where_neurons_may_differ():
    for form in ("lognormal", "uniform"):
        W_in = kn.Reservoir(500, input_weights=form, input_connections=16.5).W_in
        assert degrees(W_in).mean() == pytest.approx(16.5, abs=1 / 500)


def test_the_weights_of_a_fixed_number_of_inputs_do_not_grow_with_it():
    few, many = (kn.Reservoir(500, input_weights="fixed_degree", input_connections=k).W_in for k in (6, 24))
    assert many.data.mean() == pytest.approx(few.data.mean(), rel=0.1)


def test_numbers_of_connections_that_are_not_given_follow_the_size():
    assert (kn.Reservoir(5).connections, kn.Reservoir(50).connections) == (5.0, 10.0)
    wanted = [kn.Reservoir(5, n_inputs=n).input_connections for n in (1, 2, 5, 24)]
    assert wanted == [1.0, 1.0, 2.5, 6.0]
    assert kn.Reservoir(5, n_inputs=5, input_weights="fixed_degree").input_connections == 2.0
    assert kn.Reservoir(5, input_weights="gaussian").input_connections is None
    given = kn.Reservoir(50, connections=10, input_connections=6)
    for one, other in ((given.W, kn.Reservoir(50).W), (given.W_in, kn.Reservoir(50).W_in)):
        np.testing.assert_array_equal(one.toarray(), other.toarray())


def test_input_gain_and_few_inputs():
    plain, loud = kn.Reservoir(50, seed=1), kn.Reservoir(50, seed=1, input_gain=4.0)
    np.testing.assert_array_equal(loud.W_in.toarray(), 4 * plain.W_in.toarray())
    for n_inputs in (1, 2, 5):
        W_in = kn.Reservoir(200, n_inputs=n_inputs).W_in
        assert W_in.shape == (200, n_inputs)
        assert degrees(W_in).mean() <= max(1, n_inputs / 2) + 0.01


def test_unconnected_neurons_and_loopless_networks():
    unconnected = kn.Reservoir(100, connections=0)
    assert unconnected.W.nnz == 0
    assert unconnected.spectral_radius == 0
    assert kn.Reservoir(100, spectral_radius=0).W.nnz == 0
    with pytest.raises(ValueError, match="connections = 0.001 .*without a single loop"):
        kn.Reservoir(50, connections=0.001)


@pytest.mark.parametrize("n", [30, 300])  # by LAPACK, and by ARPACK
def test_a_network_without_loops_has_no_spectral_radius(n):
    order = np.random.default_rng(0).permutation(n)
    chain = sparse.csr_array(np.triu(np.ones((n, n)), 1)[order][:, order])
    assert spectral_radius(chain) == 0.0


def test_seeds_decide_all_weights_and_names_keep_them_apart():
    a, b, c = kn.Reservoir(100, seed=1), kn.Reservoir(100, seed=1), kn.Reservoir(100, seed=2)
    assert (a.W != b.W).nnz == 0
    assert (a.W_in != b.W_in).nnz == 0
    assert (a.W != c.W).nnz > 0
    other_form = kn.Reservoir(100, seed=1, input_weights="gaussian")
    assert (a.W != other_form.W).nnz == 0  # W does not depend on how W_in was drawn
