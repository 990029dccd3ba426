"""Why is it slow, who gets what, who should?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from advisor.decisions.decide import rollback
from advisor.decisions.rollouts.begin import shown_terms
from advisor.errors import DecisionRefused
from advisor.history.held_policies import WITH_ROLLOUT
from advisor.history.levels import newest_loads
from advisor.history.policy_state import policy_state
from advisor.history.shared_names import shared_names, shared_sentence
from advisor.history.silence import silence_text
from advisor.models import POLICY_TOPIC, Enforcer, Incident, Policy, Recommendation, Resource
from advisor.queries.allocations import allocation_lines, policy_in_force
from advisor.queries.claims import claims_on
from advisor.queries.commitments import commitment_of
from advisor.queries.device_figures import resource_devices
from advisor.queries.earlier_states import earlier_states
from advisor.queries.full_days import full_day_text
from advisor.queries.identity import identity_notes
from advisor.queries.notifications import silence_of
from advisor.queries.pools import pool_lines
from advisor.queries.resources import resource_line
from advisor.queries.rollouts import rollout_view
from web.access import Workspace, open_row, require_operator, workspace_view
from web.chart_list import chart_list, charts_context
from web.formatting import rate_scale
from web.page import render_page, render_part
from web.views.silences import LENGTHS_OF_ONE

SHOWN_VERSIONS = 20
DAY = timedelta(hours=24)


@require_safe
@workspace_view
def resource(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    now = timezone.now()
    related = ("status", "organisation__rollout_terms")
    workspace, row = open_row(workspace, Resource, pk, *related)
    if "HX-Request" in request.headers:
        part = request.GET.get("part", "")
        part = part if part in _PARTS else "head"
        context = _PARTS[part](row, now)
        template = f"web/parts/{_TEMPLATES.get(part, f'resource_{part}')}.html"
        return render_part(request, workspace, template, now=now, resource=row, **context)
    return _page(request, workspace, row, now=now)


def _page(
    request: HttpRequest, workspace: Workspace, row: Resource, *, now: datetime, status: int = 200
) -> HttpResponseBase:
    rows = row.policies.select_related(
        "created_by", "recommendation", "rollback_of", *WITH_ROLLOUT
    )
    policies = list(rows.order_by("-version")[:SHOWN_VERSIONS])
    head = _head(row, now)
    return render_page(
        request,
        workspace,
        "web/resource.html",
        now=now,
        status=status,
        resource=row,
        policies=policies,
        earlier=earlier_states(row),
        identity=identity_notes(row),
        claims=claims_on(row),
        silenced=silence_of(row, now=now),
        silence_lengths=LENGTHS_OF_ONE,
        agent_count=len({one.host_id for one in head["attachments"] if one.has_agent}),
        **charts_context(request.GET, "resource", row.pk, chart_list(row), now=now),
        **head,
        **_rollout_of(policies[0] if policies else None, row, now),
        **_allocations_under(policies[0] if policies else None, head["incident"], row, now),
    )


def _head(row: Resource, now: datetime) -> dict[str, Any]:
    open_advice = list(Recommendation.objects.open_at(now).filter(resource=row))
    status = getattr(row, "status", None)
    return {
        "line": resource_line(row, now=now),
        "incident": _open_incident(row),
        # What ends an incident comes first.
        "advice": sorted(open_advice, key=lambda one: (one.topic != POLICY_TOPIC, one.topic)),
        "has_policy_advice": any(one.topic == POLICY_TOPIC for one in open_advice),
        "advice_gaps": sorted(status.other_advice_gaps.items()) if status else [],
        # A datastore counted in bytes is watched by its I/Os all the same.
        "load_unit": row.traits.load_unit,
        "silence": silence_text(row, at=now),
        "shared": shared_sentence(shared_names(row, at=now)),
        "load": newest_loads([row.pk], since=now - DAY).get(row.pk),
        "commitment": commitment_of(row),
        "full_day": full_day_text(row),
        "attachments": list(
            row.attachments.select_related("host")
            .annotate(has_agent=Exists(Enforcer.objects.filter(host=OuterRef("host"))))
            .order_by("host__name")
        ),
    }


def _allocations(row: Resource, now: datetime) -> dict[str, Any]:
    return _allocations_under(policy_in_force(row), _open_incident(row), row, now)


def _open_incident(row: Resource) -> Incident | None:
    return row.incidents.filter(ended_at=None).first()


def _allocations_under(
    policy: Policy | None, incident: Incident | None, row: Resource, now: datetime
) -> dict[str, Any]:
    state = policy_state(policy, now=now) if policy else None
    lines = allocation_lines(row, policy=policy, incident=incident, now=now)
    numbers = [
        value
        for line in lines
        for value in (line.reservation, line.limit, line.entitlement, line.got)
        if value is not None
    ]
    return {
        "allocations": lines,
        "pools": pool_lines(row, policy),
        "policy": policy,
        "policy_state": state,
        "scale": rate_scale(row.unit, max(numbers, default=None)),
    }


def _devices(row: Resource, now: datetime) -> dict[str, Any]:
    found = resource_devices(row, now=now)
    return {
        "devices": found.devices,
        "more": found.more,
        "seen": found.seen,
        "size_term": found.size_term,
    }


def _rollout(row: Resource, now: datetime) -> dict[str, Any]:
    return _rollout_of(policy_in_force(row), row, now)


def _rollout_of(policy: Policy | None, row: Resource, now: datetime) -> dict[str, Any]:
    """Where the newest version of the policy stands, and whether all rollouts are stopped."""
    terms = shown_terms(row.organisation)
    return {"rollout": rollout_view(policy, terms, now=now), "rollout_terms": terms}


_PARTS: Mapping[str, Callable[[Resource, datetime], dict[str, Any]]] = {
    "head": _head,
    "allocations": _allocations,
    "devices": _devices,
    "rollout": _rollout,
}


_TEMPLATES = {"rollout": "rollout"}
"""Of parts that other pages show too."""


@require_POST
@workspace_view
def roll_back(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Publish an earlier version of the policy again."""
    now = timezone.now()
    workspace, row = open_row(workspace, Resource, pk, "status")
    require_operator(workspace)
    version = request.POST.get("version", "")
    if not version.isdecimal():
        messages.error(request, "Say which version to go back to; nothing was changed.")
        return _page(request, workspace, row, now=now, status=400)
    try:
        policy = rollback(
            resource=row, user=workspace.membership.user, now=now, to_version=int(version)
        )
    except DecisionRefused as error:
        messages.error(request, f"Nothing was changed: {error}.")
        return _page(request, workspace, row, now=now, status=409)
    messages.success(
        request,
        f"Version {policy.version} repeats version {version}. It is "
        f"{policy_state(policy, now=now).text}. Agents take it with their next pull.",
    )
    return redirect("resource", row.pk)
