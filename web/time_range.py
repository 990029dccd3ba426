"""The stretch of time that a page shows, as its address holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

LENGTHS = {
    "15m": timedelta(minutes=15),
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
}
"""The choices on the page."""

DEFAULT = "1h"
SHORTEST = timedelta(seconds=10)
LONGEST = timedelta(days=92)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """From `since` to `until`; a named range moves on with time. `problem` says what is wrong."""

    since: datetime
    until: datetime
    name: str | None
    problem: str | None = None

    @property
    def is_live(self) -> bool:
        return self.name is not None


def read_time_range(
    query: Mapping[str, str], *, now: datetime, default: str = DEFAULT
) -> TimeRange:
    """The range of `?range=1h` or `?from=...&to=...` (ISO 8601, UTC if it names no zone).

    What cannot be read falls back to the default range, and `problem` says so.
    """
    if "from" in query or "to" in query:
        try:
            return _between(query, now)
        except ValueError as error:
            return _last(default, now, problem=f"{error} The default range is shown instead.")
    name = query.get("range", default)
    if name not in LENGTHS:
        problem = f'There is no range "{name[:20]}". The default range is shown instead.'
        return _last(default, now, problem=problem)
    return _last(name, now)


def _last(name: str, now: datetime, *, problem: str | None = None) -> TimeRange:
    return TimeRange(since=now - LENGTHS[name], until=now, name=name, problem=problem)


def _between(query: Mapping[str, str], now: datetime) -> TimeRange:
    until = _moment(query["to"]) if query.get("to") else now
    since = _moment(query["from"]) if query.get("from") else until - LENGTHS[DEFAULT]
    if until - since < SHORTEST:
        raise ValueError("The range in the address ends before it begins or is too short.")
    if until - since > LONGEST:
        raise ValueError(f"The range in the address is longer than {LONGEST.days} days.")
    return TimeRange(since=since, until=until, name=None)


def _moment(text: str) -> datetime:
    try:
        return utc_time(text)
    except ValueError:
        raise ValueError(f'"{text[:40]}" in the address is not a time.') from None


def utc_time(text: str) -> datetime:
    """A time in ISO 8601, in UTC if it names no zone; ValueError if it is none."""
    try:
        at = datetime.fromisoformat(text.replace(" ", "+"))
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text} is beyond all calendars") from error
