"""How many episodes per second the environments deliver, one by one and many at once."""

import time

import gymnasium as gym
import numpy as np

import kenyon as kn
from kenyon.envs import ReservoirFeatures, ReservoirFeaturesVector

SIDE_BY_SIDE, ROUNDS = 1024, 5


def main() -> None:
    print(f"Episodes per second, median of {ROUNDS} rounds; vector: {SIDE_BY_SIDE} side by side, on one thread")
    print(f"  {'':<44}{'single':>9}{'vector':>10}{'ratio':>8}")
    for name in ("kenyon/Static-v0", "kenyon/Sequence-v0"):
        for features in (False, True):
            compare(name, features)


def compare(name: str, features: bool) -> None:
    single, many = gym.make(name), gym.make_vec(name, num_envs=SIDE_BY_SIDE)
    if features:
        reservoir = kn.Reservoir()
        single, many = ReservoirFeatures(single, reservoir), ReservoirFeaturesVector(many, reservoir)
    rates = np.array([(rate_single(single), rate_many(many)) for _ in range(ROUNDS + 1)][1:])
    alone, together = np.median(rates, axis=0)
    ratio = float(np.median(rates[:, 1] / rates[:, 0]))
    label = f"{name}{', with 1000 reservoir features' if features else ''}"
    print(
        f"  {label:<44}{alone:>9.0f}{together:>10.0f}{ratio:>7.0f}x  {'met' if ratio >= 20 else 'MISSED'}: 20x wanted"
    )


def rate_single(env: gym.Env, n: int = 200) -> float:
    env.reset(seed=0)
    start = time.perf_counter()
    for _ in range(n):
        env.reset()
        env.step(0)
    return n / (time.perf_counter() - start)


def rate_many(env: gym.vector.VectorEnv, n: int = 3) -> float:
    env.reset(seed=0)
    actions = np.zeros(SIDE_BY_SIDE, np.int64)
    start = time.perf_counter()
    for _ in range(n):
        env.step(actions)  # decides
        env.step(actions)  # begins the next episodes
    return n * SIDE_BY_SIDE / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
