"""A workload has a default allocation where it is seen, and what people state stays."""

from __future__ import annotations

import pytest

from accounts.models import Organisation
from advisor.decisions.inventory import add_resource, set_allocation
from advisor.models import AdapterKind, Allocation, Resource, Workload
from tests.advisor.decisions.found_inventory import (
    WWN,
    allocations,
    cgroup,
    disk,
    guest,
    number,
    tell,
)

pytestmark = pytest.mark.django_db


def test_cgroup_has_a_default_allocation_on_the_disk_that_it_uses(acme: Organisation) -> None:
    tell(
        acme,
        *disk("h1", "sda"), *disk("h1", "sdb"), number("h1", "sda", 0), number("h1", "sdb", 16),
        cgroup("h1", "/system.slice/nginx.service", "8:16"),
    )  # fmt: skip

    (found,) = Allocation.objects.all()
    assert allocations() == {("h1/nginx.service", "h1/sdb", "h1", "cgroup", "")}
    assert (found.reservation, found.limit, found.shares) == (0.0, None, None)
    assert (found.workload.kind, found.workload.tier) == ("unit", "medium")


def test_vm_of_metric_server_and_cgroup_is_one_workload_with_its_name(acme: Organisation) -> None:
    tell(
        acme,
        *disk("pve1", "sda"), number("pve1", "sda", 0),
        cgroup("pve1", "/qemu.slice/101.scope"),
        "blockstat,object=qemu,vmid=101,nodename=pve1,host=db1,instance=scsi0 rd_operations=1i",
    )  # fmt: skip

    assert allocations() == {("db1", "pve1/sda", "pve1", "cgroup", "")}
    assert [one.name for one in Workload.objects.all()] == ["db1"]


def test_virtual_disk_on_an_export_is_counted_by_its_hypervisor(acme: Organisation) -> None:
    tell(
        acme,
        "nfs_ops,host=kvm1,mountpoint=/vm,serverexport=nas:/vm,operation=READ ops=1i",
        'libvirt_block,host=kvm1,domain_name=db1,block_id=0 rd_reqs=1i,path="/vm/db1.qcow2"',
    )

    # What the client of the mount counts holds the disk, so it is no workload beside it.
    assert allocations() == {("db1", "nas:/vm", "kvm1", "vdisk", "0")}


def test_client_of_a_mount_is_a_workload_where_none_of_it_is_known(acme: Organisation) -> None:
    tell(
        acme,
        "nfs_ops,host=kvm1,mountpoint=/vm,serverexport=nas:/vm,operation=READ ops=1i",
        "nfs_ops,host=kvm2,mountpoint=/vm,serverexport=nas:/vm,operation=READ ops=1i",
        'libvirt_block,host=kvm1,domain_name=db1,block_id=0 rd_reqs=1i,path="/vm/db1.qcow2"',
    )

    assert allocations() == {
        ("db1", "nas:/vm", "kvm1", "vdisk", "0"),
        ("kvm2 (mounts)", "nas:/vm", "kvm2", "mount", "nas:/vm"),
    }


def test_nic_of_a_vm_has_a_default_allocation_on_the_uplink_below_its_bridge(
    acme: Organisation,
) -> None:
    nics = {"eno1": "vmbr0", "eno2": "vmbr1", "tap101i0": "fwbr101i0", "fwpr101p0": "vmbr1"}
    lines = [f"net,host=pve1,interface={name} bytes_sent=1i,bytes_recv=1i" for name in nics]
    lines += [f'sluice_nic,host=pve1,name={n} master="{master}"' for n, master in nics.items()]
    lines.append(guest("pve1", "qemu/101", name="db1", nic__net0="tap101i0"))
    for nic in ("eno1", "eno2"):
        add_resource(organisation=acme, name=nic, kind="uplink", attachments=[("pve1", nic)])

    tell(acme, *lines)

    (found,) = Allocation.objects.all()
    assert (found.workload.name, found.resource.name, found.adapter_kind, found.adapter) == (
        "db1", "eno2", "vnic", "tap101i0",
    )  # fmt: skip


def test_vm_that_migrates_takes_its_allocation_along(acme: Organisation) -> None:
    luns = [*disk("h1", "sda", wwn=WWN), *disk("h2", "sda", wwn=WWN)]
    luns += [number("h1", "sda", 0), number("h2", "sda", 0)]
    scope = "/machine.slice/machine-qemu\\x2d1\\x2ddb1.scope"
    uuid = "b1f0a3c2-7e64-4d0b-9d6e-0f1a2b3c4d5e"
    tell(acme, *luns, guest("h1", "libvirt/db1", uuid=uuid, name="db1"), cgroup("h1", scope))

    later = [*luns, guest("h2", "libvirt/db1", uuid=uuid, name="db1"), cgroup("h2", scope)]
    tell(acme, *later, minutes=1)
    tell(acme, *later, minutes=40)

    assert allocations() == {("db1", WWN, "h2", "cgroup", "")}
    assert Workload.objects.count() == 1
    assert Allocation.objects.exclude(vanished_at=None).count() == 1


