import json
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr

import kenyon as kn
from kenyon import _looks
from kenyon._variables import VARIABLES, about, label

mpl.use("agg")
EPISODES = np.arange(100, 1100, 100)
DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(autouse=True)
def closed():
    yield
    mpl.pyplot.close("all")


def made(learners=("GradientWeights", "Normalised"), seeds=3, **settings):
    """Return results as open_results lays them out, with random numbers."""
    rng = np.random.default_rng(0)
    outer = {"learner": list(learners), "size": [10], **settings, "seed": list(range(seeds))}
    shape = [len(values) for values in outer.values()]
    inner = {"training_accuracy": {"episode": 10}, "theta": {"neuron": 50}, "start_theta": {"neuron": 50}}
    names = ("accuracy", "coding_level", *inner)
    variables = {
        name: ([*outer, *inner.get(name, {})], rng.uniform(0.4, 1, [*shape, *inner.get(name, {}).values()]))
        for name in names
    }
    variables["diverged_at"] = ([*outer], np.full(shape, -1.0))
    attributes = {
        "config": json.dumps({"task.n_classes": 4, "task.kind": "static"}),
        "learners": json.dumps({name: {"kind": name.partition(" ")[0]} for name in learners}),
    }
    return xr.Dataset(variables, {**outer, "episode": EPISODES}, attributes)


def lost(results, **where):
    """Return results in which some trials diverged."""
    there = results.diverged_at == results.diverged_at
    for name, values in where.items():
        there = there & results[name].isin(values)
    numbers = results[["accuracy", "training_accuracy", "theta"]].where(~there)
    return results.assign(diverged_at=results.diverged_at.where(~there, 20), **numbers.data_vars)


