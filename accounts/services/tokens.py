"""Create and revoke tokens."""

from __future__ import annotations

from datetime import datetime

from accounts.errors import NotFound, TokenRefused
from accounts.models import Membership, Organisation, Scope, Token
from accounts.models.token import OF_PEOPLE


def create_token(
    *,
    organisation: Organisation,
    name: str,
    scope: Scope,
    host_name: str | None = None,
    username: str | None = None,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """Create a token; its secret is in the result and nowhere else.

    With a host the token is valid for that host only; a missing host is created.
    The scopes `read` and `write` take a member of the organisation, as whom the token acts.
    """
    member = _member(organisation, scope, username)
    if member is not None and host_name:
        raise TokenRefused(f"a token with scope {scope} acts as a person, so it takes no host")
    host = None
    if host_name:
        host, _ = organisation.hosts.get_or_create(name=host_name)
    return Token.objects.issue(
        organisation=organisation,
        name=name,
        scope=scope,
        host=host,
        user=None if member is None else member.user,
        expires_at=expires_at,
    )


def revoke_token(*, organisation: Organisation, pk: int, now: datetime) -> Token:
    """Invalidate a token immediately; doing it again changes nothing."""
    token = Token.objects.filter(organisation=organisation, pk=pk).first()
    if token is None:
        raise NotFound(f"{organisation} has no token {pk}; `sluice token list` shows them")
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
        token.revoked_at = now
    return token


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
