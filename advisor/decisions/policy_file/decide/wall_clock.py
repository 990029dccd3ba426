"""Wall-clock times of a zone as a policy file has them."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo


def time_of(text: str, zone: str) -> datetime:
    """The time, in the zone; without an offset it is wall-clock time there."""
    at, where = datetime.fromisoformat(text), ZoneInfo(zone)
    return at.astimezone(where) if at.tzinfo else at.replace(tzinfo=where)


def start_text(at: datetime, zone: str) -> str:
    """Wall-clock time of the zone; with an offset where the clock shows that time twice."""
    local = at.astimezone(ZoneInfo(zone)).replace(fold=0)
    whole = local.replace(tzinfo=None)
    seconds = "minutes" if whole.second == whole.microsecond == 0 else "auto"
    if local.astimezone(UTC) == at.astimezone(UTC):
        return whole.isoformat(timespec=seconds)
    return at.astimezone(ZoneInfo(zone)).isoformat(timespec=seconds)