def drawn(ax):
    """Return the lines of a picture by their labels."""
    return {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def band(ax, i=0):
    """Return the lowest and the highest y of a band."""
    vertices = ax.collections[i].get_paths()[0].vertices
    return vertices[:, 1].min(), vertices[:, 1].max()


def said(ax):
    return ax.get_title(loc="left")


def test_curves_are_means_over_seeds_with_their_range():
    results = made()
    ax = kn.plot_curves(results)
    found = drawn(ax)
    assert set(found) == {"GradientWeights", "Normalised", "chance"}
    for i, name in enumerate(("GradientWeights", "Normalised")):
        curves = results.training_accuracy.sel(learner=name).squeeze()
        np.testing.assert_array_equal(found[name].get_xdata(), EPISODES)
        np.testing.assert_allclose(found[name].get_ydata(), curves.mean("seed"))
        np.testing.assert_allclose(band(ax, i), (curves.min(), curves.max()))
        assert found[name].get_color() == _looks.LOOKS[name].colour
    assert list(found["chance"].get_ydata()) == [0.25, 0.25]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("learning time (episodes)", "accuracy while learning")
    assert legend(ax) == ["GradientWeights", "Normalised", "chance"]
    assert said(ax) == "mean and range over 3 seeds"


def test_pictures_are_drawn_on_the_axes_given():
    _, ax = mpl.pyplot.subplots()
    results = made(noise=[0.1, 0.3])
    one = results.sel(noise=0.1)
    for picture in (kn.plot_curves(one, ax=ax), kn.plot_thresholds(one, ax=ax), kn.plot_sweep(results, ax=ax)):
        assert picture is ax
    with pytest.raises(ValueError, match="ax must be matplotlib axes or None, not 3"):
        kn.plot_curves(one, ax=3)


@pytest.mark.parametrize("plot", [kn.plot_curves, kn.plot_thresholds])
def test_settings_that_were_swept_must_be_selected_first(plot):
    results = made(noise=[0.1, 0.3], leak_rate=[0.1, 0.2, 0.3])
    words = "noise (2 values) and leak_rate (3 values): select first, such as results.sel(noise=0.1, leak_rate=0.1)"
    with pytest.raises(ValueError, match=re.escape(words)):
        plot(results)
    with pytest.raises(ValueError, match=r"leak_rate \(3 values\)"):
        plot(results.sel(noise=0.3))
    assert plot(results.sel(noise=0.3, leak_rate=0.2)).get_lines()


def test_one_learner_and_one_seed_may_be_selected():
    results = made().sel(learner="Normalised", seed=1)
    found = drawn(kn.plot_curves(results))
    assert set(found) == {"Normalised", "chance"}
    np.testing.assert_array_equal(found["Normalised"].get_ydata(), results.training_accuracy.squeeze())
    assert said(kn.plot_curves(results)) == ""


@pytest.mark.parametrize("plot", [kn.plot_curves, kn.plot_thresholds, kn.plot_sweep])
def test_what_diverged_is_left_out_with_a_note(plot):
    results = made(("GradientWeights", "Normalised", "Composed"), noise=[0.1])
    some = lost(lost(results, learner="GradientWeights"), learner="Composed", seed=1)
    ax = plot(some, "noise") if plot is kn.plot_sweep else plot(some)
    assert "left out: GradientWeights (diverged), 1 of 3 trials of Composed (diverged)" in said(ax).replace("\n", " ")
    assert "GradientWeights" not in legend(ax)
    assert {"Normalised", "Composed"} <= set(legend(ax))
    if plot is kn.plot_curves:
        kept = results.training_accuracy.sel(learner="Composed", seed=[0, 2]).squeeze().mean("seed")
        np.testing.assert_allclose(drawn(ax)["Composed"].get_ydata(), kept)
    with pytest.raises(ValueError, match=r"results must hold something to draw.*Normalised \(diverged\)"):
        plot(lost(results), "noise") if plot is kn.plot_sweep else plot(lost(results))
    assert len(mpl.pyplot.get_fignums()) == 1  # no empty picture is left behind


def test_a_learner_that_makes_no_choices_has_no_curve():
    results = made(("Ridge", "Normalised"))
    results = results.assign(training_accuracy=results.training_accuracy.where(results.learner != "Ridge"))
    ax = kn.plot_curves(results)
    assert "left out: Ridge (no values)" in said(ax)
    assert "Ridge" not in drawn(ax)


def test_thresholds_of_all_neurons_are_drawn_and_of_the_start_dashed():
    results = made()
    theta = results.theta.where(results.learner != "GradientWeights", 0.5)
    ax = kn.plot_thresholds(results.assign(theta=theta))
    steps = [patch for patch in ax.patches if isinstance(patch, mpl.patches.StepPatch)]
    for step in steps:  # Normalised: filled, outlined, and at the start; GradientWeights: at the start
        assert step.get_data().values.sum() == pytest.approx(50)
    assert [step.get_linestyle() for step in steps if not step.get_fill()] == ["--", "-", "--"]
    upright = drawn(ax)["GradientWeights, one for all neurons"]
    assert list(upright.get_xdata()) == [0.5, 0.5]
    counts = np.histogram(theta.sel(learner="Normalised"), steps[1].get_data().edges)[0] / 3
    np.testing.assert_allclose(next(s for s in steps if s.get_label() == "Normalised").get_data().values, counts)
    assert legend(ax)[-1] == "at the start"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("threshold θ", "neurons")


def test_thresholds_that_were_left_out_are_asked_for():
    with pytest.raises(ValueError, match=re.escape("open_results(folder, neurons=True)")):
        kn.plot_thresholds(made().drop_vars("theta"))


def test_a_sweep_is_drawn_against_what_was_swept():
    results = made(noise=[0.1, 0.3, 0.6])
    ax = kn.plot_sweep(results)
    for i, name in enumerate(("GradientWeights", "Normalised")):
        accuracy = results.accuracy.sel(learner=name).squeeze()
        np.testing.assert_array_equal(drawn(ax)[name].get_xdata(), [0.1, 0.3, 0.6])
        np.testing.assert_allclose(drawn(ax)[name].get_ydata(), accuracy.mean("seed"))
        np.testing.assert_allclose(band(ax, i), (accuracy.min(), accuracy.max()))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("noise", "accuracy on fresh noise")
    assert "chance" in drawn(ax)
    other = kn.plot_sweep(results, y="coding_level")
    assert other.get_ylabel() == "share of active neurons"
    assert "chance" not in drawn(other)


def test_a_sweep_over_classes_shows_the_chance_of_each():
    results = made(n_classes=[2, 4, 8])
    chance = drawn(kn.plot_sweep(results.assign_attrs(config="{}")))["chance"]
    np.testing.assert_allclose(chance.get_ydata(), [0.5, 0.25, 0.125])


def test_a_setting_that_goes_with_another_can_be_x():
    results = made(leak_rate=[0.3, 0.1]).assign_coords(steps=("leak_rate", [10, 30]))
    ax = kn.plot_sweep(results, x="steps")
    line = drawn(ax)["Normalised"]
    np.testing.assert_allclose(line.get_ydata(), results.accuracy.sel(learner="Normalised").squeeze().mean("seed"))
    assert (list(line.get_xdata()), ax.get_xlabel()) == ([10, 30], "duration of a stimulus (steps)")


def test_settings_in_the_names_of_learners_can_be_x():
    names = ("Composed", "Normalised mu=0.5", "Normalised mu=0.2", "Normalised mu=1e-3")
    results = made(names)
    ax = kn.plot_sweep(results)
    found, mean = drawn(ax), results.accuracy.squeeze().mean("seed")
    assert set(found) == {"Normalised", "Composed", "chance"}
    assert list(found["Normalised"].get_xdata()) == [0.001, 0.2, 0.5]
    np.testing.assert_allclose(found["Normalised"].get_ydata(), mean.values[[3, 2, 1]])
    np.testing.assert_allclose(found["Composed"].get_ydata(), [mean.values[0]] * 2)  # level
    assert (ax.get_xlabel(), ax.get_xscale()) == ("mu", "log")
    assert found["Normalised"].get_color() == _looks.LOOKS["Normalised"].colour


def test_texts_are_drawn_as_points_with_bars():
    results = made(input_weights=["lognormal", "uniform"])
    ax = kn.plot_sweep(results)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["lognormal", "uniform"]
    assert ax.get_xlabel() == "input weights"
    for name, bars in zip(("GradientWeights", "Normalised"), ax.containers, strict=True):
        accuracy = results.accuracy.sel(learner=name).squeeze()
        np.testing.assert_allclose(bars.lines[0].get_ydata(), accuracy.mean("seed"))
        ends = np.array([segment[:, 1] for segment in bars.lines[2][0].get_segments()])
        np.testing.assert_allclose(ends, np.transpose([accuracy.min("seed"), accuracy.max("seed")]))


def test_two_settings_of_one_learner_are_a_heat_map():
    results = made(("Normalised",), noise=[0.1, 0.3, 0.6], leak_rate=[0.1, 0.2])
    ax = kn.plot_sweep(results)
    means = results.accuracy.squeeze().mean("seed").transpose("leak_rate", "noise")
    np.testing.assert_allclose(ax.images[0].get_array(), means)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("noise", "leak rate")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0.1", "0.3", "0.6"]
    assert [text.get_text() for text in ax.texts] == [f"{value:.2f}"[1:] for value in means.values.ravel()]
    assert said(ax) == "Normalised\nmean over 3 seeds"


def test_two_settings_of_several_learners_are_lines():
    results = made(noise=[0.1, 0.3, 0.6], leak_rate=[0.1, 0.2])
    with pytest.raises(
        ValueError, match=r"x must be.*noise \(3 values\) and leak_rate \(2 values\), such as x='noise'"
    ):
        kn.plot_sweep(results)
    ax = kn.plot_sweep(results, "noise")
    found = drawn(ax)
    assert len(found) == 5
    expected = results.accuracy.sel(learner="Normalised", leak_rate=0.2).squeeze().mean("seed")
    np.testing.assert_allclose(found["Normalised, leak_rate = 0.2"].get_ydata(), expected)
    assert len({line.get_color() for line in found.values()}) == 5
    alone = kn.plot_sweep(results.sel(learner=["Normalised"]), "noise")
    assert set(drawn(alone)) == {"leak_rate = 0.1", "leak_rate = 0.2", "chance"}


def test_errors_list_what_there_is():
    results = made(noise=[0.1, 0.3], leak_rate=[0.1, 0.2], steps=[1, 2])
    with pytest.raises(
        ValueError, match=re.escape("x must be a setting that was swept (noise, leak_rate, steps), not")
    ):
        kn.plot_sweep(results, "wings")
    with pytest.raises(
        ValueError, match=r"leak_rate \(2 values\) and steps.*besides x='noise'.*results.sel\(steps=1\)"
    ):
        kn.plot_sweep(results, "noise")
    with pytest.raises(ValueError, match="y must be one of accuracy, coding_level, not 'theta'"):
        kn.plot_sweep(results, "noise", "theta")
    with pytest.raises(ValueError, match="x: no setting was swept.*plot_curves"):
        kn.plot_sweep(made())
    with pytest.raises(ValueError, match=r"results must be a Dataset.*not \[1\]"):
        kn.plot_curves([1])
    with pytest.raises(ValueError, match="along seed there are none"):
        kn.plot_curves(made().isel(seed=slice(0)))
    with pytest.raises(
        ValueError, match="results must have training_accuracy over learner and episode; it has accuracy"
    ):
        kn.plot_curves(made()[["accuracy"]])


def test_pictures_do_without_attributes_and_measures_that_were_dropped():
    results = made(noise=[0.1, 0.3])[["accuracy"]]
    for attributes in ({}, {"config": "{", "learners": "[]"}):
        results.attrs = attributes
        assert set(drawn(kn.plot_sweep(results))) == {"GradientWeights", "Normalised"}


def test_learners_of_any_name_can_be_told_apart():
    names = ["mine", "Composed", "other $x", "Normalised mu=0.1", *(f"more {i}" for i in range(12))]
    seen = _looks.looks({name: name.partition(" ")[0] for name in names})
    assert list(seen) == names
    assert seen["Composed"].colour == _looks.LOOKS["Composed"].colour
    assert len({look[1:] for look in list(seen.values())[:14]}) == 14
    kn.plot_curves(made(names)).figure.canvas.draw()


TASK = kn.StaticTask(kn.load_odours(), 8, steps=8)
RESERVOIR = kn.Reservoir(30, 0.1)
LEARNERS = {"weights": kn.GradientWeights(), "sparse": kn.Normalised()}


@pytest.fixture(scope="module")
def trained():
    return kn.train(LEARNERS, RESERVOIR, TASK, 400, n_bins=8, n_test=50)


@pytest.fixture(scope="module")
def in_turn():
    return kn.train_in_turn(LEARNERS, RESERVOIR, TASK.split(4), 200, n_bins=8, n_test=80)


def test_what_train_returns_is_drawn_as_it_is(trained):
    found = drawn(kn.plot_curves(trained))
    np.testing.assert_array_equal(found["sparse"].get_ydata(), trained.training_accuracy.sel(learner="sparse"))
    assert found["sparse"].get_color() == _looks.LOOKS["Normalised"].colour  # by its kind
    assert list(found["chance"].get_ydata()) == [0.5, 0.5]
    assert "weights, one for all neurons" in legend(kn.plot_thresholds(trained))


def test_what_was_learned_in_turn_shows_the_turns_and_each_group_after_each(in_turn):
    ax = kn.plot_curves(in_turn)
    upright = [line.get_xdata()[0] for line in ax.get_lines() if len(set(line.get_xdata())) == 1]
    assert upright == [200, 400, 600]
    found = drawn(kn.plot_sweep(in_turn.isel(stage=-1), y="group_accuracy"))
    np.testing.assert_array_equal(found["sparse"].get_ydata(), in_turn.group_accuracy.sel(learner="sparse")[-1])
    heat = kn.plot_sweep(in_turn.sel(learner="sparse"), y="group_accuracy").images[0]
    np.testing.assert_array_equal(heat.get_array(), in_turn.group_accuracy.sel(learner="sparse"))
    with pytest.raises(ValueError, match="y must be one of group_accuracy, not 'accuracy'"):
        kn.plot_sweep(in_turn)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    settings = {
        "name": "all", "seeds": 2, "n_episodes": 100, "n_test": 20, "n_bins": 4, "examples": 2,
        "task": {"n_stimuli": 6, "steps": [4, 6]},
        "reservoir": {"n_neurons": 20, "input_weights": ["uniform", "lognormal"]},
        "learners": {"GradientWeights": {}, "Normalised": {}},
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("results")
    kn.run_experiment(kn.load_experiment(settings), folder, workers=0)
    return folder, kn.open_results(folder, neurons=True)


def test_every_variable_says_what_it_is_and_its_units(trained, in_turn, opened):
    for results in (trained, in_turn, opened[1]):
        for name, variable in results.variables.items():
            assert variable.attrs["long_name"] == about(name).long_name
            assert variable.attrs["units"] == (about(name).units if variable.dtype.kind in "fi" else "")
    assert about("n_classes") == ("number of classes", "1")
    assert label("episode") == "learning time (episodes)"


def test_attributes_of_variables_are_in_the_file(opened):
    folder, results = opened
    for path in folder.glob("*.nc"):
        with xr.open_dataset(path, engine="h5netcdf") as stored:
            assert {name: variable.attrs for name, variable in stored.variables.items()} == {
                name: results[name].attrs for name in stored.variables
            }


def test_xarray_labels_axes_with_them(trained):
    (line,) = trained.training_accuracy.sel(learner="sparse").plot()
    assert line.axes.get_xlabel() == "learning time [episodes]"
    assert line.axes.get_ylabel() == "accuracy while learning [1]"


def test_the_tables_of_the_documentation_are_complete_and_right(trained, in_turn, opened):
    row = re.compile(r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|", re.MULTILINE)
    pages = [(DOCS / page).read_text(encoding="utf-8") for page in ("learning.md", "experiments.md")]
    rows = {name: (over, (long_name, units)) for page in pages for name, over, long_name, units in row.findall(page)}
    seen = {name: results[name] for results in (opened[1], in_turn, trained) for name in results.variables}
    of_sequences = {"position_accuracy", "context_accuracy"}
    without_coordinates = {"neuron", "stage", "group", "position", "context"}
    of_two_sides = {name for name in VARIABLES if name.endswith("_off")}
    assert "`theta_off`, `activity_off`" in pages[0]
    assert set(rows) == set(VARIABLES) - without_coordinates - of_two_sides
    assert set(rows) - of_sequences == set(seen) - {"input_weights"}
    for name, (over, said) in rows.items():
        if name in of_sequences:
            continue
        swept = {"size", "steps", "input_weights", "seed"} - {name}
        assert {*over.split(", ")} == {*seen[name].dims} - swept, name
        assert said == VARIABLES[name], name
