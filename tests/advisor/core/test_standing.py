"""Standings compare device time, whatever unit the rates are in."""

from dataclasses import replace
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
    device_cost,
    standings,
    unit_cost,
    unit_costs,
)

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


@pytest.mark.parametrize(
    ("unit", "size", "cost"),
    [
        # (51 + 67) / (51 + 8): two of the reference size, each of whose bytes is one of 67,000.
        (Unit.IOPS, 67_000.0, 2.0),
        (Unit.BYTES_PER_S, 67_000.0, 2 / 67_000),
        (Unit.IOPS, None, 1.0),
        (Unit.BYTES_PER_S, None, 1 / 8000),
        # No I/O has no size, and nothing is smaller than a byte.
        (Unit.BYTES_PER_S, 0.0, 1 / 8000),
        (Unit.BYTES_PER_S, 0.5, 51_001 / 59_000),
    ],
)
def test_unit_of_a_rate_costs_the_device_time_of_its_io(unit, size, cost):
    row = np.array([np.nan if size is None else size])

    assert unit_cost(unit, size) == pytest.approx(cost)
    assert unit_costs(unit, row).tolist() == pytest.approx([cost])
    window = DatastoreObservation(at=AT, window_s=WINDOW_S, unit=unit, hosts=(), allocations=())
    assert device_cost(window, size) == pytest.approx(cost)


def test_bits_of_an_uplink_all_cost_the_same():
    window = UplinkObservation(
        at=AT, window_s=WINDOW_S, tx_bits_per_s=1e9, capacity_bits_per_s=1e10, allocations=()
    )

    assert (device_cost(window, 67_000.0), device_cost(window, None)) == (1.0, 1.0)
