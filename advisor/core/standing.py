"""Compare the use of each allocation with its entitlement, window by window.

The comparison is in device time: rate times the cost of a unit at its I/O size. The capacity is
what the resource delivered in the window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from advisor.core.allocation import ReservationMode, solve
from advisor.core.iosize import SIZE_TERM_BYTES, unit_costs
from advisor.core.observation import DatastoreObservation, Observation, UplinkObservation
from advisor.core.resource import Unit
from advisor.core.waterfill import Booleans, Floats, Groups, Indexes, groups_of

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


def workload_words(name: str) -> str:
    """What pages and sentences call the workload: traffic without an allocation has no name."""
    return "other traffic" if name == UNALLOCATED else name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AllocationTable:
    """What allocations got over windows of one resource, and what the resource delivered.

    `rate`, `mean_io_bytes`, `backlogged` (1, 0 or NaN, as all that is unknown), `queued` (where a
    queue of its own shows that) and `throttled` are (windows, allocations), `delivered` is
    (windows), and so is `size_term_bytes`, or one for all. `reservation`, `limit` (infinite if
    there is none), `shares` and `usual_rate` (NaN if unknown) are (allocations). `mode` and
    `unit` are the resource's; `unit` None is an uplink, whose bits all cost the same.
    """

    mode: ReservationMode
    unit: Unit | None
    workloads: tuple[str, ...]
    rate: Floats
    mean_io_bytes: Floats
    backlogged: Floats
    queued: Booleans
    throttled: Booleans
    delivered: Floats
    reservation: Floats
    limit: Floats
    shares: Floats
    usual_rate: Floats
    size_term_bytes: Floats | float = SIZE_TERM_BYTES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StandingColumns:
    """Use and entitlement in device time per second, (windows, allocations + 1).

    The last column is use without an allocation. `active` is where an allocation took part;
    `rate_per_cost` turns device time into the resource's unit at the allocation's I/O size.
    `plain_entitlement` ignores usual rates: every workload on a slow resource is slowed, whatever
    its rate. `queued` is where a queue of its own was measured, `waited` where anything showed
    that it wants more. `reservation` and `usual_rate` are (allocations + 1).
    """

    workloads: tuple[str, ...]
    active: Booleans
    cost: Floats
    entitlement: Floats
    plain_entitlement: Floats
    rate_per_cost: Floats
    queued: Booleans
    waited: Booleans
    reservation: Floats
    usual_rate: Floats


def standing_columns(tables: Sequence[AllocationTable]) -> list[StandingColumns]:
    """The use and entitlement of each allocation in congested windows, by table.

    The demand of an allocation that was held back is unknown; otherwise it is its rate. All
    windows are solved at once, and none changes what is found of another.
    """
    if not tables:
        return []
    flat = _flat(tables)
    active, rate = _with_unallocated(flat)
    per_unit = _per_unit(tables, flat)
    cost = rate * per_unit
    entitlements = _entitlements(tables, flat, active=active, rate=rate, per_unit=per_unit)
    waited = active & (flat.backlogged == 1) & ~flat.throttled
    found = (active, cost, *entitlements, 1 / per_unit, waited & flat.queued, waited)
    columns = [_by_table(tables, column) for column in found]
    return [
        StandingColumns(
            workloads=(*table.workloads, UNALLOCATED),
            active=own[0],
            cost=own[1],
            entitlement=own[2],
            plain_entitlement=own[3],
            rate_per_cost=own[4],
            queued=own[5],
            waited=own[6],
            reservation=np.append(table.reservation, 0.0),
            usual_rate=np.append(table.usual_rate, np.nan),
        )
        for table, *own in zip(tables, *columns, strict=True)
    ]


def used_columns(table: AllocationTable) -> Floats:
    """The use alone, as `StandingColumns.cost` has it: nothing has to be solved for it."""
    flat = _flat([table])
    _, rate = _with_unallocated(flat)
    (found,) = _by_table([table], rate * _per_unit([table], flat))
    used: Floats = found
    return used


def _by_table(tables: Sequence[AllocationTable], column: Any) -> list[Any]:
    """The part of each table, (windows, allocations + 1)."""
    shapes = [(len(table.rate), len(table.workloads) + 1) for table in tables]
    ends = np.cumsum([windows * count for windows, count in shapes])
    parts = np.split(column, ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Flat:
    """The windows of all tables one after the other, each a group of its allocations.

    The last of each group is use without an allocation. `delivered` and `size_term_bytes` are
    (groups), the rest is (allocations + 1 of each window).
    """

    groups: Groups
    rate: Floats
    mean_io_bytes: Floats
    backlogged: Floats
    throttled: Booleans
    delivered: Floats
    size_term_bytes: Floats
    queued: Booleans
    reservation: Floats
    limit: Floats
    shares: Floats
    usual_rate: Floats

    @property
    def last(self) -> Indexes:
        """The places of use without an allocation."""
        return self.groups.starts + self.groups.sizes - 1


def _flat(tables: Sequence[AllocationTable]) -> _Flat:
    windows = [len(table.rate) for table in tables]
    groups = groups_of(np.repeat([len(table.workloads) + 1 for table in tables], windows))
    own = np.ones(groups.sizes.sum(), dtype=np.bool_)
    own[groups.starts + groups.sizes - 1] = False

    def each(columns: Sequence[Any], otherwise: float) -> Floats:
        """Columns of (windows, allocations)."""
        found = np.full(len(own), otherwise)
        found[own] = np.concatenate([column.ravel() for column in columns])
        return found

    def same(columns: Sequence[Floats], otherwise: float) -> Floats:
        """Columns of (allocations), which are the same in each window."""
        return each(
            [
                column if count == 1 else np.tile(column, count)
                for column, count in zip(columns, windows, strict=True)
            ],
            otherwise,
        )

    return _Flat(
        groups=groups,
        rate=each([table.rate for table in tables], np.nan),
        mean_io_bytes=each([table.mean_io_bytes for table in tables], np.nan),
        backlogged=each([table.backlogged for table in tables], np.nan),
        throttled=each([table.throttled for table in tables], 0.0) > 0,
        queued=each([table.queued for table in tables], 0.0) > 0,
        delivered=np.concatenate([table.delivered for table in tables]),
        size_term_bytes=np.concatenate(
            [np.broadcast_to(table.size_term_bytes, len(table.delivered)) for table in tables]
        ),
        reservation=same([table.reservation for table in tables], 0.0),
        limit=same([table.limit for table in tables], np.inf),
        shares=same([table.shares for table in tables], UNALLOCATED_SHARES),
        usual_rate=same([table.usual_rate for table in tables], np.nan),
    )


def _with_unallocated(flat: _Flat) -> tuple[Booleans, Floats]:
    """Who took part, and at which rate."""
    measured = ~np.isnan(flat.rate)
    rate = np.where(measured, flat.rate, 0.0)
    rest = flat.delivered - flat.groups.total(rate)
    active = measured & ((rate > 0) | (flat.backlogged == 1))
    active[flat.last] = rest > UNALLOCATED_RATIO * flat.delivered
    rate[flat.last] = rest
    return active, np.where(active, rate, 0.0)


def _per_unit(tables: Sequence[AllocationTable], flat: _Flat) -> Floats:
    """Device time of one unit of each rate."""
    found = np.ones(len(flat.rate))
    size_term = flat.groups.spread(flat.size_term_bytes)
    for unit in {table.unit for table in tables if table.unit is not None}:
        own = _chosen([table.unit is unit for table in tables], tables, flat)
        found[own] = unit_costs(unit, flat.mean_io_bytes[own], size_term[own])
    return found


def _chosen(is_chosen: Sequence[bool], tables: Sequence[AllocationTable], flat: _Flat) -> Booleans:
    """Where the entries of the chosen tables are."""
    of_windows = np.repeat(is_chosen, [len(table.rate) for table in tables])
    return np.repeat(of_windows, flat.groups.sizes)


def _entitlements(
    tables: Sequence[AllocationTable],
    flat: _Flat,
    *,
    active: Booleans,
    rate: Floats,
    per_unit: Floats,
) -> tuple[Floats, Floats]:
    """By usual rates, and without them."""
    found = np.zeros((2, len(rate)))
    demands = np.stack(_demands(flat, np.where(active, rate, np.nan)))
    cap = np.where(active, np.minimum(flat.limit, demands) * per_unit, 0.0)
    least = np.where(active, flat.reservation * per_unit, 0.0)
    shares = np.where(active, flat.shares, 0.0)
    capacity = flat.groups.total(rate * per_unit)
    for mode in {table.mode: None for table in tables}:
        own = _chosen([table.mode is mode for table in tables], tables, flat)
        windows = own[flat.groups.starts]
        found[:, own] = solve(
            np.tile(capacity[windows], 2),
            np.tile(least[own], 2),
            cap[:, own].ravel(),
            np.tile(shares[own], 2),
            mode=mode,
            groups=groups_of(np.tile(flat.groups.sizes[windows], 2)),
        ).reshape(2, -1)
    return found[0], found[1]


def _demands(flat: _Flat, rate: Floats) -> tuple[Floats, Floats]:
    """By usual rates, and without them; `rate` is NaN where an allocation takes no part."""
    median = np.zeros(len(flat.groups.sizes))
    for size in np.unique(flat.groups.sizes):
        windows = np.flatnonzero(flat.groups.sizes == size)
        places = flat.groups.starts[windows, np.newaxis] + np.arange(size)
        median[windows] = _median(rate[places])[:, 0]
    by_usual, plain = (
        _wanted(
            rate,
            flat.backlogged,
            flat.groups.spread(median),
            throttled=flat.throttled,
            queued=flat.queued,
            reservation=flat.reservation,
            usual_rate=usual_rate,
        )
        for usual_rate in (flat.usual_rate, None)
    )
    return by_usual, plain


def wanted(rate: Floats, backlogged: Floats) -> Floats:
    """The demand of each allocation under congestion; infinite is an unknown amount more.

    Without measured queues, an allocation is presumed to want more if it keeps up with the others.
    `rate`, `backlogged` (1, 0 or NaN) and the result are (windows, allocations), NaN where an
    allocation takes no part.
    """
    return _wanted(rate, backlogged, _median(rate))


def _wanted(
    rate: Floats,
    backlogged: Floats,
    median: Floats,
    *,
    throttled: Booleans | None = None,
    queued: Booleans | None = None,
    reservation: Floats | None = None,
    usual_rate: Floats | None = None,
) -> Floats:
    """The same beside the median of each window.

    An allocation that takes no more than usual wants its usual rate, unless its queue was
    measured: that it waited is not enough, and of one that does nothing it says nothing at all.
    One that grew, or whose usual rate is unknown, wants more also if it is below its reservation.
    """
    is_backlogged = (backlogged == 1) & ~np.isnan(rate)
    if queued is not None:
        # Who waits and does nothing waits for something else than the device.
        is_backlogged &= queued | (rate > 0)
    found = np.where((rate >= KEEPS_UP_RATIO * median) | is_backlogged, np.inf, rate)
    if reservation is not None:
        starved = (TRICKLE_RATIO * reservation < rate) & (rate < reservation)
        found = np.where(starved, np.inf, found)
    if usual_rate is not None:
        is_usual = (rate <= usual_rate * GREW_RATIO) | (
            np.isnan(backlogged) & ~np.isnan(usual_rate)
        )
        found = np.where(is_usual, np.maximum(rate, usual_rate), found)
    held = np.zeros(rate.shape, dtype=np.bool_) if throttled is None else throttled
    found = np.where((backlogged == 0) | held, rate, found)
    is_queued = is_backlogged if queued is None else is_backlogged & queued
    return np.where(is_queued & ~held, np.inf, found)


def _median(rate: Floats) -> Floats:
    """Of the known rates of each window, NaN without one; (windows, 1)."""
    if not rate.shape[1]:
        return np.full((len(rate), 1), np.nan)
    # NaN comes last. What NumPy has for this takes ten times as long for a window.
    ordered = np.sort(rate, axis=1)
    last = (~np.isnan(rate)).sum(axis=1) - 1
    windows = np.arange(len(rate))
    middle: Floats = (ordered[windows, last // 2] + ordered[windows, (last + 1) // 2]) / 2
    return middle[:, np.newaxis]


def table_of(observation: Observation, mode: ReservationMode) -> AllocationTable:
    """The allocations of one window as a table of one row."""
    rows, is_sent = observation.allocations, isinstance(observation, UplinkObservation)
    return AllocationTable(
        mode=mode,
        unit=observation.unit if isinstance(observation, DatastoreObservation) else None,
        workloads=tuple(row.workload for row in rows),
        rate=np.array([[row.rate for row in rows]]),
        mean_io_bytes=np.array([[row.mean_io_bytes for row in rows]], dtype=np.float64),
        backlogged=np.array([[row.backlogged for row in rows]], dtype=np.float64),
        queued=np.array([[is_sent and row.backlogged is True for row in rows]], dtype=np.bool_),
        throttled=np.array([[row.throttled for row in rows]], dtype=np.bool_),
        delivered=np.array([delivered(observation) or 0.0]),
        reservation=np.array([row.reservation for row in rows]),
        limit=np.array([np.inf if row.limit is None else row.limit for row in rows]),
        shares=np.array([row.shares for row in rows]),
        usual_rate=np.array([row.usual_rate for row in rows], dtype=np.float64),
    )


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
