"""Files of the agent's own that are either the old or the new text, whatever happens."""

import os
from contextlib import suppress
from pathlib import Path

from enforcers.errors import StateError

PRIVATE = 0o600


def write_atomically(path: Path, data: bytes, *, mode: int = PRIVATE) -> None:
    """Replace a file so that a crash leaves the old or the new content. Raises StateError.

    The new file has this mode, whatever the umask.
    """
    beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        try:
            _write_new(beside, data, mode)
            Path(beside).replace(path)
        except BaseException:
            # What went wrong is to be told, not that this did too.
            with suppress(OSError):
                Path(beside).unlink()
            raise
        _sync_directory(path.parent)
    except OSError as error:
        raise StateError(f"{path} cannot be written: {error.strerror}") from error


def remove_unfinished(folder: Path) -> None:
    """Remove what a process left that was killed while it wrote. Nobody else may be writing."""
    for path in folder.glob(".*.json.????????"):
        with suppress(OSError):
            Path(path).unlink()


def _write_new(path: Path, data: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    try:
        if mode != PRIVATE:
            os.fchmod(descriptor, mode)
        written = 0
        while written < len(data):
            written += os.write(descriptor, data[written:])
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
