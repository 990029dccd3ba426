"""Thresholds: usual for the hour, near peak throughput, and when neither is known."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.normal_history import HistoryPoint, Stretch
from advisor.core.detection.threshold import (
    BaselineThreshold,
    FixedThreshold,
    NoThreshold,
    baseline_threshold,
    peak_throughput_threshold,
)
from advisor.core.device.device_fit import DeviceFit, FitRefused, LoadPoint, fit_device

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


def history(days, *, per_hour=60, value=lambda at: 5.0):
    """Evenly spaced points from Monday on."""
    step = timedelta(hours=1) / per_hour
    times = [MONDAY + index * step for index in range(days * 24 * per_hour)]
    return [HistoryPoint(at=at, value=value(at)) for at in times]


def line(depths, *, intercept_ms=3.0, slope_ms=0.5, bend=lambda latency: latency):
    """Windows of a device that obeys latency = intercept + slope · depth, and Little's law."""
    points = []
    for depth in depths:
        latency = bend(intercept_ms + slope_ms * depth)
        points.append(
            LoadPoint(outstanding_io=depth, latency_ms=latency, iops=1000 * depth / latency)
        )
    return points


def test_the_baseline_of_an_hour_of_the_week_comes_from_that_hour():
    # Mondays at 9 are three times as slow as everything else.
    def slow_mondays(at):
        return 15.0 if (at.weekday(), at.hour) == (0, 9) else 5.0

    threshold = baseline_threshold(history(28, value=slow_mondays), percentile=95)

    assert threshold.at(MONDAY + timedelta(days=70, hours=9)).value == 15.0
    assert threshold.at(MONDAY + timedelta(days=71, hours=9)).value == 5.0
    assert threshold.at(MONDAY).reason == "p95 of the same hour of the week"


def test_a_baseline_of_a_few_days_uses_the_hour_of_the_day():
    def slow_nights(at):
        return 20.0 if at.hour == 2 else 5.0

    threshold = baseline_threshold(history(4, value=slow_nights), percentile=95)

    reading = threshold.at(MONDAY + timedelta(days=30, hours=2))
    # The hour from 2 to 3 on a Wednesday came once in four days.
    assert (reading.value, reading.reason) == (
        20.0,
        "p95 of the same hour of the day (1 of 3 needed weeks)",
    )


def test_a_sparse_baseline_uses_the_whole_history():
    # 24 hours · 2 a hour · 3 days are 144 points, only 6 of each hour of the day.
    threshold = baseline_threshold(history(3, per_hour=2), percentile=95)

    assert threshold.at(MONDAY).reason == ("p95 of the whole history (6 of 100 needed windows)")


@pytest.mark.parametrize("days", [0, 1, 2])
def test_a_baseline_of_too_few_days_is_refused_with_what_is_missing(days):
    threshold = baseline_threshold(history(days))

    assert isinstance(threshold, NoThreshold)
    assert threshold.at(MONDAY).value is None
    assert f"{days} of 3 needed days" in threshold.at(MONDAY).reason


@pytest.mark.parametrize(
    ("windows_of_days", "missing"),
    [((5, 5, 20), ""), ((4, 6, 20), "2 of 3 needed days have enough windows")],
    ids=["half", "less"],
)
def test_day_counts_from_half_of_its_windows_on(windows_of_days, missing):
    # Five samples beyond p83 need 5 / 0.17 = 29.4, so 30 windows: 10 a day, of which half is 5.
    points = [
        HistoryPoint(at=MONDAY + timedelta(days=day, hours=window), value=5.0)
        for day, windows in enumerate(windows_of_days)
        for window in range(windows)
    ]

    threshold = baseline_threshold(points, percentile=83)

    assert isinstance(threshold, NoThreshold) is bool(missing)
    assert missing in threshold.at(MONDAY).reason


def test_a_fallback_stands_in_for_a_refused_baseline_and_says_so():
    threshold = baseline_threshold(history(1), fallback=30.0)

    reading = threshold.at(MONDAY)
    assert reading.value == 30.0
    assert reading.reason == (
        "fixed, because a baseline needs more normal history: 1 of 3 needed days"
    )


