"""A pass over all devices: outcomes, failures midway, crashes, and the way back."""

from pathlib import Path

import pytest

from enforcers.contract import Outcome, Selector
from enforcers.enforcement import PassResult
from enforcers.ledger import LedgerEntry
from tests.enforcers.fake_cgroups import FakeCgroups
from tests.enforcers.fake_tc import FakeTc, Killed
from tests.enforcers.policies import document, group, uplink, vnic
from tests.enforcers.rig import Rig, start_rig

FIRST = document(vnic(1, 75e6), vnic(2))
SECOND = document(vnic(1, 40e6), vnic(2, 20e6), vnic(3), revision=2)
VM1 = "/machine.slice/vm1.scope"


def outcomes(result: PassResult) -> dict[str, Outcome]:
    """Outcome by allocation."""
    return {item.allocation.id: item.outcome for item in result.enforced}


def reasons(result: PassResult) -> str:
    """All reasons in one text."""
    return "\n".join(item.reason for item in result.enforced)


def test_new_policy_is_applied_and_then_unchanged(rig: Rig) -> None:
    first = rig.enforcement.run(FIRST, previous=None, now_s=0.0)
    second = rig.enforcement.run(FIRST, previous=FIRST, now_s=1.0)

    assert outcomes(first) == {"net-1": Outcome.APPLIED, "net-2": Outcome.APPLIED}
    assert outcomes(second) == {"net-1": Outcome.UNCHANGED, "net-2": Outcome.UNCHANGED}
    assert (first.is_changed, second.is_changed) == (True, False)


def test_report_has_desired_applied_and_read_back(rig: Rig) -> None:
    result = rig.enforcement.run(FIRST, previous=None, now_s=0.0)

    item = result.enforced[0]
    assert item.applied is not None
    assert item.applied == item.seen.setting
    assert item.applied.reservation == 75e6
    assert item.seen.counters is not None


def test_policy_for_a_mechanism_that_the_agent_lacks_keeps_no_other_from_its_own(
    rig: Rig,
) -> None:
    other = vnic(9, id="x", resource="ds1", selector=Selector(kind="mark", value="7"))
    spec = uplink(name="ds1", device="up9", mechanism="tc_new")
    policy = document(vnic(1), other, resources=(uplink(), spec))

    result = rig.enforcement.run(policy, previous=None, now_s=0.0)

    assert outcomes(result) == {"net-1": Outcome.APPLIED, "x": Outcome.UNSUPPORTED}
    expected = "this agent has no mechanism 'tc_new'; it has cgroup_io, qemu_throttle, tc_htb"
    assert expected in reasons(result)


def test_what_a_mechanism_changed_that_the_agent_lacks_is_told_until_it_is_put_back(
    rig: Rig,
) -> None:
    entry = LedgerEntry(mechanism="tc_new", device="up9", thing="root", found="noqueue")
    rig.ledger.record((entry,))

    result = rig.enforcement.run(None, previous=None, now_s=0.0)

    (problem,) = result.problems
    assert "up9 is not as it was found: this agent has no mechanism 'tc_new'" in problem
    assert "start an agent that has it and run restore there" in problem
    assert rig.ledger.entries() == (entry,)


@pytest.mark.parametrize("meddling", ["rate", "class", "root"])
def test_change_by_somebody_else_is_put_right_as_drift(
    tc: FakeTc, rig: Rig, meddling: str
) -> None:
    rig.enforcement.run(FIRST, previous=None, now_s=0.0)
    wanted = tc.devices["up0"].classes["51ce:10"].options["rate"]
    if meddling == "rate":
        tc.devices["up0"].classes["51ce:10"].options["rate"] = "1000000bit"
    elif meddling == "class":
        tc.devices["up0"].filters.pop("800::800")
        del tc.devices["up0"].classes["51ce:10"]
    else:
        tc.run(["tc", "qdisc", "del", "dev", "up0", "root"])

    result = rig.enforcement.run(FIRST, previous=FIRST, now_s=1.0)

    assert outcomes(result)["net-1"] is Outcome.DRIFTED
    assert "somebody else changed it, put right" in reasons(result)
    assert tc.devices["up0"].classes["51ce:10"].options["rate"] == wanted


