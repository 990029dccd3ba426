"""Sentinels, who say which valkey or Redis of several is the master, from their address."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

SCHEME = "sentinel://"
DEFAULT_PORT = 26379
LAST_PORT = 65_535
LAST_DATABASE = 9_999

_PARTS = re.compile(
    r"sentinel://(?:(?P<login>[^@/?#]*)@)?(?P<hosts>[^@/?#]*)(?:/(?P<database>[^?#]*))?"
    r"(?:\?(?P<options>[^#]*))?"
)
_HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_MASTER = re.compile(r"[A-Za-z0-9._-]+")
"""What sentinels take as a name."""
_OPTIONS = ("master", "sentinel_user", "sentinel_password")


class WrongAddress(ValueError):
    """An address that cannot be used; the text has nothing of it that is secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """As whom a server or a sentinel is asked; no password: as anybody."""

    user: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentinels:
    """Where sentinels are, and of which master they are asked."""

    hosts: tuple[tuple[str, int], ...]
    master: str
    database: int = 0
    server_login: Login = Login()
    sentinel_login: Login = Login()


def sentinels(url: str) -> Sentinels:
    """Those at `sentinel://[user:password@]host:26379,host2:26379/0?master=NAME`.

    The login is that of the servers; `sentinel_user` and `sentinel_password` are the sentinels'.
    Raises WrongAddress.
    """
    parts = _PARTS.fullmatch(url)
    if parts is None:
        raise WrongAddress("has an @, /, ? or # too many; in passwords write %40, %2F, %3F, %23")
    options = _options(parts["options"] or "")
    if not _MASTER.fullmatch(options.get("master", "")):
        raise WrongAddress("names no master; end it with ?master=NAME")
    user, has_password, password = (parts["login"] or "").partition(":")
    return Sentinels(
        hosts=_hosts(parts["hosts"]),
        master=options["master"],
        database=_database(parts["database"] or "0"),
        server_login=_login(unquote(user), unquote(password) if has_password else ""),
        sentinel_login=_login(
            options.get("sentinel_user", ""), options.get("sentinel_password", "")
        ),
    )


def _options(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in filter(None, text.split("&")):
        name, _, value = one.partition("=")
        if name not in _OPTIONS:
            raise WrongAddress(f"has an option that is not known; use {', '.join(_OPTIONS)}")
        if name in found:
            raise WrongAddress(f"has {name} twice; keep one")
        found[name] = unquote(value)
    return found


def _hosts(text: str) -> tuple[tuple[str, int], ...]:
    found = []
    for one in text.split(","):
        host = _HOST.fullmatch(one)
        port = int(host["port"] or DEFAULT_PORT) if host else 0
        if host is None or not 1 <= port <= LAST_PORT:
            raise WrongAddress("has a sentinel that is not HOST or HOST:PORT, separated by commas")
        found.append((host["name"].strip("[]"), port))
    return tuple(found)


def _database(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > LAST_DATABASE:
        raise WrongAddress("has a database that is no number; 0 is the usual one")
    return int(text)


def _login(user: str, password: str) -> Login:
    if user and not password:
        raise WrongAddress("has a user without a password; write USER:PASSWORD or :PASSWORD")
    return Login(user=user or None, password=password or None)
