"""The charts of a resource as JSON and CSV, for people who are logged in."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils import timezone

from accounts.json_answers import error_answer
from advisor.models import Resource
from advisor.queries.chart_set import chart_set
from advisor.queries.charts import Chart, ChartSet
from advisor.queries.resources import resource_line
from ingest.readings import STEPS_S
from web.access import Workspace, open_row, workspace_view
from web.formatting import absolute_text
from web.time_range import TimeRange, read_time_range

DEFAULT_POINTS = 400
MOST_POINTS = 2000


@workspace_view
def resource_charts(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """GET ?range=1h or ?from=&to=, &points=, and to go on with a live chart &since=&step=."""
    now = timezone.now()
    _, resource = open_row(workspace, Resource, pk)
    wanted = read_time_range(request.GET, now=now)
    if wanted.problem:
        return error_answer(400, "invalid", wanted.problem)
    try:
        found = _read(resource, wanted, request, now)
    except ValueError as error:
        return error_answer(400, "invalid", str(error))
    answer = JsonResponse(_plain(found, wanted) | {"resource": _plain_state(resource, now)})
    answer.headers["Cache-Control"] = "no-store"
    return answer


@workspace_view
def chart_csv(request: HttpRequest, workspace: Workspace, pk: int, key: str) -> HttpResponseBase:
    """One chart as a table: a row per cell, base units in the head."""
    now = timezone.now()
    _, resource = open_row(workspace, Resource, pk)
    wanted = read_time_range(request.GET, now=now)
    if wanted.problem:
        return error_answer(400, "invalid", wanted.problem)
    found = chart_set(
        resource, since=wanted.since, until=wanted.until, points=MOST_POINTS, now=now
    )
    for chart in found.charts:
        if chart.key == key:
            return _csv(resource, chart, found)
    raise Http404(f"no chart {key}")


def _read(resource: Resource, wanted: TimeRange, request: HttpRequest, now: datetime) -> ChartSet:
    since, step_s = wanted.since, None
    if "since" in request.GET:
        since = datetime.fromtimestamp(_number(request, "since"), UTC)
        since = min(max(since, wanted.since), wanted.until)
    if "step" in request.GET:
        step_s = int(_number(request, "step"))
        if step_s not in STEPS_S:
            raise ValueError(f"step is one of {', '.join(map(str, STEPS_S))}, not {step_s}")
    points = int(_number(request, "points")) if "points" in request.GET else DEFAULT_POINTS
    return chart_set(
        resource,
        since=since,
        until=wanted.until,
        points=max(2, min(MOST_POINTS, points)),
        step_s=step_s,
        now=now,
    )


def _number(request: HttpRequest, name: str) -> float:
    text = request.GET[name]
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f'{name} is a number, not "{text[:20]}"') from None
    if not 0 <= number < 1e11:
        raise ValueError(f"{name} is out of range: {text[:20]}")
    return number


def _plain(found: ChartSet, wanted: TimeRange) -> dict[str, Any]:
    """Times are seconds since 1970; a value that was not measured is null."""
    return {
        "since": wanted.since.timestamp(),
        "until": wanted.until.timestamp(),
        "step_s": found.step_s,
        "t": found.ends_s,
        "incidents": [
            [start.timestamp(), end.timestamp() if end else None] for start, end in found.incidents
        ],
        "charts": [_plain_chart(chart) for chart in found.charts],
    }


def _plain_state(resource: Resource, now: datetime) -> dict[str, Any]:
    """What is known of the resource now, in the words of its page and of `sluice status`."""
    line = resource_line(resource, now=now)
    return {
        "name": line.name,
        "state": line.state,
        "since": line.state_since.timestamp() if line.state_since else None,
        "stale": line.is_stale,
        "evaluated_at": line.looked_at.timestamp() if line.looked_at else None,
        "reason": line.reason,
    }


def _plain_chart(chart: Chart) -> dict[str, Any]:
    return {
        "key": chart.key,
        "title": chart.title,
        "unit": chart.unit,
        "gap": chart.gap,
        "tracks": [
            {
                "label": track.label,
                "colour": track.colour,
                "values": [_short(value) for value in track.values],
            }
            for track in chart.tracks
        ],
        "marks": [
            {"label": mark.label, "value": mark.value, "colour": mark.colour}
            for mark in chart.marks
        ],
    }


def _short(value: float | None) -> float | None:
    """Six digits are twice what is shown, and a third of the bytes."""
    return None if value is None else float(f"{value:.6g}")


def _csv(resource: Resource, chart: Chart, found: ChartSet) -> HttpResponse:
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    name = f"{resource.name}-{chart.key}.csv".replace("/", "-").replace('"', "")
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    writer = csv.writer(answer)
    writer.writerow(["time", *(f"{_safe(track.label)} ({chart.unit})" for track in chart.tracks)])
    for index, end_s in enumerate(found.ends_s):
        cells = [track.values[index] if track.values else None for track in chart.tracks]
        moment = datetime.fromtimestamp(end_s, UTC)
        writer.writerow([absolute_text(moment), *("" if cell is None else cell for cell in cells)])
    return answer


def _safe(label: str) -> str:
    """A spreadsheet takes a head that begins with one of these for a formula."""
    return f"'{label}" if label[:1] in "=+-@" else label
