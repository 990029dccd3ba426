"""Whether a workload waits for its own limit and not for the resource."""

from collections.abc import Sequence
from dataclasses import dataclass

AT_LIMIT_RATIO = 0.95
"""From this fraction of an enforced limit on, the limit holds the rate back."""
PASSED_BY_RATIO = 1.25
"""I/O above this multiple of its limit is not held back by it."""
SMALL_PART = 0.05
"""A smaller fraction of a host's I/O does not matter for the mean."""
MOST = 0.5


def reaches_limit(rate: float, limit: float | None) -> bool:
    """Whether the rate is at the limit or above it; None is no limit."""
    return limit is not None and rate >= AT_LIMIT_RATIO * limit


def is_held_back(rate: float, limit: float | None, *, counted_before: bool) -> bool:
    """Whether an enforced limit holds an allocation to this rate.

    Traffic of an uplink's adapter is counted before the limit, so it can be far above it. I/O is
    counted after the limit: if it is far above, the limit does not hold.
    """
    if limit is None or not reaches_limit(rate, limit):
        return False
    return counted_before or rate <= PASSED_BY_RATIO * limit


@dataclass(frozen=True, slots=True, kw_only=True)
class HostShare:
    """One allocation's I/Os on one host in one window; `waits` None means unknown."""

    io_count: float
    held_back: bool
    waits: bool | None


def latency_is_of_limits(io_count: float, shares: Sequence[HostShare]) -> bool:
    """Whether our own limits may have caused a host's latency in a window.

    Not if a workload without such a limit waits too: then the cause is the datastore. If it is
    unknown for some workloads whether they wait, most of the host's I/O must be held back.
    """
    held = sum(one.io_count for one in shares if one.held_back)
    others = [one for one in shares if not one.held_back]
    if held <= SMALL_PART * io_count or any(one.waits for one in others):
        return False
    calm = sum(one.io_count for one in others if one.waits is False)
    if held + calm >= (1 - SMALL_PART) * io_count:
        return True
    return held > MOST * io_count
