"""What is stored, and what happens when it comes again."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import pairwise
from threading import Barrier

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.core.catalogue import Measurement
from ingest.core.copy_encoding import encode_rows
from ingest.core.stored_values import Value
from ingest.models import (
    CgroupPressureSample,
    CgroupSample,
    DiskioSample,
    Host,
    RejectedLine,
    Series,
    SystemSample,
)
from ingest.refused import KEPT_REJECTIONS
from ingest.write import WriteResult
from tests.ingest.scenario import (
    Tenant,
    disk_line,
    make_tenant,
    nanoseconds,
    now,
    write_lines,
)


def disk_rows() -> list[tuple[str, datetime, int | None, int | None]]:
    return list(
        DiskioSample.objects.order_by("series__subject", "time").values_list(
            "series__subject", "time", "reads", "writes"
        )
    )


def test_line_is_stored_with_its_host_and_series(tenant: Tenant) -> None:
    at = now()

    result = write_lines(tenant, disk_line(at, count=7))

    assert result == WriteResult(
        accepted=1, ignored=0, rejected=0, unknown=0, changed_rows=1, rejections=[]
    )
    assert disk_rows() == [("sda", at, 7, 7)]
    series = Series.objects.get()
    assert (series.organisation, series.host.name, series.measurement) == (
        tenant.organisation,
        "h1",
        "diskio",
    )
    assert series.tags == {"host": "h1", "name": "sda"}
    assert (series.first_sample_at, series.last_sample_at) == (at, at)
    assert tenant.host().last_sample_at == at


def test_body_that_comes_again_changes_nothing(tenant: Tenant) -> None:
    lines = [disk_line(now() - timedelta(seconds=s), count=s) for s in range(50)]
    write_lines(tenant, *lines)
    before = disk_rows()

    again = write_lines(tenant, *lines)

    assert (again.accepted, again.changed_rows) == (50, 0)
    assert disk_rows() == before


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(order=st.permutations(range(6)), cuts=st.sets(st.integers(1, 11)))
def test_any_order_division_and_repetition_store_the_same(
    tenant: Tenant, order: list[int], cuts: set[int]
) -> None:
    at = now().replace(minute=0, second=0) - timedelta(hours=1)
    lines = [disk_line(at + timedelta(seconds=i), count=i) for i in order] * 2
    edges = [0, *sorted(cuts), len(lines)]

    for start, end in pairwise(edges):
        write_lines(tenant, *lines[start:end])

    assert disk_rows() == [("sda", at + timedelta(seconds=i), i, i) for i in range(6)]


def test_later_value_of_the_same_moment_wins(tenant: Tenant) -> None:
    at = now()
    write_lines(tenant, disk_line(at, count=1))

    result = write_lines(tenant, disk_line(at, count=2))

    assert result.changed_rows == 1
    assert disk_rows() == [("sda", at, 2, 2)]


def test_fields_that_come_apart_are_united(tenant: Tenant) -> None:
    at = now()
    write_lines(tenant, f"diskio,host=h1,name=sda reads=5i {nanoseconds(at)}")

    write_lines(tenant, f"diskio,host=h1,name=sda writes=6i {nanoseconds(at)}")

    assert disk_rows() == [("sda", at, 5, 6)]


def test_two_collectors_may_tell_of_one_disk_in_one_body(tenant: Tenant) -> None:
    at = now()

    write_lines(
        tenant,
        disk_line(at, count=4),
        f"node_disk_reads_completed_total,host=h1,device=sda counter=5 {nanoseconds(at)}",
    )

    assert disk_rows() == [("sda", at, 5, 4)]


def test_rates_of_a_disk_leave_its_totals_as_they_are(tenant: Tenant) -> None:
    at = now()
    write_lines(tenant, disk_line(at, count=4))

    write_lines(tenant, f"iostat,host=h1,device=sda reads_per_s=5 {nanoseconds(at)}")

    forms = dict(DiskioSample.objects.values_list("series__form", "reads"))
    assert forms == {"counter": 4, "rate": 5000}


def test_system_lines_of_one_moment_are_one_row(tenant: Tenant) -> None:
    at = now()

    result = write_lines(
        tenant,
        f"system,host=h1 load1=0.5,n_cpus=2i {nanoseconds(at)}",
        f"system,host=h1 uptime=99i {nanoseconds(at)}",
        f'system,host=h1 uptime_format="0:01" {nanoseconds(at)}',
    )

    assert (result.accepted, result.ignored, result.changed_rows) == (2, 1, 1)
    row = SystemSample.objects.get()
    assert (row.load1, row.load5, row.n_cpus, row.uptime) == (0.5, None, 2, 99)


def test_cgroup_line_is_stored_per_device(tenant: Tenant) -> None:
    at = nanoseconds(now())

    write_lines(
        tenant,
        "cgroup,host=h1,path=/vm io.stat.8:0.rios=1i,io.stat.8:16.rios=2i,"
        f"io.pressure.some.total=9i {at}",
    )

    stored = CgroupSample.objects.order_by("rios").values_list("series__tags__device", "rios")
    assert list(stored) == [("8:0", 1), ("8:16", 2)]
    assert CgroupPressureSample.objects.get().some_total == 9


def test_largest_counter_is_stored_exactly(tenant: Tenant) -> None:
    write_lines(tenant, disk_line(now(), count=2**63 - 1))

    assert DiskioSample.objects.get().read_bytes == 2**63 - 1


def test_days_without_a_partition_are_written_to(tenant: Tenant) -> None:
    times = [now() - timedelta(days=days) for days in (0, 1, 15, 29)]

    result = write_lines(tenant, *(disk_line(at, count=1) for at in times))

    assert result.changed_rows == 4
    assert [row[1] for row in disk_rows()] == sorted(times)


def test_bad_lines_are_recorded_and_the_others_kept(tenant: Tenant) -> None:
    at = now()

    result = write_lines(tenant, disk_line(at), "diskio,host=h1 rubbish", disk_line(at, name="b"))

    assert (result.accepted, result.rejected) == (2, 1)
    assert len(disk_rows()) == 2
    refused = RejectedLine.objects.get()
    assert (refused.organisation, refused.token) == (tenant.organisation, tenant.token)
    assert (refused.line_number, refused.line, refused.line_count) == (
        2,
        "diskio,host=h1 rubbish",
        1,
    )
    assert refused.reason == 'expected "=" after "rubbish", found the end of the line'


def test_flood_of_bad_lines_fills_no_disk(tenant: Tenant, stranger: Tenant) -> None:
    write_lines(stranger, "bad")
    for number in range(KEPT_REJECTIONS // 20):
        write_lines(tenant, *(f"m{number}_{i},host=h1 v=1" for i in range(40)))

    kept = RejectedLine.objects.filter(organisation=tenant.organisation)
    assert kept.count() == KEPT_REJECTIONS
    assert RejectedLine.objects.filter(organisation=stranger.organisation).count() == 1


def test_deleted_host_takes_its_samples_along_and_may_return(tenant: Tenant) -> None:
    at = now()
    write_lines(tenant, disk_line(at), disk_line(at, host="h2"))
    tenant.host("h1").delete()
    assert DiskioSample.objects.count() == 1

    write_lines(tenant, disk_line(at, count=3))

    assert DiskioSample.objects.get(series__host__name="h1").reads == 3
    assert Host.objects.count() == 2


def test_same_body_sent_twice_at_once_is_stored_once(committed: None) -> None:
    tenant = make_tenant()
    at = now()
    lines = [
        disk_line(at - timedelta(seconds=s), host=f"h{h}", name=f"sd{d}", count=s)
        for s in range(20)
        for h in range(3)
        for d in range(4)
    ]
    start = Barrier(4)

    def send(turned: bool) -> WriteResult:
        try:
            start.wait(timeout=30)
            return write_lines(tenant, *(reversed(lines) if turned else lines))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(send, [False, True, False, True]))

    assert [result.accepted for result in results] == [240] * 4
    assert sum(result.changed_rows for result in results) == 240
    assert DiskioSample.objects.count() == 240
    assert (Host.objects.count(), Series.objects.count()) == (3, 12)


def test_rows_that_the_database_did_not_read_are_noticed_and_nothing_is_stored(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault is planted: a row is lost on its way into the COPY."""

    def lose_one(
        measurement: Measurement, rows: Iterable[tuple[int, int, tuple[Value, ...]]]
    ) -> bytes:
        return encode_rows(measurement, list(rows)[1:])

    monkeypatch.setattr("ingest.write.encode_rows", lose_one)

    with pytest.raises(AssertionError, match="invariant encoded-row: 2 were sent and 1 were read"):
        write_lines(tenant, disk_line(now(), count=7), disk_line(now() - timedelta(minutes=1)))

    assert disk_rows() == []
