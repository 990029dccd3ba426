"""Is anything congested, who causes it, what should I do?"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.decisions.rollouts.begin import terms_of
from advisor.history.policy_state import newest_policies, policy_states
from advisor.models import State
from advisor.queries.heat import heat_strips
from advisor.queries.hosts import host_healths
from advisor.queries.incidents import correlated_lines, open_incident_lines
from advisor.queries.movers import (
    AGAINST,
    Against,
    against_of,
    remembered_movers,
    top_movers,
)
from advisor.queries.resources import ResourceLine, by_urgency, read_lines
from advisor.queries.rollouts import rollouts_under_way
from ingest.models import Host
from web.access import Workspace, workspace_view
from web.drawing.heat import axis_labels, heat_row, hour_cells, hour_starts
from web.page import render_page, render_part


@require_safe
@workspace_view
def overview(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """The page, or one part of it: they change at different times, so each is asked for alone."""
    now = timezone.now()
    against = against_of(request.GET.get("against", ""))
    if "HX-Request" in request.headers:
        template, context = _part(workspace, request.GET.get("part", ""), against, now)
        return render_part(request, workspace, template, now=now, **context)
    lines = by_urgency(read_lines(workspace.scope, now=now))
    context = {
        **_state(workspace, lines, now),
        **_heat(workspace, lines, now),
        **_frame_of_movers(workspace, against, now, at_once="movers" in request.GET),
        **_lists(workspace, lines, now),
    }
    return render_page(
        request, workspace, "web/overview.html", now=now, section="overview", **context
    )


def _part(
    workspace: Workspace, name: str, against: Against, now: datetime
) -> tuple[str, dict[str, Any]]:
    """The template of the part of this name, and what it shows; the state without a name."""
    if name == "movers":
        return "web/parts/movers.html", _movers(workspace, against, now)
    lines = by_urgency(read_lines(workspace.scope, now=now))
    match name:
        case "hours":
            return "web/parts/heat_hours.html", _hours(lines, now)
        case "heat":
            return "web/parts/overview_heat.html", _heat(workspace, lines, now)
        case "lists":
            return "web/parts/overview_lists.html", _lists(workspace, lines, now)
    return "web/parts/overview.html", _state(workspace, lines, now)


def _state(workspace: Workspace, lines: list[ResourceLine], now: datetime) -> dict[str, Any]:
    """Whether anything is congested, and who causes it."""
    scope = workspace.scope
    sampled = scope.rows(Host).values_list("last_sample_at", flat=True)
    times = list(sampled)
    # A host whose clock is ahead sent its samples by now all the same.
    known = [min(at, now) for at in times if at]
    incidents = open_incident_lines(scope, now=now)
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
        "hosts": times,
        "newest_sample_at": max(known, default=None),
    }


def _heat(workspace: Workspace, lines: list[ResourceLine], now: datetime) -> dict[str, Any]:
    """The last day of every resource, as strips."""
    strips = heat_strips([line.pk for line in lines], now=now)
    return {
        "hosts": workspace.scope.rows(Host).exists(),
        "heat": [heat_row(line, strips[line.pk]) for line in lines],
        "heat_axis": axis_labels(strips[lines[0].pk]) if lines else [],
    }


def _frame_of_movers(
    workspace: Workspace, against: Against, now: datetime, *, at_once: bool
) -> dict[str, Any]:
    """The movers if they are remembered; if not, the page asks for them once it is shown.

    `at_once` is for browsers without scripts, which cannot ask.
    """
    ask = top_movers if at_once else remembered_movers
    found = ask(workspace.scope, against, now=now)
    return {
        "movers": found,
        "movers_follow": found is None,
        "against": against,
        "comparisons": AGAINST,
    }


def _movers(workspace: Workspace, against: Against, now: datetime) -> dict[str, Any]:
    """What changed most, against an hour ago or this time yesterday."""
    return {
        "movers": top_movers(workspace.scope, against, now=now),
        "against": against,
    }


def _lists(workspace: Workspace, lines: list[ResourceLine], now: datetime) -> dict[str, Any]:
    """What waits for somebody: recommendations, hosts, policies that do not hold."""
    scope = workspace.scope
    hosts = host_healths(scope, now=now)
    proposed = scope.recommendations().waiting(now)
    policies = newest_policies([line.pk for line in lines])
    states = policy_states(policies, now=now)
    return {
        "hosts": hosts,
        "care": [host for host in hosts if host.needs_care],
        "recommendations": list(proposed.select_related("resource").order_by("-created_at")),
        "policies": policies,
        "rollouts": rollouts_under_way(workspace.membership.organisation),
        "rollout_terms": terms_of(workspace.membership.organisation),
        "doubtful": [
            (policy, states[policy.pk]) for policy in policies if states[policy.pk].is_doubtful
        ],
    }


def _hours(lines: list[ResourceLine], now: datetime) -> dict[str, Any]:
    """The last day as a table, for those who cannot see the strip."""
    strips = heat_strips([line.pk for line in lines], now=now)
    return {
        "heat": [(line, hour_cells(strips[line.pk])) for line in lines],
        "hours": hour_starts(strips[lines[0].pk]) if lines else [],
    }
