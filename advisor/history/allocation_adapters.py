"""The counters that measure allocations: of an interface, or of a cgroup on a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.models import AdapterKind, Allocation, Attachment
from ingest import queries
from ingest.many_rates import CgroupKey, SubjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationAdapters:
    """Adapters by allocation; an allocation on a cgroup with an unknown device has none."""

    interfaces: dict[int, SubjectKey]
    cgroups: dict[int, CgroupKey]


def allocation_adapters(allocations: Sequence[Allocation]) -> AllocationAdapters:
    devices = cgroup_device_numbers(allocations)
    return AllocationAdapters(
        interfaces={
            allocation.pk: (allocation.host_id, allocation.adapter)
            for allocation in allocations
            if allocation.adapter_kind == AdapterKind.VNIC
        },
        cgroups={
            allocation.pk: (allocation.host_id, allocation.adapter, devices[allocation.pk])
            for allocation in allocations
            if allocation.pk in devices
        },
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
