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
def test_what_is_left_is_outside_every_stretch_and_nothing_else_is_missing(history, congested):
    normal = normal_history(history, congested)

    def inside(at):
        return any(one.began_at < at <= one.ended_at for one in congested)

    since = normal.change.at if normal.change else datetime.min.replace(tzinfo=UTC)
    wanted = [one for one in history if one.at > since and not inside(one.at)]
    assert sorted(wanted, key=lambda one: (one.at, one.value)) == sorted(
        normal.points, key=lambda one: (one.at, one.value)
    )
    assert list(normal.points) == sorted(normal.points, key=lambda one: one.at)


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
