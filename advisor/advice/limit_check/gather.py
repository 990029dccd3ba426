"""The limits of each workload on a datastore, with what passed in the last hour."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from advisor.advice.limit_check.decide.limit_inputs import LimitInputs, LimitWindow, VdiskLimit
from advisor.advice.shared.vdisk_names import vdisk_names
from advisor.core.resource import IoCount, LimitScope
from advisor.history.observe import allocation_windows
from advisor.history.windows import Span
from advisor.models import Allocation, Resource, StatePoint, Unit

CHECK_SPAN = timedelta(hours=1)
"""A limit is judged by its last hour."""


def limit_inputs(resource: Resource, now: datetime) -> list[LimitInputs]:
    """One per workload that has a limit on this datastore, with all its virtual disks."""
    if resource.unit != Unit.IOPS:
        return []
    allocations: dict[str, list[Allocation]] = defaultdict(list)
    for allocation in resource.allocations.select_related("workload", "host", "resource"):
        allocations[allocation.workload.name].append(allocation)
    return [
        _limit_inputs(resource, name, own, now)
        for name, own in sorted(allocations.items())
        if any(allocation.limit is not None for allocation in own)
    ]


def _limit_inputs(
    resource: Resource, workload: str, allocations: list[Allocation], now: datetime
) -> LimitInputs:
    span = Span(since=now - CHECK_SPAN, until=now, window_s=resource.window_s)
    rates = {
        allocation.pk: {found.at: found for found in allocation_windows(allocation, span=span)}
        for allocation in allocations
    }
    # Windows in which every virtual disk was measured, so that a pool can be added up.
    common = sorted(set.intersection(*(set(found) for found in rates.values())))
    points = StatePoint.objects.filter(resource=resource, at__in=common)
    latency = dict(points.values_list("at", "value"))
    return LimitInputs(
        workload=workload,
        datastore=resource.name,
        scope=LimitScope(allocations[0].limit_scope),
        count=IoCount(allocations[0].io_count),
        vdisks=tuple(
            VdiskLimit(
                vdisk=name,
                limit_iops=allocation.limit,
                windows=tuple(
                    LimitWindow(
                        iops=rates[allocation.pk][at].rate,
                        mean_io_bytes=rates[allocation.pk][at].mean_io_bytes,
                        backlogged=rates[allocation.pk][at].backlogged,
                        device_latency_ms=latency.get(at),
                    )
                    for at in common
                ),
            )
            for allocation, name in zip(allocations, vdisk_names(allocations), strict=True)
        ),
        congestion_threshold_ms=resource.threshold,
    )
