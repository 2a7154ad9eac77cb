"""Nothing is sent and nothing is fetched: all of it runs without a network, and opens no socket where there is one."""

import ast
import errno
import os
import pkgutil
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from sklearn.datasets import load_digits

import kenyon as kn
from kenyon.paper import plan
from kenyon.paper.reproduce import reproduce
from tests.experiment.conftest import SMALL
from tests.paper.test_reproduce import tiny

ROOT = Path(__file__).parent.parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
UNWANTED = {"cloudpickle", "http", "marshal", "pickle", "requests", "shelve", "socket", "ssl", "urllib"}
REFUSED = {"eval", "exec", "allow_pickle", "joblib.load", "joblib.dump", "os.system", "shell"}
WATCH = (
    "import sys; seen = []; sys.addaudithook(lambda name, _: name[:7] in ('socket.', 'urllib.') and seen.append(name))"
)
SEPARATED = [["unshare", "--net"], ["unshare", "--net", "--map-root-user"]]  # as root, or where users have namespaces


def use(workers):
    """Import all there is, fit and keep an estimator, and run trials."""
    for module in pkgutil.walk_packages(kn.__path__, "kenyon."):
        import_module(module.name)
    for name in kn.__all__:
        getattr(kn, name)
    digits = load_digits()
    model = kn.ReservoirClassifier(n_neurons=50, random_state=0).fit(digits.images[:200], digits.target[:200])
    model.save("digits.kenyon")
    assert (kn.load("digits.kenyon").predict(digits.images) == model.predict(digits.images)).all()
    assert kn.run_experiment(kn.load_experiment(SMALL), "results", workers=workers).n_new == 4


def use_without_network():
    with pytest.raises(OSError, match=os.strerror(errno.ENETUNREACH)):
        socket.create_connection(("192.0.2.1", 9), timeout=5)
    use(workers=2)


def use_watched(seen):
    """Reproduce a figure as well, small."""
    use(workers=0)
    plan._small = tiny
    reproduce("reproduction", quick=True, seeds=1, figures=["2"], workers=0)
    assert Path("reproduction/figures/figure2.svg").exists()
    assert not seen, seen
    socket.socket().close()
    assert seen == ["socket.__new__"]


def run(call, folder, *prefix):
    """Call a function of this file in an interpreter of its own, watched from its first import on."""
    code = f"{WATCH}; from {__name__} import *; {call}"
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    done = subprocess.run(
        [*prefix, sys.executable, "-c", code],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture
def separated():
    for prefix in SEPARATED:
        try:
            subprocess.run([*prefix, "true"], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return prefix
    pytest.skip("no process may be cut off from the network here (unshare --net)")


def test_all_of_it_works_without_any_network(separated, tmp_path):
    run("use_without_network()", tmp_path, *separated)


def test_no_socket_is_opened(tmp_path):
    run("use_watched(seen)", tmp_path)


def names(tree):
    """Yield what a source imports and calls, the arguments given by name among it."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            case ast.Call():
                yield ast.unparse(node.func)
            case ast.keyword():
                yield node.arg


def forbidden(source):
    found = set(names(ast.parse(source)))
    return {name for name in found if name and (name in REFUSED or name.split(".")[0] in UNWANTED)}


def test_sources_import_no_way_out_and_run_nothing_they_read():
    assert SOURCES
    assert {path.name: found for path in SOURCES if (found := forbidden(path.read_bytes()))} == {}


@pytest.mark.parametrize(
    "source",
    ["import pickle", "from urllib.request import urlopen", "eval(text)", "np.load(file, allow_pickle=True)"],
)
def test_what_is_forbidden_is_found(source):
    assert forbidden(source)
