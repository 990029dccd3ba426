"""Datastores are found, kept as they change, and never against what people state."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.models import Organisation
from advisor.decisions.inventory import add_resource, set_allocation
from advisor.models import AdapterKind, Allocation, Attachment, Resource
from tests.advisor.decisions.found_inventory import (
    WWN,
    allocations,
    attached,
    cgroup,
    disk,
    nic,
    number,
    tell,
)
from tests.advisor.scenario import NOW

pytestmark = pytest.mark.django_db


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


def test_number_of_hundreds_of_digits_stops_no_discovery(acme: Organisation) -> None:
    huge = "9" * 400

    tell(acme, *disk("h1", "sda", size_bytes=huge), *nic("eno1", speed=huge), *disk("h2", "sda"))

    assert sorted(attached()) == ["h1/sda", "h2/sda"]
    assert Resource.objects.get(kind="uplink").line_rate is None


def test_organisations_do_not_share_datastores(acme: Organisation) -> None:
    other = Organisation.objects.create(slug="other", name="Other")

    for organisation in (acme, other):
        tell(organisation, *disk("h1", "sdb", wwn=WWN))

    assert Resource.objects.filter(name="h1/sdb").count() == 2
