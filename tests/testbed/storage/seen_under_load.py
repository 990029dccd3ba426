"""What a disk's counters say of it while groups want all it can do, and what fio says of it."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.testbed.storage.disk_kinds import KINDS
from tests.testbed.storage.groups import make_groups
from tests.testbed.storage.load import Load, running

GROUPS, OUTSTANDING = 4, 32
BLOCK_BYTES = 16384
_COUNTERS = (0, 3, 4, 7)
"""Of Documentation/block/stat.rst: I/Os and milliseconds of reads, and of writes."""


def run(
    *, kind: str, modules: str, windows: int = 8, window_s: float = 2.0, fio_s: int = 8
) -> dict[str, Any]:
    """IOPS and latency in each window, as Telegraf's counters have them, and fio's IOPS."""
    disk = KINDS[kind](Path(modules))
    place = Path("/dev") / disk
    groups = make_groups(GROUPS)
    loads = (Load(group=group, disk=place, outstanding=OUTSTANDING) for group in groups)
    with running(*loads):
        time.sleep(window_s)
        seen = [_window(disk, window_s) for _ in range(windows)]
    return {
        "iops": [one[0] for one in seen],
        "latency_ms": [one[1] for one in seen],
        "fio_iops": _fio(place, fio_s),
    }


def _window(disk: str, window_s: float) -> tuple[float, float]:
    before, began_s = _counters(disk), time.monotonic()
    time.sleep(window_s)
    after, took_s = _counters(disk), time.monotonic() - began_s
    reads, read_ms, writes, write_ms = (b - a for a, b in zip(before, after, strict=True))
    ios = reads + writes
    return ios / took_s, (read_ms + write_ms) / ios if ios else 0.0


def _counters(disk: str) -> list[int]:
    words = (Path("/sys/block") / disk / "stat").read_text().split()
    return [int(words[number]) for number in _COUNTERS]


def _fio(place: Path, seconds: int) -> float:
    """What fio measures of random reads; more outstanding would count too long at the end."""
    argv = [
        "fio", "--name=reads", f"--filename={place}", "--readonly", "--rw=randread", "--direct=1",
        f"--bs={BLOCK_BYTES}", "--ioengine=libaio", "--iodepth=32",
        "--time_based", f"--runtime={seconds}", "--ramp_time=1", "--output-format=json",
    ]  # fmt: skip
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    iops: float = json.loads(done.stdout)["jobs"][0]["read"]["iops"]
    return iops
