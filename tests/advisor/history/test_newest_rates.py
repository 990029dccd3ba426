"""What allocations got in the newest judged window is kept, and lists are sorted by it."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import numpy as np
import pytest

from accounts.models import Organisation
from advisor.history.newest_rates import newest_host_rates, newest_rates
from advisor.models import Allocation, NewestRates, Resource, Unit
from advisor.pipeline.groups import judge_together
from ingest.models import Host
from tests.advisor.samples import send
from tests.advisor.scenario import NOW
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

pytestmark = pytest.mark.django_db

STEP = timedelta(seconds=10)
START = NOW - timedelta(minutes=5)


@pytest.fixture
def acme() -> Organisation:
    return Organisation.objects.create(slug="acme", name="Acme")


@pytest.fixture
def disk(acme: Organisation) -> Resource:
    return stated_datastore(acme, "sda", "h1")


def reads(acme: Organisation, first: int, last: int, **iops: int) -> None:
    """Counters of workloads that read at these rates, at the ends of these windows."""
    lines = []
    for number in range(first, last + 1):
        at_ns = int((START + number * STEP).timestamp()) * 10**9
        total = sum(iops.values()) * number * 10
        lines.append(
            f"diskio,host=h1,name=sda reads={total}i,writes=0i,read_bytes={total * 4096}i,"
            f"write_bytes=0i,read_time={total}i,write_time=0i,io_time={total}i,"
            f"weighted_io_time={total}i,iops_in_progress=0i {at_ns}"
        )
        for name, rate in iops.items():
            count = rate * number * 10
            lines.append(
                f"cgroup,host=h1,path=/{name} io.stat.8:0.rios={count}i,io.stat.8:0.wios=0i,"
                f"io.stat.8:0.rbytes={count * 4096}i,io.stat.8:0.wbytes=0i {at_ns}"
            )
    send(acme, "\n".join(lines), now=NOW)


def judge(disk: Resource, number: int) -> None:
    """Judge the windows until the one with this number."""
    at = START + number * STEP
    Host.objects.update(last_sample_at=at)
    judge_together([disk], now=at + STEP)


def rates(acme: Organisation, *rows: Allocation, since: datetime = START) -> list[float | None]:
    found = newest_rates(acme, since=since).of(np.array([row.pk for row in rows], dtype=np.int64))
    return [None if math.isnan(rate) else rate for rate in found.tolist()]


def test_rates_are_those_of_the_newest_window(acme: Organisation, disk: Resource) -> None:
    web, db = (cgroup_allocation(disk, name, path=f"/{name}") for name in ("web", "db"))
    reads(acme, 0, 5, web=100, db=40)

    judge(disk, 5)

    assert rates(acme, db, web) == [40.0, 100.0]
    assert NewestRates.objects.get().at == START + 5 * STEP


def test_workload_that_is_not_measured_any_more_has_no_rate(
    acme: Organisation, disk: Resource
) -> None:
    web, db = (cgroup_allocation(disk, name, path=f"/{name}") for name in ("web", "db"))
    reads(acme, 0, 3, web=100, db=40)
    reads(acme, 4, 20, web=100)

    judge(disk, 3)
    before = rates(acme, web, db)
    judge(disk, 20)

    assert before == [100.0, 40.0]
    assert rates(acme, web, db) == [100.0, None]


def test_rates_of_a_resource_that_is_judged_no_more_are_not_shown(
    acme: Organisation, disk: Resource
) -> None:
    web = cgroup_allocation(disk, "web", path="/web")
    reads(acme, 0, 5, web=100)

    judge(disk, 5)

    assert rates(acme, web, since=START + 4 * STEP) == [100.0]
    assert rates(acme, web, since=START + 5 * STEP) == [None]


def test_one_organisation_does_not_see_the_rates_of_another(
    acme: Organisation, disk: Resource
) -> None:
    web = cgroup_allocation(disk, "web", path="/web")
    reads(acme, 0, 5, web=100)

    judge(disk, 5)

    other = Organisation.objects.create(slug="other", name="Other")
    assert rates(other, web) == [None]


def test_host_has_the_rates_of_all_its_disks_also_without_any_workload(acme: Organisation) -> None:
    disks = [stated_datastore(acme, "sda", "h1"), stated_datastore(acme, "sdb", "h1")]
    for number in range(6):
        at_ns = int((START + number * STEP).timestamp()) * 10**9
        lines = [
            f"diskio,host=h1,name={name} reads={iops * number * 10}i,writes=0i,read_bytes=0i,"
            f"write_bytes=0i,read_time=0i,write_time=0i,io_time=0i,weighted_io_time=0i,"
            f"iops_in_progress=0i {at_ns}"
            for name, iops in (("sda", 100), ("sdb", 30))
        ]
        send(acme, "\n".join(lines), now=NOW)

    for disk in disks:
        judge(disk, 5)

    assert newest_host_rates(acme, since=START)[Unit.IOPS] == {"h1": 130.0}
    assert newest_host_rates(acme, since=START + 5 * STEP) == {}
    other = Organisation.objects.create(slug="other", name="Other")
    assert newest_host_rates(other, since=START) == {}
