"""Stale states and samples, in the same words on pages, in commands and in JSON."""

from datetime import datetime, timedelta

from advisor.core.duration import duration_text

STALE_AFTER = timedelta(minutes=2)
"""Resources are evaluated, and hosts send, several times a minute; what is older is stale."""


def evaluation_gap(evaluated_at: datetime | None, *, now: datetime) -> str:
    """For how long a resource was not evaluated, and why; empty if its state is fresh."""
    if evaluated_at is None:
        return "not evaluated yet (is the background worker running?)"
    if not is_stale(evaluated_at, now=now):
        return ""
    return f"not evaluated for {duration_text(now - evaluated_at)} (background worker is behind)"


def sample_gap(last_sample_at: datetime | None, *, now: datetime) -> str:
    """For how long a host or device has sent nothing; empty if its samples are fresh."""
    if last_sample_at is None:
        return "no samples yet"
    if not is_stale(last_sample_at, now=now):
        return ""
    return f"no samples for {duration_text(now - last_sample_at)}"


def is_stale(at: datetime, *, now: datetime) -> bool:
    """Whether data of this time are too old for the present state."""
    return now - at > STALE_AFTER
