"""One agent per device, whatever its state directory and whatever the device is called."""

import os
from pathlib import Path

import pytest

from enforcers.contract import Outcome
from enforcers.device_locks import DeviceLocks, folder_for_locks, identity
from enforcers.errors import DeviceTaken, StateError
from enforcers.host_fs import HostFs
from enforcers.recovery import recover
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import document, vnic
from tests.enforcers.rig import Rig, start_rig

FIRST = document(vnic(1, 75e6))
OTHER = document(vnic(1, 10e6))
UP0 = ("tc_htb", "up0")


def two_rigs(folder: Path, tc: FakeTc) -> tuple[Rig, Rig]:
    """Two agents on one kernel with state directories of their own."""
    rigs = []
    for name in ("a", "b"):
        (folder / name).mkdir()
        rigs.append(start_rig(folder / name, tc, run_dir=folder / "run"))
    return rigs[0], rigs[1]


def find(rig: Rig) -> None:
    recover(rig.mechanisms, rig.ledger, rig.locks, was_in_force=False)


def test_second_agent_leaves_a_governed_device_alone_and_says_whose_it_is(
    tmp_path: Path, tc: FakeTc
) -> None:
    first, second = two_rigs(tmp_path, tc)
    first.enforcement.run(FIRST, previous=None, now_s=0.0)
    before = tc.text("up0")

    find(second)
    (enforced,) = second.enforcement.run(OTHER, previous=None, now_s=0.0).enforced
    problems = second.enforcement.run(None, previous=None, now_s=0.0).problems

    assert tc.text("up0") == before
    assert second.ledger.entries() == ()
    assert enforced.outcome is Outcome.UNSUPPORTED
    assert problems == ()


def test_device_that_two_agents_want_goes_to_the_first(tmp_path: Path, tc: FakeTc) -> None:
    first, second = two_rigs(tmp_path, tc)
    first.locks.hold(UP0)

    (enforced,) = second.enforcement.run(OTHER, previous=None, now_s=0.0).enforced

    assert tc.commands == []
    assert enforced.outcome is Outcome.FAILED
    assert enforced.reason.startswith(
        f"another agent governs up0 (process {os.getpid()}, state directory {tmp_path / 'a'}); "
    )


def test_agent_that_goes_on_with_what_is_there_keeps_others_out(
    tmp_path: Path, tc: FakeTc
) -> None:
    first, second = two_rigs(tmp_path, tc)
    first.enforcement.run(FIRST, previous=None, now_s=0.0)
    first.locks.release(UP0)

    again = start_rig(tmp_path / "a", tc, run_dir=tmp_path / "run")
    again.enforcement.run(FIRST, previous=None, now_s=0.0)

    with pytest.raises(DeviceTaken, match="another agent governs up0"):
        second.locks.hold(UP0)


def test_device_that_was_put_back_is_free_for_another_agent(tmp_path: Path, tc: FakeTc) -> None:
    first, second = two_rigs(tmp_path, tc)
    first.enforcement.run(FIRST, previous=None, now_s=0.0)
    first.enforcement.run(None, previous=None, now_s=1.0)

    (enforced,) = second.enforcement.run(OTHER, previous=None, now_s=2.0).enforced

    assert enforced.outcome is Outcome.APPLIED


def host(folder: Path) -> HostFs:
    for path, text in (
        ("sys/class/net/up0/ifindex", "7\n"),
        ("sys/class/block/sda/dev", "8:0\n"),
        ("proc/self/ns/net", ""),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return HostFs(folder)


def test_block_device_has_one_identity_by_name_and_by_number(tmp_path: Path) -> None:
    host_fs = host(tmp_path)

    assert identity(host_fs, "sda") == identity(host_fs, "8:0") == "block-8-0"


def test_interface_keeps_its_identity_when_it_is_renamed(tmp_path: Path) -> None:
    host_fs = host(tmp_path)
    before = identity(host_fs, "up0")
    (tmp_path / "sys/class/net/up0").rename(tmp_path / "sys/class/net/up9")

    assert identity(host_fs, "up9") == before
    assert identity(host_fs, "up0") != before


def test_folder_of_all_agents_is_used_where_the_agent_may(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert folder_for_locks(tmp_path / "run", tmp_path / "own") == tmp_path / "run"
    assert folder_for_locks(tmp_path / "file/run", tmp_path / "own") == tmp_path / "own"


def test_lock_that_cannot_be_made_is_an_error_of_the_state(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    locks = DeviceLocks(tmp_path / "file/run", HostFs(tmp_path), owner=tmp_path)

    with pytest.raises(StateError, match="cannot be opened: Not a directory"):
        locks.hold(UP0)


def test_mount_or_export_can_be_locked_by_its_name(tmp_path: Path) -> None:
    host_fs = HostFs(tmp_path)
    names = ["/mnt/vm", "nas:/export/vm", "/mnt/" + 400 * "x"]
    first = DeviceLocks(tmp_path / "run", host_fs, owner=tmp_path / "a")
    second = DeviceLocks(tmp_path / "run", host_fs, owner=tmp_path / "b")

    for name in names:
        first.hold(("qemu_throttle", name))

    for name in names:
        with pytest.raises(DeviceTaken, match="another agent governs"):
            second.hold(("qemu_throttle", name))
    second.hold(("qemu_throttle", "/mnt/vm2"))
    first.close()
    second.close()
