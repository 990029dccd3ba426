"""The list of workloads: columns of keys, of which only the rows that are shown are built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from math import isnan

import numpy as np
from django.contrib.postgres.aggregates import ArrayAgg

from advisor.core.natural_order import natural_key
from advisor.history.newest_rates import RatesByKey, newest_rates
from advisor.models import Allocation, Workload
from advisor.queries.allocation_rates import REACH
from advisor.queries.listed import NO_RANK, Listed, Places, Shared
from advisor.queries.packed import PackedKeys, unpacked
from advisor.queries.resources import ResourceLine, resource_line, resource_rows
from advisor.queries.scope import Scope
from advisor.queries.tables import HostName, WorkloadRow, host_names
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
    kinds: Sequence[str]
    tiers: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Inventory:
    """What rows are made of, each in the order of its name."""

    workloads: _Workloads
    lines: Sequence[ResourceLine]
    hosts: Sequence[HostName]


def workload_list(
    scope: Scope, *, now: datetime, host_pk: int | None = None
) -> Listed[WorkloadRow]:
    """Every workload on every resource that it has an allocation on, or those of one host."""
    lines = [resource_line(row, now=now) for row in resource_rows(scope)]
    inventory = _Inventory(
        workloads=_workloads(scope),
        lines=sorted(lines, key=lambda line: line.name),
        hosts=list(host_names(scope).values()),
    )
    rates = newest_rates(scope.organisation, since=now - REACH)
    return _rows(inventory, _allocations(scope, inventory, host_pk), rates)


def _workloads(scope: Scope) -> _Workloads:
    rows = scope.rows(Workload).order_by()
    found = rows.aggregate(
        keys=PackedKeys("pk"),
        names=ArrayAgg("name", default=[]),
        kinds=ArrayAgg("kind", default=[]),
        tiers=ArrayAgg("tier", default=[]),
    )
    by_name = [natural_key(name) for name in found["names"]]
    order = sorted(range(len(by_name)), key=by_name.__getitem__)
    names, kinds, tiers = ([found[key][at] for at in order] for key in ("names", "kinds", "tiers"))
    return _Workloads(keys=unpacked(found["keys"])[order], names=names, kinds=kinds, tiers=tiers)


def _allocations(scope: Scope, inventory: _Inventory, host_pk: int | None) -> _Allocations:
    rows = Allocation.objects.filter(
        resource__organisation=scope.organisation, vanished_at=None
    ).order_by()
    if host_pk is not None:
        rows = rows.filter(host=host_pk)
    # In one answer: a tuple for each row would cost more.
    columns = rows.aggregate(
        own=PackedKeys("pk"),
        workload=PackedKeys("workload_id"),
        resource=PackedKeys("resource_id"),
        host=PackedKeys("host_id"),
    )
    keys, *of = (unpacked(column) for column in columns.values())
    known = (
        inventory.workloads.keys,
        np.array([line.pk for line in inventory.lines], dtype=np.int64),
        np.array([host.pk for host in inventory.hosts], dtype=np.int64),
    )
    places = [_places(ids, own) for ids, own in zip(of, known, strict=True)]
    # What this person may not see has no place.
    seen = np.all([own >= 0 for own in places], axis=0)
    workload, resource, host = (own[seen] for own in places)
    return _Allocations(keys=keys[seen], workload=workload, resource=resource, host=host)


def _places(ids: Places, known: Places) -> Places:
    """The place of each key among those that are known; -1 for others."""
    if not len(known):
        return np.full(len(ids), -1)
    order = np.argsort(known)
    ordered = known[order]
    at = np.minimum(np.searchsorted(ordered, ids), len(known) - 1)
    return np.where(ordered[at] == ids, order[at], -1)


def _rows(inventory: _Inventory, own: _Allocations, known: RatesByKey) -> Listed[WorkloadRow]:
    pairs, row_of = np.unique(
        own.workload * max(len(inventory.lines), 1) + own.resource, return_inverse=True
    )
    order = np.lexsort((own.keys, row_of))
    begins = np.searchsorted(row_of[order], np.arange(len(pairs) + 1))
    keys, hosts = own.keys[order], own.host[order]
    workload, resource = np.divmod(pairs, max(len(inventory.lines), 1))
    rates = _sums(known.of(keys), begins)
    workloads = inventory.workloads

    @cache
    def build(place: int) -> WorkloadRow:
        own = workload[place]
        mine = slice(begins[place], begins[place + 1])
        rate = float(rates[place])
        return WorkloadRow(
            pk=int(workloads.keys[own]),
            name=workloads.names[own],
            kind=workloads.kinds[own],
            tier=workloads.tiers[own],
            resource=inventory.lines[resource[place]],
            hosts=tuple([inventory.hosts[host] for host in sorted(set(hosts[mine].tolist()))]),
            allocations=tuple(keys[mine].tolist()),
            rate=None if isnan(rate) else rate,
        )

    tiers = {tier: place for place, tier in enumerate(sorted(set(workloads.tiers)))}
    tier_of = np.array([tiers[tier] for tier in workloads.tiers], dtype=np.int64)
    return Listed(
        count=len(pairs),
        build=build,
        shared={
            "workload": _shared(workload, names=workloads.names),
            "resource": _shared(resource),
            "hosts": _shared(_host_sets(begins, hosts, len(inventory.hosts))),
            "tier": _shared(tier_of[workload]),
        },
        ranks={
            "name": workload,
            "rate": _ranks([line.unit for line in inventory.lines], resource, rates),
        },
    )


def _sums(rates: Floats, begins: Places) -> Floats:
    """The sum of the known rates of each row; NaN where none is known."""
    if not len(rates):
        return np.empty(0)
    known = ~np.isnan(rates)
    sums = np.add.reduceat(np.where(known, rates, 0.0), begins[:-1])
    return np.where(np.logical_or.reduceat(known, begins[:-1]), sums, np.nan)


def _ranks(units: Sequence[str], resource: Places, rates: Floats) -> Places:
    """The places of rows by unit and rate; rows of the same rate share one."""
    unit = np.unique(units, return_inverse=True)[1][resource] if units else resource
    order = np.lexsort((rates, unit))
    differs = (np.diff(unit[order]) != 0) | (np.diff(rates[order]) != 0)
    ranks = np.empty(len(rates), dtype=np.int64)
    ranks[order] = np.concatenate([[0], np.cumsum(differs)])[: len(rates)]
    return np.where(np.isnan(rates), NO_RANK, ranks)


def _shared(of_row: Places, *, names: Sequence[str] | None = None) -> Shared:
    known, first, places = np.unique(of_row, return_index=True, return_inverse=True)
    own = None if names is None else [names[one] for one in known.tolist()]
    return Shared(first=first.tolist(), of_row=places, names=own)


def _host_sets(begins: Places, hosts: Places, count: int) -> Places:
    """A number for each row's set of hosts: that of the host where it is one."""
    sizes = np.diff(begins)
    found = hosts[begins[:-1]] if len(sizes) else np.empty(0, dtype=np.int64)
    sets: dict[tuple[int, ...], int] = {}
    for place in np.flatnonzero(sizes > 1).tolist():
        own = tuple(np.unique(hosts[begins[place] : begins[place + 1]]).tolist())
        if len(own) > 1:
            found[place] = sets.setdefault(own, count + len(sets))
    return found
