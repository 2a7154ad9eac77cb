import json
import weakref
from dataclasses import dataclass, field

import numpy as np
import pytest

import kenyon as kn
from kenyon import _seeding

ODOURS = kn.load_odours()
TASK = kn.StaticTask(ODOURS, 20, seed=1, steps=20)
RESERVOIR = kn.Reservoir(150, seed=1, leak_rate=0.06)
FIVE = {
    "gd_w": kn.GradientWeights(batch=10, eta_w=5e-4),
    "gd_theta": kn.GradientThresholds(),
    "metropolis": kn.Metropolis(start=0.3),
    "composed": kn.Composed(start=0.3),
    "normalised": kn.Normalised(),
}


@pytest.fixture(scope="module")
def result():
    return kn.train(FIVE, RESERVOIR, TASK, 6000, seed=2, n_bins=12, n_test=1500, threads=2)


def same(a, b):
    return all(np.array_equal(a[name], b[name], equal_nan=True) for name in a.data_vars)


def test_result_is_a_labelled_dataset(result):
    assert dict(result.sizes) == {"learner": 5, "episode": 12, "neuron": 150}
    assert result.episode[-1] == 6000
    for name in ("accuracy", "expected_accuracy", "argmax_accuracy", "coding_level"):
        assert ((result[name] >= 0) & (result[name] <= 1)).all()
    assert result.training_accuracy.notnull().all()
    assert (result.theta.sel(learner="gd_w") == 0).all()
    assert float(result.theta_mean.sel(learner="composed")) == pytest.approx(float(result.theta[3].mean()))
    assert (result.diverged_at == -1).all()
    assert result.acceptance.notnull().values.tolist() == [False, False, True, True, False]
    config = json.loads(result.attrs["config"])
    assert config["learners"]["composed"]["kind"] == "Composed"
    assert config["learners"]["composed"]["rule"] == {"target": 10.0, "temperature": 1.0}
    assert (config["reservoir"]["seed"], config["reservoir"]["leak_rate"]) == (1, 0.06)
    assert (config["task"]["kind"], config["task"]["seed"], config["task"]["steps"]) == ("StaticTask", 1, 20)
    assert json.loads(result.attrs["provenance"])["kenyon"] == kn.__version__


def test_learning_takes_place(result):
    late = result.training_accuracy.isel(episode=-1)
    assert float(late.sel(learner="normalised")) > 0.9
    assert float(late.sel(learner="composed")) > float(result.training_accuracy[3, 0])
    sampled, expected = result.accuracy, result.expected_accuracy
    assert (abs(sampled - expected) < 4.5 * 0.5 / np.sqrt(1500)).all()


@pytest.mark.parametrize("names", [["composed"], ["normalised", "gd_w"], list(FIVE)[::-1]])
def test_company_order_and_threads_change_no_bit(result, names):
    other = kn.train({name: FIVE[name] for name in names}, RESERVOIR, TASK, 6000, seed=2, n_bins=12, n_test=1500)
    assert same(other, result.sel(learner=names))


def test_bins_share_out_the_episodes():
    result = kn.train({"n": kn.Normalised()}, RESERVOIR, TASK, 7, n_test=10)
    assert result.episode.values.tolist() == [1, 2, 3, 4, 5, 6, 7]  # no more bins than episodes
    assert set(np.unique(result.training_accuracy)) <= {0.0, 1.0}
    coarse = kn.train({"n": kn.Normalised()}, RESERVOIR, TASK, 7, n_bins=2, n_test=10)
    np.testing.assert_allclose(
        coarse.training_accuracy[0],
        [part.mean() for part in np.split(result.training_accuracy[0].values, [int(coarse.episode[0])])],
    )


def test_seeds_and_names_change_the_numbers(result):
    other = kn.train({"composed": FIVE["composed"]}, RESERVOIR, TASK, 6000, seed=3, n_bins=12, n_test=1500)
    assert not same(other, result.sel(learner=["composed"]))


def test_prelearning_is_the_default_start_and_is_recorded():
    task = kn.StaticTask(ODOURS, 10, seed=1, steps=10)
    learners = {"composed": kn.Composed(), "metropolis": kn.Metropolis(batch=2)}
    result = kn.train(learners, RESERVOIR, task, 500, n_bins=5, n_test=100)
    record = json.loads(result.attrs["prelearning"])
    assert set(record) == set(learners)
    assert record["composed"]["n_episodes"] == 10_000
    assert record["metropolis"]["n_episodes"] == 20_000
    for found in record.values():
        best = int(np.argmin(found["costs"]))
        assert found["theta_g"] == found["ends"][best]
        assert len(found["starts"]) == len(found["costs"]) == 10
    alone = kn.train({"composed": kn.Composed()}, RESERVOIR, task, 500, n_bins=5, n_test=100)
    assert same(alone, result.sel(learner=["composed"]))


