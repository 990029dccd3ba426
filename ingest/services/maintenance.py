"""Upkeep of the sample tables."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import DatabaseError
from django.db.models import QuerySet

from accounts.models import Organisation
from ingest.models import OpenHour, RejectedLine, Series
from ingest.open_hours import HOUR
from ingest.partitions import drop_partitions, ensure_partitions

log = logging.getLogger(__name__)

DAYS_AHEAD = 3
"""Days made ahead; without a scheduler a write makes a missing day itself, but slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """What was done; partitions are counted over all tables."""

    partitions_made: int
    partitions_dropped: int
    series_dropped: int
    rejected_lines_dropped: int


def maintain_samples(*, now: datetime, retention: timedelta) -> Maintenance:
    """Make the coming days, drop what is older than the retention. Safe to run twice.

    A series goes when its last sample has gone, so that cgroups that come and go leave nothing.
    """
    today = now.astimezone(UTC).date()
    made = ensure_partitions(today + timedelta(days=ahead) for ahead in range(DAYS_AHEAD + 1))
    expired = now - retention
    unneeded = _sealed_until(expired)
    dropped = drop_partitions(before=unneeded)
    series = lines = 0
    for organisation in Organisation.objects.order_by("pk"):
        # A day more: chunks and partitions go whole, and a late sample may yet come.
        silent = Series.objects.filter(last_sample_at__lt=unneeded - timedelta(days=1))
        series += _delete(silent.filter(organisation=organisation))
        refused = RejectedLine.objects.filter(received_at__lt=expired)
        lines += _delete(refused.filter(organisation=organisation))
    return Maintenance(
        partitions_made=made,
        partitions_dropped=dropped,
        series_dropped=series,
        rejected_lines_dropped=lines,
    )


def _sealed_until(expired: datetime) -> datetime:
    """How far samples may be dropped: no further than they are in the history.

    The hour before an open one is needed too, for the first windows of it.
    """
    oldest = OpenHour.objects.order_by("at").values_list("at", flat=True).first()
    if oldest is None or oldest - HOUR >= expired:
        return expired
    log.warning("expired samples kept until they are sealed", extra={"open_since": oldest})
    return oldest - HOUR


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
