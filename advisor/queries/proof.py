"""The proof of a period: the report of it, and by what it is judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from advisor.core.natural_order import natural_key
from advisor.core.reporting.period import Period
from advisor.core.reporting.proof import (
    Proof,
    ProvenMeasuring,
    ProvenPromise,
    ProvenVersion,
    policy_digest,
)
from advisor.models import Allocation, Enforcer, Policy
from advisor.queries.promises import promises_of
from advisor.queries.report import read_report
from advisor.queries.report_subject import ReportSubject, reported_of

MOST_PROMISES = 100


def read_proof(subject: ReportSubject, period: Period, *, now: datetime) -> Proof:
    """The subject's report with promises, versions and who measured."""
    report = read_report(subject, period, now=now, promises_only=True)
    reported = reported_of(subject, since=period.since, promised_only=True)
    versions = _versions(reported.allocations, period)
    promises = list(_promises(reported.allocations, period))
    known = {one.host for one in promises}
    return Proof(
        report=report,
        promises=tuple(promises[:MOST_PROMISES]),
        more_promises=max(len(promises) - MOST_PROMISES, 0),
        versions=tuple(_proven(versions, period)),
        measuring=tuple(_measuring(reported.allocations, known)),
    )


def _versions(allocations: Sequence[Allocation], period: Period) -> dict[int, list[Policy]]:
    """By resource those that were created before the end of the period, in order."""
    found: dict[int, list[Policy]] = defaultdict(list)
    rows = Policy.objects.filter(
        resource__in={one.resource_id for one in allocations}, created_at__lt=period.until
    )
    for row in rows.select_related("resource").order_by("resource_id", "version"):
        found[row.resource_id].append(row)
    return found


def _proven(versions: dict[int, list[Policy]], period: Period) -> Iterator[ProvenVersion]:
    """Those that were the newest at some time of the period."""
    ordered = sorted(versions.values(), key=lambda rows: natural_key(rows[0].resource.name))
    for rows in ordered:
        for row, until in zip(rows, [*(one.created_at for one in rows[1:]), None], strict=True):
            if until is None or until > period.since:
                yield ProvenVersion(
                    resource=row.resource.name,
                    version=row.version,
                    since=row.created_at,
                    until=until,
                    sha256=policy_digest(digested_fields(row)),
                )


def digested_fields(policy: Policy) -> dict[str, object]:
    """All that a version says, and when it was made; who approved it is not in it."""
    return {
        "resource": policy.resource.name,
        "version": policy.version,
        "created_at": policy.created_at.astimezone(UTC).isoformat(),
        "allocations": policy.allocations,
        "pools": policy.pools,
        "capacity": policy.capacity,
        "divides": policy.divides,
    }


def _promises(allocations: Sequence[Allocation], period: Period) -> Iterator[ProvenPromise]:
    """What held in the period and promised something; in the order of names and times."""
    found = promises_of(allocations)
    for one in sorted(allocations, key=_by_name):
        own = found[one.pk]
        for promise, until in zip(own, [*(later.since for later in own[1:]), None], strict=True):
            if until is not None and until <= period.since:
                continue
            if promise.since is not None and promise.since >= period.until:
                continue
            if not promise.reservation and promise.limit is None:
                continue
            yield ProvenPromise(
                workload=one.workload.name,
                resource=one.resource.name,
                host=one.host.name,
                unit=one.resource.unit,
                reservation=promise.reservation,
                limit=promise.limit,
                since=promise.since,
                until=until if until is not None and until < period.until else None,
                version=promise.version,
            )


def _by_name(one: Allocation) -> tuple[object, ...]:
    names = (one.workload.name, one.resource.name, one.host.name)
    return (*map(natural_key, names), one.pk)


def _measuring(allocations: Sequence[Allocation], hosts: set[str]) -> Iterator[ProvenMeasuring]:
    """Of the hosts of the promises; one statement for their agents."""
    own = [one for one in allocations if one.host.name in hosts]
    agents = dict(
        Enforcer.objects.filter(host__in={one.host_id for one in own}).values_list(
            "host_id", "agent_version"
        )
    )
    by_host: dict[str, ProvenMeasuring] = {}
    for one in sorted(own, key=lambda row: (natural_key(row.host.name), row.adapter_kind)):
        known = by_host.setdefault(
            one.host.name,
            ProvenMeasuring(host=one.host.name, counters=(), agent=agents.get(one.host_id) or ""),
        )
        if one.adapter_kind not in known.counters:
            by_host[one.host.name] = replace(known, counters=(*known.counters, one.adapter_kind))
    yield from by_host.values()
