"""Machine code on disk is that of the sources as they are, in every kernel file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kenyon
from kenyon.kernels import cache

SOURCES = Path(cache.__file__).parent
RUN = """
import numpy as np
from kenyon.kernels.noise import random_words
words = np.empty((1, 2), np.uint32)
random_words(np.array([1, 2], np.uint32), 0, words)
print(*words[0], sum(random_words.stats.cache_hits.values()))
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package, with an empty cache."""
    copy = tmp_path / "kenyon"
    shutil.copytree(Path(kenyon.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def draw(package):
    """Return two random words and the number of cache hits, from a process that uses this package."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(package.parent / "machine")}
    ran = subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=True)
    *words, hits = map(int, ran.stdout.split())
    return words, hits


def test_an_edit_of_a_file_that_a_kernel_calls_into_takes_effect(package):
    before, _ = draw(package)
    assert draw(package) == (before, 1)
    lanes = package / "kernels" / "lanes.py"
    text = lanes.read_text()
    assert text.count("b.add(x, y)") == 1
    lanes.write_text(text.replace("b.add(x, y)", "b.add(x, x)"))
    after, hits = draw(package)
    assert hits == 0
    assert after != before


def test_every_kernel_file_counts(tmp_path):
    copy = tmp_path / "kernels"
    shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__"))
    digests = {cache.source_digest(SOURCES), cache.source_digest.__wrapped__(copy)}
    assert len(digests) == 1
    for path in sorted(copy.glob("*.py")):
        path.write_text(path.read_text() + "# edited\n")
        digests.add(cache.source_digest.__wrapped__(copy))
    assert len(digests) == 1 + len(list(copy.glob("*.py")))
