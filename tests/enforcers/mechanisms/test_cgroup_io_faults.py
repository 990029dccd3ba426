"""What goes wrong on a disk with limits, weights and iocost: each is told, and can be put back."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from enforcers.contract import Outcome
from enforcers.enforcement import PassResult
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from tests.enforcers.fake_cgroups import GUESSED, GUESSED_QOS, MOUNT, FakeCgroups
from tests.enforcers.fake_tc import FakeTc, Killed
from tests.enforcers.faults import Fault, FaultyCgroups, Steps, faulty_disk
from tests.enforcers.policies import document, group
from tests.enforcers.rig import Rig, start_rig

A, B = "/machine.slice/a", "/machine.slice/b"
FOUND = "8:0 rbps=max wbps=max riops=900 wiops=max\n"
OLD = document(group(A, shares=300, limit=500.0), group(B))
NEW = document(group(A, shares=100, limit=300.0), group(B, shares=400, limit=200.0), revision=2)
ERRORS = {"EBUSY": 16, "ENODEV": 19, "EINVAL": 22, "ENOSPC": 28}


class ErringCgroups(FaultyCgroups):
    """Refuses the n-th write with an error of the kernel."""

    refused: tuple[int, int] | None = None
    count = 0

    def write(self, host_path: str, text: str) -> None:
        self.count += 1
        if self.refused is not None and self.count == self.refused[0]:
            raise OSError(self.refused[1], "as the kernel says")
        super().write(host_path, text)


def a_host(folder: Path) -> ErringCgroups:
    cgroups = ErringCgroups(folder / "root", iocost=False)
    cgroups.add_group(A, io_max=FOUND)
    cgroups.add_group(B)
    return cgroups


def start(folder: Path, cgroups: FakeCgroups) -> Rig:
    devices = frozenset({"8:0"})
    config = CgroupIoConfig(
        subtrees=frozenset({"/machine.slice"}), devices=devices, capacity_is_measured=devices
    )
    return start_rig(folder, FakeTc(), host_fs=cgroups, configs={"cgroup_io": config})


def kernel(cgroups: FakeCgroups) -> tuple[str, ...]:
    """All that the agent may change; that iocost was told of a device once makes no difference."""
    device = [cgroups.read(f"{MOUNT}/io.cost.{control}") for control in ("model", "qos")]
    told = ["" if text in {GUESSED, GUESSED_QOS.format(0)} else text for text in device]
    groups = [cgroups.text(name, file) for name in (A, B) for file in ("io.max", "io.weight")]
    return (*told, *groups)


def outcomes(result: PassResult) -> dict[str, tuple[Outcome, str]]:
    return {one.allocation.selector.value: (one.outcome, one.reason) for one in result.enforced}


def in_force(folder: Path) -> tuple[str, ...]:
    """The kernel once NEW is in force."""
    folder.mkdir()
    cgroups = a_host(folder)
    assert not start(folder, cgroups).enforcement.run(NEW, previous=None, now_s=0.0).has_failed
    return kernel(cgroups)


@pytest.mark.parametrize("name", ERRORS)
def test_error_of_any_write_is_told_and_leaves_the_former_policy(
    tmp_path: Path, name: str
) -> None:
    wanted = in_force(tmp_path / "whole")
    for at in range(1, 30):
        folder = tmp_path / f"{at}"
        folder.mkdir()
        cgroups = a_host(folder)
        found = kernel(cgroups)
        rig = start(folder, cgroups)
        rig.enforcement.run(OLD, previous=None, now_s=0.0)
        former = kernel(cgroups)
        cgroups.count, cgroups.refused = 0, (at, ERRORS[name])

        failed = rig.enforcement.run(NEW, previous=OLD, now_s=10.0)
        if not failed.has_failed:
            # Fewer would mean that weights or limits are no longer written.
            assert at > 4
            return
        after = kernel(cgroups)
        again = rig.enforcement.run(NEW, previous=OLD, now_s=1000.0)

        assert {outcome for outcome, _ in outcomes(failed).values()} == {Outcome.FAILED}
        assert all("as the kernel says" in reason for _, reason in outcomes(failed).values())
        assert after == former
        assert not again.has_failed
        assert kernel(cgroups) == wanted
        rig.enforcement.run(None, previous=None, now_s=1001.0)
        assert kernel(cgroups) == found
        assert rig.ledger.entries() == ()


def killed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> Iterator[tuple[Path, FaultyCgroups]]:
    """For each step of enforcing NEW a host where the agent was killed at it."""
    for at in range(1, 200):
        place = folder / f"{at}"
        place.mkdir()
        cgroups = a_host(place)
        rig = start(place, cgroups)
        steps = cgroups.steps = Steps(fault, at)
        with faulty_disk(monkeypatch, steps), suppress(Killed):
            rig.enforcement.run(NEW, previous=None, now_s=0.0)
        rig.locks.close()
        cgroups.steps = None
        if not steps.was_reached:
            # Fewer would mean that iocost, weights or limits are no longer written.
            assert at > 15
            return
        yield place, cgroups


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault.KILL, Fault.KILL_HALFWAY], ids=str)
def test_next_agent_puts_iocost_and_weights_back_wherever_the_last_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    (tmp_path / "found").mkdir()
    found = kernel(a_host(tmp_path / "found"))
    for place, cgroups in killed(tmp_path, monkeypatch, fault):
        rig = start(place, cgroups)

        rig.enforcement.run(None, previous=None, now_s=0.0)

        assert rig.ledger.lost is None
        assert kernel(cgroups) == found
        assert rig.ledger.entries() == ()


@pytest.mark.parametrize("control", ["model", "qos"])
def test_iocost_that_somebody_else_changed_is_drift_and_put_right(
    tmp_path: Path, control: str
) -> None:
    cgroups = a_host(tmp_path)
    rig = start(tmp_path, cgroups)
    first = outcomes(rig.enforcement.run(OLD, previous=None, now_s=0.0))
    right = kernel(cgroups)
    other = {
        "model": "8:0 ctrl=user model=linear rbps=9 rseqiops=9 rrandiops=9 wbps=9 wseqiops=9 "
        "wrandiops=9\n",
        "qos": GUESSED_QOS.format(0),
    }
    cgroups.put(f"{MOUNT}/io.cost.{control}", other[control])

    drifted = outcomes(rig.enforcement.run(OLD, previous=None, now_s=10.0))
    after = outcomes(rig.enforcement.run(OLD, previous=None, now_s=20.0))

    assert {outcome for outcome, _ in first.values()} <= {Outcome.APPLIED, Outcome.UNCHANGED}
    assert {outcome for outcome, _ in drifted.values()} == {Outcome.DRIFTED}
    assert all(f"io.cost.{control} 8:0" in reason for _, reason in drifted.values())
    assert {outcome for outcome, _ in after.values()} == {Outcome.UNCHANGED}
    assert kernel(cgroups) == right


def test_iocost_that_is_to_be_kept_is_left_as_somebody_else_changed_it(tmp_path: Path) -> None:
    cgroups = FakeCgroups(tmp_path / "root", iocost=True)
    for name in (A, B):
        cgroups.add_group(name)
    devices = frozenset({"8:0"})
    config = CgroupIoConfig(
        subtrees=frozenset({"/machine.slice"}), devices=devices, keep_iocost=devices
    )
    rig = start_rig(tmp_path, FakeTc(), host_fs=cgroups, configs={"cgroup_io": config})
    rig.enforcement.run(OLD, previous=None, now_s=0.0)
    other = cgroups.read(f"{MOUNT}/io.cost.qos").replace("max=150.00", "max=120.00")
    cgroups.put(f"{MOUNT}/io.cost.qos", other)

    seen = outcomes(rig.enforcement.run(OLD, previous=None, now_s=10.0))

    assert {outcome for outcome, _ in seen.values()} == {Outcome.UNCHANGED}
    assert cgroups.read(f"{MOUNT}/io.cost.qos") == other


def unplug(cgroups: FakeCgroups) -> None:
    """The disk is gone, and with it what the kernel had of it."""
    for place in ("sys/dev/block/8:0", "sys/class/block/sda"):
        (cgroups.root / place).rename(cgroups.root / f"gone-{place.rpartition('/')[2]}")
    for name in (A, B):
        cgroups.put(f"{MOUNT}{name}/io.max", "")
        cgroups.put(f"{MOUNT}{name}/io.weight", "default 100\n")
        cgroups.put(f"{MOUNT}{name}/io.stat", "")
    for control in ("model", "qos"):
        cgroups.put(f"{MOUNT}/io.cost.{control}", "")


def test_disk_that_is_unplugged_is_told_and_the_one_after_it_is_served(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)
    rig = start(tmp_path, cgroups)
    rig.enforcement.run(OLD, previous=None, now_s=0.0)
    rig.enforcement.follow(clock_s=lambda: 1.0)
    unplug(cgroups)
    writes = len(cgroups.writes)

    rig.enforcement.follow(clock_s=lambda: 2.0)
    gone = rig.enforcement.run(OLD, previous=None, now_s=10.0)
    rig.enforcement.follow(clock_s=lambda: 11.0)
    silent = len(cgroups.writes)
    for file, text in (("mq/0/nr_tags", "256\n"), ("dev", "8:0\n")):
        cgroups.put(f"/sys/dev/block/8:0/{file}", text)
    back = rig.enforcement.run(OLD, previous=None, now_s=20.0)

    assert {reason for _, reason in outcomes(gone).values()} == {"there is no block device '8:0'"}
    assert {outcome for outcome, _ in outcomes(gone).values()} == {Outcome.UNSUPPORTED}
    assert silent == writes
    assert not back.has_failed
    assert "riops=500" in cgroups.text(A, "io.max")
    rig.enforcement.run(None, previous=None, now_s=30.0)
    assert rig.ledger.entries() == ()


def test_disk_out_of_sight_is_not_said_to_be_as_it_was_found(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)
    rig = start(tmp_path, cgroups)
    rig.enforcement.run(OLD, previous=None, now_s=0.0)
    unplug(cgroups)

    gone = rig.enforcement.run(None, previous=None, now_s=10.0)
    noted = rig.ledger.entries()
    for file, text in (("mq/0/nr_tags", "256\n"), ("dev", "8:0\n")):
        cgroups.put(f"/sys/dev/block/8:0/{file}", text)
    back = rig.enforcement.run(None, previous=None, now_s=20.0)

    (problem,) = gone.problems
    assert problem == (
        "8:0 is not as it was found: there is no block device '8:0'; what was found on it is "
        "noted, and put back once it is there"
    )
    assert noted
    assert back.problems == ()
    assert rig.ledger.entries() == ()


def test_disk_that_goes_in_the_middle_of_a_pass_fails_and_is_told_in_the_next(
    tmp_path: Path,
) -> None:
    cgroups = a_host(tmp_path)
    rig = start(tmp_path, cgroups)
    write, count = cgroups.write, 0

    def write_or_go(host_path: str, text: str) -> None:
        nonlocal count
        count += 1
        if count == 4:
            unplug(cgroups)
        if count >= 4:
            raise OSError(ERRORS["ENODEV"], "No such device")
        write(host_path, text)

    cgroups.write = write_or_go  # type: ignore[method-assign]  # it goes between two writes

    failed = rig.enforcement.run(OLD, previous=None, now_s=0.0)
    told = rig.enforcement.run(OLD, previous=None, now_s=1000.0)

    assert all("No such device" in reason for _, reason in outcomes(failed).values())
    assert {reason for _, reason in outcomes(told).values()} == {"there is no block device '8:0'"}


def test_nothing_is_changed_whose_undoing_cannot_be_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state directory is read-only, for as long as the agent runs."""
    cgroups = a_host(tmp_path)
    found = kernel(cgroups)
    rig = start(tmp_path, cgroups)

    with faulty_disk(monkeypatch, Steps(Fault.FULL_DISK, 1)):
        results = [rig.enforcement.run(OLD, previous=None, now_s=100.0 * n) for n in range(5)]
        rig.enforcement.follow(clock_s=lambda: 600.0)
    untouched = kernel(cgroups)
    after = rig.enforcement.run(OLD, previous=None, now_s=1000.0)

    assert all(result.has_failed for result in results)
    assert untouched == found
    assert not after.has_failed


@pytest.mark.slow
def test_document_for_ten_thousand_workloads_serves_those_that_are_here(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)
    rig = start(tmp_path, cgroups)
    others = [group(f"/machine.slice/vm{number}") for number in range(9_998)]

    result = rig.enforcement.run(document(*OLD.allocations, *others), previous=None, now_s=0.0)

    told = outcomes(result)
    assert len(told) == 10_000
    assert told[A][0] is Outcome.APPLIED
    assert {told[item.selector.value][0] for item in others} == {Outcome.FAILED}
    assert told["/machine.slice/vm7"][1].startswith("there is no cgroup /machine.slice/vm7;")
    assert "riops=500" in cgroups.text(A, "io.max")
