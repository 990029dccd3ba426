"""Silences: nobody is told of a resource, or of anything, until they end."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.roles import Action
from advisor.models import NotificationSilence, Resource
from advisor.models.notification import LONGEST_REASON
from advisor.notifications import state
from advisor.queries.notifications import silences_now
from web.access import open_row
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import NO_NUL, Asked, Moment, Pk
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["notifications"])


class SilenceRow(Schema):
    """A silence that has not ended; without a resource it is of everything."""

    id: int
    resource_id: int | None
    resource: str | None
    until: datetime
    reason: str
    made_by: str


class SilencePage(Page):
    items: list[SilenceRow]


class NewSilence(Asked):
    resource_id: Pk | None = None
    until: Moment = Field(description="at most 30 days from now")
    reason: Annotated[str, Field(max_length=LONGEST_REASON, pattern=NO_NUL)] = ""


@router.get("", response=SilencePage)
def list_silences(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List the silences that have not ended."""
    found, cursor = page_of(_rows(request), asked)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=SilenceRow)
def get_silence(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a silence."""
    plain = _plain(get_object_or_404(_rows(request), pk=pk))
    tagged(response, tag_of(plain))
    return plain


@router.post("", response={201: SilenceRow})
def make_silence(request: HttpRequest, asked: NewSilence, response: HttpResponse) -> Any:
    """Tell nobody for a while; it ends by itself."""
    workspace = acting(request, Action.DECIDE)
    resource = None
    if asked.resource_id is not None:
        _, resource = open_row(
            workspace, Resource, asked.resource_id, among=workspace.scope.rows(Resource)
        )
    row = state.silence(
        organisation=workspace.membership.organisation, resource=resource, until=asked.until,
        reason=asked.reason, actor=workspace.actor, now=timezone.now(),
    )  # fmt: skip
    response.headers["Location"] = f"/api/v1/silences/{row.pk}"
    tagged(response, tag_of(_plain(row)))
    return Status(201, _plain(row))


@router.delete("/{int:pk}", response={204: None})
def end_silence(request: HttpRequest, pk: Pk) -> Any:
    """Tell again from now on."""
    row = get_object_or_404(_rows(request), pk=pk)
    workspace = acting(request, Action.DECIDE)
    require_match(request, tag_of(_plain(row)))
    state.end_silence(row, actor=workspace.actor, now=timezone.now())
    return Status(204, None)


def _rows(request: HttpRequest) -> Any:
    rows = silences_now(asker_of(request).scope, now=timezone.now())
    return rows.select_related("organisation", "resource")


def _plain(row: NotificationSilence) -> dict[str, Any]:
    return {
        "id": row.pk,
        "resource_id": row.resource_id,
        "resource": row.resource.name if row.resource else None,
        "until": row.until,
        "reason": row.reason,
        "made_by": row.made_by,
    }
