import warnings
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

import kenyon as kn

mpl.use("agg")


def test_published_table_has_its_176_stimuli_and_subsets(odours):
    assert odours.rates.shape == (176, 24)
    assert len(set(odours.names)) == 176
    sizes = {name: len(kn.load_odours(name)) for name in ("all", "odorants", "paper", "fruits")}
    assert sizes == {"all": 176, "odorants": 110, "paper": 140, "fruits": 36}
    assert "apple 1e-4" in kn.load_odours("fruits").names
    assert kn.load_odours("paper").names[110] == "ethyl acetate 1e-4"


def test_receptor_rates_are_those_of_drosolf_for_the_110_it_holds(odours):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from drosolf.orns import orns

        theirs = orns(add_sfr=True, drop_sfr=True)
    spelt = {"a-pinene": "a -pinene", "a-terpineol": "a -terpineol", "b-pinene": "b -pinene"}
    spelt["4-ethylguaiacol"] = "4-ethyl guaiacol"
    ours = kn.load_odours("odorants")
    receptors = theirs.loc[[spelt.get(name, name) for name in ours.names]].to_numpy(dtype=float)
    assert [f"Or{name}" for name in theirs.columns] == list(ours.channels)
    np.testing.assert_allclose(ours.rates, kn.projection_rates(receptors), rtol=1e-12)


def test_projection_rates_follow_the_equation_by_hand():
    orn = np.array([[100.0, 0.0, 50.0]])
    lateral = (10.63 * 150 / 190) ** 1.5
    expected = [165 * r**1.5 / (r**1.5 + 12**1.5 + lateral) for r in orn[0]]
    np.testing.assert_allclose(kn.projection_rates(orn)[0], expected)


def test_scaled_inputs_reach_one_and_do_not_depend_on_the_subset(odours):
    assert odours.scaled.max() == 1.0
    assert odours.scaled.dtype == np.float32
    np.testing.assert_array_equal(kn.load_odours("fruits").scaled, odours.scaled[140:])
    np.testing.assert_array_equal(odours[[3, 1]].scaled, odours.scaled[[3, 1]])


def test_resampled_channels_keep_their_distributions_and_lose_their_correlations(odours):
    made = odours.resample(4000, seed=3)
    assert len(made) == 4000
    for channel in range(24):
        assert set(made.rates[:, channel]) <= set(odours.rates[:, channel])
        error = odours.rates[:, channel].std() / np.sqrt(4000)
        assert abs(made.rates[:, channel].mean() - odours.rates[:, channel].mean()) < 4.5 * error
    correlations = np.corrcoef(made.rates.T)[~np.eye(24, dtype=bool)]
    assert np.abs(correlations).max() < 5 / np.sqrt(4000)
    np.testing.assert_array_equal(made.rates, odours.resample(4000, seed=3).rates)
    assert not np.array_equal(made.rates, odours.resample(4000, seed=4).rates)


def test_own_table_is_read_from_csv(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text('odour,a,b\n"one, two",1,2.5\nthree,0,4\n')
    mine = kn.Odours.from_csv(path)
    assert mine.names == ("one, two", "three")
    assert mine.channels == ("a", "b")
    np.testing.assert_array_equal(mine.rates, [[1, 2.5], [0, 4]])
    np.testing.assert_array_equal(mine.scaled, np.float32([[0.25, 0.625], [0, 1]]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "header"),
        ("odour,a\n", "header"),
        ("odour,a,b\nx,1\n", "'x' has 2 cells"),
        ("odour,a\nx,fast\n", "'a' of 'x'.*'fast'"),
        ("odour,a\nx,-1\n", "'a' of 'x'.*'-1'"),
        ("odour,a\nx,nan\n", "'a' of 'x'.*'nan'"),
        ("odour,a\nx,1\nx,2\n", "'x' occurs twice"),
        ("odour,a,a\nx,1,2\n", "'a' occurs twice"),
    ],
)
def test_bad_csv_is_refused_with_its_name_and_place(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"bad.csv.*{message}"):
        kn.Odours.from_csv(path)


@pytest.mark.parametrize(
    "rates", [[[1.0, -2.0]], [[np.nan, 1.0]], [[np.inf, 1.0]], [1.0, 2.0], np.zeros((0, 2)), [["a"]]]
)
def test_bad_rates_are_refused(rates):
    with pytest.raises(ValueError, match="rates"):
        kn.Odours(["x"], rates)


