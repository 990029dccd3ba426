"""Agents that report what the kernel would have told them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser

from advisor.decisions.documents import current_document, publish_documents
from advisor.decisions.reports import accept_report
from advisor.models import Allocation, Policy, Resource
from enforcers.contract import (
    HOST_TRAFFIC,
    AllocationReport,
    ComplianceReport,
    ControlOutcome,
    ControlOutcomes,
    EnforcementState,
    Measurement,
    MechanismSupport,
    Outcome,
    PolicyDocument,
    Setting,
)
from enforcers.contract import Allocation as WireAllocation
from ingest.models import Host
from tests.advisor.agent_support import SUPPORT

NO_CGROUP = (
    SUPPORT[0],
    replace(
        SUPPORT[1],
        supported=False,
        reason="cgroup v1 is mounted: io.max and io.weight do not exist",
    ),
    *SUPPORT[2:],
)


def publish(
    resource: Resource,
    *,
    by: AbstractBaseUser,
    now: datetime,
    entitlements: Mapping[str, float],
) -> Policy:
    """Put the allocations of a resource into force as they are stated."""
    version = resource.policies.count() + 1
    policy = Policy(
        organisation=resource.organisation,
        resource=resource,
        version=version,
        allocations=[
            {
                "allocation": allocation.pk,
                "workload": allocation.workload.name,
                "reservation": allocation.reservation,
                "limit": allocation.limit,
                "shares": allocation.weight,
                "entitlement": entitlements[allocation.workload.name],
            }
            for allocation in Allocation.objects.filter(resource=resource).select_related(
                "workload"
            )
        ],
        created_at=now,
    )
    policy.created_by_id = by.pk
    policy.save()
    publish_documents(resource=resource, now=now)
    return policy


def report(
    host: Host,
    *,
    now: datetime,
    rates: Mapping[str, float],
    drifted: Mapping[str, str] | None = None,
    support: tuple[MechanismSupport, ...] = SUPPORT,
) -> None:
    """The host pulls its document, and reports rates by workload and drift by reason."""
    document = current_document(host=host, now=now)
    accept_report(
        host=host,
        report=report_of(document, now=now, rates=rates, drifted=drifted, support=support),
        now=now,
    )


def report_of(
    document: PolicyDocument,
    *,
    now: datetime,
    rates: Mapping[str, float],
    drifted: Mapping[str, str] | None = None,
    support: tuple[MechanismSupport, ...] = SUPPORT,
) -> ComplianceReport:
    """What an agent says that holds this document."""
    return ComplianceReport(
        host=document.host,
        revision=document.revision,
        reported_at=now - timedelta(seconds=1),
        agent_version="0.1.0",
        state=EnforcementState.ENFORCING if document.allocations else EnforcementState.IDLE,
        refusal=None,
        reports_dropped=0,
        support=support,
        allocations=tuple(
            _allocation(item, rates, drifted or {}) for item in document.allocations
        ),
    )


def _allocation(
    item: WireAllocation, rates: Mapping[str, float], drifted: Mapping[str, str]
) -> AllocationReport:
    wanted = Setting(reservation=item.reservation, limit=item.limit, shares=item.shares)
    # Nothing is told of what the host itself sends.
    rate = 0.0 if item.selector.kind == HOST_TRAFFIC else rates[item.workload]
    reason = drifted.get(item.workload, "as wanted")
    outcome = Outcome.DRIFTED if item.workload in drifted else Outcome.UNCHANGED
    return AllocationReport(
        id=item.id,
        workload=item.workload,
        resource=item.resource,
        desired=wanted,
        applied=wanted,
        read_back=wanted,
        measured=Measurement(
            rate=rate,
            window_s=60.0,
            sample_count=60,
            # Who gets less than the entitlement has nothing waiting: it wants no more.
            backlogged_samples=60 if rate >= item.entitlement else 0,
            backlog_bytes=None,
            drops=None,
            overlimits=None,
        ),
        outcome=outcome,
        reason=reason,
        controls=ControlOutcomes.all_as(ControlOutcome(outcome=outcome, reason=reason)),
    )
