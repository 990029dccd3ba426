"""Programs identify themselves with a token: `Authorization: Token ...` or `Bearer ...`.

Those that only know a user and a password send the token as the password, whoever the user is.
"""

from __future__ import annotations

import base64
from datetime import datetime, timedelta

from django.db.models import Q

from accounts.models import Scope, Token
from accounts.models.token import token_digest
from accounts.row_wall import show_secret

_SCHEMES = frozenset({"token", "bearer"})
_BASIC = "basic"
_USE_NOTED_EVERY = timedelta(minutes=1)


class AuthenticationError(Exception):
    """No valid token was sent."""


class ForbiddenError(Exception):
    """The token is valid and does not allow this."""


def authenticate(authorization: str, *, scope: Scope, now: datetime) -> Token:
    """The token of an Authorization header, if it is valid and has this scope."""
    secret = secret_of(authorization)
    if not secret:
        raise AuthenticationError('send "Authorization: Token <token>" with a token of Sluice')
    show_secret(token_digest(secret))
    token = Token.objects.valid(secret, now=now)
    if token is None:
        raise AuthenticationError("the token is unknown, revoked or expired")
    if token.scope != scope:
        raise ForbiddenError(f'the token has scope "{token.scope}"; this needs "{scope}"')
    _note_use(token, now)
    return token


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
