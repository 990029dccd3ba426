"""The one place that reads samples: the history of many resources at once.

The number of statements does not depend on how many resources, hosts or workloads there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from advisor.core.resource import Unit
from advisor.history.agents import QueueColumns, limits_in_force, queue_columns, throttled
from advisor.history.history import AllocationColumns, History, Levels
from advisor.models import AdapterKind, Allocation, Attachment, Resource, StatePoint
from advisor.resource_kinds.reader import Devices
from ingest import queries
from ingest.core.figures import (
    CGROUP_IO,
    INTERFACE,
    PRESSURE,
    TCP,
    CgroupFigures,
    FigureKind,
)
from ingest.core.grid import Floats, Grid, GridGrowth
from ingest.core.microseconds import microseconds
from ingest.grid_reader import Subject, read_growths

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
    wanted = inventory.subjects()
    measured = _Measured(
        grid=grid,
        places={kind: {one: at for at, one in enumerate(own)} for kind, own in wanted.items()},
        growth=read_growths(wanted, grid),
        numbers=inventory.numbers,
    )
    levels = read_levels(resources, since=grid.since, until=grid.until)
    limits = limits_in_force(inventory.allocations, grid)
    queues = queue_columns(inventory.allocations, grid)
    return {
        resource.pk: History(
            resource=resource,
            grid=grid,
            devices=measured.devices(resource, inventory.attachments[resource.pk]),
            allocations=measured.allocations(
                resource, inventory.allocations[resource.pk], limits[resource.pk], queues
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
        """Every subject once, by what is read of it."""
        found: dict[FigureKind[Any], dict[Subject, None]] = defaultdict(dict)
        for resource in self.resources:
            reader = resource.traits.reader
            devices = found[reader.figures]
            for attachment in self.attachments[resource.pk]:
                devices[_device(attachment)] = None
                if reader.with_tcp:
                    found[TCP][_tcp(attachment)] = None
            for allocation in self.allocations[resource.pk]:
                if allocation.adapter_kind == AdapterKind.VNIC:
                    found[INTERFACE][_adapter(allocation)] = None
                elif allocation.pk in self.numbers:
                    found[CGROUP_IO][_on_device(allocation, self.numbers)] = None
                    found[PRESSURE][_adapter(allocation)] = None
        return {kind: list(subjects) for kind, subjects in found.items()}


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


def cgroup_device_numbers(
    allocations: Sequence[Allocation], attachments: Sequence[Attachment] | None = None
) -> dict[int, str]:
    """The number (`major:minor`) of the allocated device on the allocation's host, by allocation.

    A host whose collector does not tell the numbers leaves one way to know: a cgroup that does
    I/O on one device only. An allocation on a cgroup of several is left out then. `attachments`
    are those of the resources, if they were read already.
    """
    cgroups = [row for row in allocations if row.adapter_kind == AdapterKind.CGROUP]
    if not cgroups:
        return {}
    if attachments is None:
        attachments = list(
            Attachment.objects.filter(resource__in={r.resource_id for r in cgroups})
        )
    names = {(one.resource_id, one.host_id): one.device for one in attachments}
    told = queries.device_numbers({row.host_id: row.host for row in cgroups}.values())
    found = {}
    untold = []
    for row in cgroups:
        number = told.get((row.host_id, names.get((row.resource_id, row.host_id), "")))
        if number is None:
            untold.append(row)
        else:
            found[row.pk] = number
    if untold:
        seen = queries.cgroup_devices({row.host_id: row.host for row in untold}.values())
        for row in untold:
            devices = seen.get((row.host_id, row.adapter), set())
            if len(devices) == 1:
                (found[row.pk],) = devices
    return found


def _device(attachment: Attachment) -> Subject:
    return Subject(host=attachment.host_id, name=attachment.device)


def _tcp(attachment: Attachment) -> Subject:
    return Subject(host=attachment.host_id, name=TCP_SUBJECT)


def _adapter(allocation: Allocation) -> Subject:
    return Subject(host=allocation.host_id, name=allocation.adapter)


def _on_device(allocation: Allocation, numbers: Mapping[int, str]) -> Subject:
    number = numbers[allocation.pk]
    return Subject(host=allocation.host_id, name=allocation.adapter, device=number)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """What was read of all resources, and where each subject has its column."""

    grid: Grid
    places: Mapping[FigureKind[Any], Mapping[Subject, int]]
    growth: Mapping[FigureKind[Any], GridGrowth]
    numbers: Mapping[int, str]

    def devices(self, resource: Resource, attachments: Sequence[Attachment]) -> Devices[Any]:
        reader = resource.traits.reader
        tcp = None
        if reader.with_tcp and attachments:
            tcp = self._figures(TCP, [_tcp(attachment) for attachment in attachments])
        return Devices(
            hosts=tuple(attachment.host.name for attachment in attachments),
            names=tuple(attachment.device for attachment in attachments),
            figures=self._figures(reader.figures, [_device(one) for one in attachments]),
            tcp=tcp,
        )

    def _figures(self, kind: FigureKind[Any], subjects: Sequence[Subject]) -> Any:
        places = self.places.get(kind, {})
        return kind.figures(self.growth[kind].chosen([places[one] for one in subjects]))

    def allocations(
        self,
        resource: Resource,
        rows: Sequence[Allocation],
        limits: Floats,
        queues: Mapping[int, QueueColumns],
    ) -> AllocationColumns:
        """The columns of these allocations; `limits` (windows, allocations) are those in force."""
        vnics = [place for place, row in enumerate(rows) if row.adapter_kind == AdapterKind.VNIC]
        known = [place for place, row in enumerate(rows) if row.pk in self.numbers]
        rate, backlogged, size, reads, waiting, drops = (
            np.full((self.grid.count, len(rows)), np.nan) for _ in range(6)
        )
        if vnics:
            # What a workload sends is what its vNIC receives on the host's side.
            own = [_adapter(rows[place]) for place in vnics]
            rate[:, vnics] = self._figures(INTERFACE, own).received_bits_per_s
        for place in vnics:
            if queue := queues.get(rows[place].pk):
                backlogged[:, place] = queue.backlogged
                waiting[:, place] = queue.backlog_bytes
                drops[:, place] = queue.drops
        if known:
            done = self._figures(
                CGROUP_IO, [_on_device(rows[place], self.numbers) for place in known]
            )
            waits = self._figures(PRESSURE, [_adapter(rows[place]) for place in known]).some_ratio
            rate[:, known] = _rate_in_unit(done, resource.unit)
            size[:, known] = done.mean_io_bytes
            reads[:, known] = _read_ratio(done)
            backlogged[:, known] = np.where(np.isnan(waits), np.nan, waits >= PRESSURE_OF_BACKLOG)
        return AllocationColumns(
            rows=tuple(rows),
            shares=tuple(row.weight for row in rows),
            rate=rate,
            backlogged=backlogged,
            mean_io_bytes=size,
            read_ratio=reads,
            throttled=throttled(rate, limits, counted_before=resource.traits.counts_before_limit),
            backlog_bytes=waiting,
            drops=drops,
        )


def _rate_in_unit(done: CgroupFigures, unit: str) -> Floats:
    """Reads and writes in sum: I/Os per second on a resource in IOPS, else bytes per second."""
    return done.iops if unit == Unit.IOPS else done.bytes_per_s


def _read_ratio(done: CgroupFigures) -> Floats:
    """NaN without I/O."""
    return done.read_iops / np.where(done.iops > 0, done.iops, np.nan)


LEVEL_COLUMNS = ("value", "threshold", "load", "device_load")


def read_levels(
    resources: Collection[Resource], *, since: datetime, until: datetime
) -> dict[int, Levels]:
    """What was judged of each resource in the windows that end in (since, until]."""
    rows = StatePoint.objects.filter(
        resource__in=[resource.pk for resource in resources], at__gt=since, at__lte=until
    )
    found: dict[int, list[tuple[Any, ...]]] = {resource.pk: [] for resource in resources}
    for row in rows.order_by("resource_id", "at").values_list(
        "resource_id", "at", "state", *LEVEL_COLUMNS
    ):
        found[row[0]].append(row[1:])
    return {key: _level_columns(own) for key, own in found.items()}


def _level_columns(rows: Sequence[tuple[Any, ...]]) -> Levels:
    ends, states, *values = zip(*rows, strict=True) if rows else ((),) * (2 + len(LEVEL_COLUMNS))
    columns = {
        # None becomes NaN.
        name: np.array(column, dtype=np.float64)
        for name, column in zip(LEVEL_COLUMNS, values, strict=True)
    }
    return Levels(
        at_us=np.array([microseconds(at) for at in ends], dtype=np.int64),
        state=np.array(states, dtype=np.object_),
        **columns,
    )
