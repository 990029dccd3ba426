"""The mail server, from its address."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

_PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """Where mail is handed in, and how the connection is encrypted."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    tls_at_once: bool
    tls_after_greeting: bool


def mail_server(url: str | None) -> MailServer | None:
    """The server at `smtps://user:password@host:465`; None without an address."""
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(
            "SLUICE_MAIL_URL must be smtp://, smtp+starttls:// or smtps:// with a host"
        )
    return MailServer(
        host=parts.hostname,
        port=parts.port or _PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        tls_at_once=parts.scheme == "smtps",
        tls_after_greeting=parts.scheme == "smtp+starttls",
    )