def test_other_bad_arguments_are_refused(odours):
    with pytest.raises(ValueError, match="names.*1, not 2"):
        kn.Odours(["x", "y"], [[1.0]])
    with pytest.raises(ValueError, match="'paper'.*not 'best'"):
        kn.load_odours("best")
    with pytest.raises(ValueError, match="n must be.*at least 1, not 0"):
        odours.resample(0)
    with pytest.raises(ValueError, match=r"seed must be an integer.*not 1\.5"):
        odours.resample(3, seed=1.5)
    with pytest.raises(ValueError, match="receptor_rates"):
        kn.projection_rates([[-1.0]])


def test_a_table_cannot_be_changed_by_accident(odours):
    with pytest.raises(ValueError, match="read-only"):
        odours.rates[0, 0] = 1


def test_new_odours_keep_the_scale_of_the_table_they_come_from(odours):
    quiet = odours[np.argsort(odours.rates.max(axis=1))[:20]]
    assert quiet.rates.max() < odours.rates.max()
    assert quiet.resample(5).scale == quiet.scale == odours.scale


def test_one_odour_is_its_rates_and_several_are_a_table(odours):
    row = odours.names.index("ethyl acetate")
    np.testing.assert_array_equal(odours["ethyl acetate"], odours.rates[row])
    np.testing.assert_array_equal(odours[row], odours.rates[row])
    np.testing.assert_array_equal(odours[-1], odours.rates[-1])
    two = ["1-hexanol", "ethyl acetate"]
    for rows in (two, tuple(two), np.array(two), [odours.names.index(name) for name in two]):
        assert odours[rows].names == tuple(two)
        np.testing.assert_array_equal(odours[rows].rates, [odours[name] for name in two])
        assert odours[rows].scale == odours.scale
    with pytest.raises(ValueError, match="read-only"):
        odours["1-hexanol"][0] = 1


def test_names_are_what_a_table_contains(odours):
    assert "ethyl acetate" in odours
    assert "ethyl acetat" not in odours
    assert 3 not in odours
    assert list(odours) == list(odours.names)


def test_unknown_names_are_refused_with_close_ones(odours):
    with pytest.raises(ValueError, match="rows must name odours, not 'ethyl acetat'; did you mean 'ethyl acetate' or"):
        odours["ethyl acetat"]
    with pytest.raises(ValueError, match="'etyl acetate'; did you mean 'ethyl acetate'"):
        odours[["1-hexanol", "etyl acetate"]]
    with pytest.raises(ValueError, match="'zzzz', which is none of the names"):
        odours["zzzz"]
    for rows in (176, 1.5, [0.5], None, ["1-hexanol", 3], [], [["1-hexanol"]]):
        with pytest.raises(ValueError, match=r"rows must be names or positions among the 176 odours.*odours\[:20\]"):
            odours[rows]


def test_a_frame_has_names_and_channels(odours):
    frame = odours.to_frame()
    np.testing.assert_array_equal(frame.to_numpy(), odours.rates)
    np.testing.assert_array_equal(frame.loc["ethyl acetate"], odours["ethyl acetate"])
    assert tuple(frame.index) == odours.names
    assert tuple(frame.columns) == odours.channels
    assert (frame.index.name, frame.columns.name) == ("odour", "channel")
    frame.iloc[0, 0] = -1  # a copy
    assert odours.rates[0, 0] >= 0


def test_the_heat_map_names_every_odour_on_axes_of_its_own(odours):
    ax = odours.plot()
    np.testing.assert_array_equal(ax.images[0].get_array(), odours.rates)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(odours.names)
    assert [text.get_text() for text in ax.get_xticklabels()] == list(odours.channels)
    assert ax.images[0].get_clim() == odours[:3].plot().images[0].get_clim() == (0, odours.scale)
    plt.close("all")


def test_the_heat_map_names_as_many_odours_as_there_is_room_for(odours):
    figure, ax = plt.subplots(figsize=(5, 4))
    assert odours.plot(ax) is ax
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.get_yticklabels()]
    assert 20 < len(boxes) < 176
    assert all(above.y0 >= below.y1 - 1 for above, below in pairwise(boxes))
    plt.close("all")
