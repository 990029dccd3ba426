"""The congestion threshold of a resource, by its mode."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np
from django.db.models import Q

from advisor.core.detection.normal_history import HistoryPoint, Stretch
from advisor.core.detection.threshold import (
    FixedThreshold,
    Threshold,
    baseline_threshold,
    peak_throughput_threshold,
)
from advisor.history.levels import read_levels
from advisor.history.load_points import device_day
from advisor.models import Incident, Resource, ThresholdMode
from ingest.core.microseconds import moment

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
        levels = read_levels([resource], since=until - HISTORY, until=until)[resource_id]
        known = ~np.isnan(levels.value)
        points = [
            HistoryPoint(at=moment(at_us), value=value)
            for at_us, value in zip(
                levels.at_us[known].tolist(), levels.value[known].tolist(), strict=True
            )
        ]
        return baseline_threshold(
            points,
            congested=_congested(resource, since=until - HISTORY, until=until),
            percentile=percentile,
            fallback=stated,
        )
    normalized = [window.normalized_point for window in device_day(resource, until=until)]
    return peak_throughput_threshold(normalized, fallback=stated)


def _congested(resource: Resource, *, since: datetime, until: datetime) -> list[Stretch]:
    rows = Incident.objects.filter(
        Q(ended_at=None) | Q(ended_at__gt=since), resource=resource, started_at__lt=until
    )
    return [
        Stretch(began_at=started_at, ended_at=ended_at or until)
        for started_at, ended_at in rows.values_list("started_at", "ended_at")
    ]
