import json
import re
import subprocess
import sys

import pytest

import kenyon as kn
from kenyon import cli

EXPERIMENT = """
name = "tiny"
seeds = 2
n_episodes = 300
n_test = 50
[task]
n_stimuli = 6
steps = 8
[reservoir]
n_neurons = 30
[learners.GradientWeights]
[learners.Normalised]
"""


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Run the command line in a folder of its own; return exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(EXPERIMENT)

    def run(*arguments):
        code = 0
        try:
            cli.main([str(argument) for argument in arguments])
        except SystemExit as left:
            code = left.code
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_run_status_and_export(call, tmp_path):
    code, out, err = call("run", "tiny.toml", "--workers", 0)
    assert code == 0
    assert "2 of 2 trials are in results/tiny (2 new" in out
    assert len(err.splitlines()) == 3  # how many there are, and a line for each
    code, out, _ = call("run", "tiny.toml", "--workers", 0, "--json")
    assert [json.loads(line)["event"] for line in out.splitlines()] == ["begin", "end"]
    code, out, _ = call("status", "results/tiny")
    assert "tiny: 2 of 2 done, 0 running, 0 failed, 0 waiting (ended)" in out
    assert json.loads(call("status", "results/tiny", "--json")[1])["experiments"]["tiny"]["done"] == 2
    assert call("export", "results/tiny", "a.csv")[0] == 0
    header, *rows = (tmp_path / "a.csv").read_text().splitlines()
    assert header.startswith("learner,size,seed,accuracy")
    assert len(rows) == 4


def test_parquet_and_csv_hold_the_same(call):
    import pandas as pd

    pytest.importorskip("pyarrow")
    call("run", "tiny.toml", "--workers", 0)
    call("export", "results/tiny", "a.parquet", "--curves")
    call("export", "results/tiny", "a.csv", "--curves")
    parquet, csv = pd.read_parquet("a.parquet"), pd.read_csv("a.csv")
    pd.testing.assert_frame_equal(parquet, csv, check_dtype=False)
    assert list(parquet.columns) == ["learner", "size", "seed", "episode", "training_accuracy"]
    assert len(parquet) == 2 * 2 * 60


def test_a_picture_of_results_is_drawn(call, tmp_path):
    call("run", "tiny.toml", "--workers", 0)
    code, out, err = call("plot", "results/tiny")
    assert (code, out, err) == (0, "results/tiny/tiny.png\n", "")
    assert (tmp_path / "results/tiny/tiny.png").read_bytes().startswith(b"\x89PNG")
    for kind, file, start in (("curves", "a.svg", b"<?xml"), ("thresholds", "a.pdf", b"%PDF")):
        assert call("plot", "results/tiny", "--kind", kind, "--out", file) == (0, f"{file}\n", "")
        contents = (tmp_path / file).read_bytes()
        assert contents.startswith(start)
        call("plot", "results/tiny", "--kind", kind, "--out", file, "--experiment", "tiny")
        assert (tmp_path / file).read_bytes() == contents  # the same picture, the same file
    code, _, err = call("plot", "results/tiny", "--kind", "sweep")
    assert code == 2
    assert err.startswith("kenyon: x: no setting was swept")


@pytest.mark.parametrize(
    ("settings", "arguments", "panels", "label"),
    [
        ("", {}, [""], "learning time (episodes)"),
        ("noise = [0.1, 0.2]", {}, [""], "noise"),
        ("noise = [0.1, 0.2]", {"kind": "curves"}, ["noise = 0.1", "noise = 0.2"], "learning time (episodes)"),
        ("noise = [0.1, 0.2]", {"kind": "thresholds"}, ["noise = 0.1", "noise = 0.2"], "threshold θ"),
        ("noise = [0.1, 0.2]\nn_classes = [2, 3, 4]", {}, ["noise = 0.1", "noise = 0.2"], "number of classes"),
        ("noise = [0.1, 0.2]\nn_classes = [2, 3]", {"x": "noise"}, ["n_classes = 2", "n_classes = 3"], "noise"),
        ("groups = 3", {}, [""], "learning time (episodes)"),
        ("groups = 3", {"kind": "sweep"}, ["group = 0", "group = 1", "group = 2"], "last group learned"),
    ],
)  # fmt: skip
def test_what_is_drawn_follows_from_what_was_swept(call, tmp_path, settings, arguments, panels, label):
    from kenyon.experiment.picture import draw
    from kenyon.experiment.results import open_results

    (tmp_path / "tiny.toml").write_text(EXPERIMENT.replace("steps = 8", f"steps = 8\n{settings}"))
    call("run", "tiny.toml", "--workers", 0)
    figure = draw(open_results("results/tiny", neurons=True), **arguments)
    heads = [ax.get_title(loc="left") for ax in figure.axes]
    assert all(head.startswith(panel) for head, panel in zip(heads, panels, strict=True))
    assert {ax.get_xlabel() for ax in figure.axes} == {label}
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {name.partition(",")[0] for name in names} >= {"GradientWeights", "Normalised"}


