"""What is tried on environments, experiments and the paper's own run."""

import gymnasium as gym
import numpy as np
from matplotlib import pyplot as plt

import kenyon as kn
from kenyon import envs
from tests.reliability.cases_model import FOLDER, INPUTS, RESERVOIR, SEQUENCES, TASK
from tests.reliability.registry import case
from tests.reliability.strategies import anything, arrays, counts, reals, words

TASKS = words(SEQUENCES, kn.Task, kn.StaticTask)
MODES = words("rgb_array", "human", None)
NETWORKS = words(kn.Reservoir, kn.Reservoir(5, n_inputs=3, connections=2.0), None)
THETA = np.arange(10) / 8


def begun(env):
    env.reset(seed=0)
    return env


case("envs.TaskEnv", lambda **given: begun(envs.TaskEnv(**given)), lambda: {"task": TASK, "reward": 1.0},
     {"task": TASKS, "reward": reals(), "render_mode": MODES})  # fmt: skip
case("envs.TaskEnv.reset", lambda **given: envs.TaskEnv(TASK).reset(**given)[0], lambda: {"seed": 1, "options": None},
     {"seed": anything(), "options": anything()})  # fmt: skip
case("envs.TaskEnv.step", lambda **given: begun(envs.TaskEnv(TASK)).step(**given)[:2], lambda: {"action": 1},
     {"action": anything()})  # fmt: skip
case("envs.TaskEnv.render", lambda: begun(envs.TaskEnv(TASK, render_mode="rgb_array")).render())
case("envs.TaskEnv.picture", begun(envs.TaskEnv(TASK)).picture, lambda: {"reservoir": RESERVOIR, "theta": 0.5},
     {"reservoir": NETWORKS, "theta": anything()}, words={"reservoir": ("reservoir", "n_inputs", "theta")})  # fmt: skip
case("envs.TaskVectorEnv", lambda **given: begun(envs.TaskVectorEnv(**given)),
     lambda: {"task": TASK, "num_envs": 2, "reward": 1.0},
     {"task": TASKS, "num_envs": counts(5), "reward": reals()})  # fmt: skip
case("envs.TaskVectorEnv.reset", lambda **given: envs.TaskVectorEnv(TASK, 2).reset(**given)[0],
     lambda: {"seed": 1, "options": None}, {"seed": anything(), "options": anything()})  # fmt: skip
case("envs.TaskVectorEnv.step", lambda **given: begun(envs.TaskVectorEnv(TASK, 3)).step(**given)[:2],
     lambda: {"actions": np.array([0, 1, 0])}, {"actions": arrays(np.array([0, 1, 0]))},
     clothes={"actions": np.array([0, 1, 0])})  # fmt: skip
ENVS = words(envs.TaskEnv, envs.TaskEnv(SEQUENCES), envs.TaskVectorEnv(TASK), gym.spaces.Discrete(2))
SINGLE = envs.ReservoirFeatures(envs.TaskEnv(TASK), RESERVOIR, 0.25)
MANY = envs.ReservoirFeaturesVector(envs.TaskVectorEnv(TASK, 4), RESERVOIR)
wrapped = {"env": ENVS, "reservoir": NETWORKS, "theta": reals() | arrays(THETA), "theta_off": reals() | arrays(THETA)}
in_words = {"env": ("env", "reservoir"), "theta": ("theta", "theta_off")}
case("envs.ReservoirFeatures", lambda **given: envs.ReservoirFeatures(**given).reset(seed=0)[0],
     lambda: {"env": envs.TaskEnv(TASK), "reservoir": RESERVOIR, "theta": THETA, "theta_off": THETA}, wrapped,
     clothes={"theta": THETA, "theta_off": THETA}, words=in_words)  # fmt: skip
case("envs.ReservoirFeaturesVector", lambda **given: envs.ReservoirFeaturesVector(**given).reset(seed=0)[0],
     lambda: {"env": envs.TaskVectorEnv(TASK, 2), "reservoir": RESERVOIR, "theta": THETA, "theta_off": THETA, "threads": 1},
     wrapped | {"threads": counts(3)}, clothes={"theta": THETA, "theta_off": THETA}, words=in_words)  # fmt: skip
case("envs.ReservoirFeatures.observation", SINGLE.observation, lambda: {"observation": INPUTS[0]},
     {"observation": arrays(INPUTS[0])}, clothes={"observation": INPUTS[0]},
     words={"observation": ("observation", "inputs", "spectral_radius")})  # fmt: skip
case("envs.ReservoirFeatures.render", lambda: begun(SINGLE).render())
case("envs.ReservoirFeaturesVector.observations", MANY.observations, lambda: {"observations": INPUTS},
     {"observations": arrays(INPUTS)}, clothes={"observations": INPUTS},
     words={"observations": ("observations", "inputs", "spectral_radius")})  # fmt: skip
