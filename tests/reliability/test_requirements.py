"""What `make test` installs: versions that pyproject.toml allows, each with its hashes, from whichever index."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent.parent
FILES = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]


def declared(requirements):
    """Yield requirements, those of our own extras in their place."""
    for requirement in map(Requirement, requirements):
        if requirement.name == "kenyon":
            for extra in requirement.extras:
                yield from declared(EXTRAS[extra])
        else:
            yield requirement


DECLARED = list(
    declared([*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"], "kenyon[test,data]"])
)


def locked(name):
    """Return the versions that a file names for each package, one for each marker."""
    versions = {}
    for line in (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines():
        if "==" in line and not line.startswith((" ", "#")):
            requirement = Requirement(line.removesuffix("\\"))
            (pin,) = requirement.specifier
            versions.setdefault(canonicalize_name(requirement.name), []).append(Version(pin.version))
    return versions


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_hold_versions_and_hashes_and_name_no_index(path):
    text = path.read_text(encoding="utf-8")
    package = r"[a-z0-9-]+==[\w.+]+( ; [^@:/]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    assert re.fullmatch(rf"(#.*\n)*({package})+", text)


def test_the_tested_versions_are_allowed():
    versions = locked("test.txt")
    for requirement in DECLARED:
        assert all(
            requirement.specifier.contains(version) for version in versions[canonicalize_name(requirement.name)]
        ), requirement


def test_the_lowest_tested_versions_are_the_bounds():
    versions = locked("lowest.txt")
    for requirement in DECLARED:
        bounds = [Version(bound.version) for bound in requirement.specifier if bound.operator in (">=", "==")]
        assert bounds == versions[canonicalize_name(requirement.name)], requirement
