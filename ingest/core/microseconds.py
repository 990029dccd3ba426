"""Times as whole microseconds since 1970, which is how the database keeps them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def moment(at_us: int) -> datetime:
    """The time this many microseconds after 1970."""
    return EPOCH + timedelta(microseconds=at_us)


def microseconds(at: datetime) -> int:
    """The microseconds from 1970 to a time."""
    return (at - EPOCH) // MICROSECOND
