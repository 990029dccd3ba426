"""What the agent left in the kernel is found again, whatever became of the ledger."""

from collections.abc import Callable
from pathlib import Path

import pytest

from enforcers.ledger import copy_of
from enforcers.recovery import Recovery, recover, why_doubtful
from tests.enforcers.agent_bench import UNTOUCHED
from tests.enforcers.fake_cgroups import FakeCgroups
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import datastore, desired, document, group, nothing, uplink, vnic
from tests.enforcers.rig import Rig, start_rig

FIRST = document(vnic(1, 75e6))
UPLINK = desired(uplink(), vnic(1, 75e6))
A = "/machine.slice/a"
LIMITED = desired(datastore(), group(A, limit=500.0))


def lose_ledger(folder: Path) -> None:
    (folder / "ledger.json").unlink()
    copy_of(folder / "ledger.json").unlink()


def damage_ledger(folder: Path) -> None:
    (folder / "ledger.json").write_bytes(b"{")
    copy_of(folder / "ledger.json").write_bytes(b"{")


def find(rig: Rig, *, by_force: bool = False) -> Recovery:
    return recover(rig.mechanisms, rig.ledger, rig.locks, was_in_force=True, by_force=by_force)


def put_back(rig: Rig) -> tuple[str, ...]:
    return rig.enforcement.run(None, previous=None, now_s=0.0).problems


@pytest.mark.parametrize("damage", [lose_ledger, damage_ledger])
@pytest.mark.parametrize("name", ["up0", "up9"], ids=["as it was", "renamed"])
def test_tree_without_a_ledger_is_put_back(
    tmp_path: Path, tc: FakeTc, rig: Rig, damage: Callable[[Path], None], name: str
) -> None:
    rig.apply("tc_htb", UPLINK)
    tc.devices[name] = tc.devices.pop("up0")
    damage(tmp_path)

    again = start_rig(tmp_path, tc)
    found = find(again)
    problems = put_back(again)

    assert [entry.device for entry in found.noted] == [name]
    assert problems == ()
    assert tc.text(name) == UNTOUCHED
    assert again.ledger.lost is None


def test_tree_without_a_ledger_is_taken_over_without_a_write(
    tmp_path: Path, tc: FakeTc, rig: Rig
) -> None:
    rig.enforcement.run(FIRST, previous=None, now_s=0.0)
    lose_ledger(tmp_path)
    count = len(tc.commands)

    again = start_rig(tmp_path, tc)
    find(again)
    again.enforcement.run(FIRST, previous=None, now_s=0.0)

    assert len(tc.commands) == count


def test_tree_that_the_ledger_knows_is_not_noted_again(
    tmp_path: Path, tc: FakeTc, rig: Rig
) -> None:
    rig.apply("tc_htb", UPLINK)

    again = start_rig(tmp_path, tc)
    before = again.ledger.entries()
    found = find(again)

    assert (found.noted, found.doubtful) == ((), ())
    assert again.ledger.entries() == before


def test_tree_of_somebody_else_is_left_alone(tmp_path: Path, tc: FakeTc) -> None:
    tc.devices["up0"].foreign = ["qdisc htb 1: root refcnt 2 r2q 10 default 0x2"]
    tc.devices["p1"].foreign = ["qdisc htb 51ce: root refcnt 2 r2q 10 default 0x30"]

    rig = start_rig(tmp_path, tc)
    found = find(rig)

    assert found.noted == ()
    assert put_back(rig) == ()
    assert tc.commands == []


@pytest.fixture
def limited(tmp_path: Path, tc: FakeTc) -> FakeCgroups:
    """A group with a limit of the agent's and one with a limit of somebody's; no ledger."""
    host_fs = FakeCgroups(tmp_path / "root", iocost=False)
    host_fs.add_group(A)
    host_fs.add_group("/machine.slice/b", io_max="8:0 rbps=max wbps=max riops=70 wiops=max\n")
    host_fs.add_group("/system.slice/c", io_max="8:0 rbps=max wbps=max riops=80 wiops=max\n")
    start_rig(tmp_path, tc, host_fs=host_fs).apply("cgroup_io", LIMITED)
    lose_ledger(tmp_path)
    return host_fs


def test_limits_of_unknown_origin_are_named_and_left(
    tmp_path: Path, tc: FakeTc, limited: FakeCgroups
) -> None:
    rig = start_rig(tmp_path, tc, host_fs=limited)
    found = find(rig)
    put_back(rig)

    assert [entry.thing for entry in found.doubtful] == [f"{A} io.max", "/machine.slice/b io.max"]
    said = why_doubtful(rig.ledger, found.doubtful)
    assert said.startswith("the ledger is gone, though a policy was in force; this may be")
    assert f"{A} io.max of 8:0" in said
    assert "riops=500" in limited.text(A, "io.max")
    # The next start still knows that something is unexplained.
    assert start_rig(tmp_path, tc, host_fs=limited).ledger.lost is not None


def test_force_puts_limits_in_the_configured_subtrees_to_the_default(
    tmp_path: Path, tc: FakeTc, limited: FakeCgroups
) -> None:
    rig = start_rig(tmp_path, tc, host_fs=limited)
    found = find(rig, by_force=True)

    assert put_back(rig) == ()
    assert found.doubtful == ()
    assert limited.text(A, "io.max") == ""
    assert limited.text("/machine.slice/b", "io.max") == ""
    assert "riops=80" in limited.text("/system.slice/c", "io.max")
    assert start_rig(tmp_path, tc, host_fs=limited).ledger.lost is None


