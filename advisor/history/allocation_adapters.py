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


def cgroup_device_numbers(allocations: Sequence[Allocation]) -> dict[int, str]:
    """The number (`major:minor`) of the allocated device on the allocation's host, by allocation.

    A host whose collector does not tell the numbers leaves one way to know: a cgroup that does
    I/O on one device only. An allocation on a cgroup of several is left out then.
    """
    cgroups = [
        allocation for allocation in allocations if allocation.adapter_kind == AdapterKind.CGROUP
    ]
    hosts = {allocation.host_id: allocation.host for allocation in cgroups}
    attached = Attachment.objects.filter(
        resource__in={allocation.resource_id for allocation in cgroups}, host__in=hosts
    )
    names = {
        (resource, host): device
        for resource, host, device in attached.values_list("resource_id", "host_id", "device")
    }
    numbers = queries.device_numbers(hosts.values())
    seen = queries.cgroup_devices(hosts.values())
    found = {}
    for allocation in cgroups:
        name = names.get((allocation.resource_id, allocation.host_id), "")
        number = numbers.get((allocation.host_id, name))
        devices = seen.get((allocation.host_id, allocation.adapter), set())
        if number is None and len(devices) == 1:
            (number,) = devices
        if number is not None:
            found[allocation.pk] = number
    return found
