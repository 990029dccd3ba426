"""Which of our own limits held an allocation back, and which latency they caused.

Waiting for one of our own limits is not congestion.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime

from advisor.core.own_limit import is_held_back
from advisor.models import Allocation, Policy, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcedLimits:
    """Limits by allocation, each with the time from which its policy version was in force."""

    since: tuple[datetime, ...]
    limits: tuple[dict[int, float | None], ...]
    counted_before: bool

    def hold_back(self, allocation: Allocation, *, at: datetime, rate: float) -> bool:
        """Whether a limit in force at that time held the allocation to this rate."""
        place = bisect_left(self.since, at) - 1
        limit = self.limits[place].get(allocation.pk) if place >= 0 else None
        return is_held_back(rate, limit, counted_before=self.counted_before)


def enforced_limits(resource: Resource) -> EnforcedLimits:
    """The limits of all policy versions of the resource."""
    versions = list(
        Policy.objects.filter(resource=resource)
        .order_by("version")
        .values_list("created_at", "allocations")
    )
    return EnforcedLimits(
        since=tuple(created_at for created_at, _ in versions),
        limits=tuple(
            {item["allocation"]: item["limit"] for item in allocations}
            for _, allocations in versions
        ),
        counted_before=resource.traits.counts_before_limit,
    )
