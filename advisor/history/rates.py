"""What devices and allocations are measured by, and their rates, each in the resource's unit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from advisor.history.measured import Measured, read_measured
from advisor.models import AdapterKind, Allocation, Attachment, Resource, Unit
from advisor.resource_kinds.reader import Devices
from ingest import queries
from ingest.core.figures import CGROUP_IO, INTERFACE, CgroupFigures, FigureKind
from ingest.core.grid import Floats, Grid
from ingest.grid_reader import Subject

Wanted = dict[FigureKind[Any], list[Subject]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AllocationRates:
    """What allocations got: `rate` in the unit of each and the `seconds` that it is known for.

    Both are (windows, allocations). `done` has a column for each of the allocations
    `on_cgroups`, which are places among all.
    """

    rate: Floats
    seconds: Floats
    on_cgroups: list[int]
    done: CgroupFigures


def read_rates(allocations: Sequence[Allocation], grid: Grid) -> AllocationRates:
    """The rates of these allocations alone, of any resources, in their order."""
    numbers = cgroup_device_numbers(allocations)
    measured = read_measured(rate_subjects(allocations, numbers), grid)
    return rates_of(allocations, numbers, measured)


def rates_of(
    allocations: Sequence[Allocation], numbers: Mapping[int, str], measured: Measured
) -> AllocationRates:
    """The rates in what was read; `numbers` are those of the devices of cgroups."""
    on_vnics, on_cgroups = [], []
    for place, row in enumerate(allocations):
        if row.adapter_kind == AdapterKind.VNIC:
            on_vnics.append(place)
        elif row.pk in numbers:
            on_cgroups.append(place)
    rate = np.full((measured.grid.count, len(allocations)), np.nan)
    seconds = np.zeros(rate.shape)
    carried = measured.figures(
        INTERFACE, [adapter_subject(allocations[place]) for place in on_vnics]
    )
    done = measured.figures(
        CGROUP_IO, [on_device(allocations[place], numbers) for place in on_cgroups]
    )
    # What a workload sends is what its vNIC receives on the host's side.
    rate[:, on_vnics] = carried.received_bits_per_s
    # Reads and writes in sum.
    in_iops = [allocations[place].resource.unit == Unit.IOPS for place in on_cgroups]
    rate[:, on_cgroups] = np.where(in_iops, done.iops, done.bytes_per_s)
    seconds[:, on_vnics], seconds[:, on_cgroups] = carried.seconds, done.seconds
    return AllocationRates(rate=rate, seconds=seconds, on_cgroups=on_cgroups, done=done)


def devices_of(
    resource: Resource, attachments: Sequence[Attachment], measured: Measured
) -> Devices[Any]:
    """The devices of a resource in what was read, without TCP."""
    return Devices(
        hosts=tuple(attachment.host.name for attachment in attachments),
        names=tuple(attachment.device for attachment in attachments),
        figures=measured.figures(
            resource.traits.reader.figures, [device_subject(one) for one in attachments]
        ),
    )


def device_subject(attachment: Attachment) -> Subject:
    return Subject(host=attachment.host_id, name=attachment.device)


def adapter_subject(allocation: Allocation) -> Subject:
    """Its vNIC, or its cgroup over all devices."""
    return Subject(host=allocation.host_id, name=allocation.adapter)


def on_device(allocation: Allocation, numbers: Mapping[int, str]) -> Subject:
    """Its cgroup on the allocated device."""
    number = numbers[allocation.pk]
    return Subject(host=allocation.host_id, name=allocation.adapter, device=number)


def rate_subjects(allocations: Collection[Allocation], numbers: Mapping[int, str]) -> Wanted:
    """What the rates of allocations are made of; one without a number is not measured."""
    on_vnics = [row for row in allocations if row.adapter_kind == AdapterKind.VNIC]
    on_cgroups = [row for row in allocations if row.pk in numbers]
    return {
        INTERFACE: [adapter_subject(row) for row in on_vnics],
        CGROUP_IO: [on_device(row, numbers) for row in on_cgroups],
    }


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
