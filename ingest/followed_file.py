"""A file that a program writes row by row, read as it grows."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from io import FileIO
from pathlib import Path

_CHUNK_BYTES = 1 << 18


def follow(path: Path, *, header: bytes, wait: Callable[[], bool]) -> Iterator[bytes]:
    """What is written to the file from now on, in chunks, after the newest line with `header`.

    A file that takes its place (rotation), or that begins anew, is read from its start, and so is
    one that appears later. `wait` pauses between two looks and answers whether to go on.
    """
    is_new = False
    while True:
        try:
            with path.open("rb", buffering=0) as file:
                if not is_new:
                    yield from _header(file, header)
                if not (yield from _growth(file, path, wait)):
                    return
        except FileNotFoundError:
            if not wait():
                return
        is_new = True


def _header(file: FileIO, header: bytes) -> Iterator[bytes]:
    """The newest line with `header`; leaves the file behind its last whole line.

    Without one, and where its line has no end yet, all of it is still to come.
    """
    start, end = _places(file, header)
    if start is None:
        file.seek(0)
        return
    file.seek(start)
    if end <= start:
        return
    while chunk := file.read(_CHUNK_BYTES):
        line, newline, _ = chunk.partition(b"\n")
        yield line + newline
        if newline:
            break
    file.seek(end)


def _places(file: FileIO, header: bytes) -> tuple[int | None, int]:
    """Where the newest header begins, None without one, and where the last whole line ends."""
    start, end, position, before = None, 0, 0, b""
    while chunk := file.read(_CHUNK_BYTES):
        window = before + chunk
        found = window.rfind(header)
        if found >= 0:
            start = position - len(before) + found
        newline = chunk.rfind(b"\n")
        if newline >= 0:
            end = position + newline + 1
        position += len(chunk)
        before = window[1 - len(header) :]
    return start, end


def _growth(file: FileIO, path: Path, wait: Callable[[], bool]) -> Generator[bytes, None, bool]:
    """What comes until another file is in its place (true), or until `wait` ends it (false)."""
    while True:
        # Looked at first: what was written before the other came is read below.
        is_replaced = _is_replaced(file, path)
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk
        if is_replaced:
            return True
        if not wait():
            return False
        if os.fstat(file.fileno()).st_size < file.tell():
            file.seek(0)


def _is_replaced(file: FileIO, path: Path) -> bool:
    """Whether another file has the name; one that nobody has is still being written."""
    try:
        return not os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
