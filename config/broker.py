"""The queue's server as Celery reaches it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from accounts.queue_server import sentinel_options, time_limits
from accounts.sentinels import SCHEME, Login, Sentinels, sentinels
from config.sentinel_transport import use_freeing_transport

TIMEOUT_S = 3.0
LOOK_S = 3
"""A worker whose question got no answer for so long, and a second, asks anew elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """The address as Celery spells it, and options of its transport."""

    url: str = field(repr=False)
    options: dict[str, Any] = field(repr=False, default_factory=dict)


def broker(redis_url: str) -> Broker:
    """The broker of an address. Without limits a dead master's connections would wait for ever."""
    if redis_url.startswith("unix://"):
        return Broker(url="redis+socket://" + redis_url.removeprefix("unix://"))
    if not redis_url.startswith(SCHEME):
        return Broker(url=redis_url)
    found = sentinels(redis_url)
    use_freeing_transport()
    return Broker(
        url=";".join(_sentinel_url(found, *host) for host in found.hosts),
        options={
            "master_name": found.master,
            "sentinel_kwargs": sentinel_options(found, TIMEOUT_S),
            "health_check_interval": LOOK_S,
            **time_limits(TIMEOUT_S),
        },
    )


def _sentinel_url(found: Sentinels, host: str, port: int) -> str:
    """Each address has all that is asked of the master, for Celery may begin with any of them."""
    name = f"[{host}]" if ":" in host else host
    return f"{SCHEME}{_login(found.server_login)}{name}:{port}/{found.database}"


def _login(login: Login) -> str:
    if login.password is None:
        return ""
    return f"{quote(login.user or '', safe='')}:{quote(login.password, safe='')}@"
