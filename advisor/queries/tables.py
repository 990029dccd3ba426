"""Rows of the lists of workloads, storage, networks and hosts.

A list is read in two steps. All rows come first, with what a list is sorted, filtered and grouped
by (those of workloads are in `workload_list`). Rates of hosts are read for all rows only if these
are sorted by rate; the last day is read only for the rows of the page. Every step takes a fixed
number of statements.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.core.cache import cache
from django.db.models import Count

from advisor.history.history import numbers
from advisor.history.levels import newest_loads
from advisor.history.measured import read_measured, read_rates
from advisor.models import Allocation, Attachment, Resource, Workload
from advisor.queries.allocation_rates import REACH, recent_grid, recent_means
from advisor.queries.heat import Strip, heat_strips
from advisor.queries.hosts import HostHealth, host_healths
from advisor.queries.resources import ResourceLine, resource_line
from advisor.queries.scope import Scope
from advisor.queries.totals import total
from advisor.resource_kinds.registry import traits_of
from ingest.core.figures import DISK, INTERFACE, FigureKind
from ingest.core.grid import Floats, Grid, grid_of
from ingest.grid_reader import Subject
from ingest.models import Host

DAY = timedelta(hours=24)
DAY_STEP_S = 1800
DAY_POINTS = 48
"""A day in half hours."""
REMEMBERED_S = 10
"""The rates of a whole list are kept this long: paging through it asks for them again."""

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What of the samples is wanted beside the rows."""

    rates: bool = False
    days: bool = False


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
    kind: str
    tier: str
    resource: ResourceLine
    hosts: tuple[HostName, ...]
    allocations: tuple[int, ...]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """One host; `rate` is IOPS of its disks, `sent` bits per second of its interfaces."""

    health: HostHealth
    resources: tuple[str, ...]
    workload_count: int
    tiers: tuple[str, ...]
    rate: float | None = None
    sent: float | None = None
    day: Values = ()


# --- Workloads


def with_workload_days(rows: Sequence[WorkloadRow], *, now: datetime) -> list[WorkloadRow]:
    """The rows with their last day."""
    allocations = _allocation_rows([pk for row in rows for pk in row.allocations])
    rate = read_rates(allocations, _day_grid(now)).rate
    places = {one.pk: place for place, one in enumerate(allocations)}
    return [
        replace(row, day=_total_of(rate, [places[pk] for pk in row.allocations if pk in places]))
        for row in rows
    ]


def _allocation_rows(pks: Sequence[int]) -> list[Allocation]:
    return list(Allocation.objects.filter(pk__in=pks).select_related("host", "resource"))


# --- Storage and networks


def resource_table_rows(
    scope: Scope, kinds: Collection[str], *, now: datetime
) -> list[ResourceRow]:
    """Every resource of these kinds, by name, with its measured load."""
    rows = _resources(scope, kinds)
    hosts = host_names(scope)
    reached = _hosts_by_resource(rows)
    tiers, workloads = _users(scope, "resource_id")
    loads = _newest_loads(rows, now)
    return [
        ResourceRow(
            line=resource_line(row, now=now),
            noun=row.traits.words.of(len(reached[row.pk])),
            load_unit=row.traits.load_unit,
            hosts=tuple(hosts[pk] for pk in reached[row.pk] if pk in hosts),
            workload_count=workloads[row.pk],
            tiers=_in_order(tiers[row.pk]),
            rate=loads.get(row.pk),
        )
        for row in rows
    ]


def with_resource_figures(
    scope: Scope, rows: Sequence[ResourceRow], wanted: Figures, *, now: datetime
) -> list[ResourceRow]:
    """The rows with their last day, from the columns that the overview shows too."""
    if not wanted.days:
        return list(rows)
    shown = [row.line.pk for row in rows]
    every = list(scope.rows(Resource).only("pk"))
    strips = heat_strips(every, now=now, only=shown)
    return [replace(row, day=_worst_half_hours(strips[row.line.pk])) for row in rows]


def _resources(scope: Scope, kinds: Collection[str]) -> list[Resource]:
    rows = scope.rows(Resource).filter(kind__in=kinds).select_related("status")
    return list(rows.order_by("name"))


def _hosts_by_resource(rows: Sequence[Resource]) -> dict[int, list[int]]:
    reached: dict[int, list[int]] = defaultdict(list)
    attached = Attachment.objects.filter(resource__in=[row.pk for row in rows])
    for resource, host in attached.order_by("host__name").values_list("resource_id", "host_id"):
        if host not in reached[resource]:
            reached[resource].append(host)
    return reached


def _newest_loads(rows: Sequence[Resource], now: datetime) -> dict[int, float]:
    """The load of each resource's newest window, if it is not older than samples may be late."""
    return newest_loads([row.pk for row in rows], since=now - REACH)


def _worst_half_hours(strip: Strip) -> Values:
    return tuple(numbers(np.fmax.reduce(strip.value.reshape(DAY_POINTS, -1), axis=1)))


# --- Hosts