def test_a_baseline_of_only_zeros_is_no_threshold():
    assert isinstance(baseline_threshold(history(4, value=lambda at: 0.0)), NoThreshold)


def test_congestion_is_not_normal():
    # Each Monday from 9 to 10 the device is congested at 40 ms.
    def storms(at):
        return 40.0 if (at.weekday(), at.hour) == (0, 9) else 5.0

    stretches = [
        Stretch(began_at=began_at, ended_at=began_at + timedelta(hours=1))
        for began_at in (MONDAY + timedelta(days=7 * week, hours=9) for week in range(4))
    ]

    threshold = baseline_threshold(history(28, value=storms), congested=stretches)

    reading = threshold.at(MONDAY + timedelta(days=70, hours=9))
    assert reading.value == 5.0
    # A window is named by its end: that of 9:00 lies before the stretch. 59 on four Mondays
    assert "without 236 congested windows" in reading.reason


def test_too_much_congestion_leaves_no_baseline_and_says_so():
    everything = Stretch(began_at=MONDAY + timedelta(days=2), ended_at=MONDAY + timedelta(days=28))

    def storm(at):
        return 40.0 if at > MONDAY + timedelta(days=2) else 5.0

    points = history(28, value=storm)
    threshold = baseline_threshold(points, congested=[everything], fallback=30.0)

    reading = threshold.at(MONDAY)
    assert reading.value == 30.0
    # Two days and the window that ends with them are left: 26 days of 1440 windows less that one.
    assert reading.reason == (
        "fixed, because a baseline needs more normal history: 2 of 3 needed days have "
        "enough windows without 37439 congested windows"
    )


def test_history_before_the_newest_level_is_not_normal():
    change = MONDAY + timedelta(days=18)

    def replaced(at):
        return 20.0 if at < change else 5.0

    threshold = baseline_threshold(history(28, per_hour=12, value=replaced))

    reading = threshold.at(change + timedelta(days=30))
    assert reading.value == 5.0
    assert "since 2026-03-2" in reading.reason
    assert "when its level went from 20 to 5" in reading.reason


def test_new_level_of_two_days_is_not_yet_the_normal_one():
    change = MONDAY + timedelta(days=26)

    def rising(at):
        return 5.0 if at < change else 9.0

    threshold = baseline_threshold(history(28, per_hour=12, value=rising))

    assert "level" not in threshold.at(MONDAY).reason


def test_level_that_changed_four_days_ago_has_a_baseline_of_the_whole_days_since():
    change = MONDAY + timedelta(days=24)

    def rising(at):
        return 5.0 if at < change else 9.0

    threshold = baseline_threshold(history(28, per_hour=60, value=rising))

    reading = threshold.at(MONDAY + timedelta(days=28, hours=3))
    assert reading.value == 9.0
    assert reading.reason.startswith("p95 of the same hour of the day (")


@pytest.mark.parametrize("days", [9, 14, 28])
def test_weekends_and_nights_are_no_change_of_level(days):
    def quiet(at):
        weekend = 0.3 if at.weekday() >= 5 else 1.0
        night = 0.5 if at.hour < 6 else 1.0
        return 10.0 * weekend * night

    threshold = baseline_threshold(history(days, per_hour=12, value=quiet))

    assert isinstance(threshold, BaselineThreshold)
    assert threshold.left_out == ""


@given(st.randoms(use_true_random=False))
def test_a_baseline_does_not_depend_on_the_order_of_its_history(random):
    points = history(4, per_hour=10, value=lambda at: 5.0 + at.hour)
    stretches = [
        Stretch(began_at=MONDAY + timedelta(hours=h), ended_at=MONDAY + timedelta(hours=h + 2))
        for h in (3, 4, 30)
    ]
    shuffled, mixed = list(points), list(stretches)
    random.shuffle(shuffled)
    random.shuffle(mixed)

    assert baseline_threshold(shuffled, congested=mixed) == baseline_threshold(
        points, congested=stretches
    )


