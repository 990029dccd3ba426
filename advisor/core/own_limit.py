"""Whether a workload waits for its own limit and not for the resource."""

AT_LIMIT_RATIO = 0.95
"""From this fraction of an enforced limit on, the limit holds the rate back."""
PASSED_BY_RATIO = 1.25
"""I/O above this multiple of its limit is not held back by it."""


def reaches_limit(rate: float, limit: float | None) -> bool:
    """Whether the rate is at the limit or above it; None is no limit."""
    return limit is not None and rate >= AT_LIMIT_RATIO * limit


def is_held_back(rate: float, limit: float | None, *, is_uplink: bool) -> bool:
    """Whether an enforced limit holds an allocation to this rate.

    Traffic of an adapter is counted before the limit, so it can be far above it. I/O is counted
    after the limit: if it is far above, the limit does not hold.
    """
    if limit is None or not reaches_limit(rate, limit):
        return False
    return is_uplink or rate <= PASSED_BY_RATIO * limit
