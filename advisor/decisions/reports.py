"""Turn an agent's report into compliance records with verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from advisor.core.compliance import Compliance, Measured, Promise, Verdict, beside_host, judge
from advisor.core.resource import Unit
from advisor.errors import ReportRefused
from advisor.models import Allocation, ComplianceRecord, Enforcer, Policy, PublishedDocument
from advisor.models.workload import allocation_id, allocation_pk
from enforcers.contract import (
    AllocationReport,
    ComplianceReport,
    Measurement,
    Outcome,
    encode_report,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Granted:
    """A version that the host holds, and what it gives each allocation, by its key."""

    policy: Policy
    promises: Mapping[int, Promise]


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
    held: PublishedDocument | None = None
    if report.revision is not None:
        held = PublishedDocument.objects.filter(host=host, revision=report.revision).first()
    if held is None and report.revision is not None:
        reason = _never_published(host, report.revision)
        Enforcer.objects.filter(host=host).update(refusal=reason, last_report_at=now)
        raise ReportRefused(reason)
    return _store(host, report, held, now)


def _never_published(host: Host, revision: int) -> str:
    """Why the agent cannot hold this revision."""
    published = PublishedDocument.objects.filter(host=host)
    newest = published.order_by("-revision").values_list("revision", flat=True).first()
    return (
        f"the agent of {host.name} reports revision {revision}, which was never published for it; "
        f"the newest is {newest or 'none'}. Was this server restored from an older backup? Then "
        "on the host: sluice-enforcer restore"
    )


@transaction.atomic
def _store(
    host: Host, report: ComplianceReport, held: PublishedDocument | None, now: datetime
) -> int:
    plain = json.loads(encode_report(report))
    Enforcer.objects.filter(host=host).update(
        agent_version=report.agent_version,
        support=plain["support"],
        applied_revision=report.revision,
        last_report_at=now,
        enforcement_state=report.state,
        refusal=report.refusal or "",
        reports_dropped=report.reports_dropped,
    )
    allocations = _allocations(host, report)
    granted = _granted(held)
    records = [
        _record(host, allocations[item.id], report, item, written, granted=granted.get(item.id))
        for item, written in zip(report.allocations, plain["allocations"], strict=True)
        # An allocation may be removed while the agent still enforces it.
        if item.id in allocations
    ]
    ComplianceRecord.objects.bulk_create(records, ignore_conflicts=True)
    return len(records)


def _allocations(host: Host, report: ComplianceReport) -> dict[str, Allocation]:
    """The host's allocations that the report is about, by their names on the wire."""
    keys = {pk: item.id for item in report.allocations if (pk := allocation_pk(item.id))}
    rows = Allocation.objects.filter(pk__in=keys, host=host).order_by()
    return {keys[row.pk]: row for row in rows.only("resource_id", "workload_id")}


def _record(
    host: Host,
    allocation: Allocation,
    report: ComplianceReport,
    item: AllocationReport,
    plain: dict[str, dict[str, object] | None],
    *,
    granted: _Granted | None,
) -> ComplianceRecord:
    found = _judge(allocation, granted, item)
    return ComplianceRecord(
        organisation_id=host.organisation_id,
        host=host,
        resource_id=allocation.resource_id,
        workload_id=allocation.workload_id,
        policy=granted.policy if granted else None,
        allocation=allocation_id(allocation),
        revision=report.revision,
        reported_at=report.reported_at,
        desired=plain["desired"],
        applied=plain["applied"],
        read_back=plain["read_back"],
        measured=item.measured.rate if item.measured else None,
        **_queue_facts(item.measured),
        outcome=item.outcome,
        reason=item.reason,
        controls=plain["controls"],
        verdict=found.verdict,
        verdict_reason=found.reason,
    )


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


def _granted(document: PublishedDocument | None) -> dict[str, _Granted]:
    """By allocation's name on the wire, the version that the document is of."""
    items = document.content["allocations"] if document else []
    read = Policy.objects.select_related("resource").only(
        "allocations", "capacity", "resource__capacity", "resource__kind", "resource__unit"
    )
    policies = read.in_bulk({item["policy"] for item in items})
    found = {pk: _Granted(policy=one, promises=_promises(one)) for pk, one in policies.items()}
    return {item["id"]: found[item["policy"]] for item in items if item["policy"] in found}


def _judge(allocation: Allocation, granted: _Granted | None, item: AllocationReport) -> Compliance:
    if item.outcome not in ENFORCED:
        return Compliance(verdict=Verdict.UNKNOWN, reason=f"{item.outcome}: {item.reason}")
    policy = granted.policy if granted else None
    capacity = policy.divided_capacity if policy else None
    promise = granted.promises.get(allocation.pk) if granted else None
    if policy is None or capacity is None or promise is None:
        return Compliance(
            verdict=Verdict.UNKNOWN, reason="the policy that the agent enforces is not known here"
        )
    measured = item.measured
    return judge(
        promise,
        Measured(
            rate=measured.rate if measured else None,
            sample_count=measured.sample_count if measured else 0,
            backlogged_samples=measured.backlogged_samples if measured else None,
        ),
        capacity=capacity,
        unit=Unit(policy.resource.unit),
    )


def _promises(policy: Policy) -> dict[int, Promise]:
    """What the policy gives each allocation beside what the host keeps for its own traffic."""
    promises = [
        Promise(
            reservation=item["reservation"], limit=item["limit"], entitlement=item["entitlement"]
        )
        for item in policy.allocations
    ]
    room = policy.resource.beside_host_traffic(policy.divided_capacity)
    if room is not None:
        promises = beside_host(promises, room)
    return dict(zip((item["allocation"] for item in policy.allocations), promises, strict=True))
