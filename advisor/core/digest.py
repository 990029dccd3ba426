"""When a channel that gathers its messages sends them: each full hour, or once a day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum

from advisor.core.weekly_window import zone_of

HOUR = timedelta(hours=1)
MORNING = 7


class Rhythm(StrEnum):
    """How often it sends."""

    HOUR = "hour"
    DAY = "day"


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """All that came since the last time is one message; `hour` is that of a day, in the zone."""

    rhythm: Rhythm
    hour: int = MORNING
    zone: str = "UTC"

    def first_at(self, after: datetime) -> datetime:
        """The first time to send that is not before this one."""
        zone = zone_of(self.zone)
        local = after.astimezone(zone)
        if self.rhythm is Rhythm.HOUR:
            past = local - local.replace(minute=0, second=0, microsecond=0)
            return after + (HOUR - past if past else past)
        days = (local.date() + timedelta(days=number) for number in range(3))
        times = (datetime.combine(day, time(self.hour), tzinfo=zone) for day in days)
        return next(at for at in (one.astimezone(UTC) for one in times) if at >= after)


def digest_words(digest: Digest | None) -> str:
    """When a channel sends, in words."""
    if digest is None:
        return "at once"
    if digest.rhythm is Rhythm.HOUR:
        return "each hour"
    return f"each day at {digest.hour:02}:00 ({digest.zone})"


def problems_of_digest(digest: Digest) -> list[str]:
    """What is wrong with it, in words; empty if nothing is."""
    found = []
    if not 0 <= digest.hour <= 23:
        found.append(f"a digest is sent at an hour from 0 to 23, not at {digest.hour}")
    try:
        zone_of(digest.zone)
    except ValueError as error:
        found.append(str(error))
    return found
