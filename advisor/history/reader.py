"""The one place that reads samples: the history of many resources at once.

The number of statements does not depend on how many resources, hosts or workloads there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from advisor.history.agents import QueueColumns, limits_in_force, queue_columns, throttled
from advisor.history.history import AllocationColumns, History
from advisor.history.inventory import Inventory, inventory_of, tcp_subject
from advisor.history.levels import read_levels
from advisor.history.measured import Measured, read_measured
from advisor.history.rates import adapter_subject, devices_of, rates_of
from advisor.models import Allocation, Attachment, Resource
from advisor.resource_kinds.reader import Devices
from ingest.core.figures import PRESSURE, TCP, CgroupFigures
from ingest.core.grid import Floats, Grid

PRESSURE_OF_BACKLOG = 0.05
"""A workload that waits for I/O for this fraction of the time wants more."""


def read_history(
    resource: Resource, grid: Grid, *, allocations: Sequence[Allocation] | None = None
) -> History:
    """The history of one resource; of all its allocations, or of those given in their order."""
    inventory = inventory_of([resource], allocations)
    return read_histories([resource], grid, inventory=inventory)[resource.pk]


def read_histories(
    resources: Sequence[Resource],
    grid: Grid,
    *,
    inventory: Inventory | None = None,
) -> dict[int, History]:
    """The history of each resource, by its key, over the windows of the grid."""
    inventory = inventory or inventory_of(resources)
    measured = read_measured(inventory.subjects, grid, known=inventory.series)
    levels = read_levels(resources, since=grid.since, until=grid.until)
    limits = limits_in_force(inventory.allocations, grid)
    queues = queue_columns(inventory.allocations, grid)
    return {
        resource.pk: History(
            resource=resource,
            grid=grid,
            devices=_devices(resource, inventory.attachments[resource.pk], measured),
            allocations=_allocation_columns(
                resource, inventory, measured, limits[resource.pk], queues
            ),
            levels=levels[resource.pk],
        )
        for resource in resources
    }


def _devices(
    resource: Resource, attachments: Sequence[Attachment], measured: Measured
) -> Devices[Any]:
    found = devices_of(resource, attachments, measured)
    if not resource.traits.reader.with_tcp or not attachments:
        return found
    return replace(found, tcp=measured.figures(TCP, [tcp_subject(one) for one in attachments]))


def _allocation_columns(
    resource: Resource,
    inventory: Inventory,
    measured: Measured,
    limits: Floats,
    queues: Mapping[int, QueueColumns],
) -> AllocationColumns:
    """Of the resource's allocations; `limits` (windows, allocations) are those in force."""
    rows = inventory.allocations[resource.pk]
    if not rows:
        return _no_allocations(len(limits))
    found = rates_of(rows, inventory.numbers, measured)
    backlogged, size, reads, waiting, drops = (np.full(found.rate.shape, np.nan) for _ in range(5))
    for place, row in enumerate(rows):
        if queue := queues.get(row.pk):
            backlogged[:, place] = queue.backlogged
            waiting[:, place] = queue.backlog_bytes
            drops[:, place] = queue.drops
    known = found.on_cgroups
    waits = measured.figures(PRESSURE, [adapter_subject(rows[place]) for place in known])
    is_known = ~np.isnan(waits.some_ratio)
    backlogged[:, known] = np.where(is_known, waits.some_ratio >= PRESSURE_OF_BACKLOG, np.nan)
    size[:, known] = found.done.mean_io_bytes
    reads[:, known] = _read_ratio(found.done)
    return AllocationColumns(
        rows=tuple(rows),
        shares=tuple(row.weight for row in rows),
        rate=found.rate,
        backlogged=backlogged,
        mean_io_bytes=size,
        read_ratio=reads,
        throttled=throttled(
            found.rate, limits, counted_before=resource.traits.counts_before_limit
        ),
        backlog_bytes=waiting,
        drops=drops,
    )


def _no_allocations(windows: int) -> AllocationColumns:
    none = np.zeros((windows, 0))
    return AllocationColumns(
        rows=(),
        shares=(),
        rate=none,
        backlogged=none,
        mean_io_bytes=none,
        read_ratio=none,
        throttled=none.astype(np.bool_),
        backlog_bytes=none,
        drops=none,
    )


def _read_ratio(done: CgroupFigures) -> Floats:
    """NaN without I/O."""
    return done.read_iops / np.where(done.iops > 0, done.iops, np.nan)
