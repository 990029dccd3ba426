"""Create and revoke tokens."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db import models, transaction

from accounts.actor import COMMAND_LINE, Actor
from accounts.errors import NotAllowed, NotFound, TokenRefused
from accounts.models import Membership, Organisation, Scope, Token
from accounts.models.token import OF_PEOPLE
from accounts.roles import Action
from accounts.services.audit import record

if TYPE_CHECKING:
    from django.db.models import QuerySet

LONGEST_NAME = 100


@transaction.atomic
def create_token(
    *,
    organisation: Organisation,
    name: str,
    scope: Scope,
    host_name: str | None = None,
    username: str | None = None,
    expires_at: datetime | None = None,
    by: Actor = COMMAND_LINE,
) -> tuple[Token, str]:
    """Create a token; its secret is in the result and nowhere else.

    With a host the token is valid for that host only; a missing host is created.
    The scopes `read` and `write` take a member of the organisation, as whom the token acts: who
    has a login here makes those for nobody else.
    """
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise TokenRefused(f"a token needs a name of at most {LONGEST_NAME} letters")
    member = _member(organisation, scope, username)
    if member is None:
        by.require(Action.MANAGE_TOKENS)
    elif by.user_id not in (None, member.user_id):
        raise NotAllowed(f"{by.name} may make no token that acts as {username}")
    if member is not None and host_name:
        raise TokenRefused(f"a token with scope {scope} acts as a person, so it takes no host")
    if scope == Scope.ENFORCE and not host_name:
        raise TokenRefused("a token with scope enforce is of one host; say of which")
    token, secret = Token.objects.issue(
        organisation=organisation,
        name=name,
        scope=scope,
        host=_host(organisation, host_name) if host_name else None,
        user=None if member is None else member.user,
        made_by=by.name,
        expires_at=expires_at,
    )
    record(
        organisation=organisation, actor=by, action="create token", subject=name,
        now=token.created_at,
        details={"token": token.pk, "scope": scope, "host": host_name, "user": username},
    )  # fmt: skip
    return token, secret


@transaction.atomic
def revoke_token(
    *, organisation: Organisation, pk: int, now: datetime, by: Actor = COMMAND_LINE
) -> Token:
    """Invalidate a token immediately; doing it again changes nothing."""
    token = tokens_for(organisation, by).filter(pk=pk).first()
    if token is None:
        raise NotFound(f"{organisation} has no token {pk}; `sluice token list` shows them")
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
        token.revoked_at = now
        record(
            organisation=organisation, actor=by, action="revoke token", subject=token.name,
            now=now, details={"token": token.pk, "scope": token.scope},
        )  # fmt: skip
    return token


def tokens_for(organisation: Organisation, by: Actor) -> QuerySet[Token]:
    """The tokens that somebody sees and may revoke: all, or those that act as themselves."""
    found = Token.objects.filter(organisation=organisation).select_related("host", "user")
    return found if by.may(Action.MANAGE_TOKENS) else found.filter(user_id=by.user_id or 0)


def _host(organisation: Organisation, name: str) -> models.Model:
    host: models.Model = organisation.hosts.model(organisation=organisation, name=name)
    if not name.isprintable():
        raise TokenRefused("that is no name of a host: it has letters that cannot be printed")
    try:
        host.clean_fields()
    except ValidationError as error:
        raise TokenRefused(f"that is no name of a host: {'; '.join(error.messages)}") from error
    found: tuple[models.Model, bool] = organisation.hosts.get_or_create(name=name)
    return found[0]


def _member(organisation: Organisation, scope: Scope, username: str | None) -> Membership | None:
    """As whom a token of this scope acts; None for the scopes of programs."""
    if scope not in OF_PEOPLE:
        if username:
            raise TokenRefused(f"a token with scope {scope} is of no person; leave the user out")
        return None
    if not username:
        raise TokenRefused(f"a token with scope {scope} acts as a person; say as which member")
    found = Membership.objects.filter(organisation=organisation, user__username=username)
    member = found.select_related("user").first()
    if member is None:
        raise NotFound(f"{organisation} has no member {username}; `sluice member list` shows them")
    return member
