"""Limits of virtual disks, against guests in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from enforcers.contract import (
    Allocation,
    ControlKind,
    IoCount,
    LimitScope,
    Outcome,
    PolicyDocument,
    ResourceSpec,
    Selector,
    Unit,
)
from enforcers.enforcement import PassResult
from enforcers.host_fs import HostFs
from enforcers.mechanism import Desired, FindsUnlikeDefault, SeesObstacles
from enforcers.mechanisms.qemu_throttle.config import QemuThrottleConfig
from tests.enforcers.fake_guests import FOLDER, FakeGuests
from tests.enforcers.policies import datastore, document, group
from tests.enforcers.recorded_runner import RecordedRunner
from tests.enforcers.rig import Rig, start_rig

NFS = datastore(device=FOLDER, mechanism="qemu_throttle")
OURS = {"iops": 500, "group": "sluice/scsi0"}


@pytest.fixture
def guests(tmp_path: Path) -> FakeGuests:
    return FakeGuests(tmp_path / "host")


@pytest.fixture
def rig(tmp_path: Path, guests: FakeGuests) -> Rig:
    return rig_of(tmp_path, guests)


def rig_of(tmp_path: Path, guests: FakeGuests, *devices: str, dry_run: bool = False) -> Rig:
    allowed = frozenset(devices or {FOLDER})
    return start_rig(
        tmp_path,
        RecordedRunner(),
        host_fs=HostFs(tmp_path / "host"),
        monitors=guests,
        configs={"qemu_throttle": QemuThrottleConfig(devices=allowed)},
        dry_run=dry_run,
    )


def disk(name: str, limit: float | None = 500.0, **change: Any) -> Allocation:
    values: dict[str, Any] = {
        "id": f"io-{name}", "workload": name.rpartition("/")[0] or "vm", "resource": "ds1",
        "selector": Selector(kind="vdisk", value=name), "limit": limit,
    }  # fmt: skip
    return group("/x", **{**values, **change})


def policy(*allocations: Allocation, spec: ResourceSpec = NFS) -> PolicyDocument:
    return document(*allocations, resources=(spec,))


def enforce(
    rig: Rig, *allocations: Allocation, spec: ResourceSpec = NFS, now_s: float = 0.0
) -> PassResult:
    wanted = policy(*allocations, spec=spec) if allocations else None
    return rig.enforcement.run(wanted, previous=None, now_s=now_s)


def outcomes(result: PassResult) -> dict[str, tuple[Outcome, str]]:
    return {item.allocation.id: (item.outcome, item.reason) for item in result.enforced}


def test_limit_is_set_read_back_and_measured(guests: FakeGuests, rig: Rig) -> None:
    guest = guests.start(101, "scsi0", "scsi1")
    guest.disks["scsi0"].ios = 77

    first = enforce(rig, disk("qemu/101/scsi0")).enforced[0]
    again = enforce(rig, disk("qemu/101/scsi0")).enforced[0]

    assert (first.outcome, again.outcome) == (Outcome.APPLIED, Outcome.UNCHANGED)
    assert guest.shown("scsi0") == OURS
    assert guest.shown("scsi1") == {}
    assert first.seen.setting is not None
    assert first.seen.setting.limit == 500
    assert first.seen.counters is not None
    assert first.seen.counters.total == 77
    assert len(guest.orders) == 1
    (line,) = rig.audit()
    assert line["write"].endswith("to process 4101 at /run/101.qmp")
    assert (line["before"], line["after"]) == ("no limit", "iops=500 in group sluice/scsi0")


def test_reservation_and_shares_are_said_to_be_missing_and_the_limit_holds(
    guests: FakeGuests, rig: Rig
) -> None:
    guest = guests.start(101, "scsi0", "scsi1")

    result = enforce(
        rig, disk("qemu/101/scsi0", reservation=100.0, shares=300), disk("qemu/101/scsi1")
    )

    controls = result.enforced[0].controls.by_kind()
    assert {kind: found.outcome for kind, found in controls.items()} == {
        ControlKind.RESERVATION: Outcome.UNSUPPORTED,
        ControlKind.LIMIT: Outcome.APPLIED,
        ControlKind.SHARES: Outcome.UNSUPPORTED,
    }
    assert controls[ControlKind.SHARES].reason == "QEMU's throttling knows no shares"
    assert guest.shown("scsi0") == OURS


@pytest.mark.parametrize(
    ("unit", "change", "shown"),
    [
        (Unit.IOPS, {}, {"iops": 500, "bps_wr": 9, "bps_wr_max": 12}),
        (
            Unit.IOPS,
            {"io_count": IoCount.PER_32_KIB},
            {"iops": 500, "iops_size": 32768, "bps_wr": 9, "bps_wr_max": 12},
        ),
        (Unit.IOPS, {"limit": None}, {"bps_wr": 9, "bps_wr_max": 12}),
        (Unit.BYTES_PER_S, {}, {"bps": 500, "iops_rd": 7, "iops_size": 4096}),
    ],
    ids=["IOPS", "32 KiB", "no limit", "bytes"],
)
def test_limit_takes_the_place_of_those_in_its_unit_and_leaves_the_others(
    unit: Unit, change: dict[str, Any], shown: dict[str, int], guests: FakeGuests, rig: Rig
) -> None:
    guest = guests.start(101, "scsi0")
    guest.throttle("scsi0", iops_rd=7, iops_size=4096, bps_wr=9, bps_wr_max=12)

    enforce(rig, disk("qemu/101/scsi0", **change), spec=replace(NFS, unit=unit))

    assert guest.shown("scsi0") == {**shown, "group": "sluice/scsi0"}


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"iops": 200, "iops_max": 400, "iops_max_length": 3, "iops_size": 4096},
        {"bps_rd": 1, "iops_wr": 2, "group": "operator's own"},
    ],
    ids=["none", "burst", "named group"],
)
def test_what_was_found_comes_back_exactly_also_after_a_kill(
    found: dict[str, Any], tmp_path: Path, guests: FakeGuests
) -> None:
    guest = guests.start(101, "scsi0")
    if found:
        guest.throttle("scsi0", **found)
    before = guest.shown("scsi0")
    enforce(rig_of(tmp_path, guests), disk("qemu/101/scsi0"))
    # Another agent process, with what is on disk alone.
    killed = rig_of(tmp_path, guests)
    enforce(killed, disk("qemu/101/scsi0", limit=300.0))
    changed = guest.shown("scsi0")

    result = enforce(killed)

    assert changed["iops"] == 300
    assert guest.shown("scsi0") == before
    assert not result.problems
    assert killed.ledger.entries() == ()


def test_disk_that_leaves_the_policy_is_put_back_and_the_other_stays(
    guests: FakeGuests, rig: Rig
) -> None:
    guest = guests.start(101, "scsi0", "scsi1")
    enforce(rig, disk("qemu/101/scsi0"), disk("qemu/101/scsi1"))

    enforce(rig, disk("qemu/101/scsi0"))

    assert guest.shown("scsi0") == OURS
    assert guest.shown("scsi1") == {}
    assert [entry.thing for entry in rig.ledger.entries()] == ["qemu/101/scsi0"]


def test_somebody_elses_change_is_put_right(guests: FakeGuests, rig: Rig) -> None:
    guest = guests.start(101, "scsi0")
    enforce(rig, disk("qemu/101/scsi0"))
    guest.throttle("scsi0", iops=9000)

    found = outcomes(enforce(rig, disk("qemu/101/scsi0")))

    assert found["io-qemu/101/scsi0"][0] is Outcome.DRIFTED
    assert guest.shown("scsi0") == OURS


@pytest.mark.parametrize("pid", [4101, 5000], ids=["same number", "other number"])
def test_guest_that_was_started_again_is_replaced_and_what_its_own_start_set_comes_back(
    pid: int, guests: FakeGuests, rig: Rig
) -> None:
    first = guests.start(101, "scsi0")
    enforce(rig, disk("qemu/101/scsi0"))
    guests.stop(first)
    second = guests.start(101, "scsi0", pid=pid, started_at=2000)
    second.throttle("scsi0", iops=90)

    found = outcomes(enforce(rig, disk("qemu/101/scsi0")))
    limited = second.shown("scsi0")
    enforce(rig)

    assert found["io-qemu/101/scsi0"][0] is Outcome.REPLACED
    assert limited == OURS
    assert second.shown("scsi0") == {"iops": 90, "group": "scsi0"}


def test_other_guest_under_the_number_of_one_that_ended_is_left_alone(
    guests: FakeGuests, rig: Rig
) -> None:
    first = guests.start(101, "scsi0")
    enforce(rig, disk("qemu/101/scsi0"))
    guests.stop(first)
    other = guests.start(102, "scsi0", pid=first.pid, started_at=2000)
    other.throttle("scsi0", iops=90)

    result = enforce(rig)

    assert not result.problems
    assert rig.ledger.entries() == ()
    assert other.shown("scsi0") == {"iops": 90, "group": "scsi0"}
    assert other.orders == []


def test_socket_that_another_guest_has_opened_is_not_told_anything(
    guests: FakeGuests, rig: Rig
) -> None:
    guests.start(101, "scsi0")
    # Its command line names the same socket, which is now the second one's.
    usurper = guests.start(101, "scsi0", pid=9000)
    (guests._root / "proc/9000/cgroup").write_text("0::/qemu.slice/102.scope\n")

    found = outcomes(enforce(rig, disk("qemu/101/scsi0")))

    outcome, reason = found["io-qemu/101/scsi0"]
    assert outcome is Outcome.FAILED
    assert reason == (
        "the guest qemu/101 cannot be asked: its QMP socket /run/101.qmp belongs to process "
        "9000, not to 4101"
    )
    assert usurper.orders == []


def test_guest_that_hangs_fails_alone(guests: FakeGuests, rig: Rig) -> None:
    hung, well = guests.start(101, "scsi0"), guests.start(102, "scsi0")
    hung.hangs = True

    found = outcomes(enforce(rig, disk("qemu/101/scsi0"), disk("qemu/102/scsi0")))

    assert found["io-qemu/101/scsi0"] == (
        Outcome.FAILED,
        (
            "the guest qemu/101 cannot be asked: its QMP socket /run/101.qmp did not answer in "
            "1 s; another may use it"
        ),
    )
    assert found["io-qemu/102/scsi0"][0] is Outcome.APPLIED
    assert well.shown("scsi0") == OURS


def test_guest_that_answers_again_was_not_started_again(guests: FakeGuests, rig: Rig) -> None:
    guest = guests.start(101, "scsi0")
    guest.hangs = True
    enforce(rig, disk("qemu/101/scsi0"))
    guest.hangs = False
    first = enforce(rig, disk("qemu/101/scsi0")).enforced[0].outcome
    guest.hangs = True
    enforce(rig, disk("qemu/101/scsi0"))
    guest.hangs = False
    guest.throttle("scsi0", iops=9000)
    then = enforce(rig, disk("qemu/101/scsi0")).enforced[0].outcome

    assert (first, then) == (Outcome.APPLIED, Outcome.DRIFTED)


def test_restore_says_which_guest_hangs_and_puts_the_others_back(
    guests: FakeGuests, rig: Rig
) -> None:
    hung, well = guests.start(101, "scsi0"), guests.start(102, "scsi0")
    enforce(rig, disk("qemu/101/scsi0"), disk("qemu/102/scsi0"))
    hung.hangs = True

    first = enforce(rig)
    back = well.shown("scsi0")
    hung.hangs = False
    second = enforce(rig, now_s=60.0)

    assert "qemu/101/scsi0 cannot be put back: the guest cannot be asked" in first.problems[0]
    assert back == {}
    assert not second.problems
    assert hung.shown("scsi0") == {}
    assert rig.ledger.entries() == ()


def test_guest_that_vanishes_between_look_and_write_fails_with_its_socket(
    guests: FakeGuests, rig: Rig
) -> None:
    guest = guests.start(101, "scsi0")
    wanted = policy(disk("qemu/101/scsi0"))
    mechanism = rig.mechanisms["qemu_throttle"]
    desired = _desired(wanted)
    plan = mechanism.plan(desired, mechanism.observe(desired, ()))
    guests.stop(guest)

    execution = mechanism.apply(plan, rig.executor)

    assert execution.error is not None
    assert execution.error.endswith("to process 4101 at /run/101.qmp: Connection refused")
    assert not enforce(rig).problems
    assert rig.ledger.entries() == ()


def test_order_whose_answer_is_lost_counts_as_made_and_is_taken_back(
    guests: FakeGuests, rig: Rig
) -> None:
    guest, well = guests.start(101, "scsi0"), guests.start(102, "scsi0")
    guest.loses_answers = True

    found = outcomes(enforce(rig, disk("qemu/102/scsi0"), disk("qemu/101/scsi0")))
    kept = [entry.thing for entry in rig.ledger.entries()]
    guest.loses_answers = False
    enforce(rig, now_s=60.0)

    assert found["io-qemu/101/scsi0"][0] is Outcome.FAILED
    assert "closed the connection" in found["io-qemu/101/scsi0"][1]
    assert "qemu/101/scsi0" in kept
    assert guest.shown("scsi0") == well.shown("scsi0") == {}


def test_guest_that_refuses_says_why(guests: FakeGuests, rig: Rig) -> None:
    guest = guests.start(101, "scsi0")
    guest.refuses = "values must be within [0, 1000000000000000]"

    outcome, reason = outcomes(enforce(rig, disk("qemu/101/scsi0")))["io-qemu/101/scsi0"]

    assert outcome is Outcome.FAILED
    assert "refused block_set_io_throttle: values must be within" in reason
    assert guest.shown("scsi0") == {}


@pytest.mark.parametrize(
    ("item", "outcome", "reason"),
    [
        (disk("qemu/999/scsi0"), Outcome.FAILED, "no guest qemu/999 runs here"),
        (
            disk("qemu/101/scsi7"), Outcome.FAILED,
            "the guest qemu/101 has no disk scsi7; it has scsi0, scsi1, scsi2",
        ),
        (disk("scsi0"), Outcome.UNSUPPORTED, "'scsi0' names no disk of a guest"),
        (disk("qemu/101/"), Outcome.UNSUPPORTED, "'qemu/101/' names no disk of a guest"),
        (disk("qemu/101/../scsi0"), Outcome.FAILED, "no guest qemu/101/.. runs here"),
        (
            disk("qemu/101/scsi0", selector=Selector(kind="cgroup", value="/x")),
            Outcome.UNSUPPORTED, "recognises workloads by vdisk, not by cgroup",
        ),
        (
            disk("qemu/101/scsi0", 0.5),
            Outcome.UNSUPPORTED, "QEMU takes whole numbers from 1; 0.5 would be exceeded",
        ),
        (
            disk("qemu/101/scsi1"), Outcome.FAILED,
            "scsi1 of qemu/101 lies at /mnt/vm2/101-scsi1.qcow2, not on /mnt/vm",
        ),
        (
            disk("qemu/101/scsi2"), Outcome.UNSUPPORTED,
            "is throttled together with scsi1 in the group pool; give it a group of its own",
        ),
    ],
    ids=["no guest", "no disk", "no guest's name", "no disk's name", "dots", "selector",
         "too small", "elsewhere", "shared group"],
)  # fmt: skip
def test_disk_that_cannot_be_limited_is_named_with_the_reason(
    item: Allocation,
    outcome: Outcome,
    reason: str,
    guests: FakeGuests,
    rig: Rig,
) -> None:
    guest = guests.start(101, "scsi0", "scsi1", "scsi2")
    guest.disks["scsi1"].file = "/mnt/vm2/101-scsi1.qcow2"
    guest.throttle("scsi1", "pool", iops=9)
    guest.throttle("scsi2", "pool", iops=9)

    (found,) = enforce(rig, item).enforced

    assert found.outcome is outcome
    assert reason in found.reason
    assert guest.orders == []


def test_name_of_two_guests_is_refused_with_both(guests: FakeGuests, rig: Rig) -> None:
    guests.start(101, "scsi0")
    guests.start(101, "scsi0", pid=9000)

    (found,) = enforce(rig, disk("qemu/101/scsi0")).enforced

    assert found.outcome is Outcome.FAILED
    assert "2 guests are called qemu/101: processes 4101, 9000" in found.reason


def test_disk_of_two_allocations_is_the_first_ones(guests: FakeGuests, rig: Rig) -> None:
    guest = guests.start(101, "scsi0")

    found = outcomes(
        enforce(rig, disk("qemu/101/scsi0"), disk("qemu/101/scsi0", 9.0, id="second"))
    )

    assert found["second"][0] is Outcome.FAILED
    assert guest.shown("scsi0") == OURS


def test_guest_without_a_socket_says_what_to_do(guests: FakeGuests, rig: Rig) -> None:
    guests.start(101, "scsi0", has_monitor=False)
    guests.start(102, "scsi0")
    mechanism = rig.mechanisms["qemu_throttle"]
    assert isinstance(mechanism, SeesObstacles)

    (found,) = enforce(rig, disk("qemu/101/scsi0")).enforced
    seen = mechanism.obstacles()

    assert found.outcome is Outcome.FAILED
    assert "has no QMP socket" in found.reason
    assert seen["qemu/102"] is None
    assert seen["qemu/101"] is not None
    assert "-qmp unix:/run/NAME.qmp" in seen["qemu/101"].remedy


def test_nothing_is_touched_or_asked_that_the_configuration_does_not_name(
    tmp_path: Path, guests: FakeGuests
) -> None:
    guest = guests.start(101, "scsi0")
    rig = rig_of(tmp_path, guests, "/mnt/other")

    (found,) = enforce(rig, disk("qemu/101/scsi0")).enforced

    assert found.outcome is Outcome.UNSUPPORTED
    assert found.reason == "/mnt/vm is not among qemu_throttle.devices"
    assert guest.orders == []


def test_dry_run_says_what_it_would_do(tmp_path: Path, guests: FakeGuests) -> None:
    guest = guests.start(101, "scsi0")

    (found,) = enforce(rig_of(tmp_path, guests, dry_run=True), disk("qemu/101/scsi0")).enforced

    assert "dry run: would do qemu/101/scsi0 throttle: no limit -> iops=500" in found.reason
    assert guest.orders == []


POOL = {"limit_scope": LimitScope.POOLED}


def test_pooled_limit_is_one_group_of_the_disks(guests: FakeGuests, rig: Rig) -> None:
    guest = guests.start(101, "scsi0", "scsi1", "scsi2")

    result = enforce(
        rig,
        disk("qemu/101/scsi0", **POOL),
        disk("qemu/101/scsi1", **POOL),
        disk("qemu/101/scsi2", 90.0),
    )
    limited = [guest.shown(name) for name in guest.disks]
    enforce(rig)

    pool = {"iops": 500, "group": "sluice//mnt/vm/qemu/101"}
    assert limited == [pool, pool, {"iops": 90, "group": "sluice/scsi2"}]
    assert {found.outcome for found in result.enforced} == {Outcome.APPLIED}
    assert [guest.shown(name) for name in guest.disks] == [{}, {}, {}]


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (disk("qemu/101/scsi1", 300.0, **POOL), "different sums; the smallest holds"),
        (
            disk("qemu/101/scsi1", io_count=IoCount.PER_32_KIB, **POOL),
            "count I/Os in different ways",
        ),
        (
            disk("qemu/102/scsi0", workload="qemu/101", **POOL),
            "QEMU holds the disks of one guest together",
        ),
    ],
    ids=["sums", "counting", "guests"],
)
def test_pool_that_a_group_cannot_hold_is_said_and_held_as_far_as_it_goes(
    second: Allocation, reason: str, guests: FakeGuests, rig: Rig
) -> None:
    guest = guests.start(101, "scsi0", "scsi1")
    guests.start(102, "scsi0")

    result = enforce(rig, disk("qemu/101/scsi0", **POOL), second)
    again = enforce(rig, disk("qemu/101/scsi0", **POOL), second)

    assert {found.outcome for found in result.enforced} == {Outcome.UNSUPPORTED}
    assert all(reason in found.reason for found in result.enforced)
    assert 300 <= guest.shown("scsi0")["iops"] <= 500
    assert not again.is_changed


def test_pool_does_not_replace_a_limit_in_another_unit(guests: FakeGuests, rig: Rig) -> None:
    guest = guests.start(101, "scsi0", "scsi1")
    guest.throttle("scsi1", bps=10)

    result = enforce(rig, disk("qemu/101/scsi0", **POOL), disk("qemu/101/scsi1", **POOL))

    assert {found.outcome for found in result.enforced} == {Outcome.UNSUPPORTED}
    assert guest.orders == []


def test_lost_ledger_leaves_disks_that_carry_the_agents_mark_to_be_found(
    guests: FakeGuests, rig: Rig
) -> None:
    guest = guests.start(101, "scsi0", "scsi1")
    enforce(rig, disk("qemu/101/scsi0"))
    guest.throttle("scsi1", iops=9)
    mechanism = rig.mechanisms["qemu_throttle"]
    assert isinstance(mechanism, FindsUnlikeDefault)

    found = mechanism.find_unlike_default()

    assert [(entry.device, entry.thing, entry.identity) for entry in found] == [
        (FOLDER, "qemu/101/scsi0", "4101/1000")
    ]
    rig.ledger.release(rig.ledger.entries())
    rig.ledger.record(found)
    enforce(rig)
    assert guest.shown("scsi0") == {}


def test_ledger_of_no_use_is_a_problem_and_not_a_guess(guests: FakeGuests, rig: Rig) -> None:
    guest = guests.start(101, "scsi0")
    enforce(rig, disk("qemu/101/scsi0"))
    (entry,) = rig.ledger.entries()
    rig.ledger.release((entry,))
    rig.ledger.record((replace(entry, found="[]"),))

    assert "no throttle of a disk" in enforce(rig).problems[0]
    assert guest.shown("scsi0") == OURS


@pytest.mark.parametrize(
    "answers",
    [
        (None, None),
        ([7, {}, {"qdev": 5, "inserted": {}}, {"qdev": "a", "inserted": None}], []),
        ([{"qdev": "a", "device": "", "inserted": {"iops": "9", "group": 7, "file": 9}}], [{}]),
    ],
    ids=["no lists", "no disks", "odd values"],
)
def test_odd_answers_are_no_disks_with_limits(
    answers: tuple[Any, Any], guests: FakeGuests, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = guests.start(101, "scsi0")
    given = dict(zip(("query-block", "query-blockstats"), answers, strict=True))
    monkeypatch.setattr(guest, "answer", lambda order: given[order.command])

    (found,) = enforce(rig, disk("qemu/101/scsi0")).enforced

    assert found.outcome is Outcome.FAILED
    assert "has no disk scsi0" in found.reason


def _desired(wanted: PolicyDocument) -> Desired:
    return Desired(device=FOLDER, spec=wanted.resources[0], allocations=wanted.allocations)
