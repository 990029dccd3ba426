"""Standings compare device time, whatever unit the rates are in."""

from dataclasses import fields, replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.allocation import ReservationMode
from advisor.core.observation import (
    AllocationObservation,
    DatastoreObservation,
    HostLatency,
    UplinkObservation,
)
from advisor.core.resource import Unit
from advisor.core.standing import (
    UNALLOCATED,
    AllocationTable,
    StandingColumns,
    standing_columns,
    table_of,
    used_columns,
)
from tests.advisor.core.standing_rows import standings

AT = datetime(2026, 3, 2, tzinfo=UTC)
WINDOW_S = 10.0


@st.composite
def observed(draw):
    """Allocations of several sizes on one datastore, in I/Os per second."""
    allocations = []
    for index in range(draw(st.integers(1, 5))):
        rate = draw(st.floats(1, 1e5))
        allocations.append(
            AllocationObservation(
                workload=f"w{index}",
                rate=rate,
                reservation=draw(st.floats(0, 1e5)),
                limit=draw(st.none() | st.floats(rate, 1e6)),
                shares=draw(st.sampled_from([500.0, 1000.0, 2000.0])),
                # The median of rates, which stands in for it, is another one in bytes.
                backlogged=draw(st.booleans()),
                mean_io_bytes=draw(st.floats(512, 1e6)),
            )
        )
    count = sum(one.rate for one in allocations) * WINDOW_S
    moved = sum(one.rate * one.mean_io_bytes for one in allocations) * WINDOW_S
    host = HostLatency(
        host="h", latency_ms=5.0, io_count=count, mean_io_bytes=moved / count if count else None
    )
    return DatastoreObservation(
        at=AT, window_s=WINDOW_S, hosts=(host,), allocations=tuple(allocations)
    )


def in_bytes(observation):
    return replace(
        observation,
        unit=Unit.BYTES_PER_S,
        allocations=tuple(
            replace(
                one,
                rate=one.rate * one.mean_io_bytes,
                reservation=one.reservation * one.mean_io_bytes,
                limit=None if one.limit is None else one.limit * one.mean_io_bytes,
            )
            for one in observation.allocations
        ),
    )


@given(observed(), st.sampled_from(list(ReservationMode)))
def test_who_gets_less_than_due_does_not_depend_on_the_unit(observation, mode):
    by_count = standings(observation, mode)

    by_bytes = standings(in_bytes(observation), mode)

    assert [one.workload for one in by_bytes] == [one.workload for one in by_count]
    for one, other in zip(by_bytes, by_count, strict=True):
        assert one.cost == pytest.approx(other.cost)
        assert one.entitlement == pytest.approx(other.entitlement, rel=1e-6, abs=1e-6)


def test_bytes_without_a_allocation_are_listed():
    # 1000 I/Os of 8 kB are 8 MB/s, of which a has 6.
    host = HostLatency(host="h", latency_ms=5.0, io_count=10_000.0, mean_io_bytes=8000.0)
    allocation = AllocationObservation(
        workload="a", rate=6e6, mean_io_bytes=8000.0, backlogged=True
    )
    observation = DatastoreObservation(
        at=AT, window_s=WINDOW_S, hosts=(host,), allocations=(allocation,), unit=Unit.BYTES_PER_S
    )

    rows = standings(observation, ReservationMode.FLOOR)

    # 750 I/Os of the reference size a second are a's, 250 nobody's.
    assert {one.workload: round(one.cost) for one in rows} == {"a": 750, UNALLOCATED: 250}


def test_device_time_is_turned_back_into_the_unit_at_the_size_of_each():
    # (51 + 67) / (51 + 8): an I/O of 67 kB costs two of the reference size.
    large = AllocationObservation(workload="a", rate=10.0, mean_io_bytes=67_000.0)
    host = HostLatency(host="h", latency_ms=5.0, io_count=100.0, mean_io_bytes=67_000.0)
    window = DatastoreObservation(at=AT, window_s=WINDOW_S, hosts=(host,), allocations=(large,))

    (found,) = standing_columns([table_of(window, ReservationMode.FLOOR)])

    assert (found.cost[0, 0], found.rate_per_cost[0, 0]) == (20.0, 0.5)


