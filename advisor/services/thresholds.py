"""The congestion threshold that a resource's mode asks for."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from advisor.core.device_fit import LoadPoint
from advisor.core.threshold import (
    FixedThreshold,
    HistoryPoint,
    Threshold,
    baseline_threshold,
    peak_throughput_threshold,
)
from advisor.models import Resource, StatePoint, ThresholdMode
from advisor.services.windows import Span
from ingest import queries

HISTORY = timedelta(days=28)
"""What is usual is learnt from four weeks, so that each hour of the week came four times."""

FIT_HISTORY = timedelta(days=1)
FIT_POINTS = 5000


def threshold_of(resource: Resource, *, until: datetime) -> Threshold:
    """The threshold in force at `until`.

    A mode that learns falls back to the stated value while there is too little to learn from.
    """
    if resource.threshold_mode == ThresholdMode.FIXED:
        return FixedThreshold(value=resource.threshold)
    # What was learnt holds for the rest of the hour: learning reads weeks of history.
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
        points = [HistoryPoint(at=at, value=value) for at, value in history]
        return baseline_threshold(points, percentile=percentile, fallback=stated)
    return peak_throughput_threshold(_load_points(resource, until), fallback=stated)


def _load_points(resource: Resource, until: datetime) -> list[LoadPoint]:
    """Windows in which some host did I/O: the sum over hosts, weighted by I/O count."""
    rates = [
        item
        for attachment in resource.attachments.select_related("host")
        for item in queries.disk_rates(
            host=attachment.host,
            device=attachment.device,
            since=until - FIT_HISTORY,
            until=until,
            max_points=FIT_POINTS,
        )
        if item.latency_ms is not None
    ]
    points = []
    span = Span(since=until - FIT_HISTORY, until=until, window_s=resource.window_s)
    for found in span.group(rates).values():
        iops = [item.read_iops + item.write_iops for item in found]
        outstanding = sum(item.outstanding_io for item in found)
        latency = sum(
            (item.latency_ms or 0.0) * count for item, count in zip(found, iops, strict=True)
        ) / sum(iops)
        if outstanding > 0 and latency > 0:
            points.append(
                LoadPoint(outstanding_io=outstanding, latency_ms=latency, iops=sum(iops))
            )
    return points
