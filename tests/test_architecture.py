"""The table of files in docs/architecture.md is the order of imports: a file imports only from those above it."""

import ast
import re
from pathlib import Path

import kenyon

ROOT = Path(__file__).parent.parent
SOURCE = Path(kenyon.__file__).parent
TABLE_ROW = re.compile(r"^\| (`[^|]+\.py`[^|]*) \|", re.MULTILINE)


def documented_order(page):
    """Return the files of the table, from the first to the last."""
    rows = TABLE_ROW.findall(page)
    return [name for row in rows for name in re.findall(r"`([^`]+\.py)`", row)]


def modules():
    """Return the module name of every file."""
    names = {}
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE)
        parts = file.parent.parts if file.name == "__init__.py" else file.with_suffix("").parts
        names[".".join(("kenyon", *parts))] = file.as_posix()
    return names


def imports(code, names):
    """Return the modules of the package that a source imports, within functions and for type checking too."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in names else str(node.module) for name in whole}
    return {name for name in found if name.partition(".")[0] == "kenyon"}


def upward(order, sources, names):
    """Return pairs of files of which the first imports the second, though it stands above it."""
    place = {file: i for i, file in enumerate(order)}
    pairs = [(file, names[name]) for file, code in sources.items() for name in sorted(imports(code, names))]
    return [(file, other) for file, other in pairs if file != other and place[other] >= place[file]]


def test_imports_go_up_the_documented_table_only():
    names = modules()
    order = documented_order((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert sorted(order) == sorted(names.values())  # each file once
    sources = {file: (SOURCE / file).read_text(encoding="utf-8") for file in names.values()}
    assert upward(order, sources, names) == []


def test_a_lazy_import_in_the_wrong_direction_is_noticed():
    names = {"kenyon.low": "low.py", "kenyon.high": "high.py"}
    sources = {"low.py": "def f():\n    from kenyon import high\n", "high.py": "from kenyon.low import f\n"}
    assert upward(["low.py", "high.py"], sources, names) == [("low.py", "high.py")]
    assert upward(["low.py", "high.py"], {**sources, "low.py": ""}, names) == []
