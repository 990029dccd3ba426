"""A workload's day tells minutes at its own limit from minutes in which a promise was broken."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.decisions import inventory
from advisor.models import Allocation, ComplianceRecord, ResourceKind
from advisor.queries.workload_day import AllocationDay, allocation_days
from enforcers.contract import IoCount
from tests.advisor.agent_reports import tell_bursts, tell_disk_bursts
from tests.advisor.disk_samples import CgroupPhase, cgroup_lines
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation

pytestmark = pytest.mark.django_db

TWENTY_MINUTES = 120
"""Intervals of ten seconds."""


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def allocated(cluster: Cluster, *, reservation: float, limit: float | None) -> Allocation:
    """An allocation on a datastore of its own that can promise it."""
    store = inventory.add_resource(
        organisation=cluster.organisation,
        name="ds",
        kind=ResourceKind.DATASTORE,
        attachments=[("h1", "sda")],
        capacity=1000.0,
    )
    return cgroup_allocation(store, "db", reservation=reservation, limit=limit)


def day_of(allocation: Allocation) -> AllocationDay:
    (day,) = allocation_days(allocation.workload, now=NOW)
    return day


def test_minutes_are_told_by_what_held_the_rate_back(cluster: Cluster) -> None:
    allocation = allocated(cluster, reservation=80.0, limit=100.0)
    phases = [
        CgroupPhase(intervals=TWENTY_MINUTES, iops=100, waits=0.9),
        CgroupPhase(intervals=TWENTY_MINUTES, iops=50, waits=0.9),
        CgroupPhase(intervals=TWENTY_MINUTES, iops=50, waits=0.0),
    ]
    lines = cgroup_lines("h1", "/db", phases, start=NOW - timedelta(hours=1))
    send(cluster.organisation, lines, now=NOW)

    day = day_of(allocation)

    # At its limit, then below its reservation while it waited, then idle by its own will.
    assert day.measured_min == pytest.approx(60, abs=1)
    assert day.throttled_min == pytest.approx(20, abs=1)
    assert day.unmet_min == pytest.approx(20, abs=1)
    assert day.met_ratio == pytest.approx(2 / 3, abs=0.03)
    # a third of the hour each at 100, 50 and 50
    assert day.mean == pytest.approx(66.7, rel=0.03)


def test_day_without_samples_has_no_minutes_and_no_ratio(cluster: Cluster) -> None:
    day = day_of(allocated(cluster, reservation=80.0, limit=100.0))

    assert (day.unmet_min, day.throttled_min, day.mean) == (None, None, None)
    assert day.met_ratio is None


def test_nothing_reserved_is_never_unmet(cluster: Cluster) -> None:
    allocation = allocated(cluster, reservation=0.0, limit=None)
    phases = [CgroupPhase(intervals=TWENTY_MINUTES, iops=50, waits=0.9)]
    lines = cgroup_lines("h1", "/db", phases, start=NOW - timedelta(minutes=20))
    send(cluster.organisation, lines, now=NOW)

    day = day_of(allocation)

    assert (day.unmet_min, day.throttled_min, day.met_ratio) == (0, 0, None)


def limited(cluster: Cluster) -> Allocation:
    """An allocation of an uplink that hits its limit in bursts."""
    allocation = cluster.allocations[0]
    Allocation.objects.filter(pk=allocation.pk).update(limit=10e6, reservation=0.0)
    tell_bursts(allocation, now=NOW)
    return allocation


def test_own_limit_that_is_hit_between_two_averages_is_told(cluster: Cluster) -> None:
    allocation = limited(cluster)

    burst = day_of(allocation).burst

    assert burst is not None
    assert burst.ratio == pytest.approx(1 / 6)
    # 100 kB at 10 Mbit/s
    assert burst.wait_s == pytest.approx(0.08)
    assert burst.looks == 120


@pytest.mark.parametrize("change", [{"overlimits": 0}, {"overlimits": None}])
def test_queue_that_no_limit_made_is_not_told(
    cluster: Cluster, change: dict[str, int | None]
) -> None:
    allocation = limited(cluster)
    ComplianceRecord.objects.update(**change)

    assert day_of(allocation).burst is None


def limited_disk(cluster: Cluster) -> Allocation:
    """An allocation of a datastore whose agent looks at it for 100 ms at a time."""
    allocation = allocated(cluster, reservation=0.0, limit=1000.0)
    tell_disk_bursts(allocation, now=NOW)
    return allocation


def test_limit_of_a_disk_that_is_used_up_between_two_averages_is_told(cluster: Cluster) -> None:
    burst = day_of(limited_disk(cluster)).burst

    assert burst is not None
    # 90 reports with three looks, of which 18 have a full one.
    assert burst.looks == 270
    assert burst.ratio == pytest.approx(18 / 270)
    assert "by 270 looks of 100 ms), while its mean is 200 IOPS of 1000 IOPS" in burst.text


@pytest.mark.parametrize(
    "change",
    [{"full_looks": 0}, {"short_looks": None}, {"measured": 700.0}],
    ids=["never full", "no looks", "averages show it"],
)
def test_disk_without_hidden_bursts_is_not_told(
    cluster: Cluster, change: dict[str, float | None]
) -> None:
    allocation = limited_disk(cluster)
    ComplianceRecord.objects.update(**change)

    assert day_of(allocation).burst is None


def test_limit_that_counts_otherwise_than_its_rate_is_not_told(cluster: Cluster) -> None:
    allocation = limited_disk(cluster)
    Allocation.objects.filter(pk=allocation.pk).update(io_count=IoCount.PER_32_KIB)

    assert day_of(allocation).burst is None
