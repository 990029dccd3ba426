"""What the advisor and the pages read."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import connection

from ingest import queries
from ingest.many_rates import cgroup_rates_of
from ingest.models import Series
from ingest.partitions import ensure_partitions
from tests.ingest.scenario import Tenant, disk_line, nanoseconds, now, write_lines

SECOND = timedelta(seconds=1)


@pytest.fixture
def end() -> datetime:
    """The end of what is asked for: a whole hour that is over."""
    return now().replace(minute=0, second=0) - timedelta(hours=1)


def test_disk_rates_begin_with_the_reading_before_the_range(tenant: Tenant, end: datetime) -> None:
    write_lines(tenant, *(disk_line(end - 10 * i * SECOND, count=1000 - 50 * i) for i in range(7)))

    rates = queries.disk_rates(
        host=tenant.host(), device="sda", since=end - 30 * SECOND, until=end - 10 * SECOND
    )

    assert [(r.at, r.seconds, r.read_iops) for r in rates] == [
        (end - 20 * SECOND, 10, 5),
        (end - 10 * SECOND, 10, 5),
    ]


def test_gap_is_a_gap(tenant: Tenant, end: datetime) -> None:
    seconds = [0, 10, 20, 30, 130, 140]
    write_lines(tenant, *(disk_line(end - (140 - s) * SECOND, count=s) for s in seconds))

    rates = queries.disk_rates(
        host=tenant.host(), device="sda", since=end - 200 * SECOND, until=end
    )

    assert [(end - r.at).total_seconds() for r in rates] == [130, 120, 110, 0]


def test_net_rates_are_of_the_interface(tenant: Tenant, end: datetime) -> None:
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

    rates = queries.net_rates(
        host=tenant.host(), interface="eth0", since=end - 60 * SECOND, until=end
    )

    # 100 bytes in 10 s
    assert [(r.sent_bits_per_s, r.drops_per_s) for r in rates] == [(80, 20), (80, 20)]


def test_tcp_rates_are_of_the_host(tenant: Tenant, end: datetime) -> None:
    write_lines(
        tenant,
        *(
            f"nstat,host=h1,name={name} TcpOutSegs={1000 - 100 * i}i,"
            f"TcpRetransSegs={10 - i}i,TcpInSegs=5i {nanoseconds(end - 10 * i * SECOND)}"
            for i in range(3)
            for name in ("snmp", "other")
        ),
    )

    rates = queries.tcp_rates(host=tenant.host(), since=end - 60 * SECOND, until=end)

    assert [(r.segments_per_s, r.retransmits_per_s) for r in rates] == [(10, 0.1), (10, 0.1)]


def test_cgroup_rates_are_of_one_path_and_device_with_its_pressure(
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

    key = (tenant.host().pk, "/a", "8:16")
    rates = cgroup_rates_of([key], since=end - 60 * SECOND, until=end)[key]

    # 1,000,000 us of pressure in 10 s
    assert [(r.device, r.read_iops, r.some_pressure_ratio) for r in rates] == [
        ("8:16", 20, 0.1),
        ("8:16", 20, 0.1),
    ]


def test_subjects_are_named_with_their_newest_sample(tenant: Tenant, end: datetime) -> None:
    write_lines(
        tenant,
        disk_line(end - 10 * SECOND, host="h2", name="sda"),
        disk_line(end, host="h2", name="sda"),
        disk_line(end - 20 * SECOND, host="h1", name="sdb"),
    )

    found = queries.subjects(organisation=tenant.organisation, measurement="diskio")

    assert [(s.host.name, s.subject, s.device, s.last_sample_at) for s in found] == [
        ("h1", "sdb", "", end - 20 * SECOND),
        ("h2", "sda", "", end),
    ]


def test_subjects_of_cgroups_are_paths_on_devices(tenant: Tenant, end: datetime) -> None:
    write_lines(
        tenant,
        f"cgroup,host=h1,path=/a io.stat.8:0.rios=1i,io.stat.8:16.rios=1i {nanoseconds(end)}",
    )

    found = queries.subjects(organisation=tenant.organisation, measurement="cgroup")

    assert [(s.subject, s.device) for s in found] == [("/a", "8:0"), ("/a", "8:16")]


def test_newest_sample_of_a_host_is_its_last_in_time(tenant: Tenant, end: datetime) -> None:
    write_lines(tenant, disk_line(end))
    write_lines(tenant, disk_line(end - 50 * SECOND))

    assert queries.latest_sample_at(tenant.host()) == end


def test_changed_tags_do_not_break_the_history(tenant: Tenant, end: datetime) -> None:
    def line(i: int, tags: str) -> str:
        return disk_line(end - 10 * i * SECOND, count=1000 - 50 * i).replace(
            "host=h1", f"{tags}host=h1"
        )

    write_lines(tenant, *(line(i, "") for i in (6, 5, 4)), *(line(i, "rack=r2,") for i in (3, 2)))

    rates = queries.disk_rates(
        host=tenant.host(), device="sda", since=end - 90 * SECOND, until=end
    )

    # Nothing spans the change; on either side nothing is missing.
    assert [(end - r.at).total_seconds() for r in rates] == [50, 40, 20]


def test_two_collectors_of_one_device_do_not_count_twice(tenant: Tenant, end: datetime) -> None:
    lines = [disk_line(end - 10 * i * SECOND, count=1000 - 50 * i) for i in range(4)]
    write_lines(tenant, *lines)
    write_lines(tenant, *(line.replace("host=h1", "agent=b,host=h1") for line in lines))

    rates = queries.disk_rates(
        host=tenant.host(), device="sda", since=end - 90 * SECOND, until=end
    )

    assert [r.read_iops for r in rates] == [5, 5, 5]


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


def test_thinned_out_rates_are_exact_means(full_day: Tenant, end: datetime) -> None:
    rates = queries.disk_rates(
        host=full_day.host(),
        device="sda",
        since=end - timedelta(hours=23),
        until=end,
        max_points=23,
    )

    # 23 steps of an hour, each ending with its last reading, and the reading at the very end.
    assert [r.seconds for r in rates] == [3600] * 23 + [10]
    # Hour n has n reads per second; a step begins 10 s before its hour.
    assert [r.read_iops for r in rates] == pytest.approx(
        [(3590 * hour + 10 * (hour - 1)) / 3600 for hour in range(2, 25)] + [24]
    )
    assert {round(r.outstanding_io, 6) for r in rates} == {0.7}


def test_thinned_out_rates_hold_the_number_of_points(full_day: Tenant, end: datetime) -> None:
    for max_points in (50, 300, 1000):
        rates = queries.disk_rates(
            host=full_day.host(),
            device="sda",
            since=end - timedelta(days=1),
            until=end,
            max_points=max_points,
        )

        assert max_points / 3 < len(rates) <= max_points + 1
