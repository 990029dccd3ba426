"""Counters of disks, interfaces and cgroups that behave as a story says, second by second."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db import connection

from ingest.core.grid import microseconds
from ingest.models import Host, Series
from ingest.series_rows import note_open_hours, open_hours_of

Curve = Callable[[float], float]
"""A rate by the time in seconds since 1970."""


class Noise:
    """Smooth noise around 1, the same for the same seed."""

    def __init__(self, *, seed: int, size: float) -> None:
        chance = random.Random(seed)
        self.size = size
        self.table = [chance.uniform(-1.6, 1.6) for _ in range(4096)]

    def __call__(self, at_s: float) -> float:
        value = 0.0
        for octave, period_s in enumerate((1800.0, 420.0, 95.0, 23.0), start=1):
            cell = math.floor(at_s / period_s)
            part = at_s / period_s - cell
            soft = part * part * (3 - 2 * part)
            first = self.table[(cell * 31 + octave) % 4096]
            then = self.table[((cell + 1) * 31 + octave) % 4096]
            value += (first * (1 - soft) + then * soft) / 4
        return 1.0 + self.size * value


def steady(level: float, *, seed: int, size: float = 0.25, day: float = 0.0) -> Curve:
    """About this level, with noise; `day` is the part that it falls by in the night."""
    noise = Noise(seed=seed, size=size)

    def curve(at_s: float) -> float:
        hour = at_s / 3600 % 24
        light = 1 - day * (1 - math.cos((hour - 14) / 24 * 2 * math.pi)) / 2
        return max(0.0, level * light * noise(at_s))

    return curve


def during(
    curve: Curve, *, start: datetime, end: datetime, ramp_s: float = 90.0, outside: float = 0.04
) -> Curve:
    """The curve between two times, a small part of it outside."""
    first, last = start.timestamp(), end.timestamp()

    def gated(at_s: float) -> float:
        rise = min(1.0, max(0.0, (at_s - first) / ramp_s))
        fall = min(1.0, max(0.0, (last - at_s) / ramp_s))
        return curve(at_s) * (outside + (1 - outside) * min(rise, fall))

    return gated


def total(*curves: Curve) -> Curve:
    return lambda at_s: sum(curve(at_s) for curve in curves)


def times(since: datetime, until: datetime, step_s: int) -> Iterator[datetime]:
    at = since
    while at <= until:
        yield at
        at += timedelta(seconds=step_s)


def device_number(name: str) -> tuple[int, int]:
    """The numbers that Linux gives: sda is 8:0, sdb 8:16; nvme0n1 is 259:0."""
    return (8, 16 * (ord(name[2]) - ord("a"))) if name.startswith("sd") else (259, 0)


@dataclass(slots=True)
class Recorder:
    """Turns curves into counters and writes them with COPY."""

    since: datetime
    until: datetime
    step_s: int = 10
    _rows: dict[str, list[tuple[object, ...]]] = field(default_factory=dict)

    def disk(self, host: Host, device: str, *, iops: Curve, latency_ms: Curve) -> None:
        """70 % reads of 8 KiB, and writes of 16 KiB."""
        number = self._series(host, "block_device", device, {"name": device})
        self._rows.setdefault("ingest_block_device_sample", []).append(
            (number, self.until, *device_number(device))
        )
        series = self._series(host, "diskio", device, {"name": device})
        counters = [10_000.0, 4_000.0, 8e7, 6e7, 5_000.0, 3_000.0, 40_000.0, 60_000.0]
        for at in times(self.since, self.until, self.step_s):
            done = iops(at.timestamp()) * self.step_s
            wait_ms = latency_ms(at.timestamp())
            busy_ms = min(1.0, done / self.step_s / 6000) * self.step_s * 1000
            grown = (
                done * 0.7,
                done * 0.3,
                done * 0.7 * 8192,
                done * 0.3 * 16384,
                done * 0.7 * wait_ms,
                done * 0.3 * wait_ms,
                busy_ms,
                done * wait_ms,
            )
            self._grow("ingest_diskio_sample", series, at, counters, grown)

    def net(self, host: Host, interface: str, *, sent: Curve, received: Curve) -> None:
        """Curves in bits per second."""
        series = self._series(host, "net", interface, {"interface": interface})
        counters = [1e9, 1e9, 1e6, 1e6, 0.0, 0.0, 0.0, 0.0]
        for at in times(self.since, self.until, self.step_s):
            out = sent(at.timestamp()) * self.step_s / 8
            back = received(at.timestamp()) * self.step_s / 8
            grown = (out, back, out / 1400, back / 1400, 0.0, 0.0, 0.0, 0.0)
            self._grow("ingest_net_sample", series, at, counters, grown)

    def cgroup(self, host: Host, path: str, device: str, *, iops: Curve) -> None:
        series = self._series(
            host, "cgroup", path, {"path": path, "device": "{}:{}".format(*device_number(device))}
        )
        counters = [5_000.0, 2_000.0, 4e7, 3e7]
        for at in times(self.since, self.until, self.step_s):
            done = iops(at.timestamp()) * self.step_s
            grown = (done * 0.7, done * 0.3, done * 0.7 * 8192, done * 0.3 * 16384)
            self._grow("ingest_cgroup_sample", series, at, counters, grown)

    def pressure(self, host: Host, path: str, *, waiting: Curve) -> None:
        """The part of the time in which tasks of the cgroup waited for I/O."""
        series = self._series(host, "cgroup_pressure", path, {"path": path})
        counters = [1e6, 5e5]
        for at in times(self.since, self.until, self.step_s):
            waited_us = min(1.0, waiting(at.timestamp())) * self.step_s * 1e6
            grown = (waited_us, waited_us / 2)
            self._grow("ingest_cgroup_pressure_sample", series, at, counters, grown)

    def write(self) -> None:
        """Store everything recorded so far."""
        names = {
            "ingest_diskio_sample": "reads,writes,read_bytes,write_bytes,read_time,write_time,"
            "io_time,weighted_io_time",
            "ingest_block_device_sample": "major,minor",
            "ingest_net_sample": "bytes_sent,bytes_recv,packets_sent,packets_recv,drop_in,"
            "drop_out,err_in,err_out",
            "ingest_cgroup_sample": "rios,wios,rbytes,wbytes",
            "ingest_cgroup_pressure_sample": "some_total,full_total",
        }
        connection.ensure_connection()
        with connection.cursor() as cursor:
            for table, rows in self._rows.items():
                statement = f"COPY {table} (series_id, time, {names[table]}) FROM STDIN"
                with cursor.copy(statement) as copy:
                    for row in rows:
                        copy.write_row(row)
                note_open_hours(open_hours_of((row[0], microseconds(row[1])) for row in rows))
        self._rows.clear()

    def _series(self, host: Host, measurement: str, subject: str, tags: dict[str, str]) -> int:
        every = {"host": host.name, **tags}
        return Series.objects.create(
            organisation=host.organisation,
            host=host,
            measurement=measurement,
            subject=subject,
            tags=every,
            tags_key=",".join(f"{key}={value}" for key, value in sorted(every.items())),
            first_sample_at=self.since,
            last_sample_at=self.until,
        ).pk

    def _grow(
        self,
        table: str,
        series: int,
        at: datetime,
        counters: list[float],
        grown: Sequence[float],
    ) -> None:
        for index, growth in enumerate(grown):
            counters[index] += growth
        row = (series, at.astimezone(UTC), *(int(value) for value in counters))
        self._rows.setdefault(table, []).append(row)
