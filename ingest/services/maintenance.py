"""What keeps the sample tables in shape."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ingest.models import RejectedLine, Series
from ingest.partitions import drop_partitions, ensure_partitions

DAYS_AHEAD = 3
"""So many days of an absent scheduler do no harm: a write makes a missing day itself, slower."""


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
    dropped = drop_partitions(before=expired)
    # A day more: chunks and partitions go whole, and a late sample may yet come.
    _, series = Series.objects.filter(last_sample_at__lt=expired - timedelta(days=1)).delete()
    _, lines = RejectedLine.objects.filter(received_at__lt=expired).delete()
    return Maintenance(
        partitions_made=made,
        partitions_dropped=dropped,
        series_dropped=series.get("ingest.Series", 0),
        rejected_lines_dropped=lines.get("ingest.RejectedLine", 0),
    )
