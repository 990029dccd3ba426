"""All charts of one resource over one stretch of time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db.models import Q

from advisor.models import Attachment, Resource
from advisor.queries.charts import Chart, ChartRange, ChartSet, Incidents
from advisor.queries.datastore_charts import datastore_charts
from advisor.queries.grid import Grid
from advisor.queries.uplink_charts import uplink_charts
from ingest.core.catalogue import DISKIO, NET, Measurement

Draw = Callable[
    [ChartRange, list[Attachment], int | None, datetime], tuple[Grid, tuple[Chart, ...]]
]
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
    read = ChartRange(resource=resource, since=since, until=until, points=points)
    attachments = list(resource.attachments.select_related("host"))
    draw = _CHARTS_OF[resource.traits.reader.measurement]
    grid, charts = draw(read, attachments, step_s, now)
    return ChartSet(
        step_s=grid.step_s,
        ends_s=grid.ends_s,
        charts=charts,
        incidents=incidents_in(resource, since=since, until=until),
    )


def incidents_in(resource: Resource, *, since: datetime, until: datetime) -> Incidents:
    """The resource's incidents that touch a stretch of time."""
    touching = resource.incidents.filter(started_at__lte=until)
    open_or_later = Q(ended_at=None) | Q(ended_at__gte=since)
    rows = touching.filter(open_or_later).order_by("started_at")
    return tuple(rows.values_list("started_at", "ended_at"))
