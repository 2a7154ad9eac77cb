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
