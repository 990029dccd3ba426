"""Hosts that joined by a token, each with its checklist."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count

from accounts.models import JoinMode, JoinToken, Runs
from advisor.core.join_checklist import Check, Held, JoinedHost, checklist, is_connected
from advisor.models import Allocation, Attachment, Enforcer
from advisor.queries.scope import Scope
from advisor.resource_kinds.registry import traits_of
from enforcers.contract import EnforcementState, read_support
from ingest.core.identity.facts import Kind
from ingest.models import HostJoin, StatedFact

MOST_HOSTS = 20
"""That are told of one by one; the page says how many more there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedHost:
    """A host that joined, and how far it is."""

    pk: int
    name: str
    checks: tuple[Check, ...]

    @property
    def is_connected(self) -> bool:
        return is_connected(self.checks)


def followed_hosts(scope: Scope, token: JoinToken, *, now: datetime) -> list[FollowedHost]:
    """Those that joined last, each with its checklist, in a fixed number of statements."""
    joins = list(
        scope.rows(HostJoin).filter(token=token).select_related("host", "token")[:MOST_HOSTS]
    )
    hosts = [one.host_id for one in joins]
    enforcers = {one.host_id: one for one in Enforcer.objects.filter(host__in=hosts)}
    devices = _devices(hosts)
    workloads = _workloads(hosts)
    makers = _makers(scope, [one.host.name for one in joins])
    return [
        FollowedHost(
            pk=one.host_id,
            name=one.host.name,
            checks=checklist(
                _joined(one, enforcers.get(one.host_id), devices, workloads, makers),
                now=now,
            ),
        )
        for one in joins
    ]


_Counts = dict[int, Counter[str]]


def _is_observing(token: JoinToken, enforcer: Enforcer | None) -> bool:
    """Before a policy comes an agent does not say which of both it would do."""
    if enforcer is not None and enforcer.enforcement_state == EnforcementState.ENFORCING:
        return False
    return token.mode == JoinMode.OBSERVE or (enforcer is not None and enforcer.dry_run)


def _joined(
    join: HostJoin,
    enforcer: Enforcer | None,
    devices: _Counts,
    workloads: _Counts,
    makers: dict[str, set[str]],
) -> JoinedHost:
    host, said, ahead_s = join.host, join.said, join.clock_ahead_s
    support = read_support(enforcer.support) if enforcer else ()
    return JoinedHost(
        name=host.name,
        joined_at=join.at,
        address=join.address,
        system=said.get("system", ""),
        kernel=said.get("kernel", ""),
        is_service=said.get("runs") == Runs.SERVICE,
        is_observing=_is_observing(join.token, enforcer),
        collects=said.get("collects", ""),
        why_collects=said.get("why_collects", ""),
        clock_ahead=None if ahead_s is None else timedelta(seconds=ahead_s),
        last_report_at=enforcer.last_report_at if enforcer else None,
        agent_version=enforcer.agent_version if enforcer else "",
        refusal=enforcer.refusal if enforcer else "",
        last_sample_at=host.last_sample_at,
        heard_at=host.heard_at,
        disk_count=_count_of(devices[host.pk], have_latency=True),
        interface_count=_count_of(devices[host.pk], have_latency=False),
        workloads=workloads[host.pk],
        makers=frozenset(makers[host.name]),
        held=tuple(
            Held(mechanism=one.mechanism, is_supported=one.supported, reason=one.reason)
            for one in support
        ),
    )


def _devices(hosts: Sequence[int]) -> _Counts:
    rows = Attachment.objects.filter(host__in=hosts).order_by()
    return _counted(rows.values_list("host_id", "resource__kind").annotate(Count("pk")))


def _count_of(devices: Counter[str], *, have_latency: bool) -> int:
    """Those of kinds that have a latency of their own, as disks have, or of the others."""
    return sum(
        count
        for kind, count in devices.items()
        if have_latency is not bool(traits_of(kind).latency_gap)
    )


def _workloads(hosts: Sequence[int]) -> _Counts:
    rows = Allocation.objects.filter(host__in=hosts, vanished_at=None).order_by()
    counted = rows.values_list("host_id", "workload__kind")
    return _counted(counted.annotate(Count("workload", distinct=True)))


def _counted(rows: Iterable[tuple[int, str, int]]) -> _Counts:
    found: _Counts = defaultdict(Counter)
    for host, kind, number in rows:
        found[host][kind] = number
    return found


def _makers(scope: Scope, hosts: Sequence[str]) -> dict[str, set[str]]:
    """Who gave the names of the workloads: the first parts of the keys that collectors say."""
    rows = scope.rows(StatedFact).filter(host__in=hosts, kind=Kind.WORKLOAD).order_by()
    found: dict[str, set[str]] = defaultdict(set)
    for host, subject in rows.values_list("host", "subject").distinct():
        maker, has_key, _ = subject.partition("/")
        if has_key:
            found[host].add(maker)
    return found
