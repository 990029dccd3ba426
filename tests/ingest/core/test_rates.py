"""Rates of collectors become totals, so that windows are made of them as of counters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.figures import DISK, INTERFACE
from ingest.core.grid import NOT_SENT, Readings, totals_of_rates
from tests.ingest.core.readings import START_US, WINDOW_S, derive, every, readings


def totals(found: Readings) -> Readings:
    return totals_of_rates(found, np.array([True]), counters=found.values.shape[1])


def interface(bytes_sent: int, bytes_recv: int) -> tuple[int | None, ...]:
    return (bytes_sent, bytes_recv, *[None] * 6)


def test_a_rate_is_that_of_the_time_before_its_reading() -> None:
    # 1,000 bytes a second in the first ten seconds, 3,000 in the next: thousandths are sent.
    found = totals(
        readings(
            (0, interface(0, 0)),
            (10, interface(1_000_000, 0)),
            (20, interface(3_000_000, 500)),
        )
    )

    figures = derive(INTERFACE, found, window_s=WINDOW_S)

    assert figures.sent_bits_per_s[:, 0].tolist() == [8000.0, 24000.0]
    # Half a byte a second for ten seconds.
    assert figures.received_bits_per_s[:, 0].tolist() == [0.0, 4.0]


def test_readings_between_edges_share_their_rate_over_the_windows() -> None:
    found = totals(
        readings((0, interface(0, 0)), (15, interface(2000, 0)), (30, interface(4000, 0)))
    )

    figures = derive(INTERFACE, found, window_s=WINDOW_S)

    assert figures.sent_bits_per_s[:, 0] / 8 == pytest.approx([2.0, 3.0, 4.0])


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=20))
def test_windows_have_the_rates_that_were_sent(rates: list[int]) -> None:
    rows = [(place * WINDOW_S, interface(rate, 0)) for place, rate in enumerate(rates)]

    figures = derive(INTERFACE, totals(readings(*rows)), window_s=WINDOW_S)

    # A total is a whole number, so a window is right to a byte.
    assert figures.sent_bits_per_s[:, 0] / 8 == pytest.approx(
        [rate / 1000 for rate in rates[1:]], abs=1 / WINDOW_S
    )


def test_series_that_count_stay_as_they_are() -> None:
    counted = readings((0, interface(5, 7)), (10, interface(6, 9)))

    found = totals_of_rates(counted, np.array([False]), counters=8)

    assert found.values.tolist() == counted.values.tolist()


def test_series_beside_it_and_what_was_not_sent_stay_as_they_are() -> None:
    both = Readings(
        series=np.array([0, 0, 1, 1]),
        at_us=START_US + np.array([0, 10, 0, 10]) * 1_000_000,
        values=np.array([[5, NOT_SENT], [9, NOT_SENT], [1000, NOT_SENT], [1000, NOT_SENT]]),
    )

    found = totals_of_rates(both, np.array([False, True]), counters=2)

    assert found.values[:2].tolist() == [[5, NOT_SENT], [9, NOT_SENT]]
    assert np.diff(found.values[2:, 0]).tolist() == [10]
    assert found.values[2:, 1].tolist() == [NOT_SENT, NOT_SENT]


@pytest.mark.parametrize("huge", [10**17, 2**63 - 1])
def test_a_series_of_huge_rates_takes_nothing_from_the_next(huge: int) -> None:
    both = Readings(
        series=np.array([0, 0, 0, 1, 1, 1]),
        at_us=START_US + np.array([0, 900, 1800, 0, 10, 20]) * 1_000_000,
        values=np.array([[huge], [huge], [huge], [100], [100], [100]]),
    )

    found = totals_of_rates(both, np.array([True, True]), counters=1)

    # A tenth a second in ten seconds.
    assert np.diff(found.values[3:, 0]).tolist() == [1, 1]
    assert (np.diff(found.values[:3, 0]) >= 0).all()


def test_a_reading_without_the_rate_leaves_both_intervals_unknown() -> None:
    found = totals(
        readings(
            (0, interface(0, 0)),
            (10, (None, 0, *[None] * 6)),
            (20, interface(1000, 0)),
            (30, interface(1000, 0)),
        )
    )

    figures = derive(INTERFACE, found, window_s=WINDOW_S)

    assert np.isnan(figures.sent_bits_per_s[:, 0]).tolist() == [True, True, False]


def test_device_of_which_only_transfers_are_known_is_busy_as_long_as_they_took() -> None:
    # 100 reads of 20 ms each in 10 s: 0.2 in flight on average.
    figures = every(
        DISK,
        (0, 0, 0, 0, 0, 0, None, None, None),
        (100, 0, 409600, 0, 2000, 0, None, None, None),
    )

    assert figures.latency_ms.item() == 20.0
    assert figures.outstanding_io.item() == pytest.approx(0.2)
    assert figures.utilisation_ratio.item() == pytest.approx(0.2)


def test_counter_that_is_sent_at_one_end_only_leaves_the_interval_unknown() -> None:
    figures = every(
        DISK,
        (0, 0, 0, 0, 0, 0, None, None, None),
        (100, 0, 409600, 0, 2000, 0, 50, 2000, None),
    )

    assert np.isnan(figures.latency_ms.item())
