"""Samples of a datastore's disk and of cgroups on it, phase by phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

INTERVAL_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskPhase:
    """So many intervals of reads with this rate, mean latency and size."""

    intervals: int
    iops: float
    latency_ms: float
    io_bytes: int = 8000


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupPhase:
    """So many intervals in which a cgroup reads and waits for this part of the time."""

    intervals: int
    iops: float
    waits: float
    io_bytes: int = 8000


def disk_lines(host: str, device: str, phases: Sequence[DiskPhase], *, start: datetime) -> str:
    """Counters of one device as /proc/diskstats has them."""
    head, step = f"diskio,host={host},name={device}", 0
    reads = moved = wait_ms = 0
    lines = [_disk_line(head, start, (reads, moved, wait_ms))]
    for phase in phases:
        for _ in range(phase.intervals):
            step += 1
            done = round(phase.iops * INTERVAL_S)
            reads += done
            moved += done * phase.io_bytes
            wait_ms += round(done * phase.latency_ms)
            at = start + timedelta(seconds=INTERVAL_S * step)
            lines.append(_disk_line(head, at, (reads, moved, wait_ms)))
    return "\n".join(lines)


def _disk_line(head: str, at: datetime, counters: tuple[int, int, int]) -> str:
    reads, moved, wait_ms = counters
    return (
        f"{head} reads={reads}i,writes=0i,read_bytes={moved}i,write_bytes=0i,"
        f"read_time={wait_ms}i,write_time=0i,io_time={wait_ms}i,"
        f"weighted_io_time={wait_ms}i {_ns(at)}"
    )


def cgroup_lines(host: str, path: str, phases: Sequence[CgroupPhase], *, start: datetime) -> str:
    """io.stat of device 8:0 and io.pressure of one cgroup."""
    reads = moved = waited_us = step = 0
    lines = [_cgroup_line(host, path, start, (reads, moved, waited_us))]
    for phase in phases:
        for _ in range(phase.intervals):
            step += 1
            done = round(phase.iops * INTERVAL_S)
            reads += done
            moved += done * phase.io_bytes
            waited_us += round(phase.waits * INTERVAL_S * 1e6)
            at = start + timedelta(seconds=INTERVAL_S * step)
            lines.append(_cgroup_line(host, path, at, (reads, moved, waited_us)))
    return "\n".join(lines)


def _cgroup_line(host: str, path: str, at: datetime, counters: tuple[int, int, int]) -> str:
    reads, moved, waited_us = counters
    return (
        f"cgroup,host={host},path={path} io.stat.8:0.rios={reads}i,io.stat.8:0.wios=0i,"
        f"io.stat.8:0.rbytes={moved}i,io.stat.8:0.wbytes=0i,"
        f"io.pressure.some.total={waited_us}i,io.pressure.full.total=0i {_ns(at)}"
    )


def _ns(at: datetime) -> int:
    return int(at.timestamp()) * 1_000_000_000