of_env = {"reward": reals(), "n_classes": counts(10), "task_seed": anything()}
for kind, size, valid in (("static", "n_stimuli", 4), ("sequence", "n_bases", 1)):
    spec = gym.spec(f"kenyon/{kind.title()}-v0")
    in_words = {"task_seed": ("seed",), "n_classes": ("n_classes", "n_stimuli")}
    case(f"envs.{kind}_env", spec.entry_point, lambda size=size, valid=valid: {size: valid, "reward": 1.0},
         of_env | {size: counts(30), "render_mode": MODES}, words=in_words)  # fmt: skip
    case(f"envs.{kind}_vector_env", spec.vector_entry_point,
         lambda size=size, valid=valid: {size: valid, "num_envs": 2}, of_env | {size: counts(30), "num_envs": counts(5)},
         words=in_words)  # fmt: skip

PLAIN = {
    "task": {"kind": "static", "n_stimuli": 4, "steps": 2}, "reservoir": {"n_neurons": 8, "connections": 3.0},
    "learners": {"Normalised": {}}, "n_episodes": 6, "n_test": 4, "n_bins": 2,
}  # fmt: skip
EXPERIMENT = kn.load_experiment(PLAIN)
case("load_experiment", kn.load_experiment, lambda: {"source": PLAIN, "seeds": 1},
     {"source": words({}, {"task": 1}, {"learners": []}, {**PLAIN, "name": 3}, {**PLAIN, "seed": 10**400}, {1: 2},
                      {**PLAIN, "name": "../a"}, {**PLAIN, "name": "a\0"}, {**PLAIN, "n_test": np.int64(3)},
                      {**PLAIN, "zip": 3}, {**PLAIN, "case": [3]}, {**PLAIN, "tune": 3}, {**PLAIN, "preset": []}),
      "seeds": counts(3)},
     words={"source": ("source", "task", "learners", "name", "preset", "seed", "zip", "case", "tune", "known", "read",
                       "n_test")})  # fmt: skip
case("run_trial", kn.run_trial, lambda: {"config": EXPERIMENT.trials[0], "threads": 1, "progress": False, "commit": ""},
     {"config": words(PLAIN, kn.load_experiment), "threads": counts(3), "progress": anything(), "commit": anything()}, nan=True)  # fmt: skip
case("run_experiment", kn.run_experiment, lambda: {"experiment": EXPERIMENT, "folder": FOLDER / "runs", "workers": 0},
     {"experiment": words(PLAIN, EXPERIMENT.trials), "folder": words(FOLDER / "new"), "workers": counts(0),
      "report": anything(), "cluster": anything().filter(lambda one: one is None or not isinstance(one, str))})  # fmt: skip
kn.run_experiment(EXPERIMENT, FOLDER / "runs", workers=0)
case("open_results", kn.open_results, lambda: {"folder": FOLDER / "runs", "experiment": None, "neurons": False},
     {"folder": words(FOLDER, FOLDER / "none"), "experiment": words("experiment", EXPERIMENT, "no.toml"),
      "everything": anything(), "neurons": anything()}, nan=True,
     words={"folder": ("folder", "finished", "results"), "experiment": ("experiment", "read")})  # fmt: skip
kn.run_experiment(
    kn.load_experiment({**PLAIN, "task": {**PLAIN["task"], "noise": [0.1, 0.2]}}), FOLDER / "swept", workers=0
)
SWEPT = kn.open_results(FOLDER / "swept", neurons=True)
ONE = SWEPT.isel(noise=0)
for name, right in {"plot_curves": ONE, "plot_thresholds": ONE, "plot_sweep": SWEPT}.items():
    spoilt = [SWEPT, ONE, SWEPT.accuracy, SWEPT.drop_vars("theta"), SWEPT[["accuracy"]], SWEPT.isel(noise=slice(0)), ONE.isel(learner=0),
              SWEPT.assign_attrs(config=3, learners="["), ONE.drop_vars("learner"), SWEPT * np.nan, SWEPT.assign_coords(noise=["a", "b"]),
              type(SWEPT)(), type(SWEPT)({"training_accuracy": 3, "theta": 3, "accuracy": "a"})]  # fmt: skip
    more = {
        "x": words("noise", "size", "learner", "seed", "mu"),
        "y": words("coding_level", "theta", "learner", "diverged_at"),
    }
    case(name, lambda name=name, **given: plt.close(getattr(kn, name)(**given).figure),
         lambda right=right: {"results": right, "ax": None},
         {"results": words(*spoilt), "ax": anything()} | (more if name == "plot_sweep" else {}),
         words={"results": ("results", "x", "y")})  # fmt: skip
