"""What agents report becomes verdicts, once, and only for their own host."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.core.allocation import ReservationMode
from advisor.decisions.decide import approve
from advisor.decisions.documents import current_document
from advisor.decisions.report_rows import RECORD
from advisor.decisions.reports import accept_report
from advisor.errors import ReportRefused
from advisor.history.second_witness import observed_rates
from advisor.models import ComplianceRecord, Enforcer, Resource
from advisor.models.workload import allocation_id
from enforcers.contract import (
    AllocationReport,
    ComplianceReport,
    ControlOutcome,
    ControlOutcomes,
    EnforcementState,
    Measurement,
    Outcome,
    Setting,
    decode_report,
    encode_report,
)
from tests.advisor.agent_support import SUPPORT
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster, propose

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    cluster = make_cluster()
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    current_document(host=cluster.enrolment.host, now=NOW)
    return cluster


def measured(rate: float, *, backlogged: int = 10) -> Measurement:
    return Measurement(
        rate=rate,
        window_s=60.0,
        sample_count=10,
        backlogged_samples=backlogged,
        backlog_bytes=0,
        drops=0,
        overlimits=7,
        short_looks=3,
        full_looks=1,
    )


def report(
    cluster: Cluster,
    rates: list[float],
    *,
    outcome: Outcome = Outcome.UNCHANGED,
    backlogged: int = 10,
    controls: ControlOutcomes | None = None,
) -> ComplianceReport:
    """The agent of h1 tells what its three workloads got."""
    setting = Setting(reservation=0.0, limit=None, shares=1000.0)
    return ComplianceReport(
        host="h1",
        revision=1,
        reported_at=NOW,
        agent_version="0.1.0",
        state=EnforcementState.ENFORCING,
        refusal=None,
        reports_dropped=0,
        support=SUPPORT[:1],
        allocations=tuple(
            AllocationReport(
                id=allocation_id(allocation),
                workload=allocation.workload.name,
                resource="h1/up0",
                desired=setting,
                applied=setting,
                read_back=setting,
                measured=measured(rate, backlogged=backlogged),
                outcome=outcome,
                reason="",
                controls=controls,
            )
            for allocation, rate in zip(cluster.allocations, rates, strict=True)
        ),
    )


def verdicts() -> dict[str, str]:
    rows = ComplianceRecord.objects.values_list("workload__name", "verdict")
    return dict(rows.order_by("workload__name"))


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([80.6, 6.7, 6.7], ["met", "met", "met"]),
        ([31.3, 31.3, 31.3], ["reservation_unmet", "met", "met"]),
        ([0.0, 47.0, 47.0], ["reservation_unmet", "met", "met"]),
    ],
    ids=["split reached", "not enforced", "starved"],
)
def test_measured_rates_decide_the_verdict(
    cluster: Cluster, rates: list[float], expected: list[str]
) -> None:
    accept_report(
        host=cluster.enrolment.host,
        report=report(cluster, [rate * MBIT for rate in rates]),
        now=NOW,
    )

    assert list(verdicts().values()) == expected


@pytest.mark.parametrize(
    ("mode", "rates"),
    [
        # Beside the host's 9.4 of 94 Mbit/s 84.6 are left: 75 reserved, and 9.6 for the 19 that
        # the policy divided above them, so 19/3 became 3.2.
        (ReservationMode.FLOOR, [78.2, 3.2, 3.2]),
        # HTB lets the host take a turn of its own in the 9.6: a quarter each.
        (ReservationMode.ADDITIVE, [77.4, 2.4, 2.4]),
    ],
)
def test_what_the_host_keeps_for_itself_is_not_a_breach(
    cluster: Cluster, mode: ReservationMode, rates: list[float]
) -> None:
    Resource.objects.filter(pk=cluster.uplink.pk).update(mode=mode)

    accept_report(
        host=cluster.enrolment.host,
        report=report(cluster, [rate * MBIT for rate in rates]),
        now=NOW,
    )

    assert verdicts() == {"web-1": "met", "web-2": "met", "web-3": "met"}


def test_capacity_that_a_person_states_counts_from_the_next_report(cluster: Cluster) -> None:
    host, rates = cluster.enrolment.host, [80.6 * MBIT, 0.0, 6.7 * MBIT]

    def verdict_of(rates: list[float], seconds: int) -> str:
        at = NOW + timedelta(seconds=seconds)
        said = replace(report(cluster, rates), reported_at=at)
        accept_report(host=host, report=said, now=at)
        return ComplianceRecord.objects.get(workload__name="web-2", reported_at=at).verdict

    assert verdict_of(rates, 0) == "over_throttled"
    # What is tolerated is a part of the capacity: 28 Mbit/s of this one.
    Resource.objects.filter(pk=cluster.uplink.pk).update(capacity=940 * MBIT)
    assert verdict_of(rates, 30) == "met"


def test_report_of_an_agent_that_holds_nothing_yet_is_taken(cluster: Cluster) -> None:
    whole = replace(report(cluster, [1.0, 2.0, 3.0]), revision=None)

    assert accept_report(host=cluster.enrolment.host, report=whole, now=NOW) == 3

    record = ComplianceRecord.objects.get(workload__name="web-1")
    assert (record.revision, record.policy, record.verdict) == (None, None, "unknown")


def test_name_beyond_all_numbers_is_none_of_ours(cluster: Cluster) -> None:
    whole = report(cluster, [0.0, 0.0, 0.0])
    strange = replace(whole.allocations[0], id=f"allocation-{2**70}")

    count = accept_report(
        host=cluster.enrolment.host,
        report=replace(whole, allocations=(strange, *whole.allocations[1:])),
        now=NOW,
    )

    assert count == ComplianceRecord.objects.count() == 2


def test_each_more_allocation_costs_a_report_no_statement(cluster: Cluster) -> None:
    whole = report(cluster, [0.0, 0.0, 0.0])
    first = replace(whole, reported_at=NOW - timedelta(minutes=1))
    accept_report(host=cluster.enrolment.host, report=first, now=NOW)

    with CaptureQueriesContext(connection) as of_one:
        one = replace(whole, allocations=whole.allocations[:1])
        accept_report(host=cluster.enrolment.host, report=one, now=NOW)
    with CaptureQueriesContext(connection) as of_three:
        accept_report(host=cluster.enrolment.host, report=whole, now=NOW)

    assert len(of_three) == len(of_one)


def test_workload_that_wants_nothing_is_not_a_breach(cluster: Cluster) -> None:
    accept_report(
        host=cluster.enrolment.host,
        report=report(cluster, [0.0, 0.0, 0.0], backlogged=0),
        now=NOW,
    )

    assert set(verdicts().values()) == {"no_demand"}


@pytest.mark.parametrize("outcome", [Outcome.REPLACED, Outcome.GUESSED_MODEL], ids=str)
def test_what_the_kernel_was_told_is_judged_by_what_was_measured(
    cluster: Cluster, outcome: Outcome
) -> None:
    rates = [31.3 * MBIT, 31.3 * MBIT, 31.3 * MBIT]

    accept_report(
        host=cluster.enrolment.host, report=report(cluster, rates, outcome=outcome), now=NOW
    )

    assert list(verdicts().values()) == ["reservation_unmet", "met", "met"]
    assert set(ComplianceRecord.objects.values_list("outcome", flat=True)) == {outcome}


def test_outcome_of_each_control_is_stored(cluster: Cluster) -> None:
    fine = ControlOutcome(outcome=Outcome.UNCHANGED, reason="as wanted")
    short = ControlOutcome(outcome=Outcome.UNSUPPORTED, reason="no reservation here")
    controls = ControlOutcomes(reservation=short, limit=fine, shares=fine)

    accept_report(
        host=cluster.enrolment.host,
        report=report(cluster, [0.0, 0.0, 0.0], outcome=Outcome.UNSUPPORTED, controls=controls),
        now=NOW,
    )

    row = ComplianceRecord.objects.first()
    assert row is not None
    assert row.controls == {
        "reservation": {"outcome": "unsupported", "reason": "no reservation here"},
        "limit": {"outcome": "unchanged", "reason": "as wanted"},
        "shares": {"outcome": "unchanged", "reason": "as wanted"},
    }


def test_agent_of_the_former_version_tells_no_control_apart(cluster: Cluster) -> None:
    plain = json.loads(encode_report(report(cluster, [0.0, 0.0, 0.0])))
    plain["schema_version"] = 2
    for item in plain["allocations"]:
        del item["controls"]

    stored = accept_report(
        host=cluster.enrolment.host, report=decode_report(json.dumps(plain)), now=NOW
    )

    assert stored == 3
    assert set(ComplianceRecord.objects.values_list("controls", "outcome")) == {
        (None, "unchanged")
    }


@pytest.mark.parametrize("outcome", [Outcome.UNSUPPORTED, Outcome.FAILED])
def test_what_is_not_enforced_is_not_judged(cluster: Cluster, outcome: Outcome) -> None:
    accept_report(
        host=cluster.enrolment.host,
        report=report(cluster, [80.6 * MBIT, 0.0, 0.0], outcome=outcome),
        now=NOW,
    )

    assert set(verdicts().values()) == {"unknown"}


def test_what_waited_in_the_kernel_is_stored(cluster: Cluster) -> None:
    accept_report(
        host=cluster.enrolment.host,
        report=report(cluster, [30 * MBIT, 30 * MBIT, 30 * MBIT], backlogged=7),
        now=NOW,
    )

    row = ComplianceRecord.objects.first()
    assert row is not None
    assert (row.window_s, row.sample_count, row.backlogged_samples) == (60.0, 10, 7)
    assert (row.backlog_bytes, row.drops, row.overlimits) == (0, 0, 7)
    assert (row.short_looks, row.full_looks) == (3, 1)


def test_same_report_twice_is_stored_once(cluster: Cluster) -> None:
    same = report(cluster, [80.6 * MBIT, 6.7 * MBIT, 6.7 * MBIT])
    accept_report(host=cluster.enrolment.host, report=same, now=NOW)

    accept_report(host=cluster.enrolment.host, report=same, now=NOW + timedelta(seconds=5))

    assert ComplianceRecord.objects.count() == 3


def test_report_updates_what_is_known_of_the_agent(cluster: Cluster) -> None:
    accept_report(host=cluster.enrolment.host, report=report(cluster, [0.0, 0.0, 0.0]), now=NOW)

    enforcer = Enforcer.objects.get()
    assert (enforcer.agent_version, enforcer.applied_revision) == ("0.1.0", 1)
    assert enforcer.support[0]["mechanism"] == "tc_htb"
    assert enforcer.last_report_at == NOW


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"host": "h2"}, 'this token is for "h1", the report for "h2"'),
        ({"reported_at": NOW + timedelta(hours=1)}, "set the clock of h1"),
    ],
    ids=["another host", "from the future"],
)
def test_report_that_does_not_fit_is_refused(
    cluster: Cluster, change: dict[str, object], complaint: str
) -> None:
    foreign = replace(report(cluster, [0.0, 0.0, 0.0]), **change)

    with pytest.raises(ReportRefused, match=complaint):
        accept_report(host=cluster.enrolment.host, report=foreign, now=NOW)

    assert not ComplianceRecord.objects.exists()


def test_allocation_of_another_organisation_is_ignored(cluster: Cluster) -> None:
    stranger = make_cluster("globex")
    foreign = report(stranger, [80.6 * MBIT, 0.0, 0.0])

    stored = accept_report(host=cluster.enrolment.host, report=foreign, now=NOW)

    assert stored == 0
    assert not ComplianceRecord.objects.exists()


def test_stored_samples_are_a_second_witness(cluster: Cluster) -> None:
    rates = {"p1": 80.6 * MBIT, "p2": 6.7 * MBIT, "p3": 6.7 * MBIT}
    phase = Phase(intervals=12, received=rates, sent={"up0": 94 * MBIT})
    lines = net_lines("h1", [phase], start=NOW - timedelta(seconds=120))
    send(cluster.organisation, lines, now=NOW)

    accept_report(
        host=cluster.enrolment.host,
        report=report(cluster, list(rates.values())),
        now=NOW,
    )

    records = list(ComplianceRecord.objects.order_by("workload__name"))
    observed = observed_rates(records)
    assert [observed[one.pk] for one in records] == pytest.approx(list(rates.values()), rel=1e-6)


def test_report_costs_no_reading_of_samples(cluster: Cluster) -> None:
    phase = Phase(intervals=12, received={"p1": 80.6 * MBIT}, sent={"up0": 94 * MBIT})
    send(
        cluster.organisation, net_lines("h1", [phase], start=NOW - timedelta(seconds=120)), now=NOW
    )

    def reads(act: Callable[[], object]) -> int:
        with CaptureQueriesContext(connection) as asked:
            act()
        return sum("ingest_read_samples" in (one["sql"] or "") for one in asked)

    said = report(cluster, [80.6 * MBIT, 0.0, 0.0])
    assert reads(lambda: accept_report(host=cluster.enrolment.host, report=said, now=NOW)) == 0

    # Whoever asks for what was observed reads them.
    records = list(ComplianceRecord.objects.all())
    assert len(records) == 3
    assert reads(lambda: observed_rates(records)) > 0


def test_each_report_is_beside_the_samples_of_its_own_time(cluster: Cluster) -> None:
    """Reports of one moment are read together; each is compared with its own window."""
    slow = Phase(intervals=12, received={"p1": 10 * MBIT}, sent={"up0": 10 * MBIT})
    fast = Phase(intervals=12, received={"p1": 40 * MBIT}, sent={"up0": 40 * MBIT})
    send(
        cluster.organisation,
        net_lines("h1", [slow, fast], start=NOW - timedelta(seconds=240)),
        now=NOW,
    )
    for at in (NOW - timedelta(seconds=120), NOW):
        accept_report(
            host=cluster.enrolment.host,
            report=replace(report(cluster, [1.0, 1.0, 1.0]), reported_at=at),
            now=NOW,
        )

    records = list(ComplianceRecord.objects.filter(workload__name="web-1").order_by("reported_at"))
    observed = observed_rates(records)
    assert [observed[one.pk] for one in records] == pytest.approx([10 * MBIT, 40 * MBIT], rel=1e-6)
    assert observed_rates(records[:1]) == pytest.approx({records[0].pk: 10 * MBIT}, rel=1e-6)


def test_each_column_of_a_record_is_written() -> None:
    columns = {field.column for field in ComplianceRecord._meta.concrete_fields}
    # `observed` is of the release before; the others are the database's and the agent's.
    assert columns - {"id", "organisation_id", "host_id", "observed"} == set(RECORD)
