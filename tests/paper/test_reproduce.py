"""The whole way from experiment files to the report, on networks small enough for a test."""

import json
import multiprocessing
import time
from contextlib import contextmanager, nullcontext

import pytest

import kenyon as kn
from kenyon import cli
from kenyon.experiment.config import TrialConfig
from kenyon.experiment.store import Store, StoreError
from kenyon.paper import plan
from kenyon.paper.claims import judge
from kenyon.paper.plan import CLAIMS, FIGURES, Plan, Results
from kenyon.paper.report.page import render
from kenyon.paper.reproduce import reproduce, rewrite
from tests.paper.constructed import PROVENANCE


def tiny(trial):
    settings = trial.model_dump(mode="json")
    settings["reservoir"]["n_neurons"] = {50: 20, 200: 30}.get(settings["reservoir"]["n_neurons"], 40)
    settings["task"]["steps"] = 4
    settings.update(n_episodes=500, n_test=100, n_bins=10)
    if settings["tuning"]:
        settings["tuning"]["seeds"] = settings["tuning"]["seeds"][:1]
    for learner in settings["learners"].values():
        if learner.get("start") == "prelearned":
            learner["start"] = 0.1
            if learner["search"] is None:  # prelearning was the only search it had
                learner.update(dict.fromkeys(("sigma", "period", "beta", "average_start", "acting")))
    return TrialConfig.model_validate_json(json.dumps(settings))


