"""Who causes an episode, and muting one that was planned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from advisor.core.standing import UNCLAIMED
from advisor.decisions.planned_jobs import add_job
from advisor.errors import InventoryError
from advisor.models import Episode, Recurrence
from advisor.pipeline.attribute import study_episode
from advisor.pipeline.muting import jobs_of, muting_of
from web.access import Workspace, open_row, require_operator, workspace_view
from web.page import render_page, render_part

SHORTEST_MIN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class JobForm:
    """What the form about planned work holds; workloads are the aggressors of the episode."""

    name: str
    start: datetime
    minutes: str
    recurrence: str
    workloads: tuple[str, ...]

    @property
    def recurrences(self) -> list[tuple[str, str]]:
        return list(Recurrence.choices)


def proposed_job(episode: Episode, now: datetime) -> JobForm:
    """From the minute the episode began, until its end or for an hour."""
    lasted = ((episode.ended_at or now) - episode.started_at).total_seconds() / 60
    return JobForm(
        name="",
        start=episode.started_at.replace(second=0, microsecond=0),
        minutes=str(max(SHORTEST_MIN, round(lasted * 1.2))),
        recurrence=Recurrence.ONCE,
        workloads=_aggressors(episode),
    )


def _aggressors(episode: Episode) -> tuple[str, ...]:
    names = [item["workload"] for item in episode.aggressors]
    return tuple(name for name in names if name != UNCLAIMED)


@workspace_view
def cause(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """The attribution alone for htmx, else as a page of its own."""
    now = timezone.now()
    workspace, row = open_row(workspace, Episode, pk, "resource")
    context = {
        "episode": row,
        "resource": row.resource,
        "study": study_episode(episode=row, now=now),
    }
    if "HX-Request" in request.headers:
        return render_part(request, workspace, "web/parts/cause.html", now=now, **context)
    return render_page(
        request, workspace, "web/cause.html", now=now, section="episodes", **context
    )


@require_POST
@workspace_view
def mute(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """State that the episode was planned work, which then raises no alarm."""
    now = timezone.now()
    workspace, row = open_row(workspace, Episode, pk, "resource", "resource__status")
    require_operator(workspace)
    try:
        job = add_job(
            organisation=row.organisation,
            name=request.POST.get("name", ""),
            starts_at=_start(request.POST.get("start", "")),
            length=_minutes(request.POST.get("minutes", "")),
            recurrence=_recurrence(request.POST.get("recurrence", "")),
            resources=[row.resource.name],
            workloads=_aggressors(row),
        )
    except InventoryError as error:
        messages.error(request, f"Nothing was muted: {error}.")
        return redirect("episode", row.pk)
    muting = muting_of(row, jobs_of(row.organisation), now=now)
    if muting.muted:
        messages.success(request, f"Planned job {job.name} is stated; it explains this episode.")
    else:
        messages.warning(
            request,
            f"Planned job {job.name} is stated, yet it does not explain this episode: "
            f"{muting.reason}.",
        )
    return redirect("episode", row.pk)


def _start(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        raise InventoryError(f'"{text}" is not a time like 2026-11-21T22:00') from error


def _minutes(text: str) -> timedelta:
    if not text.isdecimal() or not 1 <= int(text) <= 7 * 24 * 60:
        raise InventoryError(f'"{text}" is not a number of minutes from 1 to 10080')
    return timedelta(minutes=int(text))


def _recurrence(text: str) -> Recurrence:
    if text not in Recurrence.values:
        raise InventoryError(f'"{text}" is not one of {", ".join(Recurrence.values)}')
    return Recurrence(text)
