"""The capacity of a resource as it was seen under load in the last day."""

from __future__ import annotations

from datetime import datetime

from advisor.core.device.seen_capacity import SeenCapacity, seen_capacity
from advisor.history.load_points import device_day
from advisor.history.size_terms import size_term_at
from advisor.models import Resource, Unit


def capacity_seen(resource: Resource, *, now: datetime) -> SeenCapacity | None:
    """In the unit of the resource; None for a kind that says its capacity, and without I/O."""
    if resource.traits.fixed_capacity:
        return None
    status = getattr(resource, "status", None)
    threshold = (status.threshold if status else None) or resource.threshold
    windows, size_term = device_day(resource, until=now), size_term_at(resource, now)
    in_iops = resource.unit == Unit.IOPS
    return seen_capacity(
        [one.iops if in_iops else one.bytes_per_s for one in windows],
        # The level that is compared with the threshold is that of I/Os of the reference size.
        [one.normalized_point(size_term).latency_ms for one in windows],
        threshold=threshold,
    )
