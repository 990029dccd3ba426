"""What devices and allocations are measured by: the subjects of their counters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from advisor.models import AdapterKind, Allocation, Attachment
from ingest import queries
from ingest.core.figures import CGROUP_IO, INTERFACE, FigureKind
from ingest.grid_reader import Subject

Wanted = dict[FigureKind[Any], list[Subject]]


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
