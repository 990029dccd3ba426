"""Does Sluice itself work?"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from advisor.core.health.checks import checks
from advisor.queries.health import MOST_FAILURES, health_figures
from web.access import Workspace, workspace_view
from web.page import render_page, render_part


@workspace_view
def health(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    now = timezone.now()
    figures = health_figures(
        organisation=workspace.scope.organisation,
        now=now,
        with_installation=workspace.membership.user.is_superuser,
    )
    found = checks(figures)
    context: dict[str, Any] = {
        "checks": found,
        "attention": [check for check in found if check.needs_attention],
        "failures": figures.failures,
        "hidden_failures": max(0, figures.failing - MOST_FAILURES),
    }
    if "HX-Request" in request.headers:
        return render_part(request, workspace, "web/parts/health.html", now=now, **context)
    return render_page(request, workspace, "web/health.html", now=now, section="health", **context)
