"""The provider at which people of a company log in, and what its groups open here."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from accounts.oidc import OidcProvider
from config import env
from config.env import SettingError

ROLES = ("viewer", "operator", "admin", "owner")
LONGEST_NAME = 40
LOOPBACK = ("localhost", "127.0.0.1", "::1")
EXAMPLE = '{"storage-team": {"northgate": "operator"}}'


def oidc_provider(environ: Mapping[str, str] = os.environ) -> OidcProvider | None:
    """The provider that the environment states; None without an issuer."""
    issuer = env.text("SLUICE_OIDC_ISSUER", "", environ=environ)
    if not issuer:
        return None
    parts = urlsplit(issuer)
    is_here = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not (parts.scheme == "https" and parts.hostname) and not is_here:
        raise SettingError(f"SLUICE_OIDC_ISSUER={issuer!r} must begin with https://")
    client_id = env.text("SLUICE_OIDC_CLIENT_ID", "", environ=environ)
    if not client_id:
        raise SettingError("SLUICE_OIDC_ISSUER takes SLUICE_OIDC_CLIENT_ID; set both")
    name = env.text("SLUICE_OIDC_NAME", parts.hostname or "", environ=environ)
    return OidcProvider(
        issuer=issuer,
        client_id=client_id,
        secret=env.secret("SLUICE_OIDC_CLIENT_SECRET", environ=environ) or "",
        name=name[:LONGEST_NAME],
        scopes=tuple(env.words("SLUICE_OIDC_SCOPES", "openid,profile,email", environ=environ)),
        groups_claim=env.text("SLUICE_OIDC_GROUPS_CLAIM", "groups", environ=environ),
        session_hours=env.integer("SLUICE_OIDC_SESSION_HOURS", 12, minimum=1, environ=environ),
        roles=roles_of_groups(env.secret("SLUICE_OIDC_ROLES", environ=environ) or "{}"),
    )


def roles_of_groups(text: str) -> Mapping[str, Mapping[str, str]]:
    """The table of groups, organisations and roles; SettingError says what is wrong."""
    try:
        table = json.loads(text)
    except ValueError as error:
        raise SettingError(f"SLUICE_OIDC_ROLES is no JSON: {error}; such as {EXAMPLE}") from error
    if not isinstance(table, dict) or not all(isinstance(one, dict) for one in table.values()):
        raise SettingError(
            f"SLUICE_OIDC_ROLES must give organisations to groups, such as {EXAMPLE}"
        )
    for group, roles in table.items():
        for organisation, role in roles.items():
            if role not in ROLES:
                raise SettingError(
                    f"SLUICE_OIDC_ROLES gives group {group!r} the role {role!r} in "
                    f"{organisation}; use one of {', '.join(ROLES)}"
                )
    return table
