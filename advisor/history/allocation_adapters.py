"""The counters that measure allocations: of an interface, or of a cgroup on a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.history.adapters import cgroup_device_numbers
from advisor.models import AdapterKind, Allocation
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
