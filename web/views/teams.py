"""Teams: who is in them, and which workloads they own by their tags."""

from __future__ import annotations

from collections import Counter

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.models import Membership, Organisation
from accounts.roles import Action
from advisor.core.tags import read_tags
from advisor.decisions.teams import note_team, remove_team, set_team, state_tags
from advisor.models import Team, Workload
from advisor.queries.teams import team_names
from web.access import Workspace, open_row, workspace_view
from web.api.v1.noted import noted
from web.changing import changing
from web.page import render_page
from web.tables.address import read_address
from web.tables.listing import listing
from web.tables.workloads import workload_table


@require_safe
@workspace_view
def teams(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    rows = workspace.scope.rows(Team).prefetch_related("members__user")
    counts = Counter(name for names in team_names(workspace.scope).values() for name in names)
    return render_page(
        request,
        workspace,
        "web/teams.html",
        now=timezone.now(),
        teams=[(row, counts[row.name]) for row in rows],
        people=_people(workspace.membership.organisation),
    )


@require_safe
@workspace_view
def team(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    now = timezone.now()
    workspace, row = open_row(workspace, Team, pk)
    table = workload_table(now, team=row)
    query = QueryDict(mutable=True)
    query.update({"team": row.name, "sort": "-rate"})
    query.setlist("columns", ["name", "resource", "host", "tier", "rate", "state"])
    address = read_address(query, table)
    members = list(row.members.select_related("user").order_by("user__username"))
    return render_page(
        request,
        workspace,
        "web/team.html",
        now=now,
        section="workloads",
        team=row,
        members=members,
        member_keys={one.pk for one in members},
        people=_people(row.organisation),
        table=table,
        address=address,
        listing=listing(table, address, scope=workspace.scope, now=now),
        list_address=reverse("workloads"),
    )


def _people(organisation: Organisation) -> list[Membership]:
    found = Membership.objects.filter(organisation=organisation).select_related("user")
    return list(found.order_by("user__username"))


@changing("teams")
def make(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    made = _state(request, workspace, request.POST.get("name", "").strip())
    return redirect("team", made.pk)


@changing("team", of_row=True)
def change(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, Team, pk)
    _state(request, workspace, row.name)
    messages.success(request, f"{row.name} is changed.")
    return redirect("team", row.pk)


def _state(request: HttpRequest, workspace: Workspace, name: str) -> Team:
    workspace.actor.require(Action.DECIDE)
    made = set_team(
        organisation=workspace.membership.organisation,
        name=name,
        tags=read_tags(request.POST.get("tags", "")),
        members=request.POST.getlist("members"),
    )
    note_team(made, actor=workspace.actor, now=timezone.now())
    return made


@changing("teams")
def remove(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_row(workspace, Team, pk)
    workspace.actor.require(Action.DECIDE)
    remove_team(organisation=row.organisation, name=row.name)
    noted(workspace, "remove team", row.name)
    messages.success(request, f"There is no team {row.name} any more.")
    return redirect("teams")


@changing("workload", of_row=True)
def give_tags(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """State the tags of a workload, beside those that collectors send."""
    workspace, row = open_row(workspace, Workload, pk)
    workspace.actor.require(Action.DECIDE)
    tags = read_tags(request.POST.get("tags", ""))
    state_tags(organisation=row.organisation, name=row.name, tags=tags)
    noted(workspace, "state tags", row.name)
    messages.success(request, f"The tags of {row.name} are stated.")
    return redirect("workload", row.pk)