def test_promise_that_a_person_stated_goes_with_a_vm_that_migrates(acme: Organisation) -> None:
    luns = [*disk("h1", "sda", wwn=WWN), *disk("h2", "sda", wwn=WWN)]
    luns += [number("h1", "sda", 0), number("h2", "sda", 0)]
    scope = "/machine.slice/machine-qemu\\x2d{}\\x2ddb1.scope"
    said = {"uuid": "b1f0a3c2-7e64-4d0b-9d6e-0f1a2b3c4d5e", "name": "db1"}
    tell(acme, *luns, guest("h1", "libvirt/db1", **said), cgroup("h1", scope.format(1)))
    set_allocation(
        resource=Resource.objects.get(), workload_name="db1", host_name="h1", shares=9,
        adapter_kind=AdapterKind.CGROUP, adapter=scope.format(1),
    )  # fmt: skip
    stated = Allocation.objects.get()

    there = [*luns, guest("h2", "libvirt/db1", **said), cgroup("h2", scope.format(7))]
    tell(acme, *there, minutes=1)
    # While both hosts show it, it is where it was stated.
    assert Allocation.objects.get(pk=stated.pk).host.name == "h1"
    tell(acme, *there, minutes=40)

    stated.refresh_from_db()
    assert allocations() == {("db1", WWN, "h2", "cgroup", "")}
    assert (stated.host.name, stated.adapter, stated.shares) == ("h2", scope.format(7), 9)
    past = Allocation.objects.exclude(pk=stated.pk).get()
    assert (past.host.name, past.adapter, past.found) == ("h1", scope.format(1), True)

    back = [*luns, guest("h1", "libvirt/db1", **said), cgroup("h1", scope.format(8))]
    tell(acme, *back, minutes=41)
    tell(acme, *back, minutes=80)

    stated.refresh_from_db()
    assert (stated.host.name, stated.adapter) == ("h1", scope.format(8))
    assert allocations() == {("db1", WWN, "h1", "cgroup", "")}


def test_allocation_that_a_person_stated_stays_alone(acme: Organisation) -> None:
    lines = [*disk("h1", "sda"), number("h1", "sda", 0), cgroup("h1", "/qemu.slice/101.scope")]
    tell(acme, *lines)
    set_allocation(
        resource=Resource.objects.get(), workload_name="orders", host_name=None,
        adapter_kind=AdapterKind.CGROUP, adapter="/qemu.slice/101.scope", shares=9,
    )  # fmt: skip

    tell(acme, *lines, guest("h1", "qemu/101", name="db1"), minutes=1)

    assert allocations() == {("orders", "h1/sda", "h1", "cgroup", "")}
    assert Allocation.objects.get(vanished_at=None).shares == 9


@pytest.mark.parametrize("disk_name", ["", "disk-0"])
def test_allocation_that_is_stated_of_a_found_workload_is_its_only_one(
    acme: Organisation, disk_name: str
) -> None:
    lines = [
        *disk("h1", "sda"), number("h1", "sda", 0), cgroup("h1", "/qemu.slice/101.scope"),
        guest("h1", "qemu/101", name="db1"),
    ]  # fmt: skip
    tell(acme, *lines)
    assert allocations() == {("db1", "h1/sda", "h1", "cgroup", "")}
    set_allocation(
        resource=Resource.objects.get(), workload_name="db1", host_name=None, vdisk=disk_name,
        adapter_kind=AdapterKind.CGROUP, adapter="/qemu.slice/101.scope", reservation=0, shares=9,
    )  # fmt: skip

    tell(acme, *lines, guest("h1", "qemu/102", name="web1"), minutes=1)

    assert allocations() == {("db1", "h1/sda", "h1", "cgroup", disk_name)}


def test_guest_of_another_name_does_not_count_what_a_person_stated_beside_it(
    acme: Organisation,
) -> None:
    lines = [*disk("h1", "sda"), number("h1", "sda", 0), cgroup("h1", "/qemu.slice/101.scope")]
    tell(acme, *lines, guest("h1", "qemu/101", name="db1"))
    set_allocation(
        resource=Resource.objects.get(), workload_name="orders", host_name=None,
        adapter_kind=AdapterKind.CGROUP, adapter="/qemu.slice/101.scope", shares=9,
    )  # fmt: skip
    tell(acme, *lines, guest("h1", "qemu/101", name="db1"), minutes=1)

    # Nobody tells its process, so it is another machine to us; the person named the cgroup.
    tell(acme, *lines, guest("h1", "qemu/101", name="db2"), minutes=2)

    assert allocations() == {("orders", "h1/sda", "h1", "cgroup", "")}