def test_a_panel_in_which_all_diverged_says_so(call):

    from kenyon.experiment.picture import draw
    from kenyon.experiment.results import open_results

    call("run", "tiny.toml", "--workers", 0)
    results = open_results("results/tiny")
    two = results.expand_dims(noise=[0.1, 0.2])
    first, second = draw(two.assign(diverged_at=two.diverged_at.where(two.noise == 0.1, 20)), "curves").axes
    assert second.get_title(loc="left") == "noise = 0.2: all diverged"
    assert first.get_lines()
    assert not second.get_lines()


def test_a_sweep_that_did_not_end_is_stopped(call, tmp_path):
    call("run", "tiny.toml", "--workers", 0)
    next((tmp_path / "results" / "tiny").glob("*.nc")).unlink()
    assert "tiny: 1 of 2 done, 0 running, 0 failed, 1 waiting (stopped)" in call("status", "results/tiny")[1]


def test_more_seeds_can_be_asked_for(call):
    _, out, _ = call("run", "tiny.toml", "--workers", 0, "--seeds", 3)
    assert "3 of 3 trials" in out


def printed(out):
    """Return what the command opens that was printed at the end of a run."""
    return eval(re.search(r"kn\.open_results\(.*\)", out.splitlines()[0])[0], {"kn": kn})


@pytest.mark.filterwarnings("default")
def test_the_printed_command_opens_the_experiment_as_it_is_now(call, tmp_path, monkeypatch):
    call("run", "tiny.toml", "--workers", 0)
    (tmp_path / "tiny.toml").write_text(EXPERIMENT.replace("n_stimuli = 6", "n_stimuli = 8"))
    _, out, _ = call("run", "tiny.toml", "--workers", 0)
    first, note = out.splitlines()
    assert first.endswith("open them with kn.open_results('results/tiny')")
    assert note.startswith("results/tiny also has 2 older results")
    with pytest.warns(UserWarning, match="2 older"):
        assert printed(out)["size"].values.tolist() == [8]
    assert call("status", "results/tiny")[1].splitlines()[-1] == note
    code, _, err = call("export", "results/tiny", "a.csv")
    assert (code, err.splitlines()) == (0, [f"kenyon: {note}", "a.csv: 4 rows"])
    assert call("export", "results/tiny", "all.csv", "--everything")[2] == "all.csv: 8 rows\n"
    assert call("export", "results/tiny", "one.csv", "--experiment", "tiny.toml")[2] == "one.csv: 4 rows\n"


def test_the_printed_command_names_the_experiment_where_a_folder_has_several(call, tmp_path):
    call("run", "tiny.toml", "--workers", 0, "--out", "both")
    (tmp_path / "other.toml").write_text(EXPERIMENT.replace("tiny", "other").replace("= 6", "= 8"))
    _, out, _ = call("run", "other.toml", "--workers", 0, "--out", "both")
    assert "kn.open_results('both', 'other')" in out
    assert printed(out)["size"].values.tolist() == [8]


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"]])
def test_help_is_readable(call, arguments):
    code, out, err = call(*arguments)
    assert (code, err) == (0, "")
    assert re.search(r"^  run +Run the trials", out, re.MULTILINE)
    assert "..." not in out.split("Commands:")[1]  # every line is whole


@pytest.mark.parametrize("command", [command.callback.__name__ for command in cli.app.registered_commands])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_every_command_has_help(call, command, option):
    code, out, err = call(command, option)
    assert (code, err) == (0, "")
    assert f" {command} [OPTIONS]" in out.splitlines()[0]


