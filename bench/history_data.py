"""A day of made-up samples: bursts, days and nights, a quarter of the workloads idle.

The noise of each value is its own, so real samples compress rather better than these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from accounts.models import Organisation
    from advisor.models import Resource
    from ingest.core.catalogue import Measurement

STEP_S = 10
PER_HOST = 20
PER_RESOURCE = 100
_POSTGRES_EPOCH_S = 946_684_800

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MadeFleet:
    """What was written: the datastores, and by table the series of each workload in order."""

    organisation: Organisation
    resources: Sequence[Resource]
    series: Mapping[str, Sequence[int]]


class Load:
    """Rates of workloads, step after step; the same seed gives the same."""

    def __init__(self, workloads: int, *, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)
        self._mean_iops = np.exp(self._random.normal(4.0, 1.2, workloads))
        self._mean_iops[self._random.random(workloads) < 0.25] = 0.0
        self._read_part = self._random.uniform(0.2, 0.9, workloads)
        self._size = np.exp(self._random.normal(9.6, 0.8, workloads))
        self._phase = self._random.uniform(0, 2 * np.pi, workloads)
        self._level = np.zeros(workloads)

    def hour(self, begin_s: int) -> dict[str, Integers]:
        """By table what each counter grew by: (steps, workloads, counters)."""
        steps = 3600 // STEP_S
        parts = [self._step(begin_s + STEP_S * step) for step in range(steps)]
        return {name: np.stack([part[name] for part in parts]) for name in parts[0]}

    def _step(self, at_s: int) -> dict[str, Integers]:
        shape = self._level.shape
        self._level = 0.95 * self._level + self._random.normal(0, 0.3, shape)
        day = 1 + 0.5 * np.sin(2 * np.pi * at_s / 86_400 + self._phase)
        burst = np.where(self._random.random(shape) < 0.01, 8.0, 1.0)
        mean = self._mean_iops * np.exp(self._level - 0.4) * day * burst * STEP_S
        reads = self._random.poisson(mean * self._read_part)
        writes = self._random.poisson(mean * (1 - self._read_part))
        blocks = np.maximum(1, self._size * self._random.lognormal(0, 0.2, shape) // 512)
        some_us = np.minimum(1e7, (reads + writes) * self._random.lognormal(6, 0.5, shape))
        sent = (writes * blocks * 512 * self._random.lognormal(0, 0.2, shape)).astype(np.int64)
        received = (reads * 700 * self._random.lognormal(0, 0.2, shape)).astype(np.int64)
        nothing = np.zeros(shape, dtype=np.int64)
        return {
            "ingest_cgroup_sample": _columns(
                reads, writes, reads * blocks * 512, writes * blocks * 512
            ),
            "ingest_cgroup_pressure_sample": _columns(
                some_us, some_us * self._random.uniform(0.3, 0.9, shape)
            ),
            "ingest_net_sample": _columns(
                sent, received, sent // 1400, received // 1400, *[nothing] * 4
            ),
        }


def _columns(*values: npt.NDArray[np.number]) -> Integers:
    return np.stack([value.astype(np.int64) for value in values], axis=1)


def make_fleet(workloads: int) -> MadeFleet:
    """Rows of an organisation with as many datastores and hosts as the workloads need."""
    from accounts.models import Organisation
    from advisor.models import Allocation, Attachment, Resource, Workload
    from ingest.core.catalogue import BLOCK_DEVICE, CGROUP, CGROUP_PRESSURE, NET
    from ingest.models import Host

    organisation = Organisation.objects.create(slug="bench", name="Bench")
    hosts = [
        Host.objects.create(organisation=organisation, name=f"h{number}")
        for number in range(-(-workloads // PER_HOST))
    ]
    resources = [
        Resource.objects.create(
            organisation=organisation, name=f"ds-{number}", kind="datastore", unit="iops",
            mode="floor", threshold=30.0, activity_floor=10.0,
        )
        for number in range(-(-workloads // PER_RESOURCE))
    ]  # fmt: skip
    series: dict[str, list[int]] = {m.table: [] for m in (CGROUP, CGROUP_PRESSURE, NET)}
    numbers = []
    for number in range(workloads):
        host, resource = hosts[number // PER_HOST], resources[number // PER_RESOURCE]
        disk = f"sd{number // PER_RESOURCE}"
        major = 8 + number // PER_RESOURCE
        if number % PER_HOST == 0:
            Attachment.objects.create(resource=resource, host=host, device=disk)
            pk = _series(host, BLOCK_DEVICE, disk, {"name": disk})
            numbers.append((pk, major))
        path = f"/machine.slice/vm{number}.scope"
        Allocation.objects.create(
            resource=resource, host=host, adapter_kind="cgroup", adapter=path,
            workload=Workload.objects.create(organisation=organisation, name=f"vm-{number}"),
        )  # fmt: skip
        device = {"path": path, "device": f"{major}:0"}
        series[CGROUP.table].append(_series(host, CGROUP, path, device))
        series[CGROUP_PRESSURE.table].append(_series(host, CGROUP_PRESSURE, path, {"path": path}))
        nic = f"vnet{number}"
        series[NET.table].append(_series(host, NET, nic, {"interface": nic}))
    fleet = MadeFleet(organisation=organisation, resources=resources, series=series)
    _tell_numbers(numbers)
    return fleet


def fill(fleet: MadeFleet, *, since: datetime, hours: int) -> None:
    """Write samples every 10 s from `since` on, and put their hours on the list to be sealed."""
    from django.db import connection

    from ingest.models import Host, OpenHour, Series
    from ingest.partitions import ensure_partitions

    until = since + timedelta(hours=hours)
    ensure_partitions({since.date(), until.date()})
    load = Load(len(next(iter(fleet.series.values()))))
    totals: dict[str, Integers] = {}
    for hour in range(hours):
        begin_s = int(since.timestamp()) + 3600 * hour
        for table, grown in load.hour(begin_s).items():
            before = totals.get(table, np.full(grown.shape[1:], 10**9, dtype=np.int64))
            counters = before + np.cumsum(grown, axis=0)
            totals[table] = counters[-1]
            times_s = begin_s + STEP_S * np.arange(1, len(grown) + 1)
            with connection.cursor() as cursor, cursor.copy(_copy(table, grown.shape[2])) as copy:
                for block in _encoded(times_s, np.array(fleet.series[table]), counters):
                    copy.write(block)
    Series.objects.update(first_sample_at=since, last_sample_at=until)
    OpenHour.objects.bulk_create(
        OpenHour(host=host, at=since + timedelta(hours=hour))
        for host in Host.objects.all()
        for hour in range(hours)
    )


def _series(host: object, measurement: Measurement, subject: str, tags: dict[str, str]) -> int:
    from ingest.models import Host, Series

    assert isinstance(host, Host)
    row = Series.objects.create(
        organisation=host.organisation, host=host, measurement=measurement.name,
        subject=subject, tags=tags, tags_key=f"{host.name}/{subject}/{tags}",
    )  # fmt: skip
    return int(row.pk)


def _tell_numbers(numbers: Sequence[tuple[int, int]]) -> None:
    """The number of each disk, by which cgroups know it."""
    from django.db import connection
    from django.utils import timezone

    from ingest.models import Series
    from ingest.partitions import ensure_partitions

    now = timezone.now()
    ensure_partitions([now.date()])
    Series.objects.filter(pk__in=[pk for pk, _ in numbers]).update(last_sample_at=now)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO ingest_block_device_sample VALUES (%s, %s, %s, 0)",
            [(pk, now, major) for pk, major in numbers],
        )


def _copy(table: str, counters: int) -> str:
    from ingest.core.catalogue import MEASUREMENTS

    (measurement,) = (one for one in MEASUREMENTS if one.table == table)
    names = ", ".join(field.name for field in measurement.fields[:counters])
    return f"COPY {table} (series_id, time, {names}) FROM STDIN (FORMAT binary)"


def _encoded(times_s: Integers, series: Integers, counters: Integers) -> Iterator[bytes]:
    """Rows in order of time as COPY reads them: each value with its length before it."""
    steps, workloads, width = counters.shape
    row = np.dtype(
        [("count", ">i2")]
        + [part for n in range(width + 2) for part in ((f"l{n}", ">i4"), (f"v{n}", ">i8"))]
    )
    rows = np.zeros((steps, workloads), dtype=row)
    rows["count"] = width + 2
    for place in range(width + 2):
        rows[f"l{place}"] = 8
    rows["v0"] = series
    rows["v1"] = ((times_s - _POSTGRES_EPOCH_S) * 1_000_000)[:, None]
    for counter in range(width):
        rows[f"v{counter + 2}"] = counters[:, :, counter]
    yield b"PGCOPY\n\xff\r\n\0" + bytes(8)
    yield rows.tobytes()
    yield b"\xff\xff"
