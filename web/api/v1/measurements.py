"""What was measured over a stretch of time: the charts of pages, as numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from advisor.models import Resource, Workload
from advisor.queries.chart_set import chart_set
from advisor.queries.charts import ChartSet, ChartSpan
from advisor.queries.host_charts import host_chart_set
from advisor.queries.workload_charts import workload_chart_set
from ingest.models import Host
from web.access import open_row
from web.api.v1.door import asker_of
from web.api.v1.fields import Moment, Pk
from web.time_range import LONGEST, SHORTEST

router = Router(tags=["measurements"])
MOST_POINTS = 2000


class Stretch(Schema):
    """The time that ends at `until`, in cells of a step that is no finer than what was sent."""

    until: Moment | None = Field(None, description="now, unless it is stated")
    length_s: Annotated[float, Field(ge=SHORTEST.total_seconds(), le=LONGEST.total_seconds())] = (
        3600.0
    )
    points: Annotated[int, Field(ge=2, le=MOST_POINTS)] = 400


class MeasuredTrack(Schema):
    """A line: a value for each of `times`, null where nothing was measured; empty: never."""

    label: str
    values: list[float | None]


class MeasuredLevel(Schema):
    """A level that the values are compared with, such as a threshold or reservation."""

    label: str
    value: float


class MeasuredChart(Schema):
    key: str
    title: str
    unit: str
    gap: str | None = Field(description="why it is empty")
    levels: list[MeasuredLevel]
    tracks: list[MeasuredTrack]


class MeasuredIncident(Schema):
    started_at: datetime
    ended_at: datetime | None


class Measurements(Schema):
    """All charts over a stretch of time; a value is the mean of the step that ends at its time."""

    since: datetime
    until: datetime
    step_s: int
    times: list[datetime]
    incidents: list[MeasuredIncident]
    charts: list[MeasuredChart]


@router.get("resources/{int:pk}/measurements", response=Measurements)
def get_resource_measurements(request: HttpRequest, pk: Pk, asked: Query[Stretch]) -> Any:
    """Read what a resource and its workloads did."""
    _, row = open_row(asker_of(request), Resource, pk)
    now = timezone.now()
    return _measured(
        asked, now,
        lambda span: chart_set(
            row, since=span.since, until=span.until, points=span.points, step_s=None, now=now
        ),
    )  # fmt: skip


@router.get("hosts/{int:pk}/measurements", response=Measurements)
def get_host_measurements(request: HttpRequest, pk: Pk, asked: Query[Stretch]) -> Any:
    """Read what the devices and workloads of a host did."""
    _, row = open_row(asker_of(request), Host, pk)
    return _measured(asked, timezone.now(), lambda span: host_chart_set(row, span, step_s=None))


@router.get("workloads/{int:pk}/measurements", response=Measurements)
def get_workload_measurements(request: HttpRequest, pk: Pk, asked: Query[Stretch]) -> Any:
    """Read what a workload did on each of its resources."""
    _, row = open_row(asker_of(request), Workload, pk)
    return _measured(
        asked, timezone.now(), lambda span: workload_chart_set(row, span, step_s=None)
    )


def _measured(
    asked: Stretch, now: datetime, read: Callable[[ChartSpan], ChartSet]
) -> dict[str, Any]:
    until = min(asked.until or now, now)
    since = until - timedelta(seconds=asked.length_s)
    found = read(ChartSpan(since=since, until=until, points=asked.points))
    return {
        "since": since,
        "until": until,
        "step_s": found.step_s,
        "times": [datetime.fromtimestamp(end_s, UTC) for end_s in found.ends_s],
        "incidents": [{"started_at": start, "ended_at": end} for start, end in found.incidents],
        "charts": [
            {
                "key": chart.key,
                "title": chart.title,
                "unit": chart.unit,
                "gap": chart.gap,
                "levels": [{"label": one.label, "value": one.value} for one in chart.marks],
                "tracks": [
                    {"label": one.label, "values": list(one.values)} for one in chart.tracks
                ],
            }
            for chart in found.charts
        ],
    }