def test_the_version_can_be_printed(call):
    assert call("--version") == (0, f"kenyon {kn.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "no.toml"], "no.toml: cannot be read: No such file"),
        (["run", "tiny.toml", "--workers", "-1"], "workers must be an integer of at least 0"),
        (["run", "tiny.toml", "--out", "tiny.toml/x"], "cannot be written: not a directory; choose a folder"),
        (["status", "nowhere"], "nowhere is not a folder of results"),
        (["export", "nowhere", "a.csv"], "nowhere is not a folder of results"),
        (["export", ".", "a.csv", "--everything", "--experiment", "x"], "experiment must be left out with everything"),
        (["export", ".", "a.txt"], "a.txt must end in .csv or .parquet"),
        (["plot", "nowhere"], "nowhere is not a folder of results"),
        (["plot", ".", "--out", "a.gif"], "a.gif must end in .png, .svg, .pdf"),
        (["plot", ".", "--kind", "pie"], "kind must be one of 'curves', 'thresholds', 'sweep', not 'pie'"),
        (["plot", "."], "contains no finished trial"),
        (["tune", "tiny.toml"], "tune needs a \\[tune\\] table"),
        (["fly"], "No such command"),
        (["run", "tiny.toml", "--wings"], "No such option"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(call, arguments, message):
    code, out, err = call(*arguments)
    assert code == 2
    assert len(err.splitlines()) == 1
    assert err.startswith("kenyon: ")
    assert re.search(message, err), err
    assert out == ""


def test_several_mistakes_of_a_file_are_a_line_each(call, tmp_path):
    text = EXPERIMENT.replace("n_stimuli = 6", "n_stimulus = 6\nnoise = -1.0").replace(
        "n_neurons = 30", 'n_neurons = "x"'
    )
    (tmp_path / "bad.toml").write_text(text)
    code, out, err = call("run", "bad.toml", "--workers", 0)
    assert (code, out) == (2, "")
    assert [line.split()[:3] for line in err.splitlines()] == [
        ["kenyon:", "bad.toml:", "task.n_stimulus"],
        ["kenyon:", "bad.toml:", "reservoir.n_neurons:"],
        ["kenyon:", "bad.toml:", "task.noise"],
    ]
    (tmp_path / "bad.toml").write_text(text + '[tune]\nlearnr = "x"\nseed = "y"\n[tune.search]\n"task.noise" = 3\n')
    code, _, err = call("tune", "bad.toml", "--workers", 0)
    assert code == 2
    assert len(err.splitlines()) == 3 + 4  # an unknown name, no learner, a seed and a range
    assert not (tmp_path / "results").exists()


def test_a_config_that_cannot_be_satisfied_runs_nothing(call, tmp_path):
    (tmp_path / "bad.toml").write_text(EXPERIMENT.replace("n_stimuli = 6", "n_stimuli = [6, 500]"))
    code, _, err = call("run", "bad.toml", "--workers", 0)
    assert code == 2
    assert "n_stimuli must be an integer from 2 to 176, not 500" in err
    assert not (tmp_path / "results").exists()


def test_failed_trials_are_counted_and_told(call, tmp_path):
    text = EXPERIMENT.replace("n_neurons = 30", "n_neurons = 5\nconnections = 0.01")
    (tmp_path / "bad.toml").write_text(text)
    code, _, err = call("run", "bad.toml", "--workers", 0)
    assert code == 2
    assert "2 of 2 trials failed, 0 are in results/tiny; the first: connections = 0.01 left" in err.splitlines()[-1]


def test_schema_and_info_can_be_printed(call):
    assert json.loads(call("schema")[1])["title"] == "Kenyon experiment"
    assert "kenyon " in call("info")[1]


def test_the_command_is_installed():
    found = subprocess.run([sys.executable, "-m", "kenyon", "--help"], capture_output=True, text=True, check=True)
    assert "reservoir computing" in found.stdout.lower()


TUNED = EXPERIMENT + '[tune]\nlearner = "Normalised"\n[tune.search]\n"task.noise" = [0.1, 0.2]\n'


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("optuna", ["tune", "tuned.toml", "--workers", "0"]),
        ("distributed", ["run", "tiny.toml", "--cluster", "tcp://127.0.0.1:1"]),
        ("pyarrow", ["export", "results/tiny", "a.parquet"]),
    ],
)
def test_a_package_that_is_not_installed_is_named_with_how_to_install_it(call, tmp_path, package, arguments):
    (tmp_path / "tuned.toml").write_text(TUNED)
    if package == "pyarrow":
        call("run", "tiny.toml", "--workers", 0)
    code = f"import sys; sys.modules[{package!r}] = None; from kenyon.cli import main; main({arguments!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.endswith(f"needs {package}, which is not installed: pip install {package}")


def test_a_folder_that_does_not_exist_is_named(call, tmp_path):
    call("run", "tiny.toml", "--workers", 0, "--out", "made/on/the/way")
    code, _, err = call("export", "made/on/the/way", "nowhere/x.csv")
    assert code == 2
    assert err == "kenyon: nowhere/x.csv cannot be written: the folder nowhere does not exist\n"
    assert not (tmp_path / "nowhere").exists()
