"""What `make dist` does with a wheel: look for every file of the package in it, install it elsewhere, and use it there.

python tests/dist.py dist/kenyon-0.1.0-py3-none-any.whl
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from zipfile import ZipFile

SOURCES = Path(__file__).parents[1] / "src"
ESTIMATOR = """
import kenyon as kn
from sklearn.datasets import load_digits

digits = load_digits()
model = kn.ReservoirClassifier("normalised", n_neurons=300, random_state=0)
score = model.fit(digits.images[:1000], digits.target[:1000]).score(digits.images[1000:], digits.target[1000:])
print(f"{kn.__file__}: accuracy {score:.2f}")
assert score > 0.85
"""


def missing(wheel):
    """Return the files of the package that the wheel does not hold."""
    files = {str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*") if path.is_file()}
    return sorted(
        name for name in files - set(ZipFile(wheel).namelist()) if not name.endswith((".pyc", ".nbi", ".nbc"))
    )


def use(wheel, folder):
    """Install the wheel into a new environment in this folder and use it there."""
    venv.create(folder / "venv", with_pip=True)
    scripts = folder / "venv" / "bin"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*command):
        subprocess.run([scripts / command[0], *command[1:]], cwd=folder, env=environment, check=True)

    run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    run("python", "-c", ESTIMATOR)
    run("kenyon", "info")
    run("kenyon", "reproduce", "--quick", "--out", "reproduction")
    assert (folder / "reproduction" / "report.html").stat().st_size > 100_000


if __name__ == "__main__":
    wheel = Path(sys.argv[1]).resolve()
    if left_out := missing(wheel):
        sys.exit(f"{wheel.name} lacks {', '.join(left_out)}")
    with tempfile.TemporaryDirectory() as folder:
        use(wheel, Path(folder))
    print(f"{wheel.name} is complete, and works")
