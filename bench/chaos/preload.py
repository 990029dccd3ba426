"""The library that moves the clock and lets PostgreSQL's disk fail, and what steers it."""

from __future__ import annotations

import mmap
import struct
import subprocess
from pathlib import Path

_SOURCE = Path(__file__).with_name("preload.c")
_PAGE = struct.Struct("@qqq")
NS_PER_S = 10**9


class Preload:
    """The library, compiled into a folder that every user can read, and its page."""

    def __init__(self, folder: Path) -> None:
        self._library = folder / "preload.so"
        self._file = folder / "preload.page"
        subprocess.run(
            ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
             "-o", str(self._library), str(_SOURCE), "-ldl"],
            check=True,
        )  # fmt: skip
        self._file.write_bytes(bytes(mmap.PAGESIZE))
        # PostgreSQL runs as another user, and counts down the calls that fail.
        self._file.chmod(0o666)
        with self._file.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    @property
    def environment(self) -> dict[str, str]:
        """What a program is started with."""
        return {"LD_PRELOAD": str(self._library), "SLUICE_CHAOS_CONTROL": str(self._file)}

    def move_clock(self, ahead_s: float) -> None:
        """From now on the programs' clock is so far ahead of the machine's."""
        _, calls, error = _PAGE.unpack_from(self._page)
        _PAGE.pack_into(self._page, 0, round(ahead_s * NS_PER_S), calls, error)

    def fail(self, calls: int, error: int) -> None:
        """So many of the next flushes and writes of the database fail with this error."""
        ahead_ns, _, _ = _PAGE.unpack_from(self._page)
        _PAGE.pack_into(self._page, 0, ahead_ns, calls, error)
