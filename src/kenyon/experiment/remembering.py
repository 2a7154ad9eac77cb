"""An HDF5 file for h5netcdf to write into, which remembers what was looked up in it.

h5netcdf looks up a dimension about 25 times for every variable, which took half of the time of writing a result. What
is written does not depend on it.
"""

from __future__ import annotations

from typing import Any

import h5py


class Remembering(h5py.File):  # type: ignore[misc]
    """An HDF5 file whose objects are looked up once."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._found: dict[str, Any] = {}

    def __getitem__(self, name: Any) -> Any:
        """Return an object by its name, or by a reference to it; the root is the file itself."""
        if not isinstance(name, str):
            return super().__getitem__(name)
        if name == "/":
            return self
        if (key := name.lstrip("/")) not in self._found:
            self._found[key] = super().__getitem__(name)
        return self._found[key]

    def __delitem__(self, name: str) -> None:
        """Remove an object."""
        self._found.pop(name.lstrip("/"), None)
        super().__delitem__(name)
