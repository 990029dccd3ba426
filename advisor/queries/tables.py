"""Rows of the lists of workloads, storage and networks.

A list is read in two steps. All rows come first, with what a list is sorted, filtered and grouped
by (those of workloads are in `workload_list`, of hosts in `host_list`). The last day is read only
for the rows of the page. Every step takes a fixed number of statements.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from advisor.history.history import numbers
from advisor.history.levels import newest_loads
from advisor.history.measured import read_rates
from advisor.history.recent_rates import REACH
from advisor.models import Allocation, Attachment
from advisor.queries.allocation_columns import NO_USERS, users_by
from advisor.queries.heat import Strip, heat_strips
from advisor.queries.resources import ResourceLine, read_lines
from advisor.queries.scope import Scope
from advisor.queries.totals import total
from advisor.resource_kinds.registry import traits_of
from ingest.core.grid import Floats, Grid, grid_of
from ingest.models import Host

DAY = timedelta(hours=24)
DAY_STEP_S = 1800
DAY_POINTS = 48
"""A day in half hours."""
NOTHING = timedelta(0)

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostName:
    """A host as other rows name it."""

    pk: int
    name: str
    last_sample_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRow:
    """One workload on one resource, over all its hosts and virtual disks.

    `rate` is that of the newest judged window, in the resource's unit, None if that is old or it
    was not measured; `day` has a mean per half hour.
    """

    pk: int
    name: str
    tier: str
    resource: ResourceLine
    hosts: tuple[HostName, ...]
    allocations: tuple[int, ...]
    teams: tuple[str, ...] = ()
    rate: float | None = None
    day: Values = ()

    @property
    def last_sample_at(self) -> datetime | None:
        """The newest sample of the host that has been silent for longest."""
        times = [host.last_sample_at for host in self.hosts]
        known = [at for at in times if at is not None]
        return min(known) if len(known) == len(times) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRow:
    """One datastore or uplink; `day` has its worst level of each half hour, for `threshold`.

    `rate` is its measured load in `load_unit`, None if not measured.
    """

    line: ResourceLine
    noun: str
    load_unit: str
    hosts: tuple[HostName, ...]
    workload_count: int
    tiers: tuple[str, ...]
    rate: float | None = None
    day: Values = ()


# --- Workloads


def with_workload_days(rows: Sequence[WorkloadRow], *, now: datetime) -> list[WorkloadRow]:
    """The rows with their last day."""
    allocations = list(
        Allocation.objects.filter(pk__in=[pk for row in rows for pk in row.allocations])
        .select_related("host", "resource")
        .only("adapter_kind", "adapter", "vdisk", "host__id", "resource__unit")
        .order_by()
    )
    rate = read_rates(allocations, day_grid(now), most_open=NOTHING).rate
    places = {one.pk: place for place, one in enumerate(allocations)}
    return [
        replace(row, day=total_of(rate, [places[pk] for pk in row.allocations if pk in places]))
        for row in rows
    ]


# --- Storage and networks


def resource_table_rows(
    scope: Scope, kinds: Collection[str], *, now: datetime
) -> list[ResourceRow]:
    """Every resource of these kinds, by name, with its measured load."""
    lines = read_lines(scope, now=now, kinds=kinds)
    hosts = host_names(scope)
    reached = _hosts_by_resource([line.pk for line in lines])
    users = users_by(scope, "resource_id", kinds)
    loads = newest_loads([line.pk for line in lines], since=now - REACH)
    return [
        ResourceRow(
            line=line,
            noun=traits_of(line.kind).words.of(len(reached[line.pk])),
            load_unit=traits_of(line.kind).load_unit,
            hosts=tuple(hosts[pk] for pk in reached[line.pk] if pk in hosts),
            workload_count=users.get(line.pk, NO_USERS).count,
            tiers=users.get(line.pk, NO_USERS).tiers,
            rate=loads.get(line.pk),
        )
        for line in lines
    ]


def with_resource_days(rows: Sequence[ResourceRow], *, now: datetime) -> list[ResourceRow]:
    """The rows with their last day."""
    strips = heat_strips([row.line.pk for row in rows], now=now)
    return [replace(row, day=_worst_half_hours(strips[row.line.pk])) for row in rows]


def _hosts_by_resource(resources: Sequence[int]) -> dict[int, list[int]]:
    reached: dict[int, dict[int, None]] = defaultdict(dict)
    attached = Attachment.objects.filter(resource__in=resources).order_by("host__name")
    for resource, host in attached.values_list("resource_id", "host_id"):
        reached[resource][host] = None
    return defaultdict(list, {resource: list(hosts) for resource, hosts in reached.items()})


def _worst_half_hours(strip: Strip) -> Values:
    return tuple(numbers(np.fmax.reduce(strip.value.reshape(DAY_POINTS, -1), axis=1)))


# --- What all have


def host_names(scope: Scope) -> dict[int, HostName]:
    """Every host by its key, in the order of names."""
    rows = scope.rows(Host).order_by("name").values_list("pk", "name", "last_sample_at")
    return {pk: HostName(pk=pk, name=name, last_sample_at=at) for pk, name, at in rows}


def day_grid(now: datetime) -> Grid:
    """A day in half hours."""
    return grid_of(now - DAY, now, DAY_STEP_S)


def total_of(columns: Floats, places: Sequence[int]) -> Values:
    """The sum of some columns in each window; nothing without any."""
    return tuple(numbers(total(columns[:, places]))) if places else ()
