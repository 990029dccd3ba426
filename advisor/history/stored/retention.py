"""How long each level of the history is kept, by organisation; partitions go whole."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, connection, transaction

from accounts.models import Organisation
from advisor.errors import InventoryError
from advisor.history.stored.partitions import (
    Level,
    drop_before,
    drop_organisation,
    organisations_with_partitions,
)
from advisor.models import DroppedHistory, HistoryRetention, StaleDay
from ingest.retention import retention

log = logging.getLogger(__name__)

LONGEST_DAYS = 36_525
"""A hundred years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Days for which each level is kept."""

    exact_days: int
    quarter_days: int
    day_days: int

    def days_of(self, level: Level) -> int:
        match level:
            case Level.EXACT:
                return self.exact_days
            case Level.QUARTER:
                return self.quarter_days
            case Level.DAY:
                return self.day_days


def kept_by(organisation: Organisation) -> Kept:
    """What the organisation states, else the settings."""
    own = HistoryRetention.objects.filter(organisation=organisation).first()
    if own is None:
        return Kept(
            exact_days=settings.HISTORY_EXACT_DAYS,
            quarter_days=settings.HISTORY_QUARTER_DAYS,
            day_days=settings.HISTORY_DAY_DAYS,
        )
    return Kept(exact_days=own.exact_days, quarter_days=own.quarter_days, day_days=own.day_days)


def keep_for(organisation: Organisation, kept: Kept) -> None:
    """State how long the organisation keeps each level. Raises InventoryError."""
    if not all(1 <= kept.days_of(level) <= LONGEST_DAYS for level in Level):
        raise InventoryError(f"each level is kept for 1 to {LONGEST_DAYS} days")
    HistoryRetention.objects.update_or_create(organisation=organisation, defaults=asdict(kept))


def exact_since(organisations: Collection[int], *, now: datetime) -> dict[int, datetime]:
    """By organisation from when on every sample that it was sent is kept, as rows or sealed."""
    own = HistoryRetention.objects.filter(organisation__in=organisations)
    days = dict.fromkeys(organisations, settings.HISTORY_EXACT_DAYS) | dict(
        own.values_list("organisation", "exact_days")
    )
    found = {one: now - min(timedelta(days=kept), retention()) for one, kept in days.items()}
    dropped = DroppedHistory.objects.filter(organisation__in=organisations)
    for one, before in dropped.values_list("organisation", "before"):
        found[one] = max(found[one], datetime(before.year, before.month, before.day, tzinfo=UTC))
    return found


def drop_expired(*, organisation: Organisation, now: datetime) -> int:
    """Drop the organisation's partitions that hold nothing within retention; the number dropped.

    Exact hours stay until the rows of their day are made. What the database refuses, because
    somebody reads or writes it, is left for the next run.
    """
    kept, dropped = kept_by(organisation), 0
    for level in Level:
        first = now.astimezone(UTC).date() - timedelta(days=kept.days_of(level))
        if level is Level.EXACT:
            first = min(first, _oldest_stale_day(organisation) or first)
        try:
            dropped += _drop(organisation, level, first)
        except DatabaseError as error:
            log.warning(
                "expired history not dropped", extra={"level": level, "reason": str(error)}
            )
    return dropped


@transaction.atomic
def _drop(organisation: Organisation, level: Level, first: date) -> int:
    dropped = drop_before(organisation.pk, level, first)
    if dropped and level is Level.EXACT:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO advisor_droppedhistory AS known (organisation_id, before)"
                " VALUES (%s, %s) ON CONFLICT (organisation_id) DO UPDATE"
                " SET before = GREATEST(known.before, excluded.before)",
                [organisation.pk, first],
            )
    return dropped


def drop_of_deleted_organisations() -> int:
    """Drop what organisations left that are gone; the number of them."""
    gone = organisations_with_partitions() - set(Organisation.objects.values_list("pk", flat=True))
    for organisation in sorted(gone):
        drop_organisation(organisation)
    return len(gone)


def _oldest_stale_day(organisation: Organisation) -> date | None:
    days = StaleDay.objects.filter(organisation=organisation)
    return days.order_by("day").values_list("day", flat=True).first()