def test_vnic_that_was_made_anew_is_a_workload_that_started_again(tc: FakeTc, rig: Rig) -> None:
    rig.enforcement.run(FIRST, previous=None, now_s=0.0)
    # A filter on an interface that is gone stays, without its name.
    tc.devices["p1"].index = 80
    tc.devices["up0"].filters["800::800"]["indev"] = "gone"

    result = rig.enforcement.run(FIRST, previous=FIRST, now_s=1.0)

    first = result.enforced[0]
    assert (first.allocation.id, first.outcome) == ("net-1", Outcome.REPLACED)
    assert first.reason.startswith("the workload was started again: up0 class 51ce:12: absent")
    # From now on a change of it is somebody's.
    tc.devices["up0"].classes["51ce:12"].options["rate"] = "1000000bit"
    again = rig.enforcement.run(FIRST, previous=FIRST, now_s=2.0)
    assert outcomes(again)["net-1"] is Outcome.DRIFTED


@pytest.mark.parametrize("is_seen_gone", [False, True], ids=["between passes", "seen gone"])
def test_container_that_restarts_is_no_drift(tmp_path: Path, is_seen_gone: bool) -> None:
    cgroups = FakeCgroups(tmp_path / "root", iocost=False)
    path = "/machine.slice/vm1"
    cgroups.add_group(path)
    rig = start_rig(tmp_path, FakeTc(), host_fs=cgroups)
    policy = document(group(path, limit=500.0))
    rig.enforcement.run(policy, previous=None, now_s=0.0)
    place = cgroups.path(f"/sys/fs/cgroup{path}")
    place.rename(tmp_path / "ended")
    if is_seen_gone:
        gone = rig.enforcement.run(policy, previous=policy, now_s=1.0)
        assert gone.enforced[0].outcome is Outcome.FAILED
    cgroups.add_group(path)

    (found,) = rig.enforcement.run(policy, previous=policy, now_s=2.0).enforced

    assert found.outcome is Outcome.REPLACED
    assert found.reason.startswith("the workload was started again: /machine.slice/vm1 io.max")
    assert "riops=500" in cgroups.text(path, "io.max")


@pytest.mark.parametrize("last", [None, document(revision=2)], ids=["no policy", "empty policy"])
def test_no_allocations_put_everything_back(tc: FakeTc, rig: Rig, last: object) -> None:
    before = tc.text("up0")
    rig.enforcement.run(FIRST, previous=None, now_s=0.0)

    result = rig.enforcement.run(last, previous=FIRST, now_s=1.0)  # type: ignore[arg-type]

    assert tc.text("up0") == before
    assert (result.enforced, result.problems) == ((), ())
    assert rig.ledger.entries() == ()


@pytest.mark.parametrize(
    "refused",
    ["qdisc add", "classid 51ce:1 ", "classid 51ce:2 ", "qdisc replace", "filter add", "51ce:11"],
)
def test_first_policy_that_fails_midway_leaves_the_kernel_as_found(
    tc: FakeTc, rig: Rig, refused: str
) -> None:
    before = tc.text("up0")
    tc.refuse = refused

    result = rig.enforcement.run(FIRST, previous=None, now_s=0.0)

    assert tc.text("up0") == before
    assert set(outcomes(result).values()) == {Outcome.FAILED}
    assert "RTNETLINK answers: Invalid argument" in reasons(result)
    assert all(item.applied is None for item in result.enforced)


@pytest.mark.parametrize("refused", ["classid 51ce:12", "filter add", "class change"])
def test_next_policy_that_fails_midway_leaves_the_former_in_force(
    tc: FakeTc, rig: Rig, refused: str
) -> None:
    rig.enforcement.run(FIRST, previous=None, now_s=0.0)
    before = tc.text("up0")
    tc.refuse = refused

    result = rig.enforcement.run(SECOND, previous=FIRST, now_s=1.0)
    tc.refuse = None

    assert tc.text("up0") == before
    assert set(outcomes(result).values()) == {Outcome.FAILED}


def test_device_goes_back_to_what_it_had_last_whatever_policy_all_devices_had(
    tc: FakeTc, rig: Rig
) -> None:
    third = document(vnic(1, 10e6), vnic(2, 10e6), vnic(3, 10e6), revision=3)
    rig.enforcement.run(FIRST, previous=None, now_s=0.0)
    rig.enforcement.run(SECOND, previous=FIRST, now_s=1.0)
    before = tc.text("up0")
    tc.refuse = "classid 51ce:12"

    result = rig.enforcement.run(third, previous=FIRST, now_s=2.0)
    tc.refuse = None

    assert "put back as before" in reasons(result)
    assert tc.text("up0") == before


