"""Stored samples become figures on a grid."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection

from ingest.core.figures import CGROUP_IO, DISK, INTERFACE, PRESSURE, TCP, FigureKind
from ingest.core.grid import Floats, grid_of
from ingest.grid_reader import Subject, read_growth
from ingest.models import Series
from ingest.partitions import ensure_partitions
from tests.ingest.scenario import Tenant, disk_line, nanoseconds, now, write_lines

SECOND = timedelta(seconds=1)


@pytest.fixture
def end() -> datetime:
    """The end of what is asked for: a whole hour that is over."""
    return now().replace(minute=0, second=0) - timedelta(hours=1)


def read(
    kind: FigureKind[Any],
    subject: Subject,
    *,
    until: datetime,
    length: timedelta,
    window_s: float = 10,
) -> Any:
    grid = grid_of(until - length, until, window_s)
    return kind.figures(read_growth(kind, [subject], grid))


def sda(tenant: Tenant) -> Subject:
    return Subject(host=tenant.host().pk, name="sda")


def ages(seconds: Floats) -> list[int]:
    """How many windows before the last one each known window is."""
    return [len(seconds) - 1 - place for place in np.flatnonzero(seconds[:, 0]).tolist()]


def known(column: Floats) -> list[float]:
    values: list[float] = column[~np.isnan(column)].tolist()
    return values


def test_rates_begin_with_the_reading_before_the_range(tenant: Tenant, end: datetime) -> None:
    write_lines(tenant, *(disk_line(end - 10 * i * SECOND, count=1000 - 50 * i) for i in range(7)))

    found = read(DISK, sda(tenant), until=end - 10 * SECOND, length=20 * SECOND)

    assert found.seconds[:, 0].tolist() == [10, 10]
    assert found.read_iops[:, 0].tolist() == [5, 5]


def test_gap_is_a_gap(tenant: Tenant, end: datetime) -> None:
    seconds = [0, 10, 20, 30, 130, 140]
    write_lines(tenant, *(disk_line(end - (140 - s) * SECOND, count=s) for s in seconds))

    found = read(DISK, sda(tenant), until=end, length=200 * SECOND)

    # They end 130 s, 120 s, 110 s and 0 s before the end.
    assert ages(found.seconds) == [13, 12, 11, 0]


def test_figures_are_of_the_interface(tenant: Tenant, end: datetime) -> None:
    def line(at: datetime, interface: str, count: int) -> str:
        fields = ",".join(
            f"{name}={count}i"
            for name in (
                "bytes_sent", "bytes_recv", "packets_sent", "packets_recv",
                "drop_in", "drop_out", "err_in", "err_out",
            )
        )  # fmt: skip
        return f"net,host=h1,interface={interface} {fields},speed=-1i {nanoseconds(at)}"

    write_lines(
        tenant,
        *(line(end - 10 * i * SECOND, "eth0", 1000 - 100 * i) for i in range(3)),
        *(line(end - 10 * i * SECOND, "eth1", 7) for i in range(3)),
    )

    subject = Subject(host=tenant.host().pk, name="eth0")
    found = read(INTERFACE, subject, until=end, length=60 * SECOND)

    # 100 bytes in 10 s, and 100 packets dropped each way
    assert known(found.sent_bits_per_s) == [80, 80]
    assert known(found.drops_per_s) == [20, 20]


def test_tcp_figures_are_of_the_host(tenant: Tenant, end: datetime) -> None:
    write_lines(
        tenant,
        *(
            f"nstat,host=h1,name={name} TcpOutSegs={1000 - 100 * i}i,"
            f"TcpRetransSegs={10 - i}i,TcpInSegs=5i {nanoseconds(end - 10 * i * SECOND)}"
            for i in range(3)
            for name in ("snmp", "other")
        ),
    )

    subject = Subject(host=tenant.host().pk, name="snmp")
    found = read(TCP, subject, until=end, length=60 * SECOND)

    assert known(found.segments_per_s) == [10, 10]
    assert known(found.retransmits_per_s) == [0.1, 0.1]


def test_cgroup_figures_are_of_one_path_and_device_and_pressure_of_the_path(
    tenant: Tenant, end: datetime
) -> None:
    def line(at: datetime, path: str, count: int) -> str:
        fields = ",".join(
            f"io.stat.{device}.{name}={count * factor}i"
            for device, factor in (("8:0", 1), ("8:16", 2))
            for name in ("rios", "wios", "rbytes", "wbytes")
        )
        pressure = f"io.pressure.some.total={count * 10_000}i,io.pressure.full.total=0i"
        return f"cgroup,host=h1,path={path} {fields},{pressure} {nanoseconds(at)}"

    write_lines(
        tenant,
        *(line(end - 10 * i * SECOND, "/a", 1000 - 100 * i) for i in range(3)),
        *(line(end - 10 * i * SECOND, "/b", 5) for i in range(3)),
    )

    path = Subject(host=tenant.host().pk, name="/a")
    on_device = Subject(host=tenant.host().pk, name="/a", device="8:16")
    done = read(CGROUP_IO, on_device, until=end, length=60 * SECOND)
    waits = read(PRESSURE, path, until=end, length=60 * SECOND)

    assert known(done.read_iops) == [20, 20]
    # 1,000,000 us of pressure in 10 s
    assert known(waits.some_ratio) == [0.1, 0.1]


def test_changed_tags_do_not_break_the_history(tenant: Tenant, end: datetime) -> None:
    def line(i: int, tags: str) -> str:
        return disk_line(end - 10 * i * SECOND, count=1000 - 50 * i).replace(
            "host=h1", f"{tags}host=h1"
        )

    write_lines(tenant, *(line(i, "") for i in (6, 5, 4)), *(line(i, "rack=r2,") for i in (3, 2)))

    found = read(DISK, sda(tenant), until=end, length=90 * SECOND)

    # Nothing spans the change; on either side nothing is missing.
    assert ages(found.seconds) == [5, 4, 2]


def test_two_collectors_of_one_device_do_not_count_twice(tenant: Tenant, end: datetime) -> None:
    lines = [disk_line(end - 10 * i * SECOND, count=1000 - 50 * i) for i in range(4)]
    write_lines(tenant, *lines)
    write_lines(tenant, *(line.replace("host=h1", "agent=b,host=h1") for line in lines))

    found = read(DISK, sda(tenant), until=end, length=90 * SECOND)

    assert known(found.read_iops) == [5, 5, 5]


@pytest.fixture
def full_day(tenant: Tenant, end: datetime) -> Tenant:
    """A disk that was watched every 10 s for a day, at a rate that changes every hour."""
    start = end - timedelta(days=1)
    write_lines(tenant, disk_line(start))
    series = Series.objects.get()
    ensure_partitions([start.date(), end.date()])
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ingest_diskio_sample
            SELECT %s, %s::timestamptz + make_interval(secs => second),
                   1 + total, 1 + total, total * 4096, total * 4096,
                   total, total, second * 500, second * 700
              FROM (
                  -- 1 I/O per second in the first hour, 2 in the second, and so on
                  SELECT second,
                         sum(10 * (1 + (second - 1) / 3600)) OVER (ORDER BY second) AS total
                    FROM generate_series(10, 86400, 10) AS second
              ) AS grown
            """,
            [series.pk, start],
        )
        cursor.execute("ANALYZE ingest_diskio_sample")
    return tenant


def test_rates_of_long_windows_are_exact_means(full_day: Tenant, end: datetime) -> None:
    found = read(DISK, sda(full_day), until=end, length=timedelta(hours=23), window_s=3600)

    assert found.seconds[:, 0].tolist() == [3600] * 23
    # Hour n has n reads per second.
    assert found.read_iops[:, 0].tolist() == pytest.approx(range(2, 25))
    assert {round(value, 6) for value in found.outstanding_io[:, 0].tolist()} == {0.7}
