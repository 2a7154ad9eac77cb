"""Compiled kernels on disk, keyed by the source of all kernels.

Numba recompiles a cached function when its own file changes, but not when a file that it calls into does: after an edit
of the lanes, stale machine code would silently give wrong numbers.
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
    """Numba's cache of a function, with the source of all kernels as part of the key."""

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        return *super()._index_key(signature, codegen), source_digest()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function to run without the interpreter's lock, and keep the machine code on disk."""
    compiled = njit(nogil=True)(function)
    compiled._cache = KernelCache(function)
    return compiled


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function for kernels to call: it may allocate nothing, and arrays are not counted as it is called.

    Numba counts who uses an array by locked additions, which are slow: with them, half of an update was counting.
    """
    return njit(_nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
