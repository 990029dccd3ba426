"""Whose an adapter was when, and what is read of allocations that vanished."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from advisor.history.own_times import Mounted, OwnTime, mounted, own_times
from advisor.history.reader import read_history
from advisor.models import AdapterKind, Allocation, Workload
from advisor.queries.chart_set import chart_set
from ingest.core.grid import grid_of, microseconds
from tests.advisor.deliveries import START, STEP, Lun, in_one_go

MINUTE = timedelta(minutes=1)
FOREVER_US = 2**63 - 1


def allocation(*, gone: int | None, adapter: str = "/101.scope", vdisk: str = "") -> Allocation:
    """On a host; it vanished after so many minutes."""
    kind = AdapterKind.VDISK if adapter.startswith("qemu") else AdapterKind.CGROUP
    return Allocation(
        resource_id=1, host_id=1, adapter_kind=kind, adapter=adapter, vdisk=vdisk,
        vanished_at=None if gone is None else START + gone * MINUTE,
    )  # fmt: skip


def after(minutes: int) -> int:
    return microseconds(START + minutes * MINUTE)


def test_adapter_that_is_used_again_is_each_ones_in_its_time() -> None:
    rows = [allocation(gone=None), allocation(gone=7), allocation(gone=3)]

    assert sorted(own_times(rows)) == [
        OwnTime(place=0, since_us=after(7), until_us=FOREVER_US),
        OwnTime(place=1, since_us=after(3), until_us=after(7)),
        OwnTime(place=2, since_us=0, until_us=after(3)),
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [allocation(gone=None)],
        [allocation(gone=None), allocation(gone=None)],
        [],
    ],
    ids=["one", "two of one adapter", "none"],
)
def test_what_nobody_left_has_no_bounds(rows: list[Allocation]) -> None:
    assert own_times(rows) == []


def test_virtual_disks_of_one_machine_are_not_one_adapter() -> None:
    rows = [
        allocation(gone=None, adapter="qemu/101", vdisk="scsi0"),
        allocation(gone=3, adapter="qemu/101", vdisk="scsi1"),
    ]

    assert own_times(rows) == [OwnTime(place=1, since_us=0, until_us=after(3))]


def test_mount_counts_the_workloads_that_are_found_on_it() -> None:
    mount, disk, stated = allocation(gone=None), allocation(gone=3), allocation(gone=None)
    mount.adapter_kind, mount.found, disk.found = AdapterKind.MOUNT, True, True

    assert mounted([disk, mount, stated]) == [Mounted(place=1, workloads=[0])]
    assert mounted([mount, stated]) == []


@pytest.fixture
def used_again(db: None) -> Lun:
    """A datastore on which the cgroup of web is that of web9 from the tenth window on."""
    lun = Lun([5.0] * 20)
    lun.play(in_one_go(lun.steps), look_each=10_000)
    (web,) = Allocation.objects.filter(workload__name="web")
    other = Workload.objects.create(
        organisation=lun.organisation, name="web9", tier=web.workload.tier, found=True
    )
    Allocation.objects.create(
        resource=web.resource, host=web.host, workload=other, found=True,
        adapter_kind=web.adapter_kind, adapter=web.adapter,
    )  # fmt: skip
    Allocation.objects.filter(pk=web.pk).update(found=True, vanished_at=START + 10 * STEP)
    return lun


def test_adapter_that_is_used_again_counts_for_each_in_its_time(used_again: Lun) -> None:
    grid = grid_of(START, START + 20 * STEP, 10.0)

    found = read_history(used_again.resource, grid).allocations

    rates = dict(zip(found.workloads, found.rate.T, strict=True))
    # It does 100 I/Os a second all the time.
    np.testing.assert_array_equal(rates["web"], [100.0] * 10 + [np.nan] * 10)
    np.testing.assert_array_equal(rates["web9"], [np.nan] * 10 + [100.0] * 10)


def test_charts_draw_an_adapter_for_each_in_its_time(used_again: Lun) -> None:
    until = START + 20 * STEP

    found = chart_set(used_again.resource, since=START, until=until, points=1000, now=until)

    (chart,) = [one for one in found.charts if one.key == "workloads"]
    values = {one.label: one.values for one in chart.tracks}
    assert values["web"] == (100.0,) * 10 + (None,) * 10
    assert values["web9"] == (None,) * 10 + (100.0,) * 10


@pytest.mark.django_db
def test_what_vanished_before_the_time_that_is_read_is_left_out() -> None:
    lun = Lun([5.0] * 20)
    Allocation.objects.filter(workload__name="web").update(vanished_at=START + 10 * STEP)

    before, later = (
        read_history(lun.resource, grid_of(since, START + 20 * STEP, 10.0)).allocations.workloads
        for since in (START, START + 10 * STEP)
    )

    assert (before, later) == (("batch", "db", "web"), ("batch", "db"))
