"""Samples as bad days bring them: gaps, counters that start again or are not sent, duplicates."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import connection

from ingest.core.catalogue import (
    BLOCK_DEVICE,
    CGROUP,
    CGROUP_PRESSURE,
    DISKIO,
    NET,
    Measurement,
)
from ingest.core.figures import CGROUP_IO, DISK, INTERFACE, PRESSURE
from ingest.core.grid import microseconds
from ingest.grid_reader import Subject
from ingest.models import Host, Series
from ingest.partitions import ensure_partitions
from ingest.series_rows import note_open_hours, open_hours_of

COLUMNS = {
    NET: INTERFACE.counters,
    DISKIO: DISK.counters,
    CGROUP: CGROUP_IO.counters,
    CGROUP_PRESSURE: PRESSURE.counters,
    BLOCK_DEVICE: ("major", "minor"),
}
DEVICES = ("8:0", "8:16")
INTERVALS_S = (1.0, 9.99, 10.0, 10.01, 10.25, 30.0)
START = {"low": 3, "near the end of 32 bits": 2**32 - 5000, "high": 2**40}


class RandomSamples:
    """Writes random samples of random series of a host before `until`."""

    def __init__(
        self, host: Host, *, seed: int, until: datetime, most_intervals: int = 400
    ) -> None:
        self.host = host
        self.until = until
        self.most_intervals = most_intervals
        self.chance = random.Random(seed)
        ensure_partitions({(until - timedelta(days=back)).date() for back in (0, 1)})

    def interface(self, name: str) -> Subject:
        for tags in self._collectors({"interface": name}):
            self._write(NET, name, tags, self._times())
        return Subject(host=self.host.pk, name=name)

    def cgroup(self, path: str) -> list[Subject]:
        """Both devices of a cgroup with its pressure, which mostly comes in the same gather."""
        for tags in self._collectors({"path": path}):
            times = self._times()
            for device in DEVICES:
                self._write(CGROUP, path, {**tags, "device": device}, self._thinned(times))
            self._write(CGROUP_PRESSURE, path, tags, self._thinned(times))
        return [Subject(host=self.host.pk, name=path, device=device) for device in DEVICES]

    def block_device(self, name: str, number: str) -> None:
        """What the host tells of a disk's number."""
        rows = [[int(part) for part in number.split(":")]]
        self._store(BLOCK_DEVICE, name, {"name": name}, [self.until], rows)

    def disk(self, name: str) -> None:
        self._write(DISKIO, name, {"name": name}, self._times())

    def _collectors(self, tags: Mapping[str, str]) -> list[dict[str, str]]:
        """None, one or several: tags change, and two collectors may watch one host."""
        count = self.chance.choice((0, 1, 1, 1, 2, 3))
        return [{**tags, "host": self.host.name, "agent": str(one)} for one in range(count)]

    def _times(self) -> list[datetime]:
        interval_s = self.chance.choice(INTERVALS_S)
        at = self.until - timedelta(
            seconds=interval_s * self.chance.randrange(0, self.most_intervals)
        )
        found = []
        while at < self.until + timedelta(minutes=1):
            found.append(at)
            missed = self.chance.choice((2, 4, 60)) if self.chance.random() < 0.04 else 1
            at += timedelta(seconds=missed * interval_s * self.chance.uniform(0.99, 1.01))
        return found

    def _thinned(self, times: list[datetime]) -> list[datetime]:
        return [at for at in times if self.chance.random() < 0.97]

    def _write(
        self, measurement: Measurement, subject: str, tags: dict[str, str], times: list[datetime]
    ) -> None:
        rows = self._counters(len(COLUMNS[measurement]), len(times))
        self._store(measurement, subject, tags, times, rows)

    def _store(
        self,
        measurement: Measurement,
        subject: str,
        tags: dict[str, str],
        times: list[datetime],
        rows: list[list[int | None]],
    ) -> None:
        series = Series.objects.create(
            organisation=self.host.organisation,
            host=self.host,
            measurement=measurement.name,
            subject=subject,
            tags=tags,
            tags_key=",".join(f"{key}={value}" for key, value in sorted(tags.items())),
            first_sample_at=min(times, default=None),
            last_sample_at=max(times, default=None),
        )
        names = ", ".join(COLUMNS[measurement])
        statement = f"COPY {measurement.table} (series_id, time, {names}) FROM STDIN"
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            for at, counters in zip(times, rows, strict=True):
                copy.write_row((series.pk, at, *counters))
        note_open_hours(open_hours_of((series.pk, microseconds(at)) for at in times))

    def _counters(self, width: int, count: int) -> list[list[int | None]]:
        """Counters that grow, start again from zero, pass 32 bits, or are not sent."""
        now = [self.chance.choice(list(START.values())) for _ in range(width)]
        found: list[list[int | None]] = []
        for _ in range(count):
            event = self.chance.random()
            if event < 0.02:
                now = [0] * width
            elif event < 0.04:
                now[self.chance.randrange(width)] //= 2
            elif event < 0.06:
                now = [value % 2**32 for value in now]
            now = [value + self.chance.choice((0, 7, 4096, 10**6 + 3)) for value in now]
            sent: list[int | None] = list(now)
            if self.chance.random() < 0.02:
                sent[self.chance.randrange(width)] = None
            found.append(sent)
        return found
