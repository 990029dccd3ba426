"""Teams: who is in them, and by which tags they own workloads."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.models import Organisation
from accounts.roles import Action
from advisor.decisions.teams import note_team, remove_team, set_team
from advisor.models import Team
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import Asked, Name, Pk, Tags
from web.api.v1.noted import noted
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["teams"])


class TeamRow(Schema):
    """A team owns each workload that has one of its tags; `members` are usernames."""

    id: int
    name: str
    tags: list[str]
    members: list[str]


class TeamPage(Page):
    items: list[TeamRow]


class StatedTeam(Asked):
    """All of a team but its members, which are kept where they are left out."""

    name: Name
    tags: Tags = Field(default_factory=list)
    members: Annotated[list[Name], Field(max_length=1000)] | None = None


@router.get("", response=TeamPage)
def list_teams(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List teams."""
    found, cursor = page_of(_rows(request), asked)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=TeamRow)
def get_team(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a team; its workloads are those of the list with `team`."""
    row = get_object_or_404(_rows(request), pk=pk)
    tagged(response, tag_of(_plain(row)))
    return _plain(row)


@router.put("", response=TeamRow)
def state_team(request: HttpRequest, asked: StatedTeam, response: HttpResponse) -> Any:
    """State a team, by its name. It gives its members no right."""
    workspace = acting(request, Action.DECIDE)
    organisation = workspace.membership.organisation
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    present = _rows(request).filter(name=asked.name).first()
    require_match(request, tag_of(None if present is None else _plain(present)))
    made = set_team(organisation=organisation, **asked.dict())
    note_team(made, actor=workspace.actor, now=timezone.now())
    row = _rows(request).get(pk=made.pk)
    tagged(response, tag_of(_plain(row)))
    return _plain(row)


@router.delete("/{int:pk}", response={204: None})
def remove_team_of_organisation(request: HttpRequest, pk: Pk) -> Any:
    """Remove a team; its members and workloads stay."""
    row = get_object_or_404(_rows(request), pk=pk)
    workspace = acting(request, Action.DECIDE)
    Organisation.objects.select_for_update(no_key=True).get(pk=row.organisation_id)
    require_match(request, tag_of(_plain(row)))
    remove_team(organisation=row.organisation, name=row.name)
    noted(workspace, "remove team", row.name)
    return Status(204, None)


def _rows(request: HttpRequest) -> Any:
    rows = asker_of(request).scope.rows(Team)
    return rows.select_related("organisation").prefetch_related("members__user")


def _plain(row: Team) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "tags": row.tags,
        "members": sorted(one.user.get_username() for one in row.members.all()),
    }
