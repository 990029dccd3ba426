"""Programs identify themselves with a token: `Authorization: Token ...` or `Bearer ...`."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q

from accounts.models import Scope, Token

_SCHEMES = frozenset({"token", "bearer"})
_USE_NOTED_EVERY = timedelta(minutes=1)


class AuthenticationError(Exception):
    """No valid token was sent."""


class ForbiddenError(Exception):
    """The token is valid and does not allow this."""


def authenticate(authorization: str, *, scope: Scope, now: datetime) -> Token:
    """The token of an Authorization header, if it is valid and has this scope."""
    scheme, _, secret = authorization.strip().partition(" ")
    if scheme.lower() not in _SCHEMES or not secret.strip():
        raise AuthenticationError('send "Authorization: Token <token>" with a token of Sluice')
    token = Token.objects.valid(secret.strip(), now=now)
    if token is None:
        raise AuthenticationError("the token is unknown, revoked or expired")
    if token.scope != scope:
        raise ForbiddenError(f'the token has scope "{token.scope}"; this needs "{scope}"')
    _note_use(token, now)
    return token


def _note_use(token: Token, now: datetime) -> None:
    """Remember when the token was last used, to the minute: not one write per request."""
    due = Q(last_used_at=None) | Q(last_used_at__lt=now - _USE_NOTED_EVERY)
    if token.last_used_at is None or token.last_used_at < now - _USE_NOTED_EVERY:
        Token.objects.filter(due, pk=token.pk).update(last_used_at=now)
