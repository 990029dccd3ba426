"""Two collectors of one host: one counts, it is said which, and nothing is added."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from ingest.core.figures import DISK
from ingest.core.grid import grid_of
from ingest.grid_reader import Subject, read_growth
from ingest.models import RejectedLine, Series
from ingest.sent_twice import Sender, SentTwice, sent_twice
from tests.ingest.scenario import Tenant, disk_line, make_tenant, nanoseconds, now, write_lines

pytestmark = pytest.mark.django_db


def ten_seconds(count: int) -> list[datetime]:
    """Times of so many samples at the edges of windows, the last of them just now."""
    at = now()
    last = at - timedelta(seconds=at.second % 10)
    return [last - timedelta(seconds=10 * back) for back in reversed(range(count))]


def of_host(tenant: Tenant) -> list[SentTwice]:
    return sent_twice([tenant.host()]).get(tenant.host().pk, [])


def test_device_of_two_collectors_counts_once_and_says_by_which(tenant: Tenant) -> None:
    times = ten_seconds(7)
    for place, at in enumerate(times):
        line = disk_line(at, count=place * 100)
        write_lines(tenant, line, line.replace("name=sda", "name=sda,dc=fra"))

    assert of_host(tenant) == [
        SentTwice(
            measurement="diskio",
            subject="sda",
            device="",
            counted=Sender(source="diskio", tags={}),
            others=(Sender(source="diskio", tags={"dc": "fra"}),),
        )
    ]
    assert str(of_host(tenant)[0].others[0]) == "diskio (dc=fra)"
    subject = Subject(host=tenant.host().pk, name="sda")
    reads = read_growth(DISK, [subject], grid_of(times[0], times[-1], 10.0)).growth[0]
    # 100 in each window, and not 200.
    assert reads[:, 0].tolist() == [100] * 6


def test_tags_that_changed_are_no_second_collector(tenant: Tenant) -> None:
    first, *_, before, last = ten_seconds(7)
    for at in (first, before):
        write_lines(tenant, disk_line(at))

    write_lines(tenant, disk_line(last).replace("name=sda", "name=sda,dc=fra"))

    assert of_host(tenant) == []


def test_collector_that_stopped_is_no_second_one(tenant: Tenant) -> None:
    at = now()
    line = disk_line(at - timedelta(minutes=10))
    write_lines(tenant, line, line.replace("name=sda", "name=sda,dc=fra"))

    write_lines(tenant, disk_line(at))

    assert of_host(tenant) == []


def test_cgroup_on_two_devices_is_sent_once_on_each(tenant: Tenant) -> None:
    for at in ten_seconds(2):
        fields = "io.stat.8:0.rios=1i,io.stat.8:16.rios=1i"
        write_lines(tenant, f"cgroup,host=h1,path=/a {fields} {nanoseconds(at)}")

    assert of_host(tenant) == []


def test_other_tenants_host_of_the_same_name_is_none_of_it(tenant: Tenant) -> None:
    other = make_tenant("southgate")
    for at in ten_seconds(2):
        write_lines(tenant, disk_line(at))
        write_lines(other, disk_line(at).replace("name=sda", "name=sda,dc=fra"))

    assert of_host(tenant) == [] == of_host(other)


def test_rates_and_totals_with_the_same_tags_are_two_series(tenant: Tenant) -> None:
    for at in ten_seconds(2):
        rate = f"iostat,device=sda,host=h1 reads_per_s=2.5,writes_per_s=1 {nanoseconds(at)}"
        write_lines(tenant, rate, disk_line(at, count=7))

    found = Series.objects.filter(measurement="diskio").values_list("source", "form")
    assert sorted(found) == [("diskio", "counter"), ("iostat", "rate")]
    assert {one.subject for one in of_host(tenant)} == {"sda"}
    assert not RejectedLine.objects.exists()
