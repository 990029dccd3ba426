"""Which devices and mounts are one datastore, and what is said about it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.core.identity.datastores import FoundDatastore, find_storage
from ingest.core.identity.facts import Facts, Kind, Place
from ingest.core.identity.grouping import Stated, Statement
from ingest.core.identity.rules import read_rules
from ingest.core.mapping import Fact
from tests.ingest.core.identity.fleets import Fleet
from tests.ingest.core.identity.scenario import (
    OTHER_WWN,
    WWN,
    about,
    datastores,
    disk,
    host,
    mount,
    shared,
)

SAN = {"transport": "fc", "size_bytes": "1000", "model": "LUN", "vendor": "NETAPP"}


def facts_of(seed: int) -> list[Fact]:
    rows = Fleet(seed).moments(1)[0].facts
    return [
        Fact(host=row[0], kind=row[1], subject=row[2], name=row[3], value=row[4])
        for row in sorted(rows)
    ]


seeds = st.integers(1000, 2000)


@given(seeds, st.randoms(use_true_random=False))
def test_order_of_facts_makes_no_difference(seed: int, random: st.DataObject) -> None:
    facts = facts_of(seed)
    mixed = list(facts)
    random.shuffle(mixed)  # type: ignore[attr-defined]

    assert find_storage(Facts.of(facts)) == find_storage(Facts.of(mixed))


@given(seeds)
@example(1082)  # clones on one host
def test_every_disk_and_mount_is_in_one_datastore_and_no_key_in_two(seed: int) -> None:
    found = find_storage(Facts.of(facts_of(seed))).datastores
    places = [place for one in found for place in one.places]
    keys = [key for one in found for key in one.keys]

    assert len(set(places)) == len(places)
    assert len(set(keys)) == len(keys)


@given(seeds)
def test_a_host_with_facts_of_its_own_changes_nothing_else(seed: int) -> None:
    facts = facts_of(seed)
    before = find_storage(Facts.of(facts)).datastores
    new = disk("a-new-host", "sda", wwn="0x5000c500a1b2c3d4", transport="sata")

    after = find_storage(Facts.of([*facts, *new])).datastores

    assert [one for one in after if one.places[0].host != "a-new-host"] == list(before)


@given(seeds)
def test_a_stated_split_holds_and_a_stated_merge_too(seed: int) -> None:
    facts = facts_of(seed)
    found = find_storage(Facts.of(facts)).datastores
    merged = next((one for one in found if len({p.host for p in one.places}) > 1), None)
    single = [one.places[0] for one in found if len(one.places) == 1][:2]
    if merged is None or len(single) < 2 or single[0].kind != single[1].kind:
        return
    one, other = merged.places[0], merged.places[-1]
    statements = (
        Statement(one=one, other=other, same=False),
        Statement(one=single[0], other=single[1], same=True),
    )

    by_place = find_storage(Facts.of(facts), Stated(statements=statements)).by_place()

    assert by_place[one] != by_place[other]
    assert by_place[single[0]] == by_place[single[1]]


@pytest.mark.parametrize(
    "spelled",
    [WWN[2:], f"naa.{WWN[2:].upper()}", f"wwn-{WWN}"],
    ids=["digits", "naa", "wwn"],
)
def test_one_wwn_in_any_spelling_is_one_datastore(spelled: str) -> None:
    assert shared(disk("a", "sdb", wwn=WWN, **SAN), disk("b", "sdx", wwn=spelled)) == [
        {"a:sdb", "b:sdx"}
    ]


def test_serial_number_of_udev_is_the_wwn_of_a_scsi_disk() -> None:
    # The guest's reader says the WWN, stock Telegraf beside it what udev calls the serial number.
    reader = disk("guest-1", "sda", wwn="naa.5000c50015ea71ac", transport="virtio")
    telegraf = disk("guest-2", "sda", serial="35000c50015ea71ac")

    assert shared(reader, telegraf) == [{"guest-1:sda", "guest-2:sda"}]


def test_reason_names_the_rule_and_the_number() -> None:
    (found,) = datastores(disk("a", "sdb", wwn=WWN, **SAN), disk("b", "sdc", wwn=WWN, **SAN))

    assert [(one.rule, one.text) for one in found.reasons] == [
        ("wwn", f"they have the same WWN {WWN[2:]}")
    ]
    assert found.name == f"naa.{WWN[2:]}"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"size_bytes": "2000"}, "another size"),
        ({"model": "VRAID"}, "another model"),
        ({"transport": "sata"}, "SATA"),
        ({"vendor": "ATA", "transport": "", "model": "LUN"}, "ATA"),
        ({}, ""),
    ],
    ids=["size", "model", "bus", "ata", "all alike"],
)
def test_one_wwn_of_two_disks_that_differ_is_refused(change: dict[str, str], why: str) -> None:
    values = {key: value for key, value in {**SAN, **change}.items() if value}

    found = datastores(disk("a", "sdb", wwn=WWN, **SAN), disk("b", "sdb", wwn=WWN, **values))

    refused = [reason.text for one in found for reason in one.reasons if not reason.merged]
    assert len(found) == (2 if change else 1)
    assert (why in " ".join(refused)) is True


def test_wwn_seen_twice_on_a_host_is_refused_without_multipath_and_one_disk_with_it() -> None:
    paths = [*disk("a", "sdb", wwn=WWN, **SAN), *disk("a", "sdc", wwn=WWN, **SAN)]
    dm = disk("a", "dm-0", uuid=f"mpath-3{WWN[2:]}", layer="multipath", parent=["sdb", "sdc"])
    other = disk("b", "sdb", wwn=WWN, **SAN)

    assert shared(paths, other) == [{"a:sdb"}, {"a:sdc"}, {"b:sdb"}]
    assert shared(paths, dm, other) == [{"a:dm-0", "b:sdb"}]


@pytest.mark.parametrize("serial", ["drive-scsi0", "QM00001", "0000000000", "None"])
def test_serial_numbers_that_many_disks_have_merge_nothing(serial: str) -> None:
    values = {"serial": serial, "model": "QEMU HARDDISK", "vendor": "QEMU", "transport": "fc"}

    assert shared(disk("a", "sda", **values), disk("b", "sda", **values)) == [{"a:sda"}, {"b:sda"}]


@pytest.mark.parametrize(
    ("transport", "number"), [("fc", 1), ("", 2)], ids=["on a network", "unknown"]
)
def test_serial_number_alone_merges_only_on_a_network(transport: str, number: int) -> None:
    values = {"serial": "8c90d497b628", "model": "block1", "size_bytes": "9"}
    values |= {"transport": transport} if transport else {}

    assert len(shared(disk("a", "sda", **values), disk("b", "sda", **values))) == number


def test_wwn_that_every_target_of_one_maker_has_merges_nothing() -> None:
    tgt = "0x60000000000000000e00000000010001"

    assert len(shared(disk("a", "sdb", wwn=tgt, **SAN), disk("b", "sdb", wwn=tgt, **SAN))) == 2


def test_bogus_nguid_of_local_nvme_merges_nothing_and_one_over_a_network_does() -> None:
    nguid = {"nguid": "0025385b71b07e2e0025385b71b07e2e", "size_bytes": "9", "model": "X"}

    assert len(shared(disk("a", "nvme0n1", **nguid), disk("b", "nvme0n1", **nguid))) == 2
    fabric = {**nguid, "transport": "nvme-tcp"}
    assert len(shared(disk("a", "nvme0n1", **fabric), disk("b", "nvme3n1", **fabric))) == 1


def test_image_of_one_name_in_two_ceph_clusters_is_two() -> None:
    image = {"rbd": "rbd/vm-101-disk-0"}
    same = [disk(name, "rbd0", **image, ceph_fsid="one") for name in ("a", "b")]

    assert shared(*same, disk("c", "rbd0", **image, ceph_fsid="two")) == [
        {"a:rbd0", "b:rbd0"},
        {"c:rbd0"},
    ]


def test_image_of_an_unknown_ceph_cluster_is_merged_with_none_and_says_so() -> None:
    image = {"rbd": "rbd/vm-101-disk-0"}
    told = disk("a", "rbd0", **image, ceph_fsid="one")

    found = datastores(told, disk("b", "rbd0", **image), disk("c", "rbd0", **image))

    assert [len(one.places) for one in found] == [1, 1, 1]
    assert [reason.text for reason in found[1].reasons] == [
        (
            "others have RBD image rbd/vm-101-disk-0, but the Ceph cluster of b:rbd0 is not "
            "known; the agent's reader on b tells it"
        )
    ]


def test_disk_of_which_nothing_is_known_says_what_would_be_needed() -> None:
    lun = disk("a", "sdb", wwn=WWN, **SAN)

    known, unknown = datastores(lun, disk("b", "sdb", size_bytes="9"))

    assert known.reasons == ()
    assert [(reason.rule, reason.merged, reason.text) for reason in unknown.reasons] == [
        (
            "unknown",
            False,
            (
                "whether other hosts use b:sdb is not known: neither WWN nor serial number is "
                "stated; to merge this disk with theirs, run the agent's reader on b"
            ),
        )
    ]


def test_facts_of_the_reader_merge_a_disk_whose_samples_state_no_number() -> None:
    # The samples are Telegraf's, without its option `device_tags`; the facts came beside them.
    seen = [*disk("a", "sdb", size_bytes="9"), *disk("b", "sdc", size_bytes="9")]

    assert len(shared(seen)) == 2
    assert shared(seen, disk("a", "sdb", wwn=WWN), disk("b", "sdc", wwn=WWN)) == [
        {"a:sdb", "b:sdc"}
    ]


def test_disk_of_the_only_host_has_nothing_to_be_merged_with() -> None:
    (found,) = datastores(disk("a", "sda", size_bytes="9"))

    assert found.reasons == ()


@pytest.mark.parametrize(
    ("other", "number"),
    [
        (("10.0.0.5", "/vm/", "10.0.0.5"), 1),
        (("nfs1.example.com", "//vm", "10.0.0.5"), 1),
        (("nfs1", "/vm", "10.9.0.5"), 2),
        (("nfs1", "/vm2", "10.0.0.5"), 2),
        (("localhost", "/vm", "127.0.0.1"), 2),
    ],
    ids=["by address", "by domain", "same short name elsewhere", "another export", "own"],
)
def test_export_is_one_by_server_and_path(other: tuple[str, str, str], number: int) -> None:
    found = shared(mount("a", "/mnt", "nfs1", "/vm", "10.0.0.5"), mount("b", "/mnt", *other))

    assert len(found) == number


def test_export_mounted_twice_on_one_host_counts_once() -> None:
    (found,) = datastores(mount("a", "/x", "n1", "/vm"), mount("a", "/y", "n1", "/vm"))

    assert found.measured == (Place("a", Kind.MOUNT, "/x"),)


def test_layers_are_not_counted_beside_their_disks() -> None:
    facts = [
        *disk("a", "sda", wwn="0x5000c500a1b2c3d4"),
        *disk("a", "sda2", size_bytes="9"),
        *disk("a", "dm-0", layer="luks", parent="sda2"),
        *disk("a", "dm-1", layer="lvm", parent="dm-0"),
        *disk("a", "sdb", wwn="0x5000c500a1b2c3d5"),
        *disk("a", "md0", parent=["sda3", "sdb1"]),
        *disk("a", "sda3", size_bytes="9"),
        *disk("a", "sdb1", size_bytes="9"),
        *disk("a", "dm-7", size_bytes="9"),
        *disk("a", "loop0", size_bytes="9"),
        *disk("a", "sr0", size_bytes="9"),
        *disk("a", "nvme0c1n1", size_bytes="9"),
        *disk("a", "nvme0n1", size_bytes="9"),
    ]

    stack = find_storage(Facts.of(facts)).stacks["a"]

    assert [one.place.subject for one in stack.disks] == ["nvme0n1", "sda", "sdb"]
    reasons = {one.place.subject: one.reason for one in stack.layers}
    assert reasons["dm-1"] == "a logical volume on sda, which counts its I/O"
    assert reasons["md0"] == "a RAID device over sda and sdb, which count its I/O"
    assert reasons["dm-7"] == ("a layer of disks that are not known; each disk counts its own I/O")
    assert [place.subject for place, _ in stack.left_out] == ["loop0", "sr0"]


LVM_PARTS = ["vg-root_rimage_0", "vg-root_rimage_1", "vg-root_rmeta_0", "vg-root_rmeta_1"]


def by_name(*devices: str) -> list[Fact]:
    """Devices of which nothing is known but their names, as `iostat -N` prints them."""
    return [fact for one in devices for fact in disk("a", one, size_bytes="1")]


def test_parts_of_a_logical_volume_are_layers_of_disks_beside_it() -> None:
    assert shared(by_name("sda", "sdb", "vg-root", *LVM_PARTS)) == [{"a:sda"}, {"a:sdb"}]


def test_logical_volume_is_not_counted_beside_its_parts() -> None:
    found = {place for places in shared(by_name("vg-root", *LVM_PARTS)) for place in places}

    assert "a:vg-root" not in found


@pytest.mark.parametrize("name", ["vg-root_image_0", "vg-rmeta", "data_rimages"])
def test_volume_with_a_name_like_that_of_a_part_is_none(name: str) -> None:
    found = {place for places in shared(by_name("sda", name)) for place in places}

    assert found == {"a:sda", f"a:{name}"}


def test_host_that_sends_layers_alone_is_measured_by_them() -> None:
    facts = [*disk("a", "dm-0", layer="lvm", parent="sda2"), *disk("a", "sda2", parent="sda")]
    sending = {Place("a", Kind.DEVICE, "dm-0")}

    (found,) = find_storage(Facts.of(facts, sending)).datastores

    assert found.measured == (Place("a", Kind.DEVICE, "dm-0"),)


def test_statement_of_a_mount_is_of_what_is_mounted_there() -> None:
    facts = [
        *about(Kind.MOUNT, "a", "nas-a:/vm", export="nas-a:/vm", mountpoint=["/mnt/a", "/mnt/b"]),
        *about(Kind.MOUNT, "b", "nas-b:/vm", export="nas-b:/vm", mountpoint="/mnt/b"),
        *about(Kind.MOUNT, "c", "nas-a:/vm", export="nas-a:/vm", mountpoint="/mnt/c"),
    ]
    rules = {
        "": [{"a:nas-a:/vm", "c:nas-a:/vm"}, {"b:nas-b:/vm"}],
        "same: a:/mnt/b b:/mnt/b": [{"a:nas-a:/vm", "b:nas-b:/vm", "c:nas-a:/vm"}],
        "same: a:nas-a:/vm b:nas-b:/vm": [{"a:nas-a:/vm", "b:nas-b:/vm", "c:nas-a:/vm"}],
        "apart: a:/mnt/a c:/mnt/c": [{"a:nas-a:/vm"}, {"b:nas-b:/vm"}, {"c:nas-a:/vm"}],
    }

    for text, places in rules.items():
        stated = Stated(statements=read_rules(text, tiers=[]).statements)
        assert shared(facts, stated=stated) == places


def test_machine_that_two_collectors_name_counts_once() -> None:
    facts = [
        fact
        for name in ("kvm-01", "kvm-01.example.com")
        for fact in (
            *host(name, boot_id="5f1c9ab2-1111-4e11-8111-123456789abc"),
            *disk(name, "sda", serial="S3Z9NB0K123456", model="SSD 870", transport="sata"),
        )
    ]

    (found,) = datastores(facts)

    assert found.measured == (Place("kvm-01", Kind.DEVICE, "sda"),)


def test_datastore_that_a_person_described_keeps_its_places_and_takes_others() -> None:
    facts = [disk(name, "sdb", wwn=WWN, **SAN) for name in ("a", "b")]
    lone = disk("c", "sdb", wwn=OTHER_WWN, **SAN)
    places = [Place(name, Kind.DEVICE, "sdb") for name in ("a", "c")]
    stated = Stated(owners=dict.fromkeys(places, "vmstore"))

    assert shared(*facts, lone, stated=stated) == [{"a:sdb", "c:sdb"}, {"b:sdb"}]
    mine = Stated(owners={places[0]: "vmstore"})
    assert shared(*facts, lone, stated=mine) == [{"a:sdb", "b:sdb"}, {"c:sdb"}]
    both = Stated(owners={places[0]: "mine", Place("b", Kind.DEVICE, "sdb"): "yours"})
    assert shared(*facts, lone, stated=both) == [{"a:sdb"}, {"b:sdb"}, {"c:sdb"}]


def test_keys_of_a_cloned_number_hold_on_their_machine() -> None:
    facts = [
        disk(name, "sda", serial="S3Z9NB0K123456", model="SSD 870", transport="sata")
        for name in ("a", "b")
    ]

    keys = [one.keys[0] for one in datastores(*facts)]

    assert keys == ["serial:/ssd870/s3z9nb0k123456@a", "serial:/ssd870/s3z9nb0k123456@b"]


def test_keys_of_a_disk_on_a_network_are_the_same_whatever_is_beside_it() -> None:
    lun = disk("a", "sdb", wwn=WWN, **SAN)
    local = disk("a", "sda", serial="S3Z9NB0K123456", model="SSD 870", transport="sata")

    keys = [
        next(one.keys for one in datastores(*facts) if "device:a:sdb" in one.keys)
        for facts in ([lun], [lun, local])
    ]

    # Nothing says that it may be a copy, so it is known by its number on any machine.
    assert keys == [(f"wwn:{WWN[2:]}", "device:a:sdb")] * 2


def named(found: FoundDatastore) -> str:
    return found.name


def test_name_of_an_export_is_the_one_that_people_read_best() -> None:
    (found,) = datastores(
        mount("a", "/mnt", "10.0.0.5", "/vm", "10.0.0.5"),
        mount("b", "/mnt", "nfs1", "/vm", "10.0.0.5"),
    )

    assert named(found) == "nfs1:/vm"
