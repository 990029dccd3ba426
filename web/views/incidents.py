"""What happened, when, to whom, by whom?"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.history.latency_layers import read_latency_layers
from advisor.models import Incident
from advisor.queries.amended import amendments, withdrawal
from advisor.queries.incidents import incident_lines, incident_rows
from advisor.queries.notifications import silence_of
from advisor.queries.own_bursts import own_bursts
from web.access import Workspace, open_row, workspace_view
from web.chart_list import chart_list, charts_context
from web.formatting import rate_scale
from web.page import render_page, render_part
from web.time_range import TimeRange
from web.views.incident_cause import proposed_maintenance, workload_keys
from web.views.silences import LENGTHS_OF_ONE

PER_PAGE = 50
MARGIN = timedelta(minutes=15)
"""The charts of an incident begin so long before it and end so long after it."""


@require_safe
@workspace_view
def incidents(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    now = timezone.now()
    rows = incident_rows(workspace.scope)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    context: dict[str, Any] = {"page": page, "incidents": incident_lines(list(page), now=now)}
    if "HX-Request" in request.headers:
        return render_part(request, workspace, "web/parts/incidents.html", now=now, **context)
    return render_page(
        request, workspace, "web/incidents.html", now=now, section="incidents", **context
    )


@require_safe
@workspace_view
def incident(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    now = timezone.now()
    workspace, row = open_row(
        workspace, Incident, pk, "resource__status", among=Incident.every.all()
    )
    (line,) = incident_lines([row], now=now)
    until = min(now, (row.ended_at or now) + MARGIN)
    whole = TimeRange(since=row.started_at - MARGIN, until=until, name=None)
    numbers = [
        number
        for party in (*line.victims, *line.aggressors)
        for number in (party.rate, party.entitlement, party.reservation)
        if number is not None
    ]
    victims = {party.workload for party in line.victims}
    named = {party.workload for party in (*line.victims, *line.aggressors)}
    advice = row.recommendations.order_by("-created_at")
    return render_page(
        request,
        workspace,
        "web/incident.html",
        now=now,
        section="incidents",
        incident=line,
        workload_pks=workload_keys(workspace, named),
        evidence=row.evidence,
        amended=amendments(row),
        withdrawn=withdrawal(row),
        resource=row.resource,
        **charts_context(
            request.GET,
            "resource",
            row.resource_id,
            chart_list(row.resource),
            now=now,
            fixed=whole,
        ),
        scale=rate_scale(row.resource.unit, max(numbers, default=None)),
        advice=list(advice),
        silenced=silence_of(row.resource, now=now),
        silence_lengths=LENGTHS_OF_ONE,
        maintenance=proposed_maintenance(row, now),
        bursts=own_bursts(row.resource, victims, until=min(now, row.ended_at or now)),
        layers=read_latency_layers(
            row.resource, since=row.started_at, until=min(now, row.ended_at or now)
        )
        if row.resource.traits.costs_by_size
        else None,
    )
