"""Turn an agent's report into compliance records with verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from advisor.core.compliance import Compliance, Measured, Verdict, judge
from advisor.decisions.report_rows import Facts, Granted, facts_of, store
from advisor.errors import ReportRefused
from advisor.models import Enforcer, PublishedDocument
from advisor.models.workload import allocation_key, allocation_pk
from enforcers.contract import (
    AllocationReport,
    ComplianceReport,
    Measurement,
    Outcome,
    plain_report,
)
from ingest.models import Host

CLOCK_TOLERANCE = timedelta(minutes=10)
"""A report from further in the future comes from a host whose clock is wrong."""

ENFORCED = (
    Outcome.APPLIED,
    Outcome.UNCHANGED,
    Outcome.REPLACED,
    Outcome.DRIFTED,
    Outcome.GUESSED_MODEL,
    Outcome.INEFFECTIVE,
)
"""With these outcomes the kernel enforces the policy, so that measurements count."""


def accept_report(
    *,
    host: Host,
    report: ComplianceReport,
    now: datetime,
    take_number: Callable[[], None] | None = None,
) -> int:
    """Store the report as one record per allocation; the same report twice changes nothing.

    `take_number` refuses one that came before. Numbers of reports grow with the host's clock, so a
    report from the future is refused first: its number would keep out those that come once the
    clock is right.

    Raises ReportRefused if it is for another host, from the future, or on a revision that was
    never published for this host. The last is kept as the agent's refusal, for people to see.
    """
    if report.host != host.name:
        raise ReportRefused(f'this token is for "{host.name}", the report for "{report.host}"')
    if report.reported_at > now + CLOCK_TOLERANCE:
        raise ReportRefused(
            f"the report is dated {report.reported_at:%H:%M:%S} UTC and it is {now:%H:%M:%S}; "
            f"set the clock of {host.name}"
        )
    if take_number is not None:
        take_number()
    items = {pk: item for item in report.allocations if (pk := allocation_pk(item.id))}
    names = {pk: item.id for pk, item in items.items()}
    facts = facts_of(host=host, revision=report.revision, names=names)
    if report.revision is not None and not facts.is_published:
        reason = _never_published(host, report.revision)
        Enforcer.objects.filter(host=host).update(refusal=reason, last_report_at=now)
        raise ReportRefused(reason)
    # An allocation may be removed while the agent still enforces it.
    present = {pk: item for pk, item in items.items() if pk in facts.allocations}
    plain = plain_report(report)
    written = {item["id"]: item for item in plain["allocations"]}
    records = [_record(report, item, written[item.id], pk, facts) for pk, item in present.items()]
    store(
        host=host,
        said={
            "agent_version": report.agent_version,
            "revision": report.revision,
            "now": now,
            "state": report.state.value,
            "refusal": report.refusal or "",
            "reports_dropped": report.reports_dropped,
        },
        support=plain["support"],
        records=records,
    )
    return len(records)


def _never_published(host: Host, revision: int) -> str:
    """Why the agent cannot hold this revision."""
    published = PublishedDocument.objects.filter(host=host)
    newest = published.order_by("-revision").values_list("revision", flat=True).first()
    return (
        f"the agent of {host.name} reports revision {revision}, which was never published for it; "
        f"the newest is {newest or 'none'}. Was this server restored from an older backup? Then "
        "on the host: sluice-enforcer restore"
    )


def _record(
    report: ComplianceReport,
    item: AllocationReport,
    plain: Mapping[str, Any],
    pk: int,
    facts: Facts,
) -> dict[str, Any]:
    """The columns of a record, by `report_rows.RECORD`."""
    granted = facts.granted.get(pk)
    workload, resource = facts.allocations[pk]
    found = _judge(granted, item)
    return {
        "resource_id": resource,
        "workload_id": workload,
        "policy_id": granted.policy if granted else None,
        "allocation": allocation_key(pk),
        "revision": report.revision,
        "reported_at": report.reported_at.isoformat(),
        "desired": plain["desired"],
        "applied": plain["applied"],
        "read_back": plain["read_back"],
        "measured": item.measured.rate if item.measured else None,
        **_queue_facts(item.measured),
        "outcome": item.outcome.value,
        "reason": item.reason,
        "controls": plain["controls"],
        "verdict": found.verdict.value,
        "verdict_reason": found.reason,
    }


def _queue_facts(measured: Measurement | None) -> dict[str, float | int | None]:
    names = (
        "window_s",
        "sample_count",
        "backlogged_samples",
        "backlog_bytes",
        "drops",
        "overlimits",
        "short_looks",
        "full_looks",
    )
    return {name: getattr(measured, name) if measured else None for name in names}


def _judge(granted: Granted | None, item: AllocationReport) -> Compliance:
    if item.outcome not in ENFORCED:
        return Compliance(verdict=Verdict.UNKNOWN, reason=f"{item.outcome}: {item.reason}")
    if granted is None or granted.capacity is None or granted.promise is None:
        return Compliance(
            verdict=Verdict.UNKNOWN, reason="the policy that the agent enforces is not known here"
        )
    measured = item.measured
    return judge(
        granted.promise,
        Measured(
            rate=measured.rate if measured else None,
            sample_count=measured.sample_count if measured else 0,
            backlogged_samples=measured.backlogged_samples if measured else None,
        ),
        capacity=granted.capacity,
        unit=granted.unit,
    )
