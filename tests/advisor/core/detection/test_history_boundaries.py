"""What of a history is normal, at the exact value of each rule."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from advisor.core.detection.change_point import cusum, newest_level_change
from advisor.core.detection.normal_history import (
    HistoryPoint,
    NormalHistory,
    Stretch,
    normal_history,
)

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
Value = Callable[[datetime], float]


def points(value: Value, *, days: int, a_day: int = 96) -> list[HistoryPoint]:
    """So many evenly spaced windows a day, the last at the end of the last day."""
    step = DAY / a_day
    times = [MONDAY + step * (index + 1) for index in range(days * a_day)]
    return [HistoryPoint(at=at, value=value(at)) for at in times]


def storm_on(*days: int) -> list[Stretch]:
    """From 9 to 12 on these days: 12 windows of a quarter of an hour on each."""
    return [
        Stretch(began_at=MONDAY + day * DAY + 9 * HOUR, ended_at=MONDAY + day * DAY + 12 * HOUR)
        for day in days
    ]


def is_inside(at: datetime, stretches: list[Stretch]) -> bool:
    return any(one.began_at < at <= one.ended_at for one in stretches)


@pytest.mark.parametrize(("level", "left_out"), [(6.7, 0), (6.8, 12)])
def test_steady_hour_allows_three_tenths_of_the_logarithm(level: float, left_out: int) -> None:
    # 5 · e^0.3 = 6.749.
    storm = storm_on(4)

    normal = normal_history(
        points(lambda at: level if is_inside(at, storm) else 5.0, days=10), storm
    )

    assert normal.congested_windows == left_out


@pytest.mark.parametrize(("level", "left_out"), [(13.4, 0), (13.6, 24)])
def test_varying_hour_allows_three_of_its_own_spreads(level: float, left_out: int) -> None:
    # 4 on even days and 6.25 on odd ones: the logarithms lie 0.2231 around that of 5. Three
    # spreads are 3 · 1.4826 · 0.2231 = 0.9925, and 5 · e^0.9925 = 13.49.
    storm = storm_on(4, 5)

    def value(at: datetime) -> float:
        calm = 4.0 if (at - MONDAY).days % 2 == 0 else 6.25
        return level if is_inside(at, storm) else calm

    assert normal_history(points(value, days=10), storm).congested_windows == left_out


def test_windows_without_a_value_above_0_do_not_tell_what_is_noise() -> None:
    # In the hour from 9 to 10, 37 windows are calm, but all values are 0 on all but two days.
    storm = storm_on(4)

    def value(at: datetime) -> float:
        return 5.0 if at.hour != 9 or (at - MONDAY).days < 2 or is_inside(at, storm) else 0.0

    # 8 calm windows above 0 are too few: the three of that hour are left out.
    assert normal_history(points(value, days=10), storm).congested_windows == 3


def test_hour_of_zeros_is_normal_where_it_was_congested() -> None:
    storm = storm_on(4)

    normal = normal_history(points(lambda _: 0.0, days=10), storm)

    assert normal.congested_windows == 12


def test_largest_values_have_a_bound_too() -> None:
    storm = storm_on(4)

    def value(at: datetime) -> float:
        return 1e307 if at.minute % 30 else 8e307

    assert normal_history(points(value, days=10), storm).change is None


def test_hour_of_the_day_is_that_of_utc() -> None:
    east = timezone(5 * HOUR)
    # Busy from 8 to 18 UTC.
    history = [
        HistoryPoint(at=one.at.astimezone(east), value=one.value)
        for one in points(lambda at: 20.0 if 8 <= at.hour < 18 else 2.0, days=10)
    ]
    utc = points(lambda at: 20.0 if 8 <= at.hour < 18 else 2.0, days=3)

    # Days of the one zone and of the other: the hours do not mix.
    normal = normal_history([*history, *utc], storm_on(4))

    assert normal.congested_windows == 0


def test_windows_that_end_as_congestion_begins_are_calm_and_those_that_end_with_it_are_not() -> (
    None
):
    storm = storm_on(4)
    history = points(lambda at: 40.0 if is_inside(at, storm) else 5.0, days=10)

    kept = {one.at for one in normal_history(history, storm).points}

    assert storm[0].began_at in kept
    assert storm[0].ended_at not in kept
    assert storm[0].ended_at + HOUR / 4 in kept


def test_congestion_within_longer_congestion_does_not_end_it() -> None:
    begin = MONDAY + 4 * DAY
    storm = [
        Stretch(began_at=begin + 9 * HOUR, ended_at=begin + 12 * HOUR),
        Stretch(began_at=begin + 9.5 * HOUR, ended_at=begin + 10 * HOUR),
    ]
    history = points(lambda at: 40.0 if is_inside(at, storm) else 5.0, days=10)

    assert normal_history(history, storm).congested_windows == 12


def test_what_is_left_out_is_told_with_its_numbers() -> None:
    changed = MONDAY + 20 * DAY
    storm = storm_on(24)
    history = points(
        lambda at: 400.0 if is_inside(at, storm) else 5.0 if at <= changed else 15.0, days=28
    )

    normal = normal_history(history, storm)

    assert normal.left_out == (
        "without 12 congested windows, since 2026-03-23 00:00, when its level went from 5 to 15"
    )


def step(days: int, *, newest: float, a_day: int = 96, weekend: float = 1.0) -> NormalHistory:
    """A history with 5 until so many of the newest days, with 15."""
    changed = MONDAY + (days - newest) * DAY

    def value(at: datetime) -> float:
        # A window that ends at midnight belongs to the day before.
        is_weekend = (at - HOUR / 60).weekday() >= 5
        return (5.0 if at <= changed else 15.0) * (weekend if is_weekend else 1.0)

    return normal_history(points(value, days=days, a_day=a_day))


@pytest.mark.parametrize(
    ("days", "newest", "is_change"),
    [(21, 3, True), (21, 2, False), (20, 5, True), (20, 4, False), (28, 3, True), (7, 4, False)],
)
def test_level_lasts_three_days_where_three_weeks_are_known_and_five_before(
    days: int, newest: int, is_change: bool
) -> None:
    assert (step(days, newest=newest).change is not None) is is_change


@pytest.mark.parametrize(("a_day", "is_change"), [(12, True), (11, False)])
def test_day_has_a_level_from_twelve_windows_on(a_day: int, is_change: bool) -> None:
    assert (step(28, newest=6, a_day=a_day).change is not None) is is_change


def test_history_begins_after_the_time_of_the_change() -> None:
    normal = step(28, newest=6)

    assert normal.change is not None
    # The level of 15 began with the day after the 22nd; of that day nothing counts.
    assert normal.change.at == MONDAY + 23 * DAY
    assert normal.points[0].at == normal.change.at + DAY / 96
    assert len(normal.points) == 5 * 96


def test_change_is_found_beside_weekends_and_its_levels_are_measured_ones() -> None:
    # Weekends have a third of the load; the change comes on a Friday.
    normal = step(28, newest=10, weekend=1 / 3)

    assert normal.change is not None
    assert normal.change.at == MONDAY + 19 * DAY
    assert (normal.change.before, normal.change.after) == (5.0, 15.0)


def test_weekday_is_known_from_three_weeks_on() -> None:
    # A quiet Monday to Wednesday, each week; the newest days are among them.
    def value(at: datetime) -> float:
        return 2.0 if (at - HOUR / 60).weekday() < 3 else 10.0

    # Seven days and three: the last three are quiet, as ever.
    assert normal_history(points(value, days=24)).change is None


def test_week_without_load_does_not_tell_the_weekdays_apart() -> None:
    # Nothing for a week, then 5 for three.
    normal = normal_history(points(lambda at: 5.0 if at > MONDAY + 7 * DAY else 0.0, days=28))

    assert normal.change is not None
    assert (normal.change.before, normal.change.after) == (0.0, 5.0)


@pytest.mark.parametrize(
    ("height", "is_change"),
    # From 10 on, a tenth is the least that counts as noise.
    [(9.1, False), (8.0, True), (12.0, True), (10.9, False)],
)
def test_steady_level_allows_a_tenth_of_itself(height: float, is_change: bool) -> None:
    found = newest_level_change([10.0] * 12 + [height] * 12, lasting=3)

    assert (found == 12) is is_change


@pytest.mark.parametrize(
    ("shift", "is_change"),
    # Steps of 2 from value to value are noise of 1.4826 · 2 / √2 = 2.097.
    [(2.0, False), (2.5, True)],
)
def test_noisy_level_allows_its_steps(shift: float, is_change: bool) -> None:
    noise = [8.0, 10.0, 12.0, 10.0] * 6
    levels = [*noise, *(one + shift for one in noise)]

    assert (newest_level_change(levels, lasting=3) is not None) is is_change


@pytest.mark.parametrize(("after", "found"), [(3, 12), (2, None)])
def test_level_needs_as_many_values_as_asked(after: int, found: int | None) -> None:
    assert newest_level_change([5.0] * 12 + [9.0] * after, lasting=3) == found


@pytest.mark.parametrize(("before", "found"), [(3, 3), (2, None)])
def test_level_before_needs_as_many_values_too(before: int, found: int | None) -> None:
    assert newest_level_change([5.0] * before + [50.0] * 6, lasting=3) == found


def test_level_that_lasted_long_enough_counts_though_another_was_before_it() -> None:
    # Three values of 9 between many of 5.
    assert newest_level_change([5.0] * 9 + [9.0] * 3 + [5.0] * 3, lasting=3) == 12
    assert newest_level_change([5.0] * 9 + [9.0] * 2 + [5.0] * 3, lasting=3) is None


def test_slow_drift_is_no_level_and_hides_none_before_it() -> None:
    # 10.9 lies within a tenth of its level from 10, however long it lasts.
    assert newest_level_change([30.0] * 10 + [10.9] * 20 + [10.0] * 3, lasting=3) == 10
    assert newest_level_change([10.9] * 20 + [10.0] * 3, lasting=3) is None


def test_lasting_of_one_value_is_allowed_and_of_none_is_refused() -> None:
    assert newest_level_change([5.0, 5.0, 5.0, 50.0], lasting=1) == 3
    with pytest.raises(ValueError, match="lasting is 0; it must be at least 1"):
        newest_level_change([], lasting=0)


def test_cusum_takes_half_a_spread_as_drift_and_alarms_above_five() -> None:
    # Deviations of 1.5 spreads count 1 each: the sum is 5 after five of them.
    sums = cusum([13.0] * 6, mean=10.0, spread=2.0)

    assert sums.sums == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert (sums.began_index, sums.alarm_index) == (0, 5)


def test_sum_that_fell_to_nothing_begins_anew() -> None:
    sums = cusum([13.0, 0.0, 13.0, None, 30.0], mean=10.0, spread=2.0)

    # 1, then below 0, then 1 again, the same without a value, then 1 + 9.5.
    assert sums.sums == (1.0, 0.0, 1.0, 1.0, 10.5)
    assert (sums.began_index, sums.alarm_index) == (2, 4)


def test_first_alarm_is_kept() -> None:
    sums = cusum([30.0, 0.0, 0.0, 30.0], mean=10.0, spread=2.0)

    assert (sums.began_index, sums.alarm_index) == (0, 0)


def test_deviation_counts_as_a_thousand_million_spreads_at_most() -> None:
    assert cusum([1e12, -1e12, 1.0], mean=0.0, spread=1.0).sums == (1e9 - 0.5, 0.0, 0.5)


@pytest.mark.parametrize(
    ("name", "bad"),
    [("mean", float("nan")), ("spread", 0.0), ("slack", -1.0), ("alarm", 0.0)],
)
def test_impossible_setting_of_a_sum_is_refused(name: str, bad: float) -> None:
    settings = {"mean": 0.0, "spread": 1.0, "slack": 0.0, "alarm": 1.0}
    cusum([], **settings)

    with pytest.raises(ValueError, match=f"^{name} is "):
        cusum([], **settings | {name: bad})
