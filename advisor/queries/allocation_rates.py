"""The rates of workloads on a resource, on a grid of times or at present."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from advisor.history.allocation_adapters import AllocationAdapters, allocation_adapters
from advisor.history.cgroup_rate import growth_in_unit, growth_of_received
from advisor.models import Allocation, Resource
from advisor.queries.grid import Floats, Grid, mean_of_columns, total_of
from ingest.core.growth_columns import GrowthColumns
from ingest.core.rates import INTERFACE
from ingest.many_rates import cgroup_growth_of, growth_of

RECENT = timedelta(seconds=60)
"""The mean over this time is shown as what a workload gets."""

REACH = timedelta(seconds=120)
"""Samples may come half a minute late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadTrack:
    """One workload's allocations on one resource: its rates, and the sum of its reservations.

    `limit` is None when one of its allocations has none.
    """

    workload: str
    reservation: float
    limit: float | None
    values: tuple[float | None, ...]


def allocations_in_order(resource: Resource) -> list[Allocation]:
    """The allocations in the order of pages: the largest reservation first."""
    rows = resource.allocations.select_related("workload", "host")
    return list(rows.order_by("-reservation", "workload__name", "host__name"))


def workload_tracks(
    resource: Resource, grid: Grid, *, since: datetime, until: datetime
) -> list[WorkloadTrack]:
    """One track per workload with an allocation, in the order of `allocations_in_order`."""
    in_order = allocations_in_order(resource)
    values = values_by_allocation(in_order, grid, since=since, until=until)
    allocations: dict[str, list[Allocation]] = defaultdict(list)
    for allocation in in_order:
        allocations[allocation.workload.name].append(allocation)
    return [
        WorkloadTrack(
            workload=name,
            reservation=sum(allocation.reservation for allocation in found),
            limit=_common_limit(found),
            values=tuple(total_of([values[allocation.pk] for allocation in found])),
        )
        for name, found in allocations.items()
    ]


def current_rates(
    allocations: Sequence[Allocation],
    *,
    now: datetime,
    adapters: AllocationAdapters | None = None,
) -> dict[int, float | None]:
    """By allocation, its mean rate over the newest measured minute, in its resource's unit.

    Adapters that are known already are not read again.
    """
    rates: dict[int, float | None] = {allocation.pk: None for allocation in allocations}
    measured = _measured_rates(allocations, adapters, span=(now - REACH, now))
    return rates | {pk: recent_mean(growth, values) for pk, (growth, values) in measured.items()}


def recent_mean(growth: GrowthColumns, values: Floats) -> float | None:
    """The mean over the newest measured minute of these intervals; None without any."""
    if not len(values):
        return None
    recent = growth.ends_s > growth.ends_s[-1] - RECENT.total_seconds()
    return float(np.average(values[recent], weights=growth.seconds[recent]))


def _common_limit(allocations: Sequence[Allocation]) -> float | None:
    limits = [allocation.limit for allocation in allocations]
    known = [limit for limit in limits if limit is not None]
    return sum(known) if len(known) == len(limits) else None


def values_by_allocation(
    allocations: Sequence[Allocation],
    grid: Grid,
    *,
    since: datetime,
    until: datetime,
    adapters: AllocationAdapters | None = None,
) -> dict[int, list[float | None]]:
    """The rate of each allocation in each cell, in its resource's unit, None if not measured."""
    values: dict[int, list[float | None]] = {
        allocation.pk: [None] * len(grid.ends_s) for allocation in allocations
    }
    measured = _measured_rates(
        allocations, adapters, span=(since, until), max_points=2 * len(grid.ends_s)
    )
    for pk, (growth, rates) in measured.items():
        values[pk] = mean_of_columns(
            grid, ends_s=growth.ends_s, seconds=growth.seconds, values=rates
        )
    return values


def _measured_rates(
    allocations: Sequence[Allocation],
    adapters: AllocationAdapters | None,
    *,
    span: tuple[datetime, datetime],
    max_points: int | None = None,
) -> dict[int, tuple[GrowthColumns, Floats]]:
    """By allocation the intervals in which its adapter was measured, and the rate in each."""
    adapters = adapters or allocation_adapters(allocations)
    units = {allocation.pk: allocation.resource.unit for allocation in allocations}
    times: dict[str, Any] = {"since": span[0], "until": span[1], "max_points": max_points}
    received = growth_of(INTERFACE, set(adapters.interfaces.values()), **times)
    done = cgroup_growth_of(set(adapters.cgroups.values()), **times)
    # What a workload sends is what its vNIC receives on the host's side.
    sent = {
        pk: (received[key], growth_of_received(received[key]))
        for pk, key in adapters.interfaces.items()
    }
    return sent | {
        pk: (done[key], growth_in_unit(done[key], units[pk]))
        for pk, key in adapters.cgroups.items()
    }
