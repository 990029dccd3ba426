"""Periods begin and end at local midnight, and leave no minute out, whatever the clocks do."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.reporting.period import (
    LONGEST,
    Recurring,
    begin_of,
    newest_period,
    period_of,
    read_period,
)

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe",
    "Africa/Cairo", "Asia/Beirut", "America/Havana", "Pacific/Kiritimati",
)  # fmt: skip
"""Cairo and Beirut jump over midnight, in Havana it comes twice, Lord Howe changes by 30 min."""
NOW = datetime(2026, 11, 25, 12, 0, 30, tzinfo=UTC)

zones = st.sampled_from(ZONES).map(ZoneInfo)
days = st.dates(min_value=date(2024, 1, 1), max_value=date(2030, 12, 31))
moments = st.integers(0, 7 * 365 * 1440).map(
    lambda minutes: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
)


@given(days, zones)
def test_day_begins_where_the_one_before_ends(day: date, zone: ZoneInfo) -> None:
    later = datetime(2032, 1, 1, tzinfo=UTC)
    before = period_of(day - timedelta(days=1), day - timedelta(days=1), zone, now=later)
    own = period_of(day, day, zone, now=later)

    assert before.until == own.since
    assert own.minutes in {1380, 1410, 1440, 1470, 1500}


@given(days, zones)
def test_moment_of_a_day_is_that_day_in_the_zone(day: date, zone: ZoneInfo) -> None:
    begin = begin_of(day, zone)

    assert begin.astimezone(zone).date() == day
    assert (begin - timedelta(minutes=1)).astimezone(zone).date() < day


@given(st.sampled_from([one for one in Recurring if one != Recurring.TODAY]), zones, moments)
def test_newest_period_is_over_and_no_later_one_is(
    recurring: Recurring, zone: ZoneInfo, now: datetime
) -> None:
    found = newest_period(recurring, zone, now=now)

    assert found.is_over
    assert found.since < found.until <= now
    assert now - found.until <= timedelta(
        days={Recurring.LAST_DAY: 1, Recurring.LAST_WEEK: 7, Recurring.LAST_MONTH: 31}[recurring],
        hours=1,
    )


@given(zones, moments)
def test_today_goes_from_its_begin_to_the_newest_minute(zone: ZoneInfo, now: datetime) -> None:
    found = newest_period(Recurring.TODAY, zone, now=now)

    assert found.first == found.last == now.astimezone(zone).date()
    assert found.since <= now
    assert not found.is_over
    assert timedelta(0) <= now - found.until < timedelta(minutes=1)


def test_today_is_refused_before_its_first_minute_is_over() -> None:
    midnight = datetime(2026, 11, 28, 0, 0, 30, tzinfo=UTC)

    with pytest.raises(ValueError, match="no minute of 2026-11-28 is over in UTC"):
        read_period("today", ZoneInfo("UTC"), now=midnight)


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        # clocks go forward on 29 March and back on 25 October 2026
        ("2026-03-29", 23), ("2026-10-25", 25), ("2026-10-26", 24),
        ("2026-03-23..2026-03-29", 167), ("2026-10-01..2026-10-31", 745),
    ],
)  # fmt: skip
def test_period_over_a_change_of_clocks_has_its_real_length(text: str, hours: int) -> None:
    assert read_period(text, BERLIN, now=NOW).minutes == hours * 60


def test_last_week_is_from_monday_to_sunday_in_the_zone() -> None:
    found = read_period("last-week", BERLIN, now=NOW)

    assert (found.first, found.last) == (date(2026, 11, 16), date(2026, 11, 22))
    assert found.since == datetime(2026, 11, 15, 23, tzinfo=UTC)
    assert found.text == "2026-11-16 to 2026-11-22, Europe/Berlin"


def test_last_month_is_the_calendar_month_before() -> None:
    found = read_period("last-month", ZoneInfo("UTC"), now=NOW)

    assert (found.first, found.last) == (date(2026, 10, 1), date(2026, 10, 31))


def test_period_that_goes_on_ends_with_the_newest_whole_minute() -> None:
    found = read_period("2026-11-25", ZoneInfo("UTC"), now=NOW)

    assert (found.until, found.is_over) == (datetime(2026, 11, 25, 12, 0, tzinfo=UTC), False)
    assert found.text == "2026-11-25, UTC, so far"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("yesterday", "last-day, last-week, last-month or FROM..TO"),
        ("2026-11-31", "is no period"),
        ("2026-11-10..2026-11-01", "before 2026-11-10"),
        ("2026-01-01..2026-11-01", f"at most {LONGEST.days} days"),
        ("2026-12-01", "no minute of 2026-12-01 is over in Europe/Berlin"),
        ("", "is no period"),
    ],
)
def test_other_texts_are_refused_with_what_can_be_written(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_period(text, BERLIN, now=NOW)
