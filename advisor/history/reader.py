"""The one place that reads samples and what held meanwhile: the history of many resources at once.

The number of statements does not depend on how many resources, hosts or workloads there are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import numpy as np

from advisor.core.detection.threshold import (
    LEARNT_HOLDS,
    FixedThreshold,
    LearntReading,
    LearntThreshold,
    Threshold,
)
from advisor.core.detection.waiting import Wants
from advisor.core.own_limit import throttled
from advisor.history.agents import limits_in_force, queue_columns
from advisor.history.history import AllocationColumns, History, SizedWorkloads, Workloads
from advisor.history.inventory import Inventory, inventory_of
from advisor.history.levels import NO_LEVELS, Levels, mean_levels, read_levels
from advisor.history.measured import (
    Measured,
    devices_by_resource,
    measure,
    rate_kinds,
    rates_alone,
    rates_at,
    read_spans,
)
from advisor.history.own_times import windows_of_others
from advisor.history.size_terms import size_terms_of
from advisor.history.stored.read import Span
from advisor.history.waiting import KINDS, device_ms_at, is_read, wants_at
from advisor.models import Allocation, Resource, ThresholdMode, Unit
from advisor.models import LearntThreshold as LearntRow
from ingest.core.figures import CgroupFigures
from ingest.core.grid import Flags, Floats, Grid


def read_history(
    resource: Resource,
    grid: Grid,
    *,
    allocations: Sequence[Allocation] | None = None,
    are_limited: bool = False,
) -> History:
    """The history of one resource; of all its allocations, or of those given in their order."""
    inventory = inventory_of([resource], allocations, since=grid.since)
    found = read_histories([resource], grid, inventory=inventory, are_limited=are_limited)
    return found[resource.pk]


def read_histories(
    resources: Sequence[Resource],
    grid: Grid,
    *,
    inventory: Inventory | None = None,
    is_judged: bool = True,
    are_limited: bool = False,
) -> dict[int, History]:
    """The history of each resource, by its key, over the windows of the grid.

    What is to be judged now has no levels: they are looked for only where `is_judged`. If
    allocations `are_limited`, whoever sleeps may wait for a limit, however far it is from it.
    """
    inventory = inventory or inventory_of(resources, since=grid.since)
    measured = measure(inventory, grid)
    levels = dict.fromkeys((one.pk for one in resources), NO_LEVELS)
    if is_judged:
        levels = read_levels(resources, since=grid.since, until=grid.until)
    devices = devices_by_resource(inventory.layout, measured)
    allocations = _allocation_columns(inventory, measured, are_limited=are_limited)
    thresholds = thresholds_of(resources, since=grid.since, until=grid.until)
    terms = size_terms_of(resources, until=grid.until)
    return {
        resource.pk: History(
            resource=resource,
            grid=grid,
            devices=devices[resource.pk],
            allocations=allocations[resource.pk],
            levels=levels[resource.pk],
            threshold=thresholds[resource.pk],
            size_terms=terms[resource.pk],
        )
        for resource in resources
    }


def read_workloads(resource: Resource, grid: Grid, *, inventory: Inventory) -> Workloads:
    """What the allocations of an inventory got, all of one resource; nothing else is read."""
    unit = Unit(resource.unit)
    span = Span(grid=grid, kinds=(*rate_kinds(unit), *KINDS))
    (measured,) = read_spans(inventory.subjects, [span], known=inventory.series)
    levels = read_levels([resource], since=grid.since, until=grid.until)[resource.pk]
    rate = np.ascontiguousarray(rates_alone(inventory.rates[resource.pk], measured, unit))
    on_cgroups = inventory.layout.rates.on_cgroups
    # How many I/Os bytes took is not read.
    iops = rate[:, on_cgroups] if unit is Unit.IOPS else np.full_like(rate[:, on_cgroups], np.nan)
    return Workloads(
        resource=resource,
        grid=grid,
        rows=tuple(inventory.allocations[resource.pk]),
        rate=rate,
        backlogged=_backlogged(measured, resource, inventory, iops=iops, levels=levels),
        levels=levels,
    )


def workloads_in(
    measured: Measured,
    resource: Resource,
    *,
    inventory: Inventory,
    levels: Levels,
) -> SizedWorkloads:
    """The same, and the sizes of I/Os, in what was read."""
    found = rates_at(inventory.layout.rates, measured)
    size = np.full(found.rate.shape, np.nan)
    size[:, found.on_cgroups] = found.done.mean_io_bytes
    return SizedWorkloads(
        resource=resource,
        grid=measured.grid,
        rows=tuple(inventory.allocations[resource.pk]),
        rate=found.rate,
        backlogged=_backlogged(measured, resource, inventory, iops=found.done.iops, levels=levels),
        mean_io_bytes=size,
        levels=levels,
    )


def _backlogged(
    measured: Measured, resource: Resource, inventory: Inventory, *, iops: Floats, levels: Levels
) -> Floats:
    """1 where an allocation wanted more, 0 where it did not, NaN is unknown.

    `iops` are those of the allocations on cgroups. How long an I/O takes is said by the levels.
    """
    rows = inventory.allocations[resource.pk]
    backlogged = np.full((measured.grid.count, len(rows)), np.nan)
    queues = queue_columns(inventory.queued, measured.grid)
    for place, row in enumerate(rows if queues else ()):
        if queue := queues.get(row.pk):
            backlogged[:, place] = queue.backlogged
    layout = inventory.layout
    if len(layout.rates.on_cgroups) and is_read(measured):
        device_ms = np.full(len(backlogged), np.nan)
        if not resource.traits.latency_gap:
            device_ms = mean_levels(levels, measured.grid)
        found = wants_at(layout.waiting, measured, iops=iops, device_ms=device_ms[:, np.newaxis])
        backlogged[:, layout.rates.on_cgroups] = found.more
    return backlogged


def _wants(inventory: Inventory, measured: Measured, done: CgroupFigures, limited: Flags) -> Wants:
    places = inventory.layout.waiting
    device_ms = device_ms_at(places, measured)
    return wants_at(places, measured, iops=done.iops, device_ms=device_ms, limited=limited)


def _allocation_columns(
    inventory: Inventory, measured: Measured, *, are_limited: bool
) -> dict[int, AllocationColumns]:
    """Of the allocations of each resource, by its key; those of all are worked out at once."""
    layout = inventory.layout
    found = rates_at(layout.rates, measured)
    limits = limits_in_force(inventory.allocations, measured.grid)
    backlogged, size, reads, waiting, drops = (np.full(found.rate.shape, np.nan) for _ in range(5))
    for key, queue in queue_columns(inventory.queued, measured.grid).items():
        place = layout.place_of[key]
        backlogged[:, place] = queue.backlogged
        waiting[:, place] = queue.backlog_bytes
        drops[:, place] = queue.drops
    queued = backlogged == 1
    held = throttled(
        found.rate,
        np.concatenate([limits[key] for key in layout.parts], axis=1) if limits else found.rate,
        counted_before=layout.counted_before,
    )
    known = found.on_cgroups
    wanted = _wants(inventory, measured, found.done, held[:, known] | are_limited)
    backlogged[:, known], queued[:, known] = wanted.more, wanted.queued
    size[:, known] = found.done.mean_io_bytes
    reads[:, known] = _read_ratio(found.done)
    columns = (found.rate, backlogged, size, reads, waiting, drops)
    of_others = windows_of_others(
        inventory.shared_adapters, inventory.mounted, measured.grid, found.rate
    )
    for place, others in of_others:
        for column in columns:
            column[others, place] = np.nan
        held[others, place] = False
    return {
        key: AllocationColumns(
            hosts=layout.heads[key].hosts,
            workloads=layout.heads[key].workloads,
            reservation=layout.heads[key].reservation,
            rows=layout.heads[key].rows,
            keys=layout.heads[key].keys,
            limit=layout.heads[key].limit,
            shares=layout.heads[key].shares,
            rate=found.rate[:, part],
            backlogged=backlogged[:, part],
            queued=queued[:, part],
            mean_io_bytes=size[:, part],
            read_ratio=reads[:, part],
            throttled=held[:, part],
            backlog_bytes=waiting[:, part],
            drops=drops[:, part],
        )
        for key, part in layout.parts.items()
    }


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