@given(st.lists(st.floats(0.1, 100), min_size=300, max_size=400), st.floats(1, 99))
def test_a_baseline_lies_within_its_history(values, percentile):
    points = [
        HistoryPoint(at=MONDAY + timedelta(minutes=20 * index), value=value)
        for index, value in enumerate(values)
    ]

    threshold = baseline_threshold(points, percentile=percentile)

    if isinstance(threshold, BaselineThreshold):
        slack = 1e-9 * max(values)
        assert min(values) - slack <= threshold.at(MONDAY).value <= max(values) + slack


@pytest.mark.parametrize("percentile", [0, 100, -1, math.nan])
def test_an_impossible_percentile_is_refused(percentile):
    with pytest.raises(ValueError, match=r"^percentile is "):
        baseline_threshold([], percentile=percentile)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_an_impossible_fixed_threshold_is_refused(value):
    with pytest.raises(ValueError, match=r"^threshold is "):
        FixedThreshold(value=value)


def test_the_threshold_at_a_part_of_peak_agrees_with_the_reference(threshold_vector):
    fit = DeviceFit(
        intercept_ms=threshold_vector["a_ms"],
        slope_ms=0.25,
        r_squared=1.0,
        peak_iops=4000.0,
        point_count=9,
    )

    latency_ms = fit.latency_at_part_of_peak_ms(threshold_vector["pct"])

    assert latency_ms == pytest.approx(threshold_vector["threshold_ms"])


@given(st.floats(0.1, 20), st.floats(0.01, 5))
def test_a_fit_finds_the_line_it_was_drawn_from(intercept_ms, slope_ms):
    # The span must be wide enough for the slope to show beside the intercept.
    depths = [intercept_ms / slope_ms * part for part in (0.2, 0.5, 1, 2, 5)]

    fit = fit_device(line(depths, intercept_ms=intercept_ms, slope_ms=slope_ms))

    assert isinstance(fit, DeviceFit)
    assert fit.intercept_ms == pytest.approx(intercept_ms)
    assert fit.peak_iops == pytest.approx(1000 / slope_ms)


def test_peak_throughput_mode_takes_the_latency_at_ninety_percent_of_the_peak():
    threshold = peak_throughput_threshold(line([1, 2, 4, 8, 16, 32]))

    # Intercept 3 ms: 3 / (1 - 0.9) = 30 ms, the classic default.
    assert threshold.at(MONDAY).value == pytest.approx(30.0)


@pytest.mark.parametrize(("odd", "is_fitted"), [(1, False), (3, True)])
def test_an_odd_window_is_no_third_depth(odd, is_fitted):
    # Two depths, which any line would go through, and few windows at one between them.
    points = line([1] * 600 + [4] * odd + [64] * 200)

    assert isinstance(fit_device(points), DeviceFit) is is_fitted


def test_a_few_odd_windows_do_not_bend_the_fit():
    points = line([1, 2, 4, 8, 16, 32]) * 5 + line([8, 16], bend=lambda latency: 10 * latency)

    fit = fit_device(points)

    assert isinstance(fit, DeviceFit)
    assert fit.slope_ms == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ([], "no windows with outstanding I/O"),
        (line([8, 9, 10, 11]), "depths from"),
        (line([1, 32]), "2 depths"),
        (line([1, 4, 16, 64], slope_ms=0.5, bend=lambda latency: 40 - latency), "does not rise"),
        (line([1, 2, 4, 8, 16, 32], bend=lambda latency: latency % 1.3 + 1), "% of the latency"),
        (
            [LoadPoint(outstanding_io=q, latency_ms=5, iops=10) for q in (1, 4, 16)],
            "3 of 3 windows break N = X·R",
        ),
    ],
    ids=["nothing", "narrow", "two depths", "falling", "scattered", "Little's law"],
)
def test_a_poor_fit_is_refused_with_its_reason(points, reason):
    fit = fit_device(points)

    assert isinstance(fit, FitRefused)
    assert reason in fit.reason


def test_a_refused_fit_uses_the_fallback_and_says_so():
    threshold = peak_throughput_threshold([], fallback=30.0)

    assert threshold.at(MONDAY).value == 30.0
    assert "no windows with outstanding I/O" in threshold.at(MONDAY).reason
