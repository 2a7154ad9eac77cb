import json
import re

import pytest

import kenyon as kn
from kenyon.experiment.config import TrialConfig
from kenyon.experiment.learner_settings import LEARNERS
from kenyon.experiment.mistakes import Trials
from kenyon.experiment.schema import experiment_schema
from kenyon.experiment.settings import ConfigError
from kenyon.experiment.sweep import load_experiment
from tests.experiment.conftest import SMALL


def only(**settings):
    (trial,) = load_experiment(settings).trials
    return trial


@pytest.mark.parametrize(
    ("preset", "size", "leak", "episodes"),
    [
        ("static", 140, 0.025, 60_000),
        ("sequence", 96, 0.1, 300_000),
        ("static-rl", 140, 0.025, 60_000),
        ("sequence-rl", 96, 0.1, 300_000),
    ],
)
def test_presets_are_the_papers(preset, size, leak, episodes):
    trial = only(preset=preset)
    assert (trial.task.size, trial.reservoir.leak_rate, trial.n_episodes) == (size, leak, episodes)
    learners = {name: learner.build() for name, learner in trial.learners.items()}
    by_reward = {type(learner.rule).__name__ for learner in learners.values()}
    assert by_reward == ({"QLearning"} if preset.endswith("rl") else {"Supervised"})
    if preset == "sequence":
        assert learners["GradientWeights"].eta_w == 0.00045
        assert [learners[name].batch for name in ("Composed", "Normalised", "GradientWeights")] == [10, 1, 100]
    if preset == "static-rl":
        assert {learners[f"GradientWeights {batch}"].batch for batch in (1, 10, 100)} == {1, 10, 100}


def test_learners_are_those_of_the_package_with_the_same_defaults():
    for kind, model in LEARNERS.items():
        assert model(kind=kind).build() == getattr(kn, kind)()


def test_rules_and_starts_can_be_written_in_full():
    rule = {"kind": "q-learning", "reward": 5.0, "temperature": {"start": 2.0, "stop": 1.0, "episodes": 100}}
    trial = only(learners={"a": {"kind": "Composed", "rule": rule, "start": {"percentile": 70.0}}})
    expected = kn.Composed(rule=kn.QLearning(5.0, kn.Schedule(2.0, 1.0, 100)), start=kn.Percentile(70.0))
    assert trial.learners["a"].build() == expected


def test_a_trial_is_named_by_all_of_its_settings():
    ids = {
        only(**settings).id
        for settings in (
            {},
            {"seed": 1},
            {"task": {"noise": 0.31}},
            {"reservoir": {"n_neurons": 999}},
            {"learners": {"Composed": {}}},
            {"learners": {"Composed": {"eta_w": 0.002}}},
        )
    }
    assert len(ids) == 6
    assert only().id == only(preset="static", task={"n_stimuli": 140}).id  # a default written out is the same trial


def test_only_settings_that_act_are_part_of_a_trial():
    trial = only(learners={"Composed": {}, "Normalised": {}})
    composed, normalised = (learner.model_dump() for learner in trial.learners.values())
    assert (composed["eta_w"], composed["period"], composed["mu"], composed["k"]) == (0.0018, 100, None, None)
    assert (normalised["mu"], normalised["k"], normalised["eta_w"], normalised["sigma"]) == (0.5, 0.005, None, None)
    written_out = only(learners={"Composed": {"eta_w": 0.0018, "period": 100}, "Normalised": {"mu": 0.5}})
    assert written_out.id == trial.id
    again = TrialConfig.model_validate_json(trial.canonical())
    assert again.id == trial.id
    assert again.learners["Normalised"].build() == kn.Normalised()
    few = only(reservoir={"n_neurons": 5})
    assert few.reservoir.connections == 5.0
    assert few.id == only(reservoir={"n_neurons": 5, "connections": 5.0}).id


