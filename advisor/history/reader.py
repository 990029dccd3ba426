"""The one place that reads samples and what held meanwhile: the history of many resources at once.

The number of statements does not depend on how many resources, hosts or workloads there are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from advisor.core.detection.threshold import (
    LEARNT_HOLDS,
    FixedThreshold,
    LearntReading,
    LearntThreshold,
    Threshold,
)
from advisor.core.own_limit import throttled
from advisor.history.agents import QueueColumns, limits_in_force, queue_columns
from advisor.history.history import AllocationColumns, History, Workloads
from advisor.history.inventory import Inventory, inventory_of, tcp_subject
from advisor.history.levels import Levels, read_levels
from advisor.history.measured import Measured, devices_of, rates_of, read_measured
from advisor.models import Allocation, Attachment, Resource, ThresholdMode
from advisor.models import LearntThreshold as LearntRow
from advisor.resource_kinds.reader import Devices
from ingest.core.figures import PRESSURE, TCP, CgroupFigures
from ingest.core.grid import Floats, Grid
from ingest.grid_reader import Subject

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
    thresholds = thresholds_of(resources, since=grid.since, until=grid.until)
    return {
        resource.pk: History(
            resource=resource,
            grid=grid,
            devices=_devices(resource, inventory.attachments[resource.pk], measured),
            allocations=_allocation_columns(
                resource, inventory, measured, limits[resource.pk], queues
            ),
            levels=levels[resource.pk],
            threshold=thresholds[resource.pk],
        )
        for resource in resources
    }


def read_workloads(resource: Resource, grid: Grid, *, inventory: Inventory) -> Workloads:
    """What the allocations of an inventory got, all of one resource; its devices are not read."""
    measured = read_measured(inventory.subjects, grid, known=inventory.series)
    levels = read_levels([resource], since=grid.since, until=grid.until)[resource.pk]
    return workloads_in(measured, resource, inventory=inventory, levels=levels)


def workloads_in(
    measured: Measured,
    resource: Resource,
    *,
    inventory: Inventory,
    levels: Levels,
) -> Workloads:
    """The same in what was read."""
    rows, grid = inventory.allocations[resource.pk], measured.grid
    found = rates_of(inventory.rates[resource.pk], measured)
    backlogged, size = np.full(found.rate.shape, np.nan), np.full(found.rate.shape, np.nan)
    queues = queue_columns(inventory.allocations, grid)
    for place, row in enumerate(rows if queues else ()):
        if queue := queues.get(row.pk):
            backlogged[:, place] = queue.backlogged
    known = found.on_cgroups
    backlogged[:, known] = waits(measured, inventory.pressures(resource))
    size[:, known] = found.done.mean_io_bytes
    return Workloads(
        resource=resource,
        grid=grid,
        rows=tuple(rows),
        rate=found.rate,
        backlogged=backlogged,
        mean_io_bytes=size,
        levels=levels,
    )


def waits(measured: Measured, cgroups: Sequence[Subject]) -> Floats:
    """1 where a cgroup waits for I/O, 0 where it does not, NaN is unknown."""
    waits = measured.figures(PRESSURE, cgroups)
    is_known = ~np.isnan(waits.some_ratio)
    return np.where(is_known, waits.some_ratio >= PRESSURE_OF_BACKLOG, np.nan)


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
    found = rates_of(inventory.rates[resource.pk], measured)
    backlogged, size, reads, waiting, drops = (np.full(found.rate.shape, np.nan) for _ in range(5))
    for place, row in enumerate(rows if queues else ()):
        if queue := queues.get(row.pk):
            backlogged[:, place] = queue.backlogged
            waiting[:, place] = queue.backlog_bytes
            drops[:, place] = queue.drops
    known = found.on_cgroups
    backlogged[:, known] = waits(measured, inventory.pressures(resource))
    size[:, known] = found.done.mean_io_bytes
    reads[:, known] = _read_ratio(found.done)
    return AllocationColumns(
        hosts=tuple(row.host.name for row in rows),
        workloads=tuple(row.workload.name for row in rows),
        reservation=np.array([row.reservation for row in rows], dtype=np.float64),
        rows=tuple(rows),
        shares=inventory.shares[resource.pk],
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
        hosts=(),
        workloads=(),
        reservation=np.zeros(0),
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


def thresholds_of(
    resources: Collection[Resource], *, since: datetime, until: datetime
) -> dict[int, Threshold]:
    """The threshold of each by its key, for windows that end in (since, until].

    Upkeep learns values hour by hour (`advisor.pipeline.learn_thresholds`). A resource that
    learns has its fixed value while nothing is learnt.
    """
    learning = [one for one in resources if one.threshold_mode != ThresholdMode.FIXED]
    learnt: dict[int, list[LearntReading]] = {one.pk: [] for one in learning}
    for row in _learnt_rows(learning, since=since, until=until):
        reading = LearntReading(since=row.since, value=row.value, reason=row.reason)
        learnt[row.resource_id].append(reading)
    return {
        one.pk: LearntThreshold(readings=tuple(learnt[one.pk]), fallback=one.threshold)
        if one.pk in learnt
        else FixedThreshold(value=one.threshold)
        for one in resources
    }


def _learnt_rows(
    learning: Collection[Resource], *, since: datetime, until: datetime
) -> list[LearntRow]:
    """What was learnt in the modes that the resources have, in order of time."""
    if not learning:
        return []
    modes = {one.pk: one.threshold_mode for one in learning}
    rows = LearntRow.objects.filter(
        resource__in=learning, since__gt=since - LEARNT_HOLDS, since__lte=until
    ).order_by("since")
    return [row for row in rows if row.mode == modes[row.resource_id]]
