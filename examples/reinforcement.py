"""A stock agent of Stable-Baselines3 and our learners on the same task, learning from rewards only.

Odours are learned by trial and error: each episode shows one, the agent names a class, and only the right answer
is rewarded. DQN reads the states of the same reservoir through Kenyon's Gymnasium environment.

    pip install gymnasium stable-baselines3
    python examples/reinforcement.py
"""

import sys
import time

import numpy as np
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

import kenyon as kn
from kenyon.envs import ReservoirFeatures, TaskEnv

N_EPISODES, N_BINS = 10_000, 10


class Rewards(BaseCallback):
    """Keeps the reward of every episode, and shows progress."""

    def __init__(self) -> None:
        super().__init__()
        self.rewards: list[float] = []

    def _on_step(self) -> bool:
        self.rewards.append(float(self.locals["rewards"][0]))
        if len(self.rewards) % (N_EPISODES // N_BINS) == 0:
            print(f"DQN: {len(self.rewards)} of {N_EPISODES} episodes", file=sys.stderr)
        return True


def main() -> None:
    task = kn.StaticTask(kn.load_odours(), n_stimuli=40, seed=0)
    reservoir = kn.Reservoir(300, seed=0)
    curves, seconds = {}, {}

    start = time.perf_counter()
    curves["DQN"] = stock_agent(task, reservoir)
    seconds["DQN"] = time.perf_counter() - start

    rule = kn.QLearning()
    kn.train({"compiled": kn.Normalised(rule=rule)}, reservoir, task, 100)  # at first use, and not counted
    learners = {
        "GradientWeights": kn.GradientWeights(batch=10, rule=rule),
        "Composed": kn.Composed(rule=rule),
        "Normalised": kn.Normalised(rule=rule),
    }
    for name, learner in learners.items():
        start = time.perf_counter()
        result = kn.train({name: learner}, reservoir, task, N_EPISODES, seed=0, n_bins=N_BINS)
        curves[name] = result.training_accuracy[0].values
        seconds[name] = time.perf_counter() - start

    print(f"{'right choices while learning, episodes up to':<46}" + "".join(f"{n:>8}" for n in edges()))
    for name, curve in curves.items():
        print(f"{name:<20}{seconds[name]:>7.1f} s{'':<17}" + "".join(f"{value:>8.2f}" for value in curve))


def stock_agent(task: kn.Task, reservoir: kn.Reservoir) -> np.ndarray:
    """Train DQN with its defaults, except that it does not discount and learns from the start."""
    env = ReservoirFeatures(TaskEnv(task, reward=1.0), reservoir)
    rewards = Rewards()
    agent = DQN("MlpPolicy", env, gamma=0.0, learning_starts=200, train_freq=1, exploration_fraction=0.3, seed=0)
    agent.learn(N_EPISODES, callback=rewards)
    return np.array(rewards.rewards).reshape(N_BINS, -1).mean(axis=1)


def edges() -> list[int]:
    return [N_EPISODES // N_BINS * (k + 1) for k in range(N_BINS)]


if __name__ == "__main__":
    main()
