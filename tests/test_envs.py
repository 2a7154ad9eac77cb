import dataclasses
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import kenyon as kn
from kenyon import envs

IDS = ["kenyon/Static-v0", "kenyon/Sequence-v0"]


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_s_own_check_passes_without_warnings(name):
    check_env(gym.make(name).unwrapped)  # warnings are errors here
    check_env(gym.make(name, render_mode="rgb_array", n_classes=3).unwrapped)


@pytest.mark.parametrize("name", IDS)
def test_an_episode_is_one_decision(name):
    env = gym.make(name)
    task = env.unwrapped.task
    observation, info = env.reset(seed=5)
    assert observation.shape == (task.n_steps, 24)
    assert env.observation_space.contains(observation)
    assert info["odours"] == task.names(info["item"])
    right = task.labels[info["item"]]
    _, reward, terminated, truncated, after = env.step(right)
    assert (reward, terminated, truncated, after["right"]) == (10.0, True, False, True)
    with pytest.raises(gym.error.ResetNeeded):
        env.unwrapped.step(right)
    env.reset()
    assert env.step(1 - task.labels[env.unwrapped._episode.draw.items[0]])[1] == 0.0


@pytest.mark.parametrize("name", IDS)
def test_seeding_repeats_and_episodes_differ(name):
    env = gym.make(name)
    first = [env.reset(seed=3)[0]] + [env.reset()[0] for _ in range(3)]
    again = [env.reset(seed=3)[0]] + [env.reset()[0] for _ in range(3)]
    np.testing.assert_array_equal(first, again)
    assert len({series.tobytes() for series in first}) == 4
    assert not np.array_equal(first[0], env.reset(seed=4)[0])


@pytest.mark.parametrize("name", IDS)
def test_vector_form_follows_gymnasium_s_protocol(name):
    env = gym.make_vec(name, num_envs=6)
    task = env.unwrapped.task
    observations, infos = env.reset(seed=3)
    assert env.observation_space.contains(observations)
    assert infos["odours"][2] == task.names(infos["item"][2])
    labels = task.labels[infos["item"]]
    actions = np.where(np.arange(6) < 3, labels, 1 - labels)
    same, rewards, terminated, truncated, after = env.step(actions)
    np.testing.assert_array_equal(same, observations)
    np.testing.assert_array_equal(rewards, [10, 10, 10, 0, 0, 0])
    assert terminated.all()
    assert not truncated.any()
    np.testing.assert_array_equal(after["right"], rewards > 0)
    fresh, rewards, terminated, _, _ = env.step(actions)  # begins the next episodes, whatever the actions
    assert not np.array_equal(fresh, observations)
    assert not rewards.any()
    assert not terminated.any()
    np.testing.assert_array_equal(env.reset(seed=3)[0], observations)
    np.testing.assert_array_equal(env.observation_space.shape, (6, task.n_steps, 24))
    env.close()


def test_vector_form_shows_the_episodes_of_the_single_one():
    task = kn.StaticTask(kn.load_odours(), 10)
    single, many = envs.TaskEnv(task), envs.TaskVectorEnv(task, 4)
    one = [single.reset(seed=7)[0]] + [single.reset()[0] for _ in range(7)]
    first, _ = many.reset(seed=7)
    many.step(np.zeros(4, int))
    second = many.step(np.zeros(4, int))[0]
    np.testing.assert_array_equal(one, np.concatenate([first, second]))


def test_features_are_those_of_the_reservoir():
    reservoir = kn.Reservoir(100)
    task = kn.StaticTask(kn.load_odours(), 10)
    env = envs.ReservoirFeatures(envs.TaskEnv(task), reservoir)
    V, _ = env.reset(seed=1)
    np.testing.assert_array_equal(V, reservoir.run(env.unwrapped._episode.inputs)[0])
    assert env.observation_space.contains(V)
    coded = envs.ReservoirFeatures(envs.TaskEnv(task), reservoir, theta=0.5)
    np.testing.assert_array_equal(coded.reset(seed=1)[0], np.maximum(V - np.float32(0.5), 0))
    many = envs.ReservoirFeaturesVector(envs.TaskVectorEnv(task, 3), reservoir, threads=2)
    observations, _ = many.reset(seed=1)
    np.testing.assert_array_equal(observations[0], V)
    assert many.observation_space.contains(observations)
    np.testing.assert_array_equal(many.step(np.zeros(3, int))[0], observations)


@pytest.mark.parametrize("task", [kn.StaticTask(kn.load_odours(), 10), kn.SequenceTask(kn.load_odours(), 2)])
def test_a_seed_begins_the_stream_that_training_with_it_learns_from(task):
    reservoir = kn.Reservoir(50)
    stream = next(reservoir.stream(task, 6, seed=5, batch_size=6))
    single = envs.ReservoirFeatures(envs.TaskEnv(task), reservoir)
    shown = [single.reset(seed=5), *(single.reset() for _ in range(5))]
    np.testing.assert_array_equal([states for states, _ in shown], stream.states)
    assert [info["item"] for _, info in shown] == stream.items.tolist()
    many, info = envs.ReservoirFeaturesVector(envs.TaskVectorEnv(task, 6), reservoir).reset(seed=5)
    np.testing.assert_array_equal(many, stream.states)
    np.testing.assert_array_equal(info["item"], stream.items)


