"""What holds of entitlements, checked where they are computed and where they are read back."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from advisor.core.waterfill import Floats, Groups

COMPUTED_TOLERANCE = 1e-9
"""Rounding of a sum; the solver itself has no tolerance."""
STORED_TOLERANCE = 1e-6
"""Stored numbers have nine significant digits."""
SMALLEST = float(np.finfo(np.float64).tiny)


def check_entitlements(amount: Floats, *, capacity: Floats, most: Floats, groups: Groups) -> None:
    """Stop unless each amount is from 0 to its cap, and each group stays within its capacity."""
    within_caps = (amount >= 0) & (amount <= most)
    sums = groups.total(amount)
    within_capacity = sums <= capacity * (1 + COMPUTED_TOLERANCE) + SMALLEST
    assert within_caps.all(), "invariant entitlements-within-capacity: above its cap"
    assert within_capacity.all(), "invariant entitlements-within-capacity: above the capacity"


def check_stored_entitlements(
    allocations: Sequence[Mapping[str, Any]], *, capacity: float | None
) -> None:
    """Raise ValueError unless stored allocations could come from the solver.

    What it divides is device time: each counts by its `io_cost`, 1 where none is stored.
    `capacity` None means that it was not stored with them.
    """
    for item in allocations:
        limit = item["limit"]
        if limit is not None and item["reservation"] > limit:
            raise _broken(f"the reservation of {item['workload']} is above its limit")
        if not 0 <= item["entitlement"] <= _most(limit):
            raise _broken(f"the entitlement of {item['workload']} is not within 0 and its limit")
    taken = sum(item["entitlement"] * item.get("io_cost", 1.0) for item in allocations)
    if taken > _most(capacity):
        raise _broken("the entitlements exceed the capacity together")


def _most(bound: float | None) -> float:
    return float("inf") if bound is None else bound * (1 + STORED_TOLERANCE)


def _broken(what: str) -> ValueError:
    return ValueError(f"invariant entitlements-within-capacity: {what}")
