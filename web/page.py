"""What every page has: the workspace, the time, and the numbers in the navigation."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from advisor.models import Recommendation, RecommendationState
from web.access import Workspace


def render_page(
    request: HttpRequest,
    workspace: Workspace,
    template: str,
    *,
    now: datetime,
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    """The whole page, inside the frame with navigation."""
    proposed = workspace.scope.rows(Recommendation).filter(
        state=RecommendationState.PROPOSED, expires_at__gt=now
    )
    frame = {"workspace": workspace, "now": now, "proposed_count": proposed.count()}
    return render(request, template, {**frame, **context}, status=status)


def render_part(
    request: HttpRequest, workspace: Workspace, template: str, *, now: datetime, **context: Any
) -> HttpResponse:
    """One part of a page, for an update in place."""
    response = render(request, template, {"workspace": workspace, "now": now, **context})
    response["Cache-Control"] = "no-store"
    return response
