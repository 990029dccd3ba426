"""Clients of the queue's server: valkey or Redis at an address, or the master behind sentinels.

Each command takes a few times the time limit at most: whoever is asked, a sentinel or the server,
is asked once. After a fail-over a client connects to the new master by itself.
"""

from __future__ import annotations

from typing import Any

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.connection import ConnectionPool
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool

from accounts.sentinels import SCHEME, Login, Sentinels, sentinels

SENTINEL_TIMEOUT_S = 1.0
"""Nobody waits longer for a sentinel: it has little to do, and there are others."""


def queue_client(*, timeout_s: float, url: str | None = None) -> redis.Redis:
    """A client of the setting's server, or of another; its answers are text."""
    address = settings.REDIS_URL if url is None else url
    return redis.Redis.from_pool(queue_pool(address, timeout_s=timeout_s, decode_responses=True))


def queue_pool(url: str, *, timeout_s: float, **options: Any) -> ConnectionPool:
    """Connections to the server at an address."""
    options |= time_limits(timeout_s)
    if not url.startswith(SCHEME):
        return ConnectionPool.from_url(url, **options)
    found = sentinels(url)
    # redis-py has no types of these two.
    asked = Sentinel(  # type: ignore[no-untyped-call]
        found.hosts, sentinel_kwargs=sentinel_options(found, timeout_s)
    )
    return SentinelConnectionPool(  # type: ignore[no-untyped-call]
        found.master,
        asked,
        db=found.database,
        **_credentials(found.server_login),
        **options,
    )


def sentinel_options(found: Sentinels, timeout_s: float) -> dict[str, Any]:
    """How each sentinel is asked: once, for the next one is asked at once if it is silent."""
    return {
        **_credentials(found.sentinel_login),
        **time_limits(min(timeout_s, SENTINEL_TIMEOUT_S)),
        "retry": Retry(NoBackoff(), 0),
    }


def time_limits(timeout_s: float) -> dict[str, float]:
    """What connecting may take, and each answer."""
    return {"socket_timeout": timeout_s, "socket_connect_timeout": timeout_s}


def _credentials(login: Login) -> dict[str, str]:
    named = {"username": login.user, "password": login.password}
    return {name: value for name, value in named.items() if value is not None}
