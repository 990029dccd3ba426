"""What is read of the fleet to say what holds where: a fixed number of statements.

Only a few columns are read of each allocation, since there are thousands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import (
    Case,
    F,
    Func,
    JSONField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import JSONObject

from advisor.history.enforced_state import Agent, Given, Pass, Words
from advisor.history.held_policies import Partial, partial_rollouts
from advisor.history.policy_reports import HELD, IS_READ_BACK, unlike
from advisor.history.policy_state import newest_policies
from advisor.models import (
    Attachment,
    ComplianceRecord,
    Enforcer,
    Policy,
    PublishedDocument,
    Resource,
)
from advisor.queries.allocation_columns import present_allocations
from advisor.queries.scope import Scope
from ingest.models import Host

_IS_APPLIED = Q(outcome__in=HELD, applied__isnull=False)


class Found(NamedTuple):
    """What is known of the fleet; all by key, words by that of the newest report."""

    hosts: Mapping[int, str]
    agents: Mapping[int, Agent]
    given: Mapping[int, Given]
    words: Mapping[int, Words]
    devices: Mapping[tuple[int, int], str]
    versions: Mapping[int, int]


class Wanted(NamedTuple):
    """An allocation with the version that its host is to have, and its newest report."""

    pk: int
    host: int
    workload: int
    name: str
    policy: Policy
    later: str
    newest: Pass | None


def read_fleet(scope: Scope) -> tuple[list[Wanted], Found]:
    """Every allocation that the newest policies give something, and what is known of them."""
    resources = scope.rows(Resource).values_list("pk", flat=True)
    policies = {row.resource_id: row for row in newest_policies(resources) if row.allocations}
    hosts = dict(scope.rows(Host).values_list("pk", "name"))
    wanted = [one for one in _wanted(scope, policies) if one.host in hosts]
    found = Found(
        hosts=hosts,
        agents=_agents(scope),
        given=_given(scope),
        words=_words([one.newest for one in wanted if one.newest and one.newest.needs_words]),
        devices=_devices(policies),
        versions=_versions(wanted),
    )
    return wanted, found


def _wanted(scope: Scope, policies: Mapping[int, Policy]) -> list[Wanted]:
    """The allocations of these policies; of a host beyond the present stage, by the former one."""
    partial = partial_rollouts(list(policies.values()))
    items: dict[int, frozenset[int]] = {}
    for policy in policies.values():
        former = partial[policy.pk].former if policy.pk in partial else None
        for one in (policy, former):
            if one is not None:
                items[one.pk] = frozenset(item["allocation"] for item in one.allocations)
    rows = present_allocations(scope).filter(resource__in=policies).annotate(said=_said())
    columns = ("pk", "host_id", "workload_id", "workload__name", "resource_id", "said")
    found = []
    ordered = rows.order_by("workload__name", "host__name", "resource__name", "pk")
    for pk, host, workload, name, resource, said in ordered.values_list(*columns):
        wanted, later = _version(policies[resource], partial, host, pk, items)
        if wanted is not None:
            found.append(Wanted(pk, host, workload, name, wanted, later, _pass(said)))
    return found


def _said() -> Subquery:
    """What the newest report, however old, says of the allocation of the row.

    It is found by the index of host and name, since there are millions of reports.
    """
    reports = reports_of_row().annotate(taken=truth(_IS_APPLIED), seen=truth(IS_READ_BACK))
    said = JSONObject(
        record="pk", policy="policy_id", reported_at="reported_at", outcome="outcome",
        verdict="verdict", is_applied="taken", is_shown="seen",
    )  # fmt: skip
    return Subquery(reports.order_by("-reported_at").values(said=said)[:1])


def _pass(said: dict[str, Any] | None) -> Pass | None:
    if said is None:
        return None
    return Pass(**said | {"reported_at": datetime.fromisoformat(said["reported_at"])})


def _version(
    newest: Policy,
    partial: Mapping[int, Partial],
    host: int,
    allocation: int,
    items: Mapping[int, frozenset[int]],
) -> tuple[Policy | None, str]:
    """The version that the host is to have of the allocation, and what is still to come."""
    rollout = partial.get(newest.pk)
    if rollout is None or host in rollout.hosts:
        return (newest if allocation in items[newest.pk] else None), ""
    former = rollout.former
    if former is not None and allocation in items[former.pk]:
        return former, f"version {newest.version} comes in a later stage"
    has_it = allocation in items[newest.pk]
    return (newest if has_it else None), "its host gets it in a later stage"


def _agents(scope: Scope) -> dict[int, Agent]:
    rows = Enforcer.objects.filter(host__in=scope.rows(Host)).order_by()
    columns = ("host_id", "lease_s", "dry_run", "refusal", "applied_revision", "last_report_at")
    return {row[0]: Agent(*row) for row in rows.values_list(*columns)}


def _given(scope: Scope) -> dict[int, Given]:
    """The newest document of each host, without all that is in it."""
    newest = PublishedDocument.objects.filter(host__in=scope.rows(Host))
    rows = (
        newest.order_by("host_id", "-revision").distinct("host_id").annotate(policies=_carried())
    )
    columns = ("host_id", "revision", "published_at", "policies", "content__left_out")
    return {
        host: Given(
            revision=revision,
            published_at=at,
            policies=frozenset(policies or ()),
            left_out={item["what"]: item["reason"] for item in left_out or ()},
        )
        for host, revision, at, policies, left_out in rows.values_list(*columns)
    }


def _carried() -> Func:
    """The versions of the allocations of a document, by key."""
    return Func(
        F("content"),
        template="jsonb_path_query_array(%(expressions)s, '$.allocations[*].policy')",
        output_field=JSONField(),
    )


def _devices(resources: Mapping[int, Policy]) -> dict[tuple[int, int], str]:
    rows = Attachment.objects.filter(resource__in=resources).order_by()
    return {
        (resource, host): device
        for resource, host, device in rows.values_list("resource_id", "host_id", "device")
    }


def _words(passes: Sequence[Pass]) -> dict[int, Words]:
    """What else these reports say."""
    rows = ComplianceRecord.objects.filter(pk__in=[one.record for one in passes])
    unlike_ones = {one.record for one in passes if one.is_applied and not one.is_shown}
    columns = ("reason", "controls", "verdict_reason", "applied", "read_back", "resource__unit")
    return {
        row.pk: Words(
            reason=row.reason,
            controls=row.controls,
            verdict_reason=row.verdict_reason,
            unlike=unlike(row, row.resource.unit) if row.pk in unlike_ones else "",
        )
        for row in rows.select_related("resource").only(*columns).order_by()
    }


def _versions(wanted: Sequence[Wanted]) -> dict[int, int]:
    """The number of each version that a newest report is about."""
    told = {one.newest.policy for one in wanted if one.newest and one.newest.policy is not None}
    rows = Policy.objects.filter(pk__in=told)
    return dict(rows.order_by().values_list("pk", "version"))


def reports_of_row() -> QuerySet[ComplianceRecord]:
    """The reports of the allocation around this query."""
    return ComplianceRecord.objects.filter(
        host=OuterRef("host_id"), allocation=OuterRef("wire_name")
    )


def truth(condition: Q) -> Case:
    """True where it holds; what the database does not know of it does not."""
    return Case(When(condition, then=Value(True)), default=Value(False))
