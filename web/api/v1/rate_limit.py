"""How often a token may ask: a bucket in the queue's server, for all web servers together.

A bucket holds the requests of a minute and fills steadily. While the server does not answer,
nobody counts and everybody may ask: what is read here is worth more than the limit.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any

import redis
from django.conf import settings

from accounts.queue_server import queue_client

TIMEOUT_S = 0.25
AWAY_S = 5.0
"""A server that did not answer is left alone for so long."""
PERIOD_S = 60
JOINS_PER_MINUTE = 120
"""Of one address, behind which there may be many hosts; each asks twice."""

_TAKE = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local most, period = tonumber(ARGV[1]), tonumber(ARGV[2])
local held = redis.call('HMGET', KEYS[1], 'at', 'left')
local at, left = tonumber(held[1]) or now, tonumber(held[2]) or most
left = math.min(most, left + math.max(0, now - at) * most / period)
local taken = 0
if left >= 1 then
    left, taken = left - 1, 1
end
redis.call('HSET', KEYS[1], 'at', string.format('%.6f', now), 'left', string.format('%.6f', left))
redis.call('EXPIRE', KEYS[1], period)
return {taken, string.format('%.6f', left)}
"""


class _Server:
    """Until when the queue's server is left alone."""

    away_until_s = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Whether a request may be served, of `most` in a minute; None: nobody counts."""

    may: bool
    most: int
    left: float | None

    @property
    def wait_s(self) -> int:
        """After how many seconds another request may be served."""
        missing = 1 - (self.left or 0.0)
        return max(1, ceil(missing * PERIOD_S / self.most))

    @property
    def headers(self) -> dict[str, str]:
        """As draft-ietf-httpapi-ratelimit-headers has them; nothing where nobody counts."""
        if self.left is None:
            return {}
        full_s = ceil((self.most - self.left) * PERIOD_S / self.most)
        return {
            "RateLimit-Policy": f'"token";q={self.most};w={PERIOD_S}',
            "RateLimit": f'"token";r={int(self.left)};t={full_s}',
        }


def take(token: int) -> Taken:
    """Count one request of a token."""
    return _take(f"sluice:api:{token}", settings.API_REQUESTS_PER_MINUTE)


def take_of_address(address: str) -> Taken:
    """Count one request of a host that joins, by its network address."""
    return _take(f"sluice:join:{address}", JOINS_PER_MINUTE)


def _take(key: str, most: int) -> Taken:
    if time.monotonic() < _Server.away_until_s:
        return Taken(may=True, most=most, left=None)
    try:
        taken, left = _script()(keys=[key], args=[most, PERIOD_S])
    except redis.RedisError:
        _Server.away_until_s = time.monotonic() + AWAY_S
        return Taken(may=True, most=most, left=None)
    return Taken(may=bool(taken), most=most, left=float(left))


@cache
def _script() -> Any:
    return queue_client(timeout_s=TIMEOUT_S).register_script(_TAKE)
