"""The tasks as Gymnasium environments: one decision per episode.

An observation is what the input channels receive over an episode, noise included, shape (n_steps, n_channels). An
action is a class, and the right one is rewarded. `ReservoirFeatures` turns observations into reservoir states.
`reset(seed=s)` begins the stream of episodes that `train(..., seed=s)` learns from, and later resets go on in it.
Importing this module registers `kenyon/Static-v0` and `kenyon/Sequence-v0` for `gymnasium.make` and its `make_vec`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks

try:
    import gymnasium as gym
except ModuleNotFoundError:
    raise _checks.missing("kenyon.envs", "gymnasium") from None
from gymnasium.vector import AutoresetMode, VectorEnv, VectorObservationWrapper
from gymnasium.vector.utils import batch_space

from kenyon._pictures import draw_episode
from kenyon.odours import load_odours
from kenyon.readout import CODES, ON_OFF, encoded
from kenyon.reservoir import Reservoir
from kenyon.tasks import Draw, SequenceTask, StaticTask, Task

MOST_SIGMAS = 7.0  # the generator's normal numbers stay below 6.8


def _spaces(task: Task) -> tuple[Any, Any]:
    largest = float(_checks.instance("task", task, Task).odours.scaled.max())
    reach = MOST_SIGMAS * task.noise
    shape = (task.n_steps, len(task.odours.channels))
    low, high = np.float32(min(0.0, 1 - reach) * largest), np.float32((1 + reach) * largest)
    return gym.spaces.Box(low, high, shape, np.float32), gym.spaces.Discrete(task.n_classes)


class TaskEnv(gym.Env[NDArray[np.float32], np.int64]):
    """A task, one episode at a time.

    Parameters
    ----------
    task
        The stimuli and their classes.
    reward
        Reward for the right action; the others get 0.
    render_mode
        "rgb_array": `render` returns a picture of the episode: the odour, the hidden state and a sparse code, and after
        the decision the action, the right one and the reward.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012 (as Gymnasium has it)

    def __init__(self, task: Task, *, reward: float = 10.0, render_mode: str | None = None) -> None:
        self.task, self.reward = task, _checks.real("reward", reward, 0.0, open_low=True)
        if render_mode is not None:
            _checks.one_of("render_mode", render_mode, ("rgb_array",))
        self.render_mode = render_mode
        self.observation_space, self.action_space = _spaces(task)
        self._episode = _Episodes(task, 1)
        self._outcome: tuple[int, int, float] | None = None  # action, right action and reward, once decided

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin the next episode; with a seed, the first episode of that seed."""
        super().reset(seed=None if seed is None else _checks.integer("seed", seed, 0))
        self._episode.next(seed, self.np_random)
        self._outcome = None
        return self._episode.inputs[0], self._info()

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Decide, and end the episode."""
        if self._episode.over:
            raise gym.error.ResetNeeded("this episode is over: call reset() before the next step()")
        chosen = _checks.integer("action", action, 0, self.task.n_classes - 1)
        self._episode.over = True
        label = int(self._episode.draw.labels[0])
        right = chosen == label
        self._outcome = chosen, label, self.reward * right
        return self._episode.inputs[0].copy(), self.reward * right, True, False, {**self._info(), "right": right}

    def render(self) -> Any:
        """Return a picture of the episode, drawn with a reservoir of default settings."""
        return self.picture(None) if self.render_mode == "rgb_array" else None

    def picture(
        self, reservoir: Reservoir | None, theta: float | NDArray[np.float32] | None = None
    ) -> NDArray[np.uint8]:
        """Return a picture of the episode as this reservoir sees it."""
        if self._episode.seed is None:
            raise gym.error.ResetNeeded("there is no episode yet: call reset() first")
        if reservoir is None:
            reservoir = Reservoir(200, n_inputs=len(self.task.odours.channels))
        theta = _thresholds("theta", theta, _checks.instance("reservoir", reservoir, Reservoir))
        title = " - ".join(self.task.names(int(self._episode.draw.items[0])))
        return draw_episode(self._episode.inputs[0], reservoir, theta, title, self._outcome)

    def _info(self) -> dict[str, Any]:
        item = int(self._episode.draw.items[0])
        return {"odours": self.task.names(item), "item": item}


class TaskVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """Many episodes of a task at once, computed in one call of the kernel.

    As in Gymnasium's own vector environments, the step after a decision begins the next episodes; its actions are
    ignored.

    Parameters
    ----------
    task, reward
        As in `TaskEnv`.
    num_envs
        Number of episodes that run side by side.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(self, task: Task, num_envs: int = 1, *, reward: float = 10.0) -> None:
        self.num_envs = _checks.integer("num_envs", num_envs, 1)
        self.task, self.reward = task, _checks.real("reward", reward, 0.0, open_low=True)
        self.single_observation_space, self.single_action_space = _spaces(task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._names = np.fromiter(map(task.names, range(len(task))), object, len(task))
        self._episode = _Episodes(task, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin the next episodes; with a seed, the first episodes of that seed."""
        super().reset(seed=None if seed is None else _checks.integer("seed", seed, 0))
        self._episode.next(seed, self.np_random)
        return self._episode.inputs, self._info()

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Decide all episodes; or, if all were decided, begin the next ones."""
        if self._episode.seed is None:
            raise gym.error.ResetNeeded("call reset() before the first step()")
        no = np.zeros(self.num_envs, bool)
        if self._episode.over:
            self._episode.next(None, self.np_random)
            return self._episode.inputs, np.zeros(self.num_envs), no, no.copy(), self._info()
        actions = _checks.labels(actions, self.num_envs, self.task.n_classes, "actions", "episode")
        self._episode.over = True
        right = actions == self._episode.draw.labels
        info = {**self._info(), "right": right, "_right": ~no}
        return self._episode.inputs, self.reward * right, ~no, no, info

    def _info(self) -> dict[str, Any]:
        items, mask = self._episode.draw.items, np.ones(self.num_envs, bool)
        return {"odours": self._names[items], "_odours": mask, "item": items, "_item": mask}


class ReservoirFeatures(gym.ObservationWrapper[NDArray[np.float32], np.int64, NDArray[np.float32]]):
    """Observations as a reservoir sees them: its states at the decision.

    Parameters
    ----------
    env
        An environment whose observations are series, shape (n_steps, n_channels).
    reservoir
        The reservoir.
    theta
        Thresholds: give x = relu(V - theta) instead of V.
    theta_off
        Thresholds of the second side: give x followed by relu(theta_off - V), the code "on_off".
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        reservoir: Reservoir,
        theta: float | NDArray[np.float32] | None = None,
        theta_off: float | NDArray[np.float32] | None = None,
    ) -> None:
        super().__init__(_checks.instance("env", env, gym.Env))
        self.reservoir = _fitting(reservoir, env.observation_space)
        self.theta, self.theta_off = _sides(theta, theta_off, reservoir)
        self.observation_space = _feature_space(reservoir, self.theta_off)

    def observation(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the features of one series."""
        shown = _checks.numbers("observation", observation, "(n_steps, n_channels)", 2)
        return np.asarray(_features(self.reservoir, shown[None], self.theta, self.theta_off, 1)[0])

    def render(self) -> Any:
        """Return a picture of the episode as this reservoir sees it; environments of your own render as they do."""
        env = self.env.unwrapped
        return env.picture(self.reservoir, self.theta) if isinstance(env, TaskEnv) else super().render()


class ReservoirFeaturesVector(VectorObservationWrapper):
    """The same for a vector environment, with all series in one call of the kernel.

    Parameters
    ----------
    env
        A vector environment whose observations are series, shape (num_envs, n_steps, n_channels).
    reservoir, theta, theta_off
        As in `ReservoirFeatures`.
    threads
        Number of threads for simulation.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        reservoir: Reservoir,
        theta: float | NDArray[np.float32] | None = None,
        theta_off: float | NDArray[np.float32] | None = None,
        *,
        threads: int = 1,
    ) -> None:
        super().__init__(_checks.instance("env", env, VectorEnv))
        self.reservoir = _fitting(reservoir, env.single_observation_space)
        self.theta, self.theta_off = _sides(theta, theta_off, reservoir)
        self.threads = _checks.integer("threads", threads, 1)
        self.single_observation_space = _feature_space(reservoir, self.theta_off)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self._seen: tuple[Any, Any] = (None, None)

    def observations(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the features of all series; a decision returns those that it was based on."""
        if self._seen[0] is not observations:
            shown = _checks.numbers("observations", observations, "(num_envs, n_steps, n_channels)", 3)
            self._seen = observations, _features(self.reservoir, shown, self.theta, self.theta_off, self.threads)
        return np.asarray(self._seen[1])


class _Episodes:
    """The current episodes of an environment: `n` side by side, followed by the next `n` in the stream of the seed.

    It is the stream that a reservoir's `stream` with this seed shows.
    """

    def __init__(self, task: Task, n: int) -> None:
        self.task, self.n = task, n
        self.seed: int | None = None
        self.first, self.over = 0, True
        self.draw: Draw = task.draw(0)
        self.inputs = np.empty((0, task.n_steps, len(task.odours.channels)), np.float32)

    def next(self, seed: int | None, rng: np.random.Generator) -> None:
        """Go on to the next episodes, or with a seed to its first; `rng` draws one if there was none so far."""
        if seed is None and self.seed is not None:
            self.first += self.n
        else:
            self.seed, self.first = int(rng.integers(2**63)) if seed is None else seed, 0
        self.draw, self.over = self.task.draw(self.n, self.seed, first=self.first), False
        self.inputs = self.task.show(self.draw)


def _features(
    reservoir: Reservoir,
    series: NDArray[np.float32],
    theta: NDArray[np.float32] | None,
    theta_off: NDArray[np.float32] | None,
    threads: int,
) -> NDArray[np.float32]:
    V = reservoir.run(series, threads=threads)
    if theta is None:
        return V
    return encoded(V, theta, CODES[0]) if theta_off is None else encoded(V, np.append(theta, theta_off), ON_OFF)


def _feature_space(reservoir: Reservoir, theta_off: NDArray[np.float32] | None) -> Any:
    """Return the space of features: states, or units of one side or both."""
    n = reservoir.n_neurons * (1 if theta_off is None else 2)
    return gym.spaces.Box(0.0, np.inf, (n,), np.float32)


def _sides(theta: Any, theta_off: Any, reservoir: Reservoir) -> list[NDArray[np.float32] | None]:
    """Return the thresholds of both sides, as far as they are given."""
    if theta is None and theta_off is not None:
        raise ValueError("theta must be given too where theta_off is")
    return [_thresholds("theta", theta, reservoir), _thresholds("theta_off", theta_off, reservoir)]


def _thresholds(name: str, theta: Any, reservoir: Reservoir) -> NDArray[np.float32] | None:
    """Return one threshold per neuron in single precision, given a common one or one per neuron."""
    if theta is None:
        return None
    found = _checks.array(name, theta, f"a number, or {reservoir.n_neurons} of them")
    if found.dtype.kind not in "fiu" or found.shape not in ((), (reservoir.n_neurons,)):
        raise ValueError(f"{name} must be a number, or {reservoir.n_neurons} of them, not {_checks.short_repr(theta)}")
    return _checks.single(name, np.broadcast_to(found, reservoir.n_neurons))


def _fitting(reservoir: Reservoir, space: Any) -> Reservoir:
    """Return the reservoir if its input fits the observations."""
    _checks.instance("reservoir", reservoir, Reservoir)
    if len(space.shape or ()) != 2 or space.shape[1] != reservoir.n_inputs:
        raise ValueError(
            f"reservoir has n_inputs={reservoir.n_inputs}, but observations of env have shape {space.shape}, "
            "which should be (n_steps, n_channels)"
        )
    return reservoir


def _task(kind: Callable[..., Task], task_seed: int, settings: dict[str, Any], *others: str) -> Task:
    """Make the task of an environment, which has some other settings too, refusing any that it does not have."""
    known = [name for name in inspect.signature(kind).parameters if name not in ("odours", "seed")]
    for name in settings:
        if name not in known:
            has = [*known, "task_seed", "reward", *others]
            similar = _checks.suggestion(name, has)
            raise ValueError(f"{name} is not a setting of this environment, which has {', '.join(has)}{similar}")
    return kind(load_odours(), seed=task_seed, **settings)


def _env(
    kind: Callable[..., Task], *, reward: float = 10.0, render_mode: str | None = None, task_seed: int = 0, **task: Any
) -> TaskEnv:
    return TaskEnv(_task(kind, task_seed, task, "render_mode"), reward=reward, render_mode=render_mode)


def _vector_env(
    kind: Callable[..., Task], num_envs: int = 1, *, reward: float = 10.0, task_seed: int = 0, **task: Any
) -> TaskVectorEnv:
    return TaskVectorEnv(_task(kind, task_seed, task), num_envs, reward=reward)


static_env, sequence_env = partial(_env, StaticTask), partial(_env, SequenceTask)
static_vector_env, sequence_vector_env = partial(_vector_env, StaticTask), partial(_vector_env, SequenceTask)
gym.register("kenyon/Static-v0", entry_point=static_env, vector_entry_point=static_vector_env)
gym.register("kenyon/Sequence-v0", entry_point=sequence_env, vector_entry_point=sequence_vector_env)
