"""What a report is compared with, and how it is stored: each by one statement.

Agents report each half minute. Making statements from the models and rows into models took most of
the time of a report.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.types.numeric import Int8

from advisor.core.compliance import Promise, beside_host
from advisor.core.resource import Unit
from advisor.models import Policy, PublishedDocument, Resource
from ingest.binary_cursor import prepared_cursor
from ingest.models import Host

_FIND = """
    SELECT document.id, document.published_at, (
               SELECT json_agg(json_build_array(id, workload_id, resource_id))
                 FROM advisor_allocation
                WHERE id = ANY(%(allocations)s::bigint[]) AND host_id = %(host)s
           ), (
               SELECT json_agg(json_build_array(
                          policy.id, resource.kind, resource.unit, resource.capacity))
                 FROM advisor_policy AS policy
                 JOIN advisor_resource AS resource ON resource.id = policy.resource_id
                WHERE policy.id = ANY(%(policies)s::bigint[])
           )
      FROM (VALUES (%(host)s::bigint, %(revision)s::int)) AS asked(host_id, revision)
      LEFT JOIN advisor_publisheddocument AS document
             ON document.host_id = asked.host_id AND document.revision = asked.revision
"""
RECORD = {
    "resource_id": "bigint", "workload_id": "bigint", "policy_id": "bigint", "allocation": "text",
    "revision": "int", "reported_at": "timestamptz", "desired": "jsonb", "applied": "jsonb",
    "read_back": "jsonb", "measured": "float8", "window_s": "float8", "sample_count": "int",
    "backlogged_samples": "int", "backlog_bytes": "bigint", "drops": "bigint",
    "overlimits": "bigint", "short_looks": "int", "full_looks": "int", "outcome": "text",
    "reason": "text", "controls": "jsonb", "verdict": "text", "verdict_reason": "text",
}  # fmt: skip
"""The columns of a record, with their types; its organisation and host are those of the agent."""
_STORE = f"""
    WITH said AS (
        UPDATE advisor_enforcer
           SET agent_version = %(agent_version)s, support = %(support)s::jsonb,
               applied_revision = %(revision)s, last_report_at = %(now)s,
               enforcement_state = %(state)s, refusal = %(refusal)s,
               reports_dropped = %(reports_dropped)s
         WHERE host_id = %(host)s
    )
    INSERT INTO advisor_compliancerecord (organisation_id, host_id, {", ".join(RECORD)})
    SELECT %(organisation)s, %(host)s, new.*
      FROM json_to_recordset(%(records)s::json)
           AS new({", ".join(f"{name} {kind}" for name, kind in RECORD.items())})
        ON CONFLICT DO NOTHING
"""  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What a version that the host holds gives an allocation; `capacity` is what it divides."""

    policy: int
    unit: Unit
    capacity: float | None
    promise: Promise | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a report is compared with.

    `is_published` is False for a revision that the host was never given. `allocations` are those
    of the host: their workloads and resources, by their keys, as `granted`.
    """

    is_published: bool
    allocations: Mapping[int, tuple[int, int]]
    granted: Mapping[int, Granted]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    """A published document, which never changes: by allocations' names, their versions."""

    pk: int
    published_at: datetime
    policies: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Divided:
    """What a version divides: a resource of this kind, and its stated capacity."""

    kind: str
    unit: str
    capacity: float | None


_MOST_DOCUMENTS, _MOST_PROMISES = 20_000, 50_000
_documents: dict[tuple[int, int], _Document] = {}
"""By host and revision."""
_promises: dict[tuple[int, _Divided], tuple[float | None, dict[int, Promise]]] = {}
"""Of versions, which never change, with what else they depend on."""


def facts_of(*, host: Host, revision: int | None, names: Mapping[int, str]) -> Facts:
    """What the host's report on this revision is compared with.

    `names` are those of its allocations on the wire, by their keys.
    """
    known = None if revision is None else _documents.get((host.pk, revision))
    found, published_at, rows, policies = _find(host, revision, names, known)
    allocations = {pk: (workload, resource) for pk, workload, resource in rows or ()}
    if found is None:
        return Facts(is_published=False, allocations=allocations, granted={})
    if known is None or (known.pk, known.published_at) != (found, published_at):
        known = _read(found)
        policies = Policy.objects.filter(pk__in=known.policies.values()).values_list(
            "pk", "resource__kind", "resource__unit", "resource__capacity"
        )
    divided = {pk: _Divided(*resource) for pk, *resource in policies or ()}
    granted = {
        pk: _granted(policy, divided[policy], pk)
        for pk in allocations
        if (policy := known.policies.get(names[pk])) is not None and policy in divided
    }
    return Facts(is_published=True, allocations=allocations, granted=granted)


def _find(
    host: Host, revision: int | None, names: Mapping[int, str], known: _Document | None
) -> tuple[Any, ...]:
    """Key and time of the document, then allocations, and versions of a known document."""
    policies = () if known is None else set(known.policies.values())
    with prepared_cursor() as cursor:
        cursor.execute(
            _FIND,
            {
                "host": Int8(host.pk),
                "revision": None if revision is None else Int8(revision),
                "allocations": _array(names),
                "policies": _array(policies),
            },
        )
        row: tuple[Any, ...] = cursor.fetchone()
    return row


def _array(keys: Iterable[int]) -> str:
    """As PostgreSQL writes an array."""
    return "{" + ",".join(str(int(key)) for key in keys) + "}"


def _read(pk: int) -> _Document:
    row = PublishedDocument.objects.get(pk=pk)
    document = _Document(
        pk=pk,
        published_at=row.published_at,
        policies={item["id"]: item["policy"] for item in row.content["allocations"]},
    )
    if len(_documents) >= _MOST_DOCUMENTS:
        _documents.clear()
    _documents[row.host_id, row.revision] = document
    return document


def _granted(policy: int, divided: _Divided, allocation: int) -> Granted:
    if (known := _promises.get((policy, divided))) is None:
        known = _promises_of(policy, divided)
        if sum(len(promises) for _, promises in _promises.values()) >= _MOST_PROMISES:
            _promises.clear()
        _promises[policy, divided] = known
    capacity, promises = known
    return Granted(
        policy=policy,
        unit=Unit(divided.unit),
        capacity=capacity,
        promise=promises.get(allocation),
    )


def _promises_of(pk: int, divided: _Divided) -> tuple[float | None, dict[int, Promise]]:
    """What the version divides, and what each allocation gets beside the host's own traffic."""
    policy = Policy.objects.only("allocations", "capacity").get(pk=pk)
    capacity = policy.capacity if divided.capacity is None else divided.capacity
    promises = [
        Promise(
            reservation=item["reservation"], limit=item["limit"], entitlement=item["entitlement"]
        )
        for item in policy.allocations
    ]
    room = Resource(kind=divided.kind).beside_host_traffic(capacity)
    if room is not None:
        promises = beside_host(promises, room)
    named = zip((item["allocation"] for item in policy.allocations), promises, strict=True)
    return capacity, dict(named)


def store(
    *, host: Host, said: Mapping[str, Any], support: Any, records: Sequence[Mapping[str, Any]]
) -> None:
    """Keep what the agent said of itself, and its records; those that are there stay."""
    with prepared_cursor() as cursor:
        cursor.execute(
            _STORE,
            {
                **said,
                "host": Int8(host.pk),
                "organisation": Int8(host.organisation_id),
                "support": json.dumps(support),
                "records": json.dumps(records),
            },
        )