def test_device_that_could_not_be_put_back_does_not_go_back_to_what_it_had(
    tc: FakeTc, rig: Rig
) -> None:
    untouched = tc.text("up0")
    rig.enforcement.run(FIRST, previous=None, now_s=0.0)
    tc.refuse = "qdisc del"
    rig.enforcement.run(None, previous=None, now_s=1.0)
    tc.refuse = "filter add"

    result = rig.enforcement.run(SECOND, previous=None, now_s=2.0)

    assert "put back as before" in reasons(result)
    assert tc.text("up0") == untouched


def test_failure_midway_says_that_it_was_put_back(tc: FakeTc, rig: Rig) -> None:
    tc.refuse = "filter add"

    result = rig.enforcement.run(FIRST, previous=None, now_s=0.0)

    assert "put back as before" in reasons(result)


def test_going_back_that_fails_too_is_said_and_can_still_be_restored(
    tmp_path: Path, tc: FakeTc, rig: Rig
) -> None:
    before = tc.text("up0")
    original = tc.run_one
    calls = 0

    # From the third command on, nothing works: neither adding nor taking away.
    def fails_after_two(argv: list[str], stdin: str = "") -> str:
        nonlocal calls
        writes = argv[0] == "tc" and "show" not in argv
        calls += writes
        tc.refuse = "dev" if writes and calls > 2 else None
        return original(argv, stdin)

    tc.run_one = fails_after_two  # type: ignore[method-assign, assignment]

    result = rig.enforcement.run(FIRST, previous=None, now_s=0.0)
    tc.run_one, tc.refuse = original, None  # type: ignore[method-assign]

    assert "going back failed too" in reasons(result)
    start_rig(tmp_path, tc).enforcement.run(None, previous=None, now_s=0.0)
    assert tc.text("up0") == before


def test_kernel_that_takes_a_change_and_forgets_it_is_a_failure(tc: FakeTc, rig: Rig) -> None:
    tc.deaf_to = "classid 51ce:11"

    result = rig.enforcement.run(FIRST, previous=None, now_s=0.0)

    assert set(outcomes(result).values()) == {Outcome.FAILED}


def test_failed_change_waits_before_it_is_tried_again(tc: FakeTc, rig: Rig) -> None:
    tc.refuse = "filter add"
    rig.enforcement.run(FIRST, previous=None, now_s=0.0)
    tc.commands.clear()

    waiting = rig.enforcement.run(FIRST, previous=None, now_s=5.0)
    tc.refuse = None
    later = rig.enforcement.run(FIRST, previous=None, now_s=11.0)

    assert "next attempt in 5 s" in reasons(waiting)
    assert set(outcomes(waiting).values()) == {Outcome.FAILED}
    assert set(outcomes(later).values()) == {Outcome.APPLIED}


def test_device_that_cannot_be_looked_at_is_put_back_as_soon_as_it_can(
    tc: FakeTc, rig: Rig
) -> None:
    """A look changes nothing, so nobody has to wait before the next one (simulation, seed 16)."""
    before = tc.text("up0")
    rig.enforcement.run(FIRST, previous=None, now_s=0.0)
    tc.refuse = "show"
    for pass_s in (10.0, 20.0, 40.0, 80.0):
        assert rig.enforcement.run(None, previous=None, now_s=pass_s).problems
    tc.refuse = None

    there_again = rig.enforcement.run(None, previous=None, now_s=81.0)

    assert there_again.problems == ()
    assert tc.text("up0") == before
    assert rig.ledger.entries() == ()


COMMANDS_OF_FIRST = 10  # root, 4 classes, 3 queues, 2 filters


@pytest.mark.parametrize("survived", range(COMMANDS_OF_FIRST + 1))
def test_agent_killed_after_any_command_goes_on_or_restores(tmp_path: Path, survived: int) -> None:
    for goes_on in (True, False):
        directory = tmp_path / str(goes_on)
        directory.mkdir()
        tc = FakeTc("up0", "p1", "p2", "p3")
        before = tc.text("up0")
        _run_until_killed(start_rig(directory, tc), tc, survived)

        again = start_rig(directory, tc)
        result = again.enforcement.run(FIRST if goes_on else None, previous=None, now_s=0.0)

        if goes_on:
            assert Outcome.FAILED not in outcomes(result).values()
            assert set(tc.devices["up0"].classes) == {"51ce:1", "51ce:2", "51ce:10", "51ce:11"}
        else:
            assert tc.text("up0") == before
            assert again.ledger.entries() == ()


