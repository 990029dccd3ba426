"""Documents of no use, lost files and a kernel that refuses: what was in force stays or ends."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from enforcers.contract import EnforcementState, Outcome, PolicyDocument, encode_document, sign
from tests.enforcers.agent_bench import AWAY, Bench
from tests.enforcers.policies import KEY, NOON, vnic


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
                b'"schema_version":2', b'"schema_version":9'
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
