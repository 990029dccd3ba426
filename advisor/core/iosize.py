"""The cost of an I/O for a device by its size.

A device spends a fixed time per I/O and a time per byte. Two conventions are in use: the size
term of a device, with which latencies are compared and device time is divided, and VMware's count
of one I/O per 32 KiB begun, with which limits are counted. Of a device from which no size term was
learnt (`advisor.core.size_terms`), that of BASIL holds.
A size or latency that is NaN, infinite or negative is refused with its name.
"""

import math

import numpy as np

from advisor.core.number_checks import check_amount
from advisor.core.resource import Unit
from advisor.core.waterfill import Floats

SIZE_TERM_BYTES = 51_000.0
"""The size at which the transfer takes half of the device time (BASIL's K2)."""

REFERENCE_BYTES = 8_000.0
"""The reference size, which costs 1."""

COUNTED_BYTES = 32 * 1024
"""One I/O is counted per this many bytes started (VMware's IOPS limits)."""


def size_cost(io_bytes: float | None, *, size_term_bytes: float = SIZE_TERM_BYTES) -> float:
    """Device time of an I/O of this size, in I/Os of the reference size.

    An unknown size counts as the reference size.
    """
    if io_bytes is None:
        return 1.0
    check_amount("io_bytes", io_bytes)
    return (size_term_bytes + io_bytes) / (size_term_bytes + REFERENCE_BYTES)


def size_costs(io_bytes: Floats, size_term_bytes: Floats | float) -> Floats:
    """`size_cost` of each size; NaN is an unknown one."""
    size = np.where(np.isnan(io_bytes), REFERENCE_BYTES, io_bytes)
    return (size_term_bytes + size) / (size_term_bytes + REFERENCE_BYTES)


def unit_cost(
    unit: Unit, mean_io_bytes: float | None, *, size_term_bytes: float = SIZE_TERM_BYTES
) -> float:
    """Device time of one I/O of this size, or of one byte of it, in I/Os of the reference size.

    An unknown size counts as the reference size.
    """
    if unit is not Unit.BYTES_PER_S:
        return size_cost(mean_io_bytes, size_term_bytes=size_term_bytes)
    # Nothing is smaller than a byte.
    size = max(mean_io_bytes or REFERENCE_BYTES, 1.0)
    return size_cost(size, size_term_bytes=size_term_bytes) / size


def unit_costs(
    unit: Unit, mean_io_bytes: Floats, size_term_bytes: Floats | float = SIZE_TERM_BYTES
) -> Floats:
    """`unit_cost` of each size; NaN is an unknown one."""
    if unit is not Unit.BYTES_PER_S:
        return size_costs(mean_io_bytes, size_term_bytes)
    size = np.where(np.isnan(mean_io_bytes), REFERENCE_BYTES, mean_io_bytes)
    # Nothing is smaller than a byte, and no I/O has no size.
    size = np.maximum(np.where(size == 0, REFERENCE_BYTES, size), 1.0)
    return size_costs(size, size_term_bytes) / size


def size_normalized_ms(latency_ms: float, io_bytes: float | None) -> float:
    """The latency that I/Os of the reference size would have had."""
    check_amount("latency_ms", latency_ms)
    return latency_ms / size_cost(io_bytes)


def counted_ios(io_bytes: float) -> int:
    """How many I/Os a limit counts for one of this size: one per started 32 KiB, at least one."""
    check_amount("io_bytes", io_bytes)
    return max(1, math.ceil(io_bytes / COUNTED_BYTES))