def test_a_preset_gives_way_where_its_setting_would_do_nothing():
    learners = {"GradientWeights": {"step": ["fixed", "normalised"]}}
    fixed, normalised = only(preset="sequence", learners=learners).learners.values()
    assert (fixed.eta_w, fixed.mu) == (0.00045, None)
    assert (normalised.eta_w, normalised.mu) == (None, 0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"preset": "statik"}, "preset must be one of .* did you mean static?"),
        ({"n_episode": 5}, "n_episode is not known; did you mean n_episodes?"),
        ({"task": {"n_stimulus": 5}}, "task.n_stimulus is not known; did you mean n_stimuli?"),
        ({"reservoir": {"leak": 0.5}}, "reservoir.leak is not known; did you mean leak_rate?"),
        ({"learners": {"Composd": {}}}, "learners.Composd.kind .* did you mean Composed?"),
        ({"learners": {"Composed": {"eta": 1.0}}}, "learners.Composed.eta is not known; did you mean eta_w?"),
        ({"learners": {"Composed": {"batch": "x"}}}, "learners.Composed.batch: .* integer, not 'x'"),
        ({"learners": {"Normalised": {"mu": 3.0}}}, "^learners.Normalised.mu must be a number in"),
        ({"learners": {"Composed": {"mu": 0.5}}}, "^learners.Composed.mu = 0.5 would do nothing here: .*'normalised'"),
        (
            {"learners": {"a": {"kind": "Normalised", "eta_w": 1.0}}},
            "^learners.a.eta_w .* with a normalised step use mu",
        ),
        ({"learners": {"Normalised": {"sigma": 0.1}}}, "sigma belongs to a search"),
        ({"learners": {"GradientWeights": {"start": 0.0}}}, "start belongs to thresholds=True"),
        ({"learners": {}}, "^learners must have at least one, such as"),
        ({"learners": []}, "learners must be tables"),
        ({"task": {"n_stimuli": 500}}, "^task.n_stimuli must be an integer from 2 to 176, not 500"),
        ({"task": {"kind": "sequences"}}, "task.kind must be one of static, sequence, .* did you mean sequence?"),
        ({"task": 5}, "task must be a table"),
        ({"task": {"odours": "no.csv"}}, "task.odours must be one of .* or a CSV file"),
        ({"task": {"n_stimuli": 5, "groups": 6}}, "^task.groups must be an integer from 1 to 5"),
        ({"reservoir": {"leak_rate": 1.5}}, r"^reservoir.leak_rate must be a number in \(0, 1\], not 1.5"),
        ({"reservoir": {"n_neurons": 0}}, "^reservoir.n_neurons must be an integer from 1 to"),
        ({"reservoir": {"input_weights": "x"}}, "reservoir.input_weights: input should be 'lognormal', .*, not 'x'"),
        ({"reservoir": {"input_connections": 0.5}}, "^reservoir.input_connections must be a number in"),
        ({"reservoir": {"input_connections": 25.0}}, "input_connections must be at most n_inputs=24, not 25"),
        ({"reservoir": {"connections": 11.0, "n_neurons": 10}}, "connections must be at most n_neurons=10, not 11"),
        (
            {"reservoir": {"input_weights": "gaussian", "input_connections": 6.0}},
            "^reservoir.input_connections = 6.0 would do nothing: input_weights='gaussian'",
        ),
        (
            {"reservoir": {"input_weights": "fixed_degree", "input_connections": 6.5}},
            "input_connections must be a whole number with input_weights='fixed_degree', not 6.5",
        ),
        ({"reservoir": 5}, "reservoir must be a table of settings, not 5"),
        ({"task": {"steps": 0}}, "steps must be an integer of at least 1, not 0"),
        ({"task": {"noise": -0.1}}, "noise must be a number in"),
        ({"task": {"groups": 0}}, "task.groups: input should be greater than or equal to 1, not 0"),
        ({"task": {"kind": "sequence", "n_bases": 0}}, "n_bases must be an integer of at least 1, not 0"),
        ({"task": {"kind": "sequence", "n_basis": 1}}, "task.n_basis is not known; did you mean n_bases?"),
        ({"n_bins": 0}, "^n_bins: input should be greater than or equal to 1, not 0"),
        ({"learners": {"a": {}}}, "learners.a.kind must be one of Learner, .*, not 'a'"),
        ({"learners": {"a": {"kind": ["Composed"]}}}, "learners.a.kind must be one of"),
        ({"learners": {"Composed": {"rule": "q-lerning"}}}, "Composed.rule.kind must .* did you mean q-learning?"),
        ({"learners": {"Composed": {"rule": 5}}}, "learners.Composed.rule must be a table of settings, not 5"),
        ({"learners": {"Composed": {"rule": {"kind": "q-learning", "reword": 1.0}}}}, "rule.reword .* mean reward?"),
        (
            {"learners": {"Composed": {"rule": {"kind": "q-learning", "reward": -1.0}}}},
            "Composed.rule.reward must be",
        ),
        (
            {"learners": {"a": {"kind": "Ridge", "start": {"percentil": 5.0}}}},
            "learners.a.start.percentil is not known; did you mean percentile?",
        ),
        (
            {"learners": {"Composed": {"start": "x"}}},
            "^learners.Composed.start must be one of 'prelearned', 'walked', not 'x'",
        ),
        ({"learners": {"Composed": {"start": {"percentile": 101.0}}}}, "Composed.start.percentile: .* 100, not 101.0"),
        ({"seeds": 0}, "seeds must be a number of seeds"),
        ({"seeds": 2, "seed": 1}, "seed and seeds cannot both"),
        ({"n_episodes": []}, "n_episodes is an empty list"),
        ({"case": {}}, "case must be an array of tables"),
        ({"zip": ["task.noise"]}, "zip must be a list of lists"),
        ({"zip": [["task.noise"]]}, "zip names task.noise, which is not a list"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_one_line(settings, message):
    with pytest.raises(ConfigError, match=message) as error:
        load_experiment(settings)
    assert "\n" not in str(error.value)


MANY = {
    "n_episode": 5,
    "nam": "x",
    "n_bins": 0,
    "seeds": 0,
    "task": {"n_stimulus": 5, "n_stimuli": [6, 500], "noise": [0.1, -1.0], "steps": "x"},
    "reservoir": {"leak": 0.5, "leak_rate": 1.5, "n_neurons": 0},
    "learners": {
        "Composed": {"batch": "x", "mu": 3.0, "eta": 1.0, "eta_w": -1.0, "start": {"percentile": 101.0}},
        "Normalisd": {},
        "mine": {"kind": "nowhere_at_all:X"},
    },
    "zip": [["task.noise", "task.steps"]],
}
MISTAKES = [
    "n_episode is not known; did you mean n_episodes?",
    "nam is not known; did you mean name?",
    "seeds must be a number of seeds, at least 1, not 0",
    "learners.Normalisd.kind must be one of",
    "zip names task.steps, which is not a list",
    "n_bins: input should be greater than or equal to 1, not 0",
    "task.n_stimulus is not known; did you mean n_stimuli?",
    "task.steps: input should be a valid integer, not 'x'",
    "task.n_stimuli must be an integer from 2 to 176, not 500",
    "task.noise must be a number in",
    "reservoir.leak is not known; did you mean leak_rate?",
    "reservoir.leak_rate must be a number in (0, 1], not 1.5",
    "reservoir.n_neurons must be an integer from 1 to",
    "learners.Composed.batch: input should be a valid integer, not 'x'",
    "learners.Composed.mu = ",
    "learners.Composed.eta is not known; did you mean eta_w?",
    "learners.Composed.eta_w must be",
    "learners.Composed.start.percentile: input should be less than or equal to 100, not 101.0",
    "learners.mine: nowhere_at_all:X cannot be imported here",
]


def test_all_mistakes_are_reported_together_once_each():
    with pytest.raises(ConfigError) as error:
        load_experiment(MANY)
    lines = str(error.value).splitlines()
    assert list(error.value.args) == lines
    assert [sum(line.startswith(mistake) for line in lines) for mistake in MISTAKES] == [1] * len(MISTAKES), lines
    assert len(lines) == len(MISTAKES)


def test_each_mistake_names_the_file(tmp_path):
    (tmp_path / "e.toml").write_text("n_episode = 5\n[task]\nnoise = -1.0\n[reservoir]\nleak = 1\n")
    with pytest.raises(ConfigError) as error:
        load_experiment(tmp_path / "e.toml")
    assert [line.split(" ")[:2] for line in error.value.args] == [
        [f"{tmp_path / 'e.toml'}:", name] for name in ("n_episode", "reservoir.leak", "task.noise")
    ]


def test_mistakes_of_some_cases_are_told_with_their_numbers():
    cases = [{"task": {"noise": 0.2}}, {"task": {"noise": -1.0}}, {"task": {"noise": -1.0}, "n_bins": 0}]
    with pytest.raises(ConfigError) as error:
        load_experiment({"case": cases, "reservoir": {"leak": 1.0}})
    shared, *others = error.value.args
    assert shared.startswith("reservoir.leak is not known")
    assert [line.partition(" must")[0].partition(": input")[0] for line in others] == [
        "case 2, 3: task.noise", "case 3: n_bins",
    ]  # fmt: skip


def test_mistakes_of_a_learner_with_lists_are_told_as_the_file_has_it():
    learners = {
        "N": {"kind": "Normalised", "mu": [0.1, 0.15, 5.0], "batch": "x"},
        "N b": {"kind": "Ridge", "c": [1, 2]},
    }
    with pytest.raises(ConfigError) as error:
        load_experiment({"learners": learners})
    assert [line.partition(" ")[0] for line in error.value.args[:1]] == ["learners.N.batch:"]
    assert sorted(line.split(" must")[0].split(" is")[0] for line in error.value.args[1:]) == [
        "learners.N b.c", "learners.N.mu",
    ]  # fmt: skip


def test_a_mistake_in_all_trials_is_looked_into_once(monkeypatch):
    attempt, attempts = Trials._attempt, []
    monkeypatch.setattr(Trials, "_attempt", lambda *arguments: attempts.append(1) or attempt(*arguments))
    with pytest.raises(ConfigError) as error:
        load_experiment({**SMALL, "seeds": 20, "reservoir": {"leak": 1.0, "leak_rate": 3.0}})
    assert len(error.value.args) == 2
    assert len(attempts) <= 2 * 20 + 2  # trials and mistakes


def test_a_misspelt_schedule_is_named_before_what_it_lacks():
    schedule = {"start": 2.0, "stp": 1.0, "episodes": 10}
    learner = {"rule": {"kind": "q-learning", "temperature": schedule}}
    message = r"learners\.Composed\.rule\.temperature\.stp is not known; did you mean stop\?"
    with pytest.raises(ConfigError, match=message):
        load_experiment({"learners": {"Composed": learner}})


def test_a_setting_is_declared_once():
    trial = only(learners={"Composed": {}})
    reservoir, task = kn.Reservoir(), kn.StaticTask(kn.load_odours())
    settings = trial.reservoir.model_dump()
    assert settings.pop("input_connections") is None  # depends on the number of inputs, which the task decides
    assert settings == {name: getattr(reservoir, name) for name in settings}
    assert (trial.task.size, trial.task.steps, trial.task.noise) == (len(task), task.steps, task.noise)
    rule = only(learners={"Composed": {"rule": "q-learning"}}).learners["Composed"].rule
    assert rule.make() == kn.QLearning()


def test_checking_a_reservoir_draws_no_weights(monkeypatch):
    monkeypatch.setattr("kenyon.connectivity.recurrent", None)
    assert only(reservoir={"n_neurons": 10**9}).reservoir.n_neurons == 10**9


def test_lists_give_their_product():
    trials = load_experiment(SMALL).trials
    assert sorted((trial.task.size, trial.seed) for trial in trials) == [(6, 0), (6, 1), (10, 0), (10, 1)]


def test_zipped_lists_go_together():
    settings = {"task": {"noise": [0.1, 0.2], "steps": [5, 6]}, "seeds": 2, "zip": [["task.noise", "task.steps"]]}
    trials = load_experiment(settings).trials
    assert sorted((t.task.noise, t.task.steps, t.seed) for t in trials) == [
        (0.1, 5, 0), (0.1, 5, 1), (0.2, 6, 0), (0.2, 6, 1),
    ]  # fmt: skip
    with pytest.raises(ConfigError, match="lists of the same length"):
        load_experiment({**settings, "task": {"noise": [0.1, 0.2], "steps": [5, 6, 7]}})


def test_lists_of_a_learner_give_learners_that_share_a_trial():
    settings = {"learners": {"N": {"kind": "Normalised", "mu": [0.1, 0.5], "k": [0.0, 0.01]}}}
    (trial,) = load_experiment(settings).trials
    assert list(trial.learners) == ["N mu=0.1 k=0", "N mu=0.1 k=0.01", "N mu=0.5 k=0", "N mu=0.5 k=0.01"]
    assert trial.learners["N mu=0.5 k=0"].build() == kn.Normalised(mu=0.5, k=0.0)
    (trial,) = load_experiment({**settings, "zip": [["learners.N.mu", "learners.N.k"]]}).trials
    assert list(trial.learners) == ["N mu=0.1 k=0", "N mu=0.5 k=0.01"]
    with pytest.raises(ConfigError, match="zip cannot join"):
        load_experiment({**settings, "seed": [0, 1], "zip": [["learners.N.mu", "seed"]]})


def test_cases_change_settings_for_some_trials():
    cases = [{}, {"preset": "sequence", "task": {"n_bases": 2}}, {"reservoir": {"connections": 0.0}}, {}]
    trials = load_experiment({"case": cases, "learners": {"Composed": {}}}).trials
    assert [(t.task.kind, t.reservoir.connections) for t in trials] == [
        ("static", 10.0), ("sequence", 10.0), ("static", 0.0),
    ]  # fmt: skip


def test_a_task_of_another_kind_starts_afresh():
    cases = [{"task": {"kind": "sequence", "n_bases": 2}}, {"task": {"kind": "static", "noise": 0.2}}]
    sequence, static = load_experiment({"task": {"n_stimuli": 20, "steps": 7}, "case": cases}).trials
    assert (sequence.task.kind, sequence.task.size, sequence.task.steps) == ("sequence", 24, 10)
    assert (static.task.kind, static.task.size, static.task.steps, static.task.noise) == ("static", 20, 7, 0.2)
    settings = {"preset": "sequence", "task": {"steps": 7}, "case": [{"task": {"kind": "sequence", "n_bases": 2}}]}
    (trial,) = load_experiment(settings).trials
    assert (trial.task.size, trial.task.steps) == (24, 7)  # the same kind as before, so its settings stay


def test_a_learner_of_another_kind_starts_afresh():
    learners = {"a": {"kind": "Composed", "sigma": 0.1}, "Composed": {"sigma": 0.2}}
    case = {"learners": {"a": {"kind": "Normalised", "mu": 0.1}, "Composed": {"kind": "Composed", "beta": 1.0}}}
    (trial,) = load_experiment({"learners": learners, "case": [case]}).trials
    assert trial.learners["a"].build() == kn.Normalised(mu=0.1)
    assert trial.learners["Composed"].build() == kn.Composed(sigma=0.2, beta=1.0)
    (trial,) = load_experiment({"learners": learners, "case": [{"learners": {"Composed": {"kind": "Ridge"}}}]}).trials
    assert trial.learners["Composed"].build() == kn.Ridge()


def test_a_rule_of_another_kind_starts_afresh():
    rules = {"kind": "q-learning", "reward": 5.0}, {"kind": "supervised", "target": 3.0}
    settings, case = ({"learners": {"Composed": {"rule": rule}}} for rule in rules)
    (trial,) = load_experiment({**settings, "case": [case]}).trials
    assert trial.learners["Composed"].build().rule == kn.Supervised(3.0)


def test_the_default_number_of_base_sequences_is_the_tasks_own():
    assert only(task={"kind": "sequence"}).task.size == len(kn.SequenceTask(kn.load_odours()))


def test_files_extend_others(tmp_path):
    (tmp_path / "base.toml").write_text('name = "b"\n[task]\nn_stimuli = 20\nnoise = 0.1\n')
    (tmp_path / "more.toml").write_text('extends = "base.toml"\n[task]\nnoise = 0.2\n')
    experiment = load_experiment(tmp_path / "more.toml")
    (trial,) = experiment.trials
    assert (experiment.name, trial.task.size, trial.task.noise) == ("more", 20, 0.2)


@pytest.mark.parametrize("text", ["a = ", "\xff"])
def test_files_that_cannot_be_read_are_named(tmp_path, text):
    (tmp_path / "bad.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=re.escape(str(tmp_path / "bad.toml"))):
        load_experiment(tmp_path / "bad.toml")


def test_a_table_of_ones_own_is_part_of_the_trial(tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text("name,a,b\n" + "".join(f"o{i},{i},{i * i}\n" for i in range(8)))
    (tmp_path / "e.toml").write_text('[task]\nodours = "mine.csv"\nn_stimuli = 6\n')
    (before,) = load_experiment(tmp_path / "e.toml").trials
    table.write_text(table.read_text() + "o8,1,9\n")
    (after,) = load_experiment(tmp_path / "e.toml").trials
    assert before.id != after.id
    with pytest.raises(ConfigError, match="has changed since"):
        before.task.build(0)


def test_the_schema_knows_every_setting_and_lets_it_be_a_list():
    schema = experiment_schema()
    assert {"preset", "seeds", "zip", "task", "learners", "n_episodes"} <= set(schema["properties"])
    episodes = schema["properties"]["n_episodes"]["anyOf"]
    assert [part["type"] for part in episodes] == ["integer", "array"]
    assert "leak_rate" in schema["$defs"]["ReservoirConfig"]["properties"]
    assert schema["$defs"]["ReservoirConfig"]["additionalProperties"] is False
    leak = schema["$defs"]["ReservoirConfig"]["properties"]["leak_rate"]
    assert leak["default"] == 0.025
    assert leak["description"].startswith("a in (0, 1]")
    assert schema["$defs"]["ComposedConfig"]["properties"]["beta"]["description"].startswith("The search's step size")
    assert {"$ref": "#/$defs/ComposedConfig"} in schema["properties"]["learners"]["additionalProperties"]["anyOf"]
    assert schema["$defs"]["OwnLearnerConfig"]["required"] == ["kind"]
    assert "module:Class" in schema["$defs"]["OwnLearnerConfig"]["properties"]["kind"]["description"]
    json.dumps(schema)
