"""Rows of the list of hosts, with what their devices did in the newest judged window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from advisor.core.resource import Unit
from advisor.history.measured import read_measured
from advisor.history.newest_rates import newest_host_rates
from advisor.history.recent_rates import REACH
from advisor.models import Attachment
from advisor.queries.allocation_columns import NO_USERS, users_by
from advisor.queries.hosts import HostHealth, host_healths
from advisor.queries.scope import Scope
from advisor.queries.tables import NOTHING, Values, day_grid, total_of
from advisor.resource_kinds.registry import traits_of
from ingest.core.figures import DISK
from ingest.grid_reader import Subject
from ingest.models import Host


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """One host; `rate` is IOPS of its disks, `sent` bits per second of its interfaces.

    Both are of the newest judged windows, None if these are old or it was not measured.
    """

    health: HostHealth
    resources: tuple[str, ...]
    workload_count: int
    tiers: tuple[str, ...]
    rate: float | None
    sent: float | None
    day: Values = ()


def host_rows(scope: Scope, *, now: datetime) -> list[HostRow]:
    """Every host, by name, with the health of its samples and its agent."""
    users = users_by(scope, "host_id")
    rates = newest_host_rates(scope.organisation, since=now - REACH)
    resources: dict[int, set[str]] = defaultdict(set)
    attached = Attachment.objects.filter(host__in=scope.rows(Host)).order_by()
    for host, name in attached.values_list("host_id", "resource__name"):
        resources[host].add(name)
    return [
        HostRow(
            health=health,
            resources=tuple(sorted(resources[health.pk])),
            workload_count=users.get(health.pk, NO_USERS).count,
            tiers=users.get(health.pk, NO_USERS).tiers,
            rate=rates[Unit.IOPS].get(health.name),
            sent=rates[Unit.BITS_PER_S].get(health.name),
        )
        for health in host_healths(scope, now=now)
    ]


def with_host_days(rows: Sequence[HostRow], *, now: datetime) -> list[HostRow]:
    """The rows with the last day of their disks."""
    disks = _disks([row.health.pk for row in rows])
    measured = read_measured({DISK: disks}, day_grid(now), most_open=NOTHING)
    iops = measured.figures(DISK, disks).iops
    own: dict[int, list[int]] = defaultdict(list)
    for place, disk in enumerate(disks):
        own[disk.host].append(place)
    return [replace(row, day=total_of(iops, own[row.health.pk])) for row in rows]


def _disks(hosts: Sequence[int]) -> list[Subject]:
    """Those of the hosts by which they reach a resource, each once."""
    attached = Attachment.objects.filter(host__in=hosts).order_by()
    return sorted(
        {
            Subject(host=host, name=device)
            for kind, host, device in attached.values_list("resource__kind", "host_id", "device")
            if traits_of(kind).reader.figures is DISK
        }
    )
