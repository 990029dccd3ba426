"""Workloads are found under the names people use, and each stays the one that it was."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.models import Organisation
from advisor.models import Allocation, Resource, Workload, WorkloadRules
from tests.advisor.decisions.found_inventory import (
    WWN,
    attached,
    cgroup,
    disk,
    guest,
    number,
    tell,
)
from tests.advisor.samples import send
from tests.advisor.scenario import NOW

pytestmark = pytest.mark.django_db


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


def test_workload_that_is_gone_for_long_is_forgotten(acme: Organisation) -> None:
    tell(acme, guest("h1", "libvirt/old", name="old"), *disk("h1", "sda"))

    tell(acme, *disk("h1", "sda"), minutes=60)
    marked = Workload.objects.get()
    tell(acme, *disk("h1", "sda"), minutes=60 * 24 * 32)

    assert marked.vanished_at is not None
    assert not Workload.objects.exists()


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
