"""Where results come from: versions, processor, git commit."""

from __future__ import annotations

import platform
import subprocess
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from kenyon._version import __version__

PACKAGES = ("numpy", "scipy", "numba", "xarray")


def environment() -> dict[str, str]:
    """Return the versions of Kenyon, Python and the packages that numbers depend on, the system and the processor."""
    return {
        "kenyon": __version__,
        "python": platform.python_version(),
        **_versions(),
        "system": platform.platform(),
        "cpu": cpu(),
    }


@cache
def _versions() -> dict[str, str]:
    """Return the versions of the packages that numbers depend on."""
    return {name: version(name) for name in PACKAGES}


def cpu() -> str:
    """Return the name of the processor, as far as the system tells."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def git_commit() -> str:
    """Return the commit of the current folder, with a + if tracked files have changed since; "" outside of git."""
    with suppress(OSError, subprocess.SubprocessError):
        return _git("rev-parse", "HEAD").strip() + ("+" if _git("status", "--porcelain", "-uno") else "")
    return ""


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, timeout=10, check=True).stdout
