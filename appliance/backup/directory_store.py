"""Backups in a directory, such as a mounted disk of another machine."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from appliance.backup.errors import BackupError, NoSpace, TargetAway

UNFINISHED = ".part"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class DirectoryStore:
    """Objects as files below a directory that is there already.

    The directory itself is never made: where a mount is missing, a backup must not go to the
    disk beneath it.
    """

    root: Path

    @property
    def target(self) -> str:
        """The path of the directory."""
        return str(self.root)

    def put(self, name: str, content: bytes) -> None:
        """Write beside it and rename, each on the disk before the next step."""
        path = self.root / name
        unfinished = path.with_name(path.name + UNFINISHED)
        with self._named():
            self._check()
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with open(unfinished, "wb", opener=_for_owner) as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                unfinished.replace(path)
            except OSError:
                unfinished.unlink(missing_ok=True)
                raise
            _sync_directory(path.parent)

    def get(self, name: str) -> bytes | None:
        """The content of a file."""
        with self._named():
            self._check()
            try:
                return (self.root / name).read_bytes()
            except FileNotFoundError:
                return None

    def names(self, folder: str) -> list[str]:
        """Every file below a folder, unfinished ones too."""
        with self._named():
            self._check()
            found = [path for path in (self.root / folder).rglob("*") if path.is_file()]
        return sorted(str(path.relative_to(self.root)) for path in found)

    def delete(self, name: str) -> None:
        """Take a file away, and its folder if that is empty then."""
        path = self.root / name
        with self._named():
            self._check()
            path.unlink(missing_ok=True)
            if _is_left_empty(path.parent, self.root):
                path.parent.rmdir()

    def _check(self) -> None:
        if not self.root.is_dir():
            raise TargetAway(
                f"the target {self.root} is no directory; is its disk mounted? (Sluice never "
                "makes it, so that nothing is written beneath a missing mount)"
            )

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._error(error) from error

    def _error(self, error: OSError) -> BackupError:
        if error.errno in NO_ROOM:
            return NoSpace(f"the disk of the target {self.root} is full")
        return TargetAway(f"the target {self.root} does not work: {error.strerror}")


def _is_left_empty(folder: Path, root: Path) -> bool:
    return folder != root and folder.is_dir() and not any(folder.iterdir())


def _for_owner(path: str, flags: int) -> int:
    """Open for the owner alone: a backup holds all that the database holds."""
    return os.open(path, flags, 0o600)


def _sync_directory(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
