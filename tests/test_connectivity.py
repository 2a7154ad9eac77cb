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


def test_input_gain_and_few_inputs():
    plain, loud = kn.Reservoir(50, seed=1), kn.Reservoir(50, seed=1, input_gain=4.0)
    np.testing.assert_array_equal(loud.W_in.toarray(), 4 * plain.W_in.toarray())
    for n_inputs in (1, 2, 5):
        W_in = kn.Reservoir(200, n_inputs=n_inputs).W_in
        assert W_in.shape == (200, n_inputs)
        assert degrees(W_in).mean() <= max(1, n_inputs / 2) + 0.01


def test_unconnected_neurons_and_loopless_networks():
    assert kn.Reservoir(100, connections=0).W.nnz == 0
    assert kn.Reservoir(100, spectral_radius=0).W.nnz == 0
    with pytest.raises(ValueError, match="connections = 0.001 .*without a single loop"):
        kn.Reservoir(50, connections=0.001)


def test_seeds_decide_all_weights_and_names_keep_them_apart():
    a, b, c = kn.Reservoir(100, seed=1), kn.Reservoir(100, seed=1), kn.Reservoir(100, seed=2)
    assert (a.W != b.W).nnz == 0
    assert (a.W_in != b.W_in).nnz == 0
    assert (a.W != c.W).nnz > 0
    other_form = kn.Reservoir(100, seed=1, input_weights="gaussian")
    assert (a.W != other_form.W).nnz == 0  # W does not depend on how W_in was drawn
