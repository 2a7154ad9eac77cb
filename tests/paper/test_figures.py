import json
import re
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from kenyon import _looks
from kenyon.paper import style
from kenyon.paper.claims import CLAIMS
from kenyon.paper.figures import _parts as parts
from kenyon.paper.figures import draw, normalised, performance, save, specificity, stability
from kenyon.paper.plan import FIGURES, STIMULI, Plan, nearest_size
from kenyon.paper.report.findings import finding
from kenyon.paper.verdicts import interval
from tests.paper.constructed import Constructed

QUICK = Constructed(Plan(seeds=2, quick=True))


@cache
def picture(figure):
    return draw(figure, QUICK)


class Changed(Constructed):
    """Constructed results with one part replaced."""

    def __init__(self, figure, part, data, plan=QUICK.plan):
        super().__init__(plan)
        self.get = lambda *wanted: data if (*wanted, "")[:2] == (figure, part) else QUICK.get(*wanted)


def texts(figure):
    return [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]


def lines(ax):
    """Lines with a name, by that name."""
    return {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}


@pytest.fixture(scope="module", params=FIGURES)
def drawn(request):
    figure = picture(request.param)
    with style.context():
        figure.draw_without_rendering()
    return figure


def test_quick_runs_are_marked_as_such(drawn):
    assert any(style.QUICK in text.get_text() for text in texts(drawn))


def test_no_text_leaves_the_figure(drawn):
    axes = [axis for ax in drawn.get_axes() for axis in (ax.xaxis, ax.yaxis)]
    out_of_sight = {
        label for axis in axes for label in axis.get_ticklabels(which="both")
    }  # some are beyond the axis' end
    for text in set(texts(drawn)) - out_of_sight:
        box = text.get_window_extent()
        assert drawn.bbox.padded(1).contains(box.x0, box.y0), text
        assert drawn.bbox.padded(1).contains(box.x1, box.y1), text


def test_every_accuracy_axis_shows_chance(drawn):
    for ax in drawn.get_axes():
        if ax.get_ylabel().startswith("accuracy") and ax.get_label() != "<colorbar>":
            low, high = ax.get_ylim()
            assert low < 0.5 < 1 <= high
            assert any(line.get_linestyle() == ":" and line.get_ydata()[0] <= 0.5 for line in ax.get_lines())


@pytest.mark.parametrize("figure", ["2", "7", "S4"])
def test_one_seed_is_enough(figure):
    assert isinstance(draw(figure, Constructed(Plan(seeds=1, quick=True))), Figure)


def test_full_runs_are_not_marked_and_show_the_size_of_the_paper():
    figure = draw("2", Constructed(Plan(seeds=1)))
    words = " ".join(text.get_text() for text in texts(figure))
    assert style.QUICK not in words
    assert "Learning 140 stimuli" in words


@pytest.mark.parametrize("figure", ["2", "4"])
def test_a_figure_its_text_and_its_claims_show_the_same_size(figure):
    curves = picture(figure).get_axes()[0].get_title(loc="left")
    ranking = finding(figure, QUICK).sentences[0]
    shown = re.search(r"Learning (\d+) ", curves)[1]
    assert re.search(r"at (\d+) ", ranking.words)[1] == shown
    if figure == "2":
        assert f"at {shown} stimuli" in CLAIMS[0].judge(QUICK).effects[0].label


def test_the_size_shown_is_the_papers_or_the_nearest_to_it():
    data = QUICK.get("2")
    assert [nearest_size(data, wanted) for wanted in (1, 79, 81, 140, 1000)] == [20, 20, 140, 140, 140]


def test_figure_2_has_a_line_per_learner_with_its_means():
    data = QUICK.get("2")
    left, right = picture("2").get_axes()
    curves, points = lines(left), {container.get_label(): container[0] for container in right.containers}
    shown = (*style.FIVE, _looks.UNTUNED, *performance.CONTROLS)
    assert set(curves) == set(points) == {_looks.look(name).label for name in shown}
    for name in shown:
        label, own = _looks.look(name).label, data.sel(learner=name)
        curve = own.training_accuracy.sel(size=nearest_size(data, STIMULI)).mean("seed").dropna("episode")
        np.testing.assert_allclose(curves[label].get_ydata(), curve)
        np.testing.assert_allclose(points[label].get_ydata(), own.accuracy.mean("seed"))
        assert curves[label].get_color() == points[label].get_color() == _looks.look(name).colour


def test_figure_4_shows_composed_without_prelearning_dashed():
    left = picture("4").get_axes()[0]
    composed, from_zero = (lines(left)[_looks.look(name).label] for name in ("Composed", "Composed from 0"))
    assert composed.get_color() == from_zero.get_color()
    assert (composed.get_linestyle(), from_zero.get_linestyle()) == ("-", "--")


