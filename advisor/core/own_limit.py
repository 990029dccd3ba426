"""Whether a workload waits for its own limit and not for the resource."""

from advisor.core.waterfill import Booleans, Floats

AT_LIMIT_RATIO = 0.95
"""From this fraction of an enforced limit on, the limit holds the rate back."""
PASSED_BY_RATIO = 1.25
"""I/O above this multiple of its limit is not held back by it."""
SMALL_PART = 0.05
"""A smaller fraction of a host's I/O does not matter for the mean."""
MOST = 0.5


def throttled(rate: Floats, limits: Floats, *, counted_before: Booleans | bool) -> Booleans:
    """Where an enforced limit holds an allocation to its rate, (windows, allocations).

    `counted_before` is of all or (allocations): traffic of an uplink's adapter is counted before
    the limit, so it can be far above it. I/O is counted after the limit: if it is far above, the
    limit does not hold. NaN is no limit.
    """
    at_limit: Booleans = rate >= AT_LIMIT_RATIO * limits
    return at_limit & (counted_before | (rate <= PASSED_BY_RATIO * limits))


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
