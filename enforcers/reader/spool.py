"""Samples that wait to be sent, on disk, so that an outage or a restart loses none of them."""

import contextlib
import gzip
import logging
import os
import threading
import zlib
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from enforcers.errors import StateError

log = logging.getLogger(__name__)

_SUFFIX = ".lp.gz"
_UNFINISHED = ".new"
# Line protocol repeats itself: the quickest level saves nine tenths already.
_LEVEL = 1
# What a file takes is a multiple of this on common file systems, and a small host's pass is less.
BLOCK_BYTES = 4096


@dataclass(slots=True, eq=False)
class Batch:
    """The lines of one pass. `data` is held in memory where the disk took none of it.

    `size_bytes` is what it takes on disk.
    """

    number: int
    line_count: int
    size_bytes: int
    path: Path | None
    data: bytes | None


class Spool:
    """Batches in order of their passes, of so many bytes at most: then the oldest goes.

    Safe to use from the thread that reads and the thread that sends.
    """

    def __init__(self, folder: Path, *, most_bytes: int) -> None:
        """Take up what an earlier run left. Raises StateError."""
        self._folder = folder
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._is_disk_full = False
        self.dropped_lines = 0
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._batches = deque(_left_behind(folder))
        except OSError as error:
            raise StateError(f"{folder} cannot be used: {error.strerror}") from error
        self._bytes = sum(batch.size_bytes for batch in self._batches)
        self._next = 1 + max((batch.number for batch in self._batches), default=0)

    @property
    def waiting_lines(self) -> int:
        """How many lines wait."""
        with self._lock:
            return sum(batch.line_count for batch in self._batches)

    def put(self, lines: tuple[str, ...]) -> None:
        """Keep the lines of a pass, and let the oldest go if there are too many bytes."""
        if not lines:
            return
        data = gzip.compress("\n".join(lines).encode(), _LEVEL, mtime=0)
        with self._lock:
            number, self._next = self._next, self._next + 1
            path = self._write(number, len(lines), data)
            kept = None if path else data
            size_bytes = _taken(len(data))
            self._batches.append(Batch(number, len(lines), size_bytes, path, kept))
            self._bytes += size_bytes
            while self._bytes > self._most_bytes and len(self._batches) > 1:
                oldest = self._batches.popleft()
                self.dropped_lines += oldest.line_count
                self._forget(oldest)

    def oldest(self, *, most_lines: int) -> tuple[list[Batch], list[str]]:
        """The batches to send next, at least one and at most so many lines, and their lines."""
        while True:
            with self._lock:
                chosen = _first(self._batches, most_lines)
            lines: list[str] = []
            damaged = [batch for batch in chosen if not _unpack(batch, lines)]
            if not damaged:
                return chosen, lines
            for batch in damaged:
                log.warning("waiting samples are damaged", extra={"file": str(batch.path)})
            with self._lock:
                # One that went meanwhile, to make room, was counted then.
                lost = [batch for batch in damaged if batch in self._batches]
                self.dropped_lines += sum(batch.line_count for batch in lost)
            self.remove(damaged)

    def remove(self, batches: list[Batch]) -> None:
        """Forget what was delivered or refused for good."""
        with self._lock:
            for batch in batches:
                # It may have gone meanwhile, to make room.
                if batch in self._batches:
                    self._batches.remove(batch)
                    self._forget(batch)

    def _forget(self, batch: Batch) -> None:
        self._bytes -= batch.size_bytes
        if batch.path is not None:
            try:
                batch.path.unlink(missing_ok=True)
            except OSError as error:
                log.warning("file not removed", extra={"error": str(error)})

    def _write(self, number: int, line_count: int, data: bytes) -> Path | None:
        """Write whole or not at all; None if the disk takes nothing."""
        path = self._folder / f"{number:012d}-{line_count}{_SUFFIX}"
        unfinished = path.with_suffix(_UNFINISHED)
        try:
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            unfinished.replace(path)
        except OSError as error:
            # A full disk still makes empty files.
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)
            if not self._is_disk_full:
                log.warning("samples wait in memory only", extra={"error": str(error)})
            self._is_disk_full = True
            return None
        self._is_disk_full = False
        return path


def _left_behind(folder: Path) -> list[Batch]:
    for unfinished in folder.glob(f"*{_UNFINISHED}"):
        unfinished.unlink()
    found = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        number, _, count = path.name.removesuffix(_SUFFIX).partition("-")
        if number.isdigit() and count.isdigit():
            size_bytes = _taken(path.stat().st_size)
            found.append(Batch(int(number), int(count), size_bytes, path, None))
    return found


def _taken(size_bytes: int) -> int:
    """What a file of this size takes on disk."""
    return -(-size_bytes // BLOCK_BYTES) * BLOCK_BYTES


def _first(batches: deque[Batch], most_lines: int) -> list[Batch]:
    chosen: list[Batch] = []
    left = most_lines
    for batch in batches:
        left -= batch.line_count
        if chosen and left < 0:
            break
        chosen.append(batch)
    return chosen


def _unpack(batch: Batch, lines: list[str]) -> bool:
    """Add the lines of a batch; False if its file cannot be read.

    After a power cut a file can be there and be empty, which gzip takes for whole.
    """
    try:
        data = batch.data if batch.path is None else batch.path.read_bytes()
        found = gzip.decompress(data or b"").decode().split("\n")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return False
    if len(found) != batch.line_count:
        return False
    lines += found
    return True
