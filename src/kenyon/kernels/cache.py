"""Compiled kernels on disk, keyed by the source of all kernels.

Numba recompiles a cached function when the file it stands in changes, but not when a file it calls into does: an edit
of the lanes would leave stale machine code that gives wrong numbers without a word.
"""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache


@cache
def source_digest(folder: Path = Path(__file__).parent) -> str:
    """Return a hash of every Python file in a folder."""
    contents = (path.name.encode() + path.read_bytes() for path in sorted(folder.glob("*.py")))
    return sha256(b"".join(contents)).hexdigest()


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, whose entries also name the source of all kernels."""

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        return *super()._index_key(signature, codegen), source_digest()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that runs without the interpreter's lock, and keep the machine code on disk."""
    compiled = njit(nogil=True)(function)
    compiled._cache = KernelCache(function)
    return compiled
