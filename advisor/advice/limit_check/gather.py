"""What advice on a single datastore is computed from: threshold, queue depths, limits."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from advisor.advice.limit_check.decide import limit_inputs as limits
from advisor.advice.limit_check.decide.limit_inputs import LimitInputs, LimitWindow, VdiskLimit
from advisor.advice.queue_depth.decide.queue_depth_answer import HostDepth, QueueDepthInputs
from advisor.advice.shared.vdisk_names import vdisk_names
from advisor.advice.threshold.decide.threshold_advice import ThresholdInputs
from advisor.history.load_points import load_points, normalized_load_points
from advisor.history.observe import allocation_windows
from advisor.history.tiers import shares_of
from advisor.history.windows import Span
from advisor.models import Allocation, Resource, StatePoint, ThresholdMode, Unit

CHECK_SPAN = timedelta(hours=1)
"""A limit is judged by its last hour."""


def threshold_inputs(resource: Resource, now: datetime) -> list[ThresholdInputs]:
    """For a datastore whose threshold is stated; one that learns it needs no advice."""
    if resource.is_uplink or resource.threshold_mode != ThresholdMode.FIXED:
        return []
    return [
        ThresholdInputs(
            datastore=resource.name,
            threshold_ms=resource.threshold,
            points=tuple(normalized_load_points(resource, until=now)),
            same_disks=tuple(other.name for other in on_same_disks(resource)),
        )
    ]


def on_same_disks(resource: Resource) -> list[Resource]:
    """Other datastores of the organisation that are said to share spindles with this one."""
    if not resource.disks:
        return []
    same = Resource.objects.filter(organisation=resource.organisation, disks=resource.disks)
    return list(same.exclude(pk=resource.pk).order_by("name"))


def queue_depth_inputs(resource: Resource, now: datetime) -> list[QueueDepthInputs]:
    """For a datastore whose queue depths were stated, on its side and on the hosts'."""
    attachments = list(
        resource.attachments.filter(device_queue_depth__isnull=False).select_related("host")
    )
    if resource.is_uplink or resource.lun_queue_depth is None or not attachments:
        return []
    shares: dict[int, int] = defaultdict(int)
    for allocation in resource.allocations.select_related("workload"):
        shares[allocation.host_id] += shares_of(allocation)
    points = load_points(resource, until=now)
    return [
        QueueDepthInputs(
            datastore=resource.name,
            lun_queue_depth=resource.lun_queue_depth,
            hosts=tuple(
                HostDepth(
                    host=attachment.host.name,
                    device_queue_depth=attachment.device_queue_depth or 1,
                    shares=float(shares.get(attachment.host_id, 1000)),
                )
                for attachment in attachments
            ),
            peak_outstanding_io=max((point.outstanding_io for point in points), default=None),
            peak_windows=len(points),
            points=tuple(points),
        )
    ]


def limit_inputs(resource: Resource, now: datetime) -> list[LimitInputs]:
    """One per workload that has a limit on this datastore, with all its virtual disks."""
    if resource.is_uplink or resource.unit != Unit.IOPS:
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
        scope=limits.LimitScope(allocations[0].limit_scope),
        count=limits.IoCount(allocations[0].io_count),
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
