"""Compare the use of each allocation with its entitlement, window by window.

The comparison is in device time: rate times the cost of a unit at its I/O size. The capacity is
what the resource delivered in the window.
"""

from dataclasses import dataclass
from typing import assert_never

import numpy as np

from advisor.core.allocation import ReservationMode, solve
from advisor.core.iosize import REFERENCE_BYTES, SIZE_TERM_BYTES, size_cost
from advisor.core.observation import DatastoreObservation, Observation, UplinkObservation
from advisor.core.resource import Unit
from advisor.core.waterfill import Booleans, Floats, groups_of

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AllocationTable:
    """What allocations got over windows, and what the resource delivered.

    `rate`, `mean_io_bytes`, `backlogged` (1, 0 or NaN, as all that is unknown) and `throttled`
    are (windows, allocations), `delivered` is (windows). `reservation`, `limit` (infinite if there
    is none), `shares` and `usual_rate` (NaN if unknown) are (allocations).
    """

    workloads: tuple[str, ...]
    rate: Floats
    mean_io_bytes: Floats
    backlogged: Floats
    throttled: Booleans
    delivered: Floats
    reservation: Floats
    limit: Floats
    shares: Floats
    usual_rate: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StandingColumns:
    """Use and entitlement in device time per second, (windows, allocations + 1).

    The last column is use without an allocation. `active` is where an allocation took part;
    `rate_per_cost` turns device time into the resource's unit at the allocation's I/O size.
    """

    workloads: tuple[str, ...]
    active: Booleans
    cost: Floats
    entitlement: Floats
    rate_per_cost: Floats
    reservation: Floats


def standing_columns(
    table: AllocationTable, mode: ReservationMode, *, unit: Unit | None, by_usual: bool = True
) -> StandingColumns:
    """The use and entitlement of each allocation in congested windows.

    The demand of an allocation that was held back is unknown; otherwise it is its rate. Without
    `by_usual` the usual rate is ignored: every workload on a slow resource is slowed, whatever its
    rate. `unit` is that of a datastore; None is an uplink, whose bits all cost the same.
    """
    active, rate = _with_unallocated(table)
    windows, count = rate.shape
    per_unit = np.ones((windows, count))
    if unit is not None:
        sizes = np.column_stack([table.mean_io_bytes, np.full(windows, np.nan)])
        per_unit = unit_costs(unit, sizes)
    cost = rate * per_unit
    reservation = np.append(table.reservation, 0.0)
    demand = _wanted(table, active, rate, by_usual=by_usual)
    cap = np.minimum(np.append(table.limit, np.inf), demand) * per_unit
    entitlement = solve(
        cost.sum(axis=1),
        np.where(active, reservation * per_unit, 0.0).ravel(),
        np.where(active, cap, 0.0).ravel(),
        np.where(active, np.append(table.shares, UNALLOCATED_SHARES), 0.0).ravel(),
        mode=mode,
        groups=groups_of(np.full(windows, count)),
    )
    return StandingColumns(
        workloads=(*table.workloads, UNALLOCATED),
        active=active,
        cost=cost,
        entitlement=entitlement.reshape(rate.shape),
        rate_per_cost=1 / per_unit,
        reservation=reservation,
    )


def _with_unallocated(table: AllocationTable) -> tuple[Booleans, Floats]:
    """Who took part, and at which rate; unallocated use last, (windows, allocations + 1)."""
    known = np.where(np.isnan(table.rate), 0.0, table.rate)
    rest = table.delivered - known.sum(axis=1)
    notable = rest > UNALLOCATED_RATIO * table.delivered
    measured = ~np.isnan(table.rate)
    active = np.column_stack([measured & ((known > 0) | (table.backlogged == 1)), notable])
    return active, np.where(active, np.column_stack([known, rest]), 0.0)


def _wanted(table: AllocationTable, active: Booleans, rate: Floats, *, by_usual: bool) -> Floats:
    """The demand of each, (windows, allocations + 1)."""
    windows = len(rate)
    held = np.column_stack([table.throttled, np.zeros(windows, dtype=np.bool_)])
    unknown = np.full(windows, np.nan)
    return wanted(
        np.where(active, rate, np.nan),
        np.column_stack([table.backlogged, unknown]),
        throttled=held,
        reservation=np.append(table.reservation, 0.0),
        usual_rate=np.append(table.usual_rate, np.nan) if by_usual else None,
    )


