"""When every host enforced a policy version, from the agents' stored reports."""

from __future__ import annotations

from collections import Counter, defaultdict

from django.db.models import Count, Q

from advisor.core.enforced_time import (
    HostReport,
    Stretch,
    common_stretches,
    enforced_stretches,
)
from advisor.history.policy_reports import IS_READ_BACK, REPORT_GRACE
from advisor.models import Allocation, ComplianceRecord, Policy
from advisor.models.workload import allocation_id
from enforcers.contract import Outcome


def enforced_time(policy: Policy) -> tuple[Stretch, ...]:
    """When the kernels of all hosts of its workloads showed all their allocations; in order."""
    allocations = list(
        Allocation.objects.filter(pk__in=[item["allocation"] for item in policy.allocations])
    )
    reports = _reports(policy, allocations)
    hosts = {allocation.host_id for allocation in allocations}
    return common_stretches(
        [enforced_stretches(reports[host], longest_gap=REPORT_GRACE) for host in sorted(hosts)]
    )


def _reports(policy: Policy, allocations: list[Allocation]) -> dict[int, list[HostReport]]:
    """By host; a report counts as a whole, so one row is read for all its allocations."""
    wanted = Counter(allocation.host_id for allocation in allocations)
    rows = (
        ComplianceRecord.objects.filter(
            policy=policy, allocation__in=[allocation_id(allocation) for allocation in allocations]
        )
        .order_by()
        .values("host_id", "reported_at")
        .annotate(
            held=Count("pk", filter=IS_READ_BACK),
            untouched=Count("pk", filter=IS_READ_BACK & Q(outcome=Outcome.UNCHANGED)),
        )
    )
    found: dict[int, list[HostReport]] = defaultdict(list)
    for row in rows:
        count = wanted[row["host_id"]]
        found[row["host_id"]].append(
            HostReport(
                at=row["reported_at"],
                holds=row["held"] == count,
                untouched=row["untouched"] == count,
            )
        )
    return found
