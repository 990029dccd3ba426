"""Latency of a datastore that our own limit causes is never congestion; the datastore's is."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.models import Allocation, Incident, Policy, Resource, State
from advisor.pipeline.detect import detect
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

pytestmark = pytest.mark.django_db

INTERVALS = 30
START = NOW - timedelta(seconds=10 * INTERVALS)
LIMIT = 200.0


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def datastore(cluster: Cluster, *hosts: str) -> Resource:
    return stated_datastore(cluster.organisation, "lun", *hosts)


def allocation(lun: Resource, workload: str, host: str) -> Allocation:
    return cgroup_allocation(lun, workload, host=host, path=f"/{workload}.slice")


def limit(cluster: Cluster, lun: Resource, one: Allocation) -> None:
    Policy.objects.create(
        organisation=cluster.organisation,
        resource=lun,
        version=1,
        allocations=[{"allocation": one.pk, "limit": LIMIT}],
        created_at=START - timedelta(hours=1),
        created_by=cluster.people.owner,
    )


def read(cluster: Cluster, host: str, *, iops: float, latency_ms: float) -> None:
    phase = DiskPhase(intervals=INTERVALS, iops=iops, latency_ms=latency_ms)
    send(cluster.organisation, disk_lines(host, "lun", [phase], start=START), now=NOW)


def work(cluster: Cluster, one: Allocation, *, iops: float, waits: float) -> None:
    phase = CgroupPhase(intervals=INTERVALS, iops=iops, waits=waits)
    lines = cgroup_lines(one.host.name, one.adapter, [phase], start=START)
    send(cluster.organisation, lines, now=NOW)


@pytest.mark.parametrize(
    ("iops", "neighbour_waits", "expected"),
    [(200, 0.0, State.CLEAR), (200, 0.9, State.CONGESTED), (150, 0.0, State.CONGESTED),
     (900, 0.0, State.CONGESTED)],
    ids=["held back alone", "an unlimited neighbour waits too", "below its limit",
         "the limit does not hold"],
)  # fmt: skip
def test_latency_of_a_host_whose_limited_workload_alone_waits_is_the_limits(
    cluster: Cluster, iops: float, neighbour_waits: float, expected: State
) -> None:
    lun = datastore(cluster, "h1")
    batch, web = allocation(lun, "batch", "h1"), allocation(lun, "web", "h1")
    limit(cluster, lun, batch)
    work(cluster, batch, iops=iops, waits=0.9)
    work(cluster, web, iops=100, waits=neighbour_waits)
    read(cluster, "h1", iops=iops + 100, latency_ms=120.0)

    status = detect(resource=lun, now=NOW)

    assert status.state == expected
    assert Incident.objects.filter(resource=lun).exists() is (expected == State.CONGESTED)
    if expected == State.CLEAR:
        assert status.reason == "latency was caused by our own limit"


@pytest.mark.parametrize(("latency_ms", "expected"), [(5.0, State.CLEAR), (60.0, State.CONGESTED)])
def test_another_host_still_says_what_the_datastore_does(
    cluster: Cluster, latency_ms: float, expected: State
) -> None:
    lun = datastore(cluster, "h1", "h2")
    batch, web = allocation(lun, "batch", "h1"), allocation(lun, "web", "h2")
    limit(cluster, lun, batch)
    work(cluster, batch, iops=LIMIT, waits=0.9)
    work(cluster, web, iops=1000, waits=0.3)
    read(cluster, "h1", iops=LIMIT, latency_ms=500.0)
    read(cluster, "h2", iops=1000, latency_ms=latency_ms)

    status = detect(resource=lun, now=NOW)

    assert status.state == expected
    # 8000 bytes are the reference size, and h1 is left out: the value is what h2 saw.
    assert status.value == pytest.approx(latency_ms)