def test_prelearning_finds_a_start_at_which_learning_is_fast():
    found = kn.prelearn(kn.Metropolis(), RESERVOIR, TASK, seed=1)

    def cost(theta):
        learner = kn.Metropolis(start=theta, sigma=0.0)
        V, labels, _ = next(RESERVOIR.stream(TASK, 1000, seed=77, batch_size=1000))
        costs = []
        for first in range(0, 1000, 100):
            part = slice(first, first + 100)
            _, info = learner.update(learner.begin(V, 2, kn.Source(0, "t")), V[part], labels[part])
            costs.append(info.cost.mean())
        return np.mean(costs)

    assert cost(found.theta_g) <= min(cost(theta) for theta in found.starts) + 1.0
    assert found.costs.min() < found.costs.max()
    np.testing.assert_array_equal(found.starts, np.sort(found.starts))
    again = kn.prelearn(kn.Metropolis(), RESERVOIR, TASK, seed=1, threads=2)
    assert again.theta_g == found.theta_g


def test_divergence_is_raised_or_recorded_and_the_others_go_on():
    wild = kn.GradientWeights(batch=1, eta_w=1.0)
    with pytest.raises(kn.Diverged, match="wild diverged by episode"):
        kn.train({"wild": wild}, RESERVOIR, TASK, 2000, n_bins=4)
    learners = {"wild": wild, "normalised": kn.Normalised()}
    result = kn.train(learners, RESERVOIR, TASK, 4000, n_bins=4, diverged="record")
    assert 0 <= int(result.diverged_at.sel(learner="wild")) < 200
    assert result.accuracy.isnull().values.tolist() == [True, False]
    assert "use eta_w below" in json.loads(result.attrs["diverged"])["wild"]


def test_a_failure_of_prelearning_is_raised_or_recorded_too():
    learners = {"wild": kn.Metropolis(eta_w=50.0), "normalised": kn.Normalised()}
    with pytest.raises(kn.Diverged, match="wild, in prelearning, diverged"):
        kn.train(learners, RESERVOIR, TASK, 500)
    result = kn.train(learners, RESERVOIR, TASK, 500, diverged="record")
    assert result.accuracy.isnull().values.tolist() == [True, False]
    assert "prelearning is unstable from every start" in json.loads(result.attrs["diverged"])["wild"]
    with pytest.raises(kn.Diverged):
        kn.prelearn(learners["wild"], RESERVOIR, TASK)


def test_controls_stand_beside_the_learners():
    learners = {
        "ridge": kn.Ridge(),
        "rls": kn.RecursiveLeastSquares(),
        "centred": kn.GradientWeights(batch=10, eta_w=5e-4, scaling="centred"),
        "standardised": kn.GradientWeights(batch=10, eta_w=5e-4, scaling="standardised"),
        "per neuron": kn.Metropolis(search="per_neuron", start=0.3),
        "percentile": kn.GradientThresholds(start=kn.Percentile(85)),
    }
    result = kn.train(learners, RESERVOIR, TASK, 3000, n_bins=3, threads=2)
    assert float(result.argmax_accuracy.sel(learner="ridge")) > 0.95
    assert float(result.argmax_accuracy.sel(learner="rls")) > 0.95
    assert result.accuracy.notnull().all()
    assert result.training_accuracy.sel(learner="ridge").isnull().all()


def test_training_is_silent_off_a_terminal_and_shows_progress_on_request(capsys):
    task = kn.StaticTask(ODOURS, 4, steps=2)
    kn.train({"n": kn.Normalised()}, RESERVOIR, task, 50, n_bins=2)
    assert capsys.readouterr() == ("", "")
    kn.train({"n": kn.Normalised()}, RESERVOIR, task, 50, n_bins=2, progress=True)
    assert "training" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_episodes": 0}, "n_episodes"),
        ({"n_episodes": 10, "n_bins": 0}, "n_bins"),
        ({"n_episodes": 10, "n_bins": 2, "n_test": 0}, "n_test"),
        ({"n_episodes": 10, "n_bins": 2, "seed": 0.5}, "seed"),
        ({"n_episodes": 10, "n_bins": 2, "diverged": "ignore"}, "diverged must be one of 'raise', 'record'"),
    ],
)
def test_bad_arguments_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        kn.train({"n": kn.Normalised()}, RESERVOIR, TASK, **options)


