"""What happened in an incident and who caused it, and muting one that was planned."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from advisor.core.standing import UNALLOCATED
from advisor.decisions.maintenance_windows import add_maintenance_window
from advisor.errors import InventoryError
from advisor.models import Incident, Recurrence, Workload
from advisor.models.choices import choices_of
from advisor.pipeline.attribute import study_incident
from advisor.pipeline.muting import maintenance_windows_of, muting_of
from advisor.queries.incident_timeline import IncidentPicture, incident_picture
from advisor.resource_kinds.registry import traits_of
from web.access import Workspace, open_row, require_operator, workspace_view
from web.api.v1.noted import noted
from web.drawing.timeline import drawn_timeline
from web.formatting import MILLISECONDS, rate_scale
from web.page import render_page, render_part
from web.time_range import utc_time

SHORTEST_MIN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceForm:
    """What the form about planned work holds; workloads are the aggressors of the incident."""

    name: str
    start: datetime
    minutes: str
    recurrence: str
    workloads: tuple[str, ...]

    @property
    def recurrences(self) -> list[tuple[str, str]]:
        return choices_of(Recurrence)


def proposed_maintenance(incident: Incident, now: datetime) -> MaintenanceForm:
    """From the minute the incident began, until its end or for an hour."""
    lasted = ((incident.ended_at or now) - incident.started_at).total_seconds() / 60
    return MaintenanceForm(
        name="",
        start=incident.started_at.replace(second=0, microsecond=0),
        minutes=str(max(SHORTEST_MIN, round(lasted * 1.2))),
        recurrence=Recurrence.ONCE,
        workloads=_aggressors(incident),
    )


def _aggressors(incident: Incident) -> tuple[str, ...]:
    names = [item["workload"] for item in incident.culprits]
    return tuple(name for name in names if name != UNALLOCATED)


def workload_keys(workspace: Workspace, names: Collection[str]) -> dict[str, int]:
    """The keys of the workloads of these names, for links; a workload that is gone has none."""
    rows = workspace.scope.rows(Workload).filter(name__in=names)
    return dict(rows.values_list("name", "pk"))


@require_safe
@workspace_view
def cause(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """The attribution alone for htmx, else as a page of its own."""
    now = timezone.now()
    workspace, row = open_row(workspace, Incident, pk, "resource", among=Incident.every.all())
    study = study_incident(incident=row, now=now)
    suspects = study.attribution.suspects if study.attribution else ()
    context: dict[str, Any] = {
        "incident": row,
        "resource": row.resource,
        "study": study,
        "workload_pks": workload_keys(workspace, {one.workload for one in suspects}),
    }
    if "HX-Request" in request.headers:
        return render_part(request, workspace, "web/parts/cause.html", now=now, **context)
    return render_page(
        request, workspace, "web/cause.html", now=now, section="incidents", **context
    )


@require_safe
@workspace_view
def timeline(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """What happened when, and the hosts then: alone for htmx, else as a page of its own."""
    now = timezone.now()
    workspace, row = open_row(workspace, Incident, pk, "resource", among=Incident.every.all())
    context: dict[str, Any] = {"incident": row, "resource": row.resource}
    context |= picture_context(incident_picture(row, now=now))
    if "HX-Request" in request.headers:
        template = "web/parts/incident_picture.html"
        return render_part(request, workspace, template, now=now, **context)
    return render_page(
        request, workspace, "web/timeline.html", now=now, section="incidents", **context
    )


def picture_context(picture: IncidentPicture) -> dict[str, Any]:
    """What the part with the timeline and the hosts needs."""
    loads = [
        load for one in picture.hosts for load in (one.load_before, one.load) if load is not None
    ]
    traits = traits_of(picture.timeline.kind)
    return {
        "traits": traits,
        "drawn": drawn_timeline(picture.timeline),
        "hosts": picture.hosts,
        "level_noun": traits.level.noun.capitalize(),
        "load_scale": rate_scale(traits.load_unit, max(loads, default=None)),
        "ms_scale": MILLISECONDS,
    }


@require_POST
@workspace_view
@transaction.atomic
def mute(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """State that the incident was planned work, which then raises no alarm."""
    now = timezone.now()
    workspace, row = open_row(workspace, Incident, pk, "resource", "resource__status")
    require_operator(workspace)
    try:
        maintenance = add_maintenance_window(
            organisation=row.organisation,
            name=request.POST.get("name", ""),
            starts_at=_start(request.POST.get("start", "")),
            length=read_minutes(request.POST.get("minutes", "")),
            recurrence=read_recurrence(request.POST.get("recurrence", "")),
            zone=_zone(request.POST.get("zone", "UTC")),
            resources=[row.resource.name],
            workloads=_aggressors(row),
        )
    except InventoryError as error:
        messages.error(request, f"Nothing was muted: {error}.")
        return redirect("incident", row.pk)
    noted(workspace, "state maintenance window", maintenance.name)
    muting = muting_of(row, maintenance_windows_of(row.organisation_id), now=now)
    if muting.muted:
        messages.success(
            request, f"Maintenance window {maintenance.name} is stated; it explains this incident."
        )
    else:
        messages.warning(
            request,
            f"Maintenance window {maintenance.name} is set, but does not explain this incident: "
            f"{muting.reason}.",
        )
    return redirect("incident", row.pk)


def _start(text: str) -> datetime:
    try:
        return utc_time(text)
    except ValueError as error:
        raise InventoryError(f'"{text}" is not a time like 2026-11-21T22:00') from error


def _zone(name: str) -> str:
    """The zone whose clock a recurring window follows; UTC if this machine does not know it."""
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return "UTC"


def read_minutes(text: str) -> timedelta:
    if not text.isdecimal() or not 1 <= int(text) <= 7 * 24 * 60:
        raise InventoryError(f'"{text}" is not a number of minutes from 1 to 10080')
    return timedelta(minutes=int(text))


def read_recurrence(text: str) -> Recurrence:
    if text not in list(Recurrence):
        raise InventoryError(f'"{text}" is not one of {", ".join(Recurrence)}')
    return Recurrence(text)
