"""The provider at which people of a company log in by OpenID Connect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcProvider:
    """`roles` are, by group, the role in each organisation by its slug; empty: groups say nothing.

    A login ends after `session_hours`, so that groups are looked at again.
    """

    issuer: str
    client_id: str
    name: str
    secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    groups_claim: str = "groups"
    roles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    session_hours: int = 12
