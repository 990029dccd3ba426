"""The loop while all goes well: policies come, are enforced and reported, and end on request."""

from pathlib import Path

import pytest

from enforcers.config import OnExit
from enforcers.contract import EnforcementState, Outcome, decode_report
from enforcers.enforcement import Enforcement
from enforcers.signals import Call
from tests.enforcers.agent_bench import Bench
from tests.enforcers.policies import NOON, vnic
from tests.enforcers.rig import start_rig


def after_one_round(seconds: float) -> Call | None:
    """The answer of a wait: nothing before the first round, then to stop."""
    return Call.STOP if seconds else None


def test_policy_is_pulled_applied_and_reported(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6), vnic(2))

    bench.tick()

    assert bench.is_enforced
    assert (bench.last.revision, bench.last.state) == (1, EnforcementState.ENFORCING)
    assert bench.last.refusal is None
    assert [item.outcome for item in bench.last.allocations] == [Outcome.APPLIED] * 2
    assert bench.last.allocations[0].measured is None


def test_document_that_comes_again_is_not_written_again(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    kept = bench.directory / "policy.json"
    kept.unlink()

    for _ in range(3):
        bench.tick()

    assert not kept.exists()
    assert bench.last.refusal is None
    assert bench.is_enforced
    bench.publish(vnic(1, 75e6))
    bench.tick()
    assert kept.exists()


def test_lease_of_a_document_that_comes_again_and_again_ends(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()

    for _ in range(90):
        bench.tick()

    assert bench.is_as_found
    assert bench.last.state is EnforcementState.EXPIRED
    assert "does the service renew it" in (bench.last.refusal or "")


def test_next_report_has_the_measured_rate(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    for _ in range(3):
        bench.tc.devices["up0"].classes["51ce:10"].sent_bytes += 10_000_000
        bench.tick()

    measured = bench.last.allocations[0].measured

    assert bench.last.allocations[0].outcome is Outcome.UNCHANGED
    assert measured is not None
    # 10 MB every 10 s are 8 Mbit/s.
    assert (measured.rate, measured.window_s, measured.sample_count) == (8e6, 30.0, 4)


def test_reports_come_at_their_rate_when_nothing_happens(bench: Bench) -> None:
    bench.publish(vnic(1))
    for _ in range(7):
        bench.publish(vnic(1))
        bench.tick()

    # At 10 s because the policy is new, then at 40 s and 70 s.
    assert [(r.reported_at - NOON).seconds for r in bench.service.reports] == [10, 40, 70]


def test_drift_between_two_reports_is_reported(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.tc.devices["up0"].classes["51ce:10"].options["rate"] = "1000000bit"

    bench.tick()

    assert bench.last.allocations[0].outcome is Outcome.DRIFTED
    assert len(bench.service.reports) == 2


def test_empty_policy_puts_the_kernel_back(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()

    bench.publish(revision=2)
    bench.tick()

    assert bench.is_as_found
    assert (bench.last.revision, bench.last.state) == (2, EnforcementState.IDLE)
    assert bench.last.allocations == ()


def test_stop_puts_the_kernel_back_and_says_so(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.agent.run(after_one_round)

    assert bench.is_as_found
    assert (bench.last.state, bench.last.refusal) == (
        EnforcementState.IDLE,
        "the agent was stopped",
    )


def test_stop_may_keep_the_policy_in_force(tmp_path: Path) -> None:
    bench = Bench(tmp_path, on_exit=OnExit.KEEP)
    bench.publish(vnic(1, 75e6))

    bench.agent.run(after_one_round)

    assert bench.is_enforced


@pytest.mark.parametrize(
    ("call", "end"),
    [(Call.STOP, "leave"), (Call.HAND_OVER, "hand_over"), (Call.RELOAD, "hand_over")],
)
def test_only_a_stop_that_keeps_the_policy_leaves_what_may_stand_unfollowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call, end: str
) -> None:
    bench = Bench(tmp_path, on_exit=OnExit.KEEP)
    calls: list[str] = []
    for name in ("leave", "hand_over"):
        monkeypatch.setattr(Enforcement, name, lambda _, name=name: calls.append(name))
    waits = iter([None, call])

    bench.agent.run(lambda _: next(waits))

    assert calls == [end]


def test_one_bad_round_does_not_end_the_loop(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = iter([None, None, Call.STOP])
    ticks: list[int] = []

    def breaks() -> None:
        ticks.append(1)
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(bench.agent, "tick", breaks)
    bench.agent.run(lambda _: next(rounds))

    assert len(ticks) == 2
    assert "round failed" in caplog.text


def test_dry_run_policy_changes_nothing_and_says_what_it_would(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6), dry_run=True)

    bench.tick()

    assert bench.tc.commands == []
    assert bench.last.state is EnforcementState.DRY_RUN
    assert "would do" in bench.last.allocations[0].reason


def test_agent_in_dry_run_never_writes(tmp_path: Path) -> None:
    bench = Bench(tmp_path, dry_run=True)
    bench.publish(vnic(1, 75e6))

    bench.agent.run(after_one_round)

    assert bench.tc.commands == []
    assert not (tmp_path / "ledger.json").exists()


def test_agent_that_was_put_into_dry_run_ends_what_is_in_force_with_its_lease(
    bench: Bench,
) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()

    bench.start_again(dry_run=True)
    seen = []
    for _ in range(4):
        bench.publish(vnic(1, 75e6))
        bench.tick(after_s=240.0)
        seen.append((bench.is_as_found, bench.last.state))

    # The lease of 15 minutes is over in the fourth round.
    rounds = [False, False, False, True]
    assert seen == [(is_over, EnforcementState.DRY_RUN) for is_over in rounds]


def test_agent_in_dry_run_puts_back_at_its_end_what_was_in_force_before(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()

    bench.start_again(dry_run=True)
    bench.agent.run(after_one_round)

    assert bench.is_as_found


def test_one_workload_that_cannot_be_served_makes_no_policy_outdated(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    # No interface p9 is here.
    bench.publish(vnic(1, 40e6), vnic(9), revision=2)
    bench.tick()
    before = bench.tc.text("up0")
    failed = {item.id for item in bench.last.allocations if item.outcome is Outcome.FAILED}

    bench.publish(vnic(1, 20e6), vnic(2, 1e6), revision=3)
    bench.tc.refuse = "filter add"
    bench.start()
    bench.tick()
    bench.tc.refuse = None

    assert failed == {"net-9"}
    assert "put back as before" in bench.last.allocations[0].reason
    assert bench.tc.text("up0") == before


def test_policy_whose_lease_is_over_is_not_gone_back_to(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    # Nobody ran when its lease ended.
    bench.seconds += 1000.0
    bench.publish(vnic(1, 20e6), vnic(2, 1e6), revision=2)
    bench.tc.refuse = "filter add"

    bench.start()
    bench.tick()

    assert "put back as before" in bench.last.allocations[0].reason
    assert bench.is_as_found


def test_each_report_says_what_the_host_supports_by_then(bench: Bench) -> None:
    bench.tick()
    mechanism = start_rig(bench.directory / "other", bench.tc).mechanisms["tc_htb"]

    bench.support = (mechanism.support(),)
    bench.tick(30.0)

    assert [report.support for report in bench.service.reports] == [(), bench.support]


def test_status_file_has_the_last_report(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()

    shown = decode_report((bench.directory / "status.json").read_bytes())

    assert shown == bench.last
