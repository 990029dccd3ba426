"""The one place that reads samples: the history of many resources at once.

The number of statements does not depend on how many resources, hosts or workloads there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from advisor.history.adapters import (
    adapter_subject,
    cgroup_device_numbers,
    device_subject,
    rate_subjects,
)
from advisor.history.agents import QueueColumns, limits_in_force, queue_columns, throttled
from advisor.history.history import AllocationColumns, History
from advisor.history.levels import read_levels
from advisor.history.rates import devices_of, rates_of
from advisor.models import Allocation, Attachment, Resource
from advisor.resource_kinds.reader import Devices
from ingest.core.figures import PRESSURE, TCP, CgroupFigures, FigureKind
from ingest.core.grid import Floats, Grid
from ingest.grid_reader import Measured, Subject, read_measured

PRESSURE_OF_BACKLOG = 0.05
"""A workload that waits for I/O for this fraction of the time wants more."""
TCP_SUBJECT = "snmp"
"""The TCP counters are those of /proc/net/snmp, which Telegraf tags so."""


def read_history(
    resource: Resource, grid: Grid, *, allocations: Sequence[Allocation] | None = None
) -> History:
    """The history of one resource; of all its allocations, or of those given in their order."""
    return read_histories([resource], grid, allocations=allocations)[resource.pk]


def read_histories(
    resources: Collection[Resource],
    grid: Grid,
    *,
    allocations: Sequence[Allocation] | None = None,
) -> dict[int, History]:
    """The history of each resource, by its key, over the windows of the grid."""
    inventory = _inventory(resources, allocations)
    measured = read_measured(inventory.subjects(), grid)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inventory:
    """What is to be read, by resource.

    `numbers` (`major:minor`) are those of the devices of allocations on cgroups; an allocation
    without one is not measured.
    """

    resources: Collection[Resource]
    attachments: Mapping[int, list[Attachment]]
    allocations: Mapping[int, list[Allocation]]
    numbers: Mapping[int, str]

    def subjects(self) -> dict[FigureKind[Any], list[Subject]]:
        """What is read of each kind; a subject may be named twice."""
        allocations = [row for rows in self.allocations.values() for row in rows]
        found = defaultdict(list, rate_subjects(allocations, self.numbers))
        found[PRESSURE] = [adapter_subject(row) for row in allocations if row.pk in self.numbers]
        for resource in self.resources:
            reader, attached = resource.traits.reader, self.attachments[resource.pk]
            found[reader.figures] += [device_subject(one) for one in attached]
            if reader.with_tcp:
                found[TCP] += [_tcp(one) for one in attached]
        return found


def _inventory(
    resources: Collection[Resource], allocations: Sequence[Allocation] | None
) -> _Inventory:
    keys = [resource.pk for resource in resources]
    attached: dict[int, list[Attachment]] = {key: [] for key in keys}
    rows = Attachment.objects.filter(resource__in=keys).select_related("host")
    for attachment in rows.order_by("resource_id", "host__name", "device"):
        attached[attachment.resource_id].append(attachment)
    if allocations is None:
        every = Allocation.objects.filter(resource__in=keys)
        allocations = list(
            every.select_related("workload", "host", "resource").order_by("workload__name", "pk")
        )
    by_resource: dict[int, list[Allocation]] = {key: [] for key in keys}
    for allocation in allocations:
        by_resource[allocation.resource_id].append(allocation)
    return _Inventory(
        resources=resources,
        attachments=attached,
        allocations=by_resource,
        numbers=cgroup_device_numbers(
            allocations, [one for found in attached.values() for one in found]
        ),
    )


def _tcp(attachment: Attachment) -> Subject:
    return Subject(host=attachment.host_id, name=TCP_SUBJECT)


def _devices(
    resource: Resource, attachments: Sequence[Attachment], measured: Measured
) -> Devices[Any]:
    found = devices_of(resource, attachments, measured)
    if not resource.traits.reader.with_tcp or not attachments:
        return found
    return replace(found, tcp=measured.figures(TCP, [_tcp(one) for one in attachments]))


def _allocation_columns(
    resource: Resource,
    inventory: _Inventory,
    measured: Measured,
    limits: Floats,
    queues: Mapping[int, QueueColumns],
) -> AllocationColumns:
    """Of the resource's allocations; `limits` (windows, allocations) are those in force."""
    rows = inventory.allocations[resource.pk]
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


def _read_ratio(done: CgroupFigures) -> Floats:
    """NaN without I/O."""
    return done.read_iops / np.where(done.iops > 0, done.iops, np.nan)
