"""The whole database as a stream of PostgreSQL's own pg_basebackup, packed and cut into parts."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

import zstandard

from appliance.backup.archive import LEVEL, Archive
from appliance.backup.errors import BackupError
from appliance.backup.record import Part
from appliance.embedded.postgres_cluster import ROLE, PostgresCluster
from config.paths import POSTGRES_PORT

PART_BYTES = 64 << 20
READ_BYTES = 1 << 20
START = re.compile(r"write-ahead log start point: (\S+) on timeline (\d+)")
STOP = re.compile(r"write-ahead log end point: (\S+)")

Progress = Callable[[int], None]
"""Told how many bytes are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed:
    """What was stored: its parts, its size unpacked, and between which places it was taken."""

    parts: tuple[Part, ...]
    raw_bytes: int
    timeline: int
    start_lsn: str
    stop_lsn: str


def stream_base_backup(
    cluster: PostgresCluster, archive: Archive, *, name: str, progress: Progress
) -> Streamed:
    """Take a full backup of the running database into parts of a backup that is not whole yet.

    Raises BackupError with what pg_basebackup said; what is stored then is taken away by the
    next backup.
    """
    command = [
        str(cluster.programs.bin_dir / "pg_basebackup"),
        f"--host={cluster.data.sockets}",
        f"--port={POSTGRES_PORT}",
        f"--username={ROLE}",
        "--pgdata=-",
        "--format=tar",
        # The log that it needs is in it, so that it is of use without any archive.
        "--wal-method=fetch",
        "--checkpoint=fast",
        "--no-password",
        "--verbose",
    ]
    with subprocess.Popen(
        command,
        cwd="/",
        env={"LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        try:
            counted = _Counted(process.stdout, progress)
            parts = tuple(_store(archive, name, _packed(counted)))
            # It says a few lines only, which the pipe holds meanwhile.
            said = process.stderr.read().decode(errors="replace")
        except BaseException:
            process.kill()
            raise
    start, stop = START.search(said), STOP.search(said)
    if process.returncode != 0 or start is None or stop is None:
        last = said.strip().splitlines()[-1:] or [f"status {process.returncode}"]
        raise BackupError(f"PostgreSQL's pg_basebackup failed: {last[0]}")
    return Streamed(
        parts=parts,
        raw_bytes=counted.bytes_read,
        timeline=int(start[2]),
        start_lsn=start[1],
        stop_lsn=stop[1],
    )


class _Counted:
    """A stream that tells how much was read of it."""

    def __init__(self, stream: IO[bytes], progress: Progress) -> None:
        self._stream = stream
        self._progress = progress
        self.bytes_read = 0

    def read(self, size: int = READ_BYTES) -> bytes:
        """The next bytes; empty at the end."""
        block = self._stream.read(size)
        self.bytes_read += len(block)
        self._progress(self.bytes_read)
        return block


def _packed(stream: _Counted) -> Iterator[bytes]:
    packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compressobj()
    while block := stream.read():
        yield packer.compress(block)
    yield packer.flush()


def _store(archive: Archive, backup: str, blocks: Iterator[bytes]) -> Iterator[Part]:
    """Cut blocks into parts and store each."""
    held = bytearray()
    number = 0
    for block in blocks:
        held += block
        while len(held) >= PART_BYTES:
            yield _store_part(archive, backup, number, bytes(held[:PART_BYTES]))
            del held[:PART_BYTES]
            number += 1
    if held:
        yield _store_part(archive, backup, number, bytes(held))


def _store_part(archive: Archive, backup: str, number: int, content: bytes) -> Part:
    name = f"{number:05}.part"
    archive.put_part(backup, name, content)
    return Part(name=name, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
