"""The one way in which the package writes a file: complete, or not at all."""

import os
import uuid
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, contents: bytes | str) -> None:
    """Write to a hidden file beside `path`, sync it to disk and rename it, so that nobody sees half a file.

    An `OSError` names `path`, not the hidden file.
    """
    part = path.parent / f".{uuid.uuid4().hex}.part"  # also where `path` is a folder, which is then refused by name
    try:
        with open(part, "xb") as file:
            file.write(contents.encode() if isinstance(contents, str) else contents)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and error.filename:
            raise _about(path, error) from None
        raise


def _about(path: Path, error: OSError) -> OSError:
    """Return the error with the name of the file that was asked for, or why there can be none."""
    lost = isinstance(error, FileNotFoundError) and not path.parent.exists()
    reason = f"the folder {path.parent} does not exist" if lost else error.strerror
    return type(error)(error.errno, reason, str(path))
