"""The rates of allocations, each in the unit of its resource, and of devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from advisor.history.adapters import (
    adapter_subject,
    cgroup_device_numbers,
    device_subject,
    on_device,
    rate_subjects,
)
from advisor.models import AdapterKind, Allocation, Attachment, Resource, Unit
from advisor.resource_kinds.reader import Devices
from ingest.core.figures import CGROUP_IO, INTERFACE, CgroupFigures
from ingest.core.grid import Floats, Grid
from ingest.grid_reader import Measured, read_measured


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
