"""What happened, when, to whom, by whom?"""

from __future__ import annotations

from datetime import timedelta

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from advisor.models import Episode
from advisor.queries.episodes import episode_lines, episode_rows
from web.access import Workspace, open_row, workspace_view
from web.chart_list import chart_list
from web.formatting import rate_scale
from web.page import render_page, render_part
from web.time_range import TimeRange
from web.views.episode_cause import proposed_job

PER_PAGE = 50
MARGIN = timedelta(minutes=15)
"""The charts of an episode begin so long before it and end so long after it."""


@workspace_view
def episodes(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    now = timezone.now()
    rows = episode_rows(workspace.scope)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "episodes": episode_lines(list(page), now=now)}
    if "HX-Request" in request.headers:
        return render_part(request, workspace, "web/parts/episodes.html", now=now, **context)
    return render_page(
        request, workspace, "web/episodes.html", now=now, section="episodes", **context
    )


@workspace_view
def episode(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    now = timezone.now()
    workspace, row = open_row(workspace, Episode, pk, "resource__status")
    (line,) = episode_lines([row], now=now)
    until = min(now, (row.ended_at or now) + MARGIN)
    shown = TimeRange(since=row.started_at - MARGIN, until=until, name=None)
    numbers = [
        number
        for party in (*line.victims, *line.aggressors)
        for number in (party.rate, party.entitlement, party.reservation)
        if number is not None
    ]
    advice = row.recommendations.order_by("-created_at")
    return render_page(
        request,
        workspace,
        "web/episode.html",
        now=now,
        section="episodes",
        episode=line,
        resource=row.resource,
        time_range=shown,
        chart_list=chart_list(row.resource),
        scale=rate_scale(row.resource.unit, max(numbers, default=None)),
        advice=list(advice),
        job=proposed_job(row, now),
    )
