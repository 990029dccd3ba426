"""How a datastore answers to load: latency and throughput over outstanding I/O."""

from __future__ import annotations

from datetime import datetime, timedelta

from advisor.core.device_fit import LoadPoint
from advisor.models import Resource
from advisor.services.windows import Span
from ingest import queries

SPAN = timedelta(days=1)
"""A day shows most of the depths that a datastore sees."""

SHORTEST_WINDOW_S = 20.0
MOST_POINTS = 4320
"""A day in windows of this length."""


def load_points(resource: Resource, *, until: datetime) -> list[LoadPoint]:
    """Windows of the last day in which some host did I/O: sums over hosts."""
    rates = [
        item
        for attachment in resource.attachments.select_related("host")
        for item in queries.disk_rates(
            host=attachment.host,
            device=attachment.device,
            since=until - SPAN,
            until=until,
            max_points=MOST_POINTS,
        )
        if item.latency_ms is not None
    ]
    points = []
    window_s = max(resource.window_s, SHORTEST_WINDOW_S)
    span = Span(since=until - SPAN, until=until, window_s=window_s)
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
