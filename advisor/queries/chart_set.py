"""All charts of one resource over one stretch of time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime

from django.db.models import Q

from advisor.history.adapters import cgroup_device_numbers, device_subject, rate_subjects
from advisor.history.rates import devices_of, rates_of
from advisor.models import Resource
from advisor.queries.allocation_rates import allocations_in_order, workload_tracks
from advisor.queries.charts import (
    Chart,
    ChartSet,
    ChartSpan,
    Incidents,
    ResourceFigures,
    charts_on,
)
from advisor.queries.datastore_charts import datastore_charts
from advisor.queries.uplink_charts import uplink_charts
from ingest.core.catalogue import DISKIO, NET, Measurement
from ingest.core.grid import Grid
from ingest.grid_reader import read_measured

Draw = Callable[[ResourceFigures, datetime], tuple[Chart, ...]]
_CHARTS_OF: dict[Measurement, Draw] = {DISKIO: datastore_charts, NET: uplink_charts}


def chart_set(
    resource: Resource,
    *,
    since: datetime,
    until: datetime,
    points: int,
    step_s: int | None = None,
    now: datetime,
) -> ChartSet:
    """The charts over (since, until] with at most `points` cells.

    A given `step_s` continues an earlier set, so that its cells fit.
    """
    span = ChartSpan(since=since, until=until, points=points)
    grid = span.grid(step_s, finest_s=resource.window_s)
    draw = _CHARTS_OF[resource.traits.reader.measurement]
    charts = draw(_figures(resource, grid), now)
    return charts_on(grid, charts, incidents_in(resource, since=since, until=until))


def _figures(resource: Resource, grid: Grid) -> ResourceFigures:
    attachments = list(resource.attachments.select_related("host"))
    allocations = allocations_in_order(resource)
    numbers = cgroup_device_numbers(allocations, attachments)
    wanted = defaultdict(list, rate_subjects(allocations, numbers))
    wanted[resource.traits.reader.figures] += [device_subject(one) for one in attachments]
    measured = read_measured(wanted, grid)
    return ResourceFigures(
        resource=resource,
        grid=grid,
        attachments=attachments,
        devices=devices_of(resource, attachments, measured),
        tracks=workload_tracks(allocations, rates_of(allocations, numbers, measured).rate),
    )


def incidents_in(resource: Resource, *, since: datetime, until: datetime) -> Incidents:
    """The resource's incidents that touch a stretch of time."""
    touching = resource.incidents.filter(started_at__lte=until)
    open_or_later = Q(ended_at=None) | Q(ended_at__gte=since)
    rows = touching.filter(open_or_later).order_by("started_at")
    return tuple(rows.values_list("started_at", "ended_at"))
