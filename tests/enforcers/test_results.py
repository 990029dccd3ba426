"""What is said of each control: only what the policy asks for can fall short."""

from dataclasses import replace
from pathlib import Path

import pytest

from enforcers.change import Change, Effect, FileWrite
from enforcers.contract import Allocation, ControlKind, Outcome, Setting
from enforcers.mechanism import Note, Plan, Seen
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from enforcers.results import Attempt, Settled, previews, results
from tests.enforcers.fake_cgroups import FakeCgroups
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import datastore, desired, document, group, vnic
from tests.enforcers.rig import Rig, start_rig

VM1, VM2 = "/machine.slice/vm1.scope", "/machine.slice/vm2.scope"
CANNOT = {
    kind: Note(outcome=Outcome.UNSUPPORTED, reason=f"no {kind} here") for kind in ControlKind
}
SETTING = Setting(reservation=None, limit=500.0, shares=None)
SEEN = Seen(setting=SETTING, counters=None, thing="inode 7")


def told(
    item: Allocation, *others: Allocation, short: dict[ControlKind, Note] | None = None
) -> dict[ControlKind, Outcome]:
    """Outcomes of the first allocation, of which the kernel can do nothing or what is given."""
    plan = Plan(
        wanted={item.id: SETTING}, shortfalls={item.id: CANNOT if short is None else short}
    )
    attempt = Attempt(plan=plan, made=(), seen={item.id: SEEN}, error=None)
    first, *_ = results(desired(datastore(), item, *others), attempt, None)
    return {kind: found.outcome for kind, found in first.controls.by_kind().items()}


@pytest.mark.parametrize(
    ("item", "asked"),
    [
        (group(VM1), set()),
        (group(VM1, reservation=100.0), {ControlKind.RESERVATION}),
        (group(VM1, limit=500.0), {ControlKind.LIMIT}),
        (group(VM1, shares=300), {ControlKind.SHARES}),
    ],
    ids=["nothing", "reservation", "limit", "shares that differ"],
)
def test_only_what_the_policy_asks_for_can_be_missing(
    item: Allocation, asked: set[ControlKind]
) -> None:
    found = told(item, group(VM2))

    assert {kind for kind, outcome in found.items() if outcome is Outcome.UNSUPPORTED} == asked
    assert set(found.values()) <= {Outcome.UNSUPPORTED, Outcome.UNCHANGED}


def test_guessed_model_is_told_though_shares_are_equal() -> None:
    """It takes throughput from all, whatever the shares."""
    guess = Note(outcome=Outcome.GUESSED_MODEL, reason="the kernel guessed the model of 8:0")

    found = told(group(VM1), group(VM2), short={ControlKind.SHARES: guess})

    assert found[ControlKind.SHARES] is Outcome.GUESSED_MODEL


def change(*controls: ControlKind) -> Change:
    """A write for these controls of the first allocation."""
    return Change(
        target=f"{VM1} {'+'.join(controls)}",
        before="a",
        after="b",
        write=FileWrite(path="/x", text="b"),
        effect=Effect.GROW,
        depth=0,
        allocation=group(VM1).id,
        controls=frozenset(controls),
    )


@pytest.mark.parametrize(
    ("thing", "outcome", "reason"),
    [
        (None, Outcome.APPLIED, f"{VM1} limit: a -> b"),
        ("inode 7", Outcome.DRIFTED, f"somebody else changed it, put right: {VM1} limit: a -> b"),
        ("inode 6", Outcome.REPLACED, f"the workload was started again: {VM1} limit: a -> b"),
    ],
    ids=["new policy", "same thing", "another thing"],
)
def test_change_is_told_of_the_control_that_it_is_for(
    thing: str | None, outcome: Outcome, reason: str
) -> None:
    item = group(VM1, limit=500.0)
    whole = desired(datastore(), item)
    settled = None if thing is None else Settled(desired=whole, things={item.id: thing})
    attempt = Attempt(
        plan=Plan(wanted={item.id: SETTING}),
        made=(change(ControlKind.LIMIT),),
        seen={item.id: SEEN},
        error=None,
    )

    (found,) = results(whole, attempt, settled)

    assert (found.controls.limit.outcome, found.controls.limit.reason) == (outcome, reason)
    assert found.controls.shares.outcome is Outcome.UNCHANGED
    assert found.controls.reservation.outcome is Outcome.UNCHANGED
    assert (found.outcome, found.reason) == (outcome, reason)


