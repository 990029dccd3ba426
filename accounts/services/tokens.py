"""Create and revoke tokens."""

from __future__ import annotations

from datetime import datetime

from accounts.errors import NotFound
from accounts.models import Organisation, Scope, Token


def create_token(
    *,
    organisation: Organisation,
    name: str,
    scope: Scope,
    host_name: str | None = None,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """Create a token; its secret is in the result and nowhere else.

    With a host the token is valid for that host only; a missing host is created.
    """
    host = None
    if host_name:
        host, _ = organisation.hosts.get_or_create(name=host_name)
    token, secret = Token.objects.issue(
        organisation=organisation, name=name, scope=scope, host=host
    )
    if expires_at is not None:
        token.expires_at = expires_at
        token.save(update_fields=["expires_at"])
    return token, secret


def revoke_token(*, organisation: Organisation, pk: int, now: datetime) -> Token:
    """Invalidate a token immediately; doing it again changes nothing."""
    token = Token.objects.filter(organisation=organisation, pk=pk).first()
    if token is None:
        raise NotFound(f"{organisation} has no token {pk}; `sluice token list` shows them")
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
        token.revoked_at = now
    return token
