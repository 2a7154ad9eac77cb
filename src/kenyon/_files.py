"""The one way in which the package writes a file: complete, or not at all."""

import os
import uuid
from pathlib import Path


def write_whole(path: Path, contents: bytes | str) -> None:
    """Write to a hidden file beside `path`, sync it to disk and rename it, so that nobody sees half a file."""
    part = path.parent / f".{uuid.uuid4().hex}.part"  # also where `path` is a folder, which is then refused by name
    try:
        with open(part, "xb") as file:
            file.write(contents.encode() if isinstance(contents, str) else contents)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