def test_bits_of_an_uplink_all_cost_the_same():
    web = AllocationObservation(workload="web", rate=90.0, mean_io_bytes=67_000.0)
    window = UplinkObservation(
        at=AT, window_s=WINDOW_S, tx_bits_per_s=90.0, capacity_bits_per_s=100.0, allocations=(web,)
    )

    (found,) = standing_columns([table_of(window, ReservationMode.ADDITIVE)])

    assert (found.cost[0, 0], found.rate_per_cost[0, 0]) == (90.0, 1.0)


def test_traffic_of_no_allocation_has_nothing_reserved():
    web = AllocationObservation(workload="web", rate=30.0, reservation=20.0)
    window = UplinkObservation(
        at=AT, window_s=WINDOW_S, tx_bits_per_s=90.0, capacity_bits_per_s=100.0, allocations=(web,)
    )

    found = standings(window, ReservationMode.ADDITIVE)

    assert [(one.workload, one.cost, one.reservation) for one in found] == [
        ("web", 30.0, 20.0),
        (UNALLOCATED, 60.0, 0.0),
    ]


def column(draw, shape, values):
    """An array of values that are drawn, or NaN."""
    size = int(np.prod(shape))
    return np.array(draw(st.lists(values, min_size=size, max_size=size))).reshape(shape)


@st.composite
def tables(draw):
    """A few windows of a resource with a few allocations, perhaps none of either."""
    windows, count = draw(st.integers(0, 4)), draw(st.integers(0, 5))
    shape, nan = (windows, count), st.just(np.nan)
    amount = st.floats(0, 1e4)
    rate = column(draw, shape, amount | nan)
    foreign = column(draw, (windows,), st.sampled_from([0.0, 1.0, 800.0]))
    return AllocationTable(
        mode=draw(st.sampled_from(list(ReservationMode))),
        unit=draw(st.sampled_from([None, Unit.IOPS, Unit.BYTES_PER_S])),
        workloads=tuple(f"w{place}" for place in range(count)),
        rate=rate,
        mean_io_bytes=column(draw, shape, st.floats(0, 1e6) | nan),
        backlogged=column(draw, shape, st.sampled_from([0.0, 1.0, np.nan])),
        queued=column(draw, shape, st.booleans()).astype(np.bool_),
        throttled=column(draw, shape, st.booleans()).astype(np.bool_),
        delivered=np.nansum(rate, axis=1) + foreign,
        reservation=column(draw, (count,), amount),
        limit=column(draw, (count,), amount | st.just(np.inf)),
        shares=column(draw, (count,), st.sampled_from([500.0, 1000.0])),
        usual_rate=column(draw, (count,), amount | nan),
    )


def windows_alone(table):
    """Each window of the table as a table."""
    return [
        replace(
            table,
            **{
                name: getattr(table, name)[row : row + 1]
                for name in (
                    "rate",
                    "mean_io_bytes",
                    "backlogged",
                    "queued",
                    "throttled",
                    "delivered",
                )
            },
        )
        for row in range(len(table.rate))
    ]


@given(st.lists(tables(), max_size=5))
def test_windows_of_many_resources_are_solved_as_each_alone(many):
    together = standing_columns(many)

    for table, found in zip(many, together, strict=True):
        assert found.active.shape == (len(table.rate), len(table.workloads) + 1)
        for row, window in enumerate(windows_alone(table)):
            (alone,) = standing_columns([window])
            assert found.workloads == alone.workloads
            for field in fields(StandingColumns)[1:]:
                mine, other = getattr(found, field.name), getattr(alone, field.name)
                # To the last digit.
                np.testing.assert_array_equal(mine[row] if mine.ndim > 1 else mine, other.ravel())


@given(tables())
def test_use_alone_is_that_beside_entitlements(table):
    (found,) = standing_columns([table])

    np.testing.assert_array_equal(used_columns(table), found.cost)


@given(st.lists(tables(), max_size=5))
def test_nobody_is_entitled_to_more_than_what_was_delivered(many):
    for table, found in zip(many, standing_columns(many), strict=True):
        capacity = found.cost.sum(axis=1) * (1 + 1e-9)
        for entitlement in (found.entitlement, found.plain_entitlement):
            assert (entitlement.sum(axis=1) <= capacity).all()
            assert (entitlement[~found.active] == 0).all()
        if np.isnan(table.usual_rate).all():
            assert np.array_equal(found.entitlement, found.plain_entitlement)


