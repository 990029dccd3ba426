"""What happened, when, to whom, by whom?"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.models import Membership
from accounts.roles import Action
from advisor.decisions.incident_notes import MOST_NOTES, say, take_care
from advisor.history.latency_layers import read_latency_layers
from advisor.models import Incident
from advisor.models.incident_note import LONGEST_NOTE
from advisor.queries.amended import amendments, withdrawal
from advisor.queries.incident_activity import carer_of, carers_of, notes_of, past_of
from advisor.queries.incident_fixes import fixes_of
from advisor.queries.incidents import affected_by, incident_lines, incident_rows
from advisor.queries.notifications import silence_of
from advisor.queries.own_bursts import own_bursts
from advisor.reports import shared
from advisor.reports.shared import DAYS
from advisor.reports.written_incident import written_incident
from web.access import Workspace, open_row, workspace_view
from web.changing import changing
from web.chart_list import chart_list, charts_context
from web.formatting import rate_scale
from web.page import render_page, render_part
from web.time_range import TimeRange
from web.views.incident_cause import proposed_maintenance, workload_keys
from web.views.reports import days_open
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
    lines = incident_lines(list(page), now=now)
    carers = carers_of([line.pk for line in lines])
    context: dict[str, Any] = {
        "page": page,
        "incidents": [(line, carers.get(line.pk, "")) for line in lines],
    }
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
    parties = (*line.victims, *line.aggressors, *line.only_took_more)
    numbers = [
        number
        for party in parties
        for number in (party.rate, party.entitlement, party.reservation)
        if number is not None
    ]
    victims = {party.workload for party in line.victims}
    named = {party.workload for party in parties}
    affected = affected_by(line, now=now)
    notes = notes_of(row)
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
        affected=affected,
        lost_min=sum(one.lost_min for one in affected),
        fixes=fixes_of(row, now=now),
        share_days=DAYS,
        silenced=silence_of(row.resource, now=now),
        silence_lengths=LENGTHS_OF_ONE,
        maintenance=proposed_maintenance(row, now),
        past=past_of(row),
        notes=notes,
        carer=carer_of(notes),
        people=_people(row) if workspace.may_operate else [],
        longest_note=LONGEST_NOTE,
        most_notes=MOST_NOTES,
        bursts=own_bursts(row.resource, victims, until=min(now, row.ended_at or now)),
        layers=read_latency_layers(
            row.resource, since=row.started_at, until=min(now, row.ended_at or now)
        )
        if row.resource.traits.costs_by_size
        else None,
    )


def _people(row: Incident) -> list[str]:
    found = Membership.objects.filter(organisation=row.organisation_id)
    return list(found.order_by("user__username").values_list("user__username", flat=True))


@changing("incident", of_row=True)
def note(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, Incident, pk, among=Incident.every.all())
    text = request.POST.get("text", "")
    say(incident=row, text=text, actor=workspace.actor, now=timezone.now())
    return _activity(pk)


@changing("incident", of_row=True)
def assign(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, Incident, pk, "resource", among=Incident.every.all())
    username = request.POST.get("username", "")
    take_care(incident=row, username=username, actor=workspace.actor, now=timezone.now())
    return _activity(pk)


@changing("incident", of_row=True)
def share(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Make a link that opens the incident as it is now, without a login."""
    workspace.actor.require(Action.MANAGE_NOTIFICATIONS)
    now = timezone.now()
    workspace, row = open_row(
        workspace, Incident, pk, "resource__status", among=Incident.every.all()
    )
    found = shared.share(
        organisation=row.organisation,
        shared=written_incident(row, now=now),
        days=days_open(request),
        actor=workspace.actor,
        now=now,
    )
    messages.success(request, f"{found.title} can be read by who has the link below.")
    return redirect("sent-reports")


def _activity(pk: int) -> HttpResponseBase:
    return redirect(f"{reverse('incident', args=[pk])}#activity-title")
