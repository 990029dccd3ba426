"""The pools of an uplink with their terms, and how far each came on its host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from advisor.core.canonical import from_plain
from advisor.core.pools import PoolTerms, pool_terms_text
from advisor.history.stated_pools import pool_terms
from advisor.models import Policy, PublishedDocument, Resource
from advisor.queries.full_days import full_day_text


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLine:
    """One pool as it is stated; `state` says what of it hosts were given.

    `full_day` says when its members reach what it has.
    """

    name: str
    terms: str
    members: tuple[str, ...]
    state: str
    full_day: str


def pool_lines(resource: Resource, policy: Policy | None) -> list[PoolLine]:
    """The stated pools with members, then those that only the newest policy has."""
    if not resource.traits.one_device:
        return []
    stated = pool_terms(resource)
    approved = terms_in(policy)
    if not (stated or approved):
        return []
    names = dict(resource.allocations.values_list("pk", "workload__name"))
    rows = resource.pools.select_related("resource").prefetch_related("demand_outlooks")
    full_days = {row.pk: full_day_text(row) for row in rows}
    document = _document(resource)
    known = {pool.pool: pool for pool in approved}
    gone = [pool for pool in approved if pool.pool not in {one.pool for one in stated}]
    return [
        _line(
            pool,
            names,
            resource,
            state=_state(pool, known.get(pool.pool), resource, document),
            full_day=full_days[pool.pool],
        )
        for pool in stated
    ] + [
        _line(
            pool,
            names,
            resource,
            state="removed, but the newest policy has it still",
            full_day="not foretold: it was removed",
        )
        for pool in gone
    ]


def terms_in(policy: Policy | None) -> tuple[PoolTerms, ...]:
    """The pools of a policy version."""
    plain = policy.pools if policy else []
    return tuple(from_plain(PoolTerms, one) for one in plain)


def _line(
    pool: PoolTerms, names: dict[int, str], resource: Resource, *, state: str, full_day: str
) -> PoolLine:
    return PoolLine(
        name=pool.name,
        terms=pool_terms_text(pool, resource.unit),
        members=tuple(sorted(names[member] for member in pool.members if member in names)),
        state=state,
        full_day=full_day,
    )


def _document(resource: Resource) -> PublishedDocument | None:
    """The newest of the one host that reaches the uplink."""
    rows = PublishedDocument.objects.filter(host__attachments__resource=resource)
    return rows.select_related("host__enforcer").order_by("-revision").first()


def _state(
    pool: PoolTerms,
    approved: PoolTerms | None,
    resource: Resource,
    document: PublishedDocument | None,
) -> str:
    if approved is None:
        return "in no policy yet"
    other = "" if approved == pool else "stated anew since the newest policy; of that one: "
    return other + _on_host(approved, resource, document)


def _on_host(pool: PoolTerms, resource: Resource, document: PublishedDocument | None) -> str:
    if document is None:
        return "no host was given it"
    host, content = document.host, document.content
    if not _has(content, pool, resource):
        reason = _left_out(content, pool, resource)
        return f"not enforced on {host.name}: {reason}" if reason else f"not sent to {host.name}"
    held = host.enforcer.applied_revision
    if held is None or held < document.revision:
        return f"sent to {host.name}, whose agent has not reported it"
    return f"accepted by the agent of {host.name}; what its members get is in the table above"


def _has(content: dict[str, Any], pool: PoolTerms, resource: Resource) -> bool:
    sent = [(one["resource"], one["name"]) for one in content.get("pools", ())]
    return (resource.name, pool.name) in sent


def _left_out(content: dict[str, Any], pool: PoolTerms, resource: Resource) -> str:
    what = f"pool {pool.name} on {resource.name}"
    reasons = [one["reason"] for one in content.get("left_out", ()) if one["what"] == what]
    return reasons[0] if reasons else ""
