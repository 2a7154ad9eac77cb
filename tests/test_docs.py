"""Every Python block of the README and the documentation runs, and prints what the page says it prints."""

import contextlib
import io
import re
import tomllib
from pathlib import Path

import pytest

import kenyon as kn

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```python(?: title=\"(.*?)\")?\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def alike(printed, promised):
    """Tell whether two texts have the same words, and numbers within 0.05, as processors of another kind may give."""
    a, b = printed.split(), promised.split()
    return len(a) == len(b) and all(x == y or close(x, y) for x, y in zip(a, b, strict=True))


def close(x, y):
    try:
        return abs(float(x) - float(y)) <= 0.05 * max(1.0, abs(float(y)))
    except ValueError:
        return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run_and_print_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # blocks with a title are files, which later blocks and workers import
    names = {"__name__": "__main__"}
    for title, code, promised in BLOCK.findall(page.read_text(encoding="utf-8")):
        if title:
            (tmp_path / title).write_text(code, encoding="utf-8")
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)
        if promised:
            assert alike(printed.getvalue(), promised), printed.getvalue()


def test_experiment_files_of_the_documentation_can_be_run():
    text = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    files = [tomllib.loads(block) for block in re.findall(r"```toml.*?\n(.*?)```", text, re.DOTALL)]
    assert len(files) == 3
    assert len(kn.load_experiment(files[0]).trials) == 3 * 3 * 5
    learners = {"GradientWeights": {}, **files[0]["learners"]}
    (trial, *_) = kn.load_experiment({**files[0], **files[1], "learners": learners}).trials
    assert (trial.prelearning.task, trial.tuning.batch) == ({"n_stimuli": 140}, [1, 10, 100])
    assert set(files[2]["tune"]["search"]) == {"learners.Normalised.mu", "reservoir.leak_rate"}


def test_alike_can_tell():
    assert alike("a  0.93\nb", "a 0.95 b\n")
    assert not alike("a 0.93", "a 0.5")
    assert not alike("a 0.93", "b 0.93")
    assert not alike("a", "a a")


def test_the_tests_that_promises_name_are_there():
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:::|`)(test_\w+)", page))
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    files = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    assert len(named) > 30
    assert not {name for name in named - files if f"def {name}(" not in sources}


def test_every_public_name_is_on_the_api_page():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: kenyon\.(\w+)$", page, re.MULTILINE)) == sorted(kn.__all__)
