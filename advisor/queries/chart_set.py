"""All charts of one resource over one stretch of time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from datetime import datetime

import numpy as np
from django.db.models import Q

from advisor.history.inventory import cgroup_device_numbers
from advisor.history.measured import devices_of, rates_of, read_measured
from advisor.history.own_times import mounted, own_times, windows_of_others
from advisor.history.subjects import device_subject, rate_subjects
from advisor.models import Incident, Resource
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
    charts = draw(resource_figures(resource, grid), now)
    incidents = incidents_by_resource([resource.pk], since=since, until=until)
    return charts_on(grid, charts, incidents[resource.pk])


def resource_figures(resource: Resource, grid: Grid) -> ResourceFigures:
    """What the devices and workloads of the resource did in each window of the grid."""
    attachments = list(resource.attachments.select_related("host__enforcer"))
    allocations = allocations_in_order(resource)
    subjects = rate_subjects(allocations, cgroup_device_numbers(allocations, attachments))
    wanted = defaultdict(list, subjects.wanted)
    wanted[resource.traits.reader.figures] += [device_subject(one) for one in attachments]
    measured = read_measured(wanted, grid)
    rate = rates_of(subjects, measured).rate
    for place, others in windows_of_others(
        own_times(allocations), mounted(allocations), grid, rate
    ):
        rate[others, place] = np.nan
    return ResourceFigures(
        resource=resource,
        grid=grid,
        attachments=attachments,
        devices=devices_of(resource, attachments, measured),
        tracks=workload_tracks(allocations, rate),
    )


def incidents_by_resource(
    resources: Collection[int], *, since: datetime, until: datetime
) -> dict[int, Incidents]:
    """By resource the incidents that touch a stretch of time."""
    open_or_later = Q(ended_at=None) | Q(ended_at__gte=since)
    rows = Incident.objects.filter(open_or_later, resource__in=resources, started_at__lte=until)
    found: dict[int, list[tuple[datetime, datetime | None]]] = {key: [] for key in resources}
    times = rows.order_by("started_at").values_list("resource_id", "started_at", "ended_at")
    for key, started_at, ended_at in times:
        found[key].append((started_at, ended_at))
    return {key: tuple(own) for key, own in found.items()}
