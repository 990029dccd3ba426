"""The rates of workloads on a resource, on a grid of times or at present."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from advisor.history.allocation_adapters import allocation_adapters
from advisor.history.cgroup_rate import growth_in_unit, growth_of_received
from advisor.models import Allocation, Resource
from advisor.queries.grid import Floats, Grid, mean_of_columns, total_of
from ingest.core.growth_columns import GrowthColumns
from ingest.core.rates import INTERFACE
from ingest.many_rates import cgroup_growth_of, growth_of

RECENT = timedelta(seconds=60)
"""The mean over this time is shown as what a workload gets."""

_REACH = timedelta(seconds=120)
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
    values = _values_by_allocation(in_order, grid, unit=resource.unit, span=(since, until))
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
    resource: Resource, allocations: Sequence[Allocation], *, now: datetime
) -> dict[int, float | None]:
    """By allocation, its mean rate over the newest measured minute, in the resource's unit."""
    rates: dict[int, float | None] = {allocation.pk: None for allocation in allocations}
    measured = _measured_rates(allocations, unit=resource.unit, span=(now - _REACH, now))
    for pk, (growth, values) in measured.items():
        if len(values):
            recent = growth.ends_s > growth.ends_s[-1] - RECENT.total_seconds()
            rates[pk] = float(np.average(values[recent], weights=growth.seconds[recent]))
    return rates


def _common_limit(allocations: Sequence[Allocation]) -> float | None:
    limits = [allocation.limit for allocation in allocations]
    known = [limit for limit in limits if limit is not None]
    return sum(known) if len(known) == len(limits) else None


def _values_by_allocation(
    allocations: Sequence[Allocation], grid: Grid, *, unit: str, span: tuple[datetime, datetime]
) -> dict[int, list[float | None]]:
    """The rate of each allocation in each cell, None if not measured."""
    values: dict[int, list[float | None]] = {
        allocation.pk: [None] * len(grid.ends_s) for allocation in allocations
    }
    measured = _measured_rates(allocations, unit=unit, span=span, max_points=2 * len(grid.ends_s))
    for pk, (growth, rates) in measured.items():
        values[pk] = mean_of_columns(
            grid, ends_s=growth.ends_s, seconds=growth.seconds, values=rates
        )
    return values


def _measured_rates(
    allocations: Sequence[Allocation],
    *,
    unit: str,
    span: tuple[datetime, datetime],
    max_points: int | None = None,
) -> dict[int, tuple[GrowthColumns, Floats]]:
    """By allocation the intervals in which its adapter was measured, and the rate in each."""
    adapters = allocation_adapters(allocations)
    times: dict[str, Any] = {"since": span[0], "until": span[1], "max_points": max_points}
    received = growth_of(INTERFACE, set(adapters.interfaces.values()), **times)
    done = cgroup_growth_of(set(adapters.cgroups.values()), **times)
    # What a workload sends is what its vNIC receives on the host's side.
    sent = {
        pk: (received[key], growth_of_received(received[key]))
        for pk, key in adapters.interfaces.items()
    }
    return sent | {
        pk: (done[key], growth_in_unit(done[key], unit)) for pk, key in adapters.cgroups.items()
    }
