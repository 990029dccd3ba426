"""A disk of the real kernel that hangs: its counters say that it is stalled, not idle."""

from __future__ import annotations

import math
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from advisor.core.detection.congestion import CongestionState, DetectorSettings, detect
from advisor.core.detection.observed import readings_of
from advisor.core.detection.threshold import FixedThreshold
from advisor.core.observation import DatastoreObservation, HostLatency
from ingest.core.figures import DISK, DiskFigures
from tests.ingest.core.readings import derive, readings

pytestmark = [pytest.mark.root, pytest.mark.slow]

TOOLS = ("losetup", "mkfs.ext4", "mount", "fsfreeze")
SECTOR_BYTES = 512
WATCHED_S = 2.0


def run(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def hung_disk(tmp_path: Path) -> Iterator[str]:
    """A loop device with a write in flight that its frozen file system does not let through."""
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if lacking:
        pytest.skip(f"no {', '.join(lacking)}")
    outer, inner, mounted = tmp_path / "outer", tmp_path / "mounted/inner", tmp_path / "mounted"
    mounted.mkdir()
    with outer.open("wb") as file:
        file.truncate(64 << 20)
    run("mkfs.ext4", "-q", str(outer))
    with ExitStack() as undo:
        try:
            below = run("losetup", "--find", "--show", str(outer))
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no loop device can be made here: {error.stderr}")
        undo.callback(run, "losetup", "--detach", below)
        run("mount", below, str(mounted))
        undo.callback(run, "umount", str(mounted))
        inner.write_bytes(bytes(1 << 20))
        disk = run("losetup", "--find", "--show", str(inner))
        undo.callback(run, "losetup", "--detach", disk)
        run("fsfreeze", "--freeze", str(mounted))
        write = subprocess.Popen(
            ["dd", "if=/dev/zero", f"of={disk}", "bs=4k", "count=8", "oflag=direct"],
            stderr=subprocess.DEVNULL,
        )
        undo.callback(write.wait)
        undo.callback(run, "fsfreeze", "--unfreeze", str(mounted))
        deadline = time.monotonic() + 10
        while in_flight_of(disk) == 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        yield disk


def counters_of(disk: str) -> list[int]:
    """The numbers of /proc/diskstats, from the reads that completed on."""
    name = Path(disk).name
    rows = [line.split() for line in Path("/proc/diskstats").read_text().splitlines()]
    (row,) = [row for row in rows if row[2] == name]
    return [int(number) for number in row[3:]]


def in_flight_of(disk: str) -> int:
    return counters_of(disk)[8]


def seen(disk: str) -> tuple[float, tuple[int, ...]]:
    """A time in seconds, and what is read of the disk then."""
    reads, _, read_sectors, read_ms, writes, _, written, write_ms, now, busy_ms, waited_ms, *_ = (
        counters_of(disk)
    )
    counters = (
        reads, writes, read_sectors * SECTOR_BYTES, written * SECTOR_BYTES,
        read_ms, write_ms, busy_ms, waited_ms, now,
    )  # fmt: skip
    return time.monotonic(), counters


def state_of(found: DiskFigures) -> CongestionState:
    """The judgement of one window of one disk."""
    seconds, latency_ms = found.seconds.item(), found.latency_ms.item()
    host = HostLatency(
        host="h1",
        latency_ms=None if math.isnan(latency_ms) else latency_ms,
        io_count=found.iops.item() * seconds,
        outstanding_io=found.outstanding_io.item(),
        busy_ratio=found.utilisation_ratio.item(),
    )
    window = DatastoreObservation(at=datetime.now(UTC), window_s=seconds, hosts=(host,))
    settings = DetectorSettings(activity_floor=10.0)
    (point,) = detect(
        readings_of([window]), settings=settings, threshold=FixedThreshold(value=30.0)
    ).points
    return point.state


def test_a_disk_that_hangs_is_stalled(hung_disk: str) -> None:
    before = seen(hung_disk)
    time.sleep(WATCHED_S)
    after = seen(hung_disk)

    # One window from the first to the second reading.
    found = derive(DISK, readings(before, after), window_s=after[0] - before[0])

    _, (*_, began_with) = before
    assert began_with > 0
    assert math.isnan(found.latency_ms.item())
    assert state_of(found) is CongestionState.STALLED