@pytest.mark.parametrize(
    ("reservation", "entitlement"),
    [
        # Half of the median of 80 is 40, which 20 does not keep up with: it wants its 20.
        (0.0, 20.0),
        # All that was reserved for it.
        (20.0, 20.0),
        # 1 is 5 % of 20: below what is reserved it wants more, a third of 180.
        (21.0, 60.0),
        # More than there is.
        (399.0, 180.0),
        # 5 % of what is reserved for it, and less: it is idle.
        (400.0, 20.0),
        (500.0, 20.0),
    ],
)
def test_who_is_below_a_reservation_wants_more_unless_it_is_idle(reservation, entitlement):
    rows = [
        AllocationObservation(workload="a", rate=20.0, reservation=reservation),
        AllocationObservation(workload="b", rate=80.0),
        AllocationObservation(workload="c", rate=80.0),
    ]
    window = UplinkObservation(
        at=AT, window_s=WINDOW_S, tx_bits_per_s=180.0, capacity_bits_per_s=200.0, allocations=rows
    )

    found = standings(window, ReservationMode.FLOOR)

    assert found[0].entitlement == pytest.approx(entitlement)


@pytest.mark.parametrize(
    ("backlogged", "wants_more"),
    [(True, True), (None, False), (False, False)],
    ids=["waits", "not known", "does not wait"],
)
def test_who_got_more_than_usual_wants_more_only_if_it_waits(backlogged, wants_more):
    small = AllocationObservation(
        workload="small", rate=10.0, usual_rate=7.0, reservation=100.0, backlogged=backlogged
    )
    large = AllocationObservation(workload="large", rate=290.0)
    host = HostLatency(host="h", latency_ms=40.0, io_count=3000.0)
    seen = DatastoreObservation(
        at=AT, window_s=WINDOW_S, hosts=(host,), allocations=(small, large)
    )

    found, _ = standings(seen, ReservationMode.FLOOR)

    assert (found.entitlement > found.cost * 1.05) == wants_more


@pytest.mark.parametrize("queued", [True, False])
def test_who_has_its_usual_wants_more_only_if_a_queue_shows_it(queued):
    table = AllocationTable(
        mode=ReservationMode.FLOOR,
        unit=Unit.IOPS,
        workloads=("small", "large"),
        rate=np.array([[10.0, 290.0]]),
        mean_io_bytes=np.full((1, 2), 8000.0),
        backlogged=np.ones((1, 2)),
        queued=np.array([[queued, False]]),
        throttled=np.zeros((1, 2), dtype=np.bool_),
        delivered=np.array([300.0]),
        reservation=np.zeros(2),
        limit=np.full(2, np.inf),
        shares=np.full(2, 1000.0),
        usual_rate=np.array([10.0, np.nan]),
    )

    (found,) = standing_columns([table])

    # Of 300, half is due to each that wants it.
    assert found.entitlement[0, 0] == pytest.approx(150.0 if queued else 10.0)
    assert found.queued[0].tolist() == [queued, False, False]
    assert found.waited[0].tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("idle_iops", "is_entitled"),
    [(0.0, False), (1.0, True)],
    ids=["does nothing", "does a little"],
)
def test_who_waits_and_does_nothing_is_due_nothing(idle_iops, is_entitled):
    # Who only waits at a ring is told to wait all the time, whatever the others do.
    rates = {"db": 300.0, "etl": 700.0, "ring": idle_iops}
    rows = tuple(
        AllocationObservation(
            workload=name, rate=rate, reservation=0.0, shares=1000.0, backlogged=True
        )
        for name, rate in rates.items()
    )
    host = HostLatency(host="h", latency_ms=50.0, io_count=sum(rates.values()) * WINDOW_S)
    seen = DatastoreObservation(at=AT, window_s=WINDOW_S, hosts=(host,), allocations=rows)

    (found,) = standing_columns([table_of(seen, ReservationMode.FLOOR)])

    due = (found.entitlement[0, 2], found.plain_entitlement[0, 2])
    assert [one > 0 for one in due] == [is_entitled] * 2