def wanted(
    rate: Floats,
    backlogged: Floats,
    *,
    throttled: Booleans | None = None,
    reservation: Floats | None = None,
    usual_rate: Floats | None = None,
) -> Floats:
    """The demand of each allocation under congestion; infinite is an unknown amount more.

    Without measured queues, an allocation that takes no more than usual wants its usual rate. One
    that grew, or whose usual rate is unknown, is presumed to want more if it is below its
    reservation or keeps up with the others. `rate`, `backlogged` (1, 0 or NaN) and the result are
    (windows, allocations), NaN where an allocation takes no part; so is `throttled`, and the rest
    are (allocations).
    """
    found = np.where(rate >= KEEPS_UP_RATIO * _median(rate), np.inf, rate)
    if reservation is not None:
        starved = (TRICKLE_RATIO * reservation < rate) & (rate < reservation)
        found = np.where(starved, np.inf, found)
    if usual_rate is not None:
        usual = rate <= usual_rate * GREW_RATIO
        found = np.where(usual, np.maximum(rate, usual_rate), found)
    held = np.zeros(rate.shape, dtype=np.bool_) if throttled is None else throttled
    found = np.where((backlogged == 0) | held, rate, found)
    return np.where((backlogged == 1) & ~held & ~np.isnan(rate), np.inf, found)


def _median(rate: Floats) -> Floats:
    """Of the known rates of each window, 0 without one; (windows, 1)."""
    if not rate.shape[1]:
        return np.zeros((len(rate), 1))
    # NaN comes last. What NumPy has for this takes ten times as long for a window.
    ordered = np.sort(rate, axis=1)
    count = (~np.isnan(rate)).sum(axis=1)
    windows = np.arange(len(rate))
    last = np.maximum(count - 1, 0)
    middle = (ordered[windows, last // 2] + ordered[windows, (last + 1) // 2]) / 2
    return np.where(count > 0, middle, 0.0)[:, np.newaxis]


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
    """The same for one window: those that took part, in the order given.

    Use without an allocation comes last, as an allocation of its own.
    """
    unit = observation.unit if isinstance(observation, DatastoreObservation) else None
    found = standing_columns(table_of(observation), mode, unit=unit, by_usual=by_usual)
    return tuple(
        Standing(
            workload=found.workloads[place],
            cost=float(found.cost[0, place]),
            entitlement=float(found.entitlement[0, place]),
            reservation=float(found.reservation[place]),
            rate_per_cost=float(found.rate_per_cost[0, place]),
        )
        for place in np.flatnonzero(found.active[0]).tolist()
    )


def table_of(observation: Observation) -> AllocationTable:
    """The allocations of one window as a table of one row."""
    rows = observation.allocations
    return AllocationTable(
        workloads=tuple(row.workload for row in rows),
        rate=np.array([[row.rate for row in rows]]),
        mean_io_bytes=np.array([[row.mean_io_bytes for row in rows]], dtype=np.float64),
        backlogged=np.array([[row.backlogged for row in rows]], dtype=np.float64),
        throttled=np.array([[row.throttled for row in rows]], dtype=np.bool_),
        delivered=np.array([delivered(observation) or 0.0]),
        reservation=np.array([row.reservation for row in rows]),
        limit=np.array([np.inf if row.limit is None else row.limit for row in rows]),
        shares=np.array([row.shares for row in rows]),
        usual_rate=np.array([row.usual_rate for row in rows], dtype=np.float64),
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


def unit_costs(unit: Unit, mean_io_bytes: Floats) -> Floats:
    """`unit_cost` of each size; NaN is an unknown one."""
    size = np.where(np.isnan(mean_io_bytes), REFERENCE_BYTES, mean_io_bytes)
    if unit is Unit.BYTES_PER_S:
        # Nothing is smaller than a byte, and no I/O has no size.
        size = np.maximum(np.where(size == 0, REFERENCE_BYTES, size), 1.0)
        return (SIZE_TERM_BYTES + size) / (SIZE_TERM_BYTES + REFERENCE_BYTES) / size
    return (SIZE_TERM_BYTES + size) / (SIZE_TERM_BYTES + REFERENCE_BYTES)


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
