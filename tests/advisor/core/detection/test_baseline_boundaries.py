"""The baseline of an hour, at the exact number of windows, days and weeks that it needs."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from advisor.core.detection.normal_history import HistoryPoint
from advisor.core.detection.threshold import (
    BaselineThreshold,
    FixedThreshold,
    NoThreshold,
    Threshold,
    baseline_threshold,
    peak_throughput_threshold,
)
from advisor.core.device.device_fit import LoadPoint

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def history(days: int, *, per_hour: int) -> list[HistoryPoint]:
    """The value is the number of the hour of the week, from 1 to 168."""
    return [
        HistoryPoint(at=MONDAY + HOUR / per_hour * index, value=1.0 + index // per_hour % 168)
        for index in range(days * 24 * per_hour)
    ]


def per_day(*counts: int, value: float = 5.0) -> list[HistoryPoint]:
    """So many windows on each day, five minutes apart."""
    return [
        HistoryPoint(at=MONDAY + day * DAY + timedelta(minutes=5 * number), value=value)
        for day, count in enumerate(counts)
        for number in range(count)
    ]


def reason_of(threshold: Threshold) -> str:
    return threshold.at(MONDAY).reason


def test_95th_percentile_needs_a_hundred_windows() -> None:
    # Five beyond it: 5 / 0.05.
    assert isinstance(baseline_threshold(per_day(33, 33, 34)), BaselineThreshold)
    too_few = baseline_threshold(per_day(33, 33, 33))

    assert reason_of(too_few) == ("a baseline needs more normal history: 99 of 100 needed windows")


def test_hour_of_the_week_needs_three_weeks() -> None:
    # 34 windows an hour are 102 in three weeks.
    three, two = (baseline_threshold(history(days, per_hour=34)) for days in (21, 14))

    assert three.at(MONDAY + 5 * HOUR).value == 6.0
    assert reason_of(three) == "p95 of the same hour of the week"
    assert reason_of(two) == "p95 of the same hour of the day (2 of 3 needed weeks)"


@pytest.mark.parametrize(
    ("weekday", "hour", "value"),
    [(0, 0, 1.0), (0, 23, 24.0), (3, 0, 73.0), (6, 23, 168.0)],
    ids=["Monday 0", "Monday 23", "Thursday 0", "Sunday 23"],
)
def test_each_hour_of_the_week_has_its_own_value_in_utc(
    weekday: int, hour: int, value: float
) -> None:
    threshold = baseline_threshold(history(21, per_hour=34))
    at = MONDAY + 70 * DAY + weekday * DAY + hour * HOUR

    assert threshold.at(at).value == value
    assert threshold.at(at.astimezone(timezone(5 * HOUR))).value == value


def test_each_hour_of_the_day_has_its_own_value() -> None:
    points = [
        HistoryPoint(at=MONDAY + HOUR / 50 * index, value=1.0 + index // 50 % 24)
        for index in range(4 * 24 * 50)
    ]

    threshold = baseline_threshold(points)

    for hour in (0, 1, 23):
        reading = threshold.at(MONDAY + 30 * DAY + hour * HOUR)
        assert (reading.value, reading.reason) == (
            1.0 + hour,
            "p95 of the same hour of the day (1 of 3 needed weeks)",
        )


def test_percentile_is_taken_of_the_windows_themselves() -> None:
    # 0 to 100 ms on each of four days: the 95th percentile is 95.
    points = [
        HistoryPoint(at=MONDAY + day * DAY + timedelta(minutes=5 * number), value=float(number))
        for day in range(4)
        for number in range(101)
    ]

    threshold = baseline_threshold(points)

    assert isinstance(threshold, BaselineThreshold)
    assert threshold.overall == pytest.approx(95.0)
    assert threshold.percentile == 95.0
    assert baseline_threshold(points, percentile=50.0).at(MONDAY + 20 * HOUR).value == (
        pytest.approx(50.0)
    )


@pytest.mark.parametrize("percentile", [0.001, 99.9])
def test_percentile_lies_between_0_and_100(percentile: float) -> None:
    assert isinstance(baseline_threshold([], percentile=percentile), NoThreshold)


def test_hour_whose_usual_value_is_0_uses_the_hour_of_the_day_or_all() -> None:
    points = [
        HistoryPoint(at=one.at, value=0.0 if one.at.hour == 3 else 5.0)
        for one in history(21, per_hour=34)
    ]

    reading = baseline_threshold(points).at(MONDAY + 3 * HOUR)

    assert (reading.value, reading.reason) == (
        5.0,
        "p95 of the whole history (its usual value is 0)",
    )


def test_threshold_of_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^at is "):
        baseline_threshold(history(21, per_hour=34)).at(datetime(2026, 3, 2))  # noqa: DTZ001


def line(*, intercept_ms: float = 3.0, slope_ms: float = 0.5) -> list[LoadPoint]:
    """A device with latency = intercept + slope · depth."""
    return [
        LoadPoint(
            outstanding_io=depth,
            latency_ms=intercept_ms + slope_ms * depth,
            iops=1000 * depth / (intercept_ms + slope_ms * depth),
        )
        for depth in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    ]


def test_threshold_near_the_peak_tells_its_part_and_fit() -> None:
    reading = peak_throughput_threshold(line(), part=0.75).at(MONDAY)

    # An intercept of 3 ms, and a quarter of the peak is left.
    assert reading.value == pytest.approx(12.0)
    assert reading.reason == "latency at 75% of peak throughput, fitted on 6 windows (R² 1.00)"


def test_fixed_and_absent_thresholds_tell_their_reason() -> None:
    assert reason_of(FixedThreshold(value=30.0)) == "fixed"
    assert reason_of(NoThreshold(reason="nothing is known")) == "nothing is known"