@pytest.mark.parametrize("figure", ["2", "7"])
def test_the_plain_readout_is_drawn_as_tuned_and_as_the_paper_says_it_was(figure):
    data = QUICK.get(figure, "static" if figure == "7" else "")
    size = data.size.max() if figure == "7" else nearest_size(data, STIMULI)
    drawn = lines(draw(figure, QUICK).get_axes()[0])
    for label, name in (("GD$_W$", "GradientWeights"), ("GD$_W$, batch 100", "GradientWeights 100")):
        wanted = data.training_accuracy.sel(learner=name, size=size).mean("seed").dropna("episode")
        np.testing.assert_allclose(drawn[label].get_ydata(), wanted)


def test_the_bound_is_where_eta_norm2_is_2():
    theta, rows, eta = np.linspace(0, 3, 31), np.arange(5), 0.0018
    norm2 = 2 / eta * np.exp(rows[:, None] / 2 - theta)  # so that eta |x|^2 = 2 where theta is half the row
    ax = Figure().subplots()
    bound = stability.draw_bound(ax, theta, norm2, eta)
    (path,) = bound.get_paths()
    assert len(path.vertices) > 5
    np.testing.assert_allclose(path.vertices[:, 0], path.vertices[:, 1] / 2, atol=1e-9)


def test_the_stability_map_uses_the_learning_rate_and_the_norms_of_the_results():
    data = QUICK.get("S4").copy(deep=True)
    names = data.learner.values
    theta = [json.loads(data.attrs["learners"])[name]["start"] for name in names]
    data["start_norm2"] = data.start_norm2.dims, np.zeros(data.start_norm2.shape)
    for name, threshold in zip(names, theta, strict=True):
        data.start_norm2.loc[{"learner": name}] = 2 / 0.0018 * np.exp(1.1 - threshold)
    ax = draw("S4", Changed("S4", "", data)).get_axes()[0]
    bounds = [drawing for drawing in ax.collections if type(drawing).__name__ == "QuadContourSet"]
    np.testing.assert_allclose(bounds[0].get_paths()[0].vertices[:, 0], 1.1, atol=1e-9)


def test_diverged_cells_are_marked():
    ax = picture("S4").get_axes()[0]
    crosses = {(float(line.get_xdata()[0]), int(line.get_ydata()[0])) for line in ax.lines if line.get_marker() == "x"}
    gains = QUICK.get("S4").sizes["input_gain"]
    assert crosses == {(theta, row) for theta in (0.0, 0.2) for row in range(gains)}


def test_seeds_that_diverged_are_left_out_and_crossed():
    data = QUICK.get("2").copy(deep=True)
    size = int(data.size.max())
    data.accuracy.loc[{"learner": "Composed", "seed": 0, "size": size}] = np.nan
    figure = draw("2", Changed("2", "", data))
    right = figure.get_axes()[1]
    (cross,) = [line for line in right.get_lines() if line.get_marker() == "x"]
    np.testing.assert_allclose(cross.get_ydata(), data.accuracy.sel(learner="Composed", seed=1, size=size))
    assert any("diverged" in text.get_text() for text in texts(figure))


def test_bands_and_bars_are_the_intervals():
    left, right = picture("2").get_axes()
    data = QUICK.get("2").sel(learner="Composed")
    label = _looks.look("Composed").label
    curve = style.summary(style.over(data.training_accuracy.sel(size=140).dropna("episode"), "episode"))
    bands = [band.get_paths()[0].vertices[:, 1] for band in left.collections]
    assert any(set(curve.low) | set(curve.high) <= set(band) for band in bands)
    (container,) = [container for container in right.containers if container.get_label() == label]
    ends = np.array([segment[:, 1] for segment in container[2][0].get_segments()])
    points = style.summary(style.over(data.accuracy, "size"))
    np.testing.assert_allclose(ends, np.stack([points.low, points.high], axis=1))


def test_bars_reach_from_the_low_to_the_high_end():
    ax = Figure().subplots()
    ends = style.Summary(np.array([0.6, 0.7]), np.array([0.5, 0.65]), np.array([0.9, 0.7]), np.array([False, False]))
    parts.points(ax, [1, 2], ends, _looks.look("Composed"))
    drawn = [segment[:, 1] for segment in ax.containers[0][2][0].get_segments()]
    np.testing.assert_allclose(drawn, [[0.5, 0.9], [0.65, 0.7]])


def test_numbers_in_a_heat_map_are_dark_on_light_cells():
    ax = Figure().subplots()
    _looks.write_cells(ax, [[0.6, 0.9, np.nan]], 0.75)
    assert [(text.get_text(), text.get_color()) for text in ax.texts] == [(".60", "white"), (".90", _looks.INK)]


@pytest.mark.parametrize("figure", ["2", "3", "S5"])
def test_a_learner_that_diverged_for_all_seeds_is_no_error(figure):
    data = QUICK.get(figure).copy(deep=True)
    for name in data.data_vars:
        if "learner" in data[name].dims and data[name].dtype.kind == "f":
            data[name].loc[{"learner": "Composed"}] = np.nan
    assert isinstance(draw(figure, Changed(figure, "", data)), Figure)


