"""What stands in for clocks and the disk while a run lasts: for the service and each host its own.

Code under test asks `os` and `time` as ever. Whose turn it is decides what it is told: that of a
host, or, where nobody's is, the service's and the simulation's own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

from django.utils import timezone

from appliance.simulation.disk import SimulatedDisk


class Turn(Protocol):
    """A host, as far as what it asks of its system is concerned."""

    disk: SimulatedDisk

    def now(self) -> datetime:
        """What its clock shows."""
        ...


class Turns:
    """Whose turn it is."""

    def __init__(self, service_now: Callable[[], datetime]) -> None:
        self._service_now = service_now
        self._present: Turn | None = None

    @contextmanager
    def of(self, turn: Turn | None) -> Iterator[None]:
        """It is the turn of a host, or of none, until the end of the block."""
        former, self._present = self._present, turn
        try:
            yield
        finally:
            self._present = former

    @contextmanager
    def standing_in(self) -> Iterator[None]:
        """Within, the system is the simulated one."""
        with (
            patch.object(os, "open", self._open(os.open)),
            patch.object(os, "write", self._write(os.write)),
            patch.object(os, "fsync", self._fsync(os.fsync)),
            patch.object(os, "replace", self._replace(os.replace)),
            patch.object(os, "unlink", self._unlink(os.unlink)),
            patch.object(time, "time_ns", self._time_ns(time.time_ns)),
            patch.object(timezone, "now", self._service_now),
        ):
            yield

    def _disk_of(self, path: object) -> SimulatedDisk | None:
        if self._present is None:
            return None
        disk = self._present.disk
        return disk if disk.holds(str(path)) else None

    def _disk_of_open(self, descriptor: int) -> tuple[SimulatedDisk, str] | None:
        if self._present is None:
            return None
        path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        disk = self._present.disk
        return (disk, path) if disk.holds(path) else None

    def _open(self, real: Callable[..., int]) -> Callable[..., int]:
        def opened(path: Any, flags: int, *args: Any, **options: Any) -> int:
            disk = self._disk_of(path)
            if disk is not None and flags & os.O_CREAT:
                disk.before_change()
            return real(path, flags, *args, **options)

        return opened

    def _write(self, real: Callable[[int, bytes], int]) -> Callable[[int, bytes], int]:
        def write(descriptor: int, data: bytes) -> int:
            found = self._disk_of_open(descriptor)
            if found is not None:
                found[0].before_write(lambda: real(descriptor, data[: len(data) // 2]))
            return real(descriptor, data)

        return write

    def _fsync(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def fsync(descriptor: int) -> None:
            found = self._disk_of_open(descriptor)
            if found is None:
                real(descriptor)
            else:
                found[0].sync(found[1])

        return fsync

    def _replace(self, real: Callable[..., None]) -> Callable[..., None]:
        def replace(source: Any, target: Any, **options: Any) -> None:
            disk = self._disk_of(target)
            if disk is not None:
                disk.before_change()
            real(source, target, **options)
            if disk is not None:
                disk.renamed(str(source), str(target))

        return replace

    def _unlink(self, real: Callable[..., None]) -> Callable[..., None]:
        def unlink(path: Any, *args: Any, **options: Any) -> None:
            disk = self._disk_of(path)
            if disk is not None:
                disk.strikes.check_alive()
            real(path, *args, **options)

        return unlink

    def _time_ns(self, real: Callable[[], int]) -> Callable[[], int]:
        def time_ns() -> int:
            if self._present is None:
                return real()
            return int(self._present.now().timestamp() * 1e6) * 1000

        return time_ns
