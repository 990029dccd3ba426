"""What people stated of a workload goes with it where it migrates."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from advisor.models import AdapterKind, Allocation, Workload
from ingest.core.identity.workloads import FoundWorkload

_FOLLOWED = ("uuid", "guest")
"""Kinds of key by which a workload is the same on another host."""


def follow(
    row: Workload, one: FoundWorkload, uses: Iterable[Allocation], *, now: datetime
) -> None:
    """Move stated allocations from hosts that do not show the workload any more.

    `uses` are the default allocations that it is to have. What is moved leaves a default one that
    is gone, so that the past has its counters.
    """
    if not any(key.partition(":")[0] in _FOLLOWED for key in one.keys):
        return
    hosts = {place.host for place in one.places}
    stated = [item for item in row.allocations.all() if not item.found]
    taken = {(item.resource_id, item.host_id) for item in stated}
    free = [item for item in uses if (item.resource_id, item.host_id) not in taken]
    for item in stated:
        there = [use for use in free if _is_alike(use, item)]
        if item.host.name not in hosts and len(there) == 1:
            _move(item, there[0], now=now)
            free.remove(there[0])


def _is_alike(use: Allocation, stated: Allocation) -> bool:
    """Cgroups count what hosts' devices do, whichever host it is."""
    kinds = {use.adapter_kind, stated.adapter_kind}
    return use.resource_id == stated.resource_id and kinds == {AdapterKind.CGROUP}


def _move(stated: Allocation, use: Allocation, *, now: datetime) -> None:
    Allocation.objects.filter(
        resource=stated.resource_id, workload=stated.workload_id, vdisk=stated.vdisk,
        host=use.host, found=True,
    ).delete()  # fmt: skip
    before = (stated.host, stated.adapter)
    stated.host, stated.adapter = use.host, use.adapter
    stated.save(update_fields=["host", "adapter"])
    Allocation.objects.create(
        resource=stated.resource, workload=stated.workload, vdisk=stated.vdisk, host=before[0],
        adapter_kind=stated.adapter_kind, adapter=before[1], found=True, vanished_at=now,
    )  # fmt: skip
