"""Does Sluice itself work?"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.core.health.checks import checks
from advisor.queries.health import MOST_FAILURES, health_figures
from web.access import Workspace, workspace_view
from web.page import render_page, render_part


@require_safe
@workspace_view
def health(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    now = timezone.now()
    runs_it = workspace.membership.user.is_superuser
    figures = health_figures(
        organisation=workspace.scope.organisation, now=now, with_installation=runs_it
    )
    found = checks(figures)
    shown = figures.failing + (figures.failing_installation if runs_it else 0)
    context: dict[str, Any] = {
        "checks": found,
        "attention": [check for check in found if check.needs_attention],
        "quotas": [
            (one, None if one.hit_s is None else now - timedelta(seconds=one.hit_s))
            for one in figures.quotas
        ],
        "failures": figures.failures,
        "hidden_failures": max(0, shown - MOST_FAILURES),
        "without_reason": 0 if runs_it else figures.failing_installation,
    }
    if "HX-Request" in request.headers:
        return render_part(request, workspace, "web/parts/health.html", now=now, **context)
    return render_page(request, workspace, "web/health.html", now=now, section="health", **context)
