"""A disk that nobody uses costs nearly nothing, and its windows are judged all the same."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.history.inventory import kept_inventory
from advisor.history.levels import read_points
from advisor.history.whole_windows import with_new_windows
from advisor.models import Incident, LevelRecords, Resource, ResourceStatus, StateRun
from advisor.pipeline.groups import judge_together
from advisor.pipeline.idle_disks import leave_idle
from ingest.models import Host
from tests.advisor.judged_windows import EVER
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

pytestmark = pytest.mark.django_db

STEP = timedelta(seconds=10)
START = NOW - timedelta(minutes=30)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


@pytest.fixture
def disk(cluster: Cluster) -> Resource:
    return stated_datastore(cluster.organisation, "sda", "h1")


def counters(cluster: Cluster, what: str, *, first: int = 0) -> None:
    """A letter for each window: `.` without I/O, `x` slow, `!` with I/O in flight that hangs."""
    reads = wait_ms = 0
    lines = []
    for step in range(len(what) + 1):
        letter = what[step - 1] if step else "."
        if letter == "x":
            reads += 1000
            wait_ms += 1000 * 90
        hangs = letter == "!" or what[step : step + 1] == "!"
        at = START + (first + step) * STEP
        lines.append(
            f"diskio,host=h1,name=sda reads={reads}i,writes=0i,read_bytes={reads * 4096}i,"
            f"write_bytes=0i,read_time={wait_ms}i,write_time=0i,io_time={wait_ms // 90}i,"
            f"weighted_io_time={wait_ms}i,iops_in_progress={int(hangs)}i "
            f"{int(at.timestamp()) * 10**9}"
        )
    send(cluster.organisation, "\n".join(lines), now=NOW)


def heard(number: int) -> datetime:
    """A moment at which samples have come up to so many windows after the start."""
    at = START + number * STEP
    Host.objects.update(last_sample_at=at)
    return at + timedelta(seconds=1)


def look(disk: Resource, number: int) -> ResourceStatus:
    """Judge until so many windows after the start are over."""
    judge_together([disk], now=heard(number))
    return ResourceStatus.objects.get(resource=disk)


def left(disks: list[Resource], now: datetime) -> set[int]:
    found = leave_idle(with_new_windows(disks, now=now), kept_inventory(disks), now=now)
    return {one.resource.pk for one in found}


def told(disk: Resource) -> tuple[object, ...]:
    status = ResourceStatus.objects.get(resource=disk)
    found = (status.state, status.state_since, status.value, status.reason, status.judged_until)
    incidents = list(Incident.objects.values_list("started_at", "ended_at", "windows"))
    return (*found, incidents, read_points(disk, since=EVER))


@pytest.mark.parametrize(
    "what",
    ["." * 40, "xxxx" + "." * 20 + "xxxxxx" + "." * 10, "." * 20 + "!!!!" + "." * 16],
    ids=["idle", "busy in between", "hung in between"],
)
def test_disk_looked_at_each_window_is_judged_as_one_looked_at_once(
    cluster: Cluster, disk: Resource, what: str
) -> None:
    counters(cluster, what)
    look(disk, len(what))
    once = told(disk)
    for model in (ResourceStatus, StateRun, LevelRecords, Incident):
        model.objects.all().delete()

    for number in range(5, len(what) + 1):
        look(disk, number)

    assert told(disk) == once


def test_window_of_an_idle_disk_writes_its_end_only(cluster: Cluster, disk: Resource) -> None:
    counters(cluster, "." * 40)
    look(disk, 20)

    now = heard(21)
    with CaptureQueriesContext(connection) as asked:
        judge_together([disk], now=now)

    changes = [one["sql"] for one in asked if one["sql"].lstrip().startswith(("INSERT", "UPDATE"))]
    assert len(changes) == 1
    assert "SET judged_until" in changes[0]


def test_disk_with_allocations_is_judged_as_ever(cluster: Cluster, disk: Resource) -> None:
    cgroup_allocation(disk, "db")
    counters(cluster, "." * 40)
    look(disk, 20)

    assert left([disk], heard(21)) == set()


def test_disk_of_which_a_device_is_not_measured_is_judged_as_ever(cluster: Cluster) -> None:
    shared = stated_datastore(cluster.organisation, "sda", "h1", "h2")
    counters(cluster, "." * 40)
    look(shared, 20)

    assert left([shared], heard(21)) == set()


def test_idle_disk_is_judged_once_an_hour(cluster: Cluster, disk: Resource) -> None:
    # The half hour before noon, in which an hour ends with its last window.
    counters(cluster, "." * 200)
    last = (NOW - START) // STEP
    look(disk, last - 10)

    assert left([disk], heard(last)) == {disk.pk}
    assert left([disk], heard(last + 1)) == set()


def test_new_threshold_of_an_idle_disk_holds_from_the_next_window(
    cluster: Cluster, disk: Resource
) -> None:
    counters(cluster, "." * 40)
    look(disk, 20)
    disk.threshold = 12.0
    disk.save()

    assert look(disk, 21).threshold == 12.0
