"""The study of capacity: offline solvers on cases with a known answer, its plan, its page, and that it runs."""

import importlib
from math import comb
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import kenyon as kn

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.fixture
def solvers(module):
    return module("capacity_solvers")


@pytest.fixture
def plan(module):
    return module("capacity_plan")


@pytest.fixture
def study(module):
    return module("capacity")


def drawn(n, width, seed=0):
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((n, width)).astype(np.float32)
    signs = np.where(V[:, 0] + 0.5 * V[:, 1] ** 2 + rng.standard_normal(n) > 0.5, 1, -1).astype(np.float32)
    return V, signs


def readout_of(solvers, kind, width, seed=1):
    rng = np.random.default_rng(seed)
    units = 2 * width if kind == "on/off" else width
    w, theta = rng.standard_normal((2, units)).astype(np.float32)
    return solvers.Readout(w, 0.5 * theta, 0.3, linear=kind == "V")


KINDS = ["V", "x", "on/off"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_that_of_finite_differences(solvers, kind):
    V, signs = drawn(50, 6)
    readout = readout_of(solvers, kind, 6)

    def loss(w, theta, b):  # in double precision, in which differences can be taken
        x = V.astype(float) - theta[:6]
        x = np.hstack([x, theta[6:] - V]) if kind == "on/off" else x
        y = (x if kind == "V" else np.maximum(x, 0)) @ w + b
        return np.log1p(np.exp(-signs * y)).mean()

    at = [readout.w.astype(float), readout.theta.astype(float), np.array([readout.b])]
    value, *slopes = solvers.gradient(readout, V, signs)
    assert value == pytest.approx(loss(*at), rel=1e-5)
    for part, slope in enumerate(slopes):
        for i in range(len(at[part])):
            step = np.zeros_like(at[part])
            step[i] = 1e-6
            ends = [loss(*(one + way * step if j == part else one for j, one in enumerate(at))) for way in (1, -1)]
            assert np.atleast_1d(slope)[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_are_those_of_a_readout_of_the_package(solvers, kind):
    V, _ = drawn(30, 5)
    own = readout_of(solvers, kind, 5)
    code = "on_off" if kind == "on/off" else "on"
    shift = own.theta if kind == "V" else None
    theirs = kn.Readout(own.w[None], own.theta, thresholds=kind != "V", shift=shift, bias=np.array([own.b]), code=code)
    np.testing.assert_allclose(own.outputs(V), theirs.outputs(V)[:, 0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_ridge_is_the_one_of_the_package(solvers, kind):
    V, signs = drawn(400, 5)
    V = np.abs(V)
    start = readout_of(solvers, kind, 5)
    if kind != "V":  # one threshold for all, and as many states below the other as there are above it
        learner = kn.Ridge(start=0.5, intercept=True, penalty=1e-3, code="on_off" if kind == "on/off" else "on")
    else:
        learner = kn.Ridge(intercept=True, penalty=1e-3)
    state = learner.begin(V, 2, kn.Source(0, "ridge"))
    theta = np.zeros(5, np.float32) if state.theta is None else state.theta
    state, _ = learner.update(state, V, (signs > 0).astype(int))
    W = learner.readout(state)
    start = start._replace(theta=theta)
    sums = solvers.Sums.none(len(theta)).add(start, V[:150], signs[:150]).add(start, V[150:], signs[150:])
    found = solvers.ridge(sums, 1e-3 * len(theta), start)  # a share of the mean, and theirs one of the sum
    np.testing.assert_allclose(5 * found.w, (W.W[1] - W.W[0]) / 2, rtol=1e-3, atol=1e-4)
    wanted = W.outputs(V)
    np.testing.assert_allclose(10 * found.outputs(V), wanted[:, 1] - wanted[:, 0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_logistic_regression_is_that_of_scikit_learn(solvers, kind):
    V, signs = drawn(500, 4)
    start = readout_of(solvers, kind, 4)
    sums = solvers.Sums.none(len(start.w)).add(start, V, signs)
    found = solvers.logistic(V, signs, sums, 0.01, solvers.ridge(sums, 0.01, start), 200)
    penalty = 0.01 * np.trace(sums.covariance()) / len(start.w) / 4
    theirs = LogisticRegression(C=1 / (penalty * len(V)), tol=1e-8, max_iter=1000).fit(start.features(V), signs)
    np.testing.assert_allclose(found.w, theirs.coef_[0], atol=2e-3)
    assert found.b == pytest.approx(theirs.intercept_[0], abs=2e-3)


def test_logistic_regression_separates_what_can_be_separated(solvers):
    V, _ = drawn(30, 40)
    signs = np.where(np.arange(30) % 2, 1, -1).astype(np.float32)
    start = solvers.Readout(np.zeros(40, np.float32), np.zeros(40, np.float32), linear=True)
    sums = solvers.Sums.none(40).add(start, V, signs)
    found = solvers.logistic(V, signs, sums, 1e-4, solvers.ridge(sums, 1e-4, start))
    assert found.accuracy(V, signs) == 1


def test_trained_thresholds_solve_what_no_linear_readout_of_fixed_ones_can(solvers):
    V = np.linspace(-1, 1, 400, dtype=np.float32)[:, None]
    signs = np.where(np.abs(V[:, 0]) > 0.5, 1, -1).astype(np.float32)  # both ends against the middle
    start = solvers.Readout(np.zeros(2, np.float32), np.array([0.9, -0.9], np.float32))
    sums = solvers.Sums.none(2).add(start, V, signs)
    held = solvers.logistic(V, signs, sums, 1e-6, solvers.ridge(sums, 1e-6, start))
    found = solvers.descend(V, signs, start, np.random.default_rng(0), epochs=300, rate=0.02, batch=32)
    assert found.accuracy(V, signs) > 0.98 > held.accuracy(V, signs)


def test_descent_follows_adam_step_by_step(solvers):
    V, signs = drawn(8, 3)
    start = readout_of(solvers, "on/off", 3)
    found = solvers.descend(V, signs, start, np.random.default_rng(0), epochs=4, rate=0.1, batch=8)
    values = [start.w.astype(float), start.theta.astype(float), np.array([start.b])]
    first, second = ([np.zeros_like(part) for part in values] for _ in range(2))
    for step in range(4):
        now = start._replace(w=values[0].astype(np.float32), theta=values[1].astype(np.float32), b=float(values[2][0]))
        for i, slope in enumerate(solvers.gradient(now, V, signs)[1:]):
            first[i] = 0.9 * first[i] + 0.1 * slope
            second[i] = 0.999 * second[i] + 0.001 * np.square(slope)
            corrected = first[i] / (1 - 0.9 ** (step + 1)), second[i] / (1 - 0.999 ** (step + 1))
            values[i] = values[i] - 0.1 * (1 - step / 4) * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)
    for part, wanted in zip((found.w, found.theta, found.b), values, strict=True):
        np.testing.assert_allclose(part, wanted if np.ndim(part) else wanted[0], rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize(("n_patterns", "n_units"), [(4, 2), (6, 3), (7, 5), (3, 5)])
def test_covers_share_is_counted(plan, n_patterns, n_units):
    wanted = sum(comb(n_patterns - 1, k) for k in range(n_units)) / 2 ** (n_patterns - 1)
    assert plan.separable(n_patterns, n_units) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("accuracies", "odours", "reached"),
    [((1.0, 0.99, 0.91), 150, True), ((1.0, 0.99, 0.96), 200, False), ((0.9, 0.8, 0.7), 25, True)],
)
def test_odours_stored_are_interpolated(plan, accuracies, odours, reached):
    assert plan.stored([50, 100, 200], accuracies) == (pytest.approx(odours), reached)


def test_the_plan_is_what_was_asked_for(plan):
    study = plan.Study()
    assert study.odours(1000) == [250, 500, 1000, 2000, 4000, 6000]
    assert study.episodes(1000)[2:] == [200_000, 600_000, 1_200_000, 2_400_000]
    for n in study.neurons:
        trials = study.experiment(n).trials
        assert len(trials) == len(study.ratios) * study.seeds_of(n)
        assert all(list(trial.learners) == list(plan.LEARNERS) for trial in trials)
        assert {trial.task.resample for trial in trials} == {trial.task.size for trial in trials}
        assert {trial.n_episodes for trial in trials} == set(study.episodes(n))
        assert all(trial.prelearning.seed not in {other.seed for other in trials} for trial in trials)
    assert study.seeds_of(1000) == 2
    assert study._replace(seeds=1).seeds_of(1000) == 1


def test_states_in_memory_have_a_limit(plan):
    effort = plan.Effort()
    for n in plan.Study().neurons:
        for odours in plan.Study().odours(n):
            episodes = effort.per_odour(n, odours)
            assert effort.first <= episodes <= effort.most
            assert episodes == effort.first or episodes * odours * n <= effort.most_states


def test_the_study_runs_and_goes_on_where_it_stopped(study, plan, module, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(plan.LEARNERS, "Composed", {"kind": "Composed", "start": 0.5})  # prelearning takes long
    small = plan.QUICK._replace(neurons=(20,))
    (network,) = study.run(small, tmp_path, 0)
    assert set(network.accuracies) == {*plan.LEARNERS, *plan.OFFLINE}
    for values in network.accuracies.values():
        assert values.shape == (2, 2)
        assert ((values >= 0) & (values <= 1)).all()
    files = sorted((tmp_path / "offline").iterdir())
    assert len(files) == 2 * 2 * len(plan.OFFLINE)
    files[0].unlink()
    capsys.readouterr()
    (again,) = study.run(small, tmp_path, 0)
    said = capsys.readouterr().err
    assert "online: 0 trials" in said
    assert "offline: 1 of 1" in said
    for name, values in network.accuracies.items():
        np.testing.assert_array_equal(values, again.accuracies[name])
    page, picture = module("capacity_page"), module("capacity_picture")
    lines = page.results([again], ["a machine"]).splitlines()
    assert all(any(line.startswith(f"| {name} |") for line in lines) for name in network.accuracies)
    picture.draw([network, again], tmp_path / "capacity.png")
    assert (tmp_path / "capacity.png").stat().st_size > 10_000


def test_every_readout_is_drawn_and_labels_do_not_touch(plan, module):
    picture = module("capacity_picture")
    assert set(picture.LINES) == {*plan.LEARNERS, *plan.OFFLINE}
    places = picture.spread([0.1, 0.1, 0.12, 0.9, 0.95], 0.1, 0.0, 1.0)
    assert min(np.diff(places)) == pytest.approx(0.1)
    assert 0 <= min(places) < max(places) <= 1


def test_the_page_of_capacity_is_up_to_date(plan, module):
    page = module("capacity_page")
    found = page.PAGE.read_text(encoding="utf-8")
    results = found.partition(page.RESULTS)[2]
    assert found == page.page(plan.Study(), results), "run: make capacity"
    assert results


def test_the_page_says_where_ours_is_behind(plan, module):
    page = module("capacity_page")
    rows = {name: np.array([[1.0, 1.0], [0.9, 0.8]]) for name in (*plan.LEARNERS, *plan.OFFLINE)}
    rows["ridge on V"] = np.array([[1.0, 1.0], [0.95, 0.7]])
    network = page.Network(100, [50, 100], [1000, 2000], rows, {})
    behind = list(page._behind([network]))
    assert "| ridge on V | 100 | 100 | 1 of 2 | .050 |" in behind
    assert len([line for line in behind if line.startswith("| ")]) == 2
    assert page._spread(np.array([0.5, np.nan])) == ".500, 1 diverged"
