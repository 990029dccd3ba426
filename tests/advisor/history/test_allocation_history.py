"""Histories are kept for minutes under a key that says what was asked."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.core.cache.backends.base import CacheKeyWarning, memcache_key_warnings

from advisor.decisions import inventory
from advisor.history.allocation_history import allocation_history, history_key
from advisor.history.inventory import inventory_of
from advisor.models import AdapterKind
from advisor.pipeline.detect import detect
from ingest.core.grid import grid_of
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

UNTIL = datetime(2026, 3, 2, 12, tzinfo=UTC)
GRID = grid_of(UNTIL - timedelta(days=1), UNTIL, 120.0)
ASKED = {"resource": 7, "capacity": 94e6, "policy": 3, "allocations": (1, 2, 12), "grid": GRID}


def test_key_of_a_history_is_short_however_many_allocations_are_asked_for() -> None:
    key = history_key(**ASKED | {"allocations": range(1_000_000_000, 1_000_002_000)})

    assert list(memcache_key_warnings(key)) == []
    assert len(key) <= 100


@pytest.mark.parametrize(
    "other",
    [
        {"resource": 8},
        {"capacity": None},
        {"capacity": 94e6 + 1},
        {"policy": None},
        {"policy": 4},
        {"allocations": (1, 2)},
        {"allocations": (11, 2, 2)},
        {"allocations": (2, 1, 12)},
        {"grid": grid_of(GRID.since, UNTIL, 60.0)},
        {"grid": grid_of(GRID.since - timedelta(days=1), UNTIL, 120.0)},
        {"grid": grid_of(GRID.since, UNTIL + timedelta(minutes=2), 120.0)},
    ],
    ids=lambda other: repr(other)[:40],
)
def test_key_of_a_history_differs_when_anything_asked_differs(other: dict[str, object]) -> None:
    assert history_key(**ASKED) == history_key(**ASKED)
    assert history_key(**ASKED | other) != history_key(**ASKED)


@pytest.mark.django_db
def test_history_of_many_allocations_is_kept_without_a_warning() -> None:
    cluster = make_cluster()
    for number in range(200):
        inventory.set_allocation(
            resource=cluster.uplink,
            workload_name=f"w{number}",
            host_name="h1",
            adapter_kind=AdapterKind.VNIC,
            adapter=f"tap{number}",
        )
    allocations = list(cluster.uplink.allocations.all())

    with warnings.catch_warnings():
        warnings.simplefilter("error", CacheKeyWarning)
        history = allocation_history(
            lambda: inventory_of([cluster.uplink], allocations),
            resource=cluster.uplink,
            allocations=allocations,
            policy=None,
            length=timedelta(hours=1),
            until=NOW,
        )

    assert len(history.measured) == len(allocations)


@pytest.mark.django_db
@pytest.mark.parametrize("io_bytes", [8_000, 256_000])
def test_latency_of_the_past_is_that_of_the_ios_as_they_were(io_bytes: int) -> None:
    organisation = make_cluster().organisation
    lun = stated_datastore(organisation, "lun", "h1")
    allocation = cgroup_allocation(lun, "video")
    start = NOW - timedelta(minutes=30)
    disk = DiskPhase(intervals=180, iops=100, latency_ms=40.0, io_bytes=io_bytes)
    cgroup = CgroupPhase(intervals=180, iops=100, waits=0.5, io_bytes=io_bytes)
    send(organisation, disk_lines("h1", "lun", [disk], start=start), now=NOW)
    send(organisation, cgroup_lines("h1", "/video", [cgroup], start=start), now=NOW)
    detect(resource=lun, now=NOW)

    history = allocation_history(
        lambda: inventory_of([lun], [allocation]),
        resource=lun,
        allocations=[allocation],
        policy=None,
        length=timedelta(hours=1),
        until=NOW,
    )

    latency_ms = history.past.latency_ms
    assert latency_ms is not None
    known = latency_ms[~np.isnan(latency_ms)]
    assert len(known)
    assert known == pytest.approx(40.0, rel=0.01)
