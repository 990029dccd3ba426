"""The charts of resources, hosts and workloads as JSON and CSV, for people who are logged in."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.json_answers import error_answer
from advisor.models import Resource, Workload
from advisor.queries.chart_set import chart_set
from advisor.queries.charts import Chart, ChartSet, ChartSpan, Incidents, Track
from advisor.queries.earlier import COMPARISONS, Comparison, comparison_of, with_earlier
from advisor.queries.host_charts import host_chart_set
from advisor.queries.resources import resource_line
from advisor.queries.workload_charts import workload_chart_set
from ingest.core.steps import STEPS_S
from ingest.models import Host
from web.access import Workspace, open_row, workspace_view
from web.formatting import absolute_text, csv_safe
from web.time_range import TimeRange, read_time_range

DEFAULT_POINTS = 400
MOST_POINTS = 2000


Read = Callable[[ChartSpan, int | None, datetime], ChartSet]
"""The charts of something over a range, in cells of the step that is given, as of now."""


@require_safe
@workspace_view
def resource_charts(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """GET ?range=1h or ?from=&to=, &points=, &compare=; to go on with live ones &since=&step=."""
    _, resource = open_row(workspace, Resource, pk)
    now = timezone.now()
    return _answer(request, _of_resource(resource), now, resource=_plain_state(resource, now))


@require_safe
@workspace_view
def host_charts(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """The same for what a host's devices and workloads do."""
    _, host = open_row(workspace, Host, pk)
    return _answer(request, _of_host(host), timezone.now())


@require_safe
@workspace_view
def workload_charts(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """The same for what a workload does on each of its resources."""
    _, workload = open_row(workspace, Workload, pk)
    return _answer(request, _of_workload(workload), timezone.now())


@require_safe
@workspace_view
def resource_csv(
    request: HttpRequest, workspace: Workspace, pk: int, key: str
) -> HttpResponseBase:
    """One chart as a table: a row per cell, base units in the head."""
    _, resource = open_row(workspace, Resource, pk)
    return _table(request, resource.name, _of_resource(resource), key)


@require_safe
@workspace_view
def host_csv(request: HttpRequest, workspace: Workspace, pk: int, key: str) -> HttpResponseBase:
    """The same of a host."""
    _, host = open_row(workspace, Host, pk)
    return _table(request, host.name, _of_host(host), key)


@require_safe
@workspace_view
def workload_csv(
    request: HttpRequest, workspace: Workspace, pk: int, key: str
) -> HttpResponseBase:
    """The same of a workload."""
    _, workload = open_row(workspace, Workload, pk)
    return _table(request, workload.name, _of_workload(workload), key)


def _of_resource(resource: Resource) -> Read:
    return lambda span, step_s, now: chart_set(
        resource, since=span.since, until=span.until, points=span.points, step_s=step_s, now=now
    )


def _of_host(host: Host) -> Read:
    return lambda span, step_s, _: host_chart_set(host, span, step_s=step_s)


def _of_workload(workload: Workload) -> Read:
    return lambda span, step_s, _: workload_chart_set(workload, span, step_s=step_s)


def _answer(request: HttpRequest, read: Read, now: datetime, **more: Any) -> HttpResponseBase:
    wanted = read_time_range(request.GET, now=now)
    if wanted.problem:
        return error_answer(400, "invalid", wanted.problem)
    try:
        span, step_s = _span(request, wanted)
        compared = _comparison(request)
    except ValueError as error:
        return error_answer(400, "invalid", str(error))
    found = _compared(read, span, step_s, compared, now=now)
    answer = HttpResponse(_plain(found, wanted, more), content_type="application/json")
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _table(request: HttpRequest, name: str, read: Read, key: str) -> HttpResponseBase:
    now = timezone.now()
    wanted = read_time_range(request.GET, now=now)
    if wanted.problem:
        return error_answer(400, "invalid", wanted.problem)
    try:
        compared = _comparison(request)
    except ValueError as error:
        return error_answer(400, "invalid", str(error))
    span = ChartSpan(since=wanted.since, until=wanted.until, points=MOST_POINTS)
    found = _compared(read, span, None, compared, now=now)
    for chart in found.charts:
        if chart.key == key:
            return _csv(name, chart, found)
    raise Http404(f"no chart {key}")


def _compared(
    read: Read, span: ChartSpan, step_s: int | None, compared: Comparison | None, *, now: datetime
) -> ChartSet:
    found = read(span, step_s, now)
    if compared is None:
        return found
    before = replace(span, since=span.since - compared.shift, until=span.until - compared.shift)
    return with_earlier(found, read(before, found.step_s, now), compared)


def _span(request: HttpRequest, wanted: TimeRange) -> tuple[ChartSpan, int | None]:
    since, step_s = wanted.since, None
    if "since" in request.GET:
        since = datetime.fromtimestamp(_number(request, "since"), UTC)
        since = min(max(since, wanted.since), wanted.until)
    if "step" in request.GET:
        step_s = int(_number(request, "step"))
        if step_s not in STEPS_S:
            raise ValueError(f"step is one of {', '.join(map(str, STEPS_S))}, not {step_s}")
    points = int(_number(request, "points")) if "points" in request.GET else DEFAULT_POINTS
    points = max(2, min(MOST_POINTS, points))
    return ChartSpan(since=since, until=wanted.until, points=points), step_s


def _comparison(request: HttpRequest) -> Comparison | None:
    name = request.GET.get("compare", "")
    found = comparison_of(name)
    if name and found is None:
        known = ", ".join(one.name for one in COMPARISONS)
        raise ValueError(f'compare is one of {known}, not "{name[:20]}"')
    return found


def _number(request: HttpRequest, name: str) -> float:
    text = request.GET[name]
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f'{name} is a number, not "{text[:20]}"') from None
    if not 0 <= number < 1e11:
        raise ValueError(f"{name} is out of range: {text[:20]}")
    return number


