"""Tokens of programs, and of people for their programs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.errors import TokenRefused
from accounts.models import Scope, Token
from accounts.models.token import OF_PEOPLE
from accounts.services.tokens import LONGEST_NAME, create_token, revoke_token, tokens_for
from ingest.core.lengths import LONGEST_HOST_NAME
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import asker_of, keep_instead, token_of
from web.api.v1.fields import NO_NUL, Asked, Moment, Pk
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["tokens"])


class TokenRow(Schema):
    """A token without its secret, which is stored nowhere."""

    id: int
    name: str
    scope: Scope
    host: str | None
    username: str | None
    is_valid: bool
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class MadeToken(TokenRow):
    """A new token; `secret` is told this once, and null where the answer is told again."""

    secret: str | None


class TokenPage(Page):
    items: list[TokenRow]


class NewToken(Asked):
    """One that reads or writes acts as the person who asks; the others take an admin."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=NO_NUL)]
    scope: Scope
    host: (
        Annotated[str, Field(min_length=1, max_length=LONGEST_HOST_NAME, pattern=NO_NUL)] | None
    ) = Field(None, description="it is valid for this one alone; made if missing")
    expires_at: Moment | None = Field(
        None,
        description="null: never, or with the token that makes it where it acts as a person",
    )


@router.get("", response=TokenPage)
def list_tokens(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List the tokens of the organisation; who is no admin sees those that act as them."""
    found, cursor = page_of(_rows(request), asked)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=TokenRow)
def get_token(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a token."""
    row = get_object_or_404(_rows(request), pk=pk)
    tagged(response, _tag(row))
    return _plain(row)


@router.post("", response={201: MadeToken})
def make_token(request: HttpRequest, asked: NewToken, response: HttpResponse) -> Any:
    """Make a token."""
    membership = asker_of(request).membership
    is_of_person = asked.scope in OF_PEOPLE
    made, secret = create_token(
        organisation=membership.organisation,
        name=asked.name,
        scope=asked.scope,
        host_name=asked.host,
        username=membership.user.get_username() if is_of_person else None,
        expires_at=_end(request, asked) if is_of_person else asked.expires_at,
        by=asker_of(request).actor,
    )
    plain = _plain(_rows(request).get(pk=made.pk))
    keep_instead(request, {**plain, "secret": None})
    response.headers["Location"] = f"/api/v1/tokens/{made.pk}"
    tagged(response, _tag(made))
    return Status(201, {**plain, "secret": secret})


@router.delete("/{int:pk}", response={204: None})
def revoke_token_of_organisation(request: HttpRequest, pk: Pk) -> Any:
    """Revoke a token; it opens nothing from now on, and stays in the list."""
    rows = _rows(request)
    row = get_object_or_404(rows.select_for_update(no_key=True, of=("self",)), pk=pk)
    require_match(request, _tag(row))
    membership = asker_of(request).membership
    revoke_token(
        organisation=membership.organisation, pk=row.pk, now=timezone.now(),
        by=asker_of(request).actor,
    )  # fmt: skip
    return Status(204, None)


def _end(request: HttpRequest, asked: NewToken) -> datetime | None:
    """A token that leaked makes none that outlives it."""
    last = token_of(request).expires_at
    if last is not None and asked.expires_at is not None and asked.expires_at > last:
        raise TokenRefused(
            f"this token ends at {last:%Y-%m-%d %H:%M} UTC, and makes none that ends later"
        )
    return asked.expires_at or last


def _rows(request: HttpRequest) -> Any:
    workspace = asker_of(request)
    return tokens_for(workspace.membership.organisation, workspace.actor)


def _tag(row: Token) -> str:
    return tag_of(row.pk, row.revoked_at)


def _plain(row: Token) -> dict[str, Any]:
    is_over = row.expires_at is not None and row.expires_at <= timezone.now()
    return {
        "id": row.pk,
        "name": row.name,
        "scope": row.scope,
        "host": row.host.name if row.host else None,
        "username": row.user.get_username() if row.user else None,
        "is_valid": row.revoked_at is None and not is_over,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "revoked_at": row.revoked_at,
        "last_used_at": row.last_used_at,
    }