def _run_until_killed(rig: Rig, tc: FakeTc, survived: int) -> None:
    """Let the first policy begin, and die before the command after `survived`."""
    original = tc.run

    def dies(argv: list[str], *, stdin: str = "") -> str:
        if argv[0] == "tc" and "show" not in argv and len(tc.commands) == survived:
            raise Killed
        return original(argv, stdin=stdin)

    tc.run = dies  # type: ignore[method-assign, assignment]
    try:
        rig.enforcement.run(FIRST, previous=None, now_s=0.0)
    except Killed:
        assert survived < COMMANDS_OF_FIRST
    else:
        assert len(tc.commands) == COMMANDS_OF_FIRST
    tc.run = original  # type: ignore[method-assign]


def test_device_that_cannot_be_asked_fails_alone(tmp_path: Path) -> None:
    cgroups = FakeCgroups(tmp_path / "root")
    cgroups.add_group(VM1)
    tc = FakeTc("up0", "p1")
    tc.refuse = "qdisc show"
    rig = start_rig(tmp_path, tc, host_fs=cgroups)

    result = rig.enforcement.run(
        document(vnic(1), group(VM1, limit=500.0)), previous=None, now_s=0.0
    )

    assert outcomes(result) == {"net-1": Outcome.FAILED, f"io{VM1}": Outcome.APPLIED}


def test_control_file_that_refuses_is_a_failure_and_the_rest_goes_back(tmp_path: Path) -> None:
    cgroups = FakeCgroups(tmp_path / "root")
    cgroups.add_group(VM1)
    cgroups.refuse = "io.weight"
    rig = start_rig(tmp_path, FakeTc(), host_fs=cgroups)

    result = rig.enforcement.run(
        document(group(VM1, limit=500.0, shares=300)), previous=None, now_s=0.0
    )

    assert outcomes(result) == {f"io{VM1}": Outcome.FAILED}
    assert "Invalid argument" in reasons(result)
    assert cgroups.text(VM1, "io.max") == ""


def test_restore_that_fails_is_a_problem_and_stays_in_the_ledger(tc: FakeTc, rig: Rig) -> None:
    rig.enforcement.run(FIRST, previous=None, now_s=0.0)
    tc.refuse = "qdisc del"

    result = rig.enforcement.run(None, previous=FIRST, now_s=1.0)

    assert result.has_failed
    assert "up0 is not as it was found" in result.problems[0]
    assert len(rig.ledger.entries()) == 1


def test_dry_run_says_what_it_would_do_and_does_nothing(tc: FakeTc, rig: Rig) -> None:
    result = rig.enforcement.run(FIRST, previous=None, now_s=0.0, dry_run=True)

    assert tc.commands == []
    assert set(outcomes(result).values()) == {Outcome.UNCHANGED}
    assert "dry run: would do up0 class 51ce:10: absent -> rate 75000000" in reasons(result)
    assert not (rig.directory / "ledger.json").exists()


def test_host_without_tc_answers_unsupported_instead_of_failing(tc: FakeTc, rig: Rig) -> None:
    tc.is_installed = False

    result = rig.enforcement.run(FIRST, previous=None, now_s=0.0)

    assert set(outcomes(result).values()) == {Outcome.UNSUPPORTED}
    assert "install iproute2" in reasons(result)


def test_interface_that_is_not_configured_is_left_alone(tmp_path: Path, tc: FakeTc) -> None:
    rig = start_rig(tmp_path, tc, interfaces=frozenset())

    result = rig.enforcement.run(FIRST, previous=None, now_s=0.0)

    assert set(outcomes(result).values()) == {Outcome.UNSUPPORTED}
    assert tc.commands == []
    assert not result.has_failed


def test_every_write_is_audited_with_before_and_after(rig: Rig) -> None:
    rig.enforcement.run(FIRST, previous=None, now_s=0.0)
    rig.enforcement.run(None, previous=FIRST, now_s=1.0)

    lines = rig.audit()
    assert len(lines) == COMMANDS_OF_FIRST + 1
    assert (lines[0]["before"], lines[0]["after"]) == (
        "qdisc noqueue 0: root",
        "htb 51ce: default 2",
    )
    assert (lines[-1]["before"], lines[-1]["after"]) == ("htb 51ce:", "qdisc noqueue 0: root")


def test_dry_run_of_a_device_that_cannot_be_read_fails_each_allocation_with_the_reason(
    tmp_path: Path, tc: FakeTc
) -> None:
    rig = start_rig(tmp_path, tc, dry_run=True)
    tc.refuse = "qdisc show"

    result = rig.enforcement.run(FIRST, previous=None, now_s=0.0)

    assert outcomes(result) == {"net-1": Outcome.FAILED, "net-2": Outcome.FAILED}
    assert reasons(result).count("RTNETLINK answers") == 2
    assert not any(item.is_changed for item in result.enforced)