def test_failed_device_fails_every_control() -> None:
    item = group(VM1, limit=500.0)
    attempt = Attempt(
        plan=Plan(wanted={item.id: SETTING}, shortfalls={item.id: CANNOT}),
        made=(),
        seen={},
        error="EIO",
    )

    (found,) = results(desired(datastore(), item), attempt, None)

    assert {one.outcome for one in found.controls.by_kind().values()} == {Outcome.FAILED}
    assert (found.reason, found.applied) == ("EIO", None)


def test_dry_run_says_by_control_what_it_would_do_and_what_it_cannot() -> None:
    item = group(VM1, limit=500.0, reservation=100.0)
    plan = Plan(
        changes=(change(ControlKind.LIMIT),),
        wanted={item.id: SETTING},
        shortfalls={item.id: {ControlKind.RESERVATION: CANNOT[ControlKind.RESERVATION]}},
    )

    (found,) = previews(desired(datastore(), item), plan, {})

    assert found.controls.limit.reason == f"dry run: would do {VM1} limit: a -> b"
    assert found.controls.shares.reason == "dry run: the kernel has what the policy wants"
    assert found.outcome is Outcome.UNSUPPORTED
    assert found.reason == "no reservation here"


def start_stock_host(tmp_path: Path) -> Rig:
    """Every stock host is without iocost, and this one's operator wants it so."""
    cgroups = FakeCgroups(tmp_path / "root", iocost=False)
    for path in (VM1, VM2):
        cgroups.add_group(path)
    config = CgroupIoConfig(
        subtrees=frozenset({"/machine.slice"}),
        devices=frozenset({"8:0"}),
        keep_iocost=frozenset({"8:0"}),
    )
    return start_rig(tmp_path, FakeTc(), host_fs=cgroups, configs={"cgroup_io": config})


@pytest.mark.parametrize(
    ("first", "controls", "total"),
    [
        (group(VM1, limit=500.0), ("unchanged", "applied", "unchanged"), "applied"),
        (
            group(VM1, limit=500.0, shares=300),
            ("unchanged", "applied", "ineffective"),
            "ineffective",
        ),
        (
            group(VM1, limit=500.0, reservation=100.0),
            ("ineffective", "applied", "unchanged"),
            "ineffective",
        ),
    ],
    ids=["limit", "and shares", "and a reservation"],
)
def test_limit_that_holds_is_said_to_hold_on_a_stock_host(
    tmp_path: Path, first: Allocation, controls: tuple[str, ...], total: str
) -> None:
    policy = document(first, group(VM2))

    found, _ = (
        start_stock_host(tmp_path).enforcement.run(policy, previous=None, now_s=0.0).enforced
    )

    assert tuple(one.outcome for one in found.controls.by_kind().values()) == controls
    assert found.outcome == total


def test_change_of_a_rate_is_no_change_of_the_limit(tc: FakeTc, rig: Rig) -> None:
    first = document(vnic(1, 20e6), vnic(2))
    rig.enforcement.run(first, previous=None, now_s=0.0)
    more = replace(vnic(1), limit=40e6, reservation=20e6)

    found, _ = rig.enforcement.run(
        document(more, vnic(2), revision=2), previous=first, now_s=1.0
    ).enforced

    assert found.controls.limit.outcome is Outcome.APPLIED
    assert found.controls.reservation.outcome is Outcome.UNCHANGED
    assert found.controls.shares.outcome is Outcome.UNCHANGED
