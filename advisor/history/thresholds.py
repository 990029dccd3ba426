"""The congestion threshold of a resource, by its mode."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from django.db.models import Q

from advisor.core.detection.normal_history import HistoryPoint, Stretch
from advisor.core.detection.threshold import (
    FixedThreshold,
    Threshold,
    baseline_threshold,
    peak_throughput_threshold,
)
from advisor.history.load_points import normalized_load_points
from advisor.models import Incident, Resource, StatePoint, ThresholdMode

HISTORY = timedelta(days=28)
"""The baseline is learnt from four weeks, so that it has every hour of the week four times."""


def threshold_of(resource: Resource, *, until: datetime) -> Threshold:
    """The threshold in force at `until`.

    A learning mode falls back to the fixed value while there is too little history.
    """
    if resource.threshold_mode == ThresholdMode.FIXED:
        return FixedThreshold(value=resource.threshold)
    # Learnt once an hour, because it reads weeks of history.
    hour = until.replace(minute=0, second=0, microsecond=0)
    return _learnt(
        resource.pk,
        resource.threshold_mode,
        resource.threshold,
        resource.baseline_percentile,
        hour,
    )


@lru_cache(maxsize=4096)
def _learnt(
    resource_id: int, mode: str, stated: float, percentile: float, until: datetime
) -> Threshold:
    resource = Resource.objects.get(pk=resource_id)
    if mode == ThresholdMode.BASELINE:
        history = StatePoint.objects.filter(
            resource=resource, at__gt=until - HISTORY, at__lte=until, value__isnull=False
        ).values_list("at", "value")
        points = [HistoryPoint(at=at, value=value) for at, value in history if value is not None]
        return baseline_threshold(
            points,
            congested=_congested(resource, since=until - HISTORY, until=until),
            percentile=percentile,
            fallback=stated,
        )
    return peak_throughput_threshold(
        normalized_load_points(resource, until=until), fallback=stated
    )


def _congested(resource: Resource, *, since: datetime, until: datetime) -> list[Stretch]:
    rows = Incident.objects.filter(
        Q(ended_at=None) | Q(ended_at__gt=since), resource=resource, started_at__lt=until
    )
    return [
        Stretch(began_at=started_at, ended_at=ended_at or until)
        for started_at, ended_at in rows.values_list("started_at", "ended_at")
    ]