def test_saving_writes_three_files_the_same_ones_again_whatever_the_user_has_set(tmp_path):
    first = save("S4", QUICK, tmp_path / "one")
    with rc_context({"font.size": 20, "axes.grid": True, "lines.linewidth": 9, "svg.hashsalt": None}):
        second = save("S4", QUICK, tmp_path / "two")
    assert [path.name for path in first] == ["figureS4.svg", "figureS4.pdf", "figureS4.png"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    drawing = first[0].read_text()
    assert "<dc:date>" not in drawing
    assert "<text" not in drawing


def test_unknown_figures_are_refused_by_name():
    with pytest.raises(ValueError, match="there is no figure 'S9'"):
        draw("S9", QUICK)


def test_figure_1_shows_all_sequences_of_the_first_base():
    trial = QUICK.plan.parts("1")["sequence"][0]
    task = trial.task.build(trial.seed)
    shown = [text.get_text() for text in texts(picture("1"))]
    key = next(text for text in shown if text.startswith("A\u00a0")).replace("\u00a0", " ").replace("\n", " ")
    names = dict(reversed(entry.split(" ", 1)) for entry in key.split(", "))
    order = [(2, 0), (2, 1), (1, 0), (1, 1), (0, 0), (0, 1)]  # position, perturbation; then own and new context
    items = [position * 4 + perturbation * 2 + context for position, perturbation in order for context in range(2)]
    sequences = [[names[style.odour(name)] for name in task.names(item)] for item in items]
    expected = [[*letters, f"class {task.labels[item]}"] for letters, item in zip(sequences, items, strict=True)]
    drawn = [text for text in shown if (len(text) == 1 and text.isupper()) or text.startswith("class ")]
    assert drawn[-48:] == [text for row in expected for text in row]


def test_dilutions_are_powers_of_ten():
    assert style.odour("2-heptanone 1e-4") == "2-heptanone $10^{-4}$"
    assert style.odour("2,3-butanediol") == "2,3-butanediol"


def test_shares_of_neurons_add_up_and_a_diverged_seed_has_none():
    data = QUICK.get("6", "static").copy(deep=True)
    data.specificity.loc[{"learner": "Composed", "seed": 0}] = np.nan
    found = specificity.shares(data.specificity.sel(learner="Composed"), specificity.edges_of(data))
    np.testing.assert_allclose(found[1].sum(), 1)
    assert np.isnan(found[0]).all()


def test_the_grid_has_each_accuracy_at_its_numbers():
    data = QUICK.get("S6", "numbers")
    tables = normalised.grid(data)
    assert sum(table.size for _, _, table in tables.values()) == data.learner.size
    for name, settings in json.loads(data.attrs["learners"]).items():
        mus, ks, table = tables[settings["start"]["percentile"]]
        wanted = data.accuracy.sel(learner=name).mean()
        assert table[ks.index(settings["k"]), mus.index(settings["mu"])] == pytest.approx(float(wanted))


def test_summary_is_the_mean_and_the_interval_of_those_that_have_a_value():
    values = np.array([[0.1, 0.5, np.nan], [0.3, np.nan, np.nan], [0.8, 0.7, np.nan]])
    found = style.summary(values)
    np.testing.assert_allclose(found.mean, [0.4, 0.6, np.nan])
    assert (found.low[0], found.high[0]) == interval(values[:, 0])
    assert found.missing.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("deficiency", "least"), [("none", 22), ("deuteranopia", 12), ("protanopia", 12), ("tritanopia", 12)]
)
@pytest.mark.parametrize("looks", [_looks.LOOKS, normalised.PARTS], ids=["learners", "parts of Normalised"])
def test_colours_of_different_kinds_can_be_told_apart(looks, deficiency, least):
    kinds = {name.split(" ")[0] if looks is _looks.LOOKS else name: look for name, look in looks.items()}
    assert len({look.marker for look in kinds.values()}) == len(kinds)
    for name in ("Standardised", "RecursiveThresholds"):  # of the kind of another, with another marker and dash
        kinds.pop(name, None)
    for first, second in combinations(kinds, 2):
        colours = [_lab(kinds[name].colour, DEFICIENCIES[deficiency]) for name in (first, second)]
        assert _difference(*colours) > least, (first, second)


DEFICIENCIES = {  # Machado, Oliveira & Fernandes 2009, for linear RGB
    "none": np.eye(3),
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def _lab(colour, deficiency):
    """CIE Lab of a colour as someone with a deficiency sees it."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722], [0.0177, 0.1095, 0.8729]])
    x, y, z = np.cbrt(np.maximum(to_xyz @ np.clip(deficiency @ linear, 0, 1), 0.009))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def _difference(first, second):
    """The difference between two colours by CIE 1994, which counts less for saturated colours, as the eye does."""
    chroma = np.hypot(first[1], first[2]), np.hypot(second[1], second[2])
    of_hue = max(np.sum((first - second)[1:] ** 2) - (chroma[0] - chroma[1]) ** 2, 0)
    weight = np.sqrt(chroma[0] * chroma[1])
    terms = first[0] - second[0], (chroma[0] - chroma[1]) / (1 + 0.045 * weight), np.sqrt(of_hue) / (1 + 0.015 * weight)
    return np.linalg.norm(terms)
