"""The list of workloads: columns of keys, of which only the rows that are shown are built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from math import isnan

import numpy as np
from django.db.models import QuerySet

from advisor.core.natural_order import natural_key
from advisor.history.newest_rates import RatesByKey, newest_rates
from advisor.history.recent_rates import REACH
from advisor.models import Team, Workload
from advisor.queries.allocation_columns import (
    TIERS,
    places_of,
    present_allocations,
    tier_places,
)
from advisor.queries.listed import NO_RANK, Listed, Places, Shared
from advisor.queries.packed import packed_columns
from advisor.queries.resources import ResourceLine, read_lines
from advisor.queries.scope import Scope
from advisor.queries.tables import HostName, WorkloadRow, host_names
from advisor.queries.teams import owned_by, team_names
from ingest.core.grid import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Allocations:
    """Columns of allocations, (allocations): their keys and the places of what they are of."""

    keys: Places
    workload: Places
    resource: Places
    host: Places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Workloads:
    """Columns of workloads in the order of their names, (workloads)."""

    keys: Places
    names: Sequence[str]
    tiers: Places
    teams: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Inventory:
    """What rows are made of, each in the order of its name."""

    workloads: _Workloads
    lines: Sequence[ResourceLine]
    hosts: Sequence[HostName]


def workload_list(
    scope: Scope, *, now: datetime, host_pk: int | None = None, team: Team | None = None
) -> Listed[WorkloadRow]:
    """Every workload on each resource with an allocation of it, of one host or team or of all."""
    allocations = present_allocations(scope)
    if host_pk is not None:
        allocations = allocations.filter(host=host_pk)
    (keys, *of), _ = packed_columns(allocations, "pk", "workload_id", "resource_id", "host_id")
    workloads = scope.rows(Workload)
    if host_pk is not None:
        workloads = workloads.filter(pk__in=np.unique(of[0]).tolist())
    if team is not None:
        workloads = owned_by(workloads, team)
    inventory = _Inventory(
        workloads=_workloads(workloads, team_names(scope)),
        lines=sorted(read_lines(scope, now=now), key=lambda line: line.name),
        hosts=list(host_names(scope).values()),
    )
    rates = newest_rates(scope.organisation, since=now - REACH)
    return _rows(inventory, _allocations(inventory, keys, of), rates)


def _workloads(rows: QuerySet[Workload], teams: Mapping[int, tuple[str, ...]]) -> _Workloads:
    (keys,), (names, tiers) = packed_columns(rows, "pk", texts=("name", "tier"))
    by_name = [natural_key(name) for name in names]
    order = sorted(range(len(by_name)), key=by_name.__getitem__)
    return _Workloads(
        keys=keys[order],
        names=[names[place] for place in order],
        tiers=tier_places(tiers)[order],
        teams=[teams.get(key, ()) for key in keys[order].tolist()],
    )


def _allocations(inventory: _Inventory, keys: Places, of: Sequence[Places]) -> _Allocations:
    known = (
        inventory.workloads.keys,
        np.array([line.pk for line in inventory.lines], dtype=np.int64),
        np.array([host.pk for host in inventory.hosts], dtype=np.int64),
    )
    places = [places_of(ids, own) for ids, own in zip(of, known, strict=True)]
    # What this person may not see has no place.
    seen = np.logical_and.reduce([own >= 0 for own in places])
    workload, resource, host = (own[seen] for own in places)
    return _Allocations(keys=keys[seen], workload=workload, resource=resource, host=host)


def _rows(inventory: _Inventory, own: _Allocations, known: RatesByKey) -> Listed[WorkloadRow]:
    workloads, lines = inventory.workloads, inventory.lines
    row_of = own.workload * len(lines) + own.resource
    order = np.argsort(row_of, kind="stable")
    begins = np.flatnonzero(np.diff(row_of[order], prepend=-1))
    ends = np.append(begins[1:], len(order))
    keys, hosts = own.keys[order], own.host[order]
    workload, resource = own.workload[order][begins], own.resource[order][begins]
    rates = _sums(known.of(keys), begins)

    @cache
    def build(place: int) -> WorkloadRow:
        at = workload[place]
        mine = slice(begins[place], ends[place])
        rate = float(rates[place])
        return WorkloadRow(
            pk=int(workloads.keys[at]),
            name=workloads.names[at],
            tier=TIERS[workloads.tiers[at]],
            resource=lines[resource[place]],
            hosts=tuple([inventory.hosts[host] for host in sorted(set(hosts[mine].tolist()))]),
            allocations=tuple(keys[mine].tolist()),
            teams=workloads.teams[at],
            rate=None if isnan(rate) else rate,
        )

    team_sets = {names: place for place, names in enumerate(sorted(set(workloads.teams)))}
    by_team = np.array([team_sets[names] for names in workloads.teams], dtype=np.int64)
    host_sets, sets = _host_sets(begins, ends, hosts, len(inventory.hosts))
    return Listed(
        count=len(begins),
        build=build,
        shared={
            "workload": _shared(workload, len(workloads.keys), names=workloads.names),
            "resource": _shared(resource, len(lines)),
            "hosts": _shared(host_sets, sets),
            "teams": _shared(by_team[workload], len(team_sets)),
            "tier": _shared(workloads.tiers[workload], len(TIERS)),
        },
        ranks={
            "name": lambda: workload,
            "rate": lambda: _ranks([line.unit for line in lines], resource, rates),
        },
    )


def _sums(rates: Floats, begins: Places) -> Floats:
    """The sum of the known rates of each row; NaN where none is known."""
    if not len(rates):
        return np.empty(0)
    known = ~np.isnan(rates)
    sums = np.add.reduceat(np.where(known, rates, 0.0), begins)
    return np.where(np.logical_or.reduceat(known, begins), sums, np.nan)


def _ranks(units: Sequence[str], resource: Places, rates: Floats) -> Places:
    """The places of rows by unit and rate; rows of the same rate share one."""
    unit = np.unique(units, return_inverse=True)[1][resource] if units else resource
    order = np.lexsort((rates, unit))
    differs = (np.diff(unit[order]) != 0) | (np.diff(rates[order]) != 0)
    ranks = np.empty(len(rates), dtype=np.int64)
    ranks[order] = np.concatenate([[0], np.cumsum(differs)])[: len(rates)]
    return np.where(np.isnan(rates), NO_RANK, ranks)


def _shared(of_row: Places, count: int, *, names: Sequence[str] | None = None) -> Shared:
    """What rows share, of which there are so many; some may have no row."""
    first = np.full(count, -1, dtype=np.int64)
    # Of several rows with the same the last one that is written stays.
    first[of_row[::-1]] = np.arange(len(of_row))[::-1]
    known = first >= 0
    places = np.cumsum(known) - 1
    own = None if names is None else [names[one] for one in np.flatnonzero(known).tolist()]
    return Shared(first=first[known].tolist(), of_row=places[of_row], names=own)


def _host_sets(begins: Places, ends: Places, hosts: Places, count: int) -> tuple[Places, int]:
    """A number for each row's set of hosts, that of the host where it is one, and how many."""
    found = hosts[begins]
    sets: dict[tuple[int, ...], int] = {}
    for place in np.flatnonzero(ends - begins > 1).tolist():
        own = tuple(np.unique(hosts[begins[place] : ends[place]]).tolist())
        if len(own) > 1:
            found[place] = sets.setdefault(own, count + len(sets))
    return found, count + len(sets)
