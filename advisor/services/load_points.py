"""How a datastore answers to load: latency and throughput over outstanding I/O."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from advisor.core.device.device_fit import LoadPoint
from advisor.models import Resource
from advisor.services.external_load import disturbed_times
from advisor.services.windows import Span, mean_rate
from ingest import queries
from ingest.core.rates import DiskRates

SPAN = timedelta(days=1)
"""A day shows most of the depths that a datastore sees."""

SHORTEST_WINDOW_S = 10.0
MOST_POINTS = 8640
"""A day in windows of this length."""


def load_points(resource: Resource, *, until: datetime) -> list[LoadPoint]:
    """Windows of the last day in which some host did I/O: means over time, sums over hosts.

    Windows with load from outside are left out: their latency is not that of our own depth.
    """
    window_s = max(resource.window_s, SHORTEST_WINDOW_S)
    span = Span(since=until - SPAN, until=until, window_s=window_s)
    hosts: dict[datetime, list[LoadPoint]] = defaultdict(list)
    for attachment in resource.attachments.select_related("host"):
        rates = queries.disk_rates(
            host=attachment.host,
            device=attachment.device,
            since=span.read_since,
            until=span.read_until,
            max_points=MOST_POINTS,
        )
        for at, found in span.group(rates).items():
            point = _host_point(found)
            if point is not None:
                hosts[at].append(point)
    disturbed = disturbed_times(resource, since=span.since, until=until)
    return [
        _together(hosts[at])
        for at in sorted(hosts)
        if not any(began_at < at <= ended_at for began_at, ended_at in disturbed)
    ]


def _host_point(rates: list[DiskRates]) -> LoadPoint | None:
    """One host's window; None if it did no I/O."""
    iops = mean_rate(rates, [item.read_iops + item.write_iops for item in rates])
    outstanding = mean_rate(rates, [item.outstanding_io for item in rates])
    if iops == 0 or outstanding == 0:
        return None
    # Little's law over the whole window; a mean of latencies would have to be weighted.
    return LoadPoint(outstanding_io=outstanding, latency_ms=1000 * outstanding / iops, iops=iops)


def _together(points: list[LoadPoint]) -> LoadPoint:
    """All hosts of a window: what is outstanding and done adds up."""
    outstanding = sum(point.outstanding_io for point in points)
    iops = sum(point.iops for point in points)
    return LoadPoint(outstanding_io=outstanding, latency_ms=1000 * outstanding / iops, iops=iops)
