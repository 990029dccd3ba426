"""Join tokens, by which hosts connect themselves."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.models import Collects, JoinMode, JoinToken, Runs
from accounts.roles import Action
from accounts.services.join_tokens import (
    DEFAULT_MINUTES,
    LONGEST_MINUTES,
    MOST_HOSTS,
    Terms,
    described,
    join_tokens_of,
    make_join_token,
    revoke_join_token,
)
from ingest.core.lengths import LONGEST_HOST_NAME
from web.access import Workspace
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, keep_instead
from web.api.v1.fields import NO_NUL, WHOLE, Asked, Pk
from web.api.v1.version_tag import require_match, tag_of, tagged
from web.views.connect import join_line

router = Router(tags=["join tokens"])
MostHosts = Annotated[int, Field(ge=1, le=MOST_HOSTS), WHOLE]
Minutes = Annotated[int, Field(ge=1, le=LONGEST_MINUTES), WHOLE]


class JoinTokenRow(Schema):
    """A join token without its secret, which is stored nowhere.

    `state` is open, used up, expired or revoked.
    """

    id: int
    state: str
    runs: Runs
    mode: JoinMode
    collects: Collects
    host: str | None
    most_hosts: int
    hosts_joined: int
    made_by: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None


class MadeJoinToken(JoinTokenRow):
    """`line` is pasted on the hosts; it is told this once, and null where it is told again."""

    line: str | None


class JoinTokenPage(Page):
    items: list[JoinTokenRow]


class NewJoinToken(Asked):
    """With a host it is for this one alone, which may be known already."""

    runs: Runs = Runs.SERVICE
    mode: JoinMode = JoinMode.OBSERVE
    collects: Collects = Collects.READER
    host: (
        Annotated[str, Field(min_length=1, max_length=LONGEST_HOST_NAME, pattern=NO_NUL)] | None
    ) = None
    most_hosts: MostHosts = 1
    minutes: Minutes = DEFAULT_MINUTES


@router.get("", response=JoinTokenPage)
def list_join_tokens(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List join tokens; takes an admin."""
    found, cursor = page_of(_rows(_admin(request)), asked)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=JoinTokenRow)
def get_join_token(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a join token; takes an admin."""
    row = get_object_or_404(_rows(_admin(request)), pk=pk)
    tagged(response, _tag(row))
    return _plain(row)


@router.post("", response={201: MadeJoinToken})
def make_token_to_join(request: HttpRequest, asked: NewJoinToken, response: HttpResponse) -> Any:
    """Make a join token; takes an admin."""
    workspace = _admin(request)
    made, secret = make_join_token(
        organisation=workspace.membership.organisation,
        terms=Terms(
            runs=asked.runs,
            mode=asked.mode,
            collects=asked.collects,
            host_name=asked.host or "",
            most_hosts=asked.most_hosts,
            minutes=asked.minutes,
        ),
        now=timezone.now(),
        by=workspace.actor,
    )
    plain = _plain(made)
    keep_instead(request, {**plain, "line": None})
    response.headers["Location"] = f"/api/v1/join-tokens/{made.pk}"
    tagged(response, _tag(made))
    return Status(201, {**plain, "line": join_line(request, secret)})


@router.delete("/{int:pk}", response={204: None})
def revoke_token_to_join(request: HttpRequest, pk: Pk) -> Any:
    """Revoke a join token; no host joins by it any more. Takes an admin."""
    workspace = _admin(request)
    row = get_object_or_404(_rows(workspace).select_for_update(no_key=True), pk=pk)
    require_match(request, _tag(row))
    revoke_join_token(
        organisation=workspace.membership.organisation, pk=row.pk, now=timezone.now(),
        by=workspace.actor,
    )  # fmt: skip
    return Status(204, None)


def _admin(request: HttpRequest) -> Workspace:
    return acting(request, Action.MANAGE_TOKENS)


def _rows(workspace: Workspace) -> Any:
    return join_tokens_of(workspace.membership.organisation)


def _tag(row: JoinToken) -> str:
    return tag_of(row.pk, row.revoked_at, row.hosts_joined)


def _plain(row: JoinToken) -> dict[str, Any]:
    return {**described(row, now=timezone.now()), "revoked_at": row.revoked_at}
