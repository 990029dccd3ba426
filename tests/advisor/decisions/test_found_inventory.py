"""Datastores and workloads are found, kept as they change, and never against what people state."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from accounts.models import Organisation
from advisor.decisions.found import keep
from advisor.decisions.found.keep import keep_inventory
from advisor.decisions.inventory import add_resource, change_resource, set_allocation
from advisor.errors import InventoryError
from advisor.models import AdapterKind, Allocation, Attachment, Resource, Workload, WorkloadRules
from ingest import facts as stored_facts
from tests.advisor.samples import send
from tests.advisor.scenario import NOW

pytestmark = pytest.mark.django_db

WWN = "naa.6001405abcdef0123456789abcdef012"
OTHER = "naa.6001405fedcba9876543210fedcba987"


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch) -> Organisation:
    # A busy machine would rest between two looks.
    monkeypatch.setattr(keep, "MOST_OF_TIME", 1e9)
    stored_facts.MEMORY.forget()
    return Organisation.objects.create(slug="acme", name="Acme")


def tell(organisation: Organisation, *lines: str, minutes: float = 0) -> datetime:
    """Send these lines, and look at what is there then."""
    at = NOW + timedelta(minutes=minutes)
    stamp = int(at.timestamp()) * 1_000_000_000
    send(organisation, "\n".join(f"{line} {stamp}" for line in lines), now=at)
    keep_inventory(organisation, now=at)
    return at


def disk(host: str, name: str, **said: str) -> list[str]:
    lines = [f"diskio,host={host},name={name} reads=1i,writes=1i"]
    if said:
        fields = ",".join(f'{key}="{value}"' for key, value in said.items())
        lines.append(f"sluice_device,host={host},name={name} {fields}")
    return lines


def number(host: str, name: str, minor: int) -> str:
    return f"block_device,host={host},name={name} major=8i,minor={minor}i"


def cgroup(host: str, path: str, device: str = "8:0") -> str:
    return f"cgroup,host={host},path={path} io.stat.{device}.rios=1i,io.stat.{device}.wios=1i"


def guest(host: str, key: str, **said: str) -> str:
    fields = ",".join(f'{name.replace("__", ".")}="{value}"' for name, value in said.items())
    return f"sluice_workload,host={host},name={key} {fields}"


def attached(resources: Iterable[Resource] | None = None) -> dict[str, list[str]]:
    rows = Resource.objects.filter(kind="datastore") if resources is None else resources
    return {
        row.name: sorted(f"{at.host.name}:{at.device}" for at in row.attachments.all())
        for row in rows
        if row.vanished_at is None
    }


def allocations() -> set[tuple[str, str, str, str, str]]:
    return {
        (one.workload.name, one.resource.name, one.host.name, one.adapter_kind, one.vdisk)
        for one in Allocation.objects.filter(vanished_at=None)
    }


def test_lun_of_two_hosts_is_one_datastore_with_the_reason(acme: Organisation) -> None:
    tell(acme, *disk("h1", "sdb", wwn=WWN, size_bytes="1000"), *disk("h2", "sdc", wwn=WWN))

    (found,) = Resource.objects.all()

    assert attached() == {WWN: ["h1:sdb", "h2:sdc"]}
    assert [one["text"] for one in found.reasons] == [f"they have the same WWN {WWN[4:]}"]
    assert (found.size_bytes, found.discovered) == (1000.0, True)


def test_second_host_joins_the_datastore_that_was_a_volume(acme: Organisation) -> None:
    tell(acme, *disk("h1", "sdb", wwn=WWN))
    (before,) = Resource.objects.all()

    tell(acme, *disk("h2", "sdb", wwn=WWN), minutes=1)

    (after,) = Resource.objects.all()
    assert (before.name, after.pk, after.name) == ("h1/sdb", before.pk, WWN)
    assert attached() == {WWN: ["h1:sdb", "h2:sdb"]}


def test_two_volumes_that_turn_out_to_be_one_are_the_older_and_the_other_is_marked(
    acme: Organisation,
) -> None:
    tell(acme, *disk("h1", "sdb"), *disk("h2", "sdb"))

    tell(acme, *disk("h1", "sdb", wwn=WWN), *disk("h2", "sdb", wwn=WWN), minutes=1)

    assert attached() == {WWN: ["h1:sdb", "h2:sdb"]}
    marked = Resource.objects.exclude(vanished_at=None)
    assert [(one.name, one.attachments.count()) for one in marked] == [("h2/sdb", 0)]


def test_disks_that_change_their_names_stay_themselves(acme: Organisation) -> None:
    one, two = (
        {"serial": "S3Z9NB0K111111", "model": "X"},
        {"serial": "S3Z9NB0K222222", "model": "X"},
    )
    tell(acme, *disk("h1", "sda", **one), *disk("h1", "sdb", **two))
    before = {row.pk: row.name for row in Resource.objects.all()}

    tell(acme, *disk("h1", "sda", **two), *disk("h1", "sdb", **one), minutes=1)

    after = {row.pk: row.name for row in Resource.objects.all()}
    swapped = {"h1/sda": "h1/sdb", "h1/sdb": "h1/sda"}
    assert after == {pk: swapped[name] for pk, name in before.items()}
    assert attached() == {"h1/sda": ["h1:sda"], "h1/sdb": ["h1:sdb"]}


def test_layer_that_was_taken_for_a_disk_stops_counting(acme: Organisation) -> None:
    tell(acme, *disk("h1", "dm-0"))

    tell(acme, *disk("h1", "dm-0", layer="lvm", parent="sda2"), *disk("h1", "sda"), minutes=1)

    assert attached() == {"h1/sda": ["h1:sda"]}


def test_what_a_person_stated_stays_and_takes_the_other_hosts(acme: Organisation) -> None:
    tell(acme, *disk("h1", "sdb"))
    stated = add_resource(
        organisation=acme, name="vmstore", kind="datastore", attachments=[("h1", "sdb")]
    )
    add_resource(organisation=acme, name="mine", kind="volume", attachments=[("h3", "sdb")])

    every = [line for host in ("h1", "h2", "h3") for line in disk(host, "sdb", wwn=WWN)]
    tell(acme, *every, minutes=1)

    assert attached() == {"vmstore": ["h1:sdb"], "mine": ["h3:sdb"], "h2/sdb": ["h2:sdb"]}
    add_resource(organisation=acme, name="mine too", kind="volume", attachments=[("h2", "sdb")])
    Resource.objects.filter(name="mine").delete()
    Resource.objects.filter(name="mine too").delete()
    tell(acme, *disk("h2", "sdb", wwn=WWN), minutes=2)

    assert attached() == {"vmstore": ["h1:sdb", "h2:sdb", "h3:sdb"]}
    assert Resource.objects.get(name="vmstore").pk == stated.pk


def test_datastore_that_is_gone_is_marked_and_comes_back(acme: Organisation) -> None:
    tell(acme, *disk("h1", "sda"), *disk("h1", "sdb", wwn=WWN))

    tell(acme, *disk("h1", "sda"), minutes=30)
    gone = Resource.objects.get(name="h1/sdb")
    tell(acme, *disk("h1", "sda"), *disk("h1", "sdc", wwn=WWN), minutes=40)
    back = Resource.objects.get(pk=gone.pk)

    assert gone.vanished_at == NOW + timedelta(minutes=30)
    assert (back.vanished_at, back.name) == (None, "h1/sdc")


def test_lun_that_another_host_shows_is_the_datastore_that_it_was(acme: Organisation) -> None:
    local = disk("h1", "sda", serial="S3Z9NB0K111111", model="X", transport="sata")
    tell(acme, *local, *disk("h1", "sdb", wwn=WWN, transport="fc"))
    before = Resource.objects.get(name="h1/sdb")

    tell(acme, *local, *disk("h2", "sdk", wwn=WWN, transport="fc"), minutes=30)

    after = Resource.objects.get(name="h2/sdk")
    assert (after.pk, after.vanished_at) == (before.pk, None)


def test_disk_that_only_says_what_it_is_keeps_its_device(acme: Organisation) -> None:
    tell(acme, *disk("h1", "sda"), *disk("h1", "sdb", wwn=WWN))
    said = disk("h1", "sdb", wwn=WWN)[1:]

    tell(acme, *disk("h1", "sda"), *said, minutes=30)

    rows = {row.name: row.vanished_at is None for row in Resource.objects.all()}
    assert rows == {"h1/sda": True, "h1/sdb": False}
    assert attached(Resource.objects.filter(name="h1/sda")) == {"h1/sda": ["h1:sda"]}
    assert [str(one) for one in Resource.objects.get(name="h1/sdb").attachments.all()] == [
        "h1:sdb"
    ]


def test_what_a_person_stated_of_two_volumes_that_are_one_is_of_that_one(
    acme: Organisation,
) -> None:
    paths = {"h1": "/qemu.slice/101.scope", "h2": "/qemu.slice/102.scope"}
    lines = [
        line
        for host, path in paths.items()
        for line in (*disk(host, "sdb"), number(host, "sdb", 0), cgroup(host, path))
    ]
    tell(acme, *lines)
    for host, path in paths.items():
        set_allocation(
            resource=Resource.objects.get(name=f"{host}/sdb"), workload_name=f"of {host}",
            host_name=host, adapter_kind=AdapterKind.CGROUP, adapter=path, shares=9,
        )  # fmt: skip

    said = [line for host in paths for line in disk(host, "sdb", wwn=WWN)]
    tell(acme, *lines, *said, minutes=1)

    assert attached() == {WWN: ["h1:sdb", "h2:sdb"]}
    assert allocations() == {(f"of {host}", WWN, host, "cgroup", "") for host in paths}
    assert {one.shares for one in Allocation.objects.filter(vanished_at=None)} == {9}


def test_name_that_a_person_gave_stays_when_collectors_state_another(acme: Organisation) -> None:
    tell(acme, guest("h1", "libvirt/db1", name="db1", host_pid="7"), *disk("h1", "sdb", wwn=WWN))
    Workload.objects.update(name="orders")
    Resource.objects.update(name="gold")
    tell(acme, cgroup("h1", "/system.slice/x.service"), minutes=1)

    said = guest("h1", "libvirt/db1", name="db2", host_pid="7")
    tell(acme, said, *disk("h2", "sdb", wwn=WWN), minutes=2)

    assert Workload.objects.filter(kind="vm").get().name == "orders"
    assert attached() == {"gold": ["h1:sdb", "h2:sdb"]}


def test_names_that_a_workload_had_are_known_with_the_time(acme: Organisation) -> None:
    tell(acme, guest("h1", "libvirt/db1", name="db1", host_pid="7"))

    at = tell(acme, guest("h1", "libvirt/db1", name="db2", host_pid="7"), minutes=1)
    tell(acme, *disk("h1", "sda"), minutes=2)

    (found,) = Workload.objects.all()
    assert (found.name, found.identity["former"]) == ("db2", [["db1", at.isoformat()]])


def test_stated_values_are_kept_and_derived_ones_follow(acme: Organisation) -> None:
    tell(acme, *disk("h1", "sda", size_bytes="1000", queue_depth="32"))
    tell(acme, *disk("h1", "sda", size_bytes="2000", queue_depth="64"), minutes=1)
    row, at = Resource.objects.get(), Attachment.objects.get()
    assert (row.size_bytes, at.device_queue_depth) == (2000.0, 64)

    Resource.objects.update(size_bytes=5)
    Attachment.objects.update(device_queue_depth=7)
    tell(acme, *disk("h1", "sda", size_bytes="3000", queue_depth="128"), minutes=2)

    row, at = Resource.objects.get(), Attachment.objects.get()
    assert (row.size_bytes, at.device_queue_depth) == (5.0, 7)


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


def nic(name: str, host: str = "h1", **said: str) -> list[str]:
    lines = [f"net,host={host},interface={name} bytes_sent=1i,bytes_recv=1i"]
    if said:
        fields = ",".join(f'{key}="{value}"' for key, value in said.items())
        lines.append(f"sluice_nic,host={host},name={name} {fields}")
    return lines


def uplinks() -> dict[str, tuple[float | None, float | None]]:
    """Line rate and capacity of each uplink that is there, in Gbit/s."""
    found = Resource.objects.filter(kind="uplink", vanished_at=None)
    giga = lambda value: None if value is None else round(value / 1e9, 3)  # noqa: E731
    return {row.name: (giga(row.line_rate), giga(row.capacity)) for row in found}


def bond(*, second: str = "active") -> list[str]:
    """Two NICs in a bond, the second in this state; a bridge on a VLAN of it."""
    return [
        *nic("eno1", master="bond0", state="active", speed="10000"),
        *nic("eno2", master="bond0", state=second, speed="10000"),
        *nic("bond0", kind="bond", parent="eno1"),
        *nic("bond0.7", kind="vlan", parent="bond0"),
        *nic("vmbr0", kind="bridge", parent="bond0.7"),
    ]


def test_bond_is_one_uplink_with_the_rates_of_its_active_members(acme: Organisation) -> None:
    tell(acme, *bond())

    # 94 % of twice 10 Gbit/s is left for user data.
    assert uplinks() == {"h1/bond0": (20, 18.8)}
    row = Resource.objects.get(kind="uplink")
    assert [(one["places"], one["text"]) for one in row.reasons] == [
        (["h1:bond0.7"], "it is a VLAN of bond0"),
        (["h1:eno1"], "it is a member of bond0"),
        (["h1:eno2"], "it is a member of bond0"),
    ]


def test_line_rate_follows_the_members_and_what_a_person_stated_stays(acme: Organisation) -> None:
    tell(acme, *bond())
    tell(acme, *bond(second="down"), minutes=1)
    assert uplinks() == {"h1/bond0": (10, 9.4)}

    change_resource(resource=Resource.objects.get(kind="uplink"), capacity=5e9)
    # A fact that comes back counts when the other is not said any more, for 25 minutes.
    tell(acme, *bond(), minutes=40)

    assert uplinks() == {"h1/bond0": (20, 5)}


def test_members_that_were_uplinks_before_their_bond_was_known_count_no_more(
    acme: Organisation,
) -> None:
    tell(acme, *nic("eno1"), *nic("eno2"), *nic("bond0"))
    assert list(uplinks()) == ["h1/bond0", "h1/eno1", "h1/eno2"]

    tell(acme, *bond(), minutes=1)
    assert list(uplinks()) == ["h1/bond0"]
    assert Attachment.objects.count() == 1

    # Taken apart again, they are the uplinks that they were.
    apart = [*nic("bond0", kind="bond"), *nic("eno1"), *nic("eno2")]
    tell(acme, *apart, *nic("eno1", master="br0"), *nic("eno2", master="br0"), minutes=2)
    assert list(uplinks()) == ["h1/bond0", "h1/eno1", "h1/eno2"]
    assert Resource.objects.count() == 3


def test_member_that_a_person_described_stays(acme: Organisation) -> None:
    add_resource(organisation=acme, name="storage", kind="uplink", attachments=[("h1", "eno1")])

    tell(acme, *bond())

    assert list(uplinks()) == ["h1/bond0", "storage"]


def test_guest_behind_a_vlan_of_a_bond_is_on_the_bond(acme: Organisation) -> None:
    lines = [
        *bond(), *nic("eno3", speed="1000"), *nic("bond0.7", master="vmbr0"),
        *nic("tap101i0", kind="tap", master="vmbr0"),
        guest("h1", "qemu/101", name="db1", nic__net0="tap101i0"),
    ]  # fmt: skip

    tell(acme, *lines)

    assert list(uplinks()) == ["h1/bond0", "h1/eno3"]
    assert allocations() == {("db1", "h1/bond0", "h1", "vnic", "")}


def test_line_rate_of_samples_goes_before_facts_which_come_seldom(acme: Organisation) -> None:
    tell(acme, *bond(), "net,host=h1,interface=bond0 bytes_sent=1i,bytes_recv=1i,speed=10000i")

    assert uplinks() == {"h1/bond0": (10, 9.4)}


def test_line_rate_of_samples_is_followed(acme: Organisation) -> None:
    line = "net,host=h1,interface=eth0 bytes_sent=1i,bytes_recv=1i,speed={}i"

    tell(acme, line.format(1000))
    assert uplinks() == {"h1/eth0": (1, 0.94)}
    # Samples alone are no reason to look before its time.
    tell(acme, line.format(10_000), minutes=6)
    assert uplinks() == {"h1/eth0": (10, 9.4)}

    tell(acme, line.format(-1), minutes=12)
    assert uplinks() == {"h1/eth0": (10, 9.4)}


def test_workload_that_is_gone_for_long_is_forgotten(acme: Organisation) -> None:
    tell(acme, guest("h1", "libvirt/old", name="old"), *disk("h1", "sda"))

    tell(acme, *disk("h1", "sda"), minutes=60)
    marked = Workload.objects.get()
    tell(acme, *disk("h1", "sda"), minutes=60 * 24 * 32)

    assert marked.vanished_at is not None
    assert not Workload.objects.exists()


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


def test_vmid_that_is_used_again_is_another_workload(acme: Organisation) -> None:
    tell(acme, guest("pve1", "qemu/101", name="db1", host_pid="41"))

    tell(acme, guest("pve1", "qemu/101", name="web9", host_pid="42"), minutes=1)

    rows = {row.name: row.vanished_at for row in Workload.objects.all()}
    assert rows == {"db1": NOW + timedelta(minutes=1), "web9": None}


def test_vmid_that_proxmox_gave_to_another_within_a_minute_is_another_workload(
    acme: Organisation,
) -> None:
    # Proxmox itself says no more than the number, the node and the name.
    line = "blockstat,object=qemu,vmid=101,nodename=pve1,host={},instance=scsi0 rd_operations=1i"
    tell(acme, line.format("db1"))

    tell(acme, line.format("web9"), minutes=0.5)

    rows = {row.name: row.vanished_at for row in Workload.objects.all()}
    assert rows == {"db1": NOW + timedelta(minutes=0.5), "web9": None}


def test_five_thousand_containers_of_ten_seconds_are_no_workloads(acme: Organisation) -> None:
    lines = [*disk("h1", "sda"), number("h1", "sda", 0), cgroup("h1", "/docker/" + "f" * 64)]
    tell(acme, *lines)
    for generation in range(2):
        numbers = range(2500 * generation, 2500 * (generation + 1))
        short = [cgroup("h1", f"/docker/{at:064x}") for at in numbers]
        for seconds in (0, 10):
            at = NOW + timedelta(seconds=60 + 30 * generation + seconds)
            stamp = int(at.timestamp()) * 1_000_000_000
            send(acme, "\n".join(f"{line} {stamp}" for line in short), now=at)

    tell(acme, *lines, minutes=3)

    # The one that stays is kept; of the others nobody has to decide anything.
    assert [row.name for row in Workload.objects.all()] == [f"h1/container {'f' * 12}"]
    assert Allocation.objects.count() == 1


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


def test_rules_give_tiers_and_a_stated_tier_wins(acme: Organisation) -> None:
    rules = "tier: high where name ~ db-*\ntier: low where namespace = batch"
    WorkloadRules.objects.create(organisation=acme, text=rules, stated_at=NOW)
    said = [
        guest("h1", "pod/1", name="nightly", namespace="batch", kind="pod"),
        guest("h1", "libvirt/db-1", name="db-1"),
        guest("h1", "libvirt/web", name="web"),
    ]
    tell(acme, *said)
    tiers = {row.name: (row.tier, row.tier_reason) for row in Workload.objects.all()}
    assert tiers == {
        "batch/nightly": ("low", "line 2: tier: low where namespace = batch"),
        "db-1": ("high", "line 1: tier: high where name ~ db-*"),
        "web": ("medium", ""),
    }

    Workload.objects.filter(name="db-1").update(tier="low", tier_stated=True)
    tell(acme, *said, guest("h1", "libvirt/x", name="x"), minutes=1)

    assert Workload.objects.get(name="db-1").tier == "low"


def test_two_guests_of_one_name_are_told_apart(acme: Organisation) -> None:
    tell(acme, guest("h1", "libvirt/web", name="web"), guest("h2", "libvirt/web", name="web"))

    assert sorted(row.name for row in Workload.objects.all()) == ["web", "web on h2"]


def test_name_that_was_given_stays_when_another_of_that_name_comes(acme: Organisation) -> None:
    tell(acme, guest("h2", "libvirt/web", name="web"))
    (first,) = Workload.objects.all()

    tell(acme, guest("h1", "libvirt/web", name="web"), minutes=1)

    assert Workload.objects.get(pk=first.pk).name == "web"
    assert Workload.objects.exclude(pk=first.pk).get().name == "web on h1"


def test_inventory_of_many_takes_as_many_statements_as_that_of_few(acme: Organisation) -> None:
    def statements(hosts: range, minutes: float) -> int:
        lines = [
            line
            for at in hosts
            for line in (
                *disk(f"h{at}", "sda"), number(f"h{at}", "sda", 0),
                *(cgroup(f"h{at}", f"/system.slice/u{unit}.service") for unit in range(3)),
            )
        ]  # fmt: skip
        at = NOW + timedelta(minutes=minutes)
        stamp = int(at.timestamp()) * 1_000_000_000
        send(acme, "\n".join(f"{line} {stamp}" for line in lines), now=at)
        with CaptureQueriesContext(connection) as asked:
            keep_inventory(acme, now=at)
        return len([one for one in asked if "advisor_incident" not in one["sql"]])

    few, many = statements(range(2), 0), statements(range(2, 40), 1)

    assert Allocation.objects.count() == 120
    assert many <= few + 4


def test_look_at_what_has_not_changed_writes_nothing(acme: Organisation) -> None:
    lines = [
        line
        for at in range(30)
        for line in (
            *disk(f"h{at}", "sda", serial=f"S3Z9NB0K{at:06}", model="X", transport="sata"),
            *disk(f"h{at}", "sdb", wwn=WWN, size_bytes="1000", model="LUN", transport="fc"),
            number(f"h{at}", "sda", 0), number(f"h{at}", "sdb", 16),
            *(cgroup(f"h{at}", f"/qemu.slice/{vmid}.scope", "8:16") for vmid in range(101, 104)),
            *(guest(f"h{at}", f"qemu/{vmid}", name=f"vm-{at}-{vmid}") for vmid in range(101, 104)),
        )
    ]  # fmt: skip
    tell(acme, *lines)
    rows = [
        [*model.objects.order_by("pk").values()]
        for model in (Resource, Attachment, Workload, Allocation)
    ]
    assert [len(found) for found in rows] == [31, 60, 90, 90]

    with CaptureQueriesContext(connection) as asked:
        assert keep_inventory(acme, now=NOW + timedelta(minutes=6))

    wrote = [
        one["sql"] for one in asked if one["sql"].startswith(("INSERT", "UPDATE", "DELETE FROM"))
    ]
    assert wrote == []
    # The usual order of rows joins all that they are of, and of many rows takes seconds.
    ordered = [one["sql"] for one in asked if 'ORDER BY "accounts_organisation"' in one["sql"]]
    assert not [sql for sql in ordered if "advisor_a" in sql.partition(" FROM ")[2][:20]]
    assert len(asked) < 25
    assert rows == [
        [*model.objects.order_by("pk").values()]
        for model in (Resource, Attachment, Workload, Allocation)
    ]


def test_nothing_new_reads_nothing(acme: Organisation) -> None:
    at = tell(acme, *disk("h1", "sda"))

    assert keep_inventory(acme, now=at + timedelta(minutes=1)) is False
    assert keep_inventory(acme, now=at + timedelta(minutes=6)) is True


def test_look_that_somebody_else_takes_is_left_to_them_unless_it_was_asked_for(
    acme: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep, "LONGEST_WAIT_S", 0.5)
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtextextended('inventory', %s))", [acme.pk])

        assert keep_inventory(acme, now=NOW) is False
        with pytest.raises(InventoryError, match="try again"):
            keep_inventory(acme, now=NOW, is_asked=True)
    finally:
        other.close()
    monkeypatch.setattr(keep, "LONGEST_WAIT_S", 60.0)

    assert keep_inventory(acme, now=NOW, is_asked=True) is True


def test_organisations_do_not_share_datastores(acme: Organisation) -> None:
    other = Organisation.objects.create(slug="other", name="Other")

    for organisation in (acme, other):
        tell(organisation, *disk("h1", "sdb", wwn=WWN))

    assert Resource.objects.filter(name="h1/sdb").count() == 2
