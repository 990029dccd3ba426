"""Upkeep of the sample tables."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError
from django.db.models import QuerySet

from accounts.models import Organisation
from ingest.facts import drop_old_facts
from ingest.kept_rows import note_dropped
from ingest.models import OpenHour, RejectedLine, Series, UnknownMeasurement
from ingest.open_hours import HOUR
from ingest.partitions import SEALED_TABLES, TABLES, drop_partitions, ensure_parts, parts_of

log = logging.getLogger(__name__)

DAY = timedelta(days=1)
DAYS_AHEAD = 3
"""Days made ahead; without a scheduler a write makes a missing day itself, but slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """What was done; partitions are counted over all tables."""

    partitions_made: int
    partitions_dropped: int
    series_dropped: int
    rejected_lines_dropped: int
    facts_dropped: int


def maintain_samples(*, now: datetime, retention: timedelta, rows: timedelta) -> Maintenance:
    """Make the coming days, drop what is not needed any more. Safe to run twice.

    Sealed samples stay `rows` for so long, others for the retention.

    A series goes when its last sample is too old, so that cgroups that come and go leave nothing.
    """
    # Older ones would be dropped again; late samples bring their own.
    made = ensure_parts(parts_of(now - rows, now + DAYS_AHEAD * DAY))
    expired = now - retention
    dropped = drop_sealed(before=now - rows)
    dropped += drop_partitions(before=expired, tables=set(TABLES) - set(SEALED_TABLES))
    series = lines = 0
    for organisation in Organisation.objects.order_by("pk"):
        # A day more: chunks and partitions go whole, and a late sample may yet come.
        silent = Series.objects.filter(last_sample_at__lt=expired - DAY)
        unsealed = OpenHour.objects.filter(at__lt=expired).values("host")
        series += _delete(silent.filter(organisation=organisation).exclude(host__in=unsealed))
        refused = RejectedLine.objects.filter(received_at__lt=expired)
        lines += _delete(refused.filter(organisation=organisation))
        # So few are kept that old ones would keep out new ones.
        forgotten = UnknownMeasurement.objects.filter(last_sent_at__lt=expired)
        _delete(forgotten.filter(organisation=organisation))
    return Maintenance(
        partitions_made=made,
        partitions_dropped=dropped,
        series_dropped=series,
        rejected_lines_dropped=lines,
        facts_dropped=drop_old_facts(before=expired),
    )


def drop_sealed(*, before: datetime) -> int:
    """Drop the rows of before this whose hours are sealed; the partitions dropped."""
    note_dropped(before)
    oldest = OpenHour.objects.order_by("at").values_list("at", flat=True).first()
    if oldest is not None and oldest < before - HOUR:
        log.warning("old samples kept until they are sealed", extra={"open_since": oldest})
    return drop_partitions(before=before, tables=SEALED_TABLES, only_sealed=True)


def _delete(rows: QuerySet[Any]) -> int:
    """Delete the rows and what belongs to them, and count the rows themselves.

    0 if the database refuses, which the next run tries again; other organisations go on.
    """
    name = rows.model.__name__
    try:
        _, deleted = rows.delete()
    except DatabaseError as error:
        log.warning("old rows not removed", extra={"rows": name, "reason": str(error)})
        return 0
    return deleted.get(f"ingest.{name}", 0)