def test_no_learners_and_nothing_to_prelearn_are_refused():
    with pytest.raises(ValueError, match="learners must hold at least one"):
        kn.train({}, RESERVOIR, TASK, 10)
    with pytest.raises(ValueError, match="nothing to prelearn"):
        kn.prelearn(kn.GradientWeights(), RESERVOIR, TASK)


def test_learners_without_a_search_are_prelearned_as_if_they_had_one():
    found = kn.prelearn(kn.GradientThresholds(), RESERVOIR, TASK, steps=1000)
    assert found.theta_g == kn.prelearn(kn.Composed(), RESERVOIR, TASK, steps=1000).theta_g
    assert found.theta_g != 0.0


def test_measures_of_the_start_are_those_of_its_thresholds():
    reservoir, task = kn.Reservoir(100, seed=1), kn.StaticTask(kn.load_odours(), 20, seed=1)
    learners = {
        "plain": kn.GradientWeights(),
        "high": kn.GradientThresholds(start=0.5),
        "still": kn.Learner(eta_w=0, start=0.5),
    }
    result = kn.train(learners, reservoir, task, 1000, seed=1, n_test=200)
    batches = list(reservoir.stream(task, 200, _seeding.derive(1, "test"), batch_size=200))
    V = batches[0].states
    np.testing.assert_allclose(result.start_activity.sel(learner="high"), (V > 0.5).mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(result.start_activity.sel(learner="plain"), (V > 0).mean(axis=0), atol=1e-6)
    norm2 = (np.maximum(V - 0.5, 0).astype(float) ** 2).sum(axis=1).mean()
    np.testing.assert_allclose(result.start_norm2.sel(learner="high"), norm2, rtol=1e-5)
    still = result.sel(learner="still")
    for name in ("coding_level", "norm2", "theta", "activity", "specificity", "specificity_summed"):
        np.testing.assert_array_equal(still[name], still[f"start_{name}"])
    x, labels = np.maximum(V - np.float32(0.5), 0), batches[0].labels
    summed = np.abs(x[labels == 0].mean(axis=0) - x[labels == 1].mean(axis=0)) / 2
    np.testing.assert_allclose(still.specificity_summed, summed, rtol=1e-4, atol=1e-6)


def test_tasks_in_turn_are_learned_and_tested_after_each():
    reservoir = kn.Reservoir(200, seed=0)
    tasks = kn.StaticTask(kn.load_odours(), 20, seed=0, noise=0.1).split(2)
    learners = {"Normalised": kn.Normalised(), "GradientWeights": kn.GradientWeights()}
    result = kn.train_in_turn(learners, reservoir, tasks, 2000, n_test=400)
    accuracy = result.group_accuracy.sel(learner="Normalised")
    assert result.group_accuracy.dims == ("learner", "stage", "group")
    assert accuracy.sel(stage=0, group=0) > 0.9
    assert accuracy.sel(stage=0, group=1) < 0.8  # not met yet
    assert accuracy.sel(stage=1, group=1) > 0.9
    again = kn.train_in_turn(learners, reservoir, tasks, 2000, n_test=400, threads=2)
    assert result.identical(again)


@dataclass(frozen=True)
class Shown(kn.Normalised):
    """Remembers the states that it began with."""

    seen: list = field(default_factory=list, compare=False)

    def begin(self, V, n_classes, source):
        self.seen.append(V)
        return super().begin(V, n_classes, source)


@pytest.mark.parametrize("calibration", ["first", "all"])
def test_thresholds_start_from_the_first_task_or_from_all(calibration):
    reservoir = kn.Reservoir(60, seed=0)
    tasks = kn.StaticTask(kn.load_odours(), 20, seed=0, noise=0.0).split(2)
    learner = Shown()
    kn.train_in_turn({"shown": learner}, reservoir, tasks, 1200, n_test=40, calibration=calibration)
    different = np.unique(learner.seen[0], axis=0)  # without noise, a stimulus has one state
    assert len(different) == (20 if calibration == "all" else 10)
    assert len(learner.seen[0]) >= 1000


class Counting(kn.Reservoir):
    """A reservoir that knows how many of its batches are still held by someone."""

    live, most = 0, 0

    def _release(self):
        self.live -= 1

    def stream(self, *args, **options):
        for batch in super().stream(*args, **options):
            states = batch.states.copy()
            self.live += 1
            self.most = max(self.most, self.live)
            weakref.finalize(states, self._release)
            yield batch._replace(states=states)
            del states


@pytest.mark.parametrize("in_turn", [False, True])
def test_memory_does_not_grow_with_the_number_of_episodes(in_turn):
    task, most = kn.StaticTask(ODOURS, 4, steps=2), []
    for n_episodes in (6000, 15_000):
        reservoir = Counting(20, seed=1)
        train, shown = (kn.train_in_turn, [task, task]) if in_turn else (kn.train, task)
        train({"n": kn.Normalised()}, reservoir, shown, n_episodes, n_test=10)
        most.append(reservoir.most)
    assert most[0] == most[1] <= 5  # three for calibration, one being learned from, one being made


def test_a_result_in_turn_carries_what_a_result_of_training_carries():
    tasks = kn.StaticTask(ODOURS, 4, seed=1, steps=5).split(2)
    learners = {"wild": kn.GradientWeights(batch=1, eta_w=1e3), "metropolis": kn.Metropolis()}
    result = kn.train_in_turn(learners, RESERVOIR, tasks, 200, n_test=20, seed=5, diverged="record")
    attrs = {name: json.loads(text) for name, text in result.attrs.items()}
    assert list(attrs) == ["config", "prelearning", "provenance", "diverged"]
    assert list(attrs["diverged"]) == ["wild"]
    assert "use eta_w below" in attrs["diverged"]["wild"]
    assert result.diverged_at.sel(learner="wild") >= 0
    assert attrs["prelearning"]["metropolis"]["n_episodes"] == 10_000
    assert [task["kind"] for task in attrs["config"]["tasks"]] == ["Task", "Task"]
    assert attrs["config"]["learners"]["metropolis"]["kind"] == "Metropolis"
    assert [attrs["config"][name] for name in ("n_episodes", "n_test", "seed")] == [200, 20, 5]
    assert attrs["provenance"]["kenyon"] == kn.__version__


class Recording(kn.Reservoir):
    """A reservoir that knows what it was asked to stream."""

    def stream(self, task, n_episodes, seed=0, **options):
        self.asked.append((n_episodes, seed))
        return super().stream(task, n_episodes, seed, **options)


@pytest.mark.parametrize("n_tasks", [0, 1, 3])
def test_no_episode_is_met_twice_but_in_repeated_tests(n_tasks):
    reservoir = Recording(20)
    reservoir.asked = []
    learners, options = {"m": kn.Metropolis(period=5)}, {"seed": 4, "n_test": 30}
    if n_tasks:
        kn.train_in_turn(learners, reservoir, TASK.split(n_tasks), 50, **options)
    else:
        kn.train(learners, reservoir, TASK, 50, **options)
    by_size = {n: [seed for asked, seed in reservoir.asked if asked == n] for n, _ in reservoir.asked}
    stages = max(n_tasks, 1)
    assert {n: len(seeds) for n, seeds in by_size.items()} == {10_000: 1, 50: stages, 30 // stages: stages**2}
    tests = by_size[30 // stages]
    assert tests == tests[:stages] * stages  # the same after each stage, to compare
    different = [*by_size[10_000], *by_size[50], *tests[:stages]]
    assert len(set(different)) == len(different)


def test_one_task_in_turn_learns_what_it_learns_alone():
    """With one task and its stream of episodes, training in turn is training."""
    reservoir, task = kn.Reservoir(100, seed=0), kn.StaticTask(kn.load_odours(), 20, seed=0)
    turn = kn.train_in_turn({"n": kn.Normalised()}, reservoir, [task], 3000, seed=4)
    alone = kn.train({"n": kn.Normalised()}, reservoir, task, 3000, seed=4)
    assert turn.training_accuracy.shape == alone.training_accuracy.shape
    assert abs(float(turn.training_accuracy.mean() - alone.training_accuracy.mean())) < 0.05


def test_groups_hold_every_item_once():
    task = kn.StaticTask(kn.load_odours(), 23, seed=0)
    parts = task.split(5)
    assert sorted(len(part) for part in parts) == [4, 4, 5, 5, 5]
    np.testing.assert_array_equal(np.concatenate([part.items for part in parts]), task.items)
    np.testing.assert_array_equal(np.concatenate([part.labels for part in parts]), task.labels)
    with pytest.raises(ValueError, match="n_groups"):
        task.split(24)
