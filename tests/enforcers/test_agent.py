"""The loop: with the service, without it, and against one that misbehaves."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from enforcers.agent import Agent, Clocks
from enforcers.config import AgentConfig, OnExit, ServerConfig
from enforcers.contract import (
    ComplianceReport,
    EnforcementState,
    Outcome,
    PolicyDocument,
    decode_report,
    encode_document,
    sign,
)
from enforcers.errors import ServerError
from enforcers.policy_store import PolicyStore
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import KEY, NOON, document, vnic
from tests.enforcers.rig import start_rig

AWAY = ServerError("GET document: connection refused")
UNTOUCHED = "qdisc noqueue 0: root refcnt 2\n"


class FakeService:
    """Hands out one answer and collects reports; `fault`, or `refusal`, is raised instead."""

    def __init__(self, answer: bytes = b"") -> None:
        self.answer = answer
        self.fault: ServerError | None = None
        self.refusal: ServerError | None = None
        self.reports: list[ComplianceReport] = []

    def fetch_document(self) -> bytes:
        if self.fault is not None:
            raise self.fault
        return self.answer

    def send_report(self, report: bytes) -> None:
        if self.fault is not None or self.refusal is not None:
            raise self.fault or self.refusal
        self.reports.append(decode_report(report))


class Bench:
    """An agent on a kernel in memory, with a clock that the test moves."""

    def __init__(self, directory: Path, **config: Any) -> None:
        self.directory = directory
        self.tc = FakeTc("up0", "p1", "p2", "p3")
        self.service = FakeService()
        self.seconds = 0.0
        self._config = AgentConfig(
            **{
                "host": "h1",
                "state_dir": directory,
                "poll_s": 10.0,
                "report_s": 30.0,
                "on_exit": OnExit.RESTORE,
                "dry_run": False,
                "server": ServerConfig(
                    url=urlsplit("https://sluice.example"),
                    timeout_s=1.0,
                    ca_file=None,
                    token="t" * 20,
                    signing_key=KEY,
                ),
                "mechanisms": {},
                **config,
            }
        )
        self.start()

    def start(self) -> None:
        """A new process on the same kernel and the same disk."""
        rig = start_rig(self.directory, self.tc, dry_run=self._config.dry_run)
        self.agent = Agent(
            config=self._config,
            service=self.service,
            enforcement=rig.enforcement,
            store=PolicyStore(self.directory / "policy.json", key=KEY),
            support=(),
            clocks=Clocks(now=self.now, monotonic_s=lambda: self.seconds),
            status_file=self.directory / "status.json",
        )

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)

    def publish(self, *allocations: Any, **change: Any) -> PolicyDocument:
        """Let the service hand out a policy with a fresh lease of 15 minutes."""
        given = document(
            *allocations,
            **{
                "issued_at": self.now(),
                "expires_at": self.now() + timedelta(minutes=15),
                **change,
            },
        )
        self.service.answer = encode_document(given)
        return given

    def tick(self, after_s: float = 10.0) -> None:
        self.seconds += after_s
        self.agent.tick()

    @property
    def last(self) -> ComplianceReport:
        return self.service.reports[-1]

    @property
    def is_enforced(self) -> bool:
        return "class htb 51ce:10" in self.tc.text("up0")

    @property
    def is_as_found(self) -> bool:
        return self.tc.text("up0") == UNTOUCHED


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_policy_is_pulled_applied_and_reported(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6), vnic(2))

    bench.tick()

    assert bench.is_enforced
    assert (bench.last.revision, bench.last.state) == (1, EnforcementState.ENFORCING)
    assert bench.last.refusal is None
    assert [item.outcome for item in bench.last.allocations] == [Outcome.APPLIED] * 2
    assert bench.last.allocations[0].measured is None


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


def test_last_good_policy_stays_while_the_service_is_away(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY

    bench.tick(600.0)

    assert bench.is_enforced


def test_last_good_policy_survives_a_restart_without_the_service(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY
    bench.tc.run(["tc", "qdisc", "del", "dev", "up0", "root"])

    bench.start()
    bench.tick()

    assert bench.is_enforced


def test_lease_that_is_not_renewed_ends_in_a_restore(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY

    bench.tick(900.0)
    bench.service.fault = None
    bench.service.answer = b"garbage"
    bench.tick()

    assert bench.is_as_found
    assert bench.last.state is EnforcementState.EXPIRED
    assert bench.last.allocations == ()


def test_renewed_lease_goes_on(bench: Bench) -> None:
    for _ in range(4):
        bench.publish(vnic(1, 75e6))
        bench.tick(600.0)

    assert bench.is_enforced
    assert len(bench.tc.commands) == 7


def test_expired_lease_that_comes_back_is_enforced_again(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY
    bench.tick(1000.0)
    bench.service.fault = None

    bench.publish(vnic(1, 75e6))
    bench.tick()

    assert bench.is_enforced
    assert bench.last.state is EnforcementState.ENFORCING


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda _: b"<html>502</html>", "not JSON"),
        (lambda _: b"", "not JSON"),
        (lambda given: encode_document(given)[:-20], "not JSON"),
        (lambda given: encode_document(replace(given, signature=None)), "carries no signature"),
        (lambda given: encode_document(sign(given, b"other")), "does not match this host's key"),
        (
            lambda given: encode_document(sign(replace(given, host="h2"), KEY)),
            "for host 'h2', this is 'h1'",
        ),
        (
            lambda given: encode_document(
                sign(
                    replace(
                        given,
                        issued_at=NOON - timedelta(hours=2),
                        expires_at=NOON - timedelta(hours=1),
                    ),
                    KEY,
                )
            ),
            "has expired",
        ),
        (
            lambda given: encode_document(given).replace(
                b'"schema_version":1', b'"schema_version":9'
            ),
            "version 9 is unknown",
        ),
    ],
    ids=["html", "empty", "truncated", "unsigned", "foreign key", "foreign host", "old", "newer"],
)
def test_document_of_no_use_changes_nothing_and_is_reported(
    bench: Bench, answer: Callable[[PolicyDocument], bytes], reason: str
) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    before = bench.tc.text("up0")

    bench.service.answer = answer(bench.publish(vnic(1, 10e6), revision=2))
    bench.tick()

    assert bench.tc.text("up0") == before
    assert bench.last.revision == 1
    assert bench.last.refusal is not None
    assert reason in bench.last.refusal


def test_lasting_problem_is_told_once(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    given = bench.publish(vnic(1))
    bench.service.answer = encode_document(
        sign(replace(given, issued_at=NOON - timedelta(hours=1), expires_at=NOON), KEY)
    )
    caplog.set_level("INFO")

    for _ in range(4):
        bench.tick()
    bench.publish(vnic(1))
    bench.tick()

    told = [record.message for record in caplog.records if record.name == "enforcers.agent"]
    assert told == ["no new policy", "policy accepted", "policies come again"]
    assert [report.revision for report in bench.service.reports] == [None, None, 1]


def test_older_revision_is_refused_also_after_a_restart(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6), revision=5)
    bench.tick()
    bench.start()

    bench.publish(vnic(1, 10e6), revision=4)
    bench.tick()

    assert bench.tc.devices["up0"].classes["51ce:10"].options["rate"] == "75000000bit"
    assert bench.last.refusal is not None
    assert "revision 4 is older than 5" in bench.last.refusal


@pytest.mark.parametrize(
    "fault",
    [
        AWAY,
        ServerError("status 500: internal error"),
        ServerError("status 401: the token is not known"),
        ServerError("status 404: not found", is_final=True),
    ],
    ids=["away", "500", "401", "404"],
)
def test_service_that_fails_from_the_start_leaves_the_kernel_alone(
    bench: Bench, fault: ServerError
) -> None:
    bench.service.fault = fault

    bench.tick()
    bench.tick()

    assert bench.tc.commands == []
    assert bench.is_as_found


def test_reports_wait_for_the_service_and_the_lost_are_counted(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY
    for _ in range(4):
        bench.tick(30.0)
    bench.service.fault = None

    bench.publish(vnic(1, 75e6))
    bench.tick(30.0)

    times = [(report.reported_at - NOON).seconds for report in bench.service.reports]
    assert times == [10, 40, 70, 100, 130, 160]
    assert bench.last.reports_dropped == 0


def test_service_that_does_not_know_these_reports_yet_keeps_no_policy_from_the_kernel(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    said = "status 400: $.schema_version: version 2 is unknown; known is 1"
    bench.service.refusal = ServerError(said, is_final=True)
    bench.publish(vnic(1, 75e6))

    bench.tick()

    assert bench.tc.devices["up0"].classes["51ce:10"].options["rate"] == "75000000bit"
    dropped = [record for record in caplog.records if record.message == "report dropped"]
    assert [record.__dict__["error"] for record in dropped] == [said]


def test_stop_puts_the_kernel_back_and_says_so(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.agent.run(lambda _: True)

    assert bench.is_as_found
    assert (bench.last.state, bench.last.refusal) == (
        EnforcementState.IDLE,
        "the agent was stopped",
    )


def test_stop_may_keep_the_policy_in_force(tmp_path: Path) -> None:
    bench = Bench(tmp_path, on_exit=OnExit.KEEP)
    bench.publish(vnic(1, 75e6))

    bench.agent.run(lambda _: True)

    assert bench.is_enforced


def test_one_bad_round_does_not_end_the_loop(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = iter([False, True])
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


def test_dry_run_after_a_real_policy_lets_that_end_with_its_lease(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()

    bench.publish(vnic(1, 10e6), revision=2, dry_run=True)
    bench.tick()
    before = bench.is_enforced
    bench.publish(vnic(1, 10e6), revision=2, dry_run=True)
    bench.tick(900.0)

    assert before
    assert bench.is_as_found


def test_agent_in_dry_run_never_writes(tmp_path: Path) -> None:
    bench = Bench(tmp_path, dry_run=True)
    bench.publish(vnic(1, 75e6))

    bench.agent.run(lambda _: True)

    assert bench.tc.commands == []
    assert not (tmp_path / "ledger.json").exists()


def test_lost_policy_file_with_a_ledger_ends_in_a_restore(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    (bench.directory / "policy.json").write_bytes(b"{")
    bench.service.fault = AWAY

    bench.start()
    bench.tick()

    assert bench.is_as_found


def test_failed_policy_falls_back_to_the_former_also_after_a_restart(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    before = bench.tc.text("up0")
    bench.start()
    bench.tc.refuse = "p2"

    bench.publish(vnic(1, 10e6), vnic(2), revision=2)
    bench.tick()
    bench.tc.refuse = None

    assert bench.tc.text("up0") == before
    assert {item.outcome for item in bench.last.allocations} == {Outcome.FAILED}


def test_restore_that_fails_is_reported(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.tc.refuse = "qdisc del"

    bench.publish(revision=2)
    bench.tick()

    assert bench.last.state is EnforcementState.ENFORCING
    assert bench.last.refusal is not None
    assert "up0 is not as it was found" in bench.last.refusal


def test_status_file_has_the_last_report(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()

    shown = decode_report((bench.directory / "status.json").read_bytes())

    assert shown == bench.last
