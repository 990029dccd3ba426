"""The limits in force in each window, and where they held an allocation back.

Waiting for one of our own limits is not congestion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from advisor.core.own_limit import AT_LIMIT_RATIO, PASSED_BY_RATIO
from advisor.models import Allocation, Policy
from ingest.core.grid import Grid
from ingest.core.growth_columns import Flags, Floats
from ingest.core.microseconds import microseconds


def limits_in_force(
    allocations: Mapping[int, Sequence[Allocation]], grid: Grid
) -> dict[int, Floats]:
    """By resource the limit of each of its allocations, (windows, allocations); NaN is none.

    A policy version is in force in the windows that end after it was created.
    """
    found = {
        resource: np.full((grid.count, len(rows)), np.nan)
        for resource, rows in allocations.items()
    }
    versions = Policy.objects.filter(resource__in=allocations, created_at__lt=grid.until)
    fields = ("resource_id", "created_at", "allocations")
    for resource, created_at, granted in versions.order_by("version").values_list(*fields):
        begin = int(np.searchsorted(grid.ends_us, microseconds(created_at), side="right"))
        found[resource][begin:] = _limits(granted, allocations[resource])
    return found


def _limits(granted: Sequence[Mapping[str, Any]], rows: Sequence[Allocation]) -> Floats:
    by_allocation = {item["allocation"]: item["limit"] for item in granted}
    return np.array([by_allocation.get(row.pk) for row in rows], dtype=np.float64)


def throttled(rate: Floats, limits: Floats, *, counted_before: bool) -> Flags:
    """Where an enforced limit holds an allocation to its rate, for columns of one shape.

    Traffic of an uplink's adapter is counted before the limit, so it can be far above it. I/O is
    counted after the limit: if it is far above, the limit does not hold. NaN is no limit.
    """
    at_limit: Flags = rate >= AT_LIMIT_RATIO * limits
    return at_limit if counted_before else at_limit & (rate <= PASSED_BY_RATIO * limits)
