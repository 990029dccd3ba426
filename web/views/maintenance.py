"""Maintenance windows: those that are stated, when they come next, and stating them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.roles import Action
from advisor.core.detection.maintenance_windows import occurrences
from advisor.decisions.maintenance_windows import (
    add_maintenance_window,
    remove_maintenance_window,
)
from advisor.errors import InventoryError
from advisor.models import MaintenanceWindow, Recurrence
from advisor.models.choices import choices_of
from advisor.pipeline.muting import read_maintenance_window
from web.access import Workspace, open_row, workspace_view
from web.api.v1.noted import noted
from web.changing import changing
from web.page import render_page
from web.views.incident_cause import read_minutes, read_recurrence

AHEAD = timedelta(days=14)
MOST_AHEAD = 60
EARLIEST, LATEST = 2000, 2200
"""Years in which work may begin; clocks of zones end before those of dates."""
LONGEST_LIST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLine:
    """A maintenance window with its next time, or that of now; None if it is over for good."""

    row: MaintenanceWindow
    resources: list[str]
    workloads: list[str]
    next_time: tuple[datetime, datetime] | None
    is_now: bool

    @property
    def when(self) -> str:
        """How often, by the clock of its zone."""
        forms = {Recurrence.ONCE: "%Y-%m-%d %H:%M", Recurrence.WEEKLY: "%A %H:%M"}
        start = self.row.starts_at.astimezone(ZoneInfo(self.row.zone))
        shown = start.strftime(forms.get(Recurrence(self.row.recurrence), "%H:%M"))
        return f"{self.row.recurrence}, {shown} {self.row.zone}"

    @property
    def minutes(self) -> int:
        return round(self.row.length_s / 60)


@require_safe
@workspace_view
def maintenance(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    now = timezone.now()
    rows = workspace.scope.rows(MaintenanceWindow).prefetch_related("resources", "workloads")
    lines = [_line(row, now) for row in rows]
    return render_page(
        request,
        workspace,
        "web/maintenance.html",
        now=now,
        lines=lines,
        ahead=_ahead(lines, now),
        days=AHEAD.days,
        recurrences=choices_of(Recurrence),
        zones=sorted(available_timezones()),
        start=(now + timedelta(hours=1)).replace(minute=0),
    )


def _line(row: MaintenanceWindow, now: datetime) -> WindowLine:
    window = read_maintenance_window(row, (), ())
    # One that comes once may be years ahead.
    until = max(now + AHEAD, row.starts_at + timedelta(seconds=1))
    found = next(occurrences(window, since=now, until=until), None)
    return WindowLine(
        row=row,
        resources=sorted(one.name for one in row.resources.all()),
        workloads=sorted(one.name for one in row.workloads.all()),
        next_time=found,
        is_now=found is not None and found[0] <= now,
    )


def _ahead(lines: list[WindowLine], now: datetime) -> list[tuple[datetime, datetime, str]]:
    """The times of the next two weeks, earliest first."""
    found = [
        (begin, end, line.row.name)
        for line in lines
        for begin, end in occurrences(
            read_maintenance_window(line.row, (), ()), since=now, until=now + AHEAD
        )
    ]
    return list(islice(sorted(found), MOST_AHEAD))


@changing("maintenance")
@transaction.atomic
def plan(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    workspace.actor.require(Action.DECIDE)
    row = add_maintenance_window(
        organisation=workspace.membership.organisation,
        name=request.POST.get("name", ""),
        starts_at=_start(request.POST.get("start", ""), request.POST.get("zone", "")),
        length=read_minutes(request.POST.get("minutes", "")),
        recurrence=read_recurrence(request.POST.get("recurrence", "")),
        zone=request.POST.get("zone", ""),
        resources=_names(request.POST.get("resources", "")),
        workloads=_names(request.POST.get("workloads", "")),
    )
    noted(workspace, "state maintenance window", row.name)
    messages.success(request, f"{row.name} is planned.")
    return redirect("maintenance")


@changing("maintenance")
@transaction.atomic
def call_off(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, MaintenanceWindow, pk)
    workspace.actor.require(Action.DECIDE)
    remove_maintenance_window(organisation=row.organisation, name=row.name)
    noted(workspace, "remove maintenance window", row.name)
    messages.success(request, f"{row.name} is removed; the congestion it explained alerts again.")
    return redirect("maintenance")


def _start(text: str, zone: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise InventoryError(f'"{text[:40]}" is not a time like 2026-11-21T22:00') from error
    if not EARLIEST <= at.year <= LATEST:
        raise InventoryError(f"a year is from {EARLIEST} to {LATEST}, not {at.year}")
    try:
        return at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InventoryError(
            f'"{zone[:40]}" is not a time zone; write it like Europe/Berlin'
        ) from error


def _names(text: str) -> list[str]:
    """One on each line, each once."""
    names = list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    if len(names) > LONGEST_LIST:
        raise InventoryError(f"a maintenance window names at most {LONGEST_LIST} of each")
    return names
