import numpy as np
import pytest

import kenyon as kn
from kenyon.readout import draw_choices, tempered

W = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]])
V = np.random.default_rng(0).random((5, 3))


@pytest.mark.parametrize("theta", [{}, {"theta": None}, {"theta": np.zeros(3)}])
def test_theta_may_be_left_out_without_thresholds(theta, tmp_path):
    readout = kn.Readout(W, **theta, thresholds=False, temperature=0)
    np.testing.assert_allclose(readout.outputs(V), V @ W.T, rtol=1e-6)
    readout.save(tmp_path / "readout")
    np.testing.assert_array_equal(kn.load(tmp_path / "readout").outputs(V), readout.outputs(V))
    with pytest.raises(ValueError, match=r"theta must have shape \(3,\)"):
        kn.Readout(W, None).outputs(V)


@pytest.mark.parametrize("temperature", [-1.0, 1e-300, np.nan, np.inf, "cold", None])
def test_a_temperature_that_cannot_be_is_refused(temperature):
    with pytest.raises(ValueError, match="temperature must be"):
        kn.Readout(W, thresholds=False, temperature=temperature).outputs(V)


def test_at_temperature_0_all_probability_is_on_the_first_of_the_largest_outputs():
    y = np.array([[1.0, 3.0, 2.0], [5.0, 5.0, 5.0], [-1e30, 0.0, 0.0], [-2.0, -1.0, -1.5]])
    np.testing.assert_array_equal(np.exp(tempered(y, 0)), np.eye(3)[[1, 0, 1, 1]])
    for u in (0.0, 0.5, 1 - 2**-32):
        np.testing.assert_array_equal(draw_choices(np.exp(tempered(y, 0)), np.full(4, u)), [1, 0, 1, 1])
    np.testing.assert_array_equal(tempered(y, 4.0), y / 4)
