"""Is anything congested, who causes it, what should I do?"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from advisor.history.policy_state import newest_policies, policy_states
from advisor.models import Recommendation, RecommendationState, State
from advisor.queries.heat import COLUMN_S, heat_strips
from advisor.queries.hosts import host_healths
from advisor.queries.incidents import correlated_lines, open_incident_lines
from advisor.queries.resources import resource_lines, resource_rows
from web.access import Workspace, workspace_view
from web.drawing.heat import HEIGHT, THRESHOLD_Y, axis_labels, heat_row, hour_cells, hour_starts
from web.page import render_page, render_part


@workspace_view
def overview(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    now = timezone.now()
    is_part = "HX-Request" in request.headers
    if is_part and request.GET.get("part") == "hours":
        hours = _hours(workspace, now)
        return render_part(request, workspace, "web/parts/heat_hours.html", now=now, **hours)
    context = overview_context(workspace, now)
    if is_part:
        return render_part(request, workspace, "web/parts/overview.html", now=now, **context)
    return render_page(
        request, workspace, "web/overview.html", now=now, section="overview", **context
    )


def overview_context(workspace: Workspace, now: datetime) -> dict[str, Any]:
    """Everything that the page and its update show."""
    scope = workspace.scope
    rows = resource_rows(scope)
    lines = resource_lines(rows, now=now)
    strips = heat_strips(rows, now=now)
    hosts = host_healths(scope, now=now)
    proposed = scope.rows(Recommendation).filter(
        state=RecommendationState.PROPOSED, expires_at__gt=now
    )
    # A host whose clock is ahead sent its samples by now all the same.
    sampled = [min(host.last_sample_at, now) for host in hosts if host.last_sample_at]
    incidents = open_incident_lines(scope, now=now)
    policies = newest_policies(rows)
    states = policy_states(policies, now=now)
    return {
        "incidents": [one for one in incidents if not one.muting.muted and not one.is_silent],
        "silent": [one for one in incidents if not one.muting.muted and one.is_silent],
        "planned": [one for one in incidents if one.muting.muted],
        "correlated": correlated_lines(incidents),
        "lines": lines,
        "stalled": [line for line in lines if line.state == State.STALLED],
        "stale": sorted(
            (line for line in lines if line.is_stale and line.looked_at),
            key=lambda line: (line.looked_at, line.name),
        ),
        "near": [line for line in lines if line.shown_state == "near"],
        "unknown": [line for line in lines if line.shown_state == "unknown"],
        "heat": [heat_row(line, strips[line.pk]) for line in lines],
        "heat_frame": {
            "height": HEIGHT,
            "threshold_y": THRESHOLD_Y,
            "column_s": COLUMN_S,
            "axis": axis_labels(strips[lines[0].pk]) if lines else [],
        },
        "recommendations": list(proposed.select_related("resource").order_by("-created_at")),
        "hosts": hosts,
        "care": [host for host in hosts if host.needs_care],
        "policies": policies,
        "not_in_force": [
            (policy, states[policy.pk]) for policy in policies if states[policy.pk].gap
        ],
        "newest_sample_at": max(sampled, default=None),
    }


def _hours(workspace: Workspace, now: datetime) -> dict[str, Any]:
    """The last day as a table, for those who cannot see the strip."""
    rows = resource_rows(workspace.scope)
    strips = heat_strips(rows, now=now)
    lines = resource_lines(rows, now=now)
    return {
        "heat": [(line, hour_cells(strips[line.pk])) for line in lines],
        "hours": hour_starts(strips[lines[0].pk]) if lines else [],
    }
