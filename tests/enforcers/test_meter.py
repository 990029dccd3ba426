"""Rates from counters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.contract import Measurement
from enforcers.mechanism import Counters
from enforcers.meter import Meter, Reading


def reading(at_s: float, total: float, **more: int | None) -> Reading:
    """A reading with no drops, overlimits or backlog unless given."""
    values: dict[str, int | None] = {"drops": 0, "overlimits": 0, "backlog_bytes": 0, **more}
    return Reading(at_s=at_s, counters=Counters(total=total, **values))


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=30))
def test_rate_is_growth_over_time(steps: list[int]) -> None:
    meter = Meter(window_s=1000.0)
    total = 0
    for at_s, step in enumerate(steps):
        total += step
        meter.add("a", reading(float(at_s), float(total)))

    measured = meter.measure("a")

    assert measured is not None
    assert measured.rate == pytest.approx(sum(steps[1:]) / (len(steps) - 1))
    assert measured.sample_count == len(steps)


def test_measurement_has_the_evidence_of_backlog() -> None:
    meter = Meter(window_s=10.0)
    meter.add("a", reading(0.0, 1000.0, drops=5, overlimits=7, backlog_bytes=0))
    meter.add("a", reading(4.0, 5000.0, drops=6, overlimits=9, backlog_bytes=300))
    meter.add("a", reading(8.0, 9000.0, drops=8, overlimits=17, backlog_bytes=100))

    assert meter.measure("a") == Measurement(
        rate=1000.0,
        window_s=8.0,
        sample_count=3,
        backlogged_samples=2,
        backlog_bytes=100,
        drops=3,
        overlimits=10,
    )


def test_what_the_mechanism_cannot_see_stays_unknown() -> None:
    meter = Meter(window_s=10.0)
    for at_s in (0.0, 1.0):
        meter.add("a", reading(at_s, at_s, drops=None, overlimits=None, backlog_bytes=None))

    measured = meter.measure("a")

    assert measured is not None
    assert measured.drops is measured.overlimits is measured.backlog_bytes is None
    assert measured.backlogged_samples is None


@pytest.mark.parametrize("count", [0, 1])
def test_one_reading_is_no_measurement(count: int) -> None:
    meter = Meter(window_s=10.0)
    for at_s in range(count):
        meter.add("a", reading(float(at_s), 1.0))

    assert meter.measure("a") is None


def test_readings_outside_the_window_do_not_count() -> None:
    meter = Meter(window_s=10.0)
    for at_s, total in ((0.0, 0.0), (1.0, 1e6), (6.0, 1e6), (11.0, 1e6 + 500)):
        meter.add("a", reading(at_s, total))

    measured = meter.measure("a")

    # From the second reading on: 500 in 10 s.
    assert measured is not None
    assert (measured.rate, measured.window_s, measured.sample_count) == (50.0, 10.0, 3)


def test_counter_that_fell_starts_anew() -> None:
    meter = Meter(window_s=10.0)
    meter.add("a", reading(0.0, 1e9))
    meter.add("a", reading(1.0, 100.0))

    assert meter.measure("a") is None
    meter.add("a", reading(2.0, 300.0))
    measured = meter.measure("a")
    assert measured is not None
    assert measured.rate == 200.0


def test_forgotten_allocation_starts_anew() -> None:
    meter = Meter(window_s=10.0)
    for name in ("a", "b"):
        for at_s in (0.0, 1.0):
            meter.add(name, reading(at_s, at_s))

    meter.forget("a")
    meter.keep_only({"a"})

    assert meter.measure("a") is None
    assert meter.measure("b") is None


def test_readings_at_one_moment_are_no_measurement() -> None:
    meter = Meter(window_s=10.0)
    meter.add("a", reading(1.0, 1.0))
    meter.add("a", reading(1.0, 2.0))

    assert meter.measure("a") is None
