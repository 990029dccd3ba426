"""Tell nobody of a resource, or of anything, for a while."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from accounts.roles import Action
from advisor.errors import DecisionRefused
from advisor.models import Incident, NotificationSilence, Resource
from advisor.notifications import state
from web.access import Workspace, open_row
from web.changing import changing

LENGTHS: Mapping[str, str] = {"1": "1 hour", "8": "8 hours", "24": "1 day", "168": "1 week"}
"""Hours for which a page silences."""
LENGTHS_OF_ONE: Mapping[str, str] = {hours: LENGTHS[hours] for hours in ("1", "8", "24")}
"""Those that the pages of a resource and an incident offer."""


@changing("notifications")
def make(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Silence a resource by its name; everything without one."""
    workspace.actor.require(Action.DECIDE)
    name = request.POST.get("resource", "").strip().replace("\x00", "")
    resource = workspace.scope.rows(Resource).filter(name=name).first() if name else None
    if name and resource is None:
        messages.error(request, f'Nothing was changed: there is no resource "{name[:200]}".')
    else:
        _silence(request, workspace, resource)
    return redirect("notifications")


@changing("resource", of_row=True)
def of_resource(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, Resource, pk)
    _silence(request, workspace, row)
    return redirect("resource", row.pk)


@changing("incident", of_row=True)
def of_incident(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, Incident, pk, "resource")
    _silence(request, workspace, row.resource)
    return redirect("incident", row.pk)


@changing("notifications")
def end(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, NotificationSilence, pk, "resource")
    state.end_silence(row, actor=workspace.actor, now=timezone.now())
    messages.success(request, f"People are told of {_words(row.resource)} again.")
    return redirect("notifications")


def _silence(request: HttpRequest, workspace: Workspace, resource: Resource | None) -> None:
    workspace.actor.require(Action.DECIDE)
    hours, now = request.POST.get("hours", ""), timezone.now()
    if hours not in LENGTHS:
        messages.error(request, "Nothing was changed: choose for how long.")
        return
    try:
        state.silence(
            organisation=workspace.membership.organisation,
            resource=resource,
            until=now + timedelta(hours=int(hours)),
            reason=request.POST.get("reason", "").strip(),
            actor=workspace.actor,
            now=now,
        )
    except DecisionRefused as error:
        messages.error(request, f"Nothing was changed: {error}.")
        return
    messages.success(
        request, f"Nobody is told of {_words(resource)} for {LENGTHS[hours]}; it ends by itself."
    )


def _words(resource: Resource | None) -> str:
    return resource.name if resource else "anything"