TASK, RESERVOIR = kn.StaticTask(kn.load_odours(), 10, 3), kn.Reservoir(60)
RULE = kn.QLearning(reward=10.0, temperature=kn.Schedule(3.0, 1.0, 100))
LEARNERS = {
    "weights": kn.GradientWeights(rule=RULE),
    "thresholds": kn.GradientThresholds(rule=RULE),
    "metropolis": kn.Metropolis(rule=RULE, start=0.2, period=5),
    "composed": kn.Composed(rule=RULE, start=0.2, period=5),
    "normalised": kn.Normalised(rule=RULE),
}


def trained(learner, name, n):
    """Return the weights and thresholds that `train` ends with, through a learner that shows its last readout."""
    seen = {}

    class Watched:
        begin, update, rule = learner.begin, learner.update, learner.rule

        def readout(self, state):
            seen["readout"] = learner.readout(state)
            return seen["readout"]

    curve = kn.train({name: Watched()}, RESERVOIR, TASK, n, seed=4, n_bins=n, n_test=5).training_accuracy
    return seen["readout"], curve[0].values


@pytest.mark.parametrize("batch", [1, 10])
@pytest.mark.parametrize("name", LEARNERS)
def test_an_agent_in_the_environment_learns_what_train_learns(name, batch):
    learner, n = dataclasses.replace(LEARNERS[name], batch=batch), 150
    expected, curve = trained(learner, name, n)
    env = envs.ReservoirFeatures(envs.TaskEnv(TASK), RESERVOIR)
    V = np.stack([env.reset(seed=4)[0], *(env.reset()[0] for _ in range(n - 1))])
    state, rewards = learner.begin(V, TASK.n_classes, kn.Source(4, name)), []
    states, _ = env.reset(seed=4)
    for _ in range(n):
        actions = learner.act(state, states[None])
        rewards.append(env.step(actions[0])[1])
        state, _ = learner.learn(state, states[None], actions, rewards[-1:])
        states, _ = env.reset()
    found = learner.readout(state)
    np.testing.assert_array_equal(found.W, expected.W)
    np.testing.assert_array_equal(found.theta, expected.theta)
    np.testing.assert_array_equal(np.array(rewards) / 10, curve)


