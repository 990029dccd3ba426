"""Programs identify themselves with a token: `Authorization: Token ...` or `Bearer ...`.

Those that only know a user and a password send the token as the password, whoever the user is.
"""

from __future__ import annotations

import base64
from datetime import datetime, timedelta
from typing import Protocol

from django.db.models import Q

from accounts.log_context import tell
from accounts.models import Membership, Scope, Token
from accounts.models.token import token_digest
from accounts.row_wall import show_secret

_SCHEMES = frozenset({"token", "bearer"})
_BASIC = "basic"
_OPENS = {Scope.READ: (Scope.READ, Scope.WRITE)}
"""The scopes that also do where one is asked for."""
_USE_NOTED_EVERY = timedelta(minutes=1)


class AuthenticationError(Exception):
    """No valid token was sent."""


class ForbiddenError(Exception):
    """The token is valid and does not allow this."""


class FindsToken(Protocol):
    """Gives the token of a secret if it is neither revoked nor expired.

    Behind the wall of rows it says first whose rows it looks at (`accounts.row_wall`).
    """

    def __call__(self, secret: str, *, now: datetime) -> Token | None: ...


def authenticate(
    authorization: str, *, scope: Scope, now: datetime, find: FindsToken | None = None
) -> Token:
    """The token of an Authorization header, if it is valid and has this scope.

    Who needs more than the token gives a `find` of its own, and asks the database once.
    """
    secret = secret_of(authorization)
    if not secret:
        raise AuthenticationError('send "Authorization: Token <token>" with a token of Sluice')
    token = (find or _valid)(secret, now=now)
    if token is None:
        raise AuthenticationError("the token is unknown, revoked or expired")
    if token.scope not in _OPENS.get(scope, (scope,)):
        raise ForbiddenError(f'the token has scope "{token.scope}"; this needs "{scope}"')
    _note_use(token, now)
    tell_token(token)
    return token


def _valid(secret: str, *, now: datetime) -> Token | None:
    show_secret(token_digest(secret))
    return Token.objects.valid(secret, now=now)


def tell_token(token: Token) -> None:
    """Lines of this request tell whose token it came with; of the token itself nothing."""
    tell(organisation=token.organisation_id)


def authenticate_person(
    authorization: str, *, scope: Scope, now: datetime
) -> tuple[Token, Membership]:
    """The token, and as whom it acts: a member with the role that they have now."""
    token = authenticate(authorization, scope=scope, now=now)
    members = Membership.objects.filter(
        organisation_id=token.organisation_id, user__tokens=token, user__is_active=True
    )
    member = members.select_related("organisation", "user").first()
    if member is None:
        raise AuthenticationError("the token is of somebody who is no member any more")
    return token, member


def secret_of(authorization: str) -> str:
    """The token in an Authorization header; empty if there is none."""
    scheme, _, value = authorization.strip().partition(" ")
    if scheme.lower() in _SCHEMES:
        return value.strip()
    if scheme.lower() != _BASIC:
        return ""
    try:
        _, _, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    # Also of letters that base64 does not have.
    except ValueError:
        return ""
    return password.strip()


def _note_use(token: Token, now: datetime) -> None:
    """Remember when the token was last used, to the minute: not one write per request."""
    due = Q(last_used_at=None) | Q(last_used_at__lt=now - _USE_NOTED_EVERY)
    if token.last_used_at is None or token.last_used_at < now - _USE_NOTED_EVERY:
        Token.objects.filter(due, pk=token.pk).update(last_used_at=now)
