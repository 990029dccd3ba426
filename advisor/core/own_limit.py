"""Whether its own limit holds a workload back, so that it does not wait for the resource."""

AT_LIMIT_RATIO = 0.95
"""A rate this near to an enforced limit is held back by it, not by the resource."""
PASSED_BY_RATIO = 1.25
"""I/O at such a multiple of its limit is evidently not held back by it."""


def reaches_limit(rate: float, limit: float | None) -> bool:
    """Whether the rate is at the limit or above it; None is no limit."""
    return limit is not None and rate >= AT_LIMIT_RATIO * limit


def is_held_back(rate: float, limit: float | None, *, is_uplink: bool) -> bool:
    """Whether an enforced limit holds an allocation to this rate.

    What an adapter hands to an uplink is counted before the limit, so it may be any amount above
    it. I/O is counted behind the limit: far above it, nothing holds it back.
    """
    if limit is None or not reaches_limit(rate, limit):
        return False
    return is_uplink or rate <= PASSED_BY_RATIO * limit
