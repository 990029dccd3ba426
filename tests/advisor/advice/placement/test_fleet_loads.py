"""Loads of all datastores of an organisation are read at once, and once in a round."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Organisation
from advisor.advice.placement.fleet_loads import ROUND_S, fleet_loads, loads_of_round
from advisor.advice.placement.gather import placement_inputs
from advisor.models import Allocation, Incident, Resource, State
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.judged_windows import judge, judged_window
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

pytestmark = pytest.mark.django_db

START = NOW - timedelta(minutes=10)


def fleet(organisation: Organisation, count: int, *, begin: int = 0) -> list[Resource]:
    """Datastores on one device each, with a virtual disk each, all at other rates."""
    stores, lines = [], []
    for number in range(begin, count):
        name = f"lun-{number:02}"
        store = stated_datastore(organisation, name, "h1", "h2")
        store.size_bytes = 1e12
        store.save()
        stores.append(store)
        cgroup_allocation(store, f"vm-{number:02}", facts={"size_bytes": 1e9 * (1 + number)})
        iops = 50.0 * (1 + number)
        disk = [
            DiskPhase(intervals=30, iops=iops * part, latency_ms=5.0 + 10 * part, io_bytes=size)
            for part, size in ((1, 8000), (2, 64_000))
        ]
        own = [CgroupPhase(intervals=60, iops=iops, waits=0.5, io_bytes=16_000)]
        lines += [disk_lines(host, name, disk, start=START) for host in ("h1", "h2")]
        lines.append(cgroup_lines("h1", f"/vm-{number:02}", own, start=START))
        at = NOW - timedelta(seconds=10)
        judge(store, judged_window(at, State.CONGESTED, since=START, value=20.0))
    send(organisation, "\n".join(lines), now=NOW)
    return stores


def congested(store: Resource) -> Resource:
    Incident.objects.create(
        organisation=store.organisation,
        resource=store,
        started_at=START,
        peak_value=60.0,
        threshold=30.0,
    )
    return store


def allocations_of(stores: list[Resource]) -> list[Allocation]:
    rows = Allocation.objects.filter(resource__in=stores)
    return list(rows.select_related("workload", "host", "resource").order_by("pk"))


def statements(store: Resource, count: int) -> int:
    with CaptureQueriesContext(connection) as asked:
        (inputs,) = placement_inputs(store, NOW)
    assert len(inputs.datastores) == len(inputs.vdisks) == count
    return len(asked)


def test_twenty_datastores_take_as_many_statements_as_two() -> None:
    organisation = make_cluster().organisation
    store, _ = map(congested, fleet(organisation, 2))
    two = statements(store, 2)
    fleet(organisation, 20, begin=2)

    assert statements(store, 20) == two


def test_loads_of_each_are_those_it_has_when_read_alone() -> None:
    stores = fleet(make_cluster().organisation, 3)

    together = fleet_loads(stores, allocations_of(stores), now=NOW)

    for store in stores:
        own = allocations_of([store])
        alone = fleet_loads([store], own, now=NOW)
        assert together.stores[store.pk] == alone.stores[store.pk]
        assert {one.pk: together.vdisks[one.pk] for one in own} == alone.vdisks
    # 50 I/Os a second of 16 kB that take 20 ms at the size of reference: (51 + 16) / (51 + 8).
    first = together.vdisks[allocations_of(stores)[0].pk]
    assert first.iops == pytest.approx(50.0)
    assert first.outstanding_io == pytest.approx(50 * 0.020 * 67 / 59)


def reads_samples(asked: CaptureQueriesContext) -> bool:
    return any(re.search(r"ingest_\w+_sample\b", one["sql"]) for one in asked)


def test_second_congested_datastore_of_a_round_reads_no_samples() -> None:
    first, second, _ = map(congested, fleet(make_cluster().organisation, 3))

    with CaptureQueriesContext(connection) as asked_first:
        (begun,) = placement_inputs(first, NOW)
    with CaptureQueriesContext(connection) as asked:
        (after,) = placement_inputs(second, NOW + timedelta(seconds=1))

    assert reads_samples(asked_first)
    assert not reads_samples(asked)
    assert (after.datastores, after.vdisks) == (begun.datastores, begun.vdisks)


def test_what_is_stated_in_a_round_counts_at_once() -> None:
    store, *_ = map(congested, fleet(make_cluster().organisation, 2))
    placement_inputs(store, NOW)

    Resource.objects.filter(pk=store.pk).update(used_bytes=7e11)
    added = cgroup_allocation(store, "vm-00b", path="/vm-01", facts={"size_bytes": 5e9})
    (inputs,) = placement_inputs(store, NOW)

    (state,) = (one for one in inputs.datastores if one.datastore == store.name)
    assert state.used_bytes == 7e11
    assert added.workload.name in {one.workload for one in inputs.vdisks}


def test_next_round_reads_anew() -> None:
    stores = fleet(make_cluster().organisation, 2)
    allocations = allocations_of(stores)
    earlier = loads_of_round(stores, allocations, now=NOW)

    later = loads_of_round(stores, allocations, now=NOW + timedelta(seconds=ROUND_S, days=1))

    assert earlier.vdisks
    assert not later.vdisks
