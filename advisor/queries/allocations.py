"""The table of a resource's allocations: reservations, entitlements and rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from advisor.history.held_policies import WITH_ROLLOUT, granted_items
from advisor.history.recent_rates import current_rates
from advisor.models import ComplianceRecord, Incident, Policy, Resource
from advisor.queries.allocation_rates import allocations_in_order

VERDICT_GRACE = timedelta(minutes=10)
"""Older verdicts are not shown as present."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationLine:
    """One allocation: its settings, its entitlement by the policy, and its rate.

    `colour` numbers the workload on every chart of the page. `role` says what it is in the open
    incident. None is a number that does not exist or was not measured.
    """

    workload: str
    workload_pk: int
    host: str
    host_pk: int
    colour: int
    tier: str
    shares: int
    reservation: float
    limit: float | None
    entitlement: float | None
    got: float | None
    verdict: str | None
    verdict_reason: str
    role: str


def allocation_lines(
    resource: Resource, *, policy: Policy | None, incident: Incident | None, now: datetime
) -> list[AllocationLine]:
    """The allocations, largest reservation first; `policy` is the newest version.

    Entitled is by the version of each host, while not all have the newest.

    Charts have those of workloads that are not seen there any more, too.
    """
    every = allocations_in_order(resource)
    allocations = [one for one in every if one.vanished_at is None]
    rates = current_rates(allocations, now=now)
    granted = granted_items(policy, {one.pk: one.host_id for one in allocations})
    records = _newest_records(resource, now)
    colours = colours_of([allocation.workload.name for allocation in every])
    roles = _roles(incident)
    lines = []
    for allocation in allocations:
        grant = granted.get(allocation.pk)
        record = records.get((allocation.workload_id, allocation.host_id)) if grant else None
        lines.append(
            AllocationLine(
                workload=allocation.workload.name,
                workload_pk=allocation.workload_id,
                host=allocation.host.name,
                host_pk=allocation.host_id,
                colour=colours[allocation.workload.name],
                tier=allocation.workload.tier,
                shares=allocation.weight,
                reservation=allocation.reservation,
                limit=allocation.limit,
                entitlement=grant["entitlement"] if grant else None,
                got=rates[allocation.pk],
                verdict=record.verdict if record else None,
                verdict_reason=_verdict_reason(record, policy, has_allocation=bool(grant)),
                role=roles.get(allocation.workload.name, ""),
            )
        )
    return lines


def colours_of(workloads: Sequence[str]) -> dict[str, int]:
    """The number of each workload's colour, by the order in which they first appear."""
    return {name: place for place, name in enumerate(dict.fromkeys(workloads), start=1)}


def policy_in_force(resource: Resource) -> Policy | None:
    """The newest version, also one without allocations."""
    return resource.policies.select_related(*WITH_ROLLOUT).order_by("-version").first()


def _newest_records(resource: Resource, now: datetime) -> dict[tuple[int, int], ComplianceRecord]:
    rows = resource.compliance_records.filter(reported_at__gt=now - VERDICT_GRACE)
    newest = rows.order_by("workload_id", "host_id", "-reported_at")
    distinct = newest.distinct("workload_id", "host_id")
    return {(row.workload_id, row.host_id): row for row in distinct}


def _verdict_reason(
    record: ComplianceRecord | None, policy: Policy | None, *, has_allocation: bool
) -> str:
    if record is not None:
        return record.verdict_reason or record.reason
    if policy is None or not policy.allocations:
        return "no policy is in force"
    if not has_allocation:
        return f"version {policy.version} of the policy does not have this allocation"
    return "no agent has reported on it in the last ten minutes"


def _roles(incident: Incident | None) -> dict[str, str]:
    if incident is None:
        return {}
    roles = {
        item["workload"]: _share(item, "part_ratio", "uses {}", "uses too much")
        for item in incident.culprits
    }
    for item in incident.victims:
        roles[item["workload"]] = _share(
            item, "shortfall_ratio", "{} below entitlement", "below entitlement"
        )
    return roles


def _share(item: dict[str, Any], name: str, words: str, without: str) -> str:
    ratio = item.get(name)
    return without if ratio is None else words.format(f"{ratio * 100:.0f} %")
