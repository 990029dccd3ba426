"""Weekly times, such as `Mon-Fri 22:00 6h`: when changes may be made, or when it is quiet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_FORM = re.compile(rf"({'|'.join(DAYS)})(?:-({'|'.join(DAYS)}))? (\d\d):(\d\d) (\d{{1,5}})(min|h)")
_UNITS_MIN = {"min": 1, "h": 60}
WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeeklyWindow:
    """From a wall-clock time on some days of the week, for so many minutes of elapsed time."""

    days: tuple[int, ...]
    begins: time
    length_min: int

    def times_near(self, now: datetime, zone: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
        """Its times of the week before and the week after, in order."""
        today = now.astimezone(zone).date()
        for offset in range(-8, 9):
            day = today + timedelta(days=offset)
            if day.weekday() in self.days:
                begin = datetime.combine(day, self.begins, tzinfo=zone).astimezone(UTC)
                yield begin, begin + timedelta(minutes=self.length_min)


def parse_window(text: str) -> WeeklyWindow:
    """The window of a text; ValueError with what it should be."""
    match = _FORM.fullmatch(text.strip())
    if match is None or int(match[3]) > 23 or int(match[4]) > 59:
        raise ValueError(f'"{text}" is no window of the week; write it like Sat 22:00 6h')
    first = DAYS.index(match[1])
    last = DAYS.index(match[2] or match[1])
    days = tuple(sorted((first + step) % 7 for step in range((last - first) % 7 + 1)))
    length = int(match[5]) * _UNITS_MIN[match[6]]
    if not 0 < length <= WEEK / timedelta(minutes=1):
        raise ValueError(f'"{text}" lasts {length} min; a window lasts 1 min to a week')
    return WeeklyWindow(days=days, begins=time(int(match[3]), int(match[4])), length_min=length)


def zone_of(name: str) -> ZoneInfo:
    """The zone; ValueError if there is none of this name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f'"{name}" is not a time zone; write it like Europe/Berlin') from error


def closes_at(texts: Sequence[str], zone: str, *, now: datetime) -> datetime | None:
    """When the last of the windows that are open closes; None while none is open."""
    times = _times(texts, zone, now)
    return max((end for begin, end in times if begin <= now < end), default=None)


def opens_at(texts: Sequence[str], zone: str, *, now: datetime) -> datetime | None:
    """When the next of the windows opens; None while one is open."""
    times = _times(texts, zone, now)
    if any(begin <= now < end for begin, end in times):
        return None
    return min(begin for begin, _ in times if begin > now)


def _times(texts: Sequence[str], zone: str, now: datetime) -> list[tuple[datetime, datetime]]:
    where = zone_of(zone)
    return [one for text in texts for one in parse_window(text).times_near(now, where)]
