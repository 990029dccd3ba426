"""The days that a report is about: from one local midnight to another, whatever the clocks do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import assert_never
from zoneinfo import ZoneInfo

DAY = timedelta(days=1)
LONGEST = timedelta(days=92)
"""A quarter of a year; exact history is kept for a month by default."""
BETWEEN = ".."


class Recurring(StrEnum):
    """The newest whole day, week or month, or today so far."""

    TODAY = "today"
    LAST_DAY = "last-day"
    LAST_WEEK = "last-week"
    LAST_MONTH = "last-month"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """From the begin of the day `first` to the end of the day `last`, in a zone.

    `since` and `until` are these moments; of a period that is not over `until` is the newest whole
    minute, and `is_over` False.
    """

    first: date
    last: date
    zone: str
    since: datetime
    until: datetime
    is_over: bool

    @property
    def minutes(self) -> float:
        """Elapsed minutes: a day on which clocks change has 1,380 or 1,500."""
        return (self.until - self.since) / timedelta(minutes=1)

    @property
    def changed_min(self) -> float:
        """By so many minutes changes of clocks make its days longer, below 0 shorter."""
        zone = ZoneInfo(self.zone)
        elapsed = begin_of(self.last + DAY, zone) - begin_of(self.first, zone)
        return (elapsed - (self.last + DAY - self.first)) / timedelta(minutes=1)

    @property
    def text(self) -> str:
        """The days and the zone, for people."""
        days = f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"
        return f"{days}, {self.zone}" + ("" if self.is_over else ", so far")


def read_period(text: str, zone: ZoneInfo, *, now: datetime) -> Period:
    """The period of `last-week` or of `2026-11-01..2026-11-30`, whose last day belongs to it.

    Raises ValueError with what can be written.
    """
    if text in list(Recurring):
        return _begun(newest_period(Recurring(text), zone, now=now))
    begin, between, end = text.partition(BETWEEN)
    try:
        first, last = date.fromisoformat(begin), date.fromisoformat(end if between else begin)
    except ValueError as error:
        choices = ", ".join(Recurring)
        raise ValueError(
            f'"{text[:60]}" is no period; write {choices} or FROM..TO like 2026-11-01..2026-11-30'
        ) from error
    if last < first:
        raise ValueError(f"{last} is before {first}; write the first day first")
    if last - first >= LONGEST:
        raise ValueError(f"a report covers at most {LONGEST.days} days")
    return _begun(period_of(first, last, zone, now=now))


def _begun(period: Period) -> Period:
    if period.until <= period.since:
        raise ValueError(f"no minute of {period.first} is over in {period.zone}")
    return period


def newest_period(recurring: Recurring, zone: ZoneInfo, *, now: datetime) -> Period:
    """The newest one that is over in the zone, but for today; weeks begin on Monday."""
    today = now.astimezone(zone).date()
    match recurring:
        case Recurring.TODAY:
            ends, length = today + DAY, DAY
        case Recurring.LAST_DAY:
            ends, length = today, DAY
        case Recurring.LAST_WEEK:
            ends, length = today - today.weekday() * DAY, 7 * DAY
        case Recurring.LAST_MONTH:
            ends = today.replace(day=1)
            length = ends - (ends - DAY).replace(day=1)
        case _:
            assert_never(recurring)
    return period_of(ends - length, ends - DAY, zone, now=now)


def period_of(first: date, last: date, zone: ZoneInfo, *, now: datetime) -> Period:
    """These days, as far as they have come."""
    ends = begin_of(last + DAY, zone)
    return Period(
        first=first,
        last=last,
        zone=zone.key,
        since=begin_of(first, zone),
        until=min(ends, now.astimezone(UTC).replace(second=0, microsecond=0)),
        is_over=ends <= now,
    )


def begin_of(day: date, zone: ZoneInfo) -> datetime:
    """The moment at which the day begins.

    Where clocks jump over midnight it is that of the jump; where midnight comes twice, the first.
    """
    return datetime.combine(day, time(), tzinfo=zone).astimezone(UTC)
