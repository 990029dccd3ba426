"""Upkeep of one organisation's stored history: seal hours, make days, drop what is too old."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from accounts.models import Organisation
from advisor.history.level_merge import merge_hours
from advisor.history.stored.days import make_days
from advisor.history.stored.retention import drop_expired
from advisor.history.stored.seal import seal


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was done, and how many hours wait for the next run."""

    hours: int
    hours_left: int
    days: int
    partitions_dropped: int
    levels_merged: int


def store_history(*, organisation: Organisation, now: datetime, limit_s: float) -> Stored:
    """Do what is due, in about the given time; the next run goes on. Safe to run twice."""
    sealed = seal(organisation=organisation, now=now, limit_s=limit_s)
    # Days are made of whole hours: while many wait, making them would be done again.
    days = 0 if sealed.left else make_days(organisation=organisation, now=now, limit_s=limit_s)
    return Stored(
        hours=sealed.hours,
        hours_left=sealed.left,
        days=days,
        partitions_dropped=drop_expired(organisation=organisation, now=now),
        levels_merged=merge_hours(organisation=organisation, now=now),
    )
