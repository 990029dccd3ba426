"""What any inventory proposes: taken over it proposes nothing more, in whatever order it came."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.resource import Unit
from advisor.decisions.vcenter.decide.proposal import (
    Present,
    PresentAllocation,
    PresentResource,
    PresentWorkload,
    Proposal,
    Stated,
)
from advisor.decisions.vcenter.decide.propose import propose
from ingest.core.vcenter.inventory import (
    Congestion,
    Controls,
    Disk,
    Guest,
    Inventory,
    Nic,
    ShareLevel,
    Store,
    ThresholdMode,
)

HOSTS = ("esx1", "esx2")
UUIDS = [f"42113c5e-8f1d-7a3b-2c4d-9e8f7a6b000{number}" for number in range(4)]


@st.composite
def controls(draw: st.DrawFn) -> Controls:
    limit = draw(st.none() | st.integers(100, 5000).map(float))
    level = draw(st.sampled_from(ShareLevel))
    return Controls(
        level=level,
        shares=draw(st.integers(1, 4000)),
        limit=limit,
        reservation=draw(st.sampled_from([0.0, 0.0, 50.0])),
    )


@st.composite
def guests(draw: st.DrawFn) -> Guest:
    number = draw(st.integers(0, 3))
    disks = tuple(
        Disk(
            key=2000 + unit,
            instance=f"scsi0:{unit}",
            label="",
            datastore=draw(st.sampled_from(["d-0", "d-1", "d-gone"])),
            size_bytes=draw(st.none() | st.just(10)),
            controls=draw(st.none() | controls()),
            is_raw=draw(st.booleans()),
            filters=(),
        )
        for unit in range(draw(st.integers(0, 2)))
    )
    return Guest(
        moid=f"vm-{number}",
        name=draw(st.sampled_from(["a", "b", "c"])),
        uuid=draw(st.none() | st.sampled_from(UUIDS)),
        host=draw(st.none() | st.sampled_from(HOSTS)),
        disks=disks,
        nics=(),
        disk_count=len(disks),
        nic_count=0,
    )


@st.composite
def stores(draw: st.DrawFn, number: int) -> Store:
    congestion = Congestion(
        enabled=draw(st.booleans()),
        mode=draw(st.sampled_from(ThresholdMode)),
        threshold_ms=draw(st.integers(5, 100)),
        percent_of_peak=draw(st.sampled_from([None, 80, 90])),
        collects_statistics=False,
        reserves=False,
    )
    name = draw(st.sampled_from(["nfs-0", "nfs-1"]))
    return Store(
        moid=f"d-{number}",
        name=name,
        called=(name,),
        hosts=draw(st.sampled_from([(), HOSTS, HOSTS[:1]])),
        size_bytes=None,
        congestion=draw(st.none() | st.just(congestion)),
    )


@st.composite
def inventories(draw: st.DrawFn) -> Inventory:
    found = draw(st.lists(guests(), max_size=4, unique_by=lambda one: one.moid))
    return Inventory(
        guests=tuple(found),
        stores=(draw(stores(0)), draw(stores(1))),
        clusters=(),
        traffic=(),
        problems=(),
    )


@st.composite
def presents(draw: st.DrawFn) -> Present:
    resources = tuple(
        PresentResource(
            pk=pk, name=f"nfs-{pk - 1}", kind="datastore", threshold=30.0, threshold_mode="fixed",
            unit=draw(st.sampled_from([Unit.IOPS, Unit.BYTES_PER_S])), size_bytes=None,
            places=frozenset((host, f"datastore/nfs-{pk - 1}") for host in HOSTS),
        )
        for pk in (1, 2)
    )  # fmt: skip
    workloads = tuple(
        PresentWorkload(
            pk=pk,
            name=draw(st.sampled_from(["a", "b", "c"])),
            keys=draw(
                st.sampled_from(
                    [(), (f"uuid:{UUIDS[pk].replace('-', '')}", f"name:x/workload//vm/vm-{pk}")]
                )
            ),
            hosts=draw(st.sampled_from([(), HOSTS[:1], HOSTS[1:]])),
        )
        for pk in (1, 2, 3)
    )
    rows = draw(
        st.lists(
            st.tuples(st.sampled_from([1, 2]), st.sampled_from([1, 2, 3]), st.sampled_from(HOSTS),
                      st.sampled_from(["", "scsi0:0", "scsi0:1"])),
            unique=True, max_size=6,
        )
    )  # fmt: skip
    allocations = tuple(
        PresentAllocation(
            pk=pk, resource=resource, workload=workload, host=host, vdisk=vdisk,
            adapter_kind="vdisk", adapter=f"vm/vm-{workload}", stated=Stated(),
            by_person=draw(st.booleans()), is_gone=draw(st.booleans()), size_bytes=None,
        )
        for pk, (resource, workload, host, vdisk) in enumerate(rows, start=1)
    )  # fmt: skip
    return Present(resources=resources, workloads=workloads, allocations=allocations)


def taken(present: Present, proposal: Proposal) -> Present:
    """What is there once the proposal was taken over."""
    rows = {one.pk: one for one in present.allocations}
    names = {one.name: one.pk for one in present.workloads}
    for change in proposal.allocations:
        if change.allocation is None:
            pk = max(rows, default=0) + 1
            rows[pk] = PresentAllocation(
                pk=pk, resource=change.resource_key, workload=names[change.workload],
                host=change.host, vdisk=change.vdisk, adapter_kind="vdisk",
                adapter=change.adapter, stated=change.after, by_person=True, is_gone=False,
                size_bytes=None,
            )  # fmt: skip
        else:
            rows[change.allocation] = replace(
                rows[change.allocation], stated=change.after, host=change.host, by_person=True
            )
    thresholds = {one.resource: one for one in proposal.thresholds}
    resources = tuple(
        replace(
            one,
            threshold=thresholds[one.pk].after or one.threshold,
            threshold_mode=thresholds[one.pk].after_mode,
        )
        if one.pk in thresholds
        else one
        for one in present.resources
    )
    return replace(present, allocations=tuple(rows.values()), resources=resources)


def unique_names(present: Present) -> Present:
    """As in the database, where two workloads of an organisation have two names."""
    workloads = {one.name: one for one in present.workloads}.values()
    known = {one.pk for one in workloads}
    rows = tuple(one for one in present.allocations if one.workload in known)
    return replace(present, workloads=tuple(workloads), allocations=rows)


@given(inventories(), presents().map(unique_names))
def test_what_was_taken_is_not_proposed_again(inventory: Inventory, present: Present) -> None:
    proposal = propose(inventory, present)

    again = propose(inventory, taken(present, proposal))

    assert (again.allocations, again.thresholds) == ((), ())


@given(inventories(), presents().map(unique_names))
def test_each_disk_is_proposed_same_default_or_left_out(
    inventory: Inventory, present: Present
) -> None:
    stores = tuple(replace(one, congestion=None) for one in inventory.stores)

    found = propose(replace(inventory, stores=stores), present)

    told = [
        disk
        for guest in inventory.guests
        for disk in guest.disks
        if disk.controls is not None and not (disk.is_raw and disk.controls.is_default)
    ]
    counted = len(found.allocations) + len(found.left_out) + found.same + found.defaults
    assert counted == len(told)


@given(inventories(), presents().map(unique_names))
def test_no_allocation_is_proposed_twice(inventory: Inventory, present: Present) -> None:
    proposal = propose(inventory, present)

    known = [one.allocation for one in proposal.allocations if one.allocation]
    assert len(known) == len(set(known))
    assert set(known) <= {one.pk for one in present.allocations}


@given(inventories(), presents().map(unique_names))
def test_order_makes_no_difference(inventory: Inventory, present: Present) -> None:
    turned = replace(inventory, guests=inventory.guests[::-1], stores=inventory.stores[::-1])
    back = replace(
        present,
        workloads=present.workloads[::-1],
        allocations=present.allocations[::-1],
        resources=present.resources[::-1],
    )

    one, other = propose(inventory, present), propose(turned, back)

    assert sorted(map(repr, one.allocations)) == sorted(map(repr, other.allocations))
    assert sorted(map(repr, one.left_out)) == sorted(map(repr, other.left_out))


def proposed(guest: Guest, *, adapter: str = "") -> list[str]:
    """What is proposed of a guest for the one allocation that its workload has."""
    kind = "uplink" if adapter else "datastore"
    resource = PresentResource(
        pk=1, name="nfs-0", kind=kind, threshold=30.0, threshold_mode="fixed", size_bytes=None,
        unit=Unit.BITS_PER_S if adapter else Unit.IOPS, places=frozenset({("esx1", "x")}),
    )  # fmt: skip
    row = PresentAllocation(
        pk=1, resource=1, workload=1, host="esx1", vdisk="",
        adapter_kind="vnic" if adapter else "vdisk", adapter=adapter, stated=Stated(),
        by_person=False, is_gone=False, size_bytes=None,
    )  # fmt: skip
    store = Store(
        moid="d-0", name="nfs-0", called=("nfs-0",), hosts=(), size_bytes=None, congestion=None
    )
    workload = PresentWorkload(pk=1, name="a", keys=(), hosts=("esx1",))
    found = propose(
        Inventory(guests=(guest,), stores=(store,), clusters=(), traffic=(), problems=()),
        Present(resources=(resource,), workloads=(workload,), allocations=(row,)),
    )
    return [one.of for one in found.allocations]


LIMITED = Controls(level=ShareLevel.NORMAL, shares=50, limit=100.0, reservation=0.0)


@pytest.mark.parametrize(("nic_count", "taken"), [(1, ["a eth1"]), (2, [])])
def test_adapter_stands_for_that_of_samples_only_if_there_is_no_other(
    nic_count: int, taken: list[str]
) -> None:
    guest = Guest(
        moid="vm-1", name="a", uuid=None, host="esx1", disks=(), disk_count=0,
        nics=(Nic(key=4001, label="eth1", controls=LIMITED),), nic_count=nic_count,
    )  # fmt: skip

    assert proposed(guest, adapter="tap101i0") == taken


@pytest.mark.parametrize(("disk_count", "taken"), [(1, ["a scsi0:1"]), (2, [])])
def test_disk_stands_for_that_of_samples_only_if_there_is_no_other(
    disk_count: int, taken: list[str]
) -> None:
    disk = Disk(
        key=2001, instance="scsi0:1", label="", datastore="d-0", size_bytes=None,
        controls=LIMITED, is_raw=False, filters=(),
    )  # fmt: skip
    guest = Guest(
        moid="vm-1", name="a", uuid=None, host="esx1", disks=(disk,), disk_count=disk_count,
        nics=(), nic_count=0,
    )  # fmt: skip

    assert proposed(guest) == taken
