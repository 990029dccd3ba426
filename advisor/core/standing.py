"""Compare the use of each allocation with its entitlement, in one window.

The comparison is in device time: rate times the cost of a unit at its I/O size. The capacity is
what the resource delivered in the window.
"""

from dataclasses import dataclass, replace
from statistics import median
from typing import assert_never

from advisor.core.allocation import Allocation, ReservationMode, entitlements
from advisor.core.iosize import REFERENCE_BYTES, size_cost
from advisor.core.observation import (
    AllocationObservation,
    DatastoreObservation,
    Observation,
    UplinkObservation,
)
from advisor.core.resource import Unit

UNALLOCATED = "(unallocated)"
"""The name of traffic that belongs to no allocation."""
UNALLOCATED_RATIO = 0.05
"""Less than this fraction of the load is measurement error, not a workload."""
UNALLOCATED_SHARES = 1000.0
"""Traffic without an allocation counts like a workload of the medium tier."""
KEEPS_UP_RATIO = 0.5
"""From this fraction of the median rate on, an allocation is presumed to want more."""
GREW_RATIO = 1.05
"""Above this multiple of its usual rate, an allocation may want even more."""
TRICKLE_RATIO = 0.05
"""Below this fraction of its reservation, an allocation is idle, not held back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One allocation in one window; `cost` and `entitlement` are device time per second.

    `rate_per_cost` turns them into the resource's unit at this allocation's I/O size.
    """

    workload: str
    cost: float
    entitlement: float
    reservation: float
    rate_per_cost: float


def standings(
    observation: Observation, mode: ReservationMode, *, by_usual: bool = True
) -> tuple[Standing, ...]:
    """The use and entitlement of each allocation in a congested window, in the order given.

    The demand of an allocation that was held back is unknown; otherwise it is its rate. Use
    without an allocation comes last, as an allocation of its own. Without `by_usual` the usual
    rate is ignored: every workload on a slow resource is slowed, whatever its rate.
    """
    allocations = [
        allocation
        for allocation in observation.allocations
        if allocation.rate > 0 or allocation.backlogged
    ]
    unallocated = _unallocated(observation)
    if unallocated is not None:
        allocations.append(unallocated)
    if not allocations:
        return ()
    per_unit = [device_cost(observation, allocation.mean_io_bytes) for allocation in allocations]
    costs = [
        allocation.rate * cost for allocation, cost in zip(allocations, per_unit, strict=True)
    ]
    middle = median(allocation.rate for allocation in allocations)
    due = entitlements(
        sum(costs),
        [
            _allocation(
                allocation if by_usual else replace(allocation, usual_rate=None), cost, middle
            )
            for allocation, cost in zip(allocations, per_unit, strict=True)
        ],
        mode,
    )
    return tuple(
        Standing(
            workload=allocation.workload,
            cost=cost,
            entitlement=entitlement,
            reservation=allocation.reservation,
            rate_per_cost=1 / each,
        )
        for allocation, cost, entitlement, each in zip(
            allocations, costs, due, per_unit, strict=True
        )
    )


def demand(allocation: AllocationObservation, median_rate: float) -> float | None:
    """The demand of the allocation under congestion; None means an unknown amount more.

    Without measured queues, an allocation that takes no more than usual wants its usual rate. One
    that grew, or whose usual rate is unknown, is presumed to want more if it is below its
    reservation or keeps up with the others.
    """
    if allocation.backlogged is True and not allocation.throttled:
        return None
    if allocation.backlogged is False or allocation.throttled:
        return allocation.rate
    if allocation.usual_rate is not None and allocation.rate <= allocation.usual_rate * GREW_RATIO:
        return max(allocation.rate, allocation.usual_rate)
    if TRICKLE_RATIO * allocation.reservation < allocation.rate < allocation.reservation:
        return None
    return None if allocation.rate >= KEEPS_UP_RATIO * median_rate else allocation.rate


def _allocation(
    allocation: AllocationObservation, per_unit: float, median_rate: float
) -> Allocation:
    wanted = demand(allocation, median_rate)
    return Allocation(
        reservation=allocation.reservation * per_unit,
        limit=None if allocation.limit is None else allocation.limit * per_unit,
        shares=allocation.shares,
        demand=None if wanted is None else wanted * per_unit,
    )


def device_cost(observation: Observation, mean_io_bytes: float | None) -> float:
    """Device time of one unit of a rate; the bits of an uplink all cost the same."""
    match observation:
        case DatastoreObservation():
            return unit_cost(observation.unit, mean_io_bytes)
        case UplinkObservation():
            return 1.0
        case _:
            assert_never(observation)


def unit_cost(unit: Unit, mean_io_bytes: float | None) -> float:
    """Device time of one I/O of this size, or of one byte of it, in I/Os of the reference size.

    An unknown size counts as the reference size.
    """
    if unit is not Unit.BYTES_PER_S:
        return size_cost(mean_io_bytes)
    # Nothing is smaller than a byte.
    size = max(mean_io_bytes or REFERENCE_BYTES, 1.0)
    return size_cost(size) / size


def delivered(observation: Observation) -> float | None:
    """The total rate, in the unit of the allocations; None if not measured."""
    match observation:
        case DatastoreObservation():
            sizes = (
                one.io_count * (one.mean_io_bytes or 0.0)
                if observation.unit is Unit.BYTES_PER_S
                else one.io_count
                for one in observation.hosts
            )
            return sum(sizes) / observation.window_s
        case UplinkObservation():
            return observation.tx_bits_per_s
        case _:
            assert_never(observation)


def _unallocated(observation: Observation) -> AllocationObservation | None:
    load = delivered(observation) or 0.0
    rest = load - sum(allocation.rate for allocation in observation.allocations)
    if rest <= UNALLOCATED_RATIO * load:
        return None
    return AllocationObservation(workload=UNALLOCATED, rate=rest, shares=UNALLOCATED_SHARES)
