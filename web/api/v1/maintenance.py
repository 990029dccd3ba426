"""Maintenance windows: planned work, whose congestion raises no alarm."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.roles import Action
from advisor.decisions.maintenance_windows import (
    add_maintenance_window,
    remove_maintenance_window,
)
from advisor.models import MaintenanceWindow, Recurrence
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import Name, Pk
from web.api.v1.incidents import PlannedWork
from web.api.v1.noted import noted
from web.api.v1.resources import ResourceName
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["maintenance windows"])


class MaintenanceWindowRow(Schema):
    """A window; without resources it covers all, without workloads anybody may be busy."""

    id: int
    name: str
    starts_at: datetime
    length_s: float
    recurrence: Recurrence
    zone: str
    resources: list[str]
    workloads: list[str]


class MaintenanceWindowPage(Page):
    items: list[MaintenanceWindowRow]


class NewMaintenanceWindow(PlannedWork):
    resources: list[ResourceName] = Field(default_factory=list, max_length=1000)
    workloads: list[Name] = Field(default_factory=list, max_length=1000)


@router.get("", response=MaintenanceWindowPage)
def list_maintenance_windows(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List maintenance windows."""
    found, cursor = page_of(_rows(request), asked)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=MaintenanceWindowRow)
def get_maintenance_window(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a maintenance window."""
    plain = _plain(get_object_or_404(_rows(request), pk=pk))
    tagged(response, tag_of(plain))
    return plain


@router.post("", response={201: MaintenanceWindowRow})
def create_maintenance_window(
    request: HttpRequest, asked: NewMaintenanceWindow, response: HttpResponse
) -> Any:
    """State planned work."""
    workspace = acting(request, Action.DECIDE)
    row = add_maintenance_window(
        organisation=workspace.membership.organisation,
        length=timedelta(seconds=asked.length_s),
        **asked.dict(exclude={"length_s"}),
    )
    noted(workspace, "state maintenance window", row.name)
    response.headers["Location"] = f"/api/v1/maintenance-windows/{row.pk}"
    tagged(response, tag_of(_plain(row)))
    return Status(201, _plain(row))


@router.delete("/{int:pk}", response={204: None})
def remove_planned_work(request: HttpRequest, pk: Pk) -> Any:
    """Remove a window; the congestion that it explained raises alarms again."""
    row = get_object_or_404(_rows(request), pk=pk)
    workspace = acting(request, Action.DECIDE)
    require_match(request, tag_of(_plain(row)))
    remove_maintenance_window(organisation=row.organisation, name=row.name)
    noted(workspace, "remove maintenance window", row.name)
    return Status(204, None)


def _rows(request: HttpRequest) -> Any:
    rows = asker_of(request).scope.rows(MaintenanceWindow)
    return rows.select_related("organisation").prefetch_related("resources", "workloads")


def _plain(row: MaintenanceWindow) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "starts_at": row.starts_at,
        "length_s": row.length_s,
        "recurrence": row.recurrence,
        "zone": row.zone,
        "resources": sorted(one.name for one in row.resources.all()),
        "workloads": sorted(one.name for one in row.workloads.all()),
    }
