"""What a learner learns from: the right class, the right numbers, or the reward of the action it took.

supervised    E = sum_j (y_true_j - y_j)^2,  y_true = target for the right class, 0 for the others; the choice, which
              teaches nothing, is drawn from softmax(y / temperature)
regression    E = sum_j (y_true_j - y_j)^2,  y_true one or more real numbers for each episode
Q-learning    E = (R - Q_a)^2,  a drawn from softmax(Q / temperature),  R = reward if a is right, else 0
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks


@dataclass(frozen=True)
class Schedule:
    """A temperature that changes over training.

    Parameters
    ----------
    start, stop
        Temperature at the first episode, and from episode `episodes` on.
    episodes
        Number of episodes that the change takes.
    geometric
        Change by equal factors instead of equal steps.
    """

    start: float
    stop: float
    episodes: int
    geometric: bool = False

    def __post_init__(self) -> None:
        _checks.set_fields(
            self,
            start=_checks.real("start", self.start, _checks.SMALL, _checks.BIG),
            stop=_checks.real("stop", self.stop, _checks.SMALL, _checks.BIG),
            episodes=_checks.integer("episodes", self.episodes, 1),
            geometric=_checks.flag("geometric", self.geometric),
        )

    def at(self, episode: NDArray[np.int_]) -> NDArray[np.float64]:
        """Return the temperature at these episodes."""
        episode = _checks.array("episode", episode, "integers of at least 0")
        if episode.dtype.kind not in "iu" or (episode < 0).any():
            raise ValueError(f"episode must be integers of at least 0, not {_checks.short_repr(episode)}")
        share = np.minimum(episode.astype(np.float64) / self.episodes, 1.0)
        if self.geometric:
            return np.asarray(self.start * (self.stop / self.start) ** share)
        return np.asarray(self.start + (self.stop - self.start) * share)


@dataclass(frozen=True)
class Supervised:
    """Learn from the right class. Choices are drawn from softmax(y / temperature), and do not affect learning.

    Parameters
    ----------
    target
        Output wanted for the right class; 0 is wanted for the others.
    temperature
        Of the choices, while learning and afterwards: a number, or a `Schedule`.
    """

    target: float = 10.0
    temperature: float | Schedule = 1.0

    def __post_init__(self) -> None:
        _checks.set_fields(self, target=_checks.real("target", self.target, _checks.SMALL, _checks.BIG))
        _checks.set_fields(self, temperature=_temperature(self.temperature))

    def temperatures(self, first: int, n: int) -> NDArray[np.float64]:
        """Return the temperature of each choice from episode `first` on."""
        return _temperatures(self.temperature, first, n)


@dataclass(frozen=True)
class Regression:
    """Learn from real numbers: `update` takes targets, shape (n, n_outputs), instead of labels.

    Parameters
    ----------
    size
        Root mean square of the targets, which sets the share of thresholds in a normalised step.
    """

    size: float = 10.0

    def __post_init__(self) -> None:
        _checks.set_fields(self, size=_checks.real("size", self.size, _checks.SMALL, _checks.BIG))

    @property
    def target(self) -> float:
        """The size of a right output."""
        return self.size

    def temperatures(self, first: int, n: int) -> NDArray[np.float64]:
        """Return ones: nothing is chosen."""
        _checks.integer("first", first, 0)
        return np.ones(_checks.integer("n", n, 0))


@dataclass(frozen=True)
class QLearning:
    """Learn from the reward of the action taken; only that action's weights learn.

    Parameters
    ----------
    reward
        R for the right action, where `update` is told the right classes; the others get 0. `learn` takes rewards as
        they come; there this is only their usual size, which sets the share of thresholds in a normalised step.
    temperature
        Of the softmax policy: a number, or a `Schedule`.
    """

    reward: float = 10.0
    temperature: float | Schedule = 1.0

    def __post_init__(self) -> None:
        _checks.set_fields(self, reward=_checks.real("reward", self.reward, _checks.SMALL, _checks.BIG))
        _checks.set_fields(self, temperature=_temperature(self.temperature))

    @property
    def target(self) -> float:
        """The right output for a rewarded action."""
        return self.reward

    def temperatures(self, first: int, n: int) -> NDArray[np.float64]:
        """Return the temperature of each choice from episode `first` on."""
        return _temperatures(self.temperature, first, n)


def _temperature(value: object) -> float | Schedule:
    if isinstance(value, Schedule):
        return value
    return _checks.real_or("temperature", value, _checks.SMALL, _checks.BIG, "or a Schedule")


def _temperatures(temperature: float | Schedule, first: int, n: int) -> NDArray[np.float64]:
    first, n = _checks.integer("first", first, 0), _checks.integer("n", n, 0)
    if isinstance(temperature, Schedule):
        return temperature.at(np.arange(first, first + n))
    temperatures = np.empty(n)
    temperatures.fill(temperature)  # in half of the time that np.full takes for one
    return temperatures
