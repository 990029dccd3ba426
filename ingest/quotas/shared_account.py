"""What an organisation uses of its rates, added up over all processes by the queue's server.

Each process reports what it used since its last report and learns what is left. One script does
both, by the clock of the server. `ingest.core.quota.bucket` says what it computes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from functools import cache
from typing import Any

import redis

from accounts.queue_server import queue_client
from ingest.core.quota.bucket import BURST_S
from ingest.core.quota.limits import RATES, Limits, Quota

log = logging.getLogger(__name__)

TIMEOUT_S = 0.25
"""A write waits no longer for the server."""
AWAY_S = 5.0
"""A server that did not answer is left alone for so long."""
KEPT_S = 86_400
USE_KEPT_S = 300
_TOLD_EVERY_S = 60.0

_REPORT = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local held = redis.call('HMGET', KEYS[1], 'at', 'level:1', 'level:2')
local at = tonumber(held[1]) or now
local answer = {string.format('%.6f', now)}
for place = 1, 2 do
    local rate, used = tonumber(ARGV[place]), tonumber(ARGV[place + 2])
    local name = 'level:' .. place
    if rate > 0 then
        local full = rate * tonumber(ARGV[5])
        local level = tonumber(held[place + 1]) or full
        level = math.min(full, level + math.max(0, now - at) * rate) - used
        answer[place + 1] = string.format('%.3f', level)
        redis.call('HSET', KEYS[1], name, answer[place + 1])
    else
        answer[place + 1] = ''
        redis.call('HDEL', KEYS[1], name)
    end
    redis.call('HINCRBY', KEYS[2], 'used:' .. place, used)
end
redis.call('HSET', KEYS[1], 'at', answer[1])
redis.call('EXPIRE', KEYS[1], ARGV[6])
redis.call('EXPIRE', KEYS[2], ARGV[7])
return answer
"""


class SharedAccount:
    """The accounts of all organisations, as one process reaches them."""

    def __init__(self) -> None:
        self._away_until_s = 0.0
        self._told_s = -_TOLD_EVERY_S

    def report(
        self, organisation: int, limits: Limits, used: Mapping[Quota, int]
    ) -> dict[Quota, float] | None:
        """Charge what was used; what is left of each limited rate. None: nobody answers."""
        if time.monotonic() < self._away_until_s:
            return None
        try:
            answer = report(organisation, limits, used)
        except redis.RedisError as error:
            self._away_until_s = time.monotonic() + AWAY_S
            self._tell(limits, error)
            return None
        return {
            quota: float(left)
            for quota, left in zip(RATES, answer[1:], strict=True)
            if left and quota in limits
        }

    def _tell(self, limits: Limits, error: redis.RedisError) -> None:
        """Once a minute, and only if anything is limited."""
        now = time.monotonic()
        if limits.keys() & set(RATES) and now - self._told_s >= _TOLD_EVERY_S:
            self._told_s = now
            log.warning(
                "quotas hold for each process alone: the queue's server does not answer",
                extra={"reason": str(error)},
            )


def report(organisation: int, limits: Limits, used: Mapping[Quota, int]) -> list[str]:
    """The time of the server in seconds and what is left of each rate, empty without a quota."""
    keys = [f"sluice:quota:{organisation}", _use_key(organisation, _minute())]
    rates = [limits.get(quota, 0) for quota in RATES]
    amounts = [used.get(quota, 0) for quota in RATES]
    answer: list[str] = _script()(keys=keys, args=[*rates, *amounts, BURST_S, KEPT_S, USE_KEPT_S])
    return answer


def use_per_s(organisation: int) -> dict[Quota, float] | None:
    """The mean of the last whole minute; None if the server does not answer."""
    try:
        found = _client().hmget(_use_key(organisation, _minute() - 1), ["used:1", "used:2"])
    except redis.RedisError:
        return None
    return {quota: int(used or 0) / 60 for quota, used in zip(RATES, found, strict=True)}


def _use_key(organisation: int, minute: int) -> str:
    return f"sluice:quota-use:{organisation}:{minute}"


def _minute() -> int:
    return int(time.time()) // 60


@cache
def _script() -> Any:
    return _client().register_script(_REPORT)


@cache
def _client() -> Any:
    return queue_client(timeout_s=TIMEOUT_S)
