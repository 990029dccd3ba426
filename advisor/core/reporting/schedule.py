"""When a report is sent that comes regularly: at an hour of a zone, whatever the clocks do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from advisor.core.notifying import problems_of_name
from advisor.core.reporting.period import DAY, Recurring
from advisor.core.weekly_window import zone_of

HOURS = range(24)
LONGEST_TAG = 300
LONGEST_WAIT_DAYS = 33
"""Within so many days each comes once."""


class Every(StrEnum):
    """How often; of weeks on Monday, of months on the first."""

    DAY = "daily"
    WEEK = "weekly"
    MONTH = "monthly"

    @property
    def covers(self) -> Recurring:
        """The days that it is about."""
        return {
            Every.DAY: Recurring.LAST_DAY,
            Every.WEEK: Recurring.LAST_WEEK,
            Every.MONTH: Recurring.LAST_MONTH,
        }[self]


def problems_of_subscription(name: str, *, hour: int, zone: str, tag: str) -> list[str]:
    """What is wrong with a report that is to be sent regularly, in words; empty if nothing is."""
    found = problems_of_name(name)
    if hour not in HOURS:
        found.append("an hour is from 0 to 23")
    if len(tag) > LONGEST_TAG or not tag.isprintable():
        found.append(f"a tag has at most {LONGEST_TAG} letters that can be printed")
    try:
        zone_of(zone)
    except ValueError as error:
        found.append(str(error))
    return found


def next_time(every: Every, hour: int, zone: ZoneInfo, *, after: datetime) -> datetime:
    """The first time after this moment."""
    return next(at for at in _times(every, hour, zone, after, DAY) if at > after)


def newest_time(every: Every, hour: int, zone: ZoneInfo, *, until: datetime) -> datetime:
    """The last time up to this moment."""
    return next(at for at in _times(every, hour, zone, until, -DAY) if at <= until)


def _times(
    every: Every, hour: int, zone: ZoneInfo, around: datetime, step: timedelta
) -> Iterator[datetime]:
    """Day by day from that of the moment on; an hour that clocks skip is the one after it."""
    day = around.astimezone(zone).date()
    for number in range(LONGEST_WAIT_DAYS):
        one = day + number * step
        if _has(every, one):
            yield datetime.combine(one, time(hour), tzinfo=zone).astimezone(UTC)


def _has(every: Every, day: date) -> bool:
    return every == Every.DAY or (day.weekday() == 0 if every == Every.WEEK else day.day == 1)
