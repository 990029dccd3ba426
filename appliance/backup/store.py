"""Where backups lie: a directory, or a bucket of an S3 server. Objects are whole or not there."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from appliance.backup.directory_store import DirectoryStore
from appliance.backup.errors import Refused
from appliance.backup.s3_store import S3Target, open_s3

S3_SCHEME = "s3://"


class Store(Protocol):
    """Objects by name; names have `/` between their parts.

    Every method raises TargetAway with what the target said, and `put` NoSpace.
    """

    @property
    def target(self) -> str:
        """The place as a person writes it, without secrets."""

    def put(self, name: str, content: bytes) -> None:
        """Store an object, in the place of one with this name."""

    def get(self, name: str) -> bytes | None:
        """The content of an object; None if there is none."""

    def names(self, folder: str) -> list[str]:
        """Every object below a folder, sorted, with the folder in its name."""

    def delete(self, name: str) -> None:
        """Take an object away; nothing happens if there is none."""


def open_store(target: str) -> Store:
    """The store of a directory's path or of `s3://bucket/folder`.

    Raises Refused if it is neither.
    """
    if target.startswith(S3_SCHEME):
        return open_s3(S3Target.read(target.removeprefix(S3_SCHEME)))
    if "://" in target:
        raise Refused(f"the target {target!r} is neither a path nor s3://BUCKET/FOLDER")
    path = Path(target).expanduser()
    if not path.is_absolute():
        raise Refused(f"the target {target!r} is no absolute path")
    return DirectoryStore(path)