def host_rows(scope: Scope, *, now: datetime) -> list[HostRow]:
    """Every host, by name, with the health of its samples and its agent."""
    healths = host_healths(scope, now=now)
    tiers, workloads = _users(scope, "host_id")
    resources: dict[int, list[str]] = defaultdict(list)
    for host, name in _attachments(scope).values_list("host_id", "resource__name"):
        resources[host].append(name)
    return [
        HostRow(
            health=health,
            resources=tuple(dict.fromkeys(sorted(resources[health.pk]))),
            workload_count=workloads[health.pk],
            tiers=_in_order(tiers[health.pk]),
        )
        for health in healths
    ]


def with_host_figures(
    scope: Scope, rows: Sequence[HostRow], wanted: Figures, *, now: datetime
) -> list[HostRow]:
    """The rows with what their disks and interfaces do now, with their last day, or both."""
    pks = [row.health.pk for row in rows]
    if wanted.rates:
        rates = _remembered(scope, "hosts", pks, lambda: _host_rates(scope, pks, now))
        rows = [
            replace(row, rate=rates[row.health.pk][0], sent=rates[row.health.pk][1])
            for row in rows
        ]
    if not wanted.days:
        return list(rows)
    disks = _devices(scope, pks)[DISK]
    iops = read_measured({DISK: disks}, _day_grid(now)).figures(DISK, disks).iops
    own = _places_by_host(disks)
    return [replace(row, day=_total_of(iops, own[row.health.pk])) for row in rows]


def _host_rates(
    scope: Scope, pks: Sequence[int], now: datetime
) -> dict[int, tuple[float | None, float | None]]:
    """IOPS and bits sent per second of each host."""
    devices = _devices(scope, pks)
    disks, cards = devices[DISK], devices[INTERFACE]
    measured = read_measured({DISK: disks, INTERFACE: cards}, recent_grid(now))
    done, carried = measured.figures(DISK, disks), measured.figures(INTERFACE, cards)
    iops = numbers(recent_means(done.iops, done.seconds))
    sent = numbers(recent_means(carried.sent_bits_per_s, carried.seconds))
    on_disks, on_cards = _places_by_host(disks), _places_by_host(cards)
    return {
        pk: (
            _sum(iops[place] for place in on_disks[pk]),
            _sum(sent[place] for place in on_cards[pk]),
        )
        for pk in pks
    }


def _attachments(scope: Scope) -> Any:
    return Attachment.objects.filter(host__in=scope.rows(Host))


def _devices(scope: Scope, pks: Sequence[int]) -> dict[FigureKind[Any], list[Subject]]:
    """The disks and interfaces of the hosts, each once, by what is measured of them."""
    found: dict[FigureKind[Any], set[Subject]] = defaultdict(set)
    attached = _attachments(scope).filter(host__in=pks)
    for kind, host, device in attached.values_list("resource__kind", "host_id", "device"):
        found[traits_of(kind).reader.figures].add(Subject(host=host, name=device))
    return defaultdict(list, {kind: sorted(subjects) for kind, subjects in found.items()})


def _places_by_host(devices: Sequence[Subject]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for place, device in enumerate(devices):
        found[device.host].append(place)
    return found


# --- What all have


def host_names(scope: Scope) -> dict[int, HostName]:
    """Every host by its key, in the order of names."""
    rows = scope.rows(Host).order_by("name").values_list("pk", "name", "last_sample_at")
    return {pk: HostName(pk=pk, name=name, last_sample_at=at) for pk, name, at in rows}


def _users(scope: Scope, by: str) -> tuple[dict[int, set[str]], Counter[int]]:
    """The tiers and the number of workloads with an allocation, by resource or host."""
    tiers: dict[int, set[str]] = defaultdict(set)
    counts: Counter[int] = Counter()
    present = Allocation.objects.filter(vanished_at=None, workload__in=scope.rows(Workload))
    rows = present.order_by()
    # A workload has one tier, so those of several tiers are never the same.
    counted = rows.values(by, "workload__tier").annotate(count=Count("workload", distinct=True))
    for place, tier, count in counted.values_list(by, "workload__tier", "count"):
        tiers[place].add(tier)
        counts[place] += count
    return tiers, counts


_TIERS = {"high": 0, "medium": 1, "low": 2}


def _in_order(tiers: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(tiers, key=lambda tier: _TIERS[tier]))


def _day_grid(now: datetime) -> Grid:
    return grid_of(now - DAY, now, DAY_STEP_S)


def _total_of(columns: Floats, places: Sequence[int]) -> Values:
    """The sum of some columns in each window; nothing without any."""
    return tuple(numbers(total(columns[:, places]))) if places else ()


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _remembered(scope: Scope, what: str, pks: Sequence[int], read: Callable[[], Any]) -> Any:
    """What was read of these keys a moment ago, or what is read now."""
    digest = hashlib.sha256(repr(pks).encode()).hexdigest()
    key = f"rates-{what}-{scope.organisation.pk}-{digest}"
    return cache.get_or_set(key, read, timeout=REMEMBERED_S)
