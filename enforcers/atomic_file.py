"""Files of the agent's own that are either the old or the new text, whatever happens."""

import os
import tempfile
from pathlib import Path

from enforcers.errors import StateError


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file so that a crash leaves the old or the new content. Raises StateError."""
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _sync_directory(path.parent)
    except OSError as error:
        raise StateError(f"{path} cannot be written: {error.strerror}") from error


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
