"""Turn an agent's report into compliance records with verdicts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta

import numpy as np
from django.db import transaction

from advisor.core.compliance import Compliance, Measured, Promise, Verdict, beside_host, judge
from advisor.core.resource import Unit
from advisor.errors import ReportRefused
from advisor.history.inventory import inventory_of
from advisor.history.reader import read_histories
from advisor.models import Allocation, ComplianceRecord, Enforcer, Policy, PublishedDocument
from advisor.models.workload import allocation_id, allocation_pk
from enforcers.contract import (
    AllocationReport,
    ComplianceReport,
    Measurement,
    Outcome,
    encode_report,
)
from ingest.core.grid import grid_of
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


@transaction.atomic
def accept_report(*, host: Host, report: ComplianceReport, now: datetime) -> int:
    """Store the report as one record per allocation; the same report twice changes nothing.

    Raises ReportRefused if it is for another host, or from the future.
    """
    if report.host != host.name:
        raise ReportRefused(f'this token is for "{host.name}", the report for "{report.host}"')
    if report.reported_at > now + CLOCK_TOLERANCE:
        raise ReportRefused(
            f"the report is dated {report.reported_at:%H:%M:%S} UTC and it is {now:%H:%M:%S}; "
            f"set the clock of {host.name}"
        )
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
    observed = _observed(allocations, report)
    records = [
        _record(allocations[item.id], report, item, written, observed=observed.get(item.id))
        for item, written in zip(report.allocations, plain["allocations"], strict=True)
        # An allocation may be removed while the agent still enforces it.
        if item.id in allocations
    ]
    ComplianceRecord.objects.bulk_create(records, ignore_conflicts=True)
    return len(records)


def _allocations(host: Host, report: ComplianceReport) -> dict[str, Allocation]:
    """The host's allocations that the report is about, by their names on the wire."""
    keys = {pk: item.id for item in report.allocations if (pk := allocation_pk(item.id))}
    rows = Allocation.objects.filter(pk__in=keys, host=host)
    return {keys[row.pk]: row for row in rows.select_related("resource", "workload", "host")}


def _record(
    allocation: Allocation,
    report: ComplianceReport,
    item: AllocationReport,
    plain: dict[str, dict[str, object] | None],
    *,
    observed: float | None,
) -> ComplianceRecord:
    host = allocation.host
    policy = _policy(host, report.revision, item.id)
    found = _judge(allocation, policy, item)
    return ComplianceRecord(
        organisation=host.organisation,
        host=host,
        resource=allocation.resource,
        workload=allocation.workload,
        policy=policy,
        allocation=allocation_id(allocation),
        revision=report.revision,
        reported_at=report.reported_at,
        desired=plain["desired"],
        applied=plain["applied"],
        read_back=plain["read_back"],
        measured=item.measured.rate if item.measured else None,
        observed=observed,
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
    )
    return {name: getattr(measured, name) if measured else None for name in names}


def _policy(host: Host, revision: int | None, allocation_id: str) -> Policy | None:
    if revision is None:
        return None
    document = PublishedDocument.objects.filter(host=host, revision=revision).first()
    if document is None:
        return None
    for item in document.content["allocations"]:
        if item["id"] == allocation_id:
            return Policy.objects.filter(pk=item["policy"]).select_related("resource").first()
    return None


def _judge(allocation: Allocation, policy: Policy | None, item: AllocationReport) -> Compliance:
    if item.outcome not in ENFORCED:
        return Compliance(verdict=Verdict.UNKNOWN, reason=f"{item.outcome}: {item.reason}")
    capacity = policy.divided_capacity if policy else None
    if policy is None or capacity is None or (promise := _promise(allocation, policy)) is None:
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
        unit=Unit(allocation.resource.unit),
    )


def _promise(allocation: Allocation, policy: Policy) -> Promise | None:
    """What the policy gives the allocation beside what the host keeps for its own traffic."""
    promises = [
        Promise(
            reservation=item["reservation"], limit=item["limit"], entitlement=item["entitlement"]
        )
        for item in policy.allocations
    ]
    room = policy.resource.beside_host_traffic(policy.divided_capacity)
    if room is not None:
        promises = beside_host(promises, room)
    places = [item["allocation"] for item in policy.allocations]
    return promises[places.index(allocation.pk)] if allocation.pk in places else None


def _observed(allocations: Mapping[str, Allocation], report: ComplianceReport) -> dict[str, float]:
    """The mean rates in stored samples over the agent's window, as a second witness."""
    together: dict[tuple[float, float], list[Allocation]] = defaultdict(list)
    names = {row.pk: name for name, row in allocations.items()}
    for item in report.allocations:
        if item.measured is not None and item.id in allocations:
            row = allocations[item.id]
            together[item.measured.window_s, row.resource.window_s].append(row)
    found = {}
    for (seconds, window_s), rows in together.items():
        grid = grid_of(
            report.reported_at - timedelta(seconds=seconds), report.reported_at, window_s
        )
        resources = list({row.resource_id: row.resource for row in rows}.values())
        inventory = inventory_of(resources, rows)
        for history in read_histories(resources, grid, inventory=inventory).values():
            own = history.allocations
            for row, rates in zip(own.rows, own.rate.T, strict=True):
                known = rates[~np.isnan(rates)]
                if len(known):
                    found[names[row.pk]] = float(known.mean())
    return found
