"""Columns of measurements: unknown numbers are NaN, and impossible ones are refused by name."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from advisor.core.detection.reading import (
    DatastoreColumns,
    UplinkColumns,
    datastore_readings,
    in_order,
    uplink_readings,
)

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
ENDS = [START, START + timedelta(seconds=10)]
OF_HOSTS = ("io_count", "latency_ms", "mean_io_bytes", "outstanding_io", "busy_ratio")
OF_WINDOWS = (
    "tx_bits_per_s",
    "capacity_bits_per_s",
    "packets",
    "drops",
    "backlog_bytes",
    "segments",
    "retransmits",
)


def datastore(**changes: Any) -> DatastoreColumns:
    """Two windows of two hosts."""
    columns: dict[str, Any] = {name: np.ones((2, 2)) for name in OF_HOSTS}
    columns |= {"hosts": ("h1", "h2"), "throttled": np.zeros((2, 2), dtype=np.bool_)}
    return DatastoreColumns(**columns | changes)


def uplink(**changes: Any) -> UplinkColumns:
    """Two windows with one allocation."""
    columns: dict[str, Any] = {name: np.ones(2) for name in OF_WINDOWS}
    columns |= {
        "workloads": ("db",),
        "rate": np.ones((2, 1)),
        "reservation": np.ones(1),
        "backlogged": np.zeros((2, 1)),
        "throttled": np.zeros((2, 1), dtype=np.bool_),
    }
    return UplinkColumns(**columns | changes)


@pytest.mark.parametrize("value", [math.inf, -math.inf, -1.0])
@pytest.mark.parametrize("name", OF_HOSTS)
def test_impossible_number_of_any_host_is_refused_by_name(name: str, value: float) -> None:
    column = np.array([[1.0, math.nan], [value, 1.0]])

    with pytest.raises(
        ValueError, match=rf"^{name} is {value!r}; it must be a finite number of at least 0$"
    ):
        datastore(**{name: column})


@pytest.mark.parametrize("value", [math.inf, -math.inf, -1.0])
@pytest.mark.parametrize("name", [*OF_WINDOWS, "rate", "reservation"])
def test_impossible_number_of_an_uplink_is_refused_by_name(name: str, value: float) -> None:
    shape = {"rate": (2, 1), "reservation": (1,)}.get(name, (2,))
    column = np.full(shape, value)

    with pytest.raises(
        ValueError, match=rf"^{name} is {value!r}; it must be a finite number of at least 0$"
    ):
        uplink(**{name: column})


def test_uplink_without_any_capacity_is_refused() -> None:
    uplink(capacity_bits_per_s=np.array([1.0, math.nan]))
    with pytest.raises(
        ValueError, match=r"^capacity_bits_per_s is 0\.0; it must be a finite number above 0$"
    ):
        uplink(capacity_bits_per_s=np.array([2.0, 0.0]))


def test_host_that_did_not_report_counts_for_nothing() -> None:
    # In the first window h1 alone: 100 I/Os of 3 ms. In the second nobody.
    seen = datastore(
        io_count=np.array([[100.0, math.nan], [math.nan, math.nan]]),
        latency_ms=np.array([[3.0, 9.0], [9.0, 9.0]]),
        mean_io_bytes=np.full((2, 2), math.nan),
    )

    first, second = datastore_readings(ENDS, 10.0, seen)

    assert (first.at, first.value, first.load, first.device_load) == (START, 3.0, 10.0, 10.0)
    assert (first.reason, second.reason) == ("", "no host reported")
    assert (second.value, second.load, second.device_load) == (None, None, None)
    assert second.began_at == START


def test_numbers_that_are_unknown_are_absent_from_the_signals_of_an_uplink() -> None:
    unknown = {name: np.full(2, math.nan) for name in OF_WINDOWS}

    found, _ = uplink_readings(ENDS, 10.0, uplink(**unknown))

    assert found.nic is not None
    assert {name: getattr(found.nic, name) for name in OF_WINDOWS} == dict.fromkeys(OF_WINDOWS)
    assert (found.nic.unmet, found.nic.nobody_waits) == ((), False)
    assert (found.value, found.load, found.reason) == (None, None, "nothing was measured")


@pytest.mark.parametrize(
    ("sent", "drops", "backlog_bytes", "is_busy"),
    [
        (800.0, 0.0, 0.0, True),
        (799.0, 0.0, 0.0, False),
        (799.0, 0.5, 0.0, True),
        (799.0, 0.0, 0.5, True),
        (math.nan, math.nan, 0.5, True),
    ],
    ids=["four fifths used", "less", "drops", "a queue", "a queue alone is known"],
)
def test_workloads_below_their_reservation_on_a_busy_uplink_are_named_in_order(
    sent: float, drops: float, backlog_bytes: float, *, is_busy: bool
) -> None:
    # 94 of 100 is more than 5 % below, 96 is not; mail does not want more.
    seen = uplink(
        tx_bits_per_s=np.array([sent, 0.0]),
        capacity_bits_per_s=np.full(2, 1000.0),
        drops=np.array([drops, 0.0]),
        backlog_bytes=np.array([backlog_bytes, 0.0]),
        workloads=("web", "db", "mail", "etl"),
        rate=np.array([[94.0, 94.0, 94.0, 96.0]] * 2),
        reservation=np.full(4, 100.0),
        backlogged=np.array([[1.0, 1.0, 0.0, 1.0]] * 2),
        throttled=np.zeros((2, 4), dtype=np.bool_),
    )

    found, calm = uplink_readings(ENDS, 10.0, seen)

    assert found.nic is not None
    assert calm.nic is not None
    assert found.nic.unmet == (("db", "web") if is_busy else ())
    assert calm.nic.unmet == ()


def test_part_of_an_io_has_a_latency_too() -> None:
    # A window may begin or end within an I/O.
    seen = datastore(
        io_count=np.array([[0.5, 0.0], [0.0, 0.5]]),
        latency_ms=np.array([[3.0, 9.0], [9.0, 4.0]]),
        mean_io_bytes=np.full((2, 2), math.nan),
    )

    assert [one.value for one in datastore_readings(ENDS, 10.0, seen)] == [3.0, 4.0]
    held = replace(seen, throttled=np.ones((2, 2), dtype=np.bool_))
    assert [one.own_limit for one in datastore_readings(ENDS, 10.0, held)] == [True, True]


def test_sums_are_added_from_left_to_right() -> None:
    # Whatever is added to 2**53 one by one is lost; in pairs it would not be.
    rows = np.array([[2.0**53, *([1.0] * 15)], [0.0, *([1.0] * 15)]])

    assert in_order(rows).tolist() == [2.0**53, 15.0]
    assert in_order(np.asfortranarray(rows)).tolist() == [2.0**53, 15.0]
    assert in_order(np.zeros((2, 0))).tolist() == [0.0, 0.0]
