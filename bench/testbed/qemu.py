"""One row of a limit that QEMU itself holds, on this machine and in real time."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from bench.fleet.rows import Row
from bench.testbed.asked import Asked
from tests.testbed.throttled_qemu import rate, start, throttling_rig

PART = "qemu-throttle"
LIMIT = 100.0
SECONDS = 5.0
_ASKED = Asked(what="qemu_throttle, limit 100 of a guest with one request under way", unit="IOPS")


def qemu_rows() -> list[Row]:
    """The row; nothing is asked of it, for a busy machine keeps the guest from its limit."""
    if shutil.which("qemu-system-x86_64") is None:
        return [replace(_ASKED.open_row("no QEMU (package qemu-system-x86)"), part=PART)]
    # The path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="sluice-qemu-") as name:
        folder = Path(name)
        disks = folder / "disks"
        disks.mkdir()
        qemu = start(disks, "db")
        try:
            measured = rate(throttling_rig(folder, disks), qemu, LIMIT, SECONDS)
        finally:
            qemu.stop()
    return [replace(_ASKED.row(measured, f"in {SECONDS:g} s, in real time"), part=PART)]
