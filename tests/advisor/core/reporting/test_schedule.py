"""When reports come: at the hour that the clock of the zone shows, each turn once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.reporting.schedule import Every, newest_time, next_time

BERLIN = ZoneInfo("Europe/Berlin")
MOMENTS = st.integers(0, 2 * 365 * 24 * 60).map(
    lambda minutes: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"])


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).astimezone(UTC)


@pytest.mark.parametrize(
    ("every", "after", "expected"),
    [
        (Every.DAY, "2026-11-20 06:59", "2026-11-20 07:00"),
        (Every.DAY, "2026-11-20 07:00", "2026-11-21 07:00"),
        # 2026-11-20 is a Friday.
        (Every.WEEK, "2026-11-20 08:00", "2026-11-23 07:00"),
        (Every.MONTH, "2026-12-01 07:00", "2027-01-01 07:00"),
        # Summer time ends in between: the clock shows the same hour.
        (Every.DAY, "2026-10-24 08:00", "2026-10-25 07:00"),
    ],
)
def test_next_time_is_by_the_clock_of_the_zone(every: Every, after: str, expected: str) -> None:
    assert next_time(every, 7, BERLIN, after=at(after)) == at(expected)


def test_hour_that_clocks_skip_is_the_one_after_it() -> None:
    found = next_time(Every.DAY, 2, BERLIN, after=at("2026-03-28 12:00"))

    assert found == datetime(2026, 3, 29, 1, tzinfo=UTC)  # 03:00 of summer time


@given(st.sampled_from(Every), st.integers(0, 23), ZONES, MOMENTS)
def test_newest_time_is_the_one_before_the_next(
    every: Every, hour: int, name: str, moment: datetime
) -> None:
    zone = ZoneInfo(name)

    newest = newest_time(every, hour, zone, until=moment)
    following = next_time(every, hour, zone, after=moment)

    assert newest <= moment < following
    assert next_time(every, hour, zone, after=newest) == following
    assert following - newest <= timedelta(days=31, hours=1)
