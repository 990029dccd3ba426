"""The congestion thresholds of resources, as of their windows."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from advisor.core.detection import threshold as core
from advisor.models import LearntThreshold, Resource, ThresholdMode


def thresholds_of(
    resources: Collection[Resource], *, since: datetime, until: datetime
) -> dict[int, core.Threshold]:
    """The threshold of each by its key, for windows that end in (since, until].

    Upkeep learns values hour by hour (`advisor.pipeline.learn_thresholds`). A resource that
    learns has its fixed value while nothing is learnt.
    """
    learning = [one for one in resources if one.threshold_mode != ThresholdMode.FIXED]
    learnt: dict[int, list[core.LearntReading]] = {one.pk: [] for one in learning}
    for row in _rows(learning, since=since, until=until):
        reading = core.LearntReading(since=row.since, value=row.value, reason=row.reason)
        learnt[row.resource_id].append(reading)
    return {
        one.pk: core.LearntThreshold(readings=tuple(learnt[one.pk]), fallback=one.threshold)
        if one.pk in learnt
        else core.FixedThreshold(value=one.threshold)
        for one in resources
    }


def _rows(
    learning: Collection[Resource], *, since: datetime, until: datetime
) -> list[LearntThreshold]:
    """What was learnt in the modes that the resources have, in order of time."""
    if not learning:
        return []
    modes = {one.pk: one.threshold_mode for one in learning}
    rows = LearntThreshold.objects.filter(
        resource__in=learning, since__gt=since - core.LEARNT_HOLDS, since__lte=until
    ).order_by("since")
    return [row for row in rows if row.mode == modes[row.resource_id]]
