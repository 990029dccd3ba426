"""Look after a recommendation, or put it off."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from advisor.decisions.recommendation_steps import acknowledge, snooze
from advisor.errors import DecisionRefused
from web.access import Workspace, require_operator, workspace_view
from web.views.recommendations import (
    LONGEST_REASON,
    SNOOZES,
    open_recommendation,
    recommendation_page,
)


@require_POST
@workspace_view
def acknowledge_one(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Say that this person looks after it."""
    now = timezone.now()
    workspace, row = open_recommendation(workspace, pk)
    require_operator(workspace)
    try:
        acknowledge(recommendation=row, user=workspace.membership.user, now=now)
    except DecisionRefused as error:
        messages.error(request, f"Nothing was changed: {error}.")
        return recommendation_page(request, workspace, row, now=now, status=409)
    messages.success(request, "Acknowledged: others see that you look after it.")
    return redirect("recommendation", row.pk)


@require_POST
@workspace_view
def snooze_one(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Put it off for one of the lengths that the page offers."""
    now = timezone.now()
    workspace, row = open_recommendation(workspace, pk)
    require_operator(workspace)
    hours = request.POST.get("hours", "")
    if hours not in SNOOZES:
        messages.error(request, "Nothing was changed: choose for how long.")
        return recommendation_page(request, workspace, row, now=now, status=400)
    try:
        snooze(
            recommendation=row,
            user=workspace.membership.user,
            until=now + timedelta(hours=int(hours)),
            reason=request.POST.get("reason", "").strip()[:LONGEST_REASON],
            now=now,
        )
    except DecisionRefused as error:
        messages.error(request, f"Nothing was changed: {error}.")
        return recommendation_page(request, workspace, row, now=now, status=409)
    messages.success(request, f"Put off for {SNOOZES[hours]}; it comes back then.")
    return redirect("recommendation", row.pk)
