"""Incidents: what was congested, who suffers, who causes it, and planned work that explains it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.roles import Action
from advisor.core.canonical import to_plain
from advisor.core.detection.maintenance_windows import MaintenanceWindow
from advisor.core.standing import UNALLOCATED
from advisor.decisions.incident_notes import say, take_care
from advisor.decisions.maintenance_windows import add_maintenance_window
from advisor.management.incident_text import study_text
from advisor.models import Incident, IncidentNote, Recurrence
from advisor.models.incident_note import LONGEST_NOTE
from advisor.pipeline.attribute import study_incident
from advisor.pipeline.muting import comes_from_outside, maintenance_windows_of, muting_of
from advisor.queries.incident_activity import carer_of, notes_of
from web.access import Workspace, open_row
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import Asked, Flag, Moment, Name, Pk
from web.api.v1.noted import noted

router = Router(tags=["incidents"])
MOST_LENGTH_S = 7 * 86_400.0


class IncidentParty(Schema):
    """A workload in an incident; rates are in the unit of the resource, null: not measured."""

    workload: str
    rate: float | None = None
    entitlement: float | None = None
    reservation: float | None = None
    shortfall_ratio: float | None = None
    is_demand_known: bool | None = Field(
        default=None, description="of a victim: whether anything showed that it waited"
    )
    part_ratio: float | None = None
    excess_ratio: float | None = None


class IncidentLine(Schema):
    """An incident; `peak_value` and `threshold` are in the level unit of its resource."""

    id: int
    resource_id: int
    resource: str
    started_at: datetime
    ended_at: datetime | None
    withdrawn_at: datetime | None
    peak_value: float | None
    threshold: float | None
    victims: list[IncidentParty]
    aggressors: list[IncidentParty]
    signals: list[dict[str, Any]]
    load_from_outside: str = Field(description="what says so; empty without")
    maintenance_window: str | None = Field(description="the one that explains it")
    maintenance_window_reason: str


class IncidentNoteRow(Schema):
    """What somebody said; with `is_duty`, who takes care from then on, or null for nobody."""

    id: int
    at: datetime
    by: str
    text: str
    is_duty: bool
    taken_by: str | None


class IncidentDetail(IncidentLine):
    """The same with its cause; `text` is what `sluice incidents ID` prints."""

    taken_by: str | None = Field(description="who takes care of it; null: nobody")
    notes: list[IncidentNoteRow] = Field(description="oldest first")
    study: dict[str, Any]
    text: str


class IncidentPage(Page):
    items: list[IncidentLine]


class IncidentFilter(Paged):
    resource_id: Pk | None = None
    is_open: bool | None = None


class IncidentDuty(Schema):
    taken_by: str | None
    notes: list[IncidentNoteRow]


class SaidOfIncident(Asked):
    text: Annotated[
        str, Field(min_length=1, max_length=LONGEST_NOTE, pattern=r"^[^\x00]*\S[^\x00]*$")
    ]


class TakenBy(Asked):
    """The username of a member; null: nobody takes care."""

    username: Name | None = None


class PlannedWork(Asked):
    """A maintenance window on the resource of the incident, for those who caused it."""

    name: Name
    starts_at: Moment
    length_s: Annotated[float, Field(strict=True, ge=60, le=MOST_LENGTH_S)]
    recurrence: Recurrence = Recurrence.ONCE
    zone: Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9_+/-]+$")] = "UTC"


class Muted(Schema):
    """Whether the new window explains the incident, and why not if it does not."""

    maintenance_window_id: int
    is_explained: Flag
    reason: str


@router.get("", response=IncidentPage)
def list_incidents(request: HttpRequest, asked: Query[IncidentFilter]) -> Any:
    """List incidents, newest first."""
    now = timezone.now()
    scope = asker_of(request).scope
    rows = scope.rows(Incident).select_related("resource").defer("evidence", "tally")
    if asked.resource_id is not None:
        rows = rows.filter(resource=asked.resource_id)
    if asked.is_open is not None:
        rows = rows.filter(ended_at__isnull=asked.is_open)
    found, cursor = page_of(rows, asked, newest_first=True)
    planned = maintenance_windows_of(scope.organisation.pk)
    return {"items": [_line(row, planned, now) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=IncidentDetail)
def get_incident(request: HttpRequest, pk: Pk) -> Any:
    """Read an incident with its cause; one that was withdrawn has its number still."""
    now = timezone.now()
    _, row = _open(request, pk)
    line = _line(row, maintenance_windows_of(row.organisation_id), now)
    study = study_incident(incident=row, now=now)
    told = {"study": to_plain(study), "text": study_text(row, line, study)}
    return {**line, **told, **_activity(row)}


@router.post("/{int:pk}/notes", response={201: IncidentNoteRow})
def note_on_incident(request: HttpRequest, pk: Pk, asked: SaidOfIncident) -> Any:
    """Add a note to an incident, for all who look at it."""
    _, row = _open(request, pk)
    actor = acting(request, Action.DECIDE).actor
    return Status(201, _note(say(incident=row, text=asked.text, actor=actor, now=timezone.now())))


@router.put("/{int:pk}/taken-by", response=IncidentDuty)
def assign_incident(request: HttpRequest, pk: Pk, asked: TakenBy) -> Any:
    """Say who takes care of an incident; of two at once the later one counts."""
    _, row = _open(request, pk)
    actor = acting(request, Action.DECIDE).actor
    take_care(incident=row, username=asked.username or "", actor=actor, now=timezone.now())
    return _activity(row)


@router.post("/{int:pk}/mute", response={201: Muted})
def mute_incident(request: HttpRequest, pk: Pk, asked: PlannedWork) -> Any:
    """State planned work that explains an incident, so that its like raises no alarm."""
    workspace, row = _open(request, pk)
    acting(request, Action.DECIDE)
    named = [one["workload"] for one in row.culprits if one["workload"] != UNALLOCATED]
    window = add_maintenance_window(
        organisation=row.organisation,
        name=asked.name,
        starts_at=asked.starts_at,
        length=timedelta(seconds=asked.length_s),
        recurrence=asked.recurrence,
        zone=asked.zone,
        resources=[row.resource.name],
        workloads=named,
    )
    noted(workspace, "state maintenance window", window.name)
    muting = muting_of(row, maintenance_windows_of(row.organisation_id), now=timezone.now())
    told = {
        "maintenance_window_id": window.pk,
        "is_explained": muting.muted,
        "reason": muting.reason,
    }
    return Status(201, told)


def _activity(row: Incident) -> dict[str, Any]:
    notes = notes_of(row)
    return {"taken_by": carer_of(notes) or None, "notes": [_note(one) for one in notes]}


def _note(row: IncidentNote) -> dict[str, Any]:
    return {
        "id": row.pk,
        "at": row.at,
        "by": row.by,
        "text": row.text,
        "is_duty": row.is_duty,
        "taken_by": row.carer_name or None,
    }


def _open(request: HttpRequest, pk: int) -> tuple[Workspace, Incident]:
    return open_row(asker_of(request), Incident, pk, "resource", among=Incident.every.all())


def _line(row: Incident, planned: Sequence[MaintenanceWindow], now: datetime) -> dict[str, Any]:
    muting = muting_of(row, planned, now=now)
    return {
        "id": row.pk,
        "resource_id": row.resource_id,
        "resource": row.resource.name,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "withdrawn_at": row.withdrawn_at,
        "peak_value": row.peak_value,
        "threshold": row.threshold,
        "victims": row.victims,
        "aggressors": row.culprits,
        "signals": row.signals,
        "load_from_outside": comes_from_outside(row),
        "maintenance_window": muting.maintenance,
        "maintenance_window_reason": muting.reason,
    }
