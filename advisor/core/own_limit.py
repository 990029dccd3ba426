"""Whether a workload waits for its own limit and not for the resource."""

from advisor.core.waterfill import Booleans, Floats

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


def latency_is_of_limits(
    io_count: Floats, *, held: Floats, calm: Floats, others_wait: Booleans
) -> Booleans:
    """Whether our own limits may have caused a host's latency, in each window.

    Of the `io_count` I/Os limits held back `held`; `calm` are those of workloads without such a
    limit that do not wait. If another one waits, the cause is the datastore. If it is unknown for
    some workloads whether they wait, most of the host's I/O must be held back.
    """
    matters = held > SMALL_PART * io_count
    all_known = held + calm >= (1 - SMALL_PART) * io_count
    return matters & ~others_wait & (all_known | (held > MOST * io_count))