def test_force_switches_iocost_off_that_nobody_explains(tmp_path: Path, tc: FakeTc) -> None:
    host_fs = FakeCgroups(tmp_path / "root", iocost=True)

    rig = start_rig(tmp_path, tc, host_fs=host_fs)
    found = find(rig)
    find(rig, by_force=True)

    assert [entry.thing for entry in found.doubtful] == ["io.cost.model", "io.cost.qos"]
    assert put_back(rig) == ()
    assert "enable=0" in host_fs.text("", "io.cost.qos")
    assert "ctrl=auto" in host_fs.text("", "io.cost.model")


def test_force_puts_what_the_ledger_tells_back_as_found(tmp_path: Path, tc: FakeTc) -> None:
    host_fs = FakeCgroups(tmp_path / "root", iocost=False)
    found = "8:0 rbps=max wbps=max riops=900 wiops=max\n"
    host_fs.add_group(A, io_max=found)
    rig = start_rig(tmp_path, tc, host_fs=host_fs)
    rig.apply("cgroup_io", LIMITED)

    find(rig, by_force=True)

    assert put_back(rig) == ()
    assert host_fs.text(A, "io.max") == found


def test_host_without_tc_can_be_restored(tmp_path: Path, tc: FakeTc) -> None:
    tc.is_installed = False

    rig = start_rig(tmp_path, tc)

    assert find(rig) == Recovery(noted=(), doubtful=())


def test_group_that_was_made_anew_keeps_its_own_limit(tmp_path: Path, tc: FakeTc) -> None:
    host_fs = FakeCgroups(tmp_path / "root", iocost=False)
    host_fs.add_group(A, io_max="8:0 rbps=max wbps=max riops=900 wiops=max\n")
    rig = start_rig(tmp_path, tc, host_fs=host_fs)
    rig.apply("cgroup_io", LIMITED)
    host_fs.remove_group(A)
    host_fs.add_group(A, io_max="8:0 rbps=max wbps=max riops=100 wiops=max\n")

    plan = rig.plan("cgroup_io", nothing("8:0"))

    assert plan.changes == ()
    assert len(plan.restored) == 1


def test_interface_that_is_no_longer_configured_is_put_back(
    tmp_path: Path, tc: FakeTc, rig: Rig
) -> None:
    rig.enforcement.run(FIRST, previous=None, now_s=0.0)

    again = start_rig(tmp_path, tc, interfaces=frozenset({"p2"}))
    (enforced,) = again.enforcement.run(FIRST, previous=FIRST, now_s=0.0).enforced

    assert tc.text("up0") == UNTOUCHED
    assert "is not among tc_htb.interfaces (now: p2)" in enforced.reason
    assert again.ledger.entries() == ()


def test_disk_that_is_no_longer_configured_is_put_back(tmp_path: Path, tc: FakeTc) -> None:
    host_fs = FakeCgroups(tmp_path / "root", iocost=False)
    host_fs.add_group(A)
    policy = document(group(A, limit=500.0))
    rig = start_rig(tmp_path, tc, host_fs=host_fs)
    rig.enforcement.run(policy, previous=None, now_s=0.0)
    during = host_fs.text(A, "io.max")

    again = start_rig(tmp_path, tc, host_fs=host_fs, devices=frozenset({"sdz"}))
    (enforced,) = again.enforcement.run(policy, previous=policy, now_s=0.0).enforced

    assert "riops=500" in during
    assert host_fs.text(A, "io.max") == ""
    assert "is not among cgroup_io.devices (now: sdz)" in enforced.reason
    assert again.ledger.entries() == ()


def test_lost_ledger_stays_lost_while_a_disk_is_out_of_sight(tmp_path: Path, tc: FakeTc) -> None:
    cgroups = FakeCgroups(tmp_path / "root", iocost=False)
    cgroups.add_group(A)
    start_rig(tmp_path, tc, host_fs=cgroups).apply("cgroup_io", LIMITED)
    lose_ledger(tmp_path)
    disk = tmp_path / "root/sys/dev/block/8:0"
    disk.rename(tmp_path / "out-of-sight")
    again = start_rig(tmp_path, tc, host_fs=cgroups)

    unseen = find(again)
    was_lost = again.ledger.lost
    (tmp_path / "out-of-sight").rename(disk)
    seen = find(again)

    assert unseen.unseen == ("8:0 (there is no block device '8:0')",)
    assert was_lost is not None
    assert seen.unseen == ()
    assert [entry.thing for entry in seen.doubtful] == [f"{A} io.max"]


def test_restore_that_fails_midway_does_not_go_back_to_the_policy(
    tmp_path: Path, tc: FakeTc
) -> None:
    cgroups = FakeCgroups(tmp_path / "root", iocost=False)
    for name in (A, "/machine.slice/b"):
        cgroups.add_group(name)
    rig = start_rig(tmp_path, tc, host_fs=cgroups)
    policy = document(group(A, limit=500.0), group("/machine.slice/b", limit=500.0))
    rig.enforcement.run(policy, previous=None, now_s=0.0)
    cgroups.refuse = "/machine.slice/b"

    failed = rig.enforcement.run(None, previous=None, now_s=1.0)
    first, second = cgroups.text(A, "io.max"), cgroups.text("/machine.slice/b", "io.max")
    cgroups.refuse = None
    again = rig.enforcement.run(None, previous=None, now_s=100.0)

    assert len(failed.problems) == 1
    assert (first, "riops=500" in second) == ("", True)
    assert again.problems == ()
    assert rig.ledger.entries() == ()