@contextmanager
def sizes(small):
    """Let quick plans have trials of another size; trials that were made before are forgotten."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_small", small)
        plan._parts.cache_clear()
        yield
    plan._parts.cache_clear()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduction")
    with sizes(tiny):
        yield reproduce(folder, quick=True, workers=0).folder


def tiny_reproduction(folder):
    with sizes(tiny):
        reproduce(folder, quick=True, workers=0)


def kill_halfway(folder, n):
    """Begin the reproduction in another process, and kill it when so many of its trials are done."""
    process = multiprocessing.get_context("spawn").Process(target=tiny_reproduction, args=(folder,))
    process.start()
    deadline = time.monotonic() + 600
    while len(list((folder / "results").glob("*.nc"))) < n:
        assert process.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.join()


def contents(folder):
    """Return what is in a folder of results by name, to the byte; where, when and for how long trials ran left out."""
    found = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    store = Store(folder)
    for trial in store.finished():
        _, attributes, variables = store.read(trial)
        del attributes["provenance"]
        data = {
            name: (dims, v.tolist() if v.dtype.kind == "O" else v.tobytes()) for name, (dims, v) in variables.items()
        }
        found[trial] = attributes, data
    return found


def test_a_killed_reproduction_resumes_to_the_same_bytes(folder, tmp_path, monkeypatch):
    whole = folder / "results"
    n_trials = len(Store(whole).finished())
    kill_halfway(tmp_path, n_trials // 2)
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*.nc")}
    monkeypatch.setattr("kenyon.paper.reproduce._drawing", lambda *_: nullcontext())  # its pictures were not begun
    monkeypatch.setattr("kenyon.paper.reproduce._written", lambda *_: None)
    reproduce(tmp_path, quick=True, workers=0)
    assert n_trials // 2 <= sum(path.parent.name == "results" for path in done) < n_trials
    assert {path: path.stat().st_mtime_ns for path in done} == done
    for part in (".", "first"):
        assert contents(tmp_path / "results" / part) == contents(whole / part)
    monkeypatch.setattr(Results, "provenance", lambda _: [PROVENANCE])
    old, new = (Results(place / "results", Plan(1, True)) for place in (folder, tmp_path))
    assert repr(judge(new)) == repr(judge(old))
    assert render(new, [], folder / "figures", 1.0) == render(old, [], folder / "figures", 1.0)


def test_every_figure_and_claim_and_the_report_are_there(folder):
    for figure in FIGURES:
        for kind in ("svg", "pdf", "png"):
            assert (folder / "figures" / f"figure{figure}.{kind}").stat().st_size > 1000
    claims = json.loads((folder / "claims.json").read_text())
    assert [claim["number"] for claim in claims["claims"]] == list(range(1, 33))
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "quick run" in page.lower()
    assert all(claim["claim"].split()[0] in page for claim in claims["claims"])


def test_a_quick_run_judges_nothing(folder, capsys, monkeypatch):
    claims = json.loads((folder / "claims.json").read_text())
    assert claims["quick"] is True
    assert all(set(claim) == {"number", "claim", "test", "bound"} for claim in claims["claims"])
    monkeypatch.setattr("kenyon.paper.reproduce._drawing", lambda *_: nullcontext())  # others know no tiny trials
    with pytest.raises(SystemExit) as left:
        cli.main(["report", str(folder)])
    assert left.value.code == 0
    told, doing = capsys.readouterr()
    assert "writing the report" in doing
    assert "too small to judge" in told
    assert "reproduced" not in told.replace(str(folder), "")


def test_all_claims_can_be_judged_from_what_was_run(folder):
    found = judge(Results(folder / "results", Plan(1, True)))
    assert [verdict.number for verdict in found] == list(range(1, 33))
    assert all(verdict.effects for verdict in found)


def test_what_was_run_is_not_run_again_and_the_report_can_be_written_anew(folder, monkeypatch):
    before = {path: path.stat().st_mtime_ns for path in (folder / "results").glob("*.nc")}
    claims = (folder / "claims.json").read_bytes()
    reproduce(folder, quick=True, figures=["2"], workers=0)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    drawn = []
    monkeypatch.setattr("kenyon.paper.reproduce.save", lambda figure, *_: drawn.append(figure))
    rewrite(folder, workers=0)
    assert tuple(drawn) == FIGURES
    assert json.loads(claims)["claims"] == json.loads((folder / "claims.json").read_bytes())["claims"]


def test_a_figures_results_open_by_its_name(folder):
    assert kn.open_results(folder / "results", "figure2").sizes["seed"] == 1


def test_figures_that_were_not_run_are_missed_by_name(folder):
    with pytest.raises(StoreError, match="lacks 4 of the 6 trials of figure 3"):
        Results(folder / "results", Plan(3, True)).get("3")


def test_plans_are_whole_and_share_trials():
    full = Plan()
    parts = {figure: {trial.id for trial in full.experiment(figure).trials} for figure in FIGURES}
    assert parts["3"] == parts["2"]
    assert parts["5"] == parts["4"]
    assert parts["6"] < parts["2"] | parts["4"]
    for trial in full.experiment("2").trials:
        assert (trial.reservoir.n_neurons, trial.n_episodes) == (1000, 60_000)
    assert {trial.n_episodes for trial in full.experiment("4").trials} == {200_000}
    assert {trial.task.size for trial in full.experiment("2").trials} >= {20, 140, 176}
    assert {trial.task.size for trial in full.experiment("4").trials} >= {48, 336}
    more = {trial.id for trial in Plan(seeds=12).experiment("2").trials}
    assert parts["2"] < more


def test_what_claims_need_has_ten_seeds_and_the_rest_half_as_many():
    for figure in ("2", "4", "6", "7", "S1", "S3", "S4", CLAIMS):
        assert {trial.seed for trial in Plan().experiment(figure).trials} == set(range(10))
    for seeds, fewer in ((10, 5), (4, 2), (2, 2), (1, 1)):
        assert {trial.seed for trial in Plan(seeds=seeds).experiment("S5").trials} == set(range(fewer))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "--figures", "9"], "there is no figure '9'"),
        (["reproduce", "--seeds", "0"], "seeds"),
        (["report", "nowhere"], "nowhere holds no reproduction"),
    ],
)
def test_mistakes_are_one_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        cli.main(arguments)
    assert left.value.code == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert message in err


def test_figures_may_be_listed():
    assert cli._spread(["reproduce", "--figures", "2", "3", "--quick"]) == [
        "reproduce", "--figures", "2", "--figures", "3", "--quick",
    ]  # fmt: skip
