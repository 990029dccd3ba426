"""Go on with one rollout, stop all of them, resume."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from advisor.decisions.rollouts import steer
from advisor.errors import DecisionRefused
from advisor.models import Resource
from advisor.queries.allocations import policy_in_force
from web.access import Workspace, open_row, require_operator, workspace_view

LONGEST_REASON = 2000


@require_POST
@workspace_view
def go_on(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Begin the next stage of the newest version now."""
    now = timezone.now()
    workspace, row = open_row(workspace, Resource, pk)
    require_operator(workspace)
    rollout = getattr(policy_in_force(row), "rollout", None)
    if rollout is None:
        messages.error(request, f"Nothing was changed: no policy of {row} is on its way to hosts.")
        return redirect("resource", row.pk)
    try:
        found = steer.go_on(rollout=rollout, user=workspace.membership.user, now=now)
    except DecisionRefused as error:
        messages.error(request, f"Nothing was changed: {error}.")
    else:
        messages.success(
            request,
            "The guard of the last stage has ended."
            if found.guarded_until
            else f"Stage {found.stage + 1} of {len(found.sizes)} begins.",
        )
    return redirect("resource", row.pk)


@require_POST
@workspace_view
def stop(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Stop all rollouts and automatic changes of the organisation."""
    workspace = workspace.at(pk)
    require_operator(workspace)
    steer.stop_rollouts(
        organisation=workspace.membership.organisation,
        actor=workspace.actor,
        reason=request.POST.get("reason", "").strip()[:LONGEST_REASON],
        now=timezone.now(),
    )
    messages.success(request, "All rollouts are stopped. Hosts keep what they have.")
    return redirect("overview")


@require_POST
@workspace_view
def resume(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Let rollouts go on."""
    workspace = workspace.at(pk)
    require_operator(workspace)
    steer.resume_rollouts(
        organisation=workspace.membership.organisation,
        actor=workspace.actor,
        now=timezone.now(),
    )
    messages.success(request, "Rollouts go on; each stage that was under way begins anew.")
    return redirect("overview")