def _plain(found: ChartSet, wanted: TimeRange, more: dict[str, Any]) -> str:
    """Times are seconds since 1970; a value that was not measured is null."""
    fields = {
        "since": wanted.since.timestamp(),
        "until": wanted.until.timestamp(),
        "step_s": found.step_s,
        "t": found.ends_s,
        "incidents": _plain_incidents(found.incidents),
        **more,
    }
    return _with_list(fields, "charts", [_plain_chart(chart) for chart in found.charts])


def _with_list(fields: dict[str, Any], name: str, items: Iterable[str]) -> str:
    """An object of JSON with these fields and a list whose items are JSON already."""
    return f'{json.dumps(fields)[:-1]}, "{name}": [{",".join(items)}]}}'


def _plain_incidents(incidents: Incidents) -> list[list[float | None]]:
    return [[start.timestamp(), end.timestamp() if end else None] for start, end in incidents]


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


def _plain_chart(chart: Chart) -> str:
    fields = {
        "key": chart.key,
        "title": chart.title,
        "unit": chart.unit,
        "gap": chart.gap,
        "incidents": None if chart.incidents is None else _plain_incidents(chart.incidents),
        "marks": [
            {"label": mark.label, "value": mark.value, "colour": mark.colour}
            for mark in chart.marks
        ],
    }
    return _with_list(fields, "tracks", [_plain_track(track) for track in chart.tracks])


def _plain_track(track: Track) -> str:
    fields = {"label": track.label, "colour": track.colour, "earlier": track.is_earlier}
    return _with_list(fields, "values", [_written(track.values)])


def _written(values: Sequence[float | None]) -> str:
    """The values as JSON: six digits are twice what is shown, and a third of the bytes.

    A set of charts has tens of thousands, so they are written at once.
    """
    form = ",".join(["null" if value is None else "%.6g" for value in values])
    return form % tuple([value for value in values if value is not None])


def _csv(name: str, chart: Chart, found: ChartSet) -> HttpResponse:
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    file_name = f"{name}-{chart.key}.csv".replace("/", "-").replace('"', "")
    answer.headers["Content-Disposition"] = f'attachment; filename="{file_name}"'
    writer = csv.writer(answer)
    writer.writerow(
        ["time", *(f"{csv_safe(track.label)} ({chart.unit})" for track in chart.tracks)]
    )
    for index, end_s in enumerate(found.ends_s):
        cells = [track.values[index] if track.values else None for track in chart.tracks]
        moment = datetime.fromtimestamp(end_s, UTC)
        writer.writerow([absolute_text(moment), *("" if cell is None else cell for cell in cells)])
    return answer
