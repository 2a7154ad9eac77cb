"""Learners, tasks and reservoirs of a user's own, with no more than the protocols ask for."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import kenyon as kn
from kenyon import _seeding
from tests.small_learners import Centroids, Delta, Sparse

ODOURS = kn.load_odours()
TASK = kn.StaticTask(ODOURS, 10, seed=1, steps=20)
RESERVOIR = kn.Reservoir(100, seed=1, leak_rate=0.06)


@dataclass(frozen=True)
class Perceptron:
    """Learns only from its mistakes. Its state: W, and how many episodes were seen."""

    rate: float = 0.1

    def begin(self, V, n_classes, source):
        return np.zeros((n_classes, V.shape[1]), np.float32), 0

    def update(self, state, V, labels):
        W, n_seen = state[0].copy(), state[1]
        correct = np.empty(len(V), np.float32)
        for n, (v, label) in enumerate(zip(V, labels, strict=True)):
            choice = int(np.argmax(W @ v))
            correct[n] = choice == label
            W[label] += self.rate * (1 - correct[n]) * v
            W[choice] -= self.rate * (1 - correct[n]) * v
        return (W, n_seen + len(V)), kn.Info(1 - correct, correct)

    def readout(self, state):
        return kn.Readout(state[0], np.zeros(state[0].shape[1], np.float32), thresholds=False, temperature=0)


class Projection:
    """A reservoir without time: a random projection of the mean input."""

    def __init__(self, n_neurons, short=0):
        self.n_neurons, self.short = n_neurons, short
        self._weights = np.random.default_rng(0).normal(size=(len(ODOURS.channels), n_neurons))

    def stream(self, task, n_episodes, seed=0, *, batch_size=256, threads=1):
        for first in range(0, n_episodes - self.short, 300):
            draw = task.draw(min(300, n_episodes - self.short - first), seed, first=first)
            V = np.maximum(task.show(draw).mean(axis=1) @ self._weights, 0)
            yield kn.Batch(V.astype(np.float32), draw.labels, draw.items)


class Pairs(kn.Task):
    """Two odours in a row; the class says whether the first comes before the second in the table."""

    def __init__(self, n_items):
        items = np.random.default_rng(0).permutation(len(ODOURS))[: 2 * n_items].reshape(n_items, 2)
        super().__init__(ODOURS, items, (items[:, 0] < items[:, 1]).astype(int), n_classes=2, steps=10, noise=0.1)


def test_a_learner_learns_and_is_recorded_with_its_settings():
    learners = {"mine": Perceptron(0.5), "theirs": kn.Normalised()}
    result = kn.train(learners, RESERVOIR, TASK, 4000, n_test=300)
    assert float(result.argmax_accuracy.sel(learner="mine")) > 0.9
    assert float(result.training_accuracy.sel(learner="mine")[-1]) > float(result.training_accuracy[0, 0])
    assert json.loads(result.attrs["config"])["learners"]["mine"] == {"kind": "Perceptron", "rate": 0.5}
    alone = kn.train({"theirs": kn.Normalised()}, RESERVOIR, TASK, 4000, n_test=300)
    assert alone.accuracy[0] == result.accuracy[1]
    turns = kn.train_in_turn(learners, RESERVOIR, TASK.split(2), 2000, n_test=200)
    assert float(turns.group_accuracy.sel(learner="mine", stage=1, group=1)) > 0.6


def test_a_learner_sees_every_episode_once_in_order_after_its_calibration():
    class Logging(Perceptron):
        def begin(self, V, n_classes, source):
            self.calls.append(V)
            return super().begin(V, n_classes, source)

        def update(self, state, V, labels):
            self.calls.append(V)
            return super().update(state, V, labels)

    learner = Logging()
    object.__setattr__(learner, "calls", [])
    kn.train({"log": learner}, RESERVOIR, TASK, 4500, seed=3, n_test=10)
    V = next(RESERVOIR.stream(TASK, 4500, seed=3, batch_size=4500)).states
    np.testing.assert_array_equal(learner.calls[0], V[:3000])
    np.testing.assert_array_equal(np.concatenate(learner.calls[1:]), V)


@pytest.mark.parametrize(("temperature", "p"), [(1.0, 1.0), (50.0, 1 / (1 + np.exp(-1)))])
def test_a_bias_and_a_temperature_count_in_the_test(temperature, p):
    class Biased(Perceptron):
        def readout(self, state):
            plain = super().readout(state)
            return plain._replace(W=np.zeros_like(plain.W), bias=np.array([0.0, 50.0]), temperature=temperature)

    result = kn.train({"biased": Biased()}, RESERVOIR, TASK, 100, n_test=500)
    share = next(RESERVOIR.stream(TASK, 500, _seeding.derive(0, "test"), batch_size=500)).labels.mean()
    assert float(result.expected_accuracy[0]) == pytest.approx(p * share + (1 - p) * (1 - share))


def test_a_learner_that_diverges_is_raised_or_recorded():
    class Failing(Perceptron):
        def update(self, state, V, labels):
            if state[1] >= 2000:
                raise kn.Diverged("mine", state[1], "no patience left")
            return super().update(state, V, labels)

    learners = {"mine": Failing(), "theirs": kn.Normalised()}
    with pytest.raises(kn.Diverged, match="mine diverged by episode 2000: no patience left"):
        kn.train(learners, RESERVOIR, TASK, 4000)
    result = kn.train(learners, RESERVOIR, TASK, 4000, n_bins=4, n_test=50, diverged="record")
    assert result.diverged_at.values.tolist() == [2000, -1]
    assert result.training_accuracy[0].isnull().values.tolist() == [False, False, True, True]
    assert "no patience left" in json.loads(result.attrs["diverged"])["mine"]


def test_the_error_names_the_method_that_a_learner_lacks():
    class Idle(Perceptron):
        update = None

    class Empty:
        begin = Perceptron.begin

    for learner, message in [
        (Idle(), r"learners\['a'\] must be a learner, .* has no method update$"),
        (Empty(), r"has no method update, readout$"),
        (Perceptron, r"learners\['a'\] must be a learner, .* not a class"),
    ]:
        for train, shown in ((kn.train, TASK), (kn.train_in_turn, [TASK])):
            with pytest.raises(ValueError, match=message):
                train({"a": learner}, RESERVOIR, shown, 10)


@pytest.mark.parametrize("learner", [Delta(), Centroids(), Sparse()], ids=lambda learner: type(learner).__name__)
def test_as_little_as_will_do_is_enough(learner):
    result = kn.train({"a": learner, "b": kn.Normalised()}, RESERVOIR, TASK, 3000, n_test=200).sel(learner="a")
    assert float(result.accuracy) == float(result.expected_accuracy) == float(result.argmax_accuracy) > 0.7
    assert result.training_accuracy.isnull().all() == isinstance(learner, Centroids)
    assert (result.theta != 0).any() == isinstance(learner, Sparse)
    turns = kn.train_in_turn({"a": learner}, RESERVOIR, TASK.split(2), 1500, n_test=200)
    assert float(turns.group_accuracy.max()) > 0.7


INFO = "must return a state and an Info"


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, f"{INFO}, not None"),
        (3, f"{INFO}, not 3"),
        ((1, 2, 3), f"{INFO}, not"),
        (((), None), f"{INFO} whose `cost` and `correct` have one number for each of the 10 episodes, not None"),
        (((), (1.0,)), f"{INFO} whose .* 10 episodes, not"),
        (((), ("a", "b")), f"{INFO} whose .* 10 episodes, not"),
        (((), kn.Info(np.zeros(3), np.zeros(3))), f"{INFO} whose .* 10 episodes, not"),
    ],
)
def test_an_update_that_does_not_say_what_happened_is_refused(returned, message):
    class Silent(Perceptron):
        def update(self, state, V, labels):
            return returned

    with pytest.raises(ValueError, match=rf"learners\['a'\].update {message}"):
        kn.train({"a": Silent()}, RESERVOIR, TASK, 10)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, r"must return a Readout, such as kn.Readout\(W, theta\), not None"),
        (np.zeros((2, 100)), r"must return a Readout, such as .* not array"),
        (kn.Readout(np.zeros((100, 2)), np.zeros(2)), r"whose W has shape \(2, 100\), not \(100, 2\)"),
        (kn.Readout(np.zeros((2, 100))), r"theta must have shape \(100,\); only with thresholds=False may it be left"),
        (kn.Readout(np.zeros((2, 100)), np.zeros(3)), r"theta must have shape \(100,\) to fit W, not \(3,\)"),
        ((np.zeros((2, 100)), np.zeros(100), False, None, None, 1e-30), "temperature must be 0 or at least 1e-15"),
    ],
)
def test_a_readout_that_cannot_be_one_is_refused(returned, message):
    class Unreadable(Perceptron):
        def readout(self, state):
            return returned

    with pytest.raises(ValueError, match=rf"learners\['a'\].readout .*{message}"):
        kn.train({"a": Unreadable()}, RESERVOIR, TASK, 10)


def test_weights_that_are_not_finite_count_as_diverged():
    class Wild(Perceptron):
        def readout(self, state):
            return super().readout((state[0] + (np.inf if state[1] else 0), 0))

    with pytest.raises(kn.Diverged, match=r"diverged by episode 50: its weights are no longer finite"):
        kn.train({"a": Wild()}, RESERVOIR, TASK, 50)
    result = kn.train({"a": Wild(), "b": kn.Normalised()}, RESERVOIR, TASK, 50, n_test=20, diverged="record")
    assert result.diverged_at.values.tolist() == [50, -1]
    assert result.accuracy.isnull().values.tolist() == [True, False]


def test_ties_at_temperature_0_go_to_the_first_class():
    class Undecided(Perceptron):
        def readout(self, state):
            return kn.Readout(np.zeros((2, 100)), thresholds=False, temperature=0, bias=np.array([7.0, 7.0]))

    result = kn.train({"a": Undecided()}, RESERVOIR, TASK, 10, n_test=300)
    share = (next(RESERVOIR.stream(TASK, 300, _seeding.derive(0, "test"), batch_size=300)).labels == 0).mean()
    for name in ("accuracy", "expected_accuracy", "argmax_accuracy"):
        assert float(result[name][0]) == pytest.approx(share)


@dataclass(frozen=True)
class Small(Sparse):
    """Takes the largest output, but does not say so."""

    temperature: float = 1.0

    def readout(self, state):
        return kn.Readout(*state, temperature=self.temperature)


def test_outputs_that_are_small_beside_the_temperature_are_warned_of():
    with pytest.warns(
        UserWarning, match=r"learners\['a'\] is right in 0\.9\d|1\.00 of .* but its accuracy is 0\..*=0"
    ) as seen:
        result = kn.train({"a": Small(0.01), "b": kn.GradientWeights()}, RESERVOIR, TASK, 3000, n_test=200)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert float(result.argmax_accuracy[0]) > float(result.accuracy[0]) + 0.2
    with pytest.warns(UserWarning, match=r"learners\['a'\] is right in") as seen:
        kn.train_in_turn({"a": Small(0.01)}, RESERVOIR, TASK.split(2), 1500, n_test=200)
    assert len(seen) == 1
    kn.train({"a": Small(0.01, temperature=0.9)}, RESERVOIR, TASK, 3000, n_test=200)  # as it was meant to be


def test_settings_that_json_does_not_know_do_not_spoil_a_run():
    @dataclass(frozen=True)
    class Strange(Perceptron):
        options: dict = None

    learner = Strange(options={"prior": np.zeros(2)})
    result = kn.train({"a": learner}, RESERVOIR, TASK, 10, n_test=10)
    assert "array" in json.loads(result.attrs["config"])["learners"]["a"]["options"]["prior"]


@pytest.mark.parametrize("learner", [Perceptron(), kn.Normalised(), kn.Metropolis(eta_w=1e-4)])
def test_a_reservoir_needs_only_a_stream(learner):
    result = kn.train({"a": learner}, Projection(80), TASK, 3500, n_test=100)
    assert result.sizes["neuron"] == 80
    assert float(result.argmax_accuracy[0]) > 0.8
    assert json.loads(result.attrs["config"])["reservoir"] == {"kind": "Projection", "n_neurons": 80, "short": 0}
    assert kn.train_in_turn({"a": learner}, Projection(80), [TASK], 300, n_test=100).group_accuracy.notnull().all()


@pytest.mark.parametrize("short", [1, 950, -20])
def test_a_reservoir_that_yields_another_number_of_episodes_is_refused(short):
    with pytest.raises(ValueError, match="reservoir.stream must yield 1000 episodes"):
        kn.train({"a": kn.Normalised()}, Projection(20, short), TASK, 1000)
    with pytest.raises(ValueError, match="reservoir.stream must yield 200 episodes"):
        kn.prelearn(kn.Metropolis(), Projection(20, short), TASK, steps=200)


@pytest.mark.parametrize("reservoir", [kn.Reservoir, None, object(), Projection])
def test_what_cannot_stream_is_refused(reservoir):
    with pytest.raises(ValueError, match="reservoir must be a Reservoir, or have a method stream, not"):
        kn.train({"a": kn.Normalised()}, reservoir, TASK, 10)
    with pytest.raises(ValueError, match="reservoir must be"):
        kn.prelearn(kn.Metropolis(), reservoir, TASK, steps=100)


def test_a_task_is_learned_like_any_other():
    result = kn.train({"n": kn.Normalised()}, RESERVOIR, Pairs(12), 3000, n_test=200)
    assert float(result.argmax_accuracy[0]) > 0.95
    assert json.loads(result.attrs["config"])["task"]["kind"] == "Pairs"
    with pytest.raises(ValueError, match="task must be a Task"):
        kn.train({"n": kn.Normalised()}, RESERVOIR, object(), 10)
