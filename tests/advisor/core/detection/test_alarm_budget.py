"""A baseline keeps its budget of false alarms, and finds what is above it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.alarm_budget import (
    GRAVE,
    MARGIN,
    AlarmBudget,
    alarm_levels,
    factor_for,
)
from advisor.core.detection.congestion import ALARMS, FRESH, DetectorSettings, detect
from advisor.core.detection.normal_history import HistoryPoint, Stretch
from advisor.core.detection.reading import Reading
from advisor.core.detection.threshold import BaselineThreshold, FixedThreshold, baseline_threshold
from advisor.core.waterfill import Floats

START = datetime(2026, 3, 2, tzinfo=UTC)
STEP_S = 300.0
A_DAY = 288
ONE_A_WEEK = AlarmBudget(alarms_per_week=1.0)
SETTINGS = DetectorSettings(activity_floor=0.0, longest_gap_s=1000.0)


def readings(values: Floats, first: int = 0) -> list[Reading]:
    return [
        Reading(
            at=START + timedelta(seconds=STEP_S * (first + place + 1)),
            window_s=STEP_S,
            value=value,
            load=100.0,
        )
        for place, value in enumerate(values.tolist())
    ]


def history(values: Floats) -> list[HistoryPoint]:
    return [
        HistoryPoint(at=one.at, value=value)
        for one, value in zip(readings(values), values.tolist(), strict=True)
    ]


@given(st.lists(st.floats(0.1, 20), min_size=1, max_size=12), st.floats(0.5, 8))
def test_level_of_a_window_is_the_largest_threshold_at_which_the_detector_raises(
    values: list[float], threshold: float
) -> None:
    levels = alarm_levels(np.array(values))
    # The detector keeps severities to two digits.
    if any(abs(level / threshold - 1) < 0.02 for level in levels):
        return

    found = detect(
        readings(np.array(values)), settings=SETTINGS, threshold=FixedThreshold(value=threshold)
    )

    first = next((n for n, one in enumerate(found.points) if one.state in ALARMS), None)
    assert first == next((n for n, level in enumerate(levels) if level > threshold), None)


def test_factor_leaves_as_many_days_above_as_the_budget_allows() -> None:
    # 27 days with peaks 1.01, 1.02 ...: three of 28 days a month, the new one among them, may be
    # above, which are 3 / 28 < 1 / 7: the k-th of 28 * 6 / 7 = 24.
    ratios = np.repeat(1 + np.arange(1, 28) / 100, A_DAY)
    seconds = STEP_S * np.arange(len(ratios))

    found = factor_for(ratios, seconds, budget=ONE_A_WEEK)

    assert found.value == pytest.approx(MARGIN * 1.24)
    assert found.reason == "allows 1 false alarm a week; based on 27 days"


def test_with_few_days_it_is_above_the_highest_and_says_how_many_are_needed() -> None:
    ratios = np.repeat([1.3, 1.1, 1.2], A_DAY)

    found = factor_for(ratios, STEP_S * np.arange(len(ratios)), budget=ONE_A_WEEK)

    assert found.value == pytest.approx(MARGIN * 1.3)
    assert found.reason == (
        "allows 1 false alarm a week; based on 3 days (6 needed to guarantee it)"
    )


def test_factor_is_never_above_what_is_grave_and_says_that_the_budget_may_break() -> None:
    # All days reach 2.5 times the usual value: with the margin that would be 3.125.
    ratios = np.full(14 * A_DAY, 2.5)

    found = factor_for(ratios, STEP_S * np.arange(len(ratios)), budget=ONE_A_WEEK)

    assert found.value == GRAVE
    assert found.reason == (
        "allows 1 false alarm a week; based on 14 days; held at 3 times, so that grave "
        "contention raises an alarm: more false ones are possible"
    )


def peaks(days: int) -> Floats:
    """Windows of days whose peaks are 1.01, 1.02 ..."""
    return np.repeat(1 + np.arange(1, days + 1) / 100, A_DAY)


def test_part_of_a_budget_that_no_days_can_guarantee_is_estimated_above_the_highest() -> None:
    ratios = peaks(28)
    share = AlarmBudget(alarms_per_week=5.0, shared_by=200)

    found = factor_for(ratios, STEP_S * np.arange(len(ratios)), budget=share)

    # The upper 7 of 28 peaks are 1.22 to 1.28, above 1.21, which 8 of 29 days are. One is to be
    # so much rarer, and (1 + t) ** -7 is that where t is:
    rarer = 8 / 29 / (5 / 200 / 7)
    excess = sum(np.log(peak / 1.21) for peak in np.arange(1.22, 1.285, 0.01))
    assert found.value == pytest.approx(MARGIN * 1.21 * np.exp(excess * (rarer ** (1 / 7) - 1)))
    assert found.value > MARGIN * 1.28
    assert found.reason == (
        "allows 5 false alarms a week over 200 resources; based on 28 days (279 needed to "
        "guarantee it, so it is estimated)"
    )


@pytest.mark.parametrize(
    ("shared_by", "days"), [(1, 6), (7, 48), (15, 104), (20, 139), (200, 1399)]
)
def test_days_that_guarantee_a_part_are_counted_exactly(shared_by: int, days: int) -> None:
    # One of 7 * shared_by days, the new one among them, may be above all others.
    assert AlarmBudget(alarms_per_week=1.0, shared_by=shared_by).days_needed == days


def test_estimate_is_exceeded_as_often_as_the_budget_allows_where_peaks_fall_off_so() -> None:
    rng = np.random.default_rng(4)
    share = AlarmBudget(alarms_per_week=7 / 100)
    seconds = 3600.0 * np.arange(28 * 24)

    exceeded = 0
    for _ in range(2000):
        days = np.exp(rng.exponential(0.05, 28))
        windows = np.outer(days, np.arange(24) < 6).ravel()
        found = factor_for(windows, seconds, budget=share, most=np.inf)
        # As far as the margin, the new day is above what was estimated
        exceeded += int(np.exp(rng.exponential(0.05)) > found.value / MARGIN)

    # One day in a hundred of 2,000: 20, within three standard deviations of 4.4
    assert 7 <= exceeded <= 33


@given(st.lists(st.floats(0, 4), min_size=1, max_size=40), st.integers(1, 300))
def test_more_resources_that_share_a_budget_never_lower_the_threshold(
    days: list[float], shared_by: int
) -> None:
    ratios = np.repeat(days, 24)
    seconds = 3600.0 * np.arange(len(ratios))

    few, many = (
        factor_for(ratios, seconds, budget=AlarmBudget(alarms_per_week=1.0, shared_by=count)).value
        for count in (shared_by, shared_by + 1)
    )

    assert few <= many <= GRAVE


def test_what_never_exceeds_its_usual_value_is_judged_by_the_margin() -> None:
    found = factor_for(
        np.full(A_DAY, 0.5), STEP_S * np.arange(A_DAY), budget=AlarmBudget(alarms_per_week=0.5)
    )

    assert found.value == MARGIN
    assert found.reason == (
        "allows 0.5 false alarms a week; based on 1 day (13 needed to guarantee it)"
    )


def steady(seed: int, days: int) -> Floats:
    """A heavy user whose latency varies around 20 ms, with noise that lasts for half an hour."""
    rng = np.random.default_rng(seed)
    drift = np.zeros(days * A_DAY)
    for place in range(1, len(drift)):
        drift[place] = 0.85 * drift[place - 1] + rng.normal(0, 0.08)
    return 20.0 * np.exp(drift)


def alarms(values: Floats, *, learnt_days: int, budget: AlarmBudget | None) -> int:
    """Alarms after the first days, the baseline learnt anew each day, without what was alarmed."""
    state, count, begun = FRESH, 0, None
    points = history(values)
    congested: list[Stretch] = []
    for begin in range(learnt_days * A_DAY, len(values), A_DAY):
        threshold = baseline_threshold(
            points[max(begin - 28 * A_DAY, 0) : begin],
            congested=congested,
            budget=budget,
        )
        found = detect(
            readings(values[begin : begin + A_DAY], begin),
            settings=SETTINGS,
            threshold=threshold,
            initial=state,
        )
        state = found.state
        for point in found.points:
            if point.state in ALARMS and begun is None:
                count, begun = count + 1, point.since
            elif point.state not in ALARMS and begun is not None:
                congested.append(Stretch(began_at=begun, ended_at=point.at))
                begun = None
    return count


def test_steady_heavy_user_raises_no_alarm_in_thirty_days() -> None:
    values = steady(1, days=58)

    assert alarms(values, learnt_days=28, budget=None) >= 15
    assert alarms(values, learnt_days=28, budget=ONE_A_WEEK) == 0


def test_steady_user_that_doubles_raises_one() -> None:
    values = steady(2, days=32)
    values[-A_DAY // 2 :] *= 2.5

    assert alarms(values, learnt_days=28, budget=ONE_A_WEEK) == 1


def test_grave_contention_of_every_day_raises_an_alarm_each_day() -> None:
    rng = np.random.default_rng(3)
    values = steady(3, days=56)
    for day in range(56):
        begin = day * A_DAY + int(rng.integers(A_DAY - 12))
        # An hour above three times the usual value, which is 26 ms at most by p95.
        values[begin : begin + 12] = rng.uniform(100, 120, 12)

    assert alarms(values, learnt_days=7, budget=ONE_A_WEEK) >= 49


def test_uplink_is_congested_where_it_is_full_however_much_it_varies() -> None:
    # Half an hour of each day at ten times the usual 8 %: below 90 % that is no contention.
    day = np.full(A_DAY, 0.08)
    day[100:106] = 0.8
    points = history(np.tile(day, 14))

    bursts, often_full = (
        baseline_threshold(some, budget=ONE_A_WEEK, full_at=0.9).at(START + timedelta(days=14))
        for some in (points, history(np.full(14 * A_DAY, 0.95)))
    )

    assert bursts.value == 0.9
    assert bursts.reason.startswith("0.9, where it is full; else 12.50 times p95 of")
    assert often_full.value == 0.95


def test_budget_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^alarms_per_week is "):
        AlarmBudget(alarms_per_week=0.0)


def test_baseline_says_how_far_above_the_usual_value_it_is() -> None:
    threshold = baseline_threshold(history(np.full(7 * A_DAY, 4.0)), budget=ONE_A_WEEK)

    found = threshold.at(START + timedelta(days=7))

    assert found.value == pytest.approx(4.0 * MARGIN)
    assert found.reason.startswith("1.25 times p95 of the")
    assert found.reason.partition(", ")[2].startswith(
        "allows 1 false alarm a week; based on 7 days"
    )


def test_days_that_raised_an_alarm_count_for_the_budget() -> None:
    # Each day one hour of 8 ms beside 4: all 14 days have a peak of twice the usual value.
    day = np.full(A_DAY, 4.0)
    day[:12] = 8.0
    points = history(np.tile(day, 14))
    congested = [
        Stretch(began_at=points[n * A_DAY].at, ended_at=points[n * A_DAY + 11].at)
        for n in range(14)
    ]

    found = baseline_threshold(points, congested=congested, budget=ONE_A_WEEK)

    assert isinstance(found, BaselineThreshold)
    assert found.overall == 4.0
    assert found.budget is not None
    assert found.budget.value == pytest.approx(2.0 * MARGIN)
