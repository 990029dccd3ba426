"""Whether what is found now is what is remembered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingest.core.identity.tracking import Known, track

keys = st.lists(
    st.sampled_from(
        [f"{kind}:{number}" for kind in ("wwn", "serial", "device", "node") for number in "123"]
    ),
    unique=True,
    min_size=1,
    max_size=4,
)
things = st.lists(keys, max_size=6).map(
    lambda lists: [Known(number=at, keys=tuple(found)) for at, found in enumerate(lists)]
)


@given(things, things)
def test_each_remembered_thing_is_found_once_absorbed_or_vanished(
    remembered: list[Known], found: list[Known]
) -> None:
    tracked = track(remembered, found)
    again, absorbed = list(tracked.known.values()), set(tracked.absorbed)

    assert len(set(again)) == len(again)
    assert set(again) | absorbed | tracked.vanished == {one.number for one in remembered}
    assert not set(again) & absorbed
    assert not (set(again) | absorbed) & tracked.vanished


@given(things)
def test_what_has_not_changed_is_all_found_again(remembered: list[Known]) -> None:
    distinct = {key for one in remembered for key in one.keys}
    alone = [
        one
        for one in remembered
        if all(key not in other.keys for other in remembered if other != one for key in one.keys)
    ]

    assert track(alone, alone).known == {one.number: one.number for one in alone}
    assert len(distinct) >= len(alone)


def disk(number: int, device: str, serial: str = "") -> Known:
    own = (f"serial:{serial}@a",) if serial else ()
    return Known(number=number, keys=(*own, f"device:a:{device}"))


def test_disks_that_changed_their_names_stay_themselves() -> None:
    before = [disk(1, "sda", "one"), disk(2, "sdb", "two")]

    found = track(before, [disk(0, "sda", "two"), disk(1, "sdb", "one")])

    assert found.known == {0: 2, 1: 1}


def test_disk_that_took_the_place_of_another_is_new() -> None:
    found = track([disk(1, "sda", "one")], [disk(0, "sda", "other")])

    assert (found.known, found.vanished) == ({}, {1})


def test_disk_whose_serial_number_becomes_known_stays_itself() -> None:
    assert track([disk(1, "sda")], [disk(0, "sda", "one")]).known == {0: 1}


def test_two_volumes_that_turn_out_to_be_one_are_the_older() -> None:
    both = Known(number=0, keys=("wwn:6001", "device:a:sdb", "device:b:sdb"))
    before = [
        Known(number=7, keys=("device:b:sdb",)),
        Known(number=5, keys=("device:a:sdb",)),
    ]

    found = track(before, [both])

    assert (found.known, found.absorbed) == ({0: 5}, {7: 0})


def test_what_a_person_stated_is_kept_before_what_is_older() -> None:
    both = Known(number=0, keys=("wwn:6001", "device:a:sdb", "device:b:sdb"))
    before = [
        Known(number=5, keys=("device:a:sdb",)),
        Known(number=7, keys=("device:b:sdb",), stated=True),
    ]

    assert track(before, [both]).known == {0: 7}


def guest(number: int, name: str, pid: str | None, *own: str, host: str = "pve1") -> Known:
    keys = (*own, f"node:{host}/qemu/101")
    return Known(number=number, keys=keys, hosts=frozenset({host}), name=name, pid=pid)


def test_vmid_that_is_used_again_is_another_workload() -> None:
    assert track([guest(1, "db1", "42")], [guest(0, "web9", "43")]).known == {}


def test_vm_that_was_renamed_while_it_runs_stays_itself() -> None:
    assert track([guest(1, "db1", "42")], [guest(0, "db-orders", "42")]).known == {0: 1}


def test_vm_that_migrates_stays_itself_by_uuid_or_cluster() -> None:
    for own in ("uuid:b1f0", "guest:prod/qemu/101"):
        before = [guest(1, "db1", "42", own)]

        assert track(before, [guest(0, "db1", "77", own, host="pve2")]).known == {0: 1}


def test_copy_of_a_vm_with_its_uuid_is_another_workload() -> None:
    before = [guest(1, "db1", "42", "uuid:b1f0")]

    found = track(before, [guest(0, "db1-copy", "77", "uuid:b1f0", host="pve2")])

    assert found.known == {}
