"""What of a history is normal: outside congestion, and since the newest lasting level."""

import math
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.normal_history import HistoryPoint, Stretch, normal_history

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)

points = st.lists(
    st.builds(
        HistoryPoint,
        at=st.integers(0, 14 * 24).map(lambda h: MONDAY + h * HOUR),
        value=st.floats(0, 1e18),
    ),
    max_size=60,
)
stretches = st.lists(
    st.tuples(st.integers(0, 14 * 24), st.integers(-5, 48)).map(
        lambda t: Stretch(began_at=MONDAY + t[0] * HOUR, ended_at=MONDAY + sum(t) * HOUR)
    ),
    max_size=8,
)


@given(points, stretches)
def test_only_what_was_congested_or_before_the_change_is_left_out(history, congested):
    normal = normal_history(history, congested)

    def inside(at):
        return any(one.began_at < at <= one.ended_at for one in congested)

    since = normal.change.at if normal.change else datetime.min.replace(tzinfo=UTC)
    recent = [one for one in history if one.at > since]
    left = list(normal.points)
    assert all(left.count(one) >= 1 for one in recent if not inside(one.at))
    assert len(recent) - len(left) == normal.congested_windows
    assert all(one.at > since for one in left)
    assert [one.at for one in left] == sorted(one.at for one in left)


def hourly(value, *, days=10):
    """Four windows an hour."""
    times = [MONDAY + HOUR / 4 * index for index in range(days * 96)]
    return [HistoryPoint(at=at, value=value(at)) for at in times]


STRETCH = Stretch(
    began_at=MONDAY + timedelta(days=4, hours=9), ended_at=MONDAY + timedelta(days=4, hours=12)
)


@pytest.mark.parametrize(
    ("level", "left_out"), [(40.0, 12), (6.0, 0), (5.0, 0)], ids=["storm", "noise", "usual"]
)
def test_a_congested_stretch_counts_where_it_is_not_far_above_the_calm(level, left_out):
    def value(at):
        return level if STRETCH.began_at < at <= STRETCH.ended_at else 5.0

    normal = normal_history(hourly(value), [STRETCH])

    # At least a tenth of spread: three of them are a factor of e^0.3 = 1.35, up to 6.75.
    assert normal.congested_windows == left_out


def test_a_calm_night_does_not_make_a_busy_day_a_storm():
    def value(at):
        return 20.0 if 8 <= at.hour < 18 else 2.0

    assert normal_history(hourly(value), [STRETCH]).congested_windows == 0


def test_an_hour_that_was_always_congested_is_left_out():
    # Every day from 9 to 12.
    days = [
        Stretch(began_at=MONDAY + timedelta(days=d, hours=9) - HOUR / 4,
                ended_at=MONDAY + timedelta(days=d, hours=12))
        for d in range(10)
    ]  # fmt: skip

    normal = normal_history(hourly(lambda at: 5.0), days)

    # The window at 12:00 belongs to an hour that has calm windows of the same value.
    assert normal.congested_windows == 10 * 12


@pytest.mark.parametrize(("congested_days", "left_out"), [(7, 0), (8, 32), (10, 40)])
def test_hour_needs_twelve_calm_windows_to_tell_noise(congested_days, left_out):
    # The hour from 9 to 10 has 4 windows on each of 10 days: 12, 8 or none of them are calm.
    stretches = [
        Stretch(began_at=nine - HOUR / 8, ended_at=nine + HOUR * 7 / 8)
        for nine in (MONDAY + timedelta(days=day, hours=9) for day in range(congested_days))
    ]

    normal = normal_history(hourly(lambda at: 0.5), stretches)

    assert normal.congested_windows == left_out


def test_noise_that_crosses_the_threshold_does_not_make_it_sink():
    random = Random(7)
    noise, level = [], 0.0
    for _ in range(10 * 96):
        level = 0.9 * level + random.gauss(0, 0.2 * (1 - 0.81) ** 0.5)
        noise.append(5 * math.exp(level))
    history = [
        HistoryPoint(at=MONDAY + HOUR / 4 * index, value=value)
        for index, value in enumerate(noise)
    ]
    high = sorted(noise)[int(0.95 * len(noise))]
    stretches = [
        Stretch(began_at=point.at - HOUR / 4, ended_at=point.at)
        for point in history
        if point.value > high
    ]

    normal = normal_history(history, stretches)

    # 48 windows, 5 %, are above: nearly all of them are noise of lognormal spread 0.2.
    assert len(stretches) >= 40
    assert normal.congested_windows <= 5


@given(
    st.integers(5, 28),
    st.integers(0, 6),
    st.floats(0.2, 1),
    st.floats(0.3, 1),
    st.integers(0, 1000),
)
def test_weekends_nights_and_noise_are_no_change(days, first, weekend, night, seed):
    random = Random(seed)

    def value(at):
        level = 10 * (weekend if (at.weekday() + first) % 7 >= 5 else 1.0)
        return level * (night if at.hour < 6 else 1.0) * random.lognormvariate(0, 0.2)

    times = [MONDAY + HOUR / 4 * index for index in range(days * 96)]

    normal = normal_history([HistoryPoint(at=at, value=value(at)) for at in times])

    assert normal.change is None
    assert normal.left_out == ""


@pytest.mark.parametrize("gap_days", [0, 3], ids=["whole", "gap"])
def test_change_is_found_beside_days_without_samples(gap_days):
    times = [MONDAY + HOUR / 4 * index for index in range(28 * 96)]
    gap = MONDAY + timedelta(days=10)
    history = [
        HistoryPoint(at=at, value=5.0 if at < MONDAY + timedelta(days=16) else 15.0)
        for at in times
        if not gap <= at < gap + timedelta(days=gap_days)
    ]

    normal = normal_history(history)

    assert normal.change is not None
    assert (normal.change.before, normal.change.after) == (5.0, 15.0)
    # The day in which it changed is left out with what was before.
    assert MONDAY + timedelta(days=16) <= normal.change.at < MONDAY + timedelta(days=17, hours=1)


def test_nothing_is_normal_of_nothing():
    assert normal_history([]).points == ()


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_an_impossible_value_is_refused(value):
    with pytest.raises(ValueError, match=r"^value is "):
        HistoryPoint(at=MONDAY, value=value)


def test_a_stretch_without_a_zone_is_refused():
    with pytest.raises(ValueError, match=r"^began_at is "):
        Stretch(began_at=datetime(2026, 3, 2), ended_at=MONDAY)  # noqa: DTZ001  # What is refused.


def test_level_before_a_change_is_that_of_the_last_days_before_it():
    def level(at):
        day = (at - MONDAY).days
        return 2.0 if day < 12 else 5.0 if day < 18 else 15.0

    normal = normal_history(hourly(level, days=30), [])

    # Twelve days at 2 and six at 5 have a median of 2; the last three have 5.
    assert normal.change is not None
    assert (normal.change.before, normal.change.after) == (5.0, 15.0)