@pytest.mark.parametrize("name", LEARNERS)
def test_many_agents_side_by_side_learn_what_train_learns_with_batches_of_as_many(name):
    learner, n = dataclasses.replace(LEARNERS[name], batch=10), 150
    expected, curve = trained(learner, name, n)
    env = envs.ReservoirFeaturesVector(envs.TaskVectorEnv(TASK, 10), RESERVOIR)
    V = next(RESERVOIR.stream(TASK, n, seed=4, batch_size=n)).states
    state, rewarded = learner.begin(V, TASK.n_classes, kn.Source(4, name)), []
    states, _ = env.reset(seed=4)
    for _ in range(n // 10):
        actions = learner.act(state, states)
        _, rewards, *_ = env.step(actions)
        state, _ = learner.learn(state, states, actions, rewards)
        rewarded += (rewards > 0).tolist()
        states, *_ = env.step(actions)
    found = learner.readout(state)
    np.testing.assert_array_equal(found.W, expected.W)
    np.testing.assert_array_equal(found.theta, expected.theta)
    np.testing.assert_array_equal(rewarded, curve)


class Bandit(gym.Env):
    """A user's own: series of one of four waves; pulling an arm pays a noisy real number that depends on both."""

    observation_space = gym.spaces.Box(0, 3, (20, 2), np.float32)
    action_space = gym.spaces.Discrete(3)
    means = np.array([[2.0, -1.0, 0.0], [-3.0, 0.5, 1.5], [0.0, 4.0, 1.0], [-1.0, -2.0, -0.2]])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.wave = self.np_random.integers(4)
        steps = np.arange(20)[:, None] * 0.3 * (1 + self.wave) + np.arange(2)
        return (1.5 + np.sin(steps) + 0.05 * self.np_random.normal(size=(20, 2))).clip(0, 3).astype(np.float32), {}

    def step(self, action):
        return np.zeros((20, 2), np.float32), self.np_random.normal(self.means[self.wave, action], 0.5), True, False, {}

    def render(self):
        return "as it is"


def test_another_s_environment_is_learned_from_its_own_rewards():
    env = envs.ReservoirFeatures(Bandit(), kn.Reservoir(100, n_inputs=2, leak_rate=0.3))
    V = np.stack([env.reset(seed=0)[0], *(env.reset()[0] for _ in range(199))])
    learner = kn.Normalised(rule=kn.QLearning(reward=4.0, temperature=kn.Schedule(3.0, 0.2, 1000)), mu=0.2)
    state, rewards = learner.begin(V, 3, kn.Source(0, "agent")), []
    for _ in range(1500):
        states, _ = env.reset()
        [action] = learner.act(state, states[None])
        _, reward, *_ = env.step(action)
        state, _ = learner.learn(state, states[None], [action], [reward])
        rewards.append(reward)
    best, blind = Bandit.means.max(axis=1).mean(), Bandit.means.mean()
    assert np.mean(rewards[:100]) < best / 2 + blind / 2 < 0.75 * best < np.mean(rewards[-500:])
    assert env.render() == "as it is"


def test_pictures_show_the_action_and_the_reward_once_there_are_any(monkeypatch):
    drawn = []
    monkeypatch.setattr("matplotlib.figure.Figure.suptitle", lambda figure, text, **style: drawn.append(text))
    env = envs.TaskEnv(kn.StaticTask(kn.load_odours(), 10), reward=2.5, render_mode="rgb_array")
    _, info = env.reset(seed=0)
    right = int(env.task.labels[info["item"]])
    for action in (right, 1 - right):
        env.reset(seed=0)
        env.render()
        env.step(action)
        env.render()
    names = " - ".join(info["odours"])
    assert drawn[::2] == [f"{names}\nbefore the decision"] * 2
    assert drawn[1] == f"{names}\naction {right}, right: reward 2.5"
    assert drawn[3] == f"{names}\naction {1 - right}, but {right} was right: reward 0"
    before = envs.ReservoirFeatures(env, kn.Reservoir(50))
    before.reset(seed=0)
    picture = before.render()
    before.step(right)
    assert picture.shape == before.render().shape


def test_pictures_show_the_episode():
    env = gym.make("kenyon/Static-v0", render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    assert first.dtype == np.uint8
    assert first.ndim == 3
    assert first.shape[2] == 3
    env.reset()
    assert not np.array_equal(first, env.render())
    wrapped = envs.ReservoirFeatures(env, kn.Reservoir(50), theta=0.3)
    wrapped.reset(seed=0)
    assert not np.array_equal(wrapped.render(), first)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gym.make("kenyon/Static-v0", reward=0), "reward"),
        (lambda: gym.make("kenyon/Static-v0", n_stimuli=1000), "n_stimuli"),
        (lambda: envs.TaskEnv(kn.StaticTask(kn.load_odours(), 4), render_mode="human"), "render_mode"),
        (lambda: envs.TaskVectorEnv(kn.StaticTask(kn.load_odours(), 4), 0), "num_envs"),
    ],
)
def test_bad_arguments_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_actions_out_of_range_are_refused():
    task = kn.StaticTask(kn.load_odours(), 4)
    env, many = envs.TaskEnv(task), envs.TaskVectorEnv(task, 2)
    with pytest.raises(gym.error.ResetNeeded):
        many.step(np.array([0, 0]))
    env.reset(seed=0)
    many.reset(seed=0)
    with pytest.raises(ValueError, match="action must be an integer from 0 to 1, not 2"):
        env.step(2)
    with pytest.raises(ValueError, match="actions must be from 0 to 1, not 0 to 2"):
        many.step(np.array([0, 2]))


def test_features_of_weights_of_ones_own_are_those_of_the_same_random_weights():
    drawn = kn.Reservoir(30, seed=1)
    own = kn.Reservoir.from_weights(W_in=drawn.W_in, W=drawn.W, leak_rate=drawn.leak_rate)
    task = kn.StaticTask(kn.load_odours(), 6, steps=5)
    seen = [envs.ReservoirFeatures(envs.TaskEnv(task), one).reset(seed=3)[0] for one in (drawn, own)]
    np.testing.assert_array_equal(*seen)
    seen = [envs.ReservoirFeaturesVector(envs.TaskVectorEnv(task, 5), one).reset(seed=3)[0] for one in (drawn, own)]
    np.testing.assert_array_equal(*seen)


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
@pytest.mark.parametrize(
    ("name", "setting", "meant"),
    [("Static", "n_stimulus", "n_stimuli"), ("Sequence", "n_basis", "n_bases"), ("Static", "seed", "task_seed")],
)
def test_a_setting_that_an_environment_does_not_have_is_named_with_those_it_has(make, name, setting, meant):
    message = f"^{setting} is not a setting of this environment, which has .*{meant}.*; did you mean {meant}\\?$"
    with pytest.raises(ValueError, match=message):
        make(f"kenyon/{name}-v0", **{setting: 1})


def test_without_gymnasium_one_error_says_what_to_install():
    code = "import sys; sys.modules['gymnasium'] = None; import kenyon.envs"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last.endswith("kenyon.envs needs gymnasium, which is not installed: pip install gymnasium")
    assert "During handling" not in done.stderr
