"""Where things are kept for a while: each process keeps its own, all together count logins."""

from __future__ import annotations

import json
from typing import Any

from django.core.cache import BaseCache, caches
from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.locmem import LocMemCache
from redis.connection import ConnectionPool

from accounts.queue_server import queue_pool

TOGETHER = "allauth"
"""How keys begin of what all web servers have to know: attempts to log in, and codes used up."""


class ProcessCache(LocMemCache):
    """In the process's memory; django-allauth, which knows one cache only, finds its in valkey."""

    def add(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        if (other := _together(key)) is not None:
            return other.add(key, value, timeout, version)
        return super().add(key, value, timeout, version)

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        if (other := _together(key)) is not None:
            return other.get(key, default, version)
        return super().get(key, default, version)

    def set(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> None:
        if (other := _together(key)) is not None:
            other.set(key, value, timeout, version)
            return
        super().set(key, value, timeout, version)

    def delete(self, key: Any, version: int | None = None) -> bool:
        if (other := _together(key)) is not None:
            return other.delete(key, version)
        return super().delete(key, version)


def _together(key: Any) -> BaseCache | None:
    return caches["together"] if str(key).startswith(TOGETHER) else None


TIMEOUT_S = 2.0
"""Who logs in waits no longer for the queue's server."""


class QueuePool:
    """What Django asks for connections."""

    @staticmethod
    def from_url(url: str, **options: Any) -> ConnectionPool:
        return queue_pool(url, timeout_s=TIMEOUT_S, **options)


class JsonSerializer:
    """Values in valkey are JSON, so nothing that is read from it runs; Django's are pickles."""

    def dumps(self, value: Any) -> bytes:
        return json.dumps(value).encode()

    def loads(self, stored: bytes) -> Any:
        return json.loads(stored)
