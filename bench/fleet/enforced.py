"""A policy on every resource of a fleet, and half an hour of what its agents report of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accounts.models import Organisation
    from advisor.models import Allocation, ComplianceRecord, Policy

REPORT = timedelta(seconds=30)
REPORTS = 60
MISSED = 50
"""Of so many allocations one does not hold."""


def enforce(organisation: Organisation, *, now: datetime) -> int:
    """How many allocations have a policy, an agent and reports then."""
    from advisor.models import Allocation, ComplianceRecord, Enforcer, Policy, Resource
    from ingest.models import Host

    by_resource: dict[int, list[Allocation]] = defaultdict(list)
    rows = Allocation.objects.filter(resource__organisation=organisation, vanished_at=None)
    for row in rows.select_related("workload", "resource").order_by("pk"):
        by_resource[row.resource_id].append(row)
    Resource.objects.filter(pk__in=by_resource, capacity=None).update(capacity=5000.0)
    policies = Policy.objects.bulk_create(
        _policy(organisation, own, now - timedelta(hours=1)) for own in by_resource.values()
    )
    _publish(organisation, policies, by_resource, now - timedelta(minutes=50))
    hosts = Host.objects.filter(organisation=organisation, enforcer=None)
    Enforcer.objects.bulk_create(
        Enforcer(host=host, applied_revision=1, last_report_at=now) for host in hosts
    )
    newest = now - timedelta(seconds=5)
    ComplianceRecord.objects.bulk_create(
        _record(*one, newest) for one in _pairs(policies, by_resource)
    )
    _repeat(organisation)
    return sum(map(len, by_resource.values()))


def _policy(organisation: Organisation, own: list[Allocation], at: datetime) -> Policy:
    from advisor.models import Policy

    items = [
        {
            "allocation": row.pk, "workload": row.workload.name, "reservation": 0.0,
            "limit": 1000.0, "shares": 1000, "entitlement": 100.0,
        }
        for row in own
    ]  # fmt: skip
    return Policy(
        organisation=organisation, resource=own[0].resource, version=1, allocations=items,
        created_at=at,
    )  # fmt: skip


def _publish(
    organisation: Organisation,
    policies: list[Policy],
    by_resource: dict[int, list[Allocation]],
    at: datetime,
) -> None:
    from advisor.models import PublishedDocument
    from advisor.models.workload import allocation_id
    from ingest.models import Host

    items: dict[int, list[dict[str, object]]] = defaultdict(list)
    for policy in policies:
        for row in by_resource[policy.resource_id]:
            items[row.host_id].append(
                {
                    "id": allocation_id(row), "workload": row.workload.name, "policy": policy.pk,
                    "resource": row.resource.name, "selector": ["cgroup", row.adapter],
                    "reservation": 0.0, "limit": 1000.0, "shares": 1000, "entitlement": 100.0,
                }
            )  # fmt: skip
    PublishedDocument.objects.bulk_create(
        PublishedDocument(
            host=host, revision=1, published_at=at,
            content={"resources": [], "allocations": items[host.pk]},
        )
        for host in Host.objects.filter(organisation=organisation)
    )  # fmt: skip


def _pairs(
    policies: list[Policy], by_resource: dict[int, list[Allocation]]
) -> Iterator[tuple[Policy, Allocation]]:
    return ((policy, row) for policy in policies for row in by_resource[policy.resource_id])


def _repeat(organisation: Organisation) -> None:
    """The reports before the newest one, which say the same."""
    from django.db import connection

    from advisor.models import ComplianceRecord

    model = ComplianceRecord._meta  # noqa: SLF001  its documented name
    columns = [field.column for field in model.concrete_fields if field.column]
    table, same = model.db_table, ", ".join(set(columns) - {"id", "reported_at"})
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (reported_at, {same})"
            f" SELECT reported_at - place * %s::interval, {same}"
            f" FROM {table}, generate_series(1, %s) place"
            " WHERE organisation_id = %s",
            [f"{REPORT.total_seconds():g} s", REPORTS - 1, organisation.pk],
        )
        # As the database does by itself where autovacuum is on.
        cursor.execute(f"ANALYZE {table}")


def _record(policy: Policy, row: Allocation, at: datetime) -> ComplianceRecord:
    from advisor.models import ComplianceRecord
    from advisor.models.workload import allocation_id
    from enforcers.contract import Outcome

    setting = {"reservation": 0.0, "limit": 1000.0, "shares": 1000, "native": "io.max"}
    is_missed = row.pk % MISSED == 0
    outcome = Outcome.DRIFTED if is_missed else Outcome.UNCHANGED
    told = {"outcome": outcome, "reason": "io.max was 900" if is_missed else "as wanted"}
    return ComplianceRecord(
        organisation=policy.organisation, host_id=row.host_id, resource=policy.resource,
        workload=row.workload, policy=policy, allocation=allocation_id(row), revision=1,
        reported_at=at, desired=setting, applied=setting, read_back=setting, measured=50.0,
        window_s=30.0, sample_count=30, backlogged_samples=0, outcome=outcome,
        reason=told["reason"], controls=dict.fromkeys(("reservation", "limit", "shares"), told),
        verdict="met", verdict_reason="got 50.0 IOPS, entitled to 100 IOPS",
    )  # fmt: skip
